"""OCR with PaddleOCR 3: PP-OCR detection, line orientation and recognition from local folders, on the CPU or a GPU.

Each folder is one of PaddleOCR's own models: inference.yml beside inference.onnx (engine onnxruntime) or beside
inference.json and inference.pdiparams (engine paddle, which needs the package paddlepaddle too). Nothing is fetched.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import yaml

from sfq_ray.config import Features, OcrModels
from sfq_ray.errors import FatalError
from sfq_ray.features.ocr import OcrLine, line_within

FILES = {"onnxruntime": "inference.onnx", "paddle": "inference.pdiparams"}
ENGINES: dict[str, dict[str, Any]] = {
    "onnxruntime": {"engine_config": {"intra_op_num_threads": 1, "inter_op_num_threads": 1}},
    "paddle": {"cpu_threads": 1},
}  # one thread per worker
MISSING = "features.ocr: paddleocr needs paddleocr 3; run: pip install 'sfq_ray[paddleocr]'"


class PaddleOcr:
    """One image at a time: the pipeline's own batches only group the lines of an image."""

    name = "paddleocr"

    def __init__(self, settings: Features) -> None:
        """Raises FatalError where the package or a model is missing, or the device cannot be used."""
        models = settings.ocr_models
        detection, recognition = _folder(models, "detection"), _folder(models, "recognition")
        orientation = None if models.orientation is None else _folder(models, "orientation")
        try:
            from paddleocr import PaddleOCR
        except ImportError as error:
            raise FatalError(f"{MISSING} ({error})") from error
        for name in ("paddleocr", "paddlex"):
            logging.getLogger(name).setLevel(logging.ERROR)
        try:
            self._engine = PaddleOCR(
                **_model("text_detection", detection),
                **_model("text_recognition", recognition),
                **_model("textline_orientation", orientation),
                use_textline_orientation=orientation is not None,
                use_doc_orientation_classify=False,
                use_doc_unwarping=False,
                text_rec_score_thresh=0.0,  # the caller filters by confidence
                device=models.device,
                engine=models.engine,
                **ENGINES[models.engine],
            )
        except Exception as error:  # paddlex, the engines and yaml each raise their own
            raise FatalError(
                f"features.ocr_models: PaddleOCR cannot be loaded with engine {models.engine} on {models.device} "
                f"({type(error).__name__}: {str(error)[:300]})"
            ) from error
        cv2.setNumThreads(1)

    def read(self, image: np.ndarray) -> list[OcrLine] | None:
        """Lines in detection order; turned labels are read well only with a model of line orientation."""
        (found,) = self._engine.predict(image)
        return [
            line_within(image, text, corners, score)
            for corners, text, score in zip(found["rec_polys"], found["rec_texts"], found["rec_scores"], strict=True)
            if text.strip()
        ]


def _folder(models: OcrModels, task: str) -> Path:
    """The folder of the setting, which must hold the files of the engine."""
    key, named = f"features.ocr_models.{task}", getattr(models, task)
    if named is None:
        raise FatalError(f"{key}: paddleocr needs the folder of a model")
    missing = [name for name in ("inference.yml", FILES[models.engine]) if not (Path(named) / name).is_file()]
    if missing:
        raise FatalError(f"{key}: {named} lacks {' and '.join(missing)}, which engine {models.engine} reads")
    return Path(named)


def _model(task: str, folder: Path | None) -> dict[str, str]:
    """PaddleOCR's arguments for one model. It must be told the name that the folder's inference.yml gives."""
    if folder is None:
        return {}
    try:
        name = yaml.safe_load((folder / "inference.yml").read_text(encoding="utf-8"))["Global"]["model_name"]
    except (KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        raise ValueError(f"{folder}/inference.yml has no Global.model_name") from error
    return {f"{task}_model_name": str(name), f"{task}_model_dir": str(folder)}
