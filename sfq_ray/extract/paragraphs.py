"""Paragraphs of the body text in reading order, each with the heading of the section it stands in.

A paragraph goes on over columns, pages, floats and display equations. List items and footnotes are paragraphs of
their own. Running heads, page numbers, line numbers, rotated text and the reference list are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
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
    r"(?:(?:\d{1,2}|[A-Z])(?:\.\d{1,2})*\.?|[IVX]{1,5}\.|§\s?\d+|(?:[Aa]ppendix|APPENDIX)\s+[A-Z][:.]?)\s+[^\Wa-z_]"
)
BULLET = re.compile(r"(?:[•◦▪●■‣∙·►▶➤✓⋆*]|[–—]\s)\s*")
ITEM = re.compile(r"(?:\(?(?:\d{1,2}|[a-z]|[ivx]{1,4}|[A-Z]\d?)\)|(?:\d{1,2}|[A-Z]\d{1,2})[.:])\s+\S")
TERMINAL = re.compile(r"[.!?:;。！？：][\"'”’)\]\d]*$")
WORD = re.compile(r"[^\W\d_]{3,}")
MAX_HEADING_CHARS = 120
MAX_HEADING_ROWS = 3
TITLE_SIZE = 1.28  # of the body size: the title of the paper and what stands below it are no section
MIN_TABLE_ROWS = 3
SLACK = 0.6  # em: a justified line that ends so far from the margin is the last of its paragraph
SANS_FONT = re.compile(r"helvet|arial|sans|nimbussan|biolinum|calibri|gothic|verdana|roboto", re.IGNORECASE)
MATH_FONT = re.compile(
    r"(?:cm|lm)(?:mi|sy|ex|mathi|maths)|math|msam|msbm|eufm|rsfs|symbol|esint|txsy|mtmi|mtsy", re.IGNORECASE
)
RUNNING_ON_CHARS = 8  # a row with fewer letters says nothing about the font size of its text


@dataclass(frozen=True)
class Paragraph:
    """Rows of one paragraph with the page of each, in reading order."""

    section: str | None
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
    style = _style(pages, columns)
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


@dataclass(frozen=True)
class _Style:
    """How the document is set: body size, distance of baselines, and whether lines end at the right margin."""

    body: float
    leading: float
    justified: bool
    font: str


def _style(pages: Sequence[Page], columns: Sequence[Column]) -> _Style:
    body = body_size(pages)
    steps = Counter[float]()
    fonts = Counter[str]()
    at_margin = rows = 0
    for column in columns:
        for before, row in pairwise(column.rows):
            if abs(row.size - body) < 0.6 and abs(before.size - body) < 0.6 and len(row.text) > 20:
                steps[round(2 * (row.baseline - before.baseline)) / 2] += 1
                rows += 1
                fonts[row.lines[0].font] += 1
                at_margin += column.right - before.bbox.x1 < 0.5 * body
    leading = max(steps, key=lambda step: (steps[step], -step)) if steps else 1.2 * body
    return _Style(
        body,
        leading if leading > 0.8 * body else 1.2 * body,
        at_margin > 0.55 * rows,
        max(fonts, key=lambda f: (fonts[f], f), default=""),
    )


def _without_tables(rows: Sequence[Row]) -> list[Row]:
    """The rows without runs of rows that are set in cells, and short rows amid or at the head of these."""
    cells = [_in_cells(row) for row in rows]
    for index in range(1, len(rows) - 1):
        cells[index] = cells[index] or (cells[index - 1] and cells[index + 1])
    for index in range(len(rows) - 2, -1, -1):
        near = rows[index + 1].baseline - rows[index].baseline < 2.5 * rows[index].size
        title = len(rows[index].text) < 30 and not TERMINAL.search(rows[index].text.rstrip())
        cells[index] = cells[index] or (all(cells[index + 1 : index + 3]) and near and title)
    return [
        row
        for index, row in enumerate(rows)
        if not (cells[index] and sum(cells[max(0, index - 2) : index + 3]) >= MIN_TABLE_ROWS)
    ]


def _in_cells(row: Row) -> bool:
    """Several wide gaps, as no justified text has."""
    gaps = sum(after.bbox.x0 - before.bbox.x1 > 1.6 * row.size for before, after in pairwise(row.lines))
    return gaps >= 2


def _split_notes(rows: list[Row], style: _Style) -> tuple[list[Row], list[Row]]:
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

    def __init__(self, style: _Style) -> None:
        self.style = style
        self.found: list[Paragraph] = []
        self.section: str | None = None
        self.in_references = False
        self.open = _Open()
        self.column: Column | None = None  # of the last row of the open paragraph
        self.heading: Row | None = None  # the row before, if it was a heading

    def read(self, column: Column, rows: Sequence[Row]) -> None:
        for index, row in enumerate(rows):
            before, after = rows[index - 1] if index else None, rows[index + 1 : index + 1 + MAX_HEADING_ROWS]
            if before is not None and before is self.heading and _second_row(row, before):
                self._add_heading(row, f"{self.section or ''} {row.text}")
            elif _is_heading(row, before, after, column, self.style):
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
        self.in_references = bool(REFERENCES.fullmatch(text))
        title = self.section is None and _largest(row) > TITLE_SIZE * self.style.body and not NUMBERED.match(text)
        self.section = None if title and not NAMED_HEADING.fullmatch(text) else text

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
            flush = paragraph.x0 < 0.6 * self.style.body
            self.found.append(Paragraph(self.section, tuple(paragraph.rows), tuple(paragraph.pages), size, flush))

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


def is_display(row: Row) -> bool:
    """The row is of a display equation: next to no words outside of mathematical type."""
    text = row.text
    if len(text) > 120:
        return False
    enough = 0.3 * (len(text) - text.count(" "))
    if not any(_mathematical(span.font) for span in row.spans):
        return sum(map(len, WORD.findall(text))) < enough
    return sum(len(w) for s in row.spans if not _mathematical(s.font) for w in WORD.findall(s.text)) < enough


@lru_cache(maxsize=1024)
def _mathematical(font: str) -> bool:
    return MATH_FONT.search(font) is not None


def _marked(row: Row) -> bool:
    """Begins with a raised, smaller mark or a sign such as *."""
    first = row.spans[0]
    return first.size < 0.85 * row.size or row.text.lstrip()[:1] in "*†‡§¶∗"


def _run_in(row: Row) -> bool:
    """Begins with a bold (or italic) title and goes on in plain type."""
    spans = [span for span in row.spans if span.text.strip()]
    return len(spans) > 1 and spans[0].bold and not spans[-1].bold and len(spans[0].text.strip()) > 3


def _is_heading(row: Row, before: Row | None, after: Sequence[Row], column: Column, style: _Style) -> bool:
    """The row stands out in type and, unless numbered, in space; it's short, and no sentence that goes on."""
    text = row.text.strip()
    if len(text) > MAX_HEADING_CHARS or not WORD.search(text) or is_display(row) or text[0].islower():
        return False
    if REFERENCES.fullmatch(text) or (NAMED_HEADING.fullmatch(text) and text[0].isupper()):
        return True
    numbered = NUMBERED.match(text) is not None
    apart = before is None or row.baseline - before.baseline > 1.25 * style.leading
    sentence = text[-1] in ",;:" or (text[-1] == "." and not numbered)
    if sentence or not (apart or numbered) or BULLET.match(text) or _goes_on(row, after):
        return False
    size = _largest(row)
    if size > 1.08 * style.body:
        return True
    spans = [span for span in row.spans if WORD.search(span.text)]
    if size > 0.85 * style.body and all(span.bold or _sans(span.font) != _sans(style.font) for span in spans):
        return True
    narrow = row.bbox.width < 0.85 * (column.right - column.left)
    if size < FOOTNOTE_SIZE * style.body or not (numbered and apart and narrow) or text.rstrip(".")[-1] in ".!?":
        return False
    return text.upper() == text or all(span.italic for span in spans)


