"""The free zones around a caption in which its figure can stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfq_ray.extract.captions import Caption
from sfq_ray.extract.layouts.canvas import Canvas
from sfq_ray.extract.style import Style
from sfq_ray.geometry import Box, as_boxes

WRAP_REACH = 5.0  # rows: so far above a caption text beside it still narrows the figure
MIN_ZONE = 8.0  # pt: a lower zone holds no figure


@dataclass(frozen=True)
class Zone:
    side: str  # above, below, left or right of the caption
    box: Box  # pt
    caption: Caption


def caption_zones(canvas: Canvas, caption: Caption, style: Style, obstacles: Sequence[Box]) -> list[Zone]:
    """Zones above and below (as wide as the column or the neighbours allow), then left and right of the caption."""
    left, right = _width(canvas, caption, style)
    neighbours = _neighbours(canvas, caption, left, right)
    others = [other for other in obstacles if other not in neighbours]
    zones = []
    for side in ("above", "below"):
        box = _vertical(canvas, caption, others, left, right, side)
        cut = [_split(canvas, box, caption.bbox, neighbour) for neighbour in neighbours]
        x0 = max((x for x in cut if x < caption.bbox.x0 + 2), default=left)
        x1 = min((x for x in cut if x > caption.bbox.x1 - 2), default=right)
        box = _vertical(canvas, caption, others, max(left, x0), min(right, x1), side)
        box = _into_margins(canvas, caption, box, style)
        if box.height >= MIN_ZONE:
            zones.append(Zone(side, box, caption))
    zones.extend(_beside(canvas, caption, obstacles))
    return zones


def _neighbours(canvas: Canvas, caption: Caption, left: float, right: float) -> list[Box]:
    """Other captions that stand beside this one or beside its figure: these end the zone sideways, not upwards."""
    found = []
    graphics = canvas.graphics
    over = graphics[(graphics[:, 0] < caption.bbox.x1) & (graphics[:, 2] > caption.bbox.x0)]
    for box in (c.bbox for c in canvas.captions if c is not caption):
        if box.overlap_x(caption.bbox) > 2 or box.x1 < left or box.x0 > right:
            continue
        past = (over[:, 1] < box.y0) & (over[:, 3] > box.y1) & ((over[:, 0] > box.x1) | (over[:, 2] < box.x0))
        if box.overlap_y(caption.bbox) > 2 or bool(past.any()):
            found.append(box)
    return found


def _split(canvas: Canvas, zone: Box, caption: Box, neighbour: Box) -> float:
    """x of the border between the figures of two captions side by side: amid the widest empty strip between these."""
    low, high = (neighbour.x1, caption.x0) if neighbour.x1 <= caption.x0 + 2 else (caption.x1, neighbour.x0)
    boxes = [*as_boxes(canvas.graphics), *(row.bbox for row in canvas.texts)]
    widest, end = (0.0, (low + high) / 2), low
    for box in sorted((b for b in boxes if b.overlap_y(zone) > 0), key=lambda b: b.x0):
        if box.x0 >= high:
            break
        widest = max(widest, (box.x0 - end, (box.x0 + end) / 2))
        end = max(end, box.x1)
    return max(widest, (high - end, (high + end) / 2))[1]


def _width(canvas: Canvas, caption: Caption, style: Style) -> tuple[float, float]:
    """x range: the column of the caption, cut by text and graphics that stand beside it."""
    box = caption.bbox
    left, right = min(style.text_left, box.x0) - 4, max(style.text_right, box.x1) + 4
    left, right = max(left - 30, canvas.page.box.x0), min(right + 30, canvas.page.box.x1)
    near = Box(box.x0, box.y0 - WRAP_REACH * style.size, box.x1, box.y1)  # text flowing around reaches up beside it
    beside = [b for b in canvas.body if b.overlap_y(near) > 2]
    if style.columns == 2 and not _spans(caption, style):
        if (box.x0 + box.x1) / 2 < style.gutter:
            right = style.gutter
        else:
            left = style.gutter
    graphics = as_boxes(
        canvas.graphics
    )  # what passes by the caption belongs to another one, or the caption is beside it
    beside += [b for b in graphics if b.overlap_y(box) > 0.5 * box.height and b.overlap_x(box) < 2]
    for other in beside:
        if other.x1 <= box.x0 + 2:
            left = max(left, other.x1)
        elif other.x0 >= box.x1 - 2:
            right = min(right, other.x0)
    return left, right


def _into_margins(canvas: Canvas, caption: Caption, zone: Box, style: Style) -> Box:
    """Wider up to the edge of the page where an object amid the text, or over the caption, reaches past the zone."""
    x0, y0, x1, y1 = canvas.page.objects.boxes.T  # not the ink, which joins the figure with what touches it
    middle = (x0 + x1) / 2
    amid = (middle > style.text_left) & (middle < style.text_right)
    over = np.minimum(x1, caption.bbox.x1) - np.maximum(x0, caption.bbox.x0) > 0.5 * caption.bbox.width
    there = (y0 >= zone.y0 - 1) & (y1 <= zone.y1 + 1) & (amid | over)
    left = zone.x0 < style.text_left and bool((there & (x0 < zone.x0) & (x1 > zone.x0)).any())
    right = zone.x1 > style.text_right and bool((there & (x0 < zone.x1) & (x1 > zone.x1)).any())
    return Box(canvas.page.box.x0 if left else zone.x0, zone.y0, canvas.page.box.x1 if right else zone.x1, zone.y1)


def _spans(caption: Caption, style: Style) -> bool:
    """The caption stands across the gutter of a two-column page."""
    return caption.bbox.x0 < style.gutter - 6 and caption.bbox.x1 > style.gutter + 6


def _vertical(canvas: Canvas, caption: Caption, obstacles: Sequence[Box], left: float, right: float, side: str) -> Box:
    """From the caption to the next obstacle that stands in the way."""
    box = caption.bbox
    if side == "above":
        limit = canvas.top
        for other in obstacles:
            if other.y1 <= box.y0 + 3 and _blocks(other, left, right, box) and other != box:
                limit = max(limit, other.y1)
        return Box(left, limit, right, box.y0)
    limit = canvas.bottom
    for other in obstacles:
        if other.y0 >= box.y1 - 3 and _blocks(other, left, right, box) and other != box:
            limit = min(limit, other.y0)
    return Box(left, box.y1, right, limit)


def _blocks(obstacle: Box, left: float, right: float, caption: Box) -> bool:
    shared = min(obstacle.x1, right) - max(obstacle.x0, left)
    return shared > 0.1 * min(obstacle.width, right - left) and shared > 4


def _beside(canvas: Canvas, caption: Caption, obstacles: Sequence[Box]) -> list[Zone]:
    """Zones left and right, for captions set beside their figure."""
    box = caption.bbox
    zones = []
    for side in ("left", "right"):
        x0, x1 = (canvas.page.box.x0, box.x0) if side == "left" else (box.x1, canvas.page.box.x1)
        top, bottom = canvas.top, canvas.bottom
        for other in obstacles:
            if other == box or other.x1 <= x0 + 4 or other.x0 >= x1 - 4:
                continue
            if other.overlap_y(box) > 0.5 * min(other.height, box.height):
                if side == "left":
                    x0 = max(x0, other.x1)
                else:
                    x1 = min(x1, other.x0)
            elif other.y1 <= box.y0:
                top = max(top, other.y1)
            elif other.y0 >= box.y1:
                bottom = min(bottom, other.y0)
        if x1 - x0 > 40 and bottom - top > 20:
            zones.append(Zone(side, Box(x0, top, x1, bottom), caption))
    return zones
