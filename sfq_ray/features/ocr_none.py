"""No OCR: the text of raster figures stays unknown, which is null and not zero."""

from __future__ import annotations

import numpy as np

from sfq_ray.config import Features
from sfq_ray.features.ocr import OcrLine


class NoOcr:
    name = "none"

    def __init__(self, settings: Features) -> None:
        """Needs none of them."""

    def read(self, image: np.ndarray) -> list[OcrLine] | None:
        """Looks at nothing."""
        return None
