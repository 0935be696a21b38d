"""How far the raters agree with each other, and a judge with itself: the ceiling that a judge can be measured against.

`ratings` is (n figures, R raters, 5 dimensions) in points 1..10, NaN where a rater gave no score. Numbers that need to
know who rated (kappa, the ceiling) take one rater for each of the R places;
the others only need the scores of a figure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeVar

import krippendorff
import numpy as np

from sfq_ray.evaluate.agreement import (
    TOLERANCE,
    Floats,
    Gold,
    Ints,
    Judged,
    Measure,
    Metrics,
    gold_from_ratings,
    mean_of,
    metrics,
    nanmean,
    within_1,
)
from sfq_ray.rubric import DIMENSIONS

Level = Literal["interval", "ordinal"]

T = TypeVar("T")

COLUMNS = (*(str(d) for d in DIMENSIONS), "overall")


@dataclass(frozen=True)
class Dispersion:
    """Raters of one figure (arXiv 2607.27084, dispersion on eval1200); spread = largest - smallest score, points."""

    mean_spread: float | None
    median_spread: float | None
    within_1: float | None  # share of the pairs of raters, over all figures, that are within 1 point
    n: int  # figures with at least two scores


@dataclass(frozen=True)
class Repeats:
    """Repeats of one judge on the same figures."""

    sd: float | None  # points; root of the mean variance within a figure
    flip_rate: float | None  # share of the pairs of repeats whose scores differ
    n: int  # figures with at least two scores


def with_overall(ratings: Floats) -> Floats:
    """(n, R, 6) with each rater's overall: the mean of the dimensions that this rater scored."""
    return np.concatenate([ratings, nanmean(ratings, axis=2)[..., None]], axis=2)


def inter_rater(ratings: Floats) -> Mapping[str, Dispersion]:
    """Spread and pair rate of each dimension and of the raters' overalls."""
    return _by_column(with_overall(ratings), _dispersion)


def alpha(ratings: Floats, level: Level = "interval") -> Mapping[str, Measure]:
    """Krippendorff's alpha (2019) with n figures of at least two scores; None when all scores are equal.

    `level` of measurement: interval or ordinal.
    """
    return _by_column(with_overall(ratings), lambda scores: _alpha(scores, level))


def alpha_draws(ratings: Floats, papers: Ints, weights: Floats) -> Mapping[str, Floats]:
    """(B,) alpha at the interval level, of each dimension and overall, under the resamples `weights` (B, P) of papers.

    Both disagreements are made of sums over figures, so no resample is ever written out.
    """
    row = np.unique(papers, return_inverse=True)[1]
    return _by_column(with_overall(ratings), lambda scores: _alpha_draws(scores, row, weights))


def kappa(ratings: Floats) -> Mapping[str, Measure]:
    """Quadratic-weighted kappa, mean over the pairs of raters (Light 1971), with n figures of at least two scores."""
    return _by_column(with_overall(ratings), _light_kappa)


def quadratic_kappa(first: Floats, second: Floats) -> Measure:
    """Cohen's kappa (1968) with squared weights over the pairs that are complete; None when all scores are equal.

    With squared weights the matrix of agreement is not needed: disagreement is the mean squared difference, and the
    one expected by chance is var(first) + var(second) + (mean(first) - mean(second))^2.
    """
    both = ~(np.isnan(first) | np.isnan(second))
    a, b = first[both], second[both]
    expected = a.var() + b.var() + (a.mean() - b.mean()) ** 2 if a.size else 0
    return Measure(float(1 - ((a - b) ** 2).mean() / expected) if expected > TOLERANCE**2 else None, int(a.size))


def leave_one_out(
    figure_ids: Sequence[str], papers: Ints, ratings: Floats, raters: Sequence[str]
) -> tuple[tuple[Gold, Judged], ...]:
    """Of each rater the gold of the others, on the figures that both have, and the rater as if it were a judge."""
    result = []
    there = np.asarray((~np.isnan(ratings)).any(axis=2))
    for place, rater in enumerate(raters):
        rows = np.flatnonzero(there[:, place] & (there.sum(axis=1) > 1))
        others = np.delete(ratings[rows], place, axis=1)
        gold = gold_from_ratings([figure_ids[row] for row in rows.tolist()], papers[rows], others)
        scores = ratings[rows, place]
        judged = Judged(rater, "human", "human", scores, nanmean(scores, axis=1), ("scored",) * len(rows))
        result.append((gold, judged))
    return tuple(result)


