"""Rate limits of an API key: two token buckets that refill continuously, one for requests and one for tokens.

As told by https://platform.claude.com/docs/en/api/rate-limits and https://platform.openai.com/docs/guides/rate-limits
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from servers.asked import Refused


@dataclass(frozen=True)
class Limits:
    """Per key and minute. A bucket holds what flows in during `burst_s`; a larger call waits for a full bucket."""

    requests_per_minute: float = float("inf")
    tokens_per_minute: float = float("inf")
    burst_s: float = 60.0


@dataclass
class Bucket:
    per_minute: float
    capacity: float
    level: float
    filled: float

    def refill(self, now: float) -> None:
        self.level = min(self.capacity, self.level + (now - self.filled) * self.per_minute / 60)
        self.filled = now

    def wait_s(self, amount: float) -> float:
        """Seconds until `amount` can be taken."""
        return max(0.0, (min(amount, self.capacity) - self.level) * 60 / self.per_minute)


class Buckets:
    """The buckets of all keys."""

    def __init__(self, limits: Limits | None) -> None:
        self.limits = limits
        self._of_key: dict[str, dict[str, Bucket]] = {}

    def of(self, key: str) -> dict[str, Bucket]:
        """The key's buckets of what is limited ("requests", "tokens"), filled up to now."""
        if self.limits is None:
            return {}
        now = time.monotonic()
        buckets = self._of_key.setdefault(key, self._new(self.limits, now))
        for bucket in buckets.values():
            bucket.refill(now)
        return buckets

    def take(self, key: str, tokens: int) -> None:
        """One request of so many tokens. Raises Refused, and takes nothing, where the key has to wait."""
        buckets = self.of(key)
        amounts = {"requests": 1, "tokens": tokens}
        for name, bucket in buckets.items():
            wait_s = bucket.wait_s(amounts[name])
            if wait_s > 0:
                raise Refused("rate_limited", name, wait_s=wait_s)
        for name, bucket in buckets.items():
            bucket.level -= amounts[name]

    @staticmethod
    def _new(limits: Limits, now: float) -> dict[str, Bucket]:
        rates = {"requests": limits.requests_per_minute, "tokens": limits.tokens_per_minute}
        sizes = {name: max(1.0, rate * limits.burst_s / 60) for name, rate in rates.items() if rate != float("inf")}
        return {name: Bucket(rates[name], size, size, now) for name, size in sizes.items()}
