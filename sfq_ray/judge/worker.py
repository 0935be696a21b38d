"""Judging of one part of figures/: one part of calls/ (the ledger) and one of scores/."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from sfq_ray.config import Settings
from sfq_ray.judge.judging import Judging
from sfq_ray.judge.ledger import Ledger
from sfq_ray.store import Store


class JudgeWorker:
    """Holds one loaded backend; called with a unit {"part"}."""

    def __init__(self, out: str, settings: Settings) -> None:
        self.store = Store(Path(out))
        self.judging = Judging(settings.judge)

    def __call__(self, unit: dict[str, Any]) -> dict[str, Any]:
        part = unit["part"]
        ledger = Ledger(self.store.root / "calls", part)
        scores = self.judging.judge_part(self.store.read("figures", part), ledger)
        ledger.close()
        self.store.write("scores", part, scores)  # last: it marks the part as done
        return {"rows": scores.num_rows, **Counter(scores["status"].to_pylist())}
