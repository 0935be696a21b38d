"""Money: what a job may spend, checked before a call is sent."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from typing import Protocol

from sfq_ray.errors import FatalError

LOOK_AGAIN_S = 5.0


class Purse(Protocol):
    async def reserve(self, usd: float) -> int:
        """Sets aside what a call may cost at most; its receipt. Raises FatalError where the budget does not reach."""
        ...

    async def settle(self, receipt: int, paid_usd: float) -> None:
        """The call is over and cost `paid_usd`, 0 where the provider refused it."""
        ...


class Budget:
    """A purse with `max_usd` in it, of which `spent_usd` went into replies that the ledger already holds.

    A call that is not settled within `lease_s`, since its worker is gone, counts as paid at its most.
    """

    def __init__(
        self, max_usd: float, spent_usd: float = 0.0, lease_s: float = 3600.0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.max_usd = max_usd
        self.spent_usd = spent_usd
        self.lease_s = lease_s
        self._now = now
        self._reserved: dict[int, tuple[float, float]] = {}  # by receipt: USD, since when
        self._receipts = itertools.count()
        self._settled = asyncio.Event()

    @property
    def reserved_usd(self) -> float:
        return sum(usd for usd, _ in self._reserved.values())

    async def reserve(self, usd: float) -> int:
        """Waits for other calls to be settled while what they cost at most is all that stands in the way."""
        while self._short_of(usd):
            if self.spent_usd + usd > self.max_usd or not self._reserved:
                raise FatalError(
                    f"--max-usd: {self.spent_usd:.4f} of {self.max_usd:.4f} USD are spent and the next call may cost "
                    f"up to {usd:.4f} USD; raise it and run the same command again to go on"
                )
            self._settled.clear()
            try:
                await asyncio.wait_for(self._settled.wait(), LOOK_AGAIN_S)
            except TimeoutError:
                continue
        receipt = next(self._receipts)
        self._reserved[receipt] = usd, self._now()
        return receipt

    async def settle(self, receipt: int, paid_usd: float) -> None:
        if self._reserved.pop(receipt, None) is not None:  # else its time was over, and it has been counted
            self.spent_usd += paid_usd
        self._settled.set()

    def _short_of(self, usd: float) -> bool:
        gone = [receipt for receipt, (_, since) in self._reserved.items() if since < self._now() - self.lease_s]
        for receipt in gone:
            self.spent_usd += self._reserved.pop(receipt)[0]
        return self.spent_usd + self.reserved_usd + usd > self.max_usd
