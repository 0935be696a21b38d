"""Thumbnails, small enough that a page of them opens at once."""

from __future__ import annotations

import io
from typing import NamedTuple

from PIL import Image

THUMB_BOX_PX = (384, 240)
THUMB_BYTES = 15_000
SUFFIXES = {"PNG": "png", "JPEG": "jpg", "WEBP": "webp"}


class Picture(NamedTuple):
    suffix: str
    """File ending of the full image, by what its bytes are."""
    thumbnail: bytes
    """WebP, at most 384 x 240 px, on white."""


def picture(data: bytes | None) -> Picture | None:
    """What is needed to show an image; None for no image and for bytes that are not one of PNG, JPEG or WebP."""
    if not data:
        return None
    try:
        with Image.open(io.BytesIO(data), formats=tuple(SUFFIXES)) as image:
            suffix = SUFFIXES[str(image.format)]
            image.thumbnail(THUMB_BOX_PX, Image.Resampling.BICUBIC, reducing_gap=2.0)
            return Picture(suffix, _webp(_on_white(image)))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None  # the page says that the image cannot be shown


def _on_white(image: Image.Image) -> Image.Image:
    if not image.has_transparency_data:
        return image.convert("RGB")
    layer = image.convert("RGBA")
    ground = Image.new("RGBA", layer.size, "white")
    ground.alpha_composite(layer)
    return ground.convert("RGB")


def _webp(image: Image.Image) -> bytes:
    """The best quality that keeps to THUMB_BYTES; the lowest step is taken as it comes."""
    data = b""
    for quality in (80, 60, 40, 20):
        buffer = io.BytesIO()
        image.save(buffer, "WEBP", quality=quality, method=4)
        data = buffer.getvalue()
        if len(data) <= THUMB_BYTES:
            break
    return data
