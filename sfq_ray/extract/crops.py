"""Crops: the figure's region rendered from the PDF at a fixed resolution, cut to its ink."""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np

from sfq_ray.errors import ExtractError
from sfq_ray.extract.document import Page
from sfq_ray.extract.sheets import Sheets
from sfq_ray.geometry import PT_PER_INCH, Box

INK_LEVEL = 250  # grey value: darker than this is ink
LAYOUT_DPI, LAYOUT_SIDE_PX = 96.0, 2048.0
PADDING_PT = 1.0  # white kept around the ink
# Plots are flat colours, which the filters of PNG make larger, and trying them takes most of the time.
PNG = [cv2.IMWRITE_PNG_COMPRESSION, 3]
if hasattr(cv2, "IMWRITE_PNG_FILTER"):  # OpenCV 4.12
    PNG += [cv2.IMWRITE_PNG_FILTER, cv2.IMWRITE_PNG_FILTER_NONE]


@dataclass(frozen=True)
class Crop:
    """An RGB image (height, width, 3) uint8 of `bbox` (pt) at `dpi`."""

    pixels: np.ndarray
    bbox: Box
    dpi: float


def render(sheets: Sheets, page: Page, box: Box, dpi: int, max_pixels: int) -> Crop:
    """The region of the displayed page at `dpi`, or at less where it would exceed `max_pixels`; cut to its ink.

    Raises ExtractError (empty_region, blank_region, render_failed).
    """
    box = box.intersection(page.box)
    if box.width < 1 or box.height < 1:
        raise ExtractError("empty_region", "the figure's region lies outside of the page")
    wanted = box.area / PT_PER_INCH**2 * dpi**2
    used = float(dpi) if wanted <= max_pixels else math.floor(dpi * math.sqrt(max_pixels / wanted))
    try:
        pixmap = sheets.pixels(page.number, used, box)
    except (RuntimeError, ValueError) as error:
        raise ExtractError("render_failed", f"MuPDF cannot render the region: {error}") from error
    samples = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.stride)
    pixels = samples[:, : pixmap.width * 3].reshape(pixmap.height, pixmap.width, 3)
    scale = used / PT_PER_INCH
    ink = ink_box(pixels, round(PADDING_PT * scale))
    if ink is None:
        raise ExtractError("blank_region", "the figure's region is blank")
    x0, y0, x1, y1 = ink
    left, top = pixmap.x / scale, pixmap.y / scale
    bbox = Box(left + x0 / scale, top + y0 / scale, left + x1 / scale, top + y1 / scale)
    return Crop(pixels[y0:y1, x0:x1], bbox, used)


def whole(sheets: Sheets, page: Page) -> np.ndarray:
    """The page as layout detectors look at it: RGB uint8 (height, width, 3), LAYOUT_DPI or less on a huge page."""
    dpi = min(LAYOUT_DPI, LAYOUT_SIDE_PX / max(page.box.width, page.box.height) * PT_PER_INCH)
    pixmap = sheets.pixels(page.number, dpi)
    samples = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.stride)
    return samples[:, : pixmap.width * 3].reshape(pixmap.height, pixmap.width, 3)


def ink_box(pixels: np.ndarray, padding: int) -> tuple[int, int, int, int] | None:
    """px box around everything that is not white, with `padding` px where there is room; None for a blank image."""
    ink = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY) < INK_LEVEL
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    if len(rows) == 0:
        return None
    height, width = ink.shape
    return (
        max(0, int(columns[0]) - padding), max(0, int(rows[0]) - padding),
        min(width, int(columns[-1]) + 1 + padding), min(height, int(rows[-1]) + 1 + padding),
    )  # fmt: skip


def ink_count(pixels: np.ndarray) -> int:
    """Pixels that are not white."""
    return int(np.count_nonzero(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY) < INK_LEVEL))


def encode_png(pixels: np.ndarray) -> bytes:
    """PNG of an RGB image. The same pixels give the same bytes."""
    ok, data = cv2.imencode(".png", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), PNG)
    if not ok:
        raise ExtractError("render_failed", "the crop cannot be encoded as PNG")
    return data.tobytes()
