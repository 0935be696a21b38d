"""Pages of a PDF as plain values: text lines, graphics and links in pt of the displayed page.

Reads a file with PyMuPDF and nothing else; runs in the killable child process (see extract.child).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import pymupdf

from sfq_ray.config import Limits
from sfq_ray.errors import ExtractError
from sfq_ray.extract.sheets import Objects, Sheets
from sfq_ray.geometry import Box

TEXT_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP  # ligatures are expanded
BOLD_FLAG, ITALIC_FLAG = 16, 2
ASCENDER, DESCENDER = 0.8, 0.2  # of the font size, in place of those of a font whose boxes are ...
LOW = 0.7  # ... lower than this share of the font size: such boxes lie beside their letters
BOLD_NAMES = ("bold", "black", "heavy", "semibold", "medi", "-bx", "cmbx", "sfbx")


class Span(NamedTuple):
    """A run of text in one font. Size in pt."""

    text: str
    bbox: Box
    font: str
    size: float
    bold: bool
    italic: bool


@dataclass(frozen=True)
class Line:
    """A text line as MuPDF sees it; `block` numbers the MuPDF block on the page."""

    bbox: Box
    spans: tuple[Span, ...]
    horizontal: bool
    block: int
    baseline: float  # pt, y of the baseline of horizontal lines

    @cached_property
    def text(self) -> str:
        return "".join(span.text for span in self.spans)

    @cached_property
    def size(self) -> float:
        """Font size of most characters, pt."""
        if len(self.spans) == 1:
            return round(self.spans[0].size, 1)
        sizes: Counter[float] = Counter()
        for span in self.spans:
            sizes[round(span.size, 1)] += len(span.text.strip())
        return max(sizes, key=lambda s: (sizes[s], s)) if sizes else 0.0

    @cached_property
    def font(self) -> str:
        """Font of most characters."""
        if len(self.spans) == 1:
            return self.spans[0].font
        fonts: Counter[str] = Counter()
        for span in self.spans:
            fonts[span.font] += len(span.text.strip())
        return max(fonts, key=lambda f: (fonts[f], f)) if fonts else ""


@dataclass(frozen=True, slots=True)
class Link:
    """A link annotation. `name` is its named destination ("figure.caption.7") where it has one."""

    bbox: Box
    name: str
    page: int  # 0-based target page, -1 when unknown
    target_y: float | None  # pt on the target page


@dataclass(frozen=True)
class Page:
    number: int  # 0-based
    box: Box
    lines: tuple[Line, ...]
    objects: Objects = field(default_factory=Objects)
    links: tuple[Link, ...] = ()
    warnings: tuple[str, ...] = field(default=())


def open_pdf(path: Path, limits: Limits) -> pymupdf.Document:
    """The opened document.

    Raises ExtractError with class unreadable, empty_file, not_pdf, too_large, encrypted, damaged or no_pages.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(1024)
    except OSError as error:
        raise ExtractError("unreadable", f"cannot be read: {error.strerror}") from error
    if size == 0:
        raise ExtractError("empty_file", "the file has 0 bytes; fetch it again")
    if b"%PDF-" not in head:
        kind = "an HTML page" if b"<html" in head.lower() or b"<!doctype" in head.lower() else "not a PDF"
        raise ExtractError("not_pdf", f"the file has no PDF header, it is {kind}; fetch it again")
    if size > limits.file_mb * 1_000_000:
        raise ExtractError(
            "too_large", f"{size / 1e6:.0f} MB is over the limit of {limits.file_mb} MB (limits.file_mb)"
        )
    try:
        document = pymupdf.open(path, filetype="pdf")
    except (RuntimeError, ValueError) as error:
        raise ExtractError("damaged", f"MuPDF cannot open it: {error}") from error
    if document.needs_pass:
        document.close()
        raise ExtractError("encrypted", "a password is needed; decrypt the file first")
    if document.page_count == 0:
        document.close()
        raise ExtractError("no_pages", "the PDF has no pages")
    return document


def read_pages(sheets: Sheets, limits: Limits) -> Iterator[Page]:
    """The first `limits.pages` pages in order. A page that MuPDF cannot read is empty, with a warning."""
    for number in range(min(sheets.document.page_count, limits.pages)):
        try:
            yield read_page(sheets, number, limits)
        except (RuntimeError, ValueError) as error:
            yield Page(number, Box(0, 0, 0, 0), (), warnings=(f"page {number + 1}: cannot be read: {error}",))


def read_page(sheets: Sheets, number: int, limits: Limits) -> Page:
    """Text lines, painted objects and links of one page, in pt of the page as displayed (rotation, CropBox)."""
    page = sheets.document[number]
    lines: list[Line] = []
    for block in sheets.text(number, TEXT_FLAGS)["blocks"]:
        for line in block.get("lines", ()):
            spans = tuple(_span(span) for span in line["spans"])
            if any(span.text.strip() for span in spans):
                horizontal = abs(line["dir"][0]) > 0.9
                baseline = _baseline(line["spans"])
                box = Box(*line["bbox"])
                if line["dir"][0] > 0.99 and box.height < LOW * spans[0].size:
                    box = _letters(box, spans, baseline)
                lines.append(Line(box, spans, horizontal, block["number"], baseline))
    objects = sheets.objects(number)
    warnings = []
    if len(objects.boxes) > limits.objects_per_page:
        warnings.append(
            f"page {number + 1}: {len(objects.boxes)} vector objects, over the limit of {limits.objects_per_page}; "
            "read from its ink"
        )
    box = Box(0, 0, page.rect.width, page.rect.height)
    return Page(number, box, tuple(lines), objects, tuple(_links(page)), tuple(warnings))


def _span(span: dict) -> Span:
    bold, italic = bool(span["flags"] & BOLD_FLAG), bool(span["flags"] & ITALIC_FLAG)
    return Span(
        span["text"], Box(*span["bbox"]), span["font"], float(span["size"]), bold or _bold_name(span["font"]), italic
    )


def _baseline(spans: Sequence[dict]) -> float:
    """That of the longest span, indices apart."""
    large = 0.85 * max(span["size"] for span in spans)
    return float(max(spans, key=lambda span: (span["size"] >= large, len(span["text"])))["origin"][1])


def _letters(box: Box, spans: Sequence[Span], baseline: float) -> Box:
    """The box of a low line from its baseline: the font's own metrics are wrong, unless it is one of signs."""
    size = spans[0].size
    if not any(letter.isalnum() for span in spans for letter in span.text):
        return box
    return Box(box.x0, baseline - ASCENDER * size, box.x1, baseline + DESCENDER * size)


@lru_cache(1024)
def _bold_name(font: str) -> bool:
    return any(name in font.lower() for name in BOLD_NAMES)


def _links(page: pymupdf.Page) -> Iterator[Link]:
    matrix = page.rotation_matrix
    for link in page.get_links():
        if link["kind"] not in (pymupdf.LINK_GOTO, pymupdf.LINK_NAMED):
            continue
        target = link.get("to")
        name = str(link.get("nameddest") or link.get("name") or "")
        number = int(link.get("page", -1))
        y = float(target.y) if isinstance(target, pymupdf.Point) else None
        if y is not None and link["kind"] == pymupdf.LINK_NAMED and 0 <= number < page.parent.page_count:
            y = page.parent.page_cropbox(number).y1 - y  # named destinations come in PDF units, y growing upwards
        yield Link(Box(*(link["from"] * matrix)), name, number, y)
