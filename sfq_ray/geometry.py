"""Boxes on a page. Unit pt (1/72 inch), origin at the top left of the page as displayed, y growing downwards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

PT_PER_INCH = 72.0


class Box(NamedTuple):
    """An axis-parallel rectangle; empty when a side is not positive."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        return self.y1 - self.y0

    @property
    def area(self) -> float:
        return max(0.0, self.width) * max(0.0, self.height)

    @property
    def empty(self) -> bool:
        return self.width <= 0 or self.height <= 0

    def intersection(self, other: Box) -> Box:
        return Box(max(self.x0, other.x0), max(self.y0, other.y0), min(self.x1, other.x1), min(self.y1, other.y1))

    def union(self, other: Box) -> Box:
        return Box(min(self.x0, other.x0), min(self.y0, other.y0), max(self.x1, other.x1), max(self.y1, other.y1))

    def grown(self, dx: float, dy: float | None = None) -> Box:
        """Moved outwards by dx left and right, and by dy (default dx) up and down."""
        dy = dx if dy is None else dy
        return Box(self.x0 - dx, self.y0 - dy, self.x1 + dx, self.y1 + dy)

    def overlap_x(self, other: Box) -> float:
        """Length shared on the x axis; negative: the gap between the two."""
        return min(self.x1, other.x1) - max(self.x0, other.x0)

    def overlap_y(self, other: Box) -> float:
        """Length shared on the y axis; negative: the gap between the two."""
        return min(self.y1, other.y1) - max(self.y0, other.y0)

    def touches(self, other: Box, gap: float = 0.0) -> bool:
        """True when the boxes meet or lie within `gap` pt of each other on both axes."""
        return self.overlap_x(other) >= -gap and self.overlap_y(other) >= -gap

    def share_inside(self, other: Box) -> float:
        """Share of this box's area that lies inside `other`, 0..1. A line without area counts by its length."""
        if self.area > 0:
            inside = self.intersection(other)
            return inside.area / self.area if not inside.empty else 0.0
        thick = self.grown(0.05)
        inside = thick.intersection(other.grown(0.05))
        return inside.area / thick.area if not inside.empty else 0.0

    def iou(self, other: Box) -> float:
        inside = self.intersection(other)
        if inside.empty:
            return 0.0
        return inside.area / (self.area + other.area - inside.area)


def union_all(boxes: Iterable[Box]) -> Box | None:
    """The smallest box around all of `boxes`; None when there are none."""
    result: Box | None = None
    for box in boxes:
        result = box if result is None else result.union(box)
    return result


def as_boxes(rows: np.ndarray) -> list[Box]:
    """Rows of an (n, 4) array as boxes."""
    return [Box(*row) for row in rows.tolist()]


def pt_to_px(length_pt: float, dpi: float) -> float:
    return length_pt / PT_PER_INCH * dpi
