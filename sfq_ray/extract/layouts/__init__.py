"""Layout backends: where the figures of a document are.

`pymupdf` finds them from the page's own text and objects and needs no model. The others are detectors that look at the
rendered page; their boxes take the place of the page's graphics. Captions, their pairing with regions, crops and
curation are shared, so that all of them can be compared on the same truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from sfq_ray.config import Layout
from sfq_ray.geometry import Box
from sfq_ray.registry import lookup

EMBEDDED = "pymupdf"
LAYOUTS: dict[str, str] = {
    EMBEDDED: "sfq_ray.extract.layouts.pymupdf:find_blocks",
    "marker": "sfq_ray.extract.layouts.marker:MarkerDetector",
    "pp-doclayout": "sfq_ray.extract.layouts.doclayout:DocLayoutDetector",
}


@dataclass(frozen=True)
class Block:
    """A region on a page. kind: figure (with the index of its caption), or graphic (a large one without caption)."""

    kind: str
    page: int  # 0-based
    bbox: Box
    caption: int | None  # index into the document's captions
    score: float  # 0..1
    panels: tuple[Box, ...] = ()
    layout: str = EMBEDDED  # the backend whose regions were used


@dataclass(frozen=True)
class Region:
    """A figure body that a detector sees. Unit px of the image in detect(), pt of the displayed page elsewhere."""

    label: str  # the detector's own word
    score: float  # 0..1
    bbox: Box


PageRegions = Mapping[int, Sequence[Region]]
"""Figure bodies by 0-based page; a page that is absent was not looked at, or the detector failed on it."""


@dataclass(frozen=True)
class SeenPages:
    """What a detector saw of one paper, and why it failed on other pages (0-based)."""

    regions: dict[int, list[Region]] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)


NOTHING_SEEN = SeenPages()


class Detector(Protocol):
    """A loaded layout model; it lives in one actor for the whole job."""

    def detect(self, images: Sequence[np.ndarray]) -> list[list[Region]]:
        """Figure bodies of each page. images: RGB uint8 (height, width, 3). Raises LayoutFailed for the batch."""
        ...


class LayoutFailed(Exception):
    """The detector gave no answer for these pages; the text says why."""


def load_detector(name: str, settings: Layout) -> Detector:
    """The detector registered as `name`, loaded. Raises ConfigError for an unknown name, FatalError without weights."""
    detector: Detector = lookup(LAYOUTS, name, "extract.layout")(settings)
    return detector
