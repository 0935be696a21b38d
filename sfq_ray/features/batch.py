"""Figures of many papers that are read by OCR together, as far as the backend gains from it."""

from __future__ import annotations

from collections.abc import Callable

from sfq_ray.features.measured import OpenFigure
from sfq_ray.features.ocr import BatchOcrBackend, Found, OcrBackend, read_images

Done = Callable[[OpenFigure, Found], None]


class OcrBatch:
    """Figures wait here until their crops have `most_px` pixels in all, then OCR reads them at once.

    That bounds the memory. A figure that OCR need not look at never waits, nor does any where the backend takes one
    image at a time. What is found does not depend on who is read together with whom.
    """

    def __init__(self, ocr: OcrBackend, most_px: float) -> None:
        self.ocr = ocr
        self.most_px = most_px if isinstance(ocr, BatchOcrBackend) else 0.0
        self._waiting: list[tuple[OpenFigure, Done]] = []
        self._px = 0

    def add(self, figure: OpenFigure, done: Done) -> None:
        """Calls `done` with what was found, now or in a later `add` or `flush`. Raises what `read_images` raises."""
        if figure.reading is None:
            done(figure, None)
            return
        self._waiting.append((figure, done))
        self._px += figure.bgr.shape[0] * figure.bgr.shape[1]
        if self._px >= self.most_px:
            self.flush()

    def flush(self) -> None:
        """Reads all that wait, in the order in which they came."""
        waiting, self._waiting, self._px = self._waiting, [], 0
        images = [figure.reading.image for figure, _ in waiting if figure.reading is not None]
        for (figure, done), found in zip(waiting, read_images(self.ocr, images), strict=True):
            done(figure, found)
