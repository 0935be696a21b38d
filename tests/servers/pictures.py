"""Images of a call: decoded, and held against the limits of the model."""

from __future__ import annotations

import base64
import binascii
import io
from dataclasses import dataclass

from PIL import Image

from servers.models import Model

FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg"}


@dataclass(frozen=True)
class Picture:
    width: int
    height: int
    size: int


class BadPicture(Exception):
    """fault: base64, undecodable, mismatch, side, bytes or number; each wire format has its own message for it."""

    def __init__(self, fault: str, **details: object) -> None:
        super().__init__(fault)
        self.fault, self.details = fault, details


def picture(encoded: object, model: Model, declared: str | None = None) -> Picture:
    """The image behind base64 text. `declared`: the media type that it must have. Raises BadPicture."""
    try:
        data = base64.b64decode(str(encoded), validate=True)
    except binascii.Error:
        raise BadPicture("base64") from None
    size = len(str(encoded)) if model.family == "anthropic" else len(data)
    if size > model.max_image_bytes:
        raise BadPicture("bytes", size=size, limit=model.max_image_bytes)
    try:
        with Image.open(io.BytesIO(data), formats=tuple(FORMATS)) as image:
            image.verify()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        raise BadPicture("undecodable") from None
    found = FORMATS[image.format or ""]
    if declared is not None and found != declared:
        raise BadPicture("mismatch", declared=declared, found=found)
    if max(image.size) > model.max_side_px:
        raise BadPicture("side", limit=model.max_side_px)
    return Picture(*image.size, size)


def check_number(pictures: list[Picture], model: Model) -> None:
    if len(pictures) > model.max_images:
        raise BadPicture("number", limit=model.max_images, number=len(pictures))
