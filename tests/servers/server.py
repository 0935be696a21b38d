"""A server on this machine that speaks the wire protocols of four providers as strictly as they do.

It stands in for the providers, not for a part of this project: a client reaches it with nothing but another base URL.

    with ProtocolServer(script=faulty(0.2, 7, ["429", "500"]), latency_s=0.05) as server:
        ...  # OpenAI, DashScope, GLM, Ark: f"{server.url}/v1"; Anthropic, Gemini, Bedrock: server.url
    assert sum(server.accepted.values()) == 40
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType

from servers import answers, http1, wire_anthropic, wire_bedrock, wire_gemini, wire_openai
from servers.asked import CHARS_PER_TOKEN as CHARS
from servers.asked import REASONING_TOKENS, Asked, Call, Outcome, Refused, Response, Usage, json_response, tokens
from servers.faults import UNCHARGED, Fault, Script, following, refuse, spoil
from servers.limits import Buckets, Limits
from servers.models import MODELS, Model

WIRES: tuple[ModuleType, ...] = (wire_openai, wire_anthropic, wire_gemini, wire_bedrock)
KEYS = ("key-1", "key-2")
GATEWAY_PAGE = b"<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"


@dataclass
class Record:
    """One call as the server saw it. `status` is None while no whole answer has been sent."""

    time: float
    path: str
    content: str
    body: bytes
    key: str | None = None
    model: str | None = None
    stage: str | None = None
    fault: str | None = None
    usage: Usage | None = None  # of accepted calls: what the provider would charge
    status: int | None = None


class ProtocolServer:
    """Serves from a thread of its own inside `with`. An error of the server itself is raised at the end of the block.

    script     which calls meet which fault; see servers.faults
    answer     what the model says where no fault changes it; see servers.answers
    latency_s  from the acceptance of a call to its answer
    state      a file that gets one JSON line for each accepted call, before it is answered
    """

    def __init__(
        self,
        models: Mapping[str, Model] = MODELS,
        keys: Collection[str] = KEYS,
        script: Script | None = None,
        answer: answers.Answer = answers.answer,
        limits: Limits | None = None,
        latency_s: float = 0.0,
        keep_bodies: bool = True,
        port: int = 0,
        state: Path | None = None,
    ) -> None:
        self.models, self.keys, self.answer, self.latency_s = models, keys, answer, latency_s
        self.accepted: Counter[str] = Counter()
        self.requests: list[Record] = []
        self.in_flight = self.in_flight_peak = 0
        self.url = ""
        self._port, self._keep_bodies = port, keep_bodies
        self._fault_of = following(script)
        self._buckets = Buckets(limits)
        self._seen: Counter[str] = Counter()
        self._cached: set[tuple[str, str]] = set()
        self._state = None if state is None else os.open(state, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._errors: list[BaseException] = []
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def answered(self, status: int) -> int:
        """How many calls were answered with this status."""
        return sum(record.status == status for record in self.requests)

    def __enter__(self) -> ProtocolServer:
        self._thread.start()
        self._started.wait()
        self._raise_error()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        if self._state is not None:
            os.close(self._state)
        if kind is None:
            self._raise_error()

    def _raise_error(self) -> None:
        if self._errors:
            raise self._errors[0]

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except OSError as error:  # the port is taken
            self._errors.append(error)
        finally:
            self._started.set()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._connected, "127.0.0.1", self._port)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._started.set()
        await self._stop.wait()
        server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while not writer.is_closing() and (call := await http1.read_call(reader)) is not None:
                await self._handle(call, reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client went away before its answer came, or the server is told to stop
        except Exception as error:  # noqa: BLE001 - raised where the test can see it
            self._errors.append(error)
        finally:
            self._connections.discard(task)
            writer.close()

    async def _handle(self, call: Call, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one call, and counts it as in flight until the answer is sent."""
        record = Record(time.time(), call.path, call.content, call.body if self._keep_bodies else b"")
        self.requests.append(record)
        self.in_flight += 1
        self.in_flight_peak = max(self.in_flight_peak, self.in_flight)
        try:
            response, fault = self._decide(call, record)
            if record.usage is not None:
                await asyncio.sleep(self.latency_s)
            if fault is not None and fault.name == "slow":
                await asyncio.sleep(fault.seconds)
            if record.fault not in ("reset", "hang"):
                record.status = response.status
            await self._send(response, record.fault, reader, writer)
        finally:
            self.in_flight -= 1

    async def _send(
        self, response: Response, fault: str | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if fault == "hang":
            await reader.read()  # returns when the client gives up
            writer.close()
            return
        data = http1.encoded(response)
        writer.write(data[: -len(response.body) // 2] if fault == "reset" else data)
        await writer.drain()
        if fault == "reset":
            http1.reset(writer)

    def _decide(self, call: Call, record: Record) -> tuple[Response, Fault | None]:
        """(answer, the fault that its sending is to meet)."""
        wire = next((wire for wire in WIRES if wire.matches(call.path)), None)
        if wire is None or call.method != "POST":
            return json_response(404, {"error": {"message": f"Invalid URL ({call.method} {call.path})"}}), None
        try:
            asked = self._read(wire, call)
            record.key, record.model, record.stage = asked.key, asked.model, answers.stage_of(asked)
            fault = self._fault_of(asked, self._seen[call.content])
            self._seen[call.content] += 1
            record.fault = None if fault is None else fault.name
            refuse(fault)
            if record.fault == "html_error":
                return Response(502, GATEWAY_PAGE, {"content-type": "text/html"}), fault
            self._buckets.take(asked.key, asked.prompt_tokens)
        except Refused as refused:
            return wire.refusal(refused, call, self.models), None
        outcome = self._outcome(asked, fault)
        self._accept(record, outcome.usage)
        response = wire.reply(asked, outcome)
        body = response.body[: len(response.body) // 2] if record.fault == "not_json_200" else response.body
        headers = {**response.headers, **wire.limit_headers(self._buckets.of(asked.key))}
        return Response(response.status, body, headers), fault

    def _read(self, wire: ModuleType, call: Call) -> Asked:
        try:
            asked: Asked = wire.read(call, self.models, self.keys)
        except (KeyError, TypeError, AttributeError, ValueError) as error:  # a field of another type than is expected
            raise Refused("invalid", f"Malformed request: {error!r}") from error
        return asked

    def _outcome(self, asked: Asked, fault: Fault | None) -> Outcome:
        """The model's words, cut where the call's own limit of tokens cuts them; thinking comes out of that limit."""
        reasoning = REASONING_TOKENS if asked.thinking else 0
        text, finish = spoil(fault, self.answer(answers.stage_of(asked), asked))
        if asked.max_tokens is not None and finish == "stop" and reasoning + tokens(text) > asked.max_tokens:
            text, finish = text[: max(0, asked.max_tokens - reasoning) * CHARS], "length"
        prefix = (asked.model, asked.system)
        system = tokens(asked.system) if asked.caches else 0
        known = prefix in self._cached
        self._cached.add(prefix)
        explicit = asked.record.family in ("anthropic", "bedrock")  # the others charge nothing for writing the cache
        return Outcome(text, finish, Usage(
            prompt=asked.prompt_tokens, completion=reasoning + tokens(text), cached=system if known else 0,
            cache_written=system if explicit and not known else 0, reasoning=reasoning,
        ))  # fmt: skip

    def _accept(self, record: Record, usage: Usage) -> None:
        """From here on a provider would charge the call, whether or not its answer arrives."""
        assert record.fault not in UNCHARGED
        record.usage = usage
        self.accepted[record.content] += 1
        if self._state is not None:
            names = ("time", "content", "path", "model", "key", "stage")
            line = {name: getattr(record, name) for name in names} | {"usage": vars(usage)}
            os.write(self._state, json.dumps(line).encode() + b"\n")
