"""Judges against human gold: everything that `sfq evaluate` publishes, as one value.

A run is ranked where it scored every figure of the gold that it need not gate; then all ranked runs stand on the same
figures. Every other one is beside them with its coverage, and with bounds for what it did not score. Runs of `sfq fit`
have seen ratings of the same set, so they are never ranked among judges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfq_ray.errors import FatalError
from sfq_ray.evaluate.agreement import (
    TIE_DECIMALS,
    Floats,
    Gold,
    Ints,
    Judged,
    Measure,
    Metrics,
    baselines,
    metrics,
)
from sfq_ray.evaluate.bootstrap import (
    Interval,
    errors,
    interval_of,
    intervals,
    mean_draws,
    percentiles,
    rank_intervals,
    resamples,
)
from sfq_ray.evaluate.curves import Bin, Dispute, Limits, calibration, disputes, limits
from sfq_ray.evaluate.gold import Row
from sfq_ray.evaluate.judgements import Judgements, Run
from sfq_ray.evaluate.permutation import Contrast, contrasts
from sfq_ray.evaluate.reliability import (
    COLUMNS,
    Dispersion,
    Repeats,
    alpha,
    alpha_draws,
    human_ceiling,
    inter_rater,
    kappa,
    retest,
)
from sfq_ray.evaluate.spending import Spending
from sfq_ray.judge.matrix import repeat_of
from sfq_ray.tables import FITTED

DRAWS = 10_000
SEED = 2607
LEVEL = 0.95
DISPUTES = 20  # figures
KINDS = ("incomplete", "fitted", "expected", "baseline")  # that have no rank


@dataclass(frozen=True, eq=False)
class Standing:
    """One judge against the gold; only complete runs have a rank."""

    kind: str  # complete, incomplete, fitted, expected or baseline
    judged: Judged  # its scores figure by figure, in the gold's order
    backend: str | None
    metrics: Metrics
    intervals: Mapping[str, Interval]  # of mae, within_1, bias, spearman, and the MAE of each dimension
    calibration: tuple[Bin, ...]
    limits: Limits
    rank: int | None = None  # by MAE; equal ones share the better rank
    ranks: tuple[int, int] | None = None  # interval of the rank
    spending: Spending | None = None


@dataclass(frozen=True)
class Reliability:
    """What the raters agree on in one dimension, or in their overalls."""

    dispersion: Dispersion
    alpha: Measure  # Krippendorff's, interval level
    alpha_interval: Interval
    kappa: Measure  # quadratic weights, mean of the pairs of raters


@dataclass(frozen=True, eq=False)
class Retest:
    """Repeats of one run."""

    run_id: str
    repeats: int
    noise: Mapping[str, Repeats]  # of each dimension and overall


@dataclass(frozen=True, eq=False)
class Evaluation:
    """See `evaluate`."""

    gold: Gold
    ratings: Floats  # (n, R, 5)
    raters: tuple[str, ...]
    must_gate: int  # figures of the gold that no judge can score
    complete: tuple[Standing, ...]  # by rank
    incomplete: tuple[Standing, ...]  # by coverage, the largest first
    fitted: tuple[Standing, ...]  # runs of `sfq fit`
    expected: tuple[Standing, ...]  # runs under their own probabilities
    baselines: tuple[Standing, ...]
    contrasts: tuple[Contrast, ...]
    ceiling: tuple[Metrics, ...]  # each rater against the others
    reliability: Mapping[str, Reliability]  # by dimension, and overall
    retests: tuple[Retest, ...]
    adjudication: tuple[Row, ...]
    disputes: tuple[Dispute, ...]  # of gold and judges; fitted runs are none
    left_out: Mapping[str, int]
    reference: str | None
    draws: int
    seed: int
    level: float

    @property
    def runs(self) -> tuple[Standing, ...]:
        return self.complete + self.incomplete + self.fitted


def evaluate(
    judgements: Judgements, spent: Mapping[str, Spending], reference: str | None = None, draws: int = DRAWS
) -> Evaluation:
    """All numbers of the judgements; the same arguments give the same numbers.

    `spent` by run id. Raises FatalError where there is no run, and where `reference` is none of them.
    """
    gold, rated, left_out = judgements.rated.gold, judgements.rated, dict(judgements.left_out)
    groups = repeats(judgements.runs)
    runs = [group[0] for group in groups]
    left_out |= {f"repeats that stand in test-retest only: {run.run_id}": 1 for group in groups for run in group[1:]}
    if not runs:
        raise FatalError(
            "no run has a score of a figure of the gold; do figures and ratings come from the same papers?"
        )
    weights = resamples(gold.papers, draws, np.random.default_rng([SEED, 0]))
    standings = _standings(judgements, runs, weights, [SEED, 1], LEVEL)
    of_kind = {kind: [s for s in standings if s.kind == kind] for kind in KINDS}
    complete = _ranked([s for s in standings if s.kind == "complete"], gold, weights, LEVEL)
    pairs = _with_shared_figures(family(runs, reference), runs, left_out)
    return Evaluation(
        gold=gold,
        ratings=rated.ratings,
        raters=rated.raters,
        must_gate=int(judgements.must_gate.sum()),
        complete=tuple(_with_spending(complete, spent)),
        incomplete=tuple(_with_spending(sorted(of_kind["incomplete"], key=_by_coverage), spent)),
        fitted=tuple(of_kind["fitted"]),
        expected=tuple(of_kind["expected"]),
        baselines=tuple(of_kind["baseline"]),
        contrasts=contrasts(gold, [run.judged for run in runs], pairs, weights, [SEED, 2], LEVEL) if pairs else (),
        ceiling=human_ceiling(rated.figure_ids, rated.papers, rated.ratings, rated.raters),
        reliability=reliability(rated.ratings, rated.papers, weights, LEVEL),
        retests=tuple(_retest(group) for group in groups if len(group) > 1),
        adjudication=judgements.adjudication,
        disputes=disputes(gold, [run.judged for run in runs if run.judged.protocol not in FITTED], DISPUTES),
        left_out=left_out,
        reference=reference,
        draws=draws,
        seed=SEED,
        level=LEVEL,
    )


def repeats(runs: Iterable[Run]) -> list[list[Run]]:
    """Runs with the repeats of each, in order: same id but for the repeat, same protocol, backend and model."""
    groups: dict[tuple[str, ...], list[Run]] = {}
    for run in sorted(runs, key=lambda run: repeat_of(run.run_id)):
        groups.setdefault((repeat_of(run.run_id)[0], *run.configuration), []).append(run)
    return list(groups.values())


def family(runs: Sequence[Run], reference: str | None = None) -> list[tuple[str, str]]:
    """The contrasts that are tested, known before any score is seen.

    Sidecar and agent against direct where backend and model are the same, and each run against the reference.
    """
    if reference is not None and reference not in {run.run_id for run in runs}:
        raise FatalError(f"--reference {reference}: no such run; there are {', '.join(run.run_id for run in runs)}")
    pairs = [
        (run.run_id, direct.run_id)
        for protocol in ("sidecar", "agent")
        for run in runs
        for direct in runs
        if run.judged.protocol == protocol
        and direct.judged.protocol == "direct"
        and run.configuration[1:] == direct.configuration[1:]
    ]
    if reference is not None:
        pairs += [(run.run_id, reference) for run in runs if run.run_id != reference]
    found: list[tuple[str, str]] = []
    for first, second in pairs:
        if (first, second) not in found and (second, first) not in found:
            found.append((first, second))
    return found


def reliability(ratings: Floats, papers: Ints, weights: Floats, level: float) -> Mapping[str, Reliability]:
    """Of each dimension and overall; alpha's interval is that of the resamples of papers."""
    spreads, alphas, kappas = inter_rater(ratings), alpha(ratings), kappa(ratings)
    draws = alpha_draws(ratings, papers, weights)
    count = len(np.unique(papers))
    found = {}
    for name in COLUMNS:
        interval = interval_of(percentiles(draws[name], level), "percentile", count)
        found[name] = Reliability(spreads[name], alphas[name], interval, kappas[name])
    return found


