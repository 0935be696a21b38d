"""What stands on a page, sorted by role: graphics, rules, body text, captions, tables and figure text.

Graphics are what is both painted by an object that is no text and visible as ink outside of text: clipped, hidden
and white objects disappear that way, and a page of 20,000 paths costs no more than any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from sfq_ray.extract.captions import Caption
from sfq_ray.extract.document import Page
from sfq_ray.extract.rows import Row
from sfq_ray.extract.style import Style, body_rows, is_head
from sfq_ray.geometry import Box, as_boxes, union_all

RULE_THICKNESS = 2.0  # pt
RULE_LENGTH = 25.0  # pt
BACKGROUND_SHARE = 0.85  # of the page: a larger object is the paper, not a figure
CELL = 2.0  # pt: grid of the cluster search
CLUSTER_GAP = 10.0  # pt
FRAME_REACH = 40.0  # pt: between a figure caption and its frame
MAX_RULES = 200  # a page with more of them is searched for frames no further
LARGE = 40.0  # pt: pieces with longer sides are pictures or bordered tables
TABLE_TEXT = 0.12  # share of a bordered table's area that is text
MAX_SEEN = 25e6  # pt^2, some 1.8 m x 1.8 m: of a larger page all objects count as visible
OVERSHOOT = 0.12  # of the font size: letters reach so far above their box
WATERMARK = 3.0  # times the size of the running text
INK_LEVEL = 245  # grey value: darker is ink
PANEL_ROW = re.compile(r"^\s*\(?(?:[a-zA-Z]|\d|i{1,3}|iv|v)\)")

Ink = Callable[[int, Box], np.ndarray]


@dataclass(frozen=True)
class Canvas:
    page: Page
    graphics: np.ndarray  # (n, 4) float32, pt: connected pieces of visible graphics
    rules: tuple[Box, ...]  # long thin horizontal lines
    body: tuple[Box, ...]  # rows of running text, heads and feet
    captions: tuple[Caption, ...]
    tables: tuple[Box, ...]
    texts: tuple[Row, ...]  # rows that may belong to a figure
    running: tuple[Row, ...]  # rows of running text
    top: float  # pt: below the running head
    bottom: float  # pt: above the running foot

    def obstacles(self) -> list[Box]:
        """Boxes that end the zone of a caption: body text, captions and tables."""
        return [*self.body, *(c.bbox for c in self.captions), *self.tables]


def cluster(boxes: np.ndarray, frame: Box, gap: float) -> list[Box]:
    """Connected boxes after closing gaps of `gap` pt. boxes: (n, 4) in pt. On a grid, so dense pages stay cheap."""
    if len(boxes) == 0:
        return []
    width, height = int(frame.width / CELL) + 2, int(frame.height / CELL) + 2
    cells = np.clip((boxes - np.array([frame.x0, frame.y0, frame.x0, frame.y0])) / CELL, 0, max(width, height)).astype(
        int
    )
    grid = _covered(cells, height, width)
    reach = max(1, round(gap / 2 / CELL))
    closed = cv2.dilate(grid, np.ones((2 * reach + 1, 2 * reach + 1), np.uint8))
    count, labels = cv2.connectedComponents(closed, connectivity=8)
    middle_y = np.clip((cells[:, 1] + cells[:, 3]) // 2, 0, height - 1)
    middle_x = np.clip((cells[:, 0] + cells[:, 2]) // 2, 0, width - 1)
    owner = labels[middle_y, middle_x]
    result = []
    for label in range(1, count):
        mine = boxes[owner == label]
        if len(mine):
            result.append(Box(*mine[:, :2].min(axis=0).tolist(), *mine[:, 2:].max(axis=0).tolist()))
    return result


def _covered(cells: np.ndarray, height: int, width: int) -> np.ndarray:
    """1 where any box lies, 0 elsewhere, (height, width) uint8. cells: (n, 4) whole numbers >= 0, ends included."""
    grid = np.zeros((height, width), np.uint8)
    for x0, y0, x1, y1 in cells.tolist():
        grid[y0 : y1 + 1, x0 : x1 + 1] = 1
    return grid


def read_canvas(page: Page, rows: Sequence[Row], captions: Sequence[Caption], style: Style, ink: Ink) -> Canvas:
    """`ink(n, box)` gives page n as a grey image at 72 dpi, of which only the part in `box` (pt) is looked at."""
    boxes, rules, frames, drawn = _objects(page, [c for c in captions if c.kind == "figure"])
    caption_rows = {id(row) for caption in captions if caption.kind != "other" for row in caption.rows}
    free = [row for row in rows if id(row) not in caption_rows]
    heads = [row for row in free if is_head(row, page, style)]
    head_ids = {id(row) for row in heads}
    free = [row for row in free if id(row) not in head_ids and not _stamp(row, page, style)]
    body = body_rows(page, free, style, frames)
    body -= _panel_captions(free, body, boxes)
    running = [free[i] for i in sorted(body)]
    body_boxes = [row.bbox for row in running]
    texts = [row for i, row in enumerate(free) if i not in body]
    middle = (page.box.y0 + page.box.y1) / 2
    top = max((r.bbox.y1 for r in heads if r.bbox.y1 < middle), default=page.box.y0)
    bottom = min((r.bbox.y0 for r in heads if r.bbox.y0 > middle), default=page.box.y1)
    rules = [rule for rule in rules if top - 2 < rule.y0 < bottom + 2]
    visible = _visible(_outside_text(boxes, body_boxes), rows, page, ink)
    if drawn:  # thin pale lines leave no ink at 72 dpi
        visible = np.vstack([visible, np.array(drawn, np.float32)])
    pictures = _pictures(visible, page, rows)
    tables = _tables(captions, rules, texts, [*body_boxes, *pictures], style)
    return Canvas(
        page,
        visible,
        tuple(rules),
        tuple(body_boxes),
        tuple(captions),
        tuple(tables),
        tuple(texts),
        tuple(running),
        top,
        bottom,
    )


def _visible(boxes: np.ndarray, rows: Sequence[Row], page: Page, ink: Ink) -> np.ndarray:
    """Connected pieces of ink within `boxes` and outside of text rows, (n, 4) in pt."""
    if len(boxes) == 0:
        return boxes
    around = Box(*boxes[:, :2].min(axis=0).tolist(), *boxes[:, 2:].max(axis=0).tolist()).grown(1.0)
    if page.box.area > MAX_SEEN:
        return boxes
    grey = ink(page.number, around.intersection(page.box))
    height, width = grey.shape
    cells = np.hstack([np.floor(boxes[:, :2]), np.ceil(boxes[:, 2:])])
    mask = _covered(np.clip(cells, 0, max(height, width)).astype(int), height, width)
    mask[grey >= INK_LEVEL] = 0
    for row in rows:
        if _slanted(row):
            continue  # its box holds more than its letters
        x0, y0, x1, y1 = row.bbox
        y0 -= OVERSHOOT * row.size
        mask[max(0, int(y0)) : int(y1) + 1, max(0, int(x0)) : int(x1) + 1] = 0
    _, _, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
    pieces = stats[1:].astype(np.float32)
    corners = np.stack([pieces[:, 0], pieces[:, 1], pieces[:, 0] + pieces[:, 2], pieces[:, 1] + pieces[:, 3]], axis=1)
    rule = (pieces[:, 3] <= RULE_THICKNESS) & (pieces[:, 2] >= RULE_LENGTH)
    return corners[~rule]


def _panel_captions(rows: Sequence[Row], body: set[int], boxes: np.ndarray) -> set[int]:
    """Rows of blocks such as "(a) Accuracy" right below graphics: captions of panels, not running text."""
    blocks: dict[int, list[int]] = {}
    for index in body:
        blocks.setdefault(rows[index].block, []).append(index)
    found: set[int] = set()
    for indices in blocks.values():
        first = rows[min(indices, key=lambda i: rows[i].bbox.y0)]
        if len(indices) > 4 or not PANEL_ROW.match(first.text) or len(boxes) == 0:
            continue
        box = first.bbox
        over = (boxes[:, 0] < box.x1) & (boxes[:, 2] > box.x0)
        gap = box.y0 - boxes[:, 3]
        if bool((over & (gap > -6) & (gap < 25)).any()):
            found.update(indices)
    return found


def _slanted(row: Row) -> bool:
    return min(row.bbox.width, row.bbox.height) > (3.0 if row.horizontal else 1.6) * row.size


def _stamp(row: Row, page: Page, style: Style) -> bool:
    """Sideways text in the outer margin, such as an archive's stamp, or a large slanted watermark."""
    if _slanted(row) and row.size > WATERMARK * style.size:
        return True
    edge = 0.08 * page.box.width
    return (
        not row.horizontal
        and (row.bbox.x1 < page.box.x0 + edge or row.bbox.x0 > page.box.x1 - edge)
        and len(row.text) > 15
    )


