"""An output directory with made-up figures, ratings, scores and calls as real Parquet tables."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from ratings_made_up import rating

from sfq_ray.evaluate.agreement import nanmean
from sfq_ray.rubric import DIMENSIONS, overall
from sfq_ray.store import Store
from sfq_ray.tables import TABLES, table_from_rows

RATERS = ("ann", "ben", "cat")


def write(out: Path, table: str, rows: Iterable[dict[str, Any]], part: str = "part-00000") -> None:
    store = Store(out)
    store.prepare()
    store.write(table, part, table_from_rows(rows, TABLES[table]))


def figure(paper: str, index: int, **more: Any) -> dict[str, Any]:
    return {
        "figure_id": f"{paper}__fig{index:04d}", "paper_id": paper, "fig_index": index, "caption": "A caption.",
        "contexts": [{"text": "See Figure 1."}], **more,
    }  # fmt: skip


def rated(paper: str, index: int, scores: Iterable[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Ratings of a figure by the first of RATERS, one for each entry of `scores`."""
    key = {"paper_id": paper, "fig_index": index, "figure_id": f"{paper}__fig{index:04d}"}
    return [rating(index, rater, of_rater, **key) for rater, of_rater in zip(RATERS, scores, strict=False)]


def score(run_id: str, paper: str, index: int, scores: tuple[Any, ...] | None, **more: Any) -> dict[str, Any]:
    """A row of scores/; without scores it is a failed one. The run's id names its protocol and model: m-direct."""
    model, _, protocol = run_id.partition("+")[0].rpartition("-")
    row = {
        "run_id": run_id, "figure_id": f"{paper}__fig{index:04d}", "paper_id": paper, "fig_index": index,
        "protocol": protocol, "backend": "openai", "model": model, "status": "failed", "failure": "truncated",
    }  # fmt: skip
    if scores is not None:
        given = dict(zip(DIMENSIONS, scores, strict=True))
        row |= {"status": "scored", "failure": None, "overall": overall(given), **{d.value: given[d] for d in given}}
    return row | more


def sheet(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV file of an evaluation."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


class Made:
    """Gold of three raters on `papers` x `per_paper` figures, and judges at given distances from it."""

    def __init__(self, out: Path, papers: int = 12, per_paper: int = 4, seed: int = 0, rater_sd: float = 1.0) -> None:
        self.out, self.rng = out, np.random.default_rng(seed)
        self.keys = [(f"p{p:03d}", i) for p in range(papers) for i in range(1, per_paper + 1)]
        hard = np.repeat(self.rng.normal(size=papers), per_paper)[:, None, None]
        n = len(self.keys)
        true = 6.5 + hard + self.rng.normal(size=(n, 1, 5))
        self.ratings = np.clip(np.round(true + self.rng.normal(scale=rater_sd, size=(n, 3, 5))), 1, 10)
        self.ratings[self.rng.random(n) < 0.3, :, 3] = np.nan  # never cited
        self.figures = [
            figure(p, i, contexts=[] if np.isnan(r[0, 3]) else [{"text": "See Figure 1."}])
            for (p, i), r in zip(self.keys, self.ratings, strict=True)
        ]
        write(out, "figures", self.figures)
        rows = [row for key, r in zip(self.keys, self.ratings, strict=True) for row in rated(*key, _given(r))]
        write(out, "ratings", rows)

    def run(self, run_id: str, sd: float, skip: Iterable[int] = (), fail: Iterable[int] = (), **more: Any) -> None:
        """Adds a run; figures of `skip` have no row, those of `fail` a failed one. One call for each figure."""
        skip, fail = set(skip), set(fail)
        mean = nanmean(self.ratings, axis=1)
        said = np.clip(np.round(mean + self.rng.normal(scale=sd, size=mean.shape)), 1, 10)
        rows = []
        for place, (key, scores) in enumerate(zip(self.keys, _given(said), strict=True)):
            if place not in skip:
                given = None if place in fail else tuple(None if s is None else int(s) for s in scores)
                rows.append(score(run_id, *key, given, request_ids=[f"{run_id}-{place}"], **more))
        write(self.out, "scores", rows, f"{run_id}.part-00000")

    def call(self, row: dict[str, Any], **more: Any) -> dict[str, Any]:
        """The record of the one call behind a row of scores/."""
        return {
            "request_id": row["request_ids"][0], "figure_id": row["figure_id"], "stage": row["protocol"],
            "backend": row["backend"], "model": row["model"], "prompt_hash": "0", "attempt": 0, **more,
        }  # fmt: skip


def _given(scores: np.ndarray) -> list[tuple[float | None, ...]]:
    return [tuple(None if np.isnan(s) else float(s) for s in row) for row in scores]
