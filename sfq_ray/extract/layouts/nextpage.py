"""Captions that stand on the page after their figure, or on the page before it.

Only a caption at the very top of its page can belong to a figure at the bottom of the page before, and only one at the
very bottom to a figure at the top of the page after. A figure that fills its page is both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sfq_ray.extract.captions import Caption
from sfq_ray.extract.layouts.canvas import Canvas
from sfq_ray.extract.layouts.content import Content, zone_content
from sfq_ray.extract.layouts.zones import caption_zones
from sfq_ray.extract.style import Style, in_margin_band
from sfq_ray.geometry import Box, as_boxes

MIN_SIDE = 60.0  # pt: a smaller graphic on another page is not the figure


def add_from_other_pages(
    chosen: Mapping[int, list[tuple[int, Content]]],
    canvases: Mapping[int, Canvas],
    captions: Sequence[Caption],
    style: Style,
    habit: str,
) -> None:
    """Adds to `chosen` (by page, index of the caption and its figure) what captions without one have on other pages."""
    matched = {index for sheet in chosen.values() for index, _ in sheet}
    for index, caption in enumerate(captions):
        if caption.kind != "figure" or index in matched:
            continue
        for step in (-1, 1) if habit == "above" else (1, -1):
            canvas = canvases.get(caption.page + step)
            if canvas is None or not _at_edge(canvases[caption.page], caption, top=step < 0):
                continue
            content = _at_end(canvas, caption, style, bottom=step < 0)
            taken = [other.bbox for _, other in chosen[canvas.page.number]]
            if content is not None and not any(content.bbox.touches(box) for box in taken):
                chosen[canvas.page.number].append((index, content))
                break


def _at_edge(canvas: Canvas, caption: Caption, top: bool) -> bool:
    """Nothing but running heads stands above the caption (top) or below it."""
    rows = (*canvas.texts, *canvas.running)
    boxes = [row.bbox for row in rows if not in_margin_band(row, canvas.page)]
    boxes += [*(c.bbox for c in canvas.captions if c is not caption), *canvas.tables, *as_boxes(canvas.graphics)]
    edge = caption.bbox.y0 + 3 if top else caption.bbox.y1 - 3
    return not any(box.y1 <= edge if top else box.y0 >= edge for box in boxes)


def _at_end(canvas: Canvas, caption: Caption, style: Style, bottom: bool) -> Content | None:
    """The figure at the bottom (or the top) of another page, as if the caption stood there, as wide as the text."""
    y = canvas.bottom if bottom else canvas.top
    there = replace(caption, page=canvas.page.number, bbox=Box(style.text_left, y, style.text_right, y))
    side = "above" if bottom else "below"
    for zone in caption_zones(canvas, there, style, canvas.obstacles()):
        if zone.side == side:
            content = zone_content(canvas, zone, style)
            return content if content and min(content.bbox.width, content.bbox.height) >= MIN_SIDE else None
    return None
