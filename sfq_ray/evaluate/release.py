"""`sfq release`: the kept figures of a directory and their ratings, in the layout of the benchmark's released dataset.

    REL/README.md  SHA256SUMS  test_loading.py
    REL/datasets/full/figures.jsonl  human_means.csv  images/<figure_id>.png  splits/*.jsonl

Beside the benchmark's keys a row has caption_label, label, context_details and features, so that `sfq import` gives the
same figures again. Equal tables give equal bytes.
"""

from __future__ import annotations

import csv
import hashlib
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sfq_ray.errors import FatalError
from sfq_ray.evaluate.card import About, card
from sfq_ray.evaluate.gold import Row, gold
from sfq_ray.evaluate.hub import DETAILS
from sfq_ray.evaluate.importing import split_members, write_jsonl
from sfq_ray.evaluate.ratings import Key, number, text
from sfq_ray.evaluate.released import FEATURES, MEANS
from sfq_ray.features.descriptors import decode
from sfq_ray.rubric import LONG_NAMES
from sfq_ray.store import Store, disk_error
from sfq_ray.tables import FIGURES, RATINGS

FULL = Path("datasets", "full")
SUMS = "SHA256SUMS"
PARTIAL = ".release.partial"
DECIMALS = 4  # of means
UNSAFE = re.compile(r"[^\w.-]")  # in file names
HUMAN = {name: keys[0] for name, keys in MEANS.items()}  # our name -> the released one
CARRIED = frozenset(
    {"figure_id", "paper_id", "fig_index", "venue", "year", "title", "caption", "caption_label", "label", "contexts"}
    | {"image", "width", "height", *FEATURES}
)
"""Columns of figures/ that a release carries and `sfq import` reads."""
LEFT_BEHIND = [name for name in FIGURES.names if name not in CARRIED | {"dropped_stage", "dropped", "error", "message"}]


@dataclass(frozen=True)
class Release:
    """What was written and what was left out, by reason."""

    figures: int
    ratings: int
    splits: dict[str, int]
    left_out: Counter[str]


def release(
    source: Path, out: Path, split: Path | None = None, name: str | None = None, licence: str = "unknown"
) -> Release:
    """Figures, ratings and splits of `source` (or the one split given) as a dataset in `out`; an older one is replaced.

    Raises FatalError where there is no figure to release, or where `out` holds something else.
    """
    partial, left_out = out / PARTIAL, Counter[str]()
    try:
        former = _former(out)
        shutil.rmtree(partial, ignore_errors=True)  # of a run that was interrupted
        (partial / FULL / "images").mkdir(parents=True)
        figures = _figures(Store(source), partial / FULL / "images", left_out)
        if not figures:
            raise FatalError(f"{source}: no kept figure here; run `sfq extract` or `sfq import` first")
        ratings = _ratings(Store(source), {row["figure_id"] for row in figures}, left_out)
        _write_rows(figures, ratings, partial / FULL)
        splits = _splits(source, split, partial / FULL, figures, left_out)
        about = About(
            name or source.resolve().name, licence, figures, ratings, splits, left_out, _not_carried(figures),
            _origin(source),
        )  # fmt: skip
        (partial / "README.md").write_text(card(about), encoding="utf-8")
        loading = files("sfq_ray.evaluate").joinpath("shipped/test_loading.py").read_bytes()
        (partial / "test_loading.py").write_bytes(loading)
        _publish(partial, out, former)
        return Release(len(figures), len(ratings), splits, left_out)
    except OSError as error:
        raise disk_error(out, error) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def release_lines(done: Release) -> Iterator[str]:
    """What was released and what was not, as lines of text."""
    yield f"released: {done.figures:,} figures, {done.ratings:,} ratings"
    yield from (f"split {name}: {count:,} figures" for name, count in done.splits.items())
    yield from (f"left out: {count:,} {what}" for what, count in sorted(done.left_out.items()))


# ---- figures and ratings


