"""The released dataset's layout as rows of figures/ (arXiv 2607.27084, release: figures.jsonl and images/).

A row tells what the dataset tells: columns it says nothing about stay null. domain_l1, domain_l2 and section have no
column. Its captions are a layout model's Markdown and are not mended; only the label is taken off, as everywhere.
Releases of our own (`sfq release`) also say which part of the caption is its label, and how each paragraph was bound.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import cv2
import pyarrow as pa

from sfq_ray.evaluate.ratings import Key, number, text
from sfq_ray.extract.cues import WEIGHTS, cue
from sfq_ray.extract.curate import perceptual_hash
from sfq_ray.extract.references import find_references, normalise_label
from sfq_ray.features.descriptors import decode
from sfq_ray.rubric import LONG_NAMES
from sfq_ray.tables import CONTEXT, FEATURE_FIELDS

CAPTION_LABEL = re.compile(
    r"\s*(?P<mark>[*_]{0,3})(?P<word>(?:supplementary\s+)?fig(?:ure|\.)?)\s*"
    r"(?P<label>(?:[A-Z]{1,2}[.\-]?)?\d{1,3}(?:[.\-]\d{1,3})*)\s?"
    r"(?:(?P<end>[.:|])(?P=mark)|(?P=mark)\s?(?P<late>[.:|]))\s*",
    re.IGNORECASE,
)
FEATURES = {name: kind for name, kind, _ in FEATURE_FIELDS if not pa.types.is_list(kind)}
MEANS = {code.value: (f"human_{long}", long, code.value) for code, long in LONG_NAMES.items()} | {
    "overall": ("human_overall_score", "overall_score", "overall")
}
KNOWN_KEYS = (
    {"figure_id", "paper_id", "paper_id_norm", "fig_index", "venue", "year", "title", "caption", "section", "image"}
    | {"context_texts", "context_count", "domain_l1", "domain_l2", "width", "height", "annotator_count", "annotations"}
    | {"caption_label", "label", "context_details", "features", *FEATURES, *(keys[0] for keys in MEANS.values())}
)


def figure_row(
    record: Mapping[str, Any], key: Key, root: Path, labels: Iterable[str], issues: Counter[str]
) -> dict[str, Any]:
    """The record as a row of tables.FIGURES, its image read below `root`. Adds to `issues`.

    `labels` are those of all figures of the paper, which the reference finder needs to know.
    """
    caption_label, label, caption = caption_parts(record)
    year = number(record.get("year"))
    row: dict[str, Any] = {
        "figure_id": key.figure_id, "paper_id": key.paper_id, "fig_index": key.fig_index,
        "venue": text(record.get("venue")), "year": int(year) if year is not None and 1000 <= year <= 9999 else None,
        "title": text(record.get("title")),
        "label": label, "caption_label": caption_label, "caption": caption,
        "contexts": bound_before(record) or contexts(record.get("context_texts"), own_label(record, key), labels),
        **features(record),
        **picture(root, text(record.get("image")) or f"images/{record.get('figure_id')}.png"),
    }  # fmt: skip
    issues.update(f"unknown key: {name}" for name in record if name not in KNOWN_KEYS)
    return _compared(row, record, issues)


def split_caption(caption: str | None) -> tuple[str | None, str | None, str | None]:
    """(label as printed, number, the rest): "**Figure 3:** Loss" is ("Figure 3:", "3", "Loss")."""
    match = CAPTION_LABEL.match(caption or "")
    if caption is None or match is None:
        return None, None, caption
    printed = f"{match['word']} {match['label']}{match['end'] or match['late']}"
    return printed, match["label"], text(caption[match.end() :])


def caption_parts(record: Mapping[str, Any]) -> tuple[str | None, str | None, str | None]:
    """As `split_caption`, or as the record itself says, where it has a caption_label (which may be null)."""
    whole = text(record.get("caption"))
    if "caption_label" not in record:
        return split_caption(whole)
    printed = text(record["caption_label"])
    if whole is not None and printed is not None:
        whole = text(whole.removeprefix(printed).removeprefix(" "))
    return printed, text(record.get("label")), whole


def own_label(record: Mapping[str, Any], key: Key) -> str:
    """The label that citing paragraphs use, normalised: the caption's, or the index the dataset binds by."""
    return normalise_label(caption_parts(record)[1] or str(key.fig_index))