def _standings(
    judgements: Judgements, runs: Sequence[Run], weights: Floats, seed: Sequence[int], level: float
) -> list[Standing]:
    """Every run, every run's expected scores, and the baselines, from the same resamples."""
    gold = judgements.rated.gold
    entries: list[tuple[str, Judged, str | None]] = []
    for run in runs:
        scored = ~np.isnan(run.judged.overall)
        whole = scored.any() and (scored | judgements.must_gate).all()
        kind = "fitted" if run.judged.protocol in FITTED else "complete" if whole else "incomplete"
        entries.append((kind, run.judged, run.backend))
    entries += [("expected", run.expected, run.backend) for run in runs if run.expected is not None]
    entries += [("baseline", _gated(judged, judgements.must_gate), None) for judged in baselines(gold)]
    bounds = intervals(gold, [judged for _, judged, _ in entries], weights, seed, level)
    return [
        Standing(kind, judged, backend, metrics(gold, judged), of_run, calibration(gold, judged), limits(gold, judged))
        for (kind, judged, backend), of_run in zip(entries, bounds, strict=True)
    ]


def _gated(judged: Judged, where: NDArray[np.bool_]) -> Judged:
    """Without the figures that no judge scores, so that baselines stand on those of a complete run."""
    return replace(
        judged,
        scores=np.where(where[:, None], np.nan, judged.scores),
        overall=np.where(where, np.nan, judged.overall),
        status=tuple(np.where(where, "gated", judged.status).tolist()),
    )


