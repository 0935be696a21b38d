"""Captions: where they begin, how far they go, and what they caption.

A caption begins a paragraph with a caption word and a number. What is a caption and what is a sentence that
happens to begin with "Figure 3" is decided for the whole document: captions of one paper share their style.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sfq_ray.extract.caption_rows import caption_rows
from sfq_ray.extract.caption_words import BRACKETS, SENTENCE, SENTENCE_END, START
from sfq_ray.extract.document import Page
from sfq_ray.extract.references import normalise_label
from sfq_ray.extract.rows import Row
from sfq_ray.extract.text import Vocabulary, join_lines, normalise
from sfq_ray.geometry import Box, union_all


@dataclass(frozen=True)
class Caption:
    """A caption on a page: kind figure, table or other; number as printed; text without the label."""

    kind: str
    number: str
    label: str
    text: str
    page: int
    bbox: Box
    rows: tuple[Row, ...]
    size: float  # pt
    strength: float  # how sure it is that this is a caption


def find_captions(
    pages: Sequence[Page], rows: Sequence[list[Row]], vocabulary: Vocabulary, body: float
) -> list[Caption]:
    """All captions of the document in reading order. `rows[i]` are the rows of `pages[i]`; `body` is the text size."""
    starts = [start for page, page_rows in zip(pages, rows, strict=True) for start in _starts(page, page_rows, body)]
    kept = _select(starts)
    begins = {id(start.row) for start in kept}
    captions = [_complete(start, rows, begins, vocabulary) for start in kept]
    return sorted(captions, key=lambda c: (c.page, round(c.bbox.y0, 1), c.bbox.x0))


@dataclass(frozen=True)
class _Start:
    page_index: int
    page: int
    row: Row
    match: re.Match[str]
    kind: str
    separator: str
    styled: bool  # the label is set in another font than the text after it
    interrupts: bool  # the row goes on a paragraph that began above it
    follows: str  # the text after the label
    size: float
    body: float
    strength: float = 0.0


def _starts(page: Page, rows: Sequence[Row], body: float) -> list[_Start]:
    found = []
    for row in rows:
        text = normalise(row.text)
        match = START.match(text) if row.horizontal and len(text) < 400 else None
        if match is None or match["word"][0].islower():
            continue
        kind = "figure" if match["figure"] else "table" if match["table"] else "other"
        separator = unicodedata.normalize("NFKC", match["sep"]).strip()[:1]
        follows = text[match.end() :].strip()
        found.append(
            _Start(
                page.number,
                page.number,
                row,
                match,
                kind,
                separator or ("" if follows else "\n"),
                _styled(row, match),
                _interrupts(row, rows, bool(separator)),
                follows,
                row.size,
                body,
            )
        )
    return found


def _styled(row: Row, match: re.Match[str]) -> bool:
    """The label is bold (or in another font) and what follows is not."""
    first = next((span for span in row.spans if span.text.strip()), None)
    if first is None:
        return False
    if first.bold or first.font != row.lines[-1].spans[-1].font:
        label = match.group().strip()
        plain = next((span for span in row.spans if span.text.strip() and span.font != first.font), None)
        return first.bold or (plain is not None and len(first.text.strip()) <= len(label) + 2)
    return False


def _interrupts(row: Row, rows: Sequence[Row], separated: bool) -> bool:
    """A row of the same size ends close above and reaches the right margin of this one: the paragraph goes on.

    Unless the row above ends a sentence and a separator follows the number: no sentence begins with "Figure 3."
    """
    for other in rows:
        if other is row or not other.horizontal or abs(other.size - row.size) > 0.6:
            continue
        if not 0.8 * row.size <= row.baseline - other.baseline <= 1.5 * row.size:
            continue
        if abs(other.bbox.x0 - row.bbox.x0) > 1.5 * row.size and other.bbox.x0 > row.bbox.x0:
            continue
        if other.bbox.overlap_x(row.bbox) < 0.5 * min(row.bbox.width, other.bbox.width):
            continue
        if other.bbox.width >= 0.6 * row.bbox.width and len(other.text) > 25:
            return not (separated and SENTENCE_END.search(other.text.strip()))
    return False


def _select(starts: list[_Start]) -> list[_Start]:
    """The starts that are captions, by their own looks and by what most figure captions of the document look like."""
    votes: Counter[tuple[str, bool]] = Counter()
    for start in starts:
        if start.kind == "figure" and not start.interrupts and not SENTENCE.match(start.follows):
            votes[(start.separator, start.styled)] += 1
    habit = max(votes, key=lambda k: (votes[k], k)) if votes else None
    scored = [replace(start, strength=_strength(start, habit)) for start in starts]
    kept = [start for start in scored if start.strength > 0]
    best: dict[tuple[str, str], float] = {}
    for start in kept:
        best[_identity(start)] = max(best.get(_identity(start), 0.0), start.strength)
    # a weaker start for a number that has a clearly stronger one is a sentence
    return [s for s in kept if s.strength >= best[_identity(s)] - 1.0]


def _identity(start: _Start) -> tuple[str, str]:
    """Kind and label; "Supplementary Figure 1" is another figure than "Figure 1"."""
    return start.kind, normalise_label(f"{start.match['word']} {start.match['number']}")


def _strength(start: _Start, habit: tuple[str, bool] | None) -> float:
    score = {":": 2.0, "|": 2.0, "\n": 1.0, ".": 1.0, "-": 0.5, "—": 0.5, "–": 0.5, "。": 1.0, ")": 0.2}.get(
        start.separator, -0.5
    )
    if start.separator and start.separator in BRACKETS:
        score = 1.0
    if start.styled:
        score += 1.5
    if habit is not None and start.kind == "figure":
        score += 1.0 if (start.separator, start.styled) == habit else 0.0 if start.separator == habit[0] else -0.5
    if abs(start.size - start.body) > 0.6 and start.size < start.body:
        score += 0.7
    if start.interrupts:
        score -= 2.5
    if SENTENCE.match(start.follows):
        score -= 2.5
    elif start.separator in ("", ".") and start.follows[:1].islower():
        score -= 1.5
    elif start.separator == "" and not start.interrupts and (start.follows[:1].isupper() or start.follows[:1] == "("):
        score += 1.2  # "Figure 3 Accuracy over time"
    if start.separator == "" and start.follows and start.follows[0] in ",;)":
        score -= 3.0
    if start.separator in (")",):
        score -= 0.5
    return score


def _complete(start: _Start, rows: Sequence[list[Row]], begins: set[int], vocabulary: Vocabulary) -> Caption:
    # what follows the title of an algorithm is the algorithm
    lines = [start.row] if start.kind == "other" else caption_rows(start.row, rows[start.page_index], begins)
    texts = [row.text for row in lines]
    full = join_lines(texts, vocabulary)
    match = START.match(full)
    end = match.end() if match else 0
    box = union_all(row.bbox for row in lines)
    assert box is not None
    number = re.sub(r"\s", "", start.match["number"])
    return Caption(
        start.kind,
        number,
        full[:end].strip(),
        full[end:].strip(),
        start.page,
        box,
        tuple(lines),
        start.size,
        start.strength,
    )
