"""Visual rows of a page: text lines that share a baseline and touch, joined; and the document's body text size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from sfq_ray.extract.document import Line, Page, Span
from sfq_ray.geometry import Box, union_all

MIN_LINE_NUMBERS = 15  # so many numbers below each other that count up are line numbers
WORD_GAP = 1.2  # of the font size: lines of one row that lie closer are one piece of text


@dataclass(frozen=True)
class Row:
    """One visual row of horizontal text, or a single line of any other direction."""

    bbox: Box
    lines: tuple[Line, ...]

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        return tuple(span for line in self.lines for span in line.spans)

    @cached_property
    def text(self) -> str:
        pieces = [self.lines[0].text]
        for before, line in zip(self.lines, self.lines[1:], strict=False):
            near = line.bbox.x0 - before.bbox.x1 < 0.15 * max(line.size, 1.0)
            pieces.append(line.text if near else " " + line.text)
        return "".join(pieces)

    @cached_property
    def size(self) -> float:
        return max(self.lines, key=lambda line: len(line.text)).size

    @property
    def baseline(self) -> float:
        return max(self.lines, key=lambda line: len(line.text)).baseline

    @property
    def horizontal(self) -> bool:
        return self.lines[0].horizontal

    @property
    def block(self) -> int:
        return self.lines[0].block


def page_rows(page: Page) -> list[Row]:
    """Rows of the page from top to bottom, then left to right. Only lines of one MuPDF block are joined.

    The line numbers that review copies carry in their margins are left out.
    """
    rows: list[Row] = []
    by_block: dict[int, list[Line]] = {}
    for line in text_lines(page):
        by_block.setdefault(line.block, []).append(line)
    for lines in by_block.values():
        rows.extend(_block_rows(lines))
    return sorted(rows, key=lambda row: (round(row.bbox.y0, 1), row.bbox.x0, row.text))


def text_lines(page: Page) -> list[Line]:
    """The lines of the page without margin line numbers."""
    numbers = [line for line in page.lines if line.horizontal and line.text.strip().isdigit()]
    margin: set[int] = set()
    for edge in ("x0", "x1"):
        columns: dict[int, list[Line]] = {}
        for line in numbers:
            columns.setdefault(round(getattr(line.bbox, edge) / 3), []).append(line)
        for column in columns.values():
            if _is_count(sorted(column, key=lambda line: line.bbox.y0)):
                margin.update(id(line) for line in column)
    return [line for line in page.lines if id(line) not in margin]


def _is_count(column: Sequence[Line]) -> bool:
    """At least MIN_LINE_NUMBERS numbers, nearly all one more than the one above."""
    if len(column) < MIN_LINE_NUMBERS:
        return False
    values = [int(line.text.strip()) for line in column]
    steps = [b - a for a, b in pairwise(values)]
    return sum(step == 1 for step in steps) >= 0.8 * len(steps)


def _block_rows(lines: Sequence[Line]) -> list[Row]:
    groups: list[list[Line]] = []
    for line in lines:
        if groups and line.horizontal and groups[-1][-1].horizontal and _same_row(groups[-1][-1], line):
            groups[-1].append(line)
        else:
            groups.append([line])
    rows = []
    for group in groups:
        box = union_all(line.bbox for line in group)
        assert box is not None
        rows.append(Row(box, tuple(group)))
    return rows


def _same_row(before: Line, line: Line) -> bool:
    shared = before.bbox.overlap_y(line.bbox)
    if shared < 0.5 * min(before.bbox.height, line.bbox.height):
        return False
    gap = line.bbox.x0 - before.bbox.x1
    return -2.0 <= gap <= WORD_GAP * max(before.size, line.size)


def body_size(pages: Iterable[Page]) -> float:
    """Font size of most characters of the document, pt; 10 for a document without text."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            if len(line.text) > 20:
                sizes[round(line.size * 2) / 2] += len(line.text)
    return max(sizes, key=lambda s: (sizes[s], s)) if sizes else 10.0
