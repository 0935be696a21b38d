"""Segments of the ledger: the lines written since its parts were last merged. Each has one writer: no locks.

On a file system a segment is one file that grows. An object store cannot append: there each sync puts the lines
since the last one as an object of its own.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Protocol

from sfq_ray.places import Bucket, Place


class Segment(Protocol):
    lines_outlive_process: bool
    """Without a sync."""
    written: list[Place]
    """Files that hold the lines."""

    def write(self, line: bytes) -> None: ...

    def sync(self) -> None:
        """All lines written before outlive the machine. Runs beside `write` in a thread of its own."""
        ...

    def close(self) -> None: ...


def new_segment(folder: Place, part: str) -> Segment:
    """Raises OSError."""
    name = f"{part}-{uuid.uuid4().hex}"
    if isinstance(folder, Path):
        folder.mkdir(parents=True, exist_ok=True)
        return FileSegment(folder / f"{name}.jsonl")
    return ObjectSegment(folder, name)


class FileSegment:
    lines_outlive_process = True

    def __init__(self, path: Path) -> None:
        self.written: list[Place] = [path]
        self._file = path.open("ab")

    def write(self, line: bytes) -> None:
        self._file.write(line)
        self._file.flush()

    def sync(self) -> None:
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


class ObjectSegment:
    lines_outlive_process = False

    def __init__(self, folder: Bucket, name: str) -> None:
        self.written: list[Place] = []
        self._folder = folder
        self._name = name
        self._lines: list[bytes] = []

    def write(self, line: bytes) -> None:
        self._lines.append(line)

    def sync(self) -> None:
        path = self._folder / f"{self._name}.{len(self.written):06}.jsonl"
        self.written.append(path)
        count = len(self._lines)
        path.write_bytes(b"".join(self._lines[:count]))
        del self._lines[:count]  # not before: what could not be written goes with the next

    def close(self) -> None:
        """Nothing is open; lines that were never synced were never waited for."""
