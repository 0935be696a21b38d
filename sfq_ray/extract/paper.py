"""One PDF -> one papers/ row and its figures/ rows, without OCR and judging. Runs in the child process.

Reads the pages once: captions, regions, crops and citing paragraphs all come from the same lines and objects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pymupdf

from sfq_ray.bind import Context, Target, bind, marks
from sfq_ray.config import Extract
from sfq_ray.errors import ExtractError
from sfq_ray.extract import crops, curate
from sfq_ray.extract.captions import Caption, find_captions
from sfq_ray.extract.document import Page, open_pdf, read_pages
from sfq_ray.extract.layouts import EMBEDDED, NOTHING_SEEN, Block, PageRegions, SeenPages
from sfq_ray.extract.layouts.canvas import BACKGROUND_SHARE
from sfq_ray.extract.layouts.pymupdf import find_blocks
from sfq_ray.extract.panels import panel_labels
from sfq_ray.extract.rows import page_rows
from sfq_ray.extract.sheets import Sheets
from sfq_ray.extract.style import Style, document_style
from sfq_ray.extract.text import Vocabulary, normalise
from sfq_ray.geometry import PT_PER_INCH, Box, pt_to_px

SYMBOL_FONTS = ("dingbats", "wingdings", "webdings", "marlett")  # their letters are drawings: points of plots, bullets
SURE_SCORE = 0.5  # of a block: it stands within 40 pt of its caption and is made of graphics
KEPT_INK = 0.98  # share of the ink that a second crop must keep


@dataclass
class Paper:
    """What extraction found. `figures`: rows as in tables.FIGURES, plus "image_boxes" (px) and "image_dpis"."""

    pages: int
    title: str | None
    warnings: list[str]
    figures: list[dict[str, Any]]


@dataclass(frozen=True)
class _Find:
    """A figure caption with its block, a caption without one, or a block without a caption."""

    caption: Caption | None
    block: Block | None

    @property
    def page(self) -> int:
        return self.block.page if self.block else self.caption.page if self.caption else 0

    @property
    def unsure(self) -> bool:
        return self.caption is None or self.block is None or self.block.score < SURE_SCORE


@dataclass(frozen=True)
class Reading:
    """A paper read once: its pages, and the figures found on them."""

    pages: list[Page]
    vocabulary: Vocabulary
    style: Style
    captions: list[Caption]
    finds: list[_Find]


def extract_paper(path: Path, settings: Extract, seen: SeenPages = NOTHING_SEEN) -> Paper:
    """All figures of the PDF. Raises ExtractError when the paper as a whole cannot be read.

    `seen`: what a layout detector saw; a page on which it failed is read by the embedded finder, marked and warned of.
    """
    with open_pdf(path, settings.limits) as document:
        sheets = Sheets(document)
        reading = read_paper(sheets, settings, seen.regions)
        pages = reading.pages
        warnings = [warning for page in pages for warning in page.warnings]
        if document.page_count > len(pages):
            warnings.append(f"only the first {len(pages)} of {document.page_count} pages were read (limits.pages)")
        warnings += [f"page {number + 1}: {settings.layout} failed: {why}" for number, why in seen.failures.items()]
        contexts, cited = _contexts(reading, settings)
        figures = [_row(sheets, pages, find, settings) for find in reading.finds]
        _curate(sheets, pages, figures, reading.style, settings)
        for figure in figures:
            if figure["page"] in seen.failures:
                figure["flags"].append("find:layout_failed")
        for index, mark in cited.items():
            figures[index]["flags"].append(mark)
        return Paper(document.page_count, _title(document), warnings, [
            _finished(figure, index, contexts.get(index, [])) for index, figure in enumerate(figures)
        ])  # fmt: skip


def pages_to_see(path: Path, settings: Extract) -> list[tuple[int, Box, np.ndarray]]:
    """(number, box in pt, RGB image) of the pages that a layout detector should look at.

    All, or with detector.pages "unsure" those where the embedded finder leaves a figure caption without a figure, a
    large graphic without a caption, or stands a figure far from its caption. Raises ExtractError.
    """
    with open_pdf(path, settings.limits) as document:
        sheets = Sheets(document)
        reading = read_paper(sheets, settings, {})
        wanted = {page.number for page in reading.pages if not page.box.empty}
        if settings.detector.pages == "unsure":
            wanted &= {find.page for find in reading.finds if find.unsure}
        return [(page.number, page.box, crops.whole(sheets, page)) for page in reading.pages if page.number in wanted]


def read_paper(sheets: Sheets, settings: Extract, regions: PageRegions) -> Reading:
    """Pages, captions and figures, without their crops and citing paragraphs. `regions`: what a detector saw."""
    pages = list(read_pages(sheets, settings.limits))
    rows = [page_rows(page) for page in pages]
    vocabulary = Vocabulary(line.text for page in pages for line in page.lines)
    style = document_style(pages, rows)
    captions = find_captions(pages, rows, vocabulary, style.size)
    blocks = find_blocks(pages, rows, captions, style, sheets.grey, regions, settings.layout)
    return Reading(pages, vocabulary, style, captions, _in_order(captions, blocks, style))


def _in_order(captions: Sequence[Caption], blocks: Sequence[Block], style: Style) -> list[_Find]:
    """Captioned figures page by page, left column (and what spans both) before the right; then loose graphics."""

    def place(find: _Find) -> tuple[int, bool, float, float]:
        assert find.caption is not None
        box = find.caption.bbox
        return find.caption.page, style.columns == 2 and box.x0 > style.gutter - style.size, box.y0, box.x0

    by_caption = {block.caption: block for block in blocks if block.caption is not None}
    finds = sorted((_Find(c, by_caption.get(i)) for i, c in enumerate(captions) if c.kind == "figure"), key=place)
    loose = sorted((b for b in blocks if b.caption is None), key=lambda b: (b.page, b.bbox.y0, b.bbox.x0))
    return finds + [_Find(None, block) for block in loose]


def _contexts(reading: Reading, settings: Extract) -> tuple[dict[int, list[Context]], dict[int, str]]:
    """Citing paragraphs by the index of the find, and the marks of figures that the body does not cite."""
    finds = reading.finds
    zones: dict[int, list[Box]] = {}
    for caption in reading.captions:
        zones.setdefault(caption.page, []).append(caption.bbox)
    for find in finds:
        if find.block is not None and find.caption is not None:
            zones.setdefault(find.page, []).append(find.block.bbox)
    targets = [
        Target(i, f.caption.label, f.page, f.block.bbox if f.block else None, f.caption.page, f.caption.bbox)
        for i, f in enumerate(finds)
        if f.caption is not None
    ]
    contexts = bind(reading.pages, targets, zones, reading.vocabulary, settings)
    keys = {id(find.caption): index for index, find in enumerate(finds) if find.caption is not None}
    return contexts, marks(contexts, targets, [(keys.get(id(c)), c.text) for c in reading.captions])


def _row(sheets: Sheets, pages: Sequence[Page], find: _Find, settings: Extract) -> dict[str, Any]:
    """The row of one find as far as the PDF alone tells; the crop stays as pixels under "_crop"."""
    row: dict[str, Any] = {
        "page": find.page, "flags": [], "panels": [], "words": [],
        "layout": find.block.layout if find.block else EMBEDDED,
    }  # fmt: skip
    if find.caption is not None:
        caption = find.caption
        row |= {
            "label": caption.number, "caption": caption.text or None, "caption_label": caption.label,
            "caption_page": caption.page, "caption_bbox": list(caption.bbox),
        }  # fmt: skip
    if find.block is None:
        return row | _dropped("find", "unmatched_caption", "the caption has no graphics or set-off text next to it")
    panels = find.block.panels
    labels = panel_labels(panels, pages[find.page].lines)
    row |= {"bbox": list(find.block.bbox), "panels": [list(p) for p in panels], "panel_labels": labels}
    if find.caption is None:
        return row | _dropped("find", "uncaptioned_graphic", "a large graphic without a figure caption")
    row["caption_score"] = find.block.score
    return _cropped(sheets, pages, row, find.block.bbox, settings)


def _cropped(sheets: Sheets, pages: Sequence[Page], row: dict[str, Any], box: Box, settings: Extract) -> dict[str, Any]:
    """The row with the crop of `box`, or with the error that prevented it."""
    try:
        crop = crops.render(sheets, pages[row["page"]], box, settings.dpi, settings.limits.pixels_per_figure)
    except ExtractError as error:
        return row | {"error": error.kind, "message": str(error)}
    height, width = crop.pixels.shape[:2]
    boxes, dpis = _images(pages[row["page"]], crop)
    return row | {
        "bbox": list(crop.bbox), "width": width, "height": height, "dpi": crop.dpi, "_crop": crop,
        "phash": curate.perceptual_hash(crop.pixels), "words": _words(pages[row["page"]], crop),
        "image_boxes": boxes, "image_dpis": dpis,
    }  # fmt: skip


def _dropped(stage: str, rule: str, message: str) -> dict[str, Any]:
    return {"dropped_stage": stage, "dropped": rule, "message": message}


def _to_px(box: Box, crop: crops.Crop) -> list[float]:
    x, y = crop.bbox.x0, crop.bbox.y0
    return [round(pt_to_px(v, crop.dpi), 1) for v in (box.x0 - x, box.y0 - y, box.x1 - x, box.y1 - y)]


def _words(page: Page, crop: crops.Crop) -> list[dict[str, Any]]:
    """The PDF's own text lines inside the crop, boxes in px."""
    words = []
    for line in page.lines:
        text = normalise("".join(s.text for s in line.spans if not any(f in s.font.lower() for f in SYMBOL_FONTS)))
        if text and line.bbox.share_inside(crop.bbox) > 0.5:
            words.append(
                {"text": text, "bbox": _to_px(line.bbox, crop), "size_pt": line.size, "confidence": None,
                 "origin": "native"}
            )  # fmt: skip
    return words


