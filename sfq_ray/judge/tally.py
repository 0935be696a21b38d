"""How far the runs of a judging job are: what is still to do, what came of the rest, and when to stop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sfq_ray.errors import FatalError
from sfq_ray.judge.errors import FAILURES
from sfq_ray.judge.matrix import Run
from sfq_ray.judge.worker import score_part
from sfq_ray.store import Store

PARTS_PER_UNIT = 8  # at most
MIN_SCORES_FOR_RATE = 50  # of a run, before its failures can stop the job


def forget_passing_failures(store: Store, runs: Iterable[Run]) -> None:
    """Removes the parts of scores/ that hold a failure that may have passed; the ledger keeps what was answered."""
    ids = {run.id for run in runs}
    found = {
        part for part, rows in store.narrow("scores", ["failure"])
        if part.rpartition(".")[0] in ids
        and any(failure is not None and not FAILURES[failure] for failure in rows["failure"].unique().to_pylist())
    }  # fmt: skip
    for part in found:
        store.remove("scores", part)


def units(done: Collection[str], parts: Sequence[str], runs: Iterable[Run], workers: int) -> list[dict[str, Any]]:
    """What is still to do, in units for workers: the ids of runs by part of figures/. `done`: parts of scores/.

    A unit has several parts, so that calls need not wait for the end of each, but not so many that other workers idle.
    """
    todo = {part: [run.id for run in runs if score_part(run.id, part) not in done] for part in parts}
    left = [part for part in parts if todo[part]]
    size = max(1, min(PARTS_PER_UNIT, len(left) // workers))
    return [{"todo": {part: todo[part] for part in left[start : start + size]}} for start in range(0, len(left), size)]


class Tally:
    """Scores by run and status, from the tables on and then from the workers' summaries.

    `done`: the parts of scores/ that it began with.
    """

    def __init__(self, store: Store, runs: Iterable[Run], max_failure_rate: float) -> None:
        self.max_failure_rate = max_failure_rate
        self.runs: dict[str, Counter[str]] = {run.id: Counter() for run in runs}
        self.done: set[str] = set()
        for part, rows in store.narrow("scores", ["status"]):
            self.done.add(part)
            count = self.runs.get(part.rpartition(".")[0])
            if count is not None:
                count.update(rows["status"].to_pylist())

    def total(self) -> int:
        return sum(count.total() for count in self.runs.values())

    def add(self, summary: Mapping[str, Mapping[str, int]]) -> Counter[str]:
        """New scores by status. Raises FatalError where too many of a run have failed."""
        new: Counter[str] = Counter()
        for run_id, counts in summary.items():
            new.update(counts)
            self.runs[run_id].update(counts)
            run = self.runs[run_id]
            if run.total() >= MIN_SCORES_FOR_RATE and run["failed"] > self.max_failure_rate * run.total():
                raise FatalError(
                    f"run {run_id}: {run['failed']} of {run.total()} scores failed, more than judge.max_failure_rate="
                    f"{self.max_failure_rate:g} allows. Look at the columns failure and message in scores/."
                )
        return new