def bound_before(record: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The citing paragraphs with the details that the record gives for each of them; None where it does not."""
    texts, details = record.get("context_texts"), record.get("context_details")
    if not (isinstance(texts, list) and isinstance(details, list) and len(texts) == len(details)):
        return None
    try:
        given = [{**detail, "text": text(paragraph)} for paragraph, detail in zip(texts, details, strict=True)]
        return [found for found in pa.array(given, CONTEXT).to_pylist() if found["text"] is not None]
    except (TypeError, ValueError, OverflowError):  # pa.ArrowInvalid is a ValueError
        return None


def contexts(given: Any, label: str, labels: Iterable[str]) -> list[dict[str, Any]]:
    """Citing paragraphs as values of tables.CONTEXT, best evidence first, those that never name the figure last.

    Spans are our own reference finder's; where it finds none there are none, and cue and weight are null.
    """
    paragraphs = [found for item in given if (found := text(item))] if isinstance(given, list) else []
    known = {*labels, label}
    return sorted((_context(item, label, known) for item in paragraphs), key=lambda found: -(found["weight"] or 0.0))


def _context(paragraph: str, label: str, labels: Iterable[str]) -> dict[str, Any]:
    hits = [reference for reference in find_references(paragraph, labels) if reference.label == label]
    spans = [(hit.start, hit.end) for hit in hits]
    kind = cue(paragraph, spans) if spans else None
    return {
        "text": paragraph, "evidence": "imported", "spans": [{"start": start, "end": end} for start, end in spans],
        "panels": list(dict.fromkeys(panel for hit in hits for panel in hit.panels)),
        "cue": kind, "weight": WEIGHTS[kind] if kind else None,
    }  # fmt: skip


def features(record: Mapping[str, Any]) -> dict[str, Any]:
    """Features that are given under our names, at the top or below "features"; others are not ours to make up."""
    nested = record.get("features")
    given = {**(nested if isinstance(nested, Mapping) else {}), **record}
    return {name: _typed(given[name], kind) for name, kind in FEATURES.items() if name in given}


def _typed(value: Any, kind: pa.DataType) -> Any:
    if pa.types.is_boolean(kind):
        return value if isinstance(value, bool) else None
    if pa.types.is_string(kind):
        return text(value)
    found = number(value)
    return _whole(found) if pa.types.is_integer(kind) else found


def picture(root: Path, name: str) -> dict[str, Any]:
    """The columns of an image below `root`, or an error: missing_image or unreadable_image."""
    try:
        path = (root / name).resolve()
        if not path.is_relative_to(root.resolve()) or not path.is_file():
            return {"error": "missing_image", "message": f"{name}: no such file in the dataset"}
        png = path.read_bytes()
        pixels = cv2.cvtColor(decode(png), cv2.COLOR_BGR2RGB)
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: links that lead to themselves
        return {"error": "unreadable_image", "message": f"{name}: {error}"}
    height, width = pixels.shape[:2]
    return {"image": png, "width": width, "height": height, "phash": perceptual_hash(pixels)}


def _compared(row: dict[str, Any], record: Mapping[str, Any], issues: Counter[str]) -> dict[str, Any]:
    """The row; what the record counts about itself and is not so goes to `issues`. Sizes unseen are those given."""
    size = tuple(number(record.get(name)) for name in ("width", "height"))
    if "image" in row and None not in size and size != (row["width"], row["height"]):
        issues["image size differs"] += 1
    if number(record.get("context_count")) not in (None, len(row["contexts"])):
        issues["context_count differs"] += 1
    annotations = record.get("annotations")
    if number(record.get("annotator_count")) not in (None, len(annotations) if isinstance(annotations, list) else 0):
        issues["annotator_count differs"] += 1
    return row if "image" in row else row | {"width": _whole(size[0]), "height": _whole(size[1])}


def _whole(value: float | None) -> int | None:
    return int(value) if value is not None and abs(value) < 2**31 else None


def means(record: Mapping[str, Any]) -> dict[str, float | None]:
    """The gold that a figures.jsonl record or a human_means.csv row states, by short names; only what it speaks of."""
    return {name: _first_number(record, keys) for name, keys in MEANS.items() if not record.keys().isdisjoint(keys)}


def _first_number(record: Mapping[str, Any], keys: Iterable[str]) -> float | None:
    return next((found for key in keys if (found := number(record.get(key))) is not None), None)