def _figures(store: Store, images: Path, left_out: Counter[str]) -> list[Row]:
    """The released rows of figures/ without their pixels, by paper and index; each image is written to its file."""
    found: dict[str, Row] = {}
    for row in store.rows("figures", FIGURES.names):
        png, reason = row.pop("image"), _reason(row)
        if reason is None and row["figure_id"] in found:
            reason = "figures whose id is there already"
        if reason is None and png is None:
            reason = "figures without an image"
        if reason is not None:
            left_out[reason] += 1
            continue
        try:
            height, width = decode(png).shape[:2]
        except ValueError:
            left_out["figures whose image cannot be decoded"] += 1
            continue
        (images / image_name(row["figure_id"])).write_bytes(png)
        found[row["figure_id"]] = row | {"width": width, "height": height}
    return sorted(found.values(), key=lambda row: (row["paper_id"], row["fig_index"]))


def _reason(row: Row) -> str | None:
    """Why a row of figures/ is not released; None where it is kept."""
    if row["error"] is not None:
        return "figures that failed"
    if row["dropped"] is not None:
        return "figures dropped by a rule"
    own = Key(row["paper_id"], row["fig_index"]).figure_id
    return None if row["figure_id"] == own else "figures whose id is not that of their paper and index"


def _ratings(store: Store, released: set[str], left_out: Counter[str]) -> list[Row]:
    """The ratings of released figures, in their order."""
    rows = list(store.rows("ratings", RATINGS.names))
    kept: list[Row] = [row for row in rows if row["figure_id"] in released]
    if len(kept) < len(rows):
        left_out["ratings of figures that are not released"] = len(rows) - len(kept)
    return kept


def image_name(figure_id: str) -> str:
    """A file name on every system: what is neither letter, digit, "_", "." nor "-" is percent-encoded."""
    return UNSAFE.sub(lambda match: quote(match[0], safe=""), figure_id) + ".png"


def _write_rows(figures: Sequence[Row], ratings: Sequence[Row], full: Path) -> None:
    by_figure: dict[str, list[Row]] = {}
    for rating in ratings:
        by_figure.setdefault(rating["figure_id"], []).append(rating)
    scores = {row["figure_id"]: row for row in gold(ratings)}
    records = [record(row, by_figure.get(row["figure_id"], []), scores.get(row["figure_id"], {})) for row in figures]
    write_jsonl(full / "figures.jsonl", records)
    if ratings:
        with (full / "human_means.csv").open("w", encoding="utf-8", newline="") as file:
            columns = ["figure_id", "paper_id", "fig_index", "venue", "year", "annotator_count", *HUMAN.values()]
            writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(records)


def record(row: Row, ratings: Sequence[Row], scores: Row) -> dict[str, Any]:
    """One line of figures.jsonl: a row of figures/, its ratings and its gold (evaluate.gold; empty where unrated)."""
    cited = [context for context in row["contexts"] or [] if text(context["text"])]
    details = [field.name for field in DETAILS]
    whole = " ".join(part for part in (row["caption_label"], row["caption"]) if part)
    return {
        "figure_id": row["figure_id"], "paper_id": row["paper_id"], "paper_id_norm": row["paper_id"],
        "fig_index": row["fig_index"], "venue": row["venue"], "year": row["year"], "title": row["title"],
        "caption": text(whole), "caption_label": text(row["caption_label"]), "label": text(row["label"]),
        "section": cited[0]["section"] if cited else None,
        "context_texts": [context["text"] for context in cited], "context_count": len(cited),
        "context_details": [{name: context[name] for name in details} for context in cited],
        "domain_l1": None, "domain_l2": None, "width": row["width"], "height": row["height"],
        "image": f"images/{image_name(row['figure_id'])}",
        "features": {name: _value(row[name]) for name in FEATURES},
        "annotator_count": len(ratings),
        **{released: _rounded(scores.get(name)) for name, released in HUMAN.items()},
        "annotations": [annotation(rating) for rating in ratings],
    }  # fmt: skip