def _objects(page: Page, captions: Sequence[Caption]) -> tuple[np.ndarray, list[Box], list[Box], list[Box]]:
    """Painted objects as (n, 4) in pt, rules, frames (large closed shapes that can hold text), and the frames among
    these that are drawn as single lines, next to a figure caption."""
    boxes = page.objects.boxes
    cut = np.hstack([np.maximum(boxes[:, :2], page.box[:2]), np.minimum(boxes[:, 2:], page.box[2:])])
    width, height = cut[:, 2] - cut[:, 0], cut[:, 3] - cut[:, 1]
    area = width * height
    on_page = (width >= 0) & (height >= 0) & (area <= BACKGROUND_SHARE * page.box.area)
    rule = on_page & page.objects.is_path & (height <= RULE_THICKNESS) & (width >= RULE_LENGTH)
    strong = on_page & ~rule
    frames = as_boxes(cut[strong & page.objects.is_path & (area > 0.01 * page.box.area)])
    rules = as_boxes(cut[rule])
    drawn = _line_frames(rules, cut[strong & (width <= RULE_THICKNESS)])
    drawn = [f for f in drawn if any(c.bbox.overlap_x(f) > 0 and -c.bbox.overlap_y(f) < FRAME_REACH for c in captions)]
    return cut[strong], rules, frames + drawn, drawn


