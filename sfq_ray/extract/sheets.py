"""Pages interpreted once: text, painted objects and pixels of a page all come from the same display list of MuPDF.

Coordinates are pt of the page as displayed (rotation, CropBox). Runs in the killable child process.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pymupdf
from pymupdf import mupdf

from sfq_ray.geometry import Box

MAX_KEPT = 64  # display lists of a document in memory; a longer paper's pages with figures are interpreted again
EVERYWHERE = mupdf.FzRect(mupdf.FzRect.Fixed_INFINITE)


class Sheets:
    """The display lists of one open document, made when first asked for."""

    def __init__(self, document: pymupdf.Document) -> None:
        self.document = document
        self._list = lru_cache(MAX_KEPT)(lambda number: document[number].get_displaylist())

    def text(self, number: int, flags: int) -> dict[str, Any]:
        """Text of page `number` (0-based) as PyMuPDF's "dict": blocks of lines of spans."""
        return pymupdf.TextPage(self._list(number).get_textpage(flags)).extractDICT()

    def objects(self, number: int) -> Objects:
        """What is painted on page `number`, other than text."""
        device = _Recorder()
        mupdf.fz_run_display_list(self._list(number).this, device, mupdf.FzMatrix(), EVERYWHERE, mupdf.FzCookie())
        mupdf.fz_close_device(device)
        return Objects(
            np.array(device.boxes, np.float32).reshape(-1, 4), np.array(device.is_path, bool), tuple(device.images)
        )

    def pixels(self, number: int, dpi: float, clip: Box | None = None, grey: bool = False) -> pymupdf.Pixmap:
        """Page `number`, or the part `clip` (pt) of it, on white. Raises RuntimeError or ValueError."""
        zoom = dpi / 72
        return self._list(number).get_pixmap(
            matrix=pymupdf.Matrix(zoom, zoom),
            colorspace=pymupdf.csGRAY if grey else pymupdf.csRGB,
            clip=None if clip is None else pymupdf.Rect(clip),
        )

    def grey(self, number: int, clip: Box) -> np.ndarray:
        """Page `number` as a grey image at 72 dpi, (height, width) uint8: 1 px is 1 pt. White outside of `clip`."""
        box = self._list(number).rect
        image = np.full((math.ceil(box.height), math.ceil(box.width)), 255, np.uint8)
        pixmap = self.pixels(number, 72, clip, grey=True)
        pixels = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.stride)[:, : pixmap.width]
        x, y = pixmap.x, pixmap.y
        image[y : y + pixmap.height, x : x + pixmap.width] = pixels[: image.shape[0] - y, : image.shape[1] - x]
        return image


@dataclass(frozen=True, eq=False)
class Objects:
    """Painted objects of a page in painting order."""

    boxes: np.ndarray = field(default_factory=lambda: np.zeros((0, 4), np.float32))  # (n, 4), pt
    is_path: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))  # (n,): strokes and fills
    images: tuple[tuple[Box, int, int], ...] = ()  # box in pt, native width and height in px


class _Recorder(mupdf.FzDevice2):
    """Notes the bounds of each painted object. Text has a device of its own and costs nothing here."""

    def __init__(self) -> None:
        super().__init__()
        self.boxes: list[tuple[float, float, float, float]] = []
        self.is_path: list[bool] = []
        self.images: list[tuple[Box, int, int]] = []
        self.use_virtual_fill_path()
        self.use_virtual_stroke_path()
        self.use_virtual_fill_shade()
        self.use_virtual_fill_image()
        self.use_virtual_fill_image_mask()

    def _note(self, rect: Any, is_path: bool) -> None:
        self.boxes.append((rect.x0, rect.y0, rect.x1, rect.y1))
        self.is_path.append(is_path)

    def fill_path(self, _ctx: Any, path: Any, _even_odd: Any, ctm: Any, *_color: Any) -> None:
        self._note(mupdf.ll_fz_bound_path(path, None, ctm), True)

    def stroke_path(self, _ctx: Any, path: Any, stroke: Any, ctm: Any, *_color: Any) -> None:
        self._note(mupdf.ll_fz_bound_path(path, stroke, ctm), True)

    def fill_shade(self, _ctx: Any, shade: Any, ctm: Any, *_color: Any) -> None:
        self._note(mupdf.ll_fz_bound_shade(shade, ctm), False)

    def fill_image(self, _ctx: Any, image: Any, ctm: Any, *_color: Any) -> None:
        xs = sorted((ctm.e, ctm.e + ctm.a, ctm.e + ctm.c, ctm.e + ctm.a + ctm.c))
        ys = sorted((ctm.f, ctm.f + ctm.b, ctm.f + ctm.d, ctm.f + ctm.b + ctm.d))
        box = Box(xs[0], ys[0], xs[-1], ys[-1])
        self._note(box, False)
        self.images.append((box, image.w, image.h))

    fill_image_mask = fill_image
