"""The figure in a zone: its graphics with the text that belongs to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfq_ray.extract.layouts import EMBEDDED
from sfq_ray.extract.layouts.canvas import Canvas, cluster
from sfq_ray.extract.layouts.zones import Zone
from sfq_ray.extract.rows import Row
from sfq_ray.extract.style import Style
from sfq_ray.geometry import Box, as_boxes, union_all

TEXT_REACH = 14.0  # pt: figure text stands this close to the rest of the figure
CAPTION_SIDE_REACH = 28.0  # pt: between figure and caption there is nothing else that text could belong to
MAX_GAP = 70.0  # pt: emptier space inside a zone ends the figure
MIN_SIDE = 12.0  # pt
PANEL_GAP = 6.0  # pt: graphics that lie closer are one panel
PANEL_SIDE, PANEL_SHARE = 40.0, 0.08  # pt, and share of the figure: smaller parts are marks, not panels
FIRST_GAP = 30.0  # pt: between a caption and a figure made of text
TEXT_GAP = 11.0  # pt: a larger gap between rows ends a figure made of text


@dataclass(frozen=True)
class Content:
    bbox: Box
    graphic: bool  # made of graphics, not of text alone
    distance: float  # pt between caption and content
    score: float  # 0..1
    panels: tuple[Box, ...] = ()
    layout: str = EMBEDDED  # the backend whose regions it is made of

    @property
    def weight(self) -> float:
        """How much this speaks for its side: near graphics speak loudest."""
        return (1.0 if self.graphic else 0.2) / (1.0 + self.distance / 20.0)


def zone_content(canvas: Canvas, zone: Zone, style: Style) -> Content | None:
    """Union of the strong graphics in the zone and the texts and rules next to them; None when there are none."""
    graphics = _inside(canvas.graphics, zone.box)
    if len(graphics):
        groups = cluster(graphics, canvas.page.box, PANEL_GAP)
        left, right = min(style.text_left, zone.caption.bbox.x0), max(style.text_right, zone.caption.bbox.x1)
        box = _connected([g for g in groups if g.x1 > left - 2 and g.x0 < right + 2], canvas, zone)
        if box is not None and min(box.width, box.height) >= MIN_SIDE:
            box = _with_text(canvas, zone, box)
            distance = _distance(box, zone)
            return Content(box, True, distance, 1.0 / (1.0 + distance / 40.0), _panels(groups, box))
    return None


def _panels(groups: list[Box], figure: Box) -> tuple[Box, ...]:
    """The parts of a figure that are large enough to be panels, in reading order; none where there is only one."""
    large = [
        group
        for group in groups
        if min(group.width, group.height) >= PANEL_SIDE
        and group.area >= PANEL_SHARE * figure.area
        and group.share_inside(figure) > 0.9
    ]
    return tuple(sorted(large, key=lambda box: (round(box.y0), box.x0))) if len(large) > 1 else ()


def text_content(canvas: Canvas, zone: Zone, style: Style) -> Content | None:
    """A figure made of text (an algorithm, a prompt, code): the rows next to the caption, up to a clear gap.

    Only where these rows are not set like the running text, or are not running text at all.
    """
    sign = -1 if zone.side == "above" else 1
    rows = [r for r in (*canvas.texts, *canvas.running) if r.bbox.overlap_x(zone.box) > 0.6 * r.bbox.width]
    edge = zone.caption.bbox.y0 if sign < 0 else zone.caption.bbox.y1
    rows = [r for r in rows if (r.bbox.y1 <= edge + 3 if sign < 0 else r.bbox.y0 >= edge - 3)]
    rows.sort(key=lambda r: -r.bbox.y1 if sign < 0 else r.bbox.y0)
    box: Box | None = None
    taken: list[Row] = []
    for row in rows:
        gap = -(row.bbox.overlap_y(box)) if box is not None else abs((row.bbox.y1 if sign < 0 else row.bbox.y0) - edge)
        if gap > (TEXT_GAP if box is not None else FIRST_GAP):
            break
        box = row.bbox if box is None else box.union(row.bbox)
        taken.append(row)
    if box is None or box.height < 2 * MIN_SIDE or box.width < 5 * MIN_SIDE or not _set_apart(taken, canvas, style):
        return None
    return Content(
        _with_text(canvas, Zone(zone.side, box.grown(12), zone.caption), box), False, _distance(box, zone), 0.3
    )


def _set_apart(rows: list[Row], canvas: Canvas, style: Style) -> bool:
    """Most of the text is no running text, or in another size or font than the running text."""
    running = {id(row) for row in canvas.running}
    other = sum(
        len(r.text)
        for r in rows
        if id(r) not in running or abs(r.size - style.size) > 0.6 or not any(s.font in style.fonts for s in r.spans)
    )
    return other > 0.6 * sum(len(r.text) for r in rows)


def _inside(boxes: np.ndarray, zone: Box) -> np.ndarray:
    """Boxes that lie in the zone for the most part, cut to it."""
    if len(boxes) == 0:
        return boxes
    cut = np.stack(
        [
            np.maximum(boxes[:, 0], zone.x0),
            np.maximum(boxes[:, 1], zone.y0),
            np.minimum(boxes[:, 2], zone.x1),
            np.minimum(boxes[:, 3], zone.y1),
        ],
        axis=1,
    )
    # thin boxes get some thickness, so that a line has an area
    area = (boxes[:, 2] - boxes[:, 0] + 0.2) * (boxes[:, 3] - boxes[:, 1] + 0.2)
    shared = np.clip(cut[:, 2] - cut[:, 0] + 0.2, 0, None) * np.clip(cut[:, 3] - cut[:, 1] + 0.2, 0, None)
    inside = (shared >= 0.5 * area) & (cut[:, 2] >= cut[:, 0]) & (cut[:, 3] >= cut[:, 1])
    return cut[inside]


def _connected(groups: list[Box], canvas: Canvas, zone: Zone) -> Box | None:
    """Groups from the caption outwards, up to a space of more than MAX_GAP pt without graphics or text."""
    texts = [row.bbox for row in canvas.texts if row.bbox.share_inside(zone.box) > 0.9] if groups else []
    parts = [(group, True) for group in groups] + [(text, False) for text in texts]
    if zone.side in ("above", "below"):
        parts.sort(key=lambda p: -p[0].y1 if zone.side == "above" else p[0].y0)
    reach: Box | None = None  # graphics and texts so far
    near: list[Box] = []
    for part, graphic in parts:
        if reach is not None and -reach.overlap_y(part) > MAX_GAP:
            break
        reach = part if reach is None else reach.union(part)
        if graphic:
            near.append(part)
    return _side_by_side(near)


def _side_by_side(groups: list[Box]) -> Box | None:
    """The first group with all that stand beside it without a wide space between them."""
    result = groups[0] if groups else None
    rest = groups[1:]
    while result is not None and rest:
        joined = [group for group in rest if -result.overlap_x(group) <= 2 * MAX_GAP]
        if not joined:
            break
        rest = [group for group in rest if group not in joined]
        result = union_all([result, *joined])
    return result


def _with_text(canvas: Canvas, zone: Zone, box: Box) -> Box:
    """Grown by the texts and rules of the zone on its background or in touch with it, until nothing more is."""
    limit = zone.box.grown(3.0)
    parts = [row.bbox for row in canvas.texts if row.bbox.share_inside(limit) > 0.8]
    parts += [rule for rule in canvas.rules if rule.share_inside(limit) > 0.8]
    ground = _background(canvas, limit, box)
    box = box.union(union_all(part for part in parts if part.share_inside(ground) > 0.9) or box)
    grown = True
    while grown:
        grown = False
        rest = []
        for part in parts:
            between = part.y0 >= box.y1 if zone.side == "above" else part.y1 <= box.y0 and zone.side == "below"
            if part.touches(box, CAPTION_SIDE_REACH if between else TEXT_REACH) and (
                part.overlap_x(box) > 0 or part.overlap_y(box) > 0
            ):
                box = box.union(part)
                grown = True
            else:
                rest.append(part)
        parts = rest
    return box.intersection(limit)


def _background(canvas: Canvas, limit: Box, box: Box) -> Box:
    """The box, or the object within `limit` that all of it is painted on; plotting tools fill one, often in white."""
    boxes = canvas.page.objects.boxes
    low = (
        (boxes[:, 0] >= limit.x0)
        & (boxes[:, 1] >= limit.y0)
        & (boxes[:, 0] <= box.x0 + 1)
        & (boxes[:, 1] <= box.y0 + 1)
    )
    high = (
        (boxes[:, 2] <= limit.x1)
        & (boxes[:, 3] <= limit.y1)
        & (boxes[:, 2] >= box.x1 - 1)
        & (boxes[:, 3] >= box.y1 - 1)
    )
    return union_all([box, *as_boxes(boxes[low & high])]) or box


def _distance(box: Box, zone: Zone) -> float:
    caption = zone.caption.bbox
    return max(0.0, -box.overlap_y(caption) if zone.side in ("above", "below") else -box.overlap_x(caption))
