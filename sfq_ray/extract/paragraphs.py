"""Paragraphs of the body text in reading order, each with the heading of the section it stands in.

A paragraph goes on over columns, pages, floats and display equations. List items and footnotes are paragraphs of
their own. Running heads, page numbers, line numbers, rotated text and the reference list are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

from sfq_ray.extract.document import Page
from sfq_ray.extract.headings import (
    APPENDIX,
    BULLET,
    FOOTNOTE_SIZE,
    MAX_HEADING_ROWS,
    NAMED_HEADING,
    NUMBERED,
    REFERENCES,
    TITLE_SIZE,
    BodyStyle,
    body_style,
    is_display,
    is_heading,
    is_second_row,
    largest_size,
)
from sfq_ray.extract.reading import Column, reading_order
from sfq_ray.extract.rows import Row
from sfq_ray.extract.text import Vocabulary, join_with_starts, normalise
from sfq_ray.geometry import Box

ITEM = re.compile(r"(?:\(?(?:\d{1,2}|[a-z]|[ivx]{1,4}|[A-Z]\d?)\)|(?:\d{1,2}|[A-Z]\d{1,2})[.:])\s+\S")
TERMINAL = re.compile(r"[.!?:;。！？：][\"'”’)\]\d]*$")
MIN_TABLE_ROWS = 3
CELL_GAP = 1.6  # em, between the cells of a table; stretched text has hardly two such gaps in a row
NARROW_CELL_GAP = 0.9  # em; nor three such
SLACK = 0.35  # em: a justified line that ends so far from the margin is the last of its paragraph
RUNNING_ON_CHARS = 8  # a row with fewer letters says nothing about the font size of its text


@dataclass(frozen=True)
class Paragraph:
    """Rows of one paragraph with the page of each, in reading order."""

    section: str | None
    place: str  # body, footnote or appendix
    rows: tuple[Row, ...]
    pages: tuple[int, ...]
    size: float  # pt
    flush: bool = True  # its first row isn't indented

    @property
    def unfinished(self) -> bool:
        """It's prose that stops in the middle of a sentence."""
        return len(self.rows) > 1 and not TERMINAL.search(self.rows[-1].text.rstrip())

    @property
    def page(self) -> int:
        """0-based page on which it begins."""
        return self.pages[0]

    @cached_property
    def raw(self) -> str:
        """Its rows as they are printed, end to end; hyphens at line ends remain."""
        return " ".join(row.text for row in self.rows)

    def text(self, vocabulary: Vocabulary) -> tuple[str, list[int]]:
        """Running text with hyphenation undone, and the offset in it at which each row begins."""
        return join_with_starts([row.text for row in self.rows], vocabulary)


def find_paragraphs(pages: Sequence[Page], zones: Mapping[int, Sequence[Box]]) -> list[Paragraph]:
    """Paragraphs of the document outside `zones` (boxes per page number) and outside the reference list."""
    columns = list(reading_order(pages, zones))
    style = body_style(pages, columns)
    reader = _Reader(style)
    for column in columns:
        body, notes = _split_notes(_without_tables(column.rows), style)
        reader.read(column, body)
        reader.read_notes(column, notes)
    reader.close()
    return _mended(reader.found)


def _mended(paragraphs: Sequence[Paragraph]) -> list[Paragraph]:
    """Paragraphs that small print (stray text of a figure, footnotes) cut in two are put together."""
    result: list[Paragraph] = []
    for paragraph in paragraphs:
        index = len(result) - 1
        while index >= 0 and result[index].size < FOOTNOTE_SIZE * paragraph.size:
            index -= 1
        if 0 <= index < len(result) - 1 and _belongs(result[index], paragraph):
            first = result[index]
            rows, pages = (*first.rows, *paragraph.rows), (*first.pages, *paragraph.pages)
            result[index] = replace(first, rows=rows, pages=pages)
        else:
            result.append(paragraph)
    return result