def _ranked(complete: Sequence[Standing], gold: Gold, weights: Floats, level: float) -> list[Standing]:
    """By MAE, with ranks and their intervals, which one paper alone cannot give."""
    if not complete:
        return []
    losses = mean_draws(np.abs(errors(gold, [standing.judged for standing in complete])), gold.papers, weights)
    bounds = rank_intervals(losses, level).T.tolist()
    ranks = [(low, high) if len(np.unique(gold.papers)) > 1 else None for low, high in bounds]
    maes = [round(standing.metrics.mae.value or 0.0, TIE_DECIMALS) for standing in complete]
    ranked = [
        replace(standing, rank=1 + sum(other < mae for other in maes), ranks=own)
        for standing, mae, own in zip(complete, maes, ranks, strict=True)
    ]
    return sorted(ranked, key=lambda standing: (standing.rank, standing.judged.run_id))


def _by_coverage(standing: Standing) -> tuple[float, str]:
    return -(standing.metrics.coverage.value or 0.0), standing.judged.run_id


def _with_spending(standings: Iterable[Standing], spent: Mapping[str, Spending]) -> list[Standing]:
    return [replace(standing, spending=spent.get(standing.judged.run_id)) for standing in standings]


def _with_shared_figures(
    pairs: Iterable[tuple[str, str]], runs: Sequence[Run], left_out: dict[str, int]
) -> list[tuple[str, str]]:
    """The pairs that can be tested; the others are added to `left_out`."""
    there = {run.run_id: ~np.isnan(run.judged.overall) for run in runs}
    found = [(first, second) for first, second in pairs if (there[first] & there[second]).any()]
    lost = [pair for pair in pairs if pair not in found]
    left_out |= {f"contrasts without a figure that both scored: {first} - {second}": 1 for first, second in lost}
    return found


def _retest(group: Sequence[Run]) -> Retest:
    return Retest(group[0].run_id, len(group), retest([run.judged for run in group]))
