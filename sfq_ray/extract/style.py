"""What the body of a document looks like (sizes, fonts, columns, running heads), and which rows are body text."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sfq_ray.extract.document import Page
from sfq_ray.extract.rows import Row, body_size
from sfq_ray.geometry import Box

MIN_ROWS = 12  # of text, to tell the margins from
MIN_PARAGRAPH = 3  # long rows
MIN_JUSTIFIED = 4  # rows
LONG_ROW = 30  # characters: a row this long can belong to a paragraph
MARGIN_BAND = 0.09  # of the page height: where running heads and page numbers stand
DEEP_BAND = 0.13  # on paper much larger than the type area; so deep only text that other pages repeat is a head
DEEP_SHARE = 0.33  # of all pages; left and right pages have heads of their own
DIGITS = re.compile(r"\d+")


@dataclass(frozen=True)
class Style:
    """Habits of one document; lengths in pt."""

    size: float
    fonts: frozenset[str]
    column_width: float
    text_left: float
    text_right: float
    columns: int
    top_margin: float  # from the top of the page to the paragraphs
    bottom_margin: float
    heads: frozenset[tuple[int, str]]  # running heads and feet: (y // 4, text without digits)

    @property
    def gutter(self) -> float:
        """x of the middle between two columns."""
        return (self.text_left + self.text_right) / 2


def document_style(pages: Sequence[Page], rows: Sequence[list[Row]]) -> Style:
    size = body_size(pages)
    widths: Counter[int] = Counter()
    fonts: Counter[str] = Counter()
    lefts: Counter[int] = Counter()
    rights: Counter[int] = Counter()
    for page_rows in rows:
        for row in page_rows:
            if not row.horizontal or len(row.text) < LONG_ROW:
                continue
            for span in row.spans:
                fonts[span.font] += len(span.text)
            if abs(row.size - size) <= 0.6:
                widths[round(row.bbox.width / 4)] += len(row.text)
                lefts[round(row.bbox.x0)] += 1
                rights[round(row.bbox.x1)] += 1
    total = sum(fonts.values())
    page_box = pages[0].box if pages else Box(0, 0, 612, 792)
    width = 4.0 * max(widths, key=lambda w: (widths[w], w)) if widths else page_box.width * 0.7
    if sum(lefts.values()) < MIN_ROWS:  # hardly any text: it says nothing about the margins
        lefts, rights = Counter(), Counter()
    left = _edge(lefts, smallest=True, default=page_box.x0 + 0.08 * page_box.width)
    right = _edge(rights, smallest=False, default=page_box.x1 - 0.08 * page_box.width)
    columns = 2 if width < 0.62 * (right - left) else 1
    body = frozenset(f for f in fonts if fonts[f] >= 0.03 * total)
    return Style(size, body, width, left, right, columns, *_margins(pages, rows), _heads(pages, rows))


def _edge(values: Counter[int], smallest: bool, default: float) -> float:
    """The outermost position at which at least 3 % of the rows begin (or end)."""
    total = sum(values.values())
    common = [v for v in values if values[v] + values[v - 1] + values[v + 1] >= 0.03 * total]
    if not common:
        return default
    return float(min(common) if smallest else max(common))


def _margins(pages: Sequence[Page], rows: Sequence[list[Row]]) -> tuple[float, float]:
    """Space above and below the paragraphs (MuPDF blocks with several long rows) on nearly all pages, pt."""
    tops, bottoms = [], []
    for page, page_rows in zip(pages, rows, strict=True):
        blocks = Counter(row.block for row in page_rows if row.horizontal and len(row.text) >= LONG_ROW)
        boxes = [row.bbox for row in page_rows if row.horizontal and blocks[row.block] >= MIN_PARAGRAPH]
        if boxes:
            tops.append(min(box.y0 for box in boxes) - page.box.y0)
            bottoms.append(page.box.y1 - max(box.y1 for box in boxes))
    if not tops:
        return math.inf, math.inf
    return sorted(tops)[len(tops) // 10], sorted(bottoms)[len(bottoms) // 10]


def _heads(pages: Sequence[Page], rows: Sequence[list[Row]]) -> frozenset[tuple[int, str]]:
    """Keys that two pages show in the margin band, or a third of all, once each and with letters, in the deep band."""
    seen: Counter[tuple[int, str]] = Counter()
    deep: Counter[tuple[int, str]] = Counter()
    twice: set[tuple[int, str]] = set()  # on one page, as the titles of panels are
    for page, page_rows in zip(pages, rows, strict=True):
        here = Counter(_head_key(row) for row in page_rows if _in_band(row, page, DEEP_BAND))
        twice |= {key for key, count in here.items() if count > 1}
        deep.update(key for key in here if any(letter.isalpha() for letter in key[1]))
        seen.update(_head_key(row) for row in page_rows if in_margin_band(row, page))
    often = max(2.0, DEEP_SHARE * len(pages))
    return frozenset(key for key in seen if seen[key] >= 2) | {k for k in deep if deep[k] >= often and k not in twice}


def in_margin_band(row: Row, page: Page) -> bool:
    return _in_band(row, page, MARGIN_BAND)


def _in_band(row: Row, page: Page, share: float) -> bool:
    band = share * page.box.height
    return row.bbox.y1 < page.box.y0 + band or row.bbox.y0 > page.box.y1 - band


def _head_key(row: Row) -> tuple[int, str]:
    return round(row.bbox.y0 / 4), DIGITS.sub("#", row.text.strip())


def is_head(row: Row, page: Page, style: Style) -> bool:
    """Running head, foot or page number."""
    inside = row.bbox.y1 > page.box.y0 + style.top_margin + 1 and row.bbox.y0 < page.box.y1 - style.bottom_margin - 1
    if inside or not _in_band(row, page, DEEP_BAND):
        return False
    y, text = _head_key(row)
    number = text in ("#", "- # -", "–#–", "")
    if number and not in_margin_band(row, page):  # next to a running head, else it may be a tick label
        return any(abs(y - head) <= 1 for head, words in style.heads if any(letter.isalpha() for letter in words))
    return number or any((y + d, text) in style.heads for d in (-1, 0, 1))


def body_rows(page: Page, rows: Sequence[Row], style: Style, frames: Sequence[Box]) -> set[int]:
    """Indices of the rows that belong to running text: paragraphs, headings above them, lists, footnotes.

    A paragraph is a MuPDF block with long rows in a font of the body; text within a frame is part of a figure.
    """
    blocks: dict[int, list[int]] = {}
    for index, row in enumerate(rows):
        if row.horizontal and not any(row.bbox.share_inside(frame) > 0.9 for frame in frames):
            blocks.setdefault(row.block, []).append(index)
    body: set[int] = set()
    for indices in blocks.values():
        long = [i for i in indices if _long(rows[i], style)]
        characters = sum(len(rows[i].text) for i in indices)
        if sum(len(rows[i].text) for i in long) >= 0.5 * characters or _justified([rows[i] for i in indices], style):
            body.update(indices)
    right = {block: max(rows[i].bbox.x1 for i in indices) for block, indices in blocks.items()}
    for indices in blocks.values():  # short blocks in line with a paragraph: headings, last rows, list items
        for i in indices:
            if i in body or not _body_type(rows[i], style):
                continue
            if any(_in_line(rows[i], rows[j], right[rows[j].block], style) for j in body):
                body.add(i)
    return body


def _long(row: Row, style: Style) -> bool:
    own = sum(len(s.text) for s in row.spans if s.font in style.fonts)
    return (
        len(row.text) >= LONG_ROW
        and row.bbox.width >= 0.55 * style.column_width
        and row.size >= 0.7 * style.size
        and own >= 0.5 * len(row.text)
        and " " in row.text.strip()
    )


def _justified(rows: Sequence[Row], style: Style) -> bool:
    """A narrow paragraph, as beside a figure that text flows around: rows in body type that share both margins."""
    if len(rows) < MIN_JUSTIFIED or any(len(row.text) < LONG_ROW for row in rows[1:-1]):
        return False
    # a bold title may run in
    typed = all(abs(r.size - style.size) <= 0.6 and any(s.font in style.fonts for s in r.spans) for r in rows[1:])
    left, right = (sorted(getattr(row.bbox, edge) for row in rows[1:-1]) for edge in ("x0", "x1"))
    loose = 0.3 * style.size  # hyphens hang over the margin
    return typed and left[-1] - left[0] < loose and right[-1] - right[0] < loose


def _body_type(row: Row, style: Style) -> bool:
    return row.size >= 0.85 * style.size and any(s.font in style.fonts for s in row.spans)


def _in_line(row: Row, other: Row, right: float, style: Style) -> bool:
    """The row stands at the left edge of a paragraph, directly above or below its row `other`.

    `right`: pt, where the longest row of that paragraph ends.
    """
    gap = max(other.bbox.y0 - row.bbox.y1, row.bbox.y0 - other.bbox.y1)
    near = gap < 1.4 * style.size and abs(other.bbox.x0 - row.bbox.x0) < 2.2 * style.size
    return near and row.bbox.x1 <= right + 2
