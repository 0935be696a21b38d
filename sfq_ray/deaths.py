"""Rows that end the worker process itself, as native code can: Ray starts another and would try them for ever."""

from __future__ import annotations

import json

from sfq_ray.places import Place
from sfq_ray.store import disk_error

ALL = "several at once"  # rows of a part, where they are worked on together
MAX_DEATHS = 2  # of the process on one row within a job, after which the row has failed


class Deaths:
    """How often the process died on which paper (or figure, or ALL), so that one that kills it is bounded.

    Kept in a small file beside the tables, since the process that could remember is gone. Deaths of another job
    (the whole job was killed) do not count.
    """

    def __init__(self, path: Place, job: str) -> None:
        self.path = path
        self.job = job
        self.current: str | None = None
        self.counts: dict[str, int] = {}
        try:
            seen = json.loads(path.read_text())
        except (OSError, ValueError):
            seen = {}
        if seen.get("job") == job:
            self.counts = seen["counts"]
            if seen["current"] is not None:
                self.counts[seen["current"]] = self.counts.get(seen["current"], 0) + 1

    def too_many(self, key: str) -> bool:
        return self.counts.get(key, 0) >= MAX_DEATHS

    def enter(self, key: str) -> None:
        self.current = key
        self._write()

    def leave(self) -> None:
        self.current = None
        self._write()

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)

    def _write(self) -> None:
        try:
            self.path.parent.mkdir(exist_ok=True)
            self.path.write_text(json.dumps({"job": self.job, "current": self.current, "counts": self.counts}))
        except OSError as error:
            raise disk_error(self.path, error) from error
