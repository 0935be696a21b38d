"""What can be measured in a figure: its text (native first, OCR where it is raster), its pixels and its shapes.

`measure` is the whole of it; the other modules hold one kind of measurement each, as pure functions.
"""

from __future__ import annotations

from sfq_ray.features.measured import FEATURE_VERSION, measure
from sfq_ray.features.ocr import OCR, OcrBackend, OcrLine, load_ocr

__all__ = ["FEATURE_VERSION", "OCR", "OcrBackend", "OcrLine", "load_ocr", "measure"]