def human_ceiling(
    figure_ids: Sequence[str], papers: Ints, ratings: Floats, raters: Sequence[str]
) -> tuple[Metrics, ...]:
    """Metrics of each rater against the gold of the others, for the raters who share a figure with another.

    The gold of the others rests on one rater less than the gold that a judge is measured against.
    """
    pairs = leave_one_out(figure_ids, papers, ratings, raters)
    return tuple(metrics(gold, judged) for gold, judged in pairs if gold.figure_ids)


def retest(repeats: Sequence[Judged]) -> Mapping[str, Repeats]:
    """Noise of a judge, of each dimension and the overall, from runs of one configuration aligned to one gold."""
    columns = [np.concatenate([run.scores, run.overall[:, None]], axis=1) for run in repeats]
    return _by_column(np.stack(columns, axis=1), _repeats)


def _by_column(scores: Floats, function: Callable[[Floats], T]) -> Mapping[str, T]:
    """`function` of the (n, R) scores of each dimension and of the overall, by name."""
    return {name: function(scores[..., column]) for column, name in enumerate(COLUMNS)}


def _several(scores: Floats) -> Floats:
    """The figures with at least two scores."""
    return scores[(~np.isnan(scores)).sum(axis=1) >= 2]


def _pairs(scores: Floats) -> Floats:
    """Differences of all pairs of scores of one figure; NaN where one of the two is not there.

    The scores of a figure are moved together first, since of many raters few rate the same figure.
    """
    most = int((~np.isnan(scores)).sum(axis=1).max(initial=0))
    together = np.sort(scores, axis=1)[:, :most]  # NaN come last
    pairs = [together[:, b] - together[:, a] for a, b in combinations(range(most), 2)]
    return np.concatenate(pairs) if pairs else np.empty(0)


def _dispersion(scores: Floats) -> Dispersion:
    several = _several(scores)
    if not len(several):
        return Dispersion(None, None, None, 0)
    spread = np.nanmax(several, axis=1) - np.nanmin(several, axis=1)
    rate = mean_of(within_1(_pairs(several)))
    return Dispersion(float(spread.mean()), float(np.median(spread)), rate.value, len(several))


def _alpha(scores: Floats, level: Level) -> Measure:
    several = _several(scores)
    if not len(several) or np.nanmax(several) - np.nanmin(several) <= TOLERANCE:
        return Measure(None, len(several))
    value = krippendorff.alpha(reliability_data=several.T, level_of_measurement=level)
    return Measure(float(value), len(several))


def _alpha_draws(scores: Floats, row: Ints, weights: Floats) -> Floats:
    size = (~np.isnan(scores)).sum(axis=1)
    several = size >= 2
    size, found = size[several], scores[several]
    total, squares = np.nansum(found, axis=1), np.nansum(found**2, axis=1)
    within = 2 * (size * squares - total**2) / (size - 1)  # squared differences of all pairs of a figure
    sums = np.zeros((weights.shape[1], 4))
    np.add.at(sums, row[several], np.stack([within, size, total, squares], axis=1))
    within, size, total, squares = (weights @ sums).T
    expected = 2 * (size * squares - total**2)  # of all pairs of scores
    varies = expected > TOLERANCE * np.maximum(size, 1)
    return np.where(varies, 1 - within * (size - 1) / np.where(varies, expected, 1), np.nan)


def _light_kappa(scores: Floats) -> Measure:
    there = (~np.isnan(scores)).astype(np.float64)
    met = np.argwhere(np.triu(there.T @ there, 1) > 0).tolist()  # pairs of raters with a figure in common
    values = [quadratic_kappa(scores[:, a], scores[:, b]).value for a, b in met]
    found = [value for value in values if value is not None]
    return Measure(float(np.mean(found)) if found else None, len(_several(scores)))


def _repeats(scores: Floats) -> Repeats:
    several = _several(scores)
    if not len(several):
        return Repeats(None, None, 0)
    variance = np.nanvar(several, axis=1, ddof=1)
    differences = _pairs(several)
    flips = mean_of(np.where(np.isnan(differences), np.nan, np.abs(differences) > TOLERANCE))
    return Repeats(float(np.sqrt(variance.mean())), flips.value, len(several))
