"""Judging of parts of figures/: for every model one part of calls/ (its ledger), for every run one of scores/.

OUT/calls/<model>.part-00000.parquet     OUT/scores/<run>.part-00000.parquet
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sfq_ray.config import Settings
from sfq_ray.judge.backends import Backend
from sfq_ray.judge.judging import Judging, all_or_none
from sfq_ray.judge.ledger import Ledger
from sfq_ray.judge.matrix import Run
from sfq_ray.store import Store

PARTS_AT_ONCE = 4  # so that the end of one part does not leave the model idle


def score_part(run_id: str, part: str) -> str:
    """Name of the part of scores/ that holds a run of a part of figures/."""
    return f"{run_id}.{part}"


class JudgeWorker:
    """Loads the models of its runs once; called with units {"todo"}: the ids of the runs, by part."""

    def __init__(self, out: str, settings: Settings, runs: Sequence[Run], load: Callable[[str], Backend]) -> None:
        self.store = Store(Path(out))
        self.settings = settings.judge
        self.runs = {run.id: run for run in runs}
        self.load = load
        self.backends: dict[str, Backend] = {}
        self.loop = asyncio.Runner()  # one for all units: clients and engines belong to their loop
        self.judging = Judging(settings.judge, self.backends)

    def __call__(self, unit: dict[str, Any]) -> dict[str, Any]:
        todo = {part: [self.runs[run_id] for run_id in run_ids] for part, run_ids in unit["todo"].items()}
        for name in sorted({name for runs in todo.values() for run in runs for name in run.models}):
            if name not in self.backends:
                self.backends[name] = self.load(name)
        counts: Counter[str] = Counter()
        self.loop.run(self._parts(todo, counts))
        return {"rows": counts.total(), **counts}

    async def _parts(self, todo: dict[str, list[Run]], counts: Counter[str]) -> None:
        window = asyncio.Semaphore(PARTS_AT_ONCE)

        async def one(part: str, runs: list[Run]) -> None:
            async with window:
                counts.update(await self._part(part, runs))

        await all_or_none([one(part, runs) for part, runs in todo.items()])

    async def _part(self, part: str, runs: list[Run]) -> Counter[str]:
        names = {name for run in runs for name in run.models}
        ledgers = {name: Ledger(self.store.root / "calls", f"{name}.{part}") for name in sorted(names)}
        scores = await self.judging.judge_part(self.store.read("figures", part), runs, ledgers)
        for ledger in ledgers.values():
            ledger.close()
        counts: Counter[str] = Counter()
        for run_id, rows in scores.items():
            self.store.write("scores", score_part(run_id, part), rows)  # last: it marks the run of the part as done
            counts.update(rows["status"].to_pylist())
        return counts
