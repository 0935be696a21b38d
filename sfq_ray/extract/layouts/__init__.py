"""Layout backends: where the figures of a document are.

Each entry is a function (pages, rows, captions, style) -> list[Block]; captions, crops and curation are shared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sfq_ray.geometry import Box
from sfq_ray.registry import lookup

LAYOUTS: dict[str, str] = {"pymupdf": "sfq_ray.extract.layouts.pymupdf:find_blocks"}


@dataclass(frozen=True)
class Block:
    """A region on a page. kind: figure (with the index of its caption), or graphic (a large one without caption)."""

    kind: str
    page: int  # 0-based
    bbox: Box
    caption: int | None  # index into the document's captions
    score: float  # 0..1
    panels: tuple[Box, ...] = ()


def load_layout(name: str) -> Callable[..., list[Block]]:
    """The layout function registered as `name`. Raises ConfigError with the known names."""
    return lookup(LAYOUTS, name, "extract.layout")
