"""Judging of figures: every run asked for, many figures at once, one scores/ row for each (run, figure)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pyarrow as pa

from sfq_ray.config import Judge
from sfq_ray.deaths import MAX_DEATHS
from sfq_ray.judge.backends import Backend
from sfq_ray.judge.calls import Figure, Request, figure_of
from sfq_ray.judge.errors import CallError
from sfq_ray.judge.ledger import Ledger
from sfq_ray.judge.matrix import Run
from sfq_ray.judge.parse import parse
from sfq_ray.judge.protocols import PROTOCOLS, Judged, Judges
from sfq_ray.judge.schemas import REPLIES, Reply
from sfq_ray.rubric import DIMENSIONS
from sfq_ray.tables import SCORES, figure_state, table_from_rows

STAGES = tuple(REPLIES)
REASKED = frozenset({"empty", "truncated", "whitespace_loop", "invalid_json", "schema_violation"})
READY = 2  # requests rendered or being written down for each call in flight, so that none waits for the other
Row = Mapping[str, Any]
Instance = tuple[Row, Figure]
Result = TypeVar("Result")


@dataclass
class _Trail:
    """What a score came from."""

    used: dict[tuple[int, int], str] = field(default_factory=dict)  # (stage of the protocol, attempt) -> request_id
    expected: dict[str, float] = field(default_factory=dict)


class Judging:
    """Loaded backends, by name of their model, that answer for all runs."""

    def __init__(self, settings: Judge, backends: Mapping[str, Backend]) -> None:
        self.settings = settings
        self.backends = backends
        self.places: dict[str, asyncio.Semaphore] = {}  # by model: a slow one does not take those of another

    async def judge(
        self, instances: Sequence[Instance], runs: Sequence[Run], ledgers: Mapping[str, Ledger]
    ) -> dict[str, list[dict[str, Any]]]:
        """scores/ rows of the figures by run id. `ledgers`: by name of the model."""
        work = [(run, row, figure) for run in runs for row, figure in instances if run.judges(figure.figure_id)]
        try:
            scores = await all_or_none([self._score(row, figure, run, ledgers) for run, row, figure in work])
        finally:
            await _to_the_end([ledger.drain() for ledger in ledgers.values()])
        found: dict[str, list[dict[str, Any]]] = {run.id: [] for run in runs}
        for (run, _, _), score in zip(work, scores, strict=True):
            found[run.id].append(score)
        return found

    def given_up(self, instance: Instance, runs: Sequence[Run]) -> dict[str, list[dict[str, Any]]]:
        """The rows of a figure whose judging ends the process."""
        why = f"the worker process died {MAX_DEATHS} times while it judged this figure"
        lost = {"status": "failed", "failure": "engine_dead", "message": why, "request_ids": []}
        key = instance[1].figure_id
        return {run.id: [self._about(instance[0], run) | lost] for run in runs if run.judges(key)}

    async def _score(self, row: Row, figure: Figure, run: Run, ledgers: Mapping[str, Ledger]) -> dict[str, Any]:
        """The row of one figure in one run: scored, gated or failed, never missing."""
        judges = Judges(self.backends[run.vision], self.backends[run.language])
        result = self._about(row, run)
        if not figure.gates:
            why = "neither a caption nor a citing paragraph"
            return result | {"status": "gated", "message": why, "request_ids": []}
        trail = _Trail()
        names = {id(judges.vision): run.vision, id(judges.language): run.language}

        async def ask(request: Request, backend: Backend) -> Reply:
            request = replace(request, repeat=run.repeat)
            name = names[id(backend)]
            async with self.places.setdefault(name, asyncio.Semaphore(READY * self.settings.calls_in_flight)):
                return await self._reply(request, backend, figure, ledgers[name], trail)

        try:
            judged = await PROTOCOLS[run.protocol](figure, ask, judges)
        except CallError as error:
            outcome = {"status": "failed", "failure": error.kind, "message": str(error)}
        else:
            outcome = _columns(judged, trail.expected) | {"status": "scored"}
        return result | outcome | {"request_ids": [trail.used[key] for key in sorted(trail.used)]}

    def _about(self, row: Row, run: Run) -> dict[str, Any]:
        vision, language = self.backends[run.vision], self.backends[run.language]
        return {
            "run_id": run.id, "protocol": run.protocol, "backend": vision.name,
            "model": " + ".join(dict.fromkeys((vision.model, language.model))),
            **{name: row[name] for name in ("figure_id", "paper_id", "fig_index", "venue", "year")},
        }  # fmt: skip

    async def _reply(self, request: Request, backend: Backend, figure: Figure, ledger: Ledger, trail: _Trail) -> Reply:
        """A valid reply, asked for once more with the problem where the first was invalid. Raises CallError."""
        try:
            return await _valid(request, backend, figure, ledger, trail)
        except CallError as error:
            if not self.settings.reask or error.kind not in REASKED:
                raise
            return await _valid(request.asked_again(str(error)), backend, figure, ledger, trail)


def instances(figures: pa.Table, settings: Judge) -> list[Instance]:
    """The kept figures of a part, as judges see them."""
    rows = figures.to_pylist()
    papers: dict[str, list[Row]] = {}
    for row in rows:
        papers.setdefault(row["paper_id"], []).append(row)
    return [
        (row, figure_of(row, settings, papers[row["paper_id"]] if settings.figure_map else ()))
        for row in rows
        if figure_state(row) == "kept"
    ]


async def all_or_none(work: Sequence[Coroutine[Any, Any, Result]]) -> list[Result]:
    """The results of all; where one raises the others are cancelled and have ended before that goes on."""
    tasks = [asyncio.ensure_future(item) for item in work]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def _to_the_end(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Does all of it, though it is cancelled meanwhile; that is passed on afterwards."""
    tasks, cancelled = [asyncio.ensure_future(item) for item in work], False
    while not all(task.done() for task in tasks):
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            cancelled = True
    for task in tasks:
        task.result()
    if cancelled:
        raise asyncio.CancelledError


async def _valid(request: Request, backend: Backend, figure: Figure, ledger: Ledger, trail: _Trail) -> Reply:
    key, reply = await ledger.ask(backend, request)
    trail.used[STAGES.index(request.stage), request.attempt] = key
    trail.expected.update(reply.expected)
    return parse(request.stage, reply, figure.available)


def score_table(rows: list[dict[str, Any]]) -> pa.Table:
    rows.sort(key=lambda row: (row["paper_id"], row["fig_index"]))
    return table_from_rows(rows, SCORES)


def _columns(judged: Judged, expected: Mapping[str, float]) -> dict[str, Any]:
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
            f"{dimension}_expected": expected.get(dimension) if judgement else None,
        }
    return columns
