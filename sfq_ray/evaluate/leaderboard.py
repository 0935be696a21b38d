"""The leaderboard: one row per judge, complete runs first, by rank. Its schema documents every column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pyarrow as pa

from sfq_ray.evaluate.agreement import Measure
from sfq_ray.evaluate.bootstrap import Interval
from sfq_ray.evaluate.evaluation import Evaluation, Standing
from sfq_ray.evaluate.spending import Spending
from sfq_ray.rubric import DIMENSIONS

STATUSES = ("scored", "gated", "failed", "missing")
OVERALL = {
    "mae": "Mean |judge - gold| of the overall, points.",
    "within_1": "Share of figures with |judge - gold| <= 1.",
    "spearman": "Spearman's rho; null where one side is constant.",
    "bias": "Mean judge - gold of the overall, points; positive is lenient.",
}
MEASURES = OVERALL | {f"{d}_mae": f"As mae, of {d}, on the figures where it is on in both." for d in DIMENSIONS}
SPENT = {
    "calls": (pa.int64(), "Calls that the scores came from; null for other kinds than runs."),
    "calls_counted": (pa.int64(), "Of these, with known tokens."),
    "calls_priced": (pa.int64(), "Of these, with a known cost."),
    "input_tokens": (pa.int64(), "Sum over the calls; null where one is unknown."),
    "output_tokens": (pa.int64(), "As input_tokens; thinking included."),
    "cost": (pa.float64(), "Sum over the calls; null where one is unknown."),
    "currency": (pa.string(), "Of the cost; null where no call had a price."),
}


def _columns_of(measure: str, doc: str) -> list[tuple[str, pa.DataType, str]]:
    return [
        (measure, pa.float64(), doc),
        (f"{measure}_low", pa.float64(), "Lower end of its interval; null where there is none."),
        (f"{measure}_high", pa.float64(), "Upper end of its interval."),
        (f"{measure}_interval", pa.string(), "How: percentile (cluster bootstrap by paper) or wild-t (few papers)."),
    ]


FIELDS: list[tuple[str, pa.DataType, str]] = [
    (
        "kind",
        pa.string(),
        "complete, incomplete, fitted to ratings, expected (under the model's own probabilities) or baseline.",
    ),
    ("run_id", pa.string(), "As in scores/, or the name of the baseline."),
    ("protocol", pa.string(), "direct, sidecar, agent, regressor, calibrated or constant."),
    ("backend", pa.string(), "As in scores/; null for baselines."),
    ("model", pa.string(), "As in scores/."),
    ("rank", pa.int32(), "By MAE among complete runs, 1 is best, equal ones share it; null for all others."),
    ("rank_low", pa.int32(), "Best rank in the interval of ranks."),
    ("rank_high", pa.int32(), "Worst rank in it."),
    ("figures", pa.int32(), "Figures of the gold."),
    ("papers", pa.int32(), "Papers of the gold."),
    *[(status, pa.int32(), f"Figures of the gold that are {status}.") for status in STATUSES],
    ("coverage", pa.float64(), "Share of the gold's figures with an overall score."),
    ("n", pa.int32(), "Number of these: what mae, within_1, spearman and bias stand on."),
    *[column for measure, doc in MEASURES.items() for column in _columns_of(measure, doc)],
    *[(f"{d}_n", pa.int32(), f"What {d}_mae stands on.") for d in DIMENSIONS],
    ("mae_best", pa.float64(), "MAE over all figures of the gold if those without a score had error 0."),
    ("mae_worst", pa.float64(), "MAE over all of them if those without a score had the largest error on 1..10."),
    *[(name, kind, doc) for name, (kind, doc) in SPENT.items()],
]

LEADERBOARD = pa.schema(
    [pa.field(name, kind, metadata={b"doc": doc.encode()}) for name, kind, doc in FIELDS],
    metadata={b"table": b"evaluation/leaderboard"},
)


def standings(evaluation: Evaluation) -> tuple[Standing, ...]:
    """All rows in their order: complete, incomplete, fitted, expected, baselines."""
    return evaluation.runs + evaluation.expected + evaluation.baselines


def leaderboard_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Rows of LEADERBOARD; nothing is rounded."""
    return [_row(standing) for standing in standings(evaluation)]


def measures(standing: Standing) -> Mapping[str, tuple[Measure, Interval]]:
    """The numbers of MEASURES with their intervals."""
    found = {name: (getattr(standing.metrics, name), standing.intervals[name]) for name in OVERALL}
    return found | {f"{d}_mae": (standing.metrics.dimensions[d].mae, standing.intervals[d.value]) for d in DIMENSIONS}


def _row(standing: Standing) -> dict[str, Any]:
    m = standing.metrics
    row: dict[str, Any] = {
        "kind": standing.kind, "run_id": m.run_id, "protocol": m.protocol, "backend": standing.backend,
        "model": m.model, "rank": standing.rank, "figures": m.figures, "papers": m.papers,
        "coverage": m.coverage.value, "n": m.mae.n, "mae_best": m.mae_best, "mae_worst": m.mae_worst,
    }  # fmt: skip
    if standing.ranks is not None:
        row |= {"rank_low": standing.ranks[0], "rank_high": standing.ranks[1]}
    row |= {status: m.statuses.get(status, 0) for status in STATUSES}
    for name, (measure, interval) in measures(standing).items():
        ends = {f"{name}_low": interval.low, f"{name}_high": interval.high, f"{name}_interval": interval.method}
        row |= {name: measure.value, **ends}
    row |= {f"{d}_n": m.dimensions[d].mae.n for d in DIMENSIONS}
    if standing.spending is not None:
        row |= {field.name: getattr(standing.spending, field.name) for field in fields(Spending)}
    return row
