"""Images as a model gets them: the PNG as it is where it fits the model's limits, a smaller one where it does not.

The same bytes and limits give the same bytes again, so that the hash of what was sent names it.
"""

from __future__ import annotations

import hashlib
import math
import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from sfq_ray.judge.errors import CallError

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MEDIA_TYPE = "image/png"
MAX_PIXELS = 2**27  # a larger image is refused before it takes gigabytes of memory
MIN_SIDE_PX = 32  # of the longer side, where bytes are to be saved: nothing can be read in less
CACHED = 128  # a figure is sent by many runs one after the other
STEP = 0.8  # of the longer side, at most, from one attempt to keep within max_bytes to the next
COMPRESSION = 3  # of zlib; 9 takes fifty times as long for a fifth less

Pixels = NDArray[Any]


@dataclass(frozen=True)
class Sent:
    """What goes on the wire: `data` before any base64, its media type, size in px and SHA-256 in hexadecimal."""

    data: bytes
    media_type: str
    width: int
    height: int
    sha256: str


@lru_cache(CACHED)
def fit(png: bytes, max_side_px: int | None, max_bytes: int | None) -> Sent:
    """`png` within a longer side of `max_side_px` px and `max_bytes` bytes; None stands for no limit.

    Unchanged bytes where it fits. Otherwise 8 bits a channel, shrunk by area, in steps until it fits; never enlarged.
    Raises CallError image_rejected for what is no PNG, is damaged or too large to open, or cannot be made to fit.
    """
    pixels = _decode(png)
    height, width = pixels.shape[:2]
    longest = max(width, height)
    if (max_side_px is None or longest <= max_side_px) and (max_bytes is None or len(png) <= max_bytes):
        return _sent(png, width, height)
    pixels = _eight_bits(pixels)
    side = longest if max_side_px is None else min(longest, max_side_px)
    floor = min(side, MIN_SIDE_PX)
    while side >= floor:
        scale = side / longest
        shrunk = _shrink(pixels, max(1, round(width * scale)), max(1, round(height * scale)))
        data = _encode(shrunk)
        if max_bytes is None or len(data) <= max_bytes:
            return _sent(data, shrunk.shape[1], shrunk.shape[0])
        side = int(side * min(STEP, math.sqrt(max_bytes / len(data))))
    raise CallError("image_rejected", f"the image cannot be made to fit {max_side_px} px and {max_bytes} bytes")


def _sent(data: bytes, width: int, height: int) -> Sent:
    return Sent(data, MEDIA_TYPE, width, height, hashlib.sha256(data).hexdigest())


def _decode(png: bytes) -> Pixels:
    if png[:8] != SIGNATURE or png[12:16] != b"IHDR" or len(png) < 33:
        raise CallError("image_rejected", "the image is no PNG")
    width, height = struct.unpack(">II", png[16:24])
    if width * height > MAX_PIXELS:
        raise CallError("image_rejected", f"the image of {width} x {height} px is too large to open")
    try:
        pixels = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error:
        pixels = None
    if pixels is None:
        raise CallError("image_rejected", f"the PNG of {width} x {height} px is damaged")
    decoded: Pixels = pixels
    return decoded


def _eight_bits(pixels: Pixels) -> Pixels:
    reduced: Pixels = pixels if pixels.dtype == np.uint8 else cv2.convertScaleAbs(pixels, alpha=1 / 257)
    return reduced


def _shrink(pixels: Pixels, width: int, height: int) -> Pixels:
    """By area. Colours count by their opacity, so that what hides under transparent parts does not come through."""
    if pixels.shape[:2] == (height, width):
        return pixels
    if pixels.ndim == 2 or pixels.shape[2] == 3:
        return _by_area(pixels, width, height)
    alpha = pixels[..., 3].astype(np.float32)
    opacity = _by_area(alpha, width, height)
    colours = [_by_area(pixels[..., c] * alpha, width, height) / np.maximum(opacity, 1e-6) for c in range(3)]
    return np.clip(np.rint(np.stack([*colours, opacity], axis=2)), 0, 255).astype(np.uint8)


def _by_area(pixels: Pixels, width: int, height: int) -> Pixels:
    small: Pixels = cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA)
    return small


def _encode(pixels: Pixels) -> bytes:
    encoded, data = cv2.imencode(".png", pixels, [cv2.IMWRITE_PNG_COMPRESSION, COMPRESSION])
    if not encoded:
        raise CallError("image_rejected", "the smaller image cannot be written as PNG")
    return bytes(data)
