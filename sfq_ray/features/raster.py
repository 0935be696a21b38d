"""Raster parts of a figure: which of them OCR reads, and where the lines it gives lie in the crop.

The text of vector parts is known exactly from the PDF, so OCR looks at embedded images alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import cv2
import numpy as np

from sfq_ray.features.ocr import OcrLine
from sfq_ray.geometry import PT_PER_INCH, Box

MIN_SIDE_PX = 24  # a smaller image holds no line of legible text
MAX_SIDE_PX = 2000  # longest side that OCR sees: about a full text width at 300 dpi
TEXT_LAYER_SHARE = 0.10  # native text on this share of an image: a scan whose text layer is already there
DUPLICATE_SHARE = 0.5  # an OCR line that lies this far inside native text was known before
MASK_CELL_PX = 4  # images closer than this are one: PDF producers cut images into strips


Polygon = Sequence[Sequence[float]]


class Reading(NamedTuple):
    """What OCR is shown of a crop: px of `image` / scale + (left, top) = px of the crop."""

    image: np.ndarray  # BGR uint8
    scale: float
    left: int
    top: int


class RasterText(NamedTuple):
    """What OCR gave for one figure."""

    words: list[dict[str, Any]]  # tables.WORD
    areas_px2: list[float]  # areas of their polygons, where there are any
    needed: bool  # the figure has raster that could hold text unknown so far
    ran: bool  # the backend looked at it

    @property
    def placed(self) -> bool:
        """Whether it is known where all of the words stand."""
        return all(word["bbox"] is not None for word in self.words)


NO_RASTER = RasterText([], [], needed=False, ran=False)
UNREAD = RasterText([], [], needed=True, ran=False)


def raster_mask(shape: tuple[int, int], boxes_px: Sequence[Sequence[float]]) -> np.ndarray:
    """Boolean (height, width): the pixels that embedded images cover."""
    mask = np.zeros(shape, bool)
    height, width = shape
    for x0, y0, x1, y1 in boxes_px:
        left, top = max(0, round(x0)), max(0, round(y0))
        right, bottom = min(width, round(x1)), min(height, round(y1))
        if right > left and bottom > top:
            mask[top:bottom, left:right] = True
    return mask


def unread_areas(mask: np.ndarray, native: Sequence[Box]) -> list[Box]:
    """Boxes (px) around connected raster that is large enough for text and has no text layer, top to bottom."""
    height, width = mask.shape
    cells = (-(-width // MASK_CELL_PX), -(-height // MASK_CELL_PX))
    coarse = cv2.resize(mask.astype(np.uint8) * 255, cells, interpolation=cv2.INTER_AREA) > 0
    _, _, stats, _ = cv2.connectedComponentsWithStats(coarse.astype(np.uint8), connectivity=8)
    areas = []
    for x, y, w, h, _ in stats[1:].tolist():
        area = _tight(mask, Box(x, y, x + w, y + h), width / cells[0], height / cells[1])
        if min(area.width, area.height) < MIN_SIDE_PX:
            continue
        covered = sum(box.area * box.share_inside(area) for box in native)
        if covered < TEXT_LAYER_SHARE * area.area:
            areas.append(area)
    return areas


def reading(bgr: np.ndarray, areas: Sequence[Box]) -> Reading | None:
    """The one image that shows OCR the `areas` of the crop; None without any.

    Everything outside the areas is painted white, so that it is not read a second time.
    """
    if not areas:
        return None
    frame = areas[0]
    for area in areas[1:]:
        frame = frame.union(area)
    left, top = int(frame.x0), int(frame.y0)
    image = _only(bgr, areas)[top : int(frame.y1), left : int(frame.x1)]
    scale = min(1.0, MAX_SIDE_PX / max(image.shape[:2]))
    if scale < 1:
        image = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return Reading(np.ascontiguousarray(image), scale, left, top)


def raster_text(
    shown: Reading, lines: Sequence[OcrLine], native: Sequence[Box], dpi: float, min_score: float
) -> RasterText:
    """The lines in px of the whole crop, without those that native text already gives and those below `min_score`.

    A line without a place becomes a word without a box, one without a confidence is kept: neither is made up.
    """
    gray = cv2.cvtColor(shown.image, cv2.COLOR_BGR2GRAY)
    words: list[dict[str, Any]] = []
    sizes: list[float] = []
    for line in lines:
        if not _is_text(line.text) or (line.confidence is not None and line.confidence < min_score):
            continue
        word: dict[str, Any] = {"text": line.text.strip(), "bbox": None, "size_pt": None}
        if line.polygon is not None:
            corners = np.asarray(line.polygon, float) / shown.scale + (shown.left, shown.top)
            box = Box(*corners.min(axis=0).tolist(), *corners.max(axis=0).tolist())
            known = sum(box.intersection(word).area for word in native if not box.intersection(word).empty)
            if known > DUPLICATE_SHARE * box.area:
                continue
            word |= {
                "bbox": list(box),
                "size_pt": font_size_px(line.text, line.polygon, gray) / shown.scale / dpi * PT_PER_INCH,
            }
            sizes.append(abs(float(cv2.contourArea(corners.astype(np.float32)))))
        words.append({**word, "confidence": line.confidence, "origin": "ocr"})
    return RasterText(words, sizes, needed=True, ran=True)


def font_size_px(text: str, polygon: Polygon, gray: np.ndarray) -> float:
    """Font size, px of the grey image that was read, from the height of the ink between the corners of the line.

    The detector's own boxes are up to half as high again as the text. How much of an em the ink takes depends on the
    glyphs: checked on rendered sans and serif text, the result is within a fifth of the true size.
    """
    strip = _upright(text, polygon, gray).astype(np.int16)
    ground = int(np.median(strip))
    off_ground = np.abs(strip - ground)
    inked = np.flatnonzero((off_ground > off_ground.max() / 2).any(axis=1))
    height = float(inked[-1] - inked[0] + 1) if inked.size else float(strip.shape[0])
    return height / ink_share(text)


def ink_share(text: str) -> float:
    """Height of the ink of these glyphs in em: x-height, and what reaches above it and below the base line."""
    above = any(char not in "acegmnopqrsuvwxyz.,:;-–~+= _" for char in text)
    below = any(char in "gjpqy()[]{}|/,;" for char in text)
    return 0.52 + 0.19 * above + 0.2 * below


def _upright(text: str, polygon: Polygon, gray: np.ndarray) -> np.ndarray:
    """The pixels of the line as one row of text: along its long side, or as it stands for a single letter."""
    corners = np.asarray(polygon, np.float32)
    along, across = float(np.linalg.norm(corners[1] - corners[0])), float(np.linalg.norm(corners[2] - corners[1]))
    if across > along and len(text.strip()) > 1:
        corners, along, across = np.roll(corners, 1, axis=0), across, along
    width, height = max(1, round(along)), max(1, round(across))
    target = np.array([(0, 0), (width, 0), (width, height), (0, height)], np.float32)
    matrix = cv2.getPerspectiveTransform(corners, target)
    return cv2.warpPerspective(gray, matrix, (width, height), borderMode=cv2.BORDER_REPLICATE)


def _is_text(text: str) -> bool:
    """A line without any letter or digit is a mark of the drawing: bars are read as dashes."""
    return any(char.isalnum() for char in text)


def _tight(mask: np.ndarray, cells: Box, px_x: float, px_y: float) -> Box:
    """The box of the set pixels inside a box of cells, each cell px_x by px_y px."""
    left, top = int(cells.x0 * px_x), int(cells.y0 * px_y)
    part = mask[top : math.ceil(cells.y1 * px_y), left : math.ceil(cells.x1 * px_x)]
    rows, columns = np.flatnonzero(part.any(axis=1)), np.flatnonzero(part.any(axis=0))
    return Box(float(left + columns[0]), float(top + rows[0]), float(left + columns[-1] + 1), float(top + rows[-1] + 1))


def _only(bgr: np.ndarray, areas: Sequence[Box]) -> np.ndarray:
    result = np.full_like(bgr, 255)
    for area in areas:
        part = np.s_[int(area.y0) : int(area.y1), int(area.x0) : int(area.x1)]
        result[part] = bgr[part]
    return result