def _line_frames(rules: Sequence[Box], uprights: np.ndarray) -> list[Box]:
    """Frames drawn as lines: two rules of one extent, with upright lines (or a stack of them) at both ends."""
    frames: list[Box] = []
    ordered = sorted(rules, key=lambda rule: rule.y0)[:MAX_RULES]
    for number, top in enumerate(ordered):
        for bottom in ordered[number + 1 :]:
            if abs(top.x0 - bottom.x0) > 5 or abs(top.x1 - bottom.x1) > 5 or bottom.y0 - top.y1 < LARGE / 2:
                continue
            frame = top.union(bottom)
            if all(_upright_share(uprights, x, frame) > 0.7 for x in (frame.x0, frame.x1)):
                frames.append(frame)
                break
    return frames


def _upright_share(uprights: np.ndarray, x: float, frame: Box) -> float:
    """Share of the frame's height along which upright lines, (n, 4) in pt, stand at `x`; 0 if they miss an end."""
    near = uprights[(np.abs(uprights[:, 0] - x) < 4) & (uprights[:, 3] > frame.y0) & (uprights[:, 1] < frame.y1)]
    if len(near) == 0 or near[:, 1].min() > frame.y0 + 4 or near[:, 3].max() < frame.y1 - 4:
        return 0.0
    overlap = np.minimum(near[:, 3], frame.y1) - np.maximum(near[:, 1], frame.y0)
    return float(np.clip(overlap, 0, None).sum()) / frame.height


