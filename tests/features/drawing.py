"""Small figures drawn for these tests: values in, PNG bytes and text lines out."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

DPI = 300.0
BLUE, ORANGE = (31, 119, 180), (255, 127, 14)


def png(image: Image.Image | np.ndarray) -> bytes:
    """A PNG of a PIL image or an RGB/grey uint8 array."""
    buffer = io.BytesIO()
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(buffer, "PNG")
    return buffer.getvalue()


def word(text: str, bbox: tuple[float, float, float, float], size_pt: float | None = 9.6) -> dict[str, Any]:
    return {"text": text, "bbox": list(bbox), "size_pt": size_pt, "confidence": None, "origin": "native"}


class Figure:
    """A white figure to draw on, which keeps its text lines as native words."""

    def __init__(self, width: int, height: int) -> None:
        self.image = Image.new("RGB", (width, height), "white")
        self.draw = ImageDraw.Draw(self.image)
        self.words: list[dict[str, Any]] = []

    def text(self, x: float, y: float, text: str, size_pt: float = 9.6) -> None:
        font = ImageFont.load_default(size_pt * DPI / 72)
        self.draw.text((x, y), text, font=font, fill="black")
        self.words.append(word(text, self.draw.textbbox((x, y), text, font=font), size_pt))

    @property
    def png(self) -> bytes:
        return png(self.image)


def bar_chart() -> Figure:
    """Two axis lines, y ticks 0 to 100 by 20, four bars in two colours, a legend of two and the panel label (a)."""
    figure = Figure(1600, 1250)
    figure.draw.line((200, 100, 200, 1100), fill="black", width=4)
    figure.draw.line((200, 1100, 1500, 1100), fill="black", width=4)
    for step in range(6):
        figure.text(100, 1080 - 180 * step, str(20 * step))
    for place, height in enumerate((300, 500, 420, 800)):
        left = 300 + 220 * place
        figure.draw.rectangle((left, 1098 - height, left + 120, 1098), fill=(BLUE, ORANGE)[place % 2])
    for row, (name, color) in enumerate((("Ours", BLUE), ("Baseline", ORANGE))):
        figure.draw.rectangle((1200, 120 + 60 * row, 1260, 150 + 60 * row), fill=color)
        figure.text(1280, 115 + 60 * row, name)
    figure.text(20, 20, "(a)")
    return figure