def _images(page: Page, crop: crops.Crop) -> tuple[list[list[float]], list[float]]:
    """Boxes (px of the crop) and native resolutions (px per printed inch) of the embedded images in the crop."""
    boxes, dpis = [], []
    for box, width, height in page.objects.images:
        inside = box.intersection(crop.bbox)
        background = box.intersection(page.box).area > BACKGROUND_SHARE * page.box.area
        if inside.empty or background or min(box.width, box.height) < 1:
            continue
        boxes.append(_to_px(inside, crop))
        dpis.append(round(min(width, height) / (min(box.width, box.height) / PT_PER_INCH), 1))
    return boxes, dpis


def _curate(
    sheets: Sheets, pages: Sequence[Page], figures: list[dict[str, Any]], style: Style, settings: Extract
) -> None:
    """S1 and S2 on the crops, S3 for the flagged ones; writes flags, drops and new crops into the rows."""
    limits = settings.curation
    live = [row for row in figures if "_crop" in row]
    candidates = [_candidate(row, pages[row["page"]], style) for row in live]
    curate.drop_hard(candidates, limits)
    curate.flag_soft(candidates, limits)
    for row, candidate in zip(live, candidates, strict=True):
        row["flags"] = list(candidate.flags)
        if candidate.dropped is not None:
            stage, rule = candidate.dropped
            row.update(_dropped(stage, rule, f"curation rule {rule}"))
        elif {"S2:area", "S2:overflow"} & set(candidate.flags):
            _crop_again(sheets, pages, row, style, settings)


