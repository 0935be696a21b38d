"""Money: what a job may spend, checked before a call is sent."""

from __future__ import annotations

import asyncio
from typing import Protocol

from sfq_ray.errors import FatalError


class Purse(Protocol):
    async def reserve(self, usd: float) -> None:
        """Sets aside what a call may cost at most. Raises FatalError where the budget does not reach."""
        ...

    async def settle(self, reserved_usd: float, paid_usd: float) -> None:
        """The call is over and cost `paid_usd`, 0 where it was not answered."""
        ...


class Budget:
    """A purse with `max_usd` in it, of which `spent_usd` went into replies that the ledger already holds."""

    def __init__(self, max_usd: float, spent_usd: float = 0.0) -> None:
        self.max_usd = max_usd
        self.spent_usd = spent_usd
        self.reserved_usd = 0.0
        self._settled = asyncio.Event()

    async def reserve(self, usd: float) -> None:
        """Waits for other calls to be settled while what they cost at most is all that stands in the way."""
        while self.spent_usd + self.reserved_usd + usd > self.max_usd:
            if self.spent_usd + usd > self.max_usd or self.reserved_usd < 1e-9:
                raise FatalError(
                    f"--max-usd: {self.spent_usd:.4f} of {self.max_usd:.4f} USD are spent and the next call may cost "
                    f"up to {usd:.4f} USD; raise it and run the same command again to go on"
                )
            self._settled.clear()
            await self._settled.wait()
        self.reserved_usd += usd

    async def settle(self, reserved_usd: float, paid_usd: float) -> None:
        self.reserved_usd -= reserved_usd
        self.spent_usd += paid_usd
        self._settled.set()
