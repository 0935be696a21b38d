import importlib.util
from collections.abc import Callable, Iterator

import pp_ocr_models
import pytest
from servers.paddleocr_vl import OcrServer

from sfq_ray.config import Features
from sfq_ray.config import OcrServer as Server
from sfq_ray.features import OcrBackend, load_ocr


@pytest.fixture(scope="session")
def rapid() -> OcrBackend:
    return load_ocr("rapidocr")


@pytest.fixture(scope="session")
def pp_ocr(tmp_path_factory: pytest.TempPathFactory) -> Features:
    """Settings of the backend paddleocr with local models; skips without the package."""
    if importlib.util.find_spec("paddleocr") is None:
        pytest.skip("the extra paddleocr is not installed")
    return Features(ocr="paddleocr", ocr_models=pp_ocr_models.make(tmp_path_factory.mktemp("pp-ocr") / "models"))


@pytest.fixture(scope="session")
def ocr_settings(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Features]]:
    """ocr_settings(case): what the backend needs to run here. A case is a name of OCR, perhaps with :mode of a server."""

    with OcrServer() as server:

        def of(case: str) -> Features:
            name, _, mode = case.partition(":")
            if name == "paddleocr":
                return request.getfixturevalue("pp_ocr")
            return Features(ocr=name, ocr_server=Server(url=f"{server.url}/v1", mode=mode or "spotting"))

        yield of
