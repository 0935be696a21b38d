"""Agreement of a judge with human gold (arXiv 2607.27084, human gold and metrics).

All scores are points 1..10. NaN in an array says that there is no score; a metric that cannot be measured is None.
Nothing is filled in: every number stands on the figures where both sides have a score, and says how many these are.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from sfq_ray.rubric import DIMENSIONS, SCORE_MAX, SCORE_MIN, Dimension

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TOLERANCE = 1e-6
"""Points: two float32 roundings near 10; a difference of 1 stays within 1."""

TIE_DECIMALS = 10
"""Means of the same scores in another order differ in their last bits alone: they are ties."""


@dataclass(frozen=True, eq=False)
class Gold:
    """The human scores of n figures; a dimension that is off is NaN."""

    figure_ids: tuple[str, ...]
    papers: Ints  # (n,) code of the figure's paper
    scores: Floats  # (n, 5) in the order of DIMENSIONS
    overall: Floats  # (n,)

    def __post_init__(self) -> None:
        n = len(self.figure_ids)
        if self.papers.shape != (n,) or self.scores.shape != (n, len(DIMENSIONS)) or self.overall.shape != (n,):
            raise ValueError(f"the gold's arrays do not fit its {n} figures")
        if not np.isfinite(self.overall).all():
            raise ValueError("a figure without an overall score has no gold: leave it out")


@dataclass(frozen=True, eq=False)
class Judged:
    """What one run says of the gold's figures, in the gold's order."""

    run_id: str
    protocol: str
    model: str
    scores: Floats  # (n, 5); NaN where gated off or not scored
    overall: Floats  # (n,); NaN where not scored
    status: tuple[str, ...]  # scored, gated, failed or missing, one a figure


@dataclass(frozen=True)
class Measure:
    """A number and the count it stands on; None when that count allows none."""

    value: float | None
    n: int


@dataclass(frozen=True)
class Gates:
    """Figures by whether the dimension is on (gold, judge); failed and missing figures are in none of the four."""

    both_on: int
    gold_only: int
    judge_only: int
    both_off: int


@dataclass(frozen=True)
class DimensionMetrics:
    """One dimension: mean absolute error where it is on in both, and the gates."""

    mae: Measure
    gates: Gates


@dataclass(frozen=True)
class Metrics:
    """One run against the gold; errors are judge - gold, in points."""

    run_id: str
    protocol: str
    model: str
    figures: int  # of the gold
    papers: int  # of the gold
    statuses: Mapping[str, int]
    coverage: Measure  # share of the gold's figures with an overall score
    mae: Measure
    within_1: Measure
    spearman: Measure
    bias: Measure  # positive: lenient
    mae_best: float  # if every figure without a score had error 0
    mae_worst: float  # if every such figure had the largest error possible on 1..10
    dimensions: Mapping[Dimension, DimensionMetrics]


def mean_of(values: ArrayLike) -> Measure:
    """Mean of the values that are there."""
    present = np.asarray(values, dtype=np.float64)
    present = present[~np.isnan(present)]
    return Measure(float(present.mean()) if present.size else None, int(present.size))


def nanmean(values: Floats, axis: int) -> Floats:
    """Mean of the values that are there; NaN where none is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmean(values, axis=axis))


def within_1(errors: Floats) -> Floats:
    """1 where |error| <= 1 point, 0 beyond, NaN where there is no error."""
    return np.where(np.isnan(errors), np.nan, np.abs(errors) <= 1 + TOLERANCE)


def spearman(first: Floats, second: Floats) -> Measure:
    """Spearman's rho with average ranks over the pairs that are complete; None when one side is constant."""
    both = ~(np.isnan(first) | np.isnan(second))
    n = int(both.sum())
    a, b = (side[both].round(TIE_DECIMALS) for side in (first, second))
    if n < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return Measure(None, n)
    return Measure(float(np.corrcoef(rankdata(a), rankdata(b))[0, 1]), n)


