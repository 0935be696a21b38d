"""Papers are parsed in a child process that can be killed: a crash, hang or memory bomb costs one row.

Signals and threads cannot stop native code, a process can. The child stays warm and is replaced after a failure and
after `limits.papers_per_child` papers. What it sends back is JSON and Arrow, never pickle: it has read hostile input.
"""

from __future__ import annotations

import io
import json
import os
import resource
import select
import struct
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from sfq_ray.config import Extract
from sfq_ray.errors import ExtractError
from sfq_ray.extract.layouts import NOTHING_SEEN, Region, SeenPages
from sfq_ray.geometry import Box
from sfq_ray.tables import BOX, FIGURES

HEADER = struct.Struct("<cQ")  # b"r" (result) or b"e" (error), length in bytes
IMPORT_SECONDS = 60.0  # the first paper of a child also pays for its imports
EXTRA = [pa.field("image_boxes", pa.list_(pa.list_(pa.float32()))), pa.field("image_dpis", pa.list_(pa.float32()))]
DERIVED = {"figure_id", "paper_id"}  # set by the parent
WIRE = pa.schema([field.with_nullable(True) for field in FIGURES if field.name not in DERIVED] + EXTRA)
PAGE_WIRE = pa.schema(
    [("page", pa.int32()), ("box", BOX), ("height", pa.int32()), ("width", pa.int32()), ("pixels", pa.large_binary())]
)


class PaperReader:
    """Extracts papers one after the other in one warm child process."""

    def __init__(self, settings: Extract) -> None:
        self.settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._papers = 0

    def read(self, path: Path, seen: SeenPages = NOTHING_SEEN) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Facts of the paper (pages, title, warnings) and its figure rows (see extract.paper.Paper).

        Raises ExtractError: the child's own, or timeout, out_of_memory or crashed.
        """
        table = self._ask({"path": str(path), "seen": asdict(seen)})
        return json.loads(table.schema.metadata[b"paper"]), table.to_pylist()

    def pages_to_see(self, path: Path) -> list[tuple[int, Box, np.ndarray]]:
        """Pages for a layout detector (see extract.paper.pages_to_see). Raises ExtractError like `read`."""
        rows = self._ask({"path": str(path), "seen": None}).to_pylist()
        return [
            (
                row["page"],
                Box(*row["box"]),
                np.frombuffer(row["pixels"], np.uint8).reshape(row["height"], row["width"], 3),
            )
            for row in rows
        ]

    def _ask(self, request: dict[str, Any]) -> pa.Table:
        if self._papers >= self.settings.limits.papers_per_child:
            self.close()
        fresh = self._process is None
        process = self._process or self._start()
        self._papers += 1
        seconds = self.settings.limits.seconds_per_paper
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            kind, payload = self._receive(process, time.monotonic() + seconds + (IMPORT_SECONDS if fresh else 0.0))
        except TimeoutError:
            self.close()
            raise ExtractError(
                "timeout", f"parsing took more than {seconds:g} s (limits.seconds_per_paper); raise it or skip the file"
            ) from None
        except (EOFError, BrokenPipeError):
            raise self._died(process) from None
        if kind == b"e":
            failure = json.loads(payload)
            if failure["kind"] in ("out_of_memory", "internal"):
                self.close()
            raise ExtractError(failure["kind"], failure["message"])
        return pa.ipc.open_stream(payload).read_all()

    def close(self) -> None:
        """Kills the child, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
        self._process, self._papers = None, 0

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "sfq_ray.extract.child", self.settings.model_dump_json()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        return self._process

    def _died(self, process: subprocess.Popen[bytes]) -> ExtractError:
        code = process.wait()
        self.close()
        if code == -9:
            return ExtractError("out_of_memory", "the parser was killed by the system, most likely for its memory")
        if code == 1:  # Python itself gave up, which a file cannot make it do
            return ExtractError("crashed", "the parser could not run; limits.memory_mb may be too low to load it")
        return ExtractError("crashed", f"the parser crashed on this file (exit status {code})")

    @staticmethod
    def _receive(process: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bytes]:
        """One framed answer. Raises TimeoutError or EOFError."""
        assert process.stdout is not None
        descriptor = process.stdout.fileno()
        buffer = bytearray()
        wanted = HEADER.size
        kind = b""
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise TimeoutError
            chunk = os.read(descriptor, 1 << 20)
            if not chunk:
                raise EOFError
            buffer += chunk
            if not kind and len(buffer) >= HEADER.size:
                kind, length = HEADER.unpack(bytes(buffer[: HEADER.size]))
                wanted = HEADER.size + length
            if kind and len(buffer) >= wanted:
                return kind, bytes(buffer[HEADER.size : wanted])


def serve(settings: Extract, requests: BinaryIO, replies: BinaryIO) -> None:
    """The child: one JSON request a line, one framed answer each, until the requests end."""
    for line in requests:
        request = json.loads(line)
        kind, payload = _answer(Path(request["path"]), request["seen"], settings)
        replies.write(HEADER.pack(kind, len(payload)))
        replies.write(payload)
        replies.flush()


def _paper_table(path: Path, seen: dict[str, Any], settings: Extract) -> pa.Table:
    from sfq_ray.extract.paper import extract_paper  # the imports count against the first paper's time, not start-up

    regions = {
        int(number): [Region(r["label"], r["score"], Box(*r["bbox"])) for r in found]
        for number, found in seen["regions"].items()
    }
    failures = {int(number): why for number, why in seen["failures"].items()}
    paper = extract_paper(path, settings, SeenPages(regions, failures))
    facts = {"pages": paper.pages, "title": paper.title, "warnings": paper.warnings}
    rows = [{name: row.get(name) for name in WIRE.names} for row in paper.figures]
    return pa.Table.from_pylist(rows, schema=WIRE.with_metadata({b"paper": json.dumps(facts).encode()}))


def _pages_table(path: Path, settings: Extract) -> pa.Table:
    from sfq_ray.extract.paper import pages_to_see

    rows = [
        {"page": number, "box": list(box), "height": image.shape[0], "width": image.shape[1], "pixels": image.tobytes()}
        for number, box, image in pages_to_see(path, settings)
    ]
    return pa.Table.from_pylist(rows, schema=PAGE_WIRE)


def _answer(path: Path, seen: dict[str, Any] | None, settings: Extract) -> tuple[bytes, bytes]:
    """`seen` is None where the pages for a layout detector are asked for."""
    try:
        table = _pages_table(path, settings) if seen is None else _paper_table(path, seen, settings)
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return b"r", sink.getvalue()
    except ExtractError as error:
        return _failure(error.kind, str(error))
    except MemoryError:
        return _failure("out_of_memory", _memory_text(settings))
    except Exception as error:  # noqa: BLE001  whatever a hostile file provokes belongs on its row
        if "malloc" in str(error) or "alloc" in str(error).lower():
            return _failure("out_of_memory", _memory_text(settings))
        return _failure("internal", f"{type(error).__name__}: {error}"[:500])


def _memory_text(settings: Extract) -> str:
    return f"parsing needs more than {settings.limits.memory_mb} MiB (limits.memory_mb)"


def _failure(kind: str, message: str) -> tuple[bytes, bytes]:
    return b"e", json.dumps({"kind": kind, "message": message}).encode()


def main() -> None:
    settings = Extract.model_validate_json(sys.argv[1])
    limit = settings.limits.memory_mb << 20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not end up between the answers
    serve(settings, sys.stdin.buffer, replies)


if __name__ == "__main__":
    main()
