"""The ledger: every reply is on disk before it is used, and a request that has an answer is not made again.

    OUT/calls/<model>.part-00000.parquet        a model's calls for one part of figures/, sorted by request_id
    OUT/calls/_open/<model>.part-00000-*.jsonl  since then: an intent before each call, its outcome after it, or that
                                                it cost nothing

A part of the ledger goes with a part of figures/, so a worker holds the calls of few parts in memory and no more.
Replies and permanent failures are remembered, passing failures are not.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sfq_ray.errors import FatalError
from sfq_ray.judge.backends import Backend, Reply, Usage
from sfq_ray.judge.calls import Request, request_id
from sfq_ray.judge.errors import FAILURES, CallError
from sfq_ray.judge.rendering import prompt_hash
from sfq_ray.judge.segments import Segment, new_segment
from sfq_ray.places import Place
from sfq_ray.store import disk_error, read_parquet, write_parquet
from sfq_ray.tables import CALLS, table_from_rows

DRAIN_S = 60.0


class Ledger:
    """The calls made for one part of figures/. `offline`: nothing is called, a missing reply is a FatalError."""

    def __init__(self, calls: Place, part: str, offline: bool = False) -> None:
        self._final = calls / f"{part}.parquet"
        self._open = calls / "_open"
        self._part = part
        self._offline = offline
        self._records: dict[str, dict[str, Any]] = {}
        self._running: dict[str, asyncio.Future[Reply]] = {}
        self._segment: Segment | None = None
        self._lines = self._synced = 0  # of the segment
        self._syncing = asyncio.Lock()
        self._read_segments: list[Place] = []
        self._changed = False
        self.made = 0
        self.interrupted = 0  # calls that an earlier run had sent without living to see the answer
        self._load()

    async def ask(self, backend: Backend, request: Request) -> tuple[str, Reply]:
        """(request_id, reply): from the ledger, from an equal call under way, or from the backend.

        Raises CallError with the class of the failure, FatalError where the backend cannot be used at all.
        """
        key = request_id(backend, request)
        if key in self._records:
            self._claim(key, request.figure_id)
            return key, _answer(self._records[key])
        if self._offline:
            raise FatalError(
                f"--offline: {self._final} holds no reply for request {key[:12]} ({request.stage}, "
                f"{request.figure_id}); without --offline it is asked for"
            )
        if key not in self._running:
            self._running[key] = asyncio.ensure_future(self._call(key, backend, request))
        reply = await asyncio.shield(self._running[key])
        self._claim(key, request.figure_id)
        return key, reply

    def _claim(self, key: str, figure_id: str) -> None:
        """Of several figures with the same request the first by name stands in the record, whoever asked first."""
        record = self._records[key]
        if figure_id < record["figure_id"]:
            record["figure_id"] = figure_id
            self._changed = True

    async def _call(self, key: str, backend: Backend, request: Request) -> Reply:
        record: dict[str, Any] = {
            "request_id": key, "figure_id": request.figure_id, "stage": request.stage, "backend": backend.name,
            "model": backend.model, "prompt_hash": prompt_hash(request.stage), "image_sha256": request.image_sha256,
            "attempt": request.attempt,
        }  # fmt: skip
        self.made += 1
        segment = self._write({"intent": key})
        try:
            if not segment.lines_outlive_process:
                await self._sync(segment)
            reply = await backend.complete(request)
            await self._append(record | _outcome(reply))
            return reply
        except FatalError:
            self._write({"unsent": key})
            raise
        except CallError as error:
            if not error.maybe_paid:
                self._write({"unsent": key})
            if error.kind == "auth":
                raise FatalError(f"backend {backend.name}: {error}; check the key and run the command again") from None
            if error.permanent:
                await self._append(record | {"error": error.kind, "message": _plain(str(error))})
            raise
        finally:
            self._running.pop(key, None)

    async def drain(self) -> None:
        """Waits for the calls under way, for they are paid for; where that takes too long the rest is given up."""
        running = list(self._running.values())
        if running:
            await asyncio.wait(running, timeout=DRAIN_S)
        for call in running:
            call.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def close(self) -> None:
        """Merges the open segments into the part's Parquet file and removes those it has read or written."""
        segments = list(self._read_segments)
        if self._segment is not None:
            self._segment.close()
            segments.extend(self._segment.written)
            self._segment = None
        if not segments and not self._changed and self._final.exists():
            return
        ordered = [self._records[key] for key in sorted(self._records)]
        write_parquet(table_from_rows(ordered, CALLS), self._final)
        for segment in segments:
            segment.unlink(missing_ok=True)

    async def _append(self, record: dict[str, Any]) -> None:
        """On disk first, then in memory."""
        await self._sync(self._write(record))
        self._records[record["request_id"]] = record

    async def _sync(self, segment: Segment) -> None:
        """Until all that is written now is safe; whoever waits is served by the sync of another that came later."""
        place = self._lines
        async with self._syncing:
            if self._synced < place:
                reached = self._lines
                try:
                    await asyncio.to_thread(segment.sync)
                except OSError as error:
                    raise disk_error(self._open, error) from error
                self._synced = reached

    def _write(self, record: dict[str, Any]) -> Segment:
        """A line of the open segment, not yet synced."""
        try:
            if self._segment is None:
                self._segment = new_segment(self._open, self._part)
            self._segment.write(json.dumps(record).encode() + b"\n")
        except OSError as error:
            raise disk_error(self._open, error) from error
        self._lines += 1
        return self._segment

    def _load(self) -> None:
        found = read_part(self._final.parent, self._part)
        self._records, self._read_segments, self.interrupted = found.records, found.segments, found.interrupted