def _outside_text(boxes: np.ndarray, body: Sequence[Box]) -> np.ndarray:
    """Graphics without those that decorate running text: highlights, underlines, fraction bars, inline icons."""
    if len(boxes) == 0 or not body:
        return boxes
    rows = np.array(body, np.float32)
    height = boxes[:, 3] - boxes[:, 1]
    keep = np.ones(len(boxes), bool)
    small = np.flatnonzero(height <= 3.0 * np.median(rows[:, 3] - rows[:, 1]))
    for start in range(0, len(small), 2000):
        part = small[start : start + 2000]
        b = boxes[part][:, None, :]
        # pt: thin boxes get some thickness, so that an underline counts as inside its row
        w = np.minimum(b[..., 2], rows[None, :, 2]) - np.maximum(b[..., 0], rows[None, :, 0])
        h = np.minimum(b[..., 3] + 0.5, rows[None, :, 3] + 2) - np.maximum(b[..., 1] - 0.5, rows[None, :, 1] - 2)
        inside = (np.clip(w, 0, None) * np.clip(h, 0, None)).sum(axis=1)
        area = np.maximum(boxes[part][:, 2] - boxes[part][:, 0], 0.1) * (boxes[part][:, 3] - boxes[part][:, 1] + 1.0)
        keep[part] = inside < 0.6 * area
    return boxes[keep]


def _pictures(pieces: np.ndarray, page: Page, rows: Sequence[Row]) -> list[Box]:
    """Large pieces that are no bordered table: few of their area is text."""
    found = []
    for box in as_boxes(pieces[(pieces[:, 2] - pieces[:, 0] > LARGE) & (pieces[:, 3] - pieces[:, 1] > LARGE)]):
        text = sum(row.bbox.intersection(box).area for row in rows if not row.bbox.intersection(box).empty)
        if text < TABLE_TEXT * box.area:
            found.append(box)
    return found


def _tables(
    captions: Sequence[Caption], rules: Sequence[Box], texts: Sequence[Row], walls: Sequence[Box], style: Style
) -> list[Box]:
    """Regions of tables and algorithms: the rules next to their caption, on the nearer side, and the rows in line.

    `walls` (running text, pictures, figure captions) are never part of one.
    """
    tables = []
    walls = [*walls, *(c.bbox for c in captions)]
    for caption in captions:
        if caption.kind == "figure":
            continue
        box = caption.bbox
        below = sorted((r for r in rules if r.y0 >= box.y1 - 3 and r.overlap_x(box) > 0), key=lambda r: r.y0)
        above = sorted((r for r in rules if r.y1 <= box.y0 + 3 and r.overlap_x(box) > 0), key=lambda r: -r.y1)
        down, up = _stack(below, box.y1, walls, style), _stack(above, box.y0, walls, style)
        near_up = len(up) >= 2 and (not down or box.y0 - up[0].y1 < down[0].y0 - box.y1)
        best = up if near_up and caption.kind == "table" else down
        region = union_all([*best, box])
        assert region is not None
        if best is down:
            region = _with_rows(region, texts, walls, style)
        if region != box:
            tables.append(region)
    return tables


def _stack(rules: Sequence[Box], start: float, walls: Sequence[Box], style: Style) -> list[Box]:
    """Rules one below the other, centred alike, beginning within 8 rows of `start`, up to a wall."""
    stack: list[Box] = []
    for rule in rules:
        last_y = stack[-1].y0 if stack else start
        low, high = min(last_y, rule.y0), max(last_y, rule.y0)
        if not stack and high - low > 8 * style.size:
            break
        if any(
            b.overlap_x(rule) > 0.3 * min(rule.width, b.width)
            and low - 1 < b.y1
            and b.y0 < high + 2
            and not (b.y1 <= start + 1 and rule.y0 > start)
            and not (b.y0 >= start - 1 and rule.y0 < start)
            for b in walls
        ):
            break
        if not stack or (abs(rule.x0 + rule.x1 - stack[0].x0 - stack[0].x1) < 20 and high - low < 300):
            stack.append(rule)
    return stack


def _with_rows(region: Box, texts: Sequence[Row], walls: Sequence[Box], style: Style) -> Box:
    """Grown downwards over rows that follow without a gap, as those of a table without rules do."""
    for row in sorted(texts, key=lambda r: r.bbox.y0):
        gap = row.bbox.y0 - region.y1
        if row.bbox.y1 <= region.y1 or not row.horizontal or row.bbox.overlap_x(region) <= 0:
            continue
        if gap > 1.5 * style.size or any(row.bbox.touches(wall, -1) for wall in walls):
            break
        region = region.union(row.bbox)
    return region