def _candidate(row: Mapping[str, Any], page: Page, style: Style) -> curate.Candidate:
    crop: crops.Crop = row["_crop"]
    width = style.text_right - style.text_left
    return curate.Candidate(
        row["page"], crop.bbox, curate.plain_number(row), crop.pixels, width, page.box.height, len(row["words"]),
        row["phash"],
    )  # fmt: skip


def _crop_again(sheets: Sheets, pages: Sequence[Page], row: dict[str, Any], style: Style, settings: Extract) -> None:
    """S3: crop a flagged figure again, anchored to its caption and the text area.

    The new crop replaces the first one when it loses next to no ink; else the first stays and is marked.
    """
    old: crops.Crop = row["_crop"]
    left = min(style.text_left, row["caption_bbox"][0]) - style.size
    right = max(style.text_right, row["caption_bbox"][2]) + style.size
    box = old.bbox.intersection(Box(left, old.bbox.y0, right, old.bbox.y1))
    again = {} if box.empty else _cropped(sheets, pages, dict(row), box, settings)
    new: crops.Crop | None = again.get("_crop")
    if new is None or again.get("error") or crops.ink_count(new.pixels) < KEPT_INK * crops.ink_count(old.pixels):
        row["flags"].append("S3:kept_original")
    elif new.bbox != old.bbox:
        row.update(again)
        row["flags"].append("S3:cropped_again")


def _finished(row: dict[str, Any], index: int, contexts: Sequence[Context]) -> dict[str, Any]:
    """The row with its index, image bytes and citing paragraphs."""
    crop = row.pop("_crop", None)
    if crop is not None:
        row["image"] = crops.encode_png(crop.pixels)
    return row | {"fig_index": index + 1, "contexts": [context.as_row() for context in contexts]}


def _title(document: pymupdf.Document) -> str | None:
    title = normalise((document.metadata or {}).get("title") or "")
    return title if len(title) > 3 and not Counter(title)["\ufffd"] else None
