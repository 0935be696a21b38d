"""Shapes of charts: axis lines, bars and legend swatches. Images are BGR or grey uint8; boxes in px of the crop."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from sfq_ray.features.descriptors import COLORED_FROM, WHITE_FROM, reduced
from sfq_ray.features.texts import TextLine, tick_value

AXIS_DARK = 140  # grey value below which a reduced line counts as dark; grid lines are lighter
AXIS_SHARE = 0.2  # of the side along which the line runs
AXIS_MIN_PX = 40
AXIS_THICKNESS_PX = 6  # at the reduced size

BAR_PX = 300_000  # bars are looked for at no more than this size
BAR_COLORS = 12
_LEVELS = np.arange(16) >= 13
LIGHT_COLORS = (_LEVELS[:, None, None] & _LEVELS[None, :, None] & _LEVELS).ravel()  # all channels 208 and above
BAR_MIN_SHARE = 0.002  # of the pixels, for one fill colour
FILL_SPREAD = 18  # of each channel, around the centre of a bin of 16
BAR_MIN_SIDE_PX = 5
BAR_FILL = 0.85  # of its bounding box: error bars may cut into it
BASE_LINE_PX = 3

LEGEND_GAP_EMS = 1.5  # between swatch and text; an em is the font size
LEGEND_REACH_EMS = 6.0  # swatch and gap together
LEGEND_HEIGHT_EMS = 1.2  # a swatch is lower than this
LEGEND_MAX_CHARS = 80


def axis_count(gray: np.ndarray) -> int:
    """Long straight dark thin lines, horizontal and vertical ones together. Frames of boxes count as well."""
    dark = (gray < AXIS_DARK).astype(np.uint8)
    return _long_lines(dark) + _long_lines(np.ascontiguousarray(dark.T))


def _long_lines(dark: np.ndarray) -> int:
    """Horizontal runs of at least the length asked for, as connected groups of at most the thickness allowed."""
    length = max(AXIS_MIN_PX, int(AXIS_SHARE * dark.shape[1]))
    if length > dark.shape[1]:
        return 0
    runs = cv2.morphologyEx(dark, cv2.MORPH_OPEN, np.ones((1, length), np.uint8))
    if not runs.any():
        return 0
    _, _, stats, _ = cv2.connectedComponentsWithStats(runs, connectivity=8)
    return int(np.count_nonzero(stats[1:, cv2.CC_STAT_HEIGHT] <= AXIS_THICKNESS_PX))


def bars_detected(bgr: np.ndarray) -> int:
    """Filled upright or lying bars on one common base line: the largest such group, 0 when there is none.

    Members have about one width and at least two different lengths; equal boxes in a row are a diagram or a table.
    """
    blocks = _filled_blocks(reduced(bgr, BAR_PX))
    upright = [(y + h, w, h) for x, y, w, h in blocks]
    lying = [(x, h, w) for x, y, w, h in blocks]
    return max(_on_one_base(upright), _on_one_base(lying))


def _filled_blocks(bgr: np.ndarray) -> list[tuple[int, int, int, int]]:
    """(x, y, width, height) of filled rectangles in the most frequent colours that are no light ground.

    A fill is all that lies around the centre of a colour bin: noise and resampling spread one fill over two bins.
    """
    levels = (bgr >> 4).astype(np.uint16)
    names = (levels[..., 0] << 8) | (levels[..., 1] << 4) | levels[..., 2]
    counts = np.bincount(names.ravel(), minlength=4096)
    counts[LIGHT_COLORS] = 0
    free = np.full(names.shape, 255, np.uint8)
    blocks = []
    for name in np.argsort(-counts, kind="stable")[:BAR_COLORS].tolist():
        if counts[name] < BAR_MIN_SHARE * names.size:
            break
        centre = np.array([name >> 8, name >> 4 & 15, name & 15]) * 16 + 8
        fill = cv2.inRange(bgr, np.maximum(centre - FILL_SPREAD, 0), np.minimum(centre + FILL_SPREAD, 255)) & free
        free &= ~fill
        solid = cv2.morphologyEx(fill, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
        _, _, stats, _ = cv2.connectedComponentsWithStats(solid, connectivity=4)
        for x, y, w, h, area in stats[1:].tolist():
            if min(w, h) >= BAR_MIN_SIDE_PX and area >= BAR_FILL * w * h:
                blocks.append((x, y, w, h))
    return blocks


def _on_one_base(bars: Sequence[tuple[int, int, int]]) -> int:
    """Size of the largest group of (base, thickness, length) with one base, one thickness and unequal lengths."""
    best = 0
    for base, thickness, _ in bars:
        lengths = [
            other[2]
            for other in bars
            if abs(other[0] - base) <= BASE_LINE_PX and abs(other[1] - thickness) <= max(2, 0.15 * thickness)
        ]
        if len(lengths) >= 2 and max(lengths) - min(lengths) > BASE_LINE_PX:
            best = max(best, len(lengths))
    return best


def legend_entry_count(bgr: np.ndarray, lines: Sequence[TextLine]) -> int:
    """Text lines with a small swatch of one colour on their left. Black and grey swatches are not told from text."""
    return sum(_has_swatch(bgr, line) for line in lines if _may_be_entry(line))


def _may_be_entry(line: TextLine) -> bool:
    wide = line.box.width >= line.box.height or len(line.text) == 1
    return wide and len(line.text) <= LEGEND_MAX_CHARS and tick_value(line.text) is None


def _has_swatch(bgr: np.ndarray, line: TextLine) -> bool:
    """A run of coloured columns ends close to the left of the text and is bounded on all sides, in one hue."""
    em, middle = line.size_px, (line.box.y0 + line.box.y1) / 2
    x1, x0 = max(0, int(line.box.x0)), max(0, int(line.box.x0 - LEGEND_REACH_EMS * em))
    half = LEGEND_HEIGHT_EMS / 2 * em
    patch = bgr[max(0, int(middle - half)) : max(0, int(np.ceil(middle + half))), x0:x1]
    if patch.shape[0] < 5 or patch.shape[1] < 5:
        return False
    high, low = patch.max(axis=2), patch.min(axis=2)
    colored = (high - low >= COLORED_FROM * 255) & (low < WHITE_FROM)
    columns = np.flatnonzero(colored.any(axis=0))[::-1]
    if not columns.size or x1 - x0 - columns[0] > LEGEND_GAP_EMS * em:
        return False
    breaks = np.flatnonzero(-np.diff(columns) > 0.5 * em)
    run = columns[: breaks[0] + 1] if breaks.size else columns
    left, right = int(run[-1]), int(run[0]) + 1
    swatch = colored[:, left:right]
    bounded = left > 1 and not swatch[0].any() and not swatch[-1].any()
    if not bounded or right - left < 0.3 * em:
        return False
    hues = cv2.cvtColor(np.ascontiguousarray(patch[:, left:right]), cv2.COLOR_BGR2HSV)[..., 0][swatch]
    counts = np.bincount(hues, minlength=180)
    near = counts + np.roll(counts, 1) + np.roll(counts, -1) + np.roll(counts, 2) + np.roll(counts, -2)
    return bool(near.max() >= 0.8 * hues.size)
