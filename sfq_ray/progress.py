"""Progress a person can read: one line that is rewritten on a terminal, one line now and then in a log."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Mapping
from typing import TextIO

LOG_EVERY_S = 10.0


class Progress:
    """Counts done units of `total` and prints "stage 12/40 papers, 61 figures kept, 3 dropped, ETA 1 min 10 s"."""

    def __init__(self, stage: str, unit: str, total: int, stream: TextIO | None = None) -> None:
        self.stage, self.unit, self.total = stage, unit, total
        self.stream = stream or sys.stderr
        self.counts: Counter[str] = Counter()
        self.done = 0
        self.started = time.monotonic()
        self._printed = self.started
        self._live = self.stream.isatty()

    def add(self, done: int, counts: Mapping[str, int]) -> None:
        """`done` more units, with what came of them."""
        self.done += done
        self.counts.update(counts)
        now = time.monotonic()
        if self._live:
            self._write(f"\r\x1b[2K{self.line(now)}")
        elif now - self._printed >= LOG_EVERY_S and self.done < self.total:  # `close` prints the last line
            self._printed = now
            self._write(self.line(now) + "\n")

    def close(self) -> float:
        """Prints the last line; returns the seconds spent."""
        now = time.monotonic()
        self._write(("\r\x1b[2K" if self._live else "") + self.line(now) + "\n")
        return now - self.started

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()

    def line(self, now: float) -> str:
        spent = now - self.started
        counts = "".join(f", {number:,} {name}" for name, number in self.counts.items() if number)
        if self.done >= self.total:
            return f"{self.stage}: {self.done:,} {self.unit}{counts}, {span(spent)}"
        left = f", ETA {span(spent / self.done * (self.total - self.done))}" if self.done else ""
        return f"{self.stage}: {self.done:,}/{self.total:,} {self.unit}{counts}{left}"


def span(seconds: float) -> str:
    """Seconds as "8 s", "2 min 05 s" or "3 h 10 min"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
