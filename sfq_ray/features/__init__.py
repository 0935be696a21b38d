"""What can be measured in a figure: its text (native first, OCR where it is raster), its pixels and its shapes.

`measure` is the whole of it for one figure; `open_figure`, `OcrBatch` and `features_of` are its parts for many. The
other modules hold one kind of measurement each, as pure functions.
"""

from __future__ import annotations

from sfq_ray.features.batch import OcrBatch
from sfq_ray.features.measured import FEATURE_VERSION, OpenFigure, features_of, measure, open_figure
from sfq_ray.features.ocr import OCR, OcrBackend, OcrFailed, OcrLine, load_ocr

__all__ = [
    "FEATURE_VERSION", "OCR", "OcrBackend", "OcrBatch", "OcrFailed", "OcrLine", "OpenFigure", "features_of", "load_ocr",
    "measure", "open_figure",
]  # fmt: skip
