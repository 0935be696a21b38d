"""No OCR: the text of raster figures stays unknown, which is null and not zero."""

from __future__ import annotations

import numpy as np

from sfq_ray.features.ocr import OcrLine


class NoOcr:
    name = "none"

    def read(self, image: np.ndarray) -> list[OcrLine] | None:
        """Looks at nothing."""
        return None
