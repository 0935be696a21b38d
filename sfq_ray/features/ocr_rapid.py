"""OCR with RapidOCR: PP-OCR detection, direction classifier and recognition from the ONNX files inside its package."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from sfq_ray.config import Features
from sfq_ray.errors import FatalError
from sfq_ray.features.ocr import OcrLine, line_within, padded

MODELS = {
    "Det": "PP-OCRv6_det_small.onnx",
    "Cls": "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
    "Rec": "PP-OCRv6_rec_small.onnx",
}
MIN_SIDE_PX = 64
MAX_ASPECT = 4.0  # the detector enlarges the short side to 736 px, which a thin strip would blow up beyond memory


class RapidOcr:
    """One thread, no download: the files are named, so a missing one is an error and not a request to a server."""

    name = "rapidocr"

    def __init__(self, settings: Features) -> None:
        import rapidocr

        models = Path(rapidocr.__file__).parent / "models"
        missing = [name for name in MODELS.values() if not (models / name).is_file()]
        if missing:
            raise FatalError(
                f"features.ocr: rapidocr lacks {', '.join(missing)}; install the version of pyproject.toml"
            )
        cv2.setNumThreads(1)
        self._engine = rapidocr.RapidOCR(
            params={
                "Global.log_level": "critical",
                "Global.text_score": 0.0,  # the caller filters by confidence
                "EngineConfig.onnxruntime.intra_op_num_threads": 1,
                "EngineConfig.onnxruntime.inter_op_num_threads": 1,
                **{f"{task}.model_path": str(models / name) for task, name in MODELS.items()},
            }
        )

    def read(self, image: np.ndarray) -> list[OcrLine] | None:
        """Lines in detection order, turned labels included."""
        shortest_px = max(MIN_SIDE_PX, int(max(image.shape[:2]) / MAX_ASPECT))
        found = self._engine(padded(image, shortest_px))
        if found.boxes is None or not found.txts:
            return []
        return [
            line_within(image, text, box, score)
            for box, text, score in zip(found.boxes, found.txts, found.scores, strict=True)
        ]
