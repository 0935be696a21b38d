"""Measurements on the text of a figure: overlap with the caption, panel labels, tick labels, sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from sfq_ray.geometry import Box

PANEL_LABEL = re.compile(r"^\(?[a-zA-Z]\)?$")
TOKEN = re.compile(r"[^\W_]+")
_PLAIN = r"[-+]?(?:(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?"
NUMBER_IN_TEXT = re.compile(rf"(?<![\w.]){_PLAIN}(?!\w|\.\d)")
TICK_LABEL = re.compile(rf"^({_PLAIN}|[-+]?\d+,\d+|[-+]?\d+\.)\s*([kKMB]?)\s*%?$")
THOUSANDS = re.compile(r",(?=\d{3}(?:\D|$))")
MINUS = str.maketrans({"\u2212": "-", "\u2013": "-", "\u2012": "-", "\u00a0": " "})
FACTORS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9}
STOP_WORDS = frozenset(
    TOKEN.findall(
        """a about above after all also an and any are as at be been before below between both but by can different each
        e eg et etc fig figure figures for from g had has have here how i ie if in into is it its left more most no not
        of on one only or other our over per respectively right same see show showing shown shows so some such than
        that the their them then there these they this those through to two under up us use used using versus via vs
        was we were what when where which while who with within without"""
    )
)

MIN_TICKS = 3
MIN_GAP = 0.4  # of the height of a label; boxes of native text overlap where ticks are dense
EVEN_GAPS = 0.35  # labels of one axis are evenly spaced, give or take this share of the gap


class TextLine(NamedTuple):
    """A line of text in the figure."""

    text: str
    box: Box  # px of the crop
    size_px: float  # font size; the box's height where it is not known


def panel_label_count(texts: Iterable[str]) -> int:
    """Lines that are one letter, with or without brackets."""
    return sum(bool(PANEL_LABEL.match(text.strip())) for text in texts)


def tokens(text: str) -> set[str]:
    """Content tokens: runs of letters and digits in lower case, without stop words."""
    return set(TOKEN.findall(text.lower())) - STOP_WORDS


def numbers(text: str) -> set[float]:
    """The numbers in running text by value: 0.50 and .5 are one."""
    return {_value(found) for found in NUMBER_IN_TEXT.findall(text.translate(MINUS))}


def token_overlap(caption: str | None, texts: Sequence[str]) -> float | None:
    """|caption tokens also in the figure| / |caption tokens|; None when the caption has no content token."""
    wanted = tokens(caption or "")
    return len(wanted & tokens(" ".join(texts))) / len(wanted) if wanted else None


def numeric_overlap(caption: str | None, texts: Sequence[str]) -> float | None:
    """|caption numbers also in the figure| / |caption numbers|; None when the caption has no number."""
    wanted = numbers(caption or "")
    return len(wanted & numbers(" ".join(texts))) / len(wanted) if wanted else None


def tick_value(text: str) -> float | None:
    """The number a tick label states ("−0.5", "1,000", "20%", "5k", "1e-3"); None when it is no plain number."""
    match = TICK_LABEL.match(text.strip().translate(MINUS))
    return _value(match.group(1)) * FACTORS[match.group(2)] if match else None


def y_axis_range(lines: Iterable[TextLine]) -> tuple[float, float] | None:
    """Smallest and largest number of the left-most vertical column of tick labels.

    A column is at least three numbers that share their right edge, left edge or centre, stand evenly spaced and run in
    one direction. None without one, and where the exponents of 10^0, 10^1, ... are written into the line ("100",
    "101"), since its values cannot be told.
    """
    ticks = [(line.box, value) for line in lines if (value := tick_value(line.text)) is not None]
    columns = []
    for edge in (_right, _left, _middle):
        for column in _aligned(ticks, edge):
            columns += [run for run in _even_runs(column) if len(run) >= MIN_TICKS]
    if not columns:
        return None
    first = min(columns, key=lambda run: (min(box.x0 for box, _ in run), -len(run), run[0][0].y0))
    values = [value for _, value in first]
    if _lost_exponents(values):
        return None
    return min(values), max(values)


def weighted_size(sizes: Sequence[tuple[float, int]], share: float) -> float | None:
    """The size (pt) that at least `share` of the characters do not exceed. `sizes`: (size, characters) of each line."""
    total = sum(count for _, count in sizes)
    seen = 0
    for size, count in sorted(sizes):
        seen += count
        if seen >= share * total and count:
            return size
    return None


def _value(number: str) -> float:
    """Of a matched number: a comma before three digits parts thousands, unless the number begins with 0."""
    if not number.lstrip("+-").startswith("0"):
        number = THOUSANDS.sub("", number)
    return float(number.replace(",", "."))


Tick = tuple[Box, float]


def _right(box: Box) -> float:
    return box.x1


def _left(box: Box) -> float:
    return box.x0


def _middle(box: Box) -> float:
    return (box.x0 + box.x1) / 2


def _aligned(ticks: list[Tick], edge: Callable[[Box], float]) -> list[list[Tick]]:
    """Ticks in columns by neighbouring values of `edge`, each column from top to bottom."""
    columns: list[list[Tick]] = []
    last = None
    for tick in sorted(ticks, key=lambda t: (edge(t[0]), t[0].y0)):
        place = edge(tick[0])
        if last is None or place - last > 0.35 * tick[0].height:
            columns.append([])
        columns[-1].append(tick)
        last = place
    return [sorted(column, key=lambda t: t[0].y0) for column in columns]


def _even_runs(column: list[Tick]) -> list[list[Tick]]:
    """The column cut where the numbers turn round or the spacing changes: one piece for each axis."""
    runs: list[list[Tick]] = [[]]
    for tick in column:
        run = runs[-1]
        if run and not _continues(run, tick):
            runs.append([])
        runs[-1].append(tick)
    return runs


def _continues(run: list[Tick], tick: Tick) -> bool:
    gap = tick[0].y0 - run[-1][0].y0
    if gap < MIN_GAP * tick[0].height or tick[1] == run[-1][1]:
        return False
    if len(run) == 1:
        return True
    usual = (run[-1][0].y0 - run[0][0].y0) / (len(run) - 1)
    same_direction = (tick[1] > run[-1][1]) == (run[-1][1] > run[-2][1])
    return same_direction and abs(gap - usual) <= EVEN_GAPS * usual


def _lost_exponents(values: Sequence[float]) -> bool:
    ordered = sorted(values)
    return all(100 <= value <= 109 for value in ordered) and all(b - a == 1 for a, b in pairwise(ordered))
