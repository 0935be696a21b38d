"""The lock of a job where there are none, in an object store: an object that its holder renews while it lives.

Whoever comes and finds one watches it: where it changes, another job is at work; where it stays the same, that job was
killed, and its place is taken. Clocks are not compared.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sfq_ray.errors import FatalError
from sfq_ray.places import Bucket

RENEW_S = 4.0
WATCH_S = 5 * RENEW_S  # without a change, after which the holder is taken for gone
SETTLE_S = 1.0  # after which of several that took it at the same moment only the last still finds its own name


@contextmanager
def leased(lock: Bucket) -> Iterator[None]:
    """Holds `lock`. Raises FatalError where another job does."""
    mine = uuid.uuid4().hex
    if not _left_alone(lock):
        raise _taken(lock)
    lock.write_text(f"{mine} 0")
    time.sleep(SETTLE_S)
    if _holder(lock) != mine:
        raise _taken(lock)
    over = threading.Event()
    renewing = threading.Thread(target=_renew, args=(lock, mine, over), daemon=True)
    renewing.start()
    try:
        yield
    finally:
        over.set()
        renewing.join()
        with suppress(FatalError):  # what ended the job is to be heard, not that its lock could not be removed
            if _holder(lock) == mine:
                lock.unlink(missing_ok=True)


def _left_alone(lock: Bucket) -> bool:
    """Whether nobody holds it, or whoever did has not renewed it for WATCH_S."""
    found = _text(lock)
    until = time.monotonic() + WATCH_S
    while found is not None and time.monotonic() < until:
        time.sleep(RENEW_S / 2)
        now = _text(lock)
        if now not in (found, None):
            return False
        found = now
    return True


def _renew(lock: Bucket, mine: str, over: threading.Event) -> None:
    """Until it is over; an outage is no reason to stop, another holder is."""
    number = 0
    while not over.wait(RENEW_S):
        number += 1
        try:
            if _holder(lock) not in (mine, None):
                return
            lock.write_text(f"{mine} {number}")
        except FatalError:
            continue


def _holder(lock: Bucket) -> str | None:
    text = _text(lock)
    return None if text is None else text.partition(" ")[0]


def _text(lock: Bucket) -> str | None:
    try:
        return lock.read_text()
    except FileNotFoundError:
        return None


def _taken(lock: Bucket) -> FatalError:
    return FatalError(f"{lock.parent}: another job is at work here; wait for it or choose another --out")
