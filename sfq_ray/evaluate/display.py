"""Numbers as the Markdown and LaTeX leaderboards show them: rounded here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sfq_ray.evaluate.bootstrap import Interval
from sfq_ray.evaluate.escaping import NONE
from sfq_ray.evaluate.evaluation import Standing
from sfq_ray.evaluate.leaderboard import measures
from sfq_ray.evaluate.permutation import Contrast
from sfq_ray.rubric import Dimension

SHOWN = (Dimension.CC, Dimension.CTX, Dimension.MR)
"""Dimensions that the paper's table has; those of all five are in dimensions.csv."""

OVERALL = {"mae": "MAE", "within_1": "W-1 %", "spearman": "rho", "bias": "bias"}
HEADINGS = OVERALL | {f"{d}_mae": d.value for d in SHOWN}


@dataclass(frozen=True)
class Cell:
    """A number as text, its interval, and its count where that is not the row's own; None where there is none."""

    value: str
    interval: tuple[str, str] | None = None
    n: int | None = None


def cells(standing: Standing) -> Mapping[str, Cell]:
    """The row's numbers by the keys of HEADINGS."""
    found = measures(standing)
    return {
        name: _cell(name, found[name][0].value, found[name][1], found[name][0].n if name.endswith("_mae") else None)
        for name in HEADINGS
    }


def difference(contrast: Contrast) -> Cell:
    """The difference of a contrast, with its sign as a bias has it."""
    return _cell("bias", contrast.difference, contrast.interval)


def _cell(name: str, value: float | None, interval: Interval, n: int | None = None) -> Cell:
    ends = None
    if interval.low is not None and interval.high is not None and value is not None:
        ends = (shown(name, interval.low), shown(name, interval.high))
    return Cell(shown(name, value), ends, n)


def shown(name: str, value: float | None) -> str:
    """Three decimals; W-1 in per cent; a bias with its sign."""
    if value is None:
        return NONE
    if name == "within_1":
        return f"{100 * value:.1f}"
    return f"{value:+.3f}" if name == "bias" else f"{value:.3f}"


def number(value: float | None, digits: int = 3) -> str:
    """A number of a sheet as text."""
    if value is None:
        return NONE
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"
