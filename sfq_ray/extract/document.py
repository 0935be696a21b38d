"""Pages of a PDF as plain values: text lines, graphics and links in pt of the displayed page.

Reads a file with PyMuPDF and nothing else; runs in the killable child process (see extract.child).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

import pymupdf

from sfq_ray.config import Limits
from sfq_ray.errors import ExtractError
from sfq_ray.geometry import Box

TEXT_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP  # ligatures are expanded
BOLD_FLAG, ITALIC_FLAG = 16, 2
BOLD_NAMES = ("bold", "black", "heavy", "semibold", "medi", "-bx", "cmbx", "sfbx")


@dataclass(frozen=True, slots=True)
class Span:
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
        sizes: Counter[float] = Counter()
        for span in self.spans:
            sizes[round(span.size, 1)] += len(span.text.strip())
        return max(sizes, key=lambda s: (sizes[s], s)) if sizes else 0.0

    @cached_property
    def font(self) -> str:
        """Font of most characters."""
        fonts: Counter[str] = Counter()
        for span in self.spans:
            fonts[span.font] += len(span.text.strip())
        return max(fonts, key=lambda f: (fonts[f], f)) if fonts else ""


@dataclass(frozen=True, slots=True)
class Graphic:
    """A painted object: an image, or a vector path (stroke or fill)."""

    bbox: Box
    kind: str  # image, path or shade


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
    graphics: tuple[Graphic, ...]
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


def read_pages(document: pymupdf.Document, limits: Limits) -> Iterator[Page]:
    """The first `limits.pages` pages in order. A page that MuPDF cannot read is empty, with a warning."""
    for number in range(min(document.page_count, limits.pages)):
        try:
            yield read_page(document[number], limits)
        except (RuntimeError, ValueError) as error:
            yield Page(number, Box(0, 0, 0, 0), (), (), (), (f"page {number + 1}: cannot be read: {error}",))


def read_page(page: pymupdf.Page, limits: Limits) -> Page:
    """Text lines, painted objects and links of one page, in pt of the page as displayed (rotation, CropBox)."""
    matrix = page.rotation_matrix if page.rotation else None

    def box(rect: tuple[float, float, float, float]) -> Box:
        if matrix is None:
            return Box(*rect)
        turned = pymupdf.Rect(rect) * matrix
        return Box(turned.x0, turned.y0, turned.x1, turned.y1)

    warnings: list[str] = []
    lines: list[Line] = []
    quarter_turned = page.rotation in (90, 270)
    for block in page.get_text("dict", flags=TEXT_FLAGS)["blocks"]:
        for line in block.get("lines", ()):
            spans = tuple(
                Span(s["text"], box(s["bbox"]), s["font"], float(s["size"]), _bold(s), bool(s["flags"] & ITALIC_FLAG))
                for s in line["spans"]
            )
            if any(span.text.strip() for span in spans):
                horizontal = (abs(line["dir"][0]) > 0.9) != quarter_turned
                origin = max(line["spans"], key=lambda span: len(span["text"]))["origin"]
                baseline = box((*origin, *origin)).y0
                lines.append(Line(box(line["bbox"]), spans, horizontal, block["number"], baseline))
    entries = page.get_bboxlog()
    objects = [(kind, rect) for kind, rect in entries if "text" not in kind]
    if len(objects) > limits.objects_per_page:
        warnings.append(
            f"page {page.number + 1}: {len(objects)} vector objects, over the limit of {limits.objects_per_page}; "
            "read from its ink"
        )
    graphics = tuple(Graphic(box(rect), _kind(kind)) for kind, rect in objects if "clip" not in kind)
    width, height = page.rect.width, page.rect.height
    return Page(
        page.number, Box(0, 0, width, height), tuple(lines), graphics, tuple(_links(page, box)), tuple(warnings)
    )


def _bold(span: dict) -> bool:
    return bool(span["flags"] & BOLD_FLAG) or _bold_name(span["font"])


@lru_cache(1024)
def _bold_name(font: str) -> bool:
    return any(name in font.lower() for name in BOLD_NAMES)


def _kind(logged: str) -> str:
    if "image" in logged:
        return "image"
    return "shade" if "shade" in logged else "path"


def _links(page: pymupdf.Page, box: Callable[..., Box]) -> Iterator[Link]:
    for link in page.get_links():
        if link["kind"] not in (pymupdf.LINK_GOTO, pymupdf.LINK_NAMED):
            continue
        target = link.get("to")
        name = str(link.get("nameddest") or link.get("name") or "")
        number = int(link.get("page", -1))
        y = float(target.y) if isinstance(target, pymupdf.Point) else None
        if y is not None and link["kind"] == pymupdf.LINK_NAMED and 0 <= number < page.parent.page_count:
            y = page.parent.page_cropbox(number).y1 - y  # named destinations come in PDF units, y growing upwards
        yield Link(box(tuple(link["from"])), name, number, y)