def _belongs(first: Paragraph, rest: Paragraph) -> bool:
    same = abs(first.size - rest.size) < 0.05 * first.size and first.section == rest.section
    return same and first.unfinished and rest.flush and not BULLET.match(rest.rows[0].text.strip())


def _without_tables(rows: Sequence[Row]) -> list[Row]:
    """The rows without runs of rows that are set in cells, and short rows amid or at the head of these."""
    cells = [_gaps(row, CELL_GAP) >= 2 or _gaps(row, NARROW_CELL_GAP) >= 3 for row in rows]
    for index in range(1, len(rows) - 1):
        cells[index] = cells[index] or (cells[index - 1] and cells[index + 1])
    for index in range(len(rows) - 2, -1, -1):
        near = rows[index + 1].baseline - rows[index].baseline < 2.5 * rows[index].size
        short = len(rows[index].text) < 30 or _gaps(rows[index], NARROW_CELL_GAP) >= 1
        title = short and not TERMINAL.search(rows[index].text.rstrip())
        cells[index] = cells[index] or (all(cells[index + 1 : index + 3]) and near and title)
    return [
        row
        for index, row in enumerate(rows)
        if not (cells[index] and sum(cells[max(0, index - 2) : index + 3]) >= MIN_TABLE_ROWS)
    ]


def _gaps(row: Row, least: float) -> int:
    """Gaps of at least so many em in the row; justified text has none that are wide."""
    return sum(after.bbox.x0 - before.bbox.x1 > least * row.size for before, after in pairwise(row.lines))


def _split_notes(rows: list[Row], style: BodyStyle) -> tuple[list[Row], list[Row]]:
    """The rows of the body, and those of the footnotes: smaller rows that end a column."""
    cut = len(rows)
    while cut > 0 and rows[cut - 1].size < FOOTNOTE_SIZE * style.body:
        cut -= 1
    if cut == 0 or len(rows) - cut > 0.6 * len(rows):
        return rows, []
    return rows[:cut], rows[cut:]


@dataclass
class _Open:
    """The paragraph being read."""

    rows: list[Row] = field(default_factory=list)
    pages: list[int] = field(default_factory=list)
    item: bool = False
    x0: float = 0.0  # of the first row, from the left edge of its column
    last: Row | None = None  # the last whole row; bits of inline formulas below it don't count

    def add(self, row: Row, page: int) -> None:
        bit = (
            self.last is not None
            and len(row.text) < 20
            and 0 <= row.baseline - self.last.baseline < 0.7 * self.last.size
        )
        self.last = self.last if bit else row
        self.rows.append(row)
        self.pages.append(page)


