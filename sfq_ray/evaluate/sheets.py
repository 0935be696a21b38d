"""The tables beside the leaderboard, each as a header and rows, at full precision; None is an empty cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, fields
from typing import Any

import numpy as np

from sfq_ray.evaluate.agreement import Gates, Metrics
from sfq_ray.evaluate.curves import Bin, Dispute
from sfq_ray.evaluate.evaluation import Evaluation, Standing
from sfq_ray.evaluate.leaderboard import LEADERBOARD, leaderboard_rows, standings
from sfq_ray.evaluate.permutation import Contrast
from sfq_ray.evaluate.published import PUBLISHED, SOURCE, Published
from sfq_ray.rubric import DIMENSIONS

Sheet = list[Sequence[Any]]  # the header first

LARGEST_DIFFERENCES = 20  # of each run
INTERVAL = ("low", "high", "interval")


def sheets(evaluation: Evaluation) -> dict[str, Sheet]:
    """By the name of their CSV file."""
    rows = leaderboard_rows(evaluation)
    return {
        "leaderboard": _of(rows),
        "baselines": _of(row for row in rows if row["kind"] == "baseline"),
        "dimensions": dimensions(standings(evaluation)),
        "contrasts": contrasts(evaluation.contrasts),
        "ceiling": ceiling(evaluation.ceiling),
        "raters": raters(evaluation),
        "retest": retest(evaluation),
        "adjudication": adjudication(evaluation),
        "differences": differences(evaluation),
        "calibration": calibration(standings(evaluation)),
        "limits": limits(standings(evaluation)),
        "disputes": [_names(Dispute), *map(astuple, evaluation.disputes)],
        "published": [(*_names(Published), "source"), *((*astuple(row), SOURCE) for row in PUBLISHED)],
    }


def dimensions(judges: Iterable[Standing]) -> Sheet:
    """Every judge and dimension: MAE where it is on in both, and the figures by where it is on."""
    sheet: Sheet = [("kind", "run_id", "dimension", "mae", "n", *INTERVAL, *_names(Gates))]
    for standing in judges:
        for d in DIMENSIONS:
            found, interval = standing.metrics.dimensions[d], standing.intervals[d.value]
            ends = (interval.low, interval.high, interval.method)
            own = (standing.kind, standing.judged.run_id, d.value, found.mae.value, found.mae.n)
            sheet.append((*own, *ends, *astuple(found.gates)))
    return sheet


def contrasts(found: Iterable[Contrast]) -> Sheet:
    """Differences with their tests and intervals."""
    own = [name for name in _names(Contrast) if name != "interval"]
    rows = ((*(getattr(c, name) for name in own), c.interval.low, c.interval.high, c.interval.method) for c in found)
    return [(*own, *INTERVAL), *rows]


def ceiling(metrics: Sequence[Metrics]) -> Sheet:
    """Each rater against the gold of the others, as if the rater were a judge."""
    of_dimensions = [f"{d}_{name}" for d in DIMENSIONS for name in ("mae", "n")]
    sheet: Sheet = [("rater", "figures", "papers", "n", "mae", "within_1", "spearman", "bias", *of_dimensions)]
    for m in metrics:
        overall = (m.mae.value, m.within_1.value, m.spearman.value, m.bias.value)
        own = [value for d in DIMENSIONS for value in (m.dimensions[d].mae.value, m.dimensions[d].mae.n)]
        sheet.append((m.run_id, m.figures, m.papers, m.mae.n, *overall, *own))
    return sheet


def raters(evaluation: Evaluation) -> Sheet:
    """Dispersion as the paper's table has it, then alpha with its interval and kappa."""
    header = ("dimension", "mean_spread", "median_spread", "within_1_pairs", "n", "alpha", "alpha_n")
    sheet: Sheet = [(*header, *(f"alpha_{end}" for end in INTERVAL), "quadratic_kappa", "quadratic_kappa_n")]
    for name, found in evaluation.reliability.items():
        interval = found.alpha_interval
        ends = (interval.low, interval.high, interval.method)
        own = (found.alpha.value, found.alpha.n, *ends, found.kappa.value, found.kappa.n)
        sheet.append((name, *astuple(found.dispersion), *own))
    return sheet


def retest(evaluation: Evaluation) -> Sheet:
    """Noise of the runs that were repeated."""
    rows = [
        (of_run.run_id, of_run.repeats, name, *astuple(noise))
        for of_run in evaluation.retests
        for name, noise in of_run.noise.items()
    ]
    return [("run_id", "repeats", "dimension", "sd", "flip_rate", "n"), *rows]


def adjudication(evaluation: Evaluation) -> Sheet:
    """Figures whose raters are far apart, the widest gap first, a row for each of their raters."""
    rows = [
        (figure["figure_id"], figure["gap"], rater, value)
        for figure in evaluation.adjudication
        for rater, value in figure["overalls"]
    ]
    return [("figure_id", "gap", "rater", "overall"), *rows]


def differences(evaluation: Evaluation) -> Sheet:
    """Of each run the figures on which it is farthest from the gold's overall."""
    gold, sheet = evaluation.gold, list[Sequence[Any]]([("run_id", "figure_id", "gold", "judge", "difference")])
    for standing in evaluation.runs:
        judged = standing.judged
        difference = judged.overall - gold.overall
        order = np.argsort(-np.abs(difference), kind="stable")  # NaN comes last
        for place in order[: min(LARGEST_DIFFERENCES, standing.metrics.mae.n)].tolist():
            numbers = (gold.overall[place], judged.overall[place], difference[place])
            sheet.append((judged.run_id, gold.figure_ids[place], *map(float, numbers)))
    return sheet


def calibration(judges: Iterable[Standing]) -> Sheet:
    """Mean gold by the judge's score."""
    rows = [(s.kind, s.judged.run_id, *astuple(of_score)) for s in judges for of_score in s.calibration]
    return [("kind", "run_id", *_names(Bin)), *rows]


def limits(judges: Iterable[Standing]) -> Sheet:
    """Bland and Altman's limits of agreement of the overall."""
    rows = [
        (s.kind, s.judged.run_id, s.limits.bias.value, s.limits.bias.n, s.limits.sd, s.limits.low, s.limits.high)
        for s in judges
    ]
    return [("kind", "run_id", "bias", "n", "sd", "low", "high"), *rows]


def _of(rows: Iterable[Mapping[str, Any]]) -> Sheet:
    return [LEADERBOARD.names, *([row.get(name) for name in LEADERBOARD.names] for row in rows)]


def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
