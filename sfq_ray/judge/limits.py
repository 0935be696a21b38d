"""What one provider account may be sent at once: calls in flight, requests and tokens per minute.

The number of calls in flight adapts: it grows by one for as many answers as it counts, shrinks by a fifth when one is
answered 429 (once for all calls under way then), and does not grow for a while after a server error.
Retry-After stops everybody.
One Account is shared by all workers of a job (raydata.shared); it knows no clock but `now` and no Ray.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

FIRST_IN_FLIGHT = 16
CUT = 0.8
DEBOUNCE_S = 5.0  # calls that were under way when the limit was cut do not cut it again
GROWTH_PAUSE_S = 5.0
LONGEST_PAUSE_S = 120.0  # of everybody, whatever Retry-After says
BURST_S = 1.0  # a bucket holds what so many seconds bring, but one call at least
LOOK_AGAIN_S = 5.0  # while all places are taken


class Gate(Protocol):
    """Leave to send one call."""

    async def acquire(self, tokens: int) -> int:
        """Waits until a call of about `tokens` tokens may be sent; returns the lease of its place."""
        ...

    async def release(self, lease: int, outcome: str, retry_after_s: float | None = None) -> None:
        """Gives the place back. outcome: ok, rate_limited, unavailable, or any other."""
        ...


@dataclass
class TokenBucket:
    """A token bucket of `per_minute`; None is no limit."""

    per_minute: float | None
    level: float = 0.0
    filled_at: float = 0.0

    def wait_s(self, amount: float, now: float) -> float:
        """Seconds until `amount` is there. More than the bucket can hold counts as all that it can hold."""
        if self.per_minute is None:
            return 0.0
        rate, most = self.per_minute / 60, max(1.0, self.per_minute / 60 * BURST_S)
        self.level = min(most, self.level + (now - self.filled_at) * rate)
        self.filled_at = now
        return max(0.0, (min(amount, most) - self.level) / rate)

    def take(self, amount: float) -> None:
        self.level -= amount


class Account:
    """The limits of one account. Calls are let through in the order in which they came.

    A place that is not given back within `lease_s`, since its worker is gone, is taken back.
    """

    def __init__(
        self,
        max_in_flight: int,
        lease_s: float,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.max_in_flight = max_in_flight
        self.lease_s = lease_s
        self.limit = float(min(FIRST_IN_FLIGHT, max_in_flight))
        self._now = now
        self._leases: dict[int, float] = {}  # since when
        self._numbers = itertools.count()
        self._buckets = (TokenBucket(requests_per_minute, 1.0, now()), TokenBucket(tokens_per_minute, 0.0, now()))
        self._stopped_until = self._no_cut_until = self._no_growth_until = now()
        self._turn = asyncio.Lock()
        self._freed = asyncio.Event()

    @property
    def in_flight(self) -> int:
        return len(self._leases)

    async def acquire(self, tokens: int) -> int:
        async with self._turn:
            while (wait := self._wait_s(tokens)) > 0:
                self._freed.clear()
                try:
                    await asyncio.wait_for(self._freed.wait(), wait)
                except TimeoutError:
                    continue
            for bucket, amount in zip(self._buckets, (1, tokens), strict=True):
                bucket.take(amount)
            lease = next(self._numbers)
            self._leases[lease] = self._now()
            return lease

    async def release(self, lease: int, outcome: str, retry_after_s: float | None = None) -> None:
        now = self._now()
        self._leases.pop(lease, None)
        if outcome == "rate_limited":
            if now >= self._no_cut_until:
                self.limit = max(1.0, self.limit * CUT)
                self._no_cut_until = now + DEBOUNCE_S
            self._stopped_until = max(self._stopped_until, now + min(retry_after_s or 0.0, LONGEST_PAUSE_S))
        elif outcome == "unavailable":
            self._no_growth_until = now + GROWTH_PAUSE_S
        elif now >= max(self._no_growth_until, self._no_cut_until):
            self.limit = min(float(self.max_in_flight), self.limit + 1 / self.limit)
        self._freed.set()

    def _wait_s(self, tokens: int) -> float:
        now = self._now()
        for lease in [lease for lease, since in self._leases.items() if since < now - self.lease_s]:
            del self._leases[lease]
        waits = [bucket.wait_s(amount, now) for bucket, amount in zip(self._buckets, (1, tokens), strict=True)]
        full = LOOK_AGAIN_S if self.in_flight >= int(self.limit) else 0.0
        return max(*waits, full, self._stopped_until - now)