def dimension_first(ratings: Floats) -> tuple[Floats, Floats]:
    """(n, 5) mean of each dimension over the raters that scored it, and (n,) mean of these over the dimensions on.

    The only place where gold is made of ratings (n, R, 5). The second differs from the mean of the raters' own overalls
    when raters leave different dimensions out.
    """
    scores = nanmean(ratings, axis=1)
    return scores, nanmean(scores, axis=1)


def gold_from_ratings(figure_ids: Sequence[str], papers: ArrayLike, ratings: Floats) -> Gold:
    """Gold of `ratings` (figures, raters, 5): the mean of each dimension over raters, then over the dimensions on.

    Raises ValueError where a figure has no score at all.
    """
    return Gold(tuple(figure_ids), np.asarray(papers, dtype=np.int64), *dimension_first(ratings))


def metrics(gold: Gold, judged: Judged) -> Metrics:
    """Every metric of a run, each on the figures where gold and judge both have a score."""
    n = len(gold.figure_ids)
    if judged.overall.shape != (n,) or judged.scores.shape != gold.scores.shape or len(judged.status) != n:
        raise ValueError(f"run {judged.run_id} is not aligned to the gold's {n} figures")
    errors = judged.overall - gold.overall
    there = ~np.isnan(errors)
    best, worst = _bounds(gold.overall, errors)
    return Metrics(
        run_id=judged.run_id,
        protocol=judged.protocol,
        model=judged.model,
        figures=n,
        papers=len(np.unique(gold.papers)),
        statuses=dict(sorted(Counter(judged.status).items())),
        coverage=mean_of(there),
        mae=mean_of(np.abs(errors)),
        within_1=mean_of(within_1(errors)),
        spearman=spearman(judged.overall, gold.overall),
        bias=mean_of(errors),
        mae_best=best,
        mae_worst=worst,
        dimensions={d: _dimension(gold, judged, column) for column, d in enumerate(DIMENSIONS)},
    )


def baselines(gold: Gold) -> tuple[Judged, Judged]:
    """Judges that look at no figure: the gold's medians, and the means of its dimensions under the gold's gates."""
    on = ~np.isnan(gold.scores)
    means = np.where(on, nanmean(gold.scores, axis=0), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        medians = np.where(on, np.nanmedian(gold.scores, axis=0), np.nan)
    status = ("scored",) * len(gold.figure_ids)
    median = np.full_like(gold.overall, np.median(gold.overall))
    return (
        Judged("gold-median", "constant", "median of the gold", medians, median, status),
        Judged("dimension-means", "constant", "means of the dimensions", means, nanmean(means, axis=1), status),
    )


def _bounds(gold_overall: Floats, errors: Floats) -> tuple[float, float]:
    """Mean absolute error over all figures, those without a score at their smallest and largest possible error."""
    largest = np.maximum(gold_overall - SCORE_MIN, SCORE_MAX - gold_overall)
    absent = np.isnan(errors)
    return (
        float(np.where(absent, 0, np.abs(errors)).mean()),
        float(np.where(absent, largest, np.abs(errors)).mean()),
    )


def _dimension(gold: Gold, judged: Judged, column: int) -> DimensionMetrics:
    """Error and gates of one dimension (a column of the scores)."""
    errors = judged.scores[:, column] - gold.scores[:, column]
    decided = np.isin(judged.status, ("scored", "gated"))
    gold_on = ~np.isnan(gold.scores[decided, column])
    judge_on = ~np.isnan(judged.scores[decided, column])
    gates = Gates(
        both_on=int((gold_on & judge_on).sum()),
        gold_only=int((gold_on & ~judge_on).sum()),
        judge_only=int((~gold_on & judge_on).sum()),
        both_off=int((~gold_on & ~judge_on).sum()),
    )
    return DimensionMetrics(mean_of(np.abs(errors)), gates)