def annotation(rating: Row) -> dict[str, Any]:
    """A row of ratings/ under the released names; paper, index and line are those of the figure."""
    moment = rating["annotated_at"]
    row = {"source_type": rating["source"], "source_name": text(rating["rater"])}
    row |= {long: _value(rating[code]) for code, long in LONG_NAMES.items()}
    row |= {"overall_score": _value(rating["overall"])}
    row |= {name: text(rating[name]) for name in ("summary", "suggestion")}
    row |= {f"{long}_reason": text(rating[f"{code}_reason"]) for code, long in LONG_NAMES.items()}
    return row | {"annotated_at": None if moment is None else moment.isoformat(timespec="microseconds")}


def _value(value: Any) -> Any:
    """JSON has no NaN and no infinity: they are null."""
    return number(value) if isinstance(value, float) else value


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS)


# ---- splits, and what the card says


def _splits(
    source: Path, split: Path | None, full: Path, figures: Sequence[Row], left_out: Counter[str]
) -> dict[str, int]:
    """Writes the splits, without rows of figures that are not released; figures by name of the split."""
    known = {Key(row["paper_id"], row["fig_index"]) for row in figures}
    sizes: dict[str, int] = {}
    for path in [split] if split else sorted((source / "splits").glob("*.jsonl")):
        members, rows = split_members(path, known)
        if not members and split is not None:
            raise FatalError(f"{split}: no row names a released figure; give paper_id and fig_index in every row")
        if len(members) < rows:
            left_out[f"rows of split {path.stem} whose figure is not released"] = rows - len(members)
        if members:
            write_jsonl(full / "splits" / f"{path.stem}.jsonl", members)
            sizes[path.stem] = len(members)
    return sizes


def _not_carried(figures: Sequence[Row]) -> dict[str, int]:
    """Columns of figures/ that say something and that the release does not have: how many figures have them."""
    counts = {name: sum(row[name] not in (None, []) for row in figures) for name in LEFT_BEHIND}
    return {name: count for name, count in counts.items() if count}


def _origin(source: Path) -> Mapping[str, Any]:
    """What the run manifest says of the extraction; empty for figures that were imported."""
    origin = (Store(source).manifest() or {}).get("extract", {})
    return origin if isinstance(origin, Mapping) else {}


# ---- the directory


def _former(out: Path) -> list[str]:
    """The files of the release that `out` holds. Raises FatalError where it holds something that is none."""
    if out.exists() and not out.is_dir():
        raise FatalError(f"{out}: is a file; choose another --out")
    there = sorted(path.name for path in out.iterdir() if path.name != PARTIAL) if out.exists() else []
    listed = _listed(out)
    if there and (FULL / "figures.jsonl").as_posix() not in listed:
        raise FatalError(f"{out}: holds {there[0]} and is not a release; choose an empty or a new --out")
    return listed


def _listed(out: Path) -> list[str]:
    """The files below `out` that its checksums name."""
    if not (out / SUMS).is_file():
        return []
    names = [
        line.partition("  ")[2] for line in (out / SUMS).read_text(encoding="utf-8", errors="replace").splitlines()
    ]
    return [name for name in names if name and (out / name).resolve().is_relative_to(out.resolve())]


def _publish(partial: Path, out: Path, former: Sequence[str]) -> None:
    """Checksums, then everything into its place; what only the former release had goes. Other files stay.

    The checksums come first, so what an interrupted command leaves is a release that fails its own test.
    """
    names = sorted(path.relative_to(partial).as_posix() for path in partial.rglob("*") if path.is_file())
    sums = "".join(f"{hashlib.sha256((partial / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
    (partial / SUMS).write_text(sums, encoding="utf-8")
    for name in set(former) - set(names):
        (out / name).unlink(missing_ok=True)
    for name in [SUMS, *names]:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (partial / name).replace(out / name)
