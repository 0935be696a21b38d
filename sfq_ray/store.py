"""One output directory: tables as numbered Parquet parts that appear whole or not at all, and the run manifest.

    OUT/manifest.json              settings, versions, inputs: what this directory was made with
    OUT/papers/part-00000.parquet  one part is one unit of work: it is redone as a whole or not at all
    OUT/figures/part-00000.parquet
    ...

A part is written under a hidden name, synced and renamed, so a reader never sees half a file and a killed job
leaves no trace but a hidden file, which the next one removes. In an object store an upload appears when it is complete.
One job is at work at a time: its lock is that of the file system, or a lease in an object store.
"""

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from sfq_ray.errors import FatalError
from sfq_ray.leases import leased
from sfq_ray.places import Bucket, Place
from sfq_ray.tables import TABLES

WORKERS = ".workers"  # locked by each of them
ORPHANS_S = 60.0  # after which workers that outlive their job are taken for hung
READERS, READ_AHEAD = 16, 512  # threads and parts
ROW_GROUP = 64  # rows: a figure's image has some 100 KB, so a group has some MB


class Store:
    """Reads and writes the tables of one output directory. Methods raise FatalError where the disk is the problem."""

    def __init__(self, root: Place) -> None:
        self.root = root

    def prepare(self) -> None:
        """Creates the directory and sees whether it can be written to."""
        try:
            for name in TABLES:
                (self.root / name).mkdir(parents=True, exist_ok=True)
            probe = self.root / f".write-test-{uuid.uuid4().hex}.tmp"
            probe.write_bytes(b"x")
            probe.unlink(missing_ok=True)
        except OSError as error:
            raise FatalError(
                f"{self.root}: cannot be written to ({error.strerror or error}). Choose another --out or free the place"
            ) from error

    def path(self, table: str, part: str) -> Place:
        return self.root / table / f"{part}.parquet"

    def has(self, table: str, part: str) -> bool:
        return self.path(table, part).exists()

    def parts(self, table: str) -> list[str]:
        """Names of the parts that are there, in order."""
        return sorted(path.stem for path in (self.root / table).glob("*.parquet"))

    def read(self, table: str, part: str, columns: list[str] | None = None) -> pa.Table:
        path = self.path(table, part)
        try:
            return read_parquet(path, columns)
        except (pa.ArrowException, OSError) as error:
            why = str(error).partition("\n")[0]
            raise FatalError(f"{path}: cannot be read as the {table} table ({why}); restore it") from error

    def rows(self, table: str, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
        """All rows of a table, part by part."""
        for part in self.parts(table):
            yield from self.read(table, part, columns).to_pylist()

    def narrow(self, table: str, columns: list[str]) -> Iterator[tuple[str, pa.Table]]:
        """(part, its rows) of small columns, many parts at a time: there may be ten thousands, each far away."""
        parts = self.parts(table)
        with ThreadPoolExecutor(READERS) as pool:
            for start in range(0, len(parts), READ_AHEAD):
                some = parts[start : start + READ_AHEAD]
                yield from zip(some, pool.map(lambda part: self.read(table, part, columns), some), strict=True)

    def write(self, table: str, part: str, rows: pa.Table) -> None:
        """The part, in the table's own schema, at once."""
        schema = TABLES[table]
        if rows.schema != schema:
            rows = rows.cast(schema)
        write_parquet(rows, self.path(table, part))

    def remove(self, table: str, pattern: str) -> None:
        """Parts whose name matches the glob pattern."""
        for path in (self.root / table).glob(f"{pattern}.parquet"):
            path.unlink(missing_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """For the time of a job, once the workers of a job that was killed are gone too. Raises FatalError."""
        if not isinstance(self.root, Path):
            with leased(self.root / ".lock"):
                yield
            return
        with (self.root / ".lock").open("w") as job, (self.root / WORKERS).open("w") as workers:
            if not _flock(job, fcntl.LOCK_EX):
                raise FatalError(f"{self.root}: another job is at work here; wait for it or choose another --out")
            deadline = time.monotonic() + ORPHANS_S
            while not _flock(workers, fcntl.LOCK_EX):
                if time.monotonic() > deadline:
                    raise FatalError(f"{self.root}: workers of a job that was killed are still at work here; end them")
                time.sleep(0.1)
            _flock(workers, fcntl.LOCK_UN)
            self._remove_leftovers()
            yield

    def _remove_leftovers(self) -> None:
        """What a killed job left half written; only whoever holds the lock knows that nobody is still writing it."""
        for name in TABLES:
            for leftover in (self.root / name).glob(".*.tmp"):
                leftover.unlink(missing_ok=True)

    def join(self) -> IO[str] | None:
        """What a worker holds as long as it lives: with it the next job knows whether it is alone."""
        if not isinstance(self.root, Path):
            return None
        file = (self.root / WORKERS).open("w")
        _flock(file, fcntl.LOCK_SH)
        return file

    # ---- the run manifest

    def forget(self, job: str) -> None:
        """Takes what a job said about itself out of the manifest."""
        manifest = self.manifest() or {}
        manifest.pop(job, None)
        self.write_manifest(manifest)

    def manifest(self) -> dict[str, Any] | None:
        path = self.root / "manifest.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(found, dict):
                raise ValueError("it is no object")
            return found
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise FatalError(f"{path}: cannot be read ({error}); restore it or choose another --out") from error

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        text = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
        write_text(self.root / "manifest.json", text)


def read_parquet(path: Place, columns: list[str] | None = None) -> pa.Table:
    """Raises OSError or ArrowException where it is damaged, FatalError where an object store cannot be used."""
    if isinstance(path, Bucket):
        return path.reached(lambda: pq.read_table(path.key, filesystem=path.files, columns=columns))
    return pq.read_table(path, columns=columns)


def write_parquet(rows: pa.Table, path: Place) -> None:
    """The file is there whole or not at all. Raises FatalError."""
    _write_whole(path, lambda file: pq.write_table(rows, file, compression="zstd", row_group_size=ROW_GROUP))


def write_text(path: Place, text: str) -> None:
    """The text in UTF-8 as it is, whole or not at all; its folder is made. Raises FatalError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk_error(path, error) from error
    _write_whole(path, lambda file: file.write(text.encode()))


def _write_whole(path: Place, write: Callable[[IO[bytes]], object]) -> None:
    """Writes, syncs and renames; in an object store uploads what was written."""
    try:
        if isinstance(path, Path):
            _write_and_rename(path, write)
        else:
            buffer = io.BytesIO()
            write(buffer)
            path.write_bytes(buffer.getbuffer())
    except OSError as error:
        raise disk_error(path, error) from error


def _write_and_rename(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    hidden = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with hidden.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(hidden, path)
        _sync(path.parent)
    except OSError:
        hidden.unlink(missing_ok=True)
        raise


def disk_error(path: Place, error: OSError) -> FatalError:
    """What to do about a failed write."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return FatalError(f"{path}: the disk is full. Free some space and run the same command again; it continues.")
    return FatalError(
        f"{path}: cannot be written ({error.strerror or error}). Mend that and run the same command again."
    )


def _flock(file: IO[str], kind: int) -> bool:
    """Whether the lock is held now, or the file system has none."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
    return True


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
