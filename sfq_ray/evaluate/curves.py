"""What plots show beside the leaderboard's numbers: calibration, limits of agreement, and figures in dispute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfq_ray.evaluate.agreement import Gold, Judged, Measure, mean_of
from sfq_ray.rubric import SCORE_MAX, SCORE_MIN


@dataclass(frozen=True)
class Bin:
    """The figures whose overall by the judge is nearest to `score`, a half up."""

    score: int  # 1..10
    n: int
    judge: float  # mean of the judge's overalls, points
    gold: float  # mean of the gold's overalls, points


@dataclass(frozen=True)
class Limits:
    """Limits of agreement (Bland & Altman 1986): mean of judge - gold, less and plus 1.96 sd, in points."""

    bias: Measure
    sd: float | None  # of judge - gold; None below two figures
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Dispute:
    """A figure on which judges as a group are far from the gold's overall."""

    figure_id: str
    gold: float
    judges: int  # that scored it
    difference: float  # mean of judge - gold, points
    distance: float  # mean of |judge - gold|, points
    farthest: str  # run_id of the judge with the largest |judge - gold|


def calibration(gold: Gold, judged: Judged) -> tuple[Bin, ...]:
    """Mean gold by the judge's score, for every score that the judge gave."""
    there = np.flatnonzero(~np.isnan(judged.overall))
    nearest = np.clip(np.floor(judged.overall[there] + 0.5), SCORE_MIN, SCORE_MAX).astype(np.int64)
    found = []
    for score in np.unique(nearest).tolist():
        own = there[nearest == score]
        found.append(Bin(score, len(own), float(judged.overall[own].mean()), float(gold.overall[own].mean())))
    return tuple(found)


def limits(gold: Gold, judged: Judged) -> Limits:
    """Of the figures that both scored. Figures of a paper are alike, so this describes them and infers nothing."""
    errors = judged.overall - gold.overall
    errors = errors[~np.isnan(errors)]
    bias = mean_of(errors)
    if bias.value is None or bias.n < 2:
        return Limits(bias, None, None, None)
    sd = float(errors.std(ddof=1))
    return Limits(bias, sd, bias.value - 1.96 * sd, bias.value + 1.96 * sd)


def disputes(gold: Gold, judges: Sequence[Judged], count: int) -> tuple[Dispute, ...]:
    """The `count` figures with the largest mean distance between gold and the judges that scored them."""
    errors = np.array([judged.overall - gold.overall for judged in judges]).reshape(len(judges), len(gold.overall))
    found = []
    for figure_id, score, of_figure in zip(gold.figure_ids, gold.overall.tolist(), errors.T, strict=True):
        distance, difference = mean_of(np.abs(of_figure)), mean_of(of_figure)
        if distance.value is not None and difference.value is not None:
            farthest = judges[int(np.nanargmax(np.abs(of_figure)))].run_id
            found.append(Dispute(figure_id, score, distance.n, difference.value, distance.value, farthest))
    return tuple(sorted(found, key=lambda row: (-row.distance, row.figure_id))[:count])
