"""The data card of a release: README.md with the front matter that the Hugging Face hub reads.

It says what is in the release, how it was made and what speaks against it, from the released rows alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfq_ray.evaluate.audit import audit
from sfq_ray.evaluate.escaping import escaped
from sfq_ray.evaluate.gold import MAX_GAP, Row, adjudication, by_figure
from sfq_ray.evaluate.hub import front_matter
from sfq_ray.rubric import DIMENSIONS, LONG_NAMES, NAMES, Dimension, figure_gates
from sfq_ray.tables import FIGURES

LIMITS = (
    "`domain_l1` and `domain_l2` are null everywhere: nobody assigned a domain.",
    "`section` is the section of the first citing paragraph, null where there is none or it is not known.",
    "A missing caption or citing paragraph is missing evidence, not low quality: the dimension is off and null.",
    "A feature that was not measured is null; it is never filled in.",
    "`label` is the number as printed and may differ from `fig_index`, the figure's place among those of its paper.",
)


@dataclass(frozen=True)
class About:
    """What a card is made from. `figures` are rows of figures/ without pixels, `ratings` those of these figures."""

    name: str
    licence: str
    figures: Sequence[Row]
    ratings: Sequence[Row]
    splits: Mapping[str, int]  # figures by name
    left_out: Mapping[str, int]  # by reason
    not_carried: Mapping[str, int]  # columns of figures/ that the release lacks: figures that have them
    origin: Mapping[str, Any]  # what the run manifest says of the extraction; empty where the figures were imported


def card(about: About) -> str:
    """The text of README.md."""
    sections = [
        ("Figures", figures_lines(about.figures)),
        ("Evidence and dimensions", evidence_lines(about.figures)),
        ("Human ratings", ratings_lines(about.ratings)),
        ("How the figures were made", origin_lines(about)),
        ("Splits", [f"- `{name}`: {count:,} figures" for name, count in about.splits.items()] or ["None."]),
        ("Left out", [f"- {count:,} {what}" for what, count in sorted(about.left_out.items())] or ["Nothing."]),
        ("Known limits", [*(f"- {limit}" for limit in LIMITS), *not_carried_lines(about.not_carried)]),
        ("Loading", LOADING),
    ]
    body = "\n".join(f"\n## {title}\n\n" + "\n".join(lines) for title, lines in sections)
    top = front_matter(about.name, about.licence, len(about.figures), about.splits)
    return f"---\n{top}---\n\n# {escaped(about.name)}\n{body}\n"


def figures_lines(figures: Sequence[Row]) -> Iterator[str]:
    """Figures and papers by venue and year."""
    shards: dict[tuple[str, str], list[str]] = {}
    for row in figures:
        shards.setdefault((row["venue"] or "unknown", str(row["year"] or "unknown")), []).append(row["paper_id"])
    papers = {row["paper_id"] for row in figures}
    yield from (f"{len(figures):,} figures of {len(papers):,} papers.", "")
    yield from ("| venue | year | papers | figures |", "|---|---|---:|---:|")
    for (venue, year), own in sorted(shards.items()):
        yield f"| {escaped(venue)} | {year} | {len(set(own)):,} | {len(own):,} |"


def evidence_lines(figures: Sequence[Row]) -> Iterator[str]:
    """What the figures come with, and how many have each dimension on."""
    on = [figure_gates(row) for row in figures]
    evidence = Counter((Dimension.CC in each, Dimension.CTX in each) for each in on)
    names = {(True, True): "caption and citing paragraph", (True, False): "caption only",
             (False, True): "citing paragraph only", (False, False): "neither (not scored)"}  # fmt: skip
    yield from (f"- {what}: {evidence[key]:,}" for key, what in names.items())
    yield from ("", "| dimension | key | figures where it is on |", "|---|---|---:|")
    for dimension in DIMENSIONS:
        yield f"| {NAMES[dimension]} | `{LONG_NAMES[dimension]}` | {sum(dimension in each for each in on):,} |"


def ratings_lines(ratings: Sequence[Row]) -> Iterator[str]:
    """Who rated how much, and what the audit of the gold says."""
    if not ratings:
        yield "There are none: every `human_*` is null, every list `annotations` is empty."
        return
    groups = by_figure(ratings)
    raters = Counter((row["source"], row["rater"] or "not named") for row in ratings)
    per_figure = Counter(len({row["rater"] for row in own}) for own in groups.values())
    yield from (f"{len(ratings):,} ratings, {len(groups):,} figures with a human one.", "")
    yield from ("| rater | source | ratings |", "|---|---|---:|")
    yield from (f"| {escaped(rater)} | {source} | {count:,} |" for (source, rater), count in sorted(raters.items()))
    yield ""
    yield from (f"- {count:,} figures have {n} different human raters" for n, count in sorted(per_figure.items()))
    yield f"- {len(adjudication(ratings)):,} figures have raters whose overalls lie more than {MAX_GAP:g} points apart"
    yield "- `human_*` is the mean over the human raters; the overall one is the mean of the dimensions that are on"
    yield from ("", "What the audit of the ratings found (a failed check says where to look, it accuses nobody):", "")
    yield from ("| check | result | rows that speak against the gold | looked at |", "|---|---|---:|---:|")
    for finding in audit(ratings):
        result = "passed" if finding.passed else "**failed**"
        yield f"| {finding.check} | {result} | {finding.count:,} | {finding.looked_at:,} |"


def origin_lines(about: About) -> Iterator[str]:
    """The extraction, as far as the directory knows of it."""
    if not about.origin:
        yield "They were imported from another dataset; how they were cut out of their papers is not known here."
        return
    settings = about.origin.get("settings", {})
    extract, features = settings.get("extract", {}), settings.get("features", {})
    resolutions = Counter(f"{row['dpi']:.0f}" for row in about.figures if row["dpi"] is not None)
    yield (
        f"Cut out of the papers' PDFs with sfq_ray {about.origin.get('sfq_ray')}: figures are found from their "
        "captions, captions and citing paragraphs are the PDF's own text, and a paragraph is bound by its reference to "
        "the figure or by the PDF's link."
    )
    yield ""
    yield f"- layout `{extract.get('layout')}`, OCR `{features.get('ocr')}` for embedded images"
    yield from (f"- {count:,} images at {dpi} dpi" for dpi, count in sorted(resolutions.items()))
    yield from (f"- {name} {number}" for name, number in sorted(about.origin.get("versions", {}).items()))


def not_carried_lines(not_carried: Mapping[str, int]) -> Iterator[str]:
    """What the tables know and the release does not say."""
    for name, count in not_carried.items():
        doc = (FIGURES.field(name).metadata or {})[b"doc"].decode()
        yield f"- not in this release, known for {count:,} figures: `{name}` ({doc.rstrip('.')})"


LOADING = (
    "`datasets/full/figures.jsonl` has one figure a line; `image` is relative to its folder. Check the files with",
    "`sha256sum -c SHA256SUMS` or `pytest test_loading.py`; read them with",
    "",
    "```python",
    "import pandas as pd",
    "",
    'figures = pd.read_json("datasets/full/figures.jsonl", lines=True, dtype=False)',
    "```",
)
