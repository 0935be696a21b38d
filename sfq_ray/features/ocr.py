"""OCR backends: what they give and share, how they are loaded, and the one place where their failures get a class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import cv2
import numpy as np
from numpy.typing import ArrayLike

from sfq_ray.config import Features
from sfq_ray.errors import ExtractError, FatalError
from sfq_ray.registry import lookup

OCR: dict[str, str] = {
    "rapidocr": "sfq_ray.features.ocr_rapid:RapidOcr",
    "paddleocr": "sfq_ray.features.ocr_paddle:PaddleOcr",
    "paddleocr-vl": "sfq_ray.features.ocr_vl:PaddleOcrVl",
    "none": "sfq_ray.features.ocr_none:NoOcr",
}
"""OCR backends: name -> "module:Class"."""

DEFAULTS = Features()


class OcrLine(NamedTuple):
    """One line as OCR saw it. `polygon` is its four corners in px, clockwise from the text's top left.

    What a backend cannot measure is None: a vision-language model states no confidence, and no place in some modes.
    """

    text: str
    polygon: tuple[tuple[float, float], ...] | None
    confidence: float | None  # 0..1


class OcrFailed(Exception):
    """The text of one image could not be had. `kind` says why in one word and begins the text.

    Kinds: truncated, repetition, malformed (what came back is no reading), timeout, unavailable, server_error, refused.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class OcrBackend(Protocol):
    """Reads text in pixels. Equal pixels give equal lines."""

    name: str

    def read(self, image: np.ndarray) -> list[OcrLine] | None:
        """Lines in a BGR uint8 image of shape (height, width, 3); None when the backend does not look at all.

        Raises OcrFailed, or an error of its library, for this image alone, and FatalError where no image can be read.
        """
        ...


@runtime_checkable
class BatchOcrBackend(OcrBackend, Protocol):
    """A backend that is faster with many images at once; each is read as `read` would read it alone."""

    def read_all(self, images: Sequence[np.ndarray]) -> list[list[OcrLine] | Exception]:
        """One result per image, in their order: its lines, or what `read` would raise. Raises FatalError as `read`."""
        ...


Found: TypeAlias = list[OcrLine] | ExtractError | None
"""Of one image: its lines, None where nobody looked, or the failure of class ocr_failed."""


def padded(image: np.ndarray, shortest_px: int) -> np.ndarray:
    """White added to the right and below until no side is shorter; places in the image stay the same."""
    height, width = image.shape[:2]
    right, below = max(0, shortest_px - width), max(0, shortest_px - height)
    return cv2.copyMakeBorder(image, 0, below, 0, right, cv2.BORDER_CONSTANT, value=(255, 255, 255))


def line_within(image: np.ndarray, text: str, corners: ArrayLike, confidence: float) -> OcrLine:
    """The line as a PP-OCR pipeline gives it, with corners within the image and a confidence of at most 1."""
    height, width = image.shape[:2]
    inside = np.clip(np.asarray(corners, float), 0, (width, height))
    return OcrLine(text, tuple((float(x), float(y)) for x, y in inside), min(1.0, float(confidence)))


def load_ocr(name: str, settings: Features = DEFAULTS) -> OcrBackend:
    """The backend registered as `name`, ready to read.

    Raises ConfigError for an unknown name, FatalError for a missing package, model or server.
    """
    backend: OcrBackend = lookup(OCR, name, "features.ocr")(settings)
    return backend


def read_images(ocr: OcrBackend, images: Sequence[np.ndarray]) -> list[Found]:
    """One result per image (BGR uint8), in their order. Raises FatalError where no image can be read."""
    if isinstance(ocr, BatchOcrBackend):
        return [_failed(ocr, r) if isinstance(r, Exception) else r for r in ocr.read_all(images)]
    return [_read(ocr, image) for image in images]


def _read(ocr: OcrBackend, image: np.ndarray) -> Found:
    try:
        return ocr.read(image)
    except FatalError:
        raise
    except Exception as error:  # noqa: BLE001 - every library has errors of its own, and all mean: not read
        return _failed(ocr, error)


def _failed(ocr: OcrBackend, error: Exception) -> ExtractError:
    failure = ExtractError("ocr_failed", f"OCR backend {ocr.name} failed: {error}; features.ocr: none switches OCR off")
    failure.__cause__ = error
    return failure
