"""What stands on a page, sorted by role: graphics, rules, body text, captions, tables and figure text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np

from sfq_ray.extract.captions import Caption
from sfq_ray.extract.document import Page
from sfq_ray.extract.rows import Row
from sfq_ray.extract.style import Style, body_rows, is_head
from sfq_ray.geometry import Box, union_all

RULE_THICKNESS = 2.0  # pt
RULE_LENGTH = 25.0  # pt
BACKGROUND_SHARE = 0.85  # of the page: a larger object is the paper, not a figure
CELL = 2.0  # pt: grid of the cluster search
CLUSTER_GAP = 10.0  # pt


@dataclass(frozen=True)
class Canvas:
    page: Page
    graphics: np.ndarray  # (n, 4) float32, pt: strong graphics (images, fills, curves, frames)
    rules: tuple[Box, ...]  # long thin horizontal lines
    body: tuple[Box, ...]  # rows of running text, heads and feet
    captions: tuple[Caption, ...]
    tables: tuple[Box, ...]
    texts: tuple[Row, ...]  # rows that may belong to a figure
    top: float  # pt: below the running head
    bottom: float  # pt: above the running foot
    obstacles: tuple[Box, ...] = field(default=())  # body, captions and tables

    def clusters(self) -> list[Box]:
        """Boxes around strong graphics that lie within CLUSTER_GAP pt of each other, outside of tables."""
        return cluster(self.graphics, self.page.box, CLUSTER_GAP)


def cluster(boxes: np.ndarray, frame: Box, gap: float) -> list[Box]:
    """Connected boxes after closing gaps of `gap` pt. boxes: (n, 4) in pt. On a grid, so dense pages stay cheap."""
    if len(boxes) == 0:
        return []
    width, height = int(frame.width / CELL) + 2, int(frame.height / CELL) + 2
    grid = np.zeros((height, width), np.uint8)
    cells = np.clip((boxes - np.array([frame.x0, frame.y0, frame.x0, frame.y0])) / CELL, 0, max(width, height)).astype(int)
    for x0, y0, x1, y1 in cells:
        grid[y0 : y1 + 1, x0 : x1 + 1] = 1
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
            result.append(Box(*(float(v) for v in (*mine[:, :2].min(axis=0), *mine[:, 2:].max(axis=0)))))
    return result


def read_canvas(page: Page, rows: Sequence[Row], captions: Sequence[Caption], style: Style) -> Canvas:
    boxes, rules, frames = _graphics(page)
    caption_rows = {id(row) for caption in captions for row in caption.rows}
    free = [row for row in rows if id(row) not in caption_rows]
    heads = [row for row in free if is_head(row, page, style)]
    head_ids = {id(row) for row in heads}
    free = [row for row in free if id(row) not in head_ids]
    body = body_rows(page, free, style, frames)
    body_boxes = [free[i].bbox for i in sorted(body)]
    texts = [row for i, row in enumerate(free) if i not in body and not _stamp(row, page)]
    middle = (page.box.y0 + page.box.y1) / 2
    top = max((r.bbox.y1 for r in heads if r.bbox.y1 < middle), default=page.box.y0)
    bottom = min((r.bbox.y0 for r in heads if r.bbox.y0 > middle), default=page.box.y1)
    boxes = _outside_text(boxes, body_boxes)
    rules = [rule for rule in rules if top - 2 < rule.y0 < bottom + 2]
    tables = _tables(captions, rules, body_boxes, style)
    obstacles = (*body_boxes, *(c.bbox for c in captions), *tables)
    return Canvas(
        page, boxes, tuple(rules), tuple(body_boxes), tuple(captions), tuple(tables), tuple(texts), top, bottom, obstacles
    )


def _stamp(row: Row, page: Page) -> bool:
    """Sideways text in the outer margin, such as an archive's stamp."""
    edge = 0.08 * page.box.width
    return not row.horizontal and (row.bbox.x1 < page.box.x0 + edge or row.bbox.x0 > page.box.x1 - edge) and len(row.text) > 15


def _graphics(page: Page) -> tuple[np.ndarray, list[Box], list[Box]]:
    """Strong graphics as (n, 4), rules, and frames (large closed shapes that can hold text)."""
    strong: list[Box] = []
    rules: list[Box] = []
    frames: list[Box] = []
    page_area = page.box.area
    for graphic in page.graphics:
        box = graphic.bbox.intersection(page.box)
        if box.x1 < box.x0 or box.y1 < box.y0 or box.area > BACKGROUND_SHARE * page_area:
            continue
        if graphic.kind == "path" and box.height <= RULE_THICKNESS and box.width >= RULE_LENGTH:
            rules.append(box)
            continue
        strong.append(box)
        if graphic.kind == "path" and box.area > 0.01 * page_area:
            frames.append(box)
    array = np.array(strong, np.float32).reshape(-1, 4)
    return array, rules, frames


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


def _tables(captions: Sequence[Caption], rules: Sequence[Box], body: Sequence[Box], style: Style) -> list[Box]:
    """Regions of tables and algorithms: the rules of one width next to their caption."""
    tables = []
    for caption in captions:
        if caption.kind == "figure":
            continue
        below = [r for r in rules if r.y0 >= caption.bbox.y1 - 3 and r.overlap_x(caption.bbox) > 0]
        above = [r for r in rules if r.y1 <= caption.bbox.y0 + 3 and r.overlap_x(caption.bbox) > 0]
        down = _stack(sorted(below, key=lambda r: r.y0), caption.bbox.y1, captions, style)
        up = _stack(sorted(above, key=lambda r: -r.y1), caption.bbox.y0, captions, style)
        best = down if (len(down) >= 2 or caption.kind == "other") else up if len(up) >= 2 else []
        if best:
            box = union_all([*best, caption.bbox])
            assert box is not None
            tables.append(box)
    return tables


def _stack(rules: Sequence[Box], start: float, captions: Sequence[Caption], style: Style) -> list[Box]:
    """Rules of the same extent one after the other, beginning within 4 rows of `start`, up to another caption."""
    stack: list[Box] = []
    for rule in rules:
        if not stack:
            if abs(rule.y0 - start) > 4 * style.size:
                break
            stack.append(rule)
            continue
        span = rule.union(stack[0])
        if any(c.bbox.overlap_x(rule) > 0 and span.y0 < c.bbox.y0 and c.bbox.y1 < span.y1 for c in captions):
            break
        if abs(rule.x0 - stack[0].x0) < 4 and abs(rule.x1 - stack[0].x1) < 4:
            stack.append(rule)
    return stack