@dataclass(frozen=True)
class Found:
    """What the ledger holds of a part: records by request id, the open segments, and intents without an outcome."""

    records: dict[str, dict[str, Any]]
    segments: list[Place]
    interrupted: int


def read_part(calls: Place, part: str) -> Found:
    """The merged file of a part and its open segments. Raises FatalError where the file is damaged.

    The segments first: those that a job at work merges meanwhile are in the file then.
    """
    final, intended = calls / f"{part}.parquet", set[str]()
    records: dict[str, dict[str, Any]] = {}
    segments: list[Place] = []
    found: list[Place] = list((calls / "_open").glob(f"{part}-*.jsonl"))
    for segment in sorted(found, key=str):
        try:
            lines = segment.read_bytes().split(b"\n")
        except FileNotFoundError:
            continue  # merged since it was found
        segments.append(segment)
        for record in filter(None, map(_record, lines)):
            if record.get("intent"):
                intended.add(record["intent"])
            elif record.get("unsent"):
                intended.discard(record["unsent"])
            elif record.get("request_id"):
                records.setdefault(record["request_id"], record)
    if final.exists():
        try:
            table = read_parquet(final)
        except (pa.ArrowException, OSError) as error:
            raise FatalError(f"{final}: damaged ({error}); restore it, it holds paid replies") from error
        records |= {row["request_id"]: row for row in table.to_pylist()}
    return Found(records, segments, len(intended - records.keys()))


def _record(line: bytes) -> dict[str, Any] | None:
    """None for the torn last line of a killed writer: that reply was never used."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _plain(text: str) -> str:
    """Without lone surrogates, which JSON can escape and no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _outcome(reply: Reply) -> dict[str, Any]:
    sent = reply.sent
    return {
        "text": _plain(reply.text), "finish_reason": reply.finish_reason, "latency_s": reply.latency_s,
        "usage": None if reply.usage is None else vars(reply.usage),
        "resolved_model": reply.resolved_model, "response_id": reply.response_id,
        "sent": None if sent is None else {
            "sha256": sent.sha256, "media_type": sent.media_type, "width": sent.width, "height": sent.height,
        },
        "expected": [{"dimension": name, "score": score} for name, score in reply.expected.items()],
    }  # fmt: skip


def _answer(record: dict[str, Any]) -> Reply:
    error = record.get("error")
    if error is not None:
        raise CallError(error if error in FAILURES else "bad_request", record.get("message") or "remembered failure")
    usage = record.get("usage")
    return Reply(
        record["text"],
        record["finish_reason"],
        None if usage is None else Usage(**usage),
        record["latency_s"],
        expected={item["dimension"]: item["score"] for item in record.get("expected") or []},
    )
