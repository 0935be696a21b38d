"""PaddleOCR's models: what is missing is named before anything is loaded."""

import importlib.util
import sys

import pp_ocr_models
import pytest

from sfq_ray.config import Features
from sfq_ray.errors import FatalError
from sfq_ray.features import load_ocr


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return pp_ocr_models.make(tmp_path_factory.mktemp("models") / "pp-ocr")


def load(models, **changes):
    return load_ocr("paddleocr", Features(ocr_models=models.model_copy(update=changes)))


def test_a_folder_that_is_not_named_or_not_whole_is_told_by_its_setting(models, tmp_path):
    with pytest.raises(FatalError, match=r"ocr_models\.recognition: paddleocr needs the folder of a model"):
        load(models, recognition=None)
    with pytest.raises(FatalError, match=r"ocr_models\.detection: .* lacks inference\.yml and inference\.onnx"):
        load(models, detection=str(tmp_path))
    with pytest.raises(FatalError, match=r"ocr_models\.detection: .* lacks inference\.pdiparams, which engine paddle"):
        load(models, engine="paddle")


def test_without_the_package_it_says_what_to_install(models, monkeypatch):
    monkeypatch.setitem(sys.modules, "paddleocr", None)  # as where it is not installed
    with pytest.raises(FatalError, match=r"pip install 'sfq_ray\[paddleocr\]'"):
        load(models)


@pytest.mark.skipif(importlib.util.find_spec("paddleocr") is None, reason="the extra paddleocr is not installed")
def test_a_device_or_model_that_cannot_be_used_is_one_message(models, tmp_path):
    with pytest.raises(FatalError, match=r"features\.ocr_models: PaddleOCR cannot be loaded .* on gpu:7"):
        load(models, device="gpu:7")
    (tmp_path / "inference.onnx").write_bytes(b"no model")
    (tmp_path / "inference.yml").write_text("Global: {}\n")
    with pytest.raises(FatalError, match=r"inference\.yml has no Global\.model_name"):
        load(models, detection=str(tmp_path))