def _largest(row: Row) -> float:
    """Font size of most of the row; of its capitals, where the rest is small capitals. pt"""
    if row.text.upper() != row.text:
        return row.size
    return max((span.size for span in row.spans if any(map(str.isalpha, span.text))), default=row.size)


@lru_cache(maxsize=1024)
def _sans(font: str) -> bool:
    return SANS_FONT.search(font) is not None


def _goes_on(row: Row, after: Sequence[Row]) -> bool:
    """What follows is set like the row: a title run in to its paragraph, or a whole paragraph in that type."""
    close = [
        below.spans[0].font == row.spans[-1].font and below.baseline - above.baseline < 1.4 * row.size
        for above, below in pairwise([row, *after])
    ]
    if not close or not close[0]:
        return False
    run_in = after[0].spans[-1].font != after[0].spans[0].font and not NUMBERED.match(after[0].text.strip())
    return run_in or (len(close) == MAX_HEADING_ROWS and all(close))


def _second_row(row: Row, heading: Row) -> bool:
    """The row goes on a heading: all of it in the same type, close below."""
    same = abs(_largest(row) - _largest(heading)) < 0.3 and {span.font for span in row.spans if span.text.strip()} <= {
        span.font for span in heading.spans
    }
    return same and row.baseline - heading.baseline < 1.5 * heading.size and not NUMBERED.match(row.text.strip())
