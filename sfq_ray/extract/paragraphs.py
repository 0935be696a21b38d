"""Paragraphs of the body text in reading order, each with the heading of the section it stands in.

A paragraph goes on over columns, pages, floats and display equations. List items and footnotes are paragraphs of
their own. Running heads, page numbers, line numbers, rotated text and the reference list are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from sfq_ray.extract.document import Page
from sfq_ray.extract.reading import Column, reading_order
from sfq_ray.extract.rows import Row, body_size
from sfq_ray.extract.text import Vocabulary, join_with_starts, normalise
from sfq_ray.geometry import Box

FOOTNOTE_SIZE = 0.93  # of the body size
NAMED_HEADING = re.compile(
    r"(?:abstract|introduction|related works?|background|methods?|materials and methods|experiments?|evaluation|"
    r"results(?: and discussion)?|discussion|conclusions?|limitations|acknowledge?ments?|appendix|appendices|"
    r"supplementary materials?|r[ée]sum[ée]|zusammenfassung|摘要|要旨)\W*",
    re.IGNORECASE,
)
REFERENCES = re.compile(
    r"(?:[\dIVX]+\.?\s+)?(?:references|bibliography|literature cited|r[ée]f[ée]rences|bibliographie|literatur(?:verzeichnis)?|"
    r"referencias|bibliograf[ií]a|список литературы|литература|参考文献|참고문헌)\W*",
    re.IGNORECASE,
)
NUMBERED = re.compile(
    r"(?:(?:\d{1,2}|[A-Z])(?:\.\d{1,2})*\.?|[IVX]{1,5}\.|§\s?\d+|appendix\s+[A-Z])[:.]?\s+\S", re.IGNORECASE
)
BULLET = re.compile(r"(?:[•◦▪●■‣∙·►▶➤✓⋆*]|[–—]\s)\s*")
ITEM = re.compile(r"(?:\(?(?:\d{1,2}|[a-z]|[ivx]{1,4}|[A-Z]\d?)\)|(?:\d{1,2}|[A-Z]\d{1,2})[.:])\s+\S")
TERMINAL = re.compile(r"[.!?:;。！？：][\"'”’)\]\d]*$")
WORD = re.compile(r"[^\W\d_]{3,}")
MAX_HEADING_CHARS = 120
RUNNING_ON_CHARS = 8  # a row with fewer letters says nothing about the font size of its text


@dataclass(frozen=True)
class Paragraph:
    """Rows of one paragraph with the page of each, in reading order."""

    section: str | None
    rows: tuple[Row, ...]
    pages: tuple[int, ...]
    size: float  # pt

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
    style = _style(pages, columns)
    reader = _Reader(style)
    for column in columns:
        body, notes = _split_notes(column, style)
        reader.read(column, body)
        reader.read_notes(column, notes)
    reader.close()
    return reader.found


@dataclass(frozen=True)
class _Style:
    """How the document is set: body size, distance of baselines, and whether lines end at the right margin."""

    body: float
    leading: float
    justified: bool


def _style(pages: Sequence[Page], columns: Sequence[Column]) -> _Style:
    body = body_size(pages)
    steps = Counter[float]()
    at_margin = rows = 0
    for column in columns:
        for before, row in pairwise(column.rows):
            if abs(row.size - body) < 0.6 and abs(before.size - body) < 0.6 and len(row.text) > 20:
                steps[round(2 * (row.baseline - before.baseline)) / 2] += 1
                rows += 1
                at_margin += column.right - before.bbox.x1 < 0.5 * body
    leading = max(steps, key=lambda step: (steps[step], -step)) if steps else 1.2 * body
    return _Style(body, leading if leading > 0.8 * body else 1.2 * body, at_margin > 0.55 * rows)


def _split_notes(column: Column, style: _Style) -> tuple[list[Row], list[Row]]:
    """The rows of the body, and those of the footnotes: smaller rows that end a column."""
    rows = list(column.rows)
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

    def add(self, row: Row, page: int) -> None:
        self.rows.append(row)
        self.pages.append(page)


class _Reader:
    """Walks the rows in reading order and cuts them into paragraphs and headings."""

    def __init__(self, style: _Style) -> None:
        self.style = style
        self.found: list[Paragraph] = []
        self.section: str | None = None
        self.in_references = False
        self.open = _Open()
        self.column: Column | None = None  # of the last row of the open paragraph
        self.heading: Row | None = None  # the row before, if it was a heading

    def read(self, column: Column, rows: Sequence[Row]) -> None:
        for before, row, after in zip([None, *rows], rows, [*rows[1:], None], strict=False):
            if _is_heading(row, before, after, column, self.style):
                self._add_heading(row, before)
                continue
            self.heading = None
            if self.open.rows and self._begins(row, before, column):
                self.close()
            if not self.open.rows:
                self.open.item = bool(BULLET.match(row.text.lstrip()) or ITEM.match(row.text.lstrip()))
                self.open.x0 = row.bbox.x0 - column.left
            self.open.add(row, column.page)
            self.column = column

    def read_notes(self, column: Column, rows: Sequence[Row]) -> None:
        """Footnotes: a new one begins with a raised mark."""
        note = _Open()
        for row in rows:
            if note.rows and _marked(row):
                self._emit(note)
                note = _Open()
            note.add(row, column.page)
        self._emit(note)

    def close(self) -> None:
        self._emit(self.open)
        self.open = _Open()

    def _emit(self, paragraph: _Open) -> None:
        if paragraph.rows and not self.in_references:
            size = max(paragraph.rows, key=lambda row: len(row.text)).size
            self.found.append(Paragraph(self.section, tuple(paragraph.rows), tuple(paragraph.pages), size))

    def _add_heading(self, row: Row, before: Row | None) -> None:
        self.close()
        text = normalise(row.text)
        if self.heading is not None and self.heading is before and not NUMBERED.match(text):
            text = f"{self.section} {text}" if self.section else text
        self.heading = row
        self.in_references = bool(REFERENCES.fullmatch(text))
        self.section = text

    def _begins(self, row: Row, before: Row | None, column: Column) -> bool:
        """True when `row` begins a new paragraph after the open one."""
        last = self.open.rows[-1]
        text, ended = row.text.strip(), last.text.rstrip()
        if _letters(row) and _letters(last) and abs(row.size - last.size) > 0.08 * self.style.body:
            return True
        if BULLET.match(text):
            return True
        terminal = TERMINAL.search(ended) is not None
        if ended.endswith(("-", "\u00ad")) or (text[:1].islower() and not terminal):
            return False
        if before is not last:
            return self._begins_column(row, column, terminal)
        step = row.baseline - last.baseline
        indent, last_indent = row.bbox.x0 - column.left, last.bbox.x0 - column.left
        em = self.style.body
        if is_display(last) or is_display(row):
            return step > 2.5 * self.style.leading and terminal and indent > 0.6 * em
        early = self.style.justified and column.right - last.bbox.x1 > 2 * em
        if ITEM.match(text) and (terminal or early or step > 1.15 * self.style.leading):
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
        last, before = self.open.rows[-1], self.column
        if before is None or row.bbox.x0 - column.left > 0.6 * self.style.body:
            return terminal
        early = self.style.justified and before.right - last.bbox.x1 > 2 * self.style.body
        return terminal and (early or bool(ITEM.match(row.text.strip())) or _run_in(row))


def _letters(row: Row) -> bool:
    return sum(map(str.isalpha, row.text[:40])) >= RUNNING_ON_CHARS


def is_display(row: Row) -> bool:
    """The row is a display equation: next to no words."""
    text = row.text
    words = WORD.findall(text)
    letters = sum(map(len, words))
    return len(text) < 120 and len(words) <= 2 and letters < 0.3 * len(text.replace(" ", ""))


def _marked(row: Row) -> bool:
    """Begins with a raised, smaller mark or a sign such as *."""
    first = row.spans[0]
    return first.size < 0.85 * row.size or row.text.lstrip()[:1] in "*†‡§¶∗"


def _run_in(row: Row) -> bool:
    """Begins with a bold (or italic) title and goes on in plain type."""
    spans = [span for span in row.spans if span.text.strip()]
    return len(spans) > 1 and spans[0].bold and not spans[-1].bold and len(spans[0].text.strip()) > 3


def _is_heading(row: Row, before: Row | None, after: Row | None, column: Column, style: _Style) -> bool:
    text = row.text.strip()
    if len(text) > MAX_HEADING_CHARS or not WORD.search(text):
        return False
    if REFERENCES.fullmatch(text) or (NAMED_HEADING.fullmatch(text) and text[0].isupper()):
        return True
    numbered = NUMBERED.match(text) is not None
    apart = before is None or row.baseline - before.baseline > 1.25 * style.leading
    if text[-1] in ",;" or (text[-1] in ".:" and not numbered) or not (apart or numbered):
        return False
    if row.size > 1.08 * style.body:
        return True
    if row.size < FOOTNOTE_SIZE * style.body:
        return False
    spans = [span for span in row.spans if WORD.search(span.text)]
    if all(span.bold for span in spans):
        return apart or numbered
    narrow = row.bbox.width < 0.85 * (column.right - column.left)
    if not (numbered and apart and narrow) or text.rstrip(".")[-1:] in ".!?":
        return False
    capitals = text.upper() == text or all(span.text.upper() == span.text for span in spans)
    return capitals or all(span.italic for span in spans)
