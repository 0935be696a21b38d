"""Paired tests of two runs: sign flips by paper, corrected for a family of contrasts declared in advance.

Per figure d = |first - gold| - |second - gold|, on the figures that both runs scored. If the two are alike, a paper's
sum of d may as well have the other sign. One sign a paper flips all contrasts at once, so their correlation is kept
and the largest statistic of a resample corrects the family (step-down max-T, Westfall & Young 1993, algorithm 4.1).
A drawn p-value counts the data itself and is never 0 (Phipson & Smyth 2010).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfq_ray.evaluate.agreement import Floats, Gold, Ints, Judged
from sfq_ray.evaluate.bootstrap import Interval, errors, mean_interval

EXACT_PAPERS = 14
"""All sign flips are tried up to 2^14."""

CLOSE = 1 - 1e-9
"""A flip whose statistic differs by rounding alone counts as equal."""


@dataclass(frozen=True)
class Contrast:
    """MAE of `first` minus MAE of `second`, points; negative when `first` is closer to the gold."""

    first: str  # run_id
    second: str  # run_id
    difference: float
    figures: int  # scored by both
    papers: int
    p: float  # two-sided, of this contrast alone
    p_family: float  # corrected for the whole family
    exact: bool  # all sign flips instead of random ones
    interval: Interval  # of the difference, from resamples of papers; None as ends with fewer than two


def contrasts(
    gold: Gold,
    runs: Sequence[Judged],
    pairs: Sequence[tuple[str, str]],
    weights: Floats,
    seed: Sequence[int],
    level: float = 0.95,
) -> tuple[Contrast, ...]:
    """Tests of the family `pairs` of run ids, (first, second), in the order given.

    Intervals are those of the resamples `weights` (B, P); as many signs are drawn. `seed` is for both.
    """
    column = {run.run_id: number for number, run in enumerate(runs)}
    distance = np.abs(errors(gold, runs))
    d = np.stack([distance[:, column[first]] - distance[:, column[second]] for first, second in pairs], axis=1)
    there = ~np.isnan(d)
    for pair, any_there in zip(pairs, there.any(axis=0), strict=True):
        if not any_there:
            raise ValueError(f"{pair[0]} and {pair[1]} share no figure that both scored")
    sums = sums_by_paper(d, gold.papers)
    exact = len(sums) <= EXACT_PAPERS
    p, p_family = sign_flip(sums, signs(len(sums), np.random.default_rng([*seed, 0]), len(weights)), exact)
    return tuple(
        Contrast(
            first=first,
            second=second,
            difference=float(d[there[:, c], c].mean()),
            figures=int(there[:, c].sum()),
            papers=len(np.unique(gold.papers[there[:, c]])),
            p=float(p[c]),
            p_family=float(p_family[c]),
            exact=exact,
            interval=mean_interval(d[:, c], gold.papers, weights, [*seed, 1], level),
        )
        for c, (first, second) in enumerate(pairs)
    )


def sums_by_paper(values: Floats, papers: Ints) -> Floats:
    """(P, C) sums of `values` (n, C) over the figures of each paper, NaN as nothing."""
    row = np.unique(papers, return_inverse=True)[1]
    sums = np.zeros((row.max() + 1, values.shape[1]))
    np.add.at(sums, row, np.nan_to_num(values))
    return sums


def signs(papers: int, rng: np.random.Generator, draws: int) -> Floats:
    """(B, P) of -1 and 1: all of them up to EXACT_PAPERS papers, else `draws` random ones."""
    if papers > EXACT_PAPERS:
        return rng.choice(np.array([-1.0, 1.0]), size=(draws, papers))
    bits = (np.arange(2**papers)[:, None] >> np.arange(papers)) & 1
    return np.where(bits, -1.0, 1.0)


def sign_flip(sums: Floats, flips: Floats, exact: bool) -> tuple[Floats, Floats]:
    """(C,) p of each contrast alone, and corrected for the family, of `sums` (P, C) under `flips` (B, P).

    The statistic is |sum| over its standard deviation under the flips, the root of the sum of squares.
    """
    scale = np.sqrt((sums**2).sum(axis=0))
    scale[scale == 0] = np.inf  # no paper tells the two runs apart: the statistic is 0 and p is 1
    observed = np.abs(sums.sum(axis=0)) / scale
    flipped = np.abs(flips @ sums) / scale
    order = np.argsort(-observed, kind="stable")
    largest = np.maximum.accumulate(flipped[:, order[::-1]], axis=1)[:, ::-1]  # over this contrast and all below it
    p_family = np.empty(len(observed))
    p_family[order] = np.maximum.accumulate(_share(largest, observed[order], exact))
    return _share(flipped, observed, exact), p_family


def _share(flipped: Floats, observed: Floats, exact: bool) -> Floats:
    """Share of the flips at least as large as the data; drawn ones do not hold the data, so it is added to both."""
    count = (flipped >= observed * CLOSE).sum(axis=0)
    return np.asarray(count / len(flipped) if exact else (1 + count) / (1 + len(flipped)))
