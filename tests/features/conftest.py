import pytest

from sfq_ray.features import OcrBackend, load_ocr


@pytest.fixture(scope="session")
def rapid() -> OcrBackend:
    return load_ocr("rapidocr")
