"""Judging of parts of figures/: for every model one part of calls/ (its ledger), for every run one of scores/.

OUT/calls/<model>.part-00000.parquet     OUT/scores/<run>.part-00000.parquet
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from sfq_ray.config import Settings
from sfq_ray.deaths import ALL, Deaths
from sfq_ray.judge.backends import Backend
from sfq_ray.judge.judging import Instance, Judging, all_or_none, instances, score_table
from sfq_ray.judge.ledger import Ledger
from sfq_ray.judge.matrix import Run, groups, models_of
from sfq_ray.places import Place, patient
from sfq_ray.store import Store

PARTS_AT_ONCE = 3  # of a group, so that the end of one part does not leave its models idle


def score_part(run_id: str, part: str) -> str:
    """Name of the part of scores/ that holds a run of a part of figures/."""
    return f"{run_id}.{part}"


class JudgeWorker:
    """Loads each model once; called with units {"todo"}: the ids of the runs, by part.

    Files are read and written in threads: a place that is slow to answer must not let the calls in flight time out.
    Groups of runs that share no model go through the parts side by side, each at its own pace.
    """

    def __init__(
        self, figures: Place, out: Place, settings: Settings, runs: Sequence[Run], load: Callable[[str], Backend],
        job: str, offline: bool = False,
    ) -> None:  # fmt: skip
        self.figures = Store(patient(figures))
        self.store = Store(patient(out))
        self.presence = self.store.join()
        self.runs = {run.id: run for run in runs}
        self.job = job
        self.offline = offline
        self.interrupted = 0  # calls of an earlier run that were paid for perhaps, but never answered
        self.load = load
        self.backends: dict[str, Backend] = {}
        self.loop = asyncio.Runner()  # one for all units: clients and engines belong to their loop
        self.judging = Judging(settings.judge, self.backends)

    def __call__(self, unit: dict[str, Any]) -> dict[str, Any]:
        todo = {part: [self.runs[run_id] for run_id in run_ids] for part, run_ids in unit["todo"].items()}
        runs = list({run.id: run for own in todo.values() for run in own}.values())
        for name in models_of(runs):
            if name not in self.backends:
                self.backends[name] = self.load(name)
        counts: dict[str, Counter[str]] = {run.id: Counter() for run in runs}
        self.loop.run(all_or_none([self._group(group, todo, counts) for group in groups(runs)]))
        interrupted, self.interrupted = self.interrupted, 0
        rows = sum(count.total() for count in counts.values())
        return {"rows": rows, "runs": counts, "interrupted": interrupted}

    async def _group(self, group: list[Run], todo: dict[str, list[Run]], counts: dict[str, Counter[str]]) -> None:
        window = asyncio.Semaphore(PARTS_AT_ONCE)

        async def one(part: str, own: list[Run]) -> None:
            async with window:
                await self._part(part, own, counts)

        mine = {part: [run for run in group if run in runs] for part, runs in todo.items()}
        await all_or_none([one(part, own) for part, own in mine.items() if own])

    async def _part(self, part: str, runs: list[Run], counts: dict[str, Counter[str]]) -> None:
        calls = self.store.root / "calls"
        ledgers = {
            name: await asyncio.to_thread(Ledger, calls, f"{name}.{part}", self.offline)
            for name in sorted(models_of(runs))
        }
        self.interrupted += sum(ledger.interrupted for ledger in ledgers.values())
        table = await asyncio.to_thread(self.figures.read, "figures", part)
        figures = instances(table, self.judging.settings)
        deaths = Deaths(self.store.root / ".work" / f"judge-{runs[0].id}.{part}.json", self.job)
        scores = await self._scores(figures, runs, ledgers, deaths)
        for ledger in ledgers.values():
            await asyncio.to_thread(ledger.close)
        for run_id, rows in scores.items():
            table = score_table(rows)
            # last: it marks the run of the part as done
            await asyncio.to_thread(self.store.write, "scores", score_part(run_id, part), table)
            counts[run_id].update(table["status"].to_pylist())
        deaths.forget()

    async def _scores(
        self, figures: list[Instance], runs: list[Run], ledgers: dict[str, Ledger], deaths: Deaths
    ) -> dict[str, list[dict[str, Any]]]:
        """All figures at once; one by one where the process has died on this part, to find the one that kills it."""
        if not deaths.counts:
            deaths.enter(ALL)
            scores = await self.judging.judge(figures, runs, ledgers)
            deaths.leave()
            return scores
        found: dict[str, list[dict[str, Any]]] = {run.id: [] for run in runs}
        for instance in figures:
            key = instance[1].figure_id
            if deaths.too_many(key):
                own = self.judging.given_up(instance, runs)
            else:
                deaths.enter(key)
                own = await self.judging.judge([instance], runs, ledgers)
                deaths.leave()
            for run_id, rows in own.items():
                found[run_id].extend(rows)
        return found