class _Reader:
    """Walks the rows in reading order and cuts them into paragraphs and headings."""

    def __init__(self, style: BodyStyle) -> None:
        self.style = style
        self.found: list[Paragraph] = []
        self.section: str | None = None
        self.in_references = False
        self.in_appendix = False  # after the reference list, or below a heading that says so
        self.open = _Open()
        self.column: Column | None = None  # of the last row of the open paragraph
        self.heading: Row | None = None  # the row before, if it was a heading

    def read(self, column: Column, rows: Sequence[Row]) -> None:
        for index, row in enumerate(rows):
            before, after = rows[index - 1] if index else None, rows[index + 1 : index + 1 + MAX_HEADING_ROWS]
            if before is not None and before is self.heading and is_second_row(row, before):
                self._add_heading(row, f"{self.section or ''} {row.text}")
            elif is_heading(row, before, after, column, self.style):
                self._add_heading(row, row.text)
            else:
                self._add_text(row, before, column)

    def _add_text(self, row: Row, before: Row | None, column: Column) -> None:
        self.heading = None
        if self.open.rows and self._begins(row, before, column):
            self.close()
        if not self.open.rows:
            self.open.item = bool(BULLET.match(row.text.lstrip()) or ITEM.match(row.text.lstrip()))
            self.open.x0 = row.bbox.x0 - column.left
        self.open.add(row, column.page)
        self.column = column

    def _add_heading(self, row: Row, text: str) -> None:
        self.close()
        text = normalise(text)
        self.heading = row
        listed = bool(REFERENCES.fullmatch(text))
        self.in_appendix = self.in_appendix or bool(APPENDIX.match(text)) or (self.in_references and not listed)
        self.in_references = listed
        title = self.section is None and largest_size(row) > TITLE_SIZE * self.style.body and not NUMBERED.match(text)
        self.section = None if title and not NAMED_HEADING.fullmatch(text) else text

    def read_notes(self, column: Column, rows: Sequence[Row]) -> None:
        """Footnotes: a new one begins with a raised mark."""
        note = _Open()
        for row in rows:
            if note.rows and _marked(row):
                self._emit(note, "footnote")
                note = _Open()
            note.add(row, column.page)
        self._emit(note, "footnote")

    def close(self) -> None:
        self._emit(self.open, "body")
        self.open = _Open()

    def _emit(self, paragraph: _Open, place: str) -> None:
        if paragraph.rows and not self.in_references:
            place = "appendix" if self.in_appendix else place
            size = max(paragraph.rows, key=lambda row: len(row.text)).size
            flush = paragraph.x0 < 0.6 * self.style.body
            rows, pages = tuple(paragraph.rows), tuple(paragraph.pages)
            self.found.append(Paragraph(self.section, place, rows, pages, size, flush))

    def _begins(self, row: Row, before: Row | None, column: Column) -> bool:
        """True when `row` begins a new paragraph after the open one."""
        last = self.open.last or self.open.rows[-1]
        text, ended = row.text.strip(), self.open.rows[-1].text.rstrip()
        if _letters(row) and _letters(last) and abs(row.size - last.size) > 0.08 * self.style.body:
            return True
        if BULLET.match(text):
            return True
        terminal = TERMINAL.search(ended) is not None
        if ended.endswith(("-", "\u00ad")) or (text[:1].islower() and not terminal):
            return False
        if before is not self.open.rows[-1]:
            return self._begins_column(row, column, terminal)
        step = row.baseline - last.baseline
        indent, last_indent = row.bbox.x0 - column.left, last.bbox.x0 - column.left
        em = self.style.body
        if is_display(row):
            return False
        if is_display(last):
            return 0.6 * em < indent < 3 * em and text[:1].isupper()
        early = self.style.justified and column.right - last.bbox.x1 > SLACK * em
        hangs = abs(indent - last_indent) > 0.5 * em
        if ITEM.match(text) and (early or step > 1.1 * self.style.leading or (terminal and hangs)):
            return True
        if self.open.item and indent < self.open.x0 - 0.6 * em:
            return True
        if step > 1.3 * self.style.leading:
            return terminal or early
        if self.open.item:
            return early and terminal and indent <= self.open.x0 + 1 and step > 1.05 * self.style.leading
        if indent - last_indent > 0.6 * em and indent < 5 * em:
            return terminal or early
        if early and terminal:
            return True
        return _run_in(row) and terminal and not _run_in(last) and step > 1.05 * self.style.leading

    def _begins_column(self, row: Row, column: Column, terminal: bool) -> bool:
        """The first row of a column or page."""
        last, before = self.open.last or self.open.rows[-1], self.column
        if before is None or row.bbox.x0 - column.left > 0.6 * self.style.body:
            return terminal
        early = self.style.justified and before.right - last.bbox.x1 > SLACK * self.style.body
        return terminal and (early or bool(ITEM.match(row.text.strip())) or _run_in(row))


def _letters(row: Row) -> bool:
    return sum(map(str.isalpha, row.text[:40])) >= RUNNING_ON_CHARS


def _marked(row: Row) -> bool:
    """Begins with a raised, smaller mark or a sign such as *."""
    first = row.spans[0]
    return first.size < 0.85 * row.size or row.text.lstrip()[:1] in "*†‡§¶∗"


def _run_in(row: Row) -> bool:
    """Begins with a bold (or italic) title and goes on in plain type."""
    spans = [span for span in row.spans if span.text.strip()]
    return len(spans) > 1 and spans[0].bold and not spans[-1].bold and len(spans[0].text.strip()) > 3
