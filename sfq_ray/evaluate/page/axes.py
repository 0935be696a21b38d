"""Scales, axes and the frame of a plot. Lengths are SVG units, about one pixel where the page is narrow."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count, takewhile

from sfq_ray.evaluate.page.markup import Child, Markup, tag

WIDTH = 360  # of every plot, so that texts keep their size on a narrow screen


@dataclass(frozen=True)
class Scale:
    """Maps low..high to start..end, linearly or by logarithm."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return self.start + (self.end - self.start) * ((at - low) / (high - low) if high > low else 0.5)


def spanning(values: Iterable[float], start: float, end: float) -> Scale:
    """A linear scale with some room around the values; 0..1 where there is none."""
    given = list(values) or [0.0, 1.0]
    low, high = min(given), max(given)
    room = 0.05 * (high - low) or 0.5
    return Scale(low - room, high + room, start, end)


def ticks(scale: Scale, most: int = 6) -> list[float]:
    """Round numbers within the scale, `most` of them or fewer: steps of 1, 2 or 5, or 1-2-5 on a logarithmic one."""
    if scale.log:
        powers = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
        for steps in ((1, 2, 5), (1, 3), (1,)):
            found = [step * 10.0**power for power in powers for step in steps]
            found = [value for value in found if scale.low <= value <= scale.high]
            if len(found) <= most:
                break
        return found
    span = scale.high - scale.low
    step = next(s for s in _steps(span / most) if span / s <= most)
    first = math.ceil(scale.low / step)
    return list(takewhile(lambda value: value <= scale.high, (round(n * step, 12) for n in count(first))))


def x_axis(scale: Scale, y: float, top: float, name: str, values: Sequence[float] | None = None) -> Markup:
    """Ticks with grid lines up to `top`, and the axis' name."""
    at = ticks(scale) if values is None else values
    grid = [tag("line", class_="grid", x1=scale(v), x2=scale(v), y1=top, y2=y) for v in at]
    names = [text(f"{v:g}", scale(v), y + 13, "middle") for v in at]
    middle = (scale.start + scale.end) / 2
    return tag("g", grid, names, text(name, middle, y + 28, "middle", "name"), class_="axis-x")


def y_axis(scale: Scale, x: float, right: float, name: str, values: Sequence[float] | None = None) -> Markup:
    """As x_axis, upwards; the name stands above it."""
    at = ticks(scale) if values is None else values
    grid = [tag("line", class_="grid", x1=x, x2=right, y1=scale(v), y2=scale(v)) for v in at]
    names = [text(f"{v:g}", x - 5, scale(v) + 3.5, "end") for v in at]
    return tag("g", grid, names, text(name, x, scale.end - 8, "start", "name"), class_="axis-y")


def text(content: str, x: float, y: float, anchor: str = "start", class_: str | None = None) -> Markup:
    return tag("text", content, x=float(x), y=float(y), text_anchor=anchor, class_=class_)


def plot(key: str, height: float, title: str, desc: str, *children: Child) -> Markup:
    """The whole drawing with its title and description for those who do not see it. `key` is unique on the page."""
    return tag(
        "svg", tag("title", title, id=f"{key}-title"), tag("desc", desc, id=f"{key}-desc"), children,
        class_="plot", viewBox=f"0 0 {WIDTH} {height:g}", role="img",
        aria_labelledby=f"{key}-title", aria_describedby=f"{key}-desc",
    )  # fmt: skip


def hover(content: str) -> Markup:
    return tag("title", content)


def shortened(name: str, most: int) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _steps(least: float) -> Iterable[float]:
    """1, 2, 5, 10, ... from the power of ten below `least`."""
    for power in count(math.floor(math.log10(least))):
        yield from (step * 10.0**power for step in (1, 2, 5))
