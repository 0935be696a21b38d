"""The figure in a zone: its graphics with the text that belongs to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfq_ray.extract.layouts.canvas import Canvas, cluster
from sfq_ray.extract.layouts.zones import Zone
from sfq_ray.geometry import Box, union_all

TEXT_REACH = 14.0  # pt: figure text stands this close to the rest of the figure
MAX_GAP = 70.0  # pt: emptier space inside a zone ends the figure
MIN_SIDE = 12.0  # pt
PANEL_GAP = 6.0  # pt


@dataclass(frozen=True)
class Content:
    bbox: Box
    graphic: bool  # made of graphics, not of text alone
    distance: float  # pt between caption and content
    score: float  # 0..1
    panels: tuple[Box, ...] = ()

    @property
    def weight(self) -> float:
        """How much this speaks for its side: near graphics speak loudest."""
        return (1.0 if self.graphic else 0.2) / (1.0 + self.distance / 20.0)


def zone_content(canvas: Canvas, zone: Zone) -> Content | None:
    """Union of the strong graphics in the zone and the texts and rules next to them; None when there are none."""
    graphics = _inside(canvas.graphics, zone.box)
    if len(graphics):
        groups = cluster(graphics, canvas.page.box, PANEL_GAP)
        box = _connected(groups, zone)
        if box is not None and min(box.width, box.height) >= MIN_SIDE:
            box = _with_text(canvas, zone, box)
            distance = _distance(box, zone)
            panels = tuple(g for g in sorted(groups, key=lambda b: (round(b.y0), b.x0)) if g.share_inside(box) > 0.9)
            return Content(box, True, distance, 1.0 / (1.0 + distance / 40.0), panels if len(panels) > 1 else ())
    return None


def _inside(boxes: np.ndarray, zone: Box) -> np.ndarray:
    """Boxes that lie in the zone for the most part, cut to it."""
    if len(boxes) == 0:
        return boxes
    cut = np.stack(
        [
            np.maximum(boxes[:, 0], zone.x0), np.maximum(boxes[:, 1], zone.y0),
            np.minimum(boxes[:, 2], zone.x1), np.minimum(boxes[:, 3], zone.y1),
        ],
        axis=1,
    )
    # thin boxes get some thickness, so that a line has an area
    area = (boxes[:, 2] - boxes[:, 0] + 0.2) * (boxes[:, 3] - boxes[:, 1] + 0.2)
    shared = np.clip(cut[:, 2] - cut[:, 0] + 0.2, 0, None) * np.clip(cut[:, 3] - cut[:, 1] + 0.2, 0, None)
    inside = (shared >= 0.5 * area) & (cut[:, 2] >= cut[:, 0]) & (cut[:, 3] >= cut[:, 1])
    return cut[inside]


def _connected(groups: list[Box], zone: Zone) -> Box | None:
    """Groups from the caption outwards, up to an empty space of more than MAX_GAP pt."""
    if zone.side in ("above", "below"):
        groups = sorted(groups, key=lambda b: -b.y1 if zone.side == "above" else b.y0)
    result: Box | None = None
    for group in groups:
        if result is None:
            result = group
        elif -result.overlap_y(group) <= MAX_GAP and -result.overlap_x(group) <= 2 * MAX_GAP:
            result = result.union(group)
    return result


def _with_text(canvas: Canvas, zone: Zone, box: Box) -> Box:
    """Grown by the texts and rules of the zone that touch it, until nothing more does."""
    limit = zone.box.grown(3.0)
    parts = [row.bbox for row in canvas.texts if row.bbox.share_inside(limit) > 0.8]
    parts += [rule for rule in canvas.rules if rule.share_inside(limit) > 0.8]
    grown = True
    while grown:
        grown = False
        rest = []
        for part in parts:
            if part.touches(box, TEXT_REACH) and (part.overlap_x(box) > 0 or part.overlap_y(box) > 0):
                box = box.union(part)
                grown = True
            else:
                rest.append(part)
        parts = rest
    return union_all([box]) or box


def _distance(box: Box, zone: Zone) -> float:
    caption = zone.caption.bbox
    return max(0.0, -box.overlap_y(caption) if zone.side in ("above", "below") else -box.overlap_x(caption))
