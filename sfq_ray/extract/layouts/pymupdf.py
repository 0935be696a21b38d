"""The embedded layout: caption first, then the graphics of the page between the caption and the text around it.

For every figure caption the free zone above and below it is measured: as wide as its column (or its neighbours)
leave room, as high as the distance to the next body text or caption. The graphics in one of the two zones are the
figure. Which one is a habit of the document. Tables are set aside first, from their rules. A caption whose page has no
figure for it may have it on the page before or after (see nextpage).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sfq_ray.extract.captions import Caption
from sfq_ray.extract.document import Page
from sfq_ray.extract.layouts import EMBEDDED, Block, PageRegions, Region
from sfq_ray.extract.layouts.canvas import BACKGROUND_SHARE, CLUSTER_GAP, Canvas, Ink, cluster, read_canvas
from sfq_ray.extract.layouts.content import Content, text_content, zone_content
from sfq_ray.extract.layouts.nextpage import add_from_other_pages
from sfq_ray.extract.layouts.zones import caption_zones
from sfq_ray.extract.rows import Row
from sfq_ray.extract.style import Style
from sfq_ray.geometry import Box

VERTICAL = ("above", "below")
MIN_GRAPHIC_SIDE = 60.0  # pt: a larger graphic without a caption is reported


def find_blocks(
    pages: Sequence[Page],
    rows: Sequence[list[Row]],
    captions: Sequence[Caption],
    style: Style,
    ink: Ink,
    regions: PageRegions | None = None,
    layout: str = EMBEDDED,
) -> list[Block]:
    """One block per figure caption that has graphics (or a text figure), and the large graphics that are left.

    `ink(n, box)` gives page n as a grey image at 72 dpi; it is asked only for the graphics of pages with a figure
    caption or large objects. On a page in `regions` the boxes that the detector `layout` saw are looked at first, and
    the page's own graphics only for captions that these leave alone.
    """
    regions = regions or {}
    canvases: dict[int, Canvas] = {}
    options: dict[int, list[tuple[int, dict[str, Content]]]] = {}
    for page, page_rows in zip(pages, rows, strict=True):
        own = [(i, c) for i, c in enumerate(captions) if c.page == page.number]
        seen = regions.get(page.number)
        if not any(c.kind == "figure" for _, c in own) and not (seen or _has_large_graphic(page)):
            continue
        canvas = read_canvas(page, page_rows, [c for _, c in own], style, ink)
        found = [(i, _seen(canvas, seen, c, style, layout) if seen else {}) for i, c in own if c.kind == "figure"]
        options[page.number] = [(i, sides or _contents(canvas, captions[i], style)) for i, sides in found]
        if seen:
            canvas = replace(canvas, graphics=np.vstack([canvas.graphics, _boxes(seen)]))
        canvases[page.number] = canvas
    habit = _habit(sides for sheet in options.values() for _, sides in sheet)
    chosen = {number: _choose(canvases[number], sheet, habit) for number, sheet in options.items()}
    add_from_other_pages(chosen, canvases, captions, style, habit)
    blocks: list[Block] = []
    for number, canvas in canvases.items():
        blocks.extend(
            Block("figure", number, content.bbox, index, content.score, content.panels, content.layout)
            for index, content in chosen[number]
        )
        blocks.extend(_uncaptioned(canvas, [content.bbox for _, content in chosen[number]], style))
    return blocks


def _has_large_graphic(page: Page) -> bool:
    """An object that is large, or many that are large together, as the marks of a scatter plot."""
    boxes = page.objects.boxes
    small = boxes[(boxes[:, 2:] - boxes[:, :2]).prod(axis=1) < BACKGROUND_SHARE * page.box.area]
    return any(min(box.width, box.height) >= MIN_GRAPHIC_SIDE for box in cluster(small, page.box, CLUSTER_GAP))


def _contents(canvas: Canvas, caption: Caption, style: Style) -> dict[str, Content]:
    """What the figure of the caption may be, by side; a figure made of text only where there are no graphics."""
    contents = _graphics(canvas, caption, style)
    if contents:
        return contents
    free = [c.bbox for c in canvas.captions if c.kind != "other"]  # an algorithm can be a figure's content
    for zone in caption_zones(canvas, caption, style, free):
        content = text_content(canvas, zone, style) if zone.side in VERTICAL else None
        if content is not None:
            contents[zone.side] = content
    return contents


def _graphics(canvas: Canvas, caption: Caption, style: Style) -> dict[str, Content]:
    """The graphics of the canvas that the figure of the caption may be, by side."""
    contents: dict[str, Content] = {}
    for zone in caption_zones(canvas, caption, style, canvas.obstacles()):
        content = zone_content(canvas, zone, style)
        if content is not None:
            contents[zone.side] = content
    return _without_parts(contents, caption)


def _seen(canvas: Canvas, seen: Sequence[Region], caption: Caption, style: Style, layout: str) -> dict[str, Content]:
    """As `_graphics`, of what a detector saw."""
    contents = _graphics(replace(canvas, graphics=_boxes(seen)), caption, style)
    return {side: replace(content, layout=layout) for side, content in contents.items()}


def _boxes(regions: Sequence[Region]) -> np.ndarray:
    return np.array([region.bbox for region in regions], np.float32).reshape(-1, 4)


def _without_parts(contents: dict[str, Content], caption: Caption) -> dict[str, Content]:
    """Where the figure beside the caption reaches past it up and down, what stands above or below is a part of it."""
    whole = [
        content.bbox
        for side, content in contents.items()
        if side in ("left", "right") and content.bbox.y0 < caption.bbox.y0 and content.bbox.y1 > caption.bbox.y1
    ]
    parts = [
        side
        for side, content in contents.items()
        if side in VERTICAL
        and content.bbox.overlap_x(caption.bbox) < 2
        and any(content.bbox.share_inside(box) > 0.8 for box in whole)
    ]
    return {side: content for side, content in contents.items() if side not in parts}


def _habit(options: Iterable[Mapping[str, Content]]) -> str:
    """above or below: the side on which the figures of this document stand, from captions with one clear side."""
    votes = {"above": 0.0, "below": 0.0}
    for sides in options:
        above, below = sides.get("above"), sides.get("below")
        votes["above"] += above.weight if above else 0.0
        votes["below"] += below.weight if below else 0.0
    return "below" if votes["below"] > 1.2 * votes["above"] else "above"


def _choose(canvas: Canvas, options: Sequence[tuple[int, dict[str, Content]]], habit: str) -> list[tuple[int, Content]]:
    """One content per caption, no two overlapping: the habitual side first, then what is still free."""
    order = [habit, "below" if habit == "above" else "above", "left", "right"]
    taken: list[Box] = []
    chosen: dict[int, Content] = {}
    for graphic_only in (True, False):
        for side in order:
            for index, sides in options:
                content = sides.get(side)
                if index in chosen or content is None or (graphic_only and not content.graphic):
                    continue
                if any(_overlap(content.bbox, box) > 0.2 * min(content.bbox.area, box.area) for box in taken):
                    continue
                chosen[index] = content
                taken.append(content.bbox)
    return [(index, chosen[index]) for index, _ in options if index in chosen]


def _uncaptioned(canvas: Canvas, taken: Sequence[Box], style: Style) -> list[Block]:
    """Large graphics that neither a figure nor the caption of a table (or of an algorithm) accounts for."""
    blocks: list[Block] = []
    tables = [*canvas.tables, *_drawn_tables(canvas, style)]
    for box in cluster(canvas.graphics, canvas.page.box, CLUSTER_GAP):
        if min(box.width, box.height) < MIN_GRAPHIC_SIDE:
            continue
        if any(_overlap(box, other) > 0.1 * box.area for other in taken):
            continue
        if any(_overlap(box, table) > 0.5 * box.area for table in tables):
            continue
        blocks.append(Block("graphic", canvas.page.number, box, None, 0.0))
    return blocks


def _drawn_tables(canvas: Canvas, style: Style) -> list[Box]:
    """Tables and algorithms with a caption that are no stack of rules: the graphics nearest to the caption."""
    found = []
    for caption in canvas.captions:
        if caption.kind == "figure" or any(_overlap(table, caption.bbox) > 0 for table in canvas.tables):
            continue
        zones = [zone for zone in caption_zones(canvas, caption, style, canvas.obstacles()) if zone.side in VERTICAL]
        contents = [content for zone in zones if (content := zone_content(canvas, zone, style)) is not None]
        if contents:
            found.append(min(contents, key=lambda content: content.distance).bbox)
    return found


def _overlap(a: Box, b: Box) -> float:
    shared = a.intersection(b)
    return 0.0 if shared.empty else shared.area
