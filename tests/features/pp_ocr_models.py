"""PP-OCR models in the form that PaddleOCR reads, made of the ONNX files that come with the package rapidocr.

For detection and recognition inference.yml says what PaddleOCR's own ones say; the characters stand in the metadata of
the recognition model. The model of line orientation is an older one than PaddleOCR's, which stretches lines that it was
trained to see at their own width, and so turns a short number now and then.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import onnxruntime
import rapidocr
import yaml

from sfq_ray.config import OcrModels
from sfq_ray.features.ocr_rapid import MODELS

SOURCE = Path(rapidocr.__file__).parent / "models"
READ = {"DecodeImage": {"channel_first": False, "img_mode": "BGR"}}
CHW = {"ToCHWImage": None}


def make(folder: Path) -> OcrModels:
    """Writes the three models below `folder`; returns the settings that name them."""
    rec = SOURCE / MODELS["Rec"]
    characters = onnxruntime.InferenceSession(str(rec)).get_modelmeta().custom_metadata_map["character"].splitlines()
    colours = {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], "scale": "1./255.", "order": "hwc"}
    detection = _write(
        folder / "PP-OCRv6_small_det", SOURCE / MODELS["Det"],
        [READ, {"DetResizeForTest": {"limit_side_len": 736, "limit_type": "min"}}, {"NormalizeImage": colours}, CHW],
        {"name": "DBPostProcess", "thresh": 0.3, "box_thresh": 0.6, "max_candidates": 1000, "unclip_ratio": 1.5},
    )  # fmt: skip
    recognition = _write(
        folder / "PP-OCRv6_small_rec", rec, [READ, {"RecResizeImg": {"image_shape": [3, 48, 320]}}],
        {"name": "CTCLabelDecode", "character_dict": characters},
    )  # fmt: skip
    half = {"mean": [0.5] * 3, "std": [0.5] * 3, "scale": 1 / 255, "order": "", "channel_num": 3}
    orientation = _write(
        folder / "PP-LCNet_x0_25_textline_ori", SOURCE / MODELS["Cls"],
        [{"ResizeImage": {"size": [192, 48]}}, {"NormalizeImage": half}, CHW],
        {"Topk": {"topk": 1, "label_list": ["0_degree", "180_degree"]}},
    )  # fmt: skip
    return OcrModels(detection=detection, recognition=recognition, orientation=orientation)


def _write(folder: Path, model: Path, before: list[dict[str, Any]], after: dict[str, Any]) -> str:
    folder.mkdir(parents=True)
    shutil.copyfile(model, folder / "inference.onnx")
    content = {"Global": {"model_name": folder.name}, "PreProcess": {"transform_ops": before}, "PostProcess": after}
    (folder / "inference.yml").write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    return str(folder)
