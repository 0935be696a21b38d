import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # so that the tests find drawing.py

from sfq_ray.features import OcrBackend, load_ocr


@pytest.fixture(scope="session")
def rapid() -> OcrBackend:
    return load_ocr("rapidocr")
