"""Judging of figures: every protocol asked for, many figures at once, one scores/ row for each (run, figure)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from sfq_ray.config import Judge
from sfq_ray.errors import FatalError
from sfq_ray.judge.backends import Backend, load_backend
from sfq_ray.judge.calls import Figure, Request, figure_of
from sfq_ray.judge.errors import CallError
from sfq_ray.judge.ledger import Ledger
from sfq_ray.judge.parse import parse
from sfq_ray.judge.protocols import PROTOCOLS, Judged
from sfq_ray.judge.schemas import REPLIES, Reply
from sfq_ray.rubric import DIMENSIONS
from sfq_ray.tables import SCORES, table_from_rows

STAGES = tuple(REPLIES)
REASKED = frozenset({"empty", "truncated", "whitespace_loop", "invalid_json", "schema_violation"})


class Judging:
    """One loaded backend that runs all protocols of the settings. Raises ConfigError for an unknown backend."""

    def __init__(self, settings: Judge, backend: Backend | None = None) -> None:
        self.settings = settings
        self.backend = backend or load_backend(settings.backend)

    def judge_part(self, figures: pa.Table, ledger: Ledger) -> pa.Table:
        """scores/ rows of the kept figures, sorted by run, paper and figure."""
        rows = [row for row in figures.to_pylist() if row["dropped"] is None and row["error"] is None]
        scores = asyncio.run(self._judge(rows, ledger))
        scores.sort(key=lambda row: (row["run_id"], row["paper_id"], row["fig_index"]))
        return table_from_rows(scores, SCORES)

    async def _judge(self, rows: Sequence[Mapping[str, Any]], ledger: Ledger) -> list[dict[str, Any]]:
        places = asyncio.Semaphore(self.settings.calls_in_flight)
        tasks = [
            asyncio.ensure_future(self._score(row, protocol, ledger, places))
            for row in rows
            for protocol in self.settings.protocols
        ]
        try:
            return list(await asyncio.gather(*tasks))
        except FatalError:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    async def _score(
        self, row: Mapping[str, Any], protocol: str, ledger: Ledger, places: asyncio.Semaphore
    ) -> dict[str, Any]:
        """The row of one figure under one protocol: scored, gated or failed, never missing."""
        result: dict[str, Any] = {
            "run_id": f"{self.backend.name}-{protocol}", "protocol": protocol, "backend": self.backend.name,
            "model": self.backend.model,
            **{name: row[name] for name in ("figure_id", "paper_id", "fig_index", "venue", "year")},
        }  # fmt: skip
        figure = figure_of(row, self.settings)
        if not figure.gates:
            return result | {
                "status": "gated",
                "message": "neither a caption nor a citing paragraph",
                "request_ids": [],
            }
        used: dict[tuple[int, int], str] = {}  # (place of the stage in the protocol, attempt) -> request_id

        async def ask(request: Request) -> Reply:
            async with places:
                return await self._reply(request, figure, ledger, used)

        try:
            judged = await PROTOCOLS[protocol](figure, ask, self.backend)
        except CallError as error:
            outcome = {"status": "failed", "failure": error.kind, "message": str(error)}
        else:
            outcome = _columns(judged) | {"status": "scored"}
        return result | outcome | {"request_ids": [used[key] for key in sorted(used)]}

    async def _reply(self, request: Request, figure: Figure, ledger: Ledger, used: dict[tuple[int, int], str]) -> Reply:
        """A valid reply, asked for once more with the problem where the first was invalid. Raises CallError."""
        try:
            return await self._valid(request, figure, ledger, used)
        except CallError as error:
            if not self.settings.reask or error.kind not in REASKED:
                raise
            return await self._valid(request.asked_again(str(error)), figure, ledger, used)

    async def _valid(self, request: Request, figure: Figure, ledger: Ledger, used: dict[tuple[int, int], str]) -> Reply:
        key, reply = await ledger.ask(self.backend, request)
        used[STAGES.index(request.stage), request.attempt] = key
        return parse(request.stage, reply, figure.available)


def _columns(judged: Judged) -> dict[str, Any]:
    scored = judged.scored
    columns: dict[str, Any] = {
        "overall": scored.overall, "caps": list(scored.caps), "summary": judged.summary,
        "suggestion": judged.suggestion,
    }  # fmt: skip
    for dimension in DIMENSIONS:
        judgement = judged.judgements.get(dimension) if dimension in scored.scores else None
        columns |= {
            dimension.value: scored.scores.get(dimension),
            f"{dimension}_proposed": scored.proposed.get(dimension),
            f"{dimension}_owner": scored.owners.get(dimension),
            f"{dimension}_reason": judgement.reason if judgement else None,
            f"{dimension}_confidence": judgement.confidence if judgement else None,
        }
    return columns
