"""Money: what a job may spend, checked before a call is sent."""

from __future__ import annotations

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

    async def reserve(self, usd: float) -> None:
        if self.spent_usd + self.reserved_usd + usd > self.max_usd:
            raise FatalError(
                f"--max-usd: {self.spent_usd:.2f} of {self.max_usd:.2f} USD are spent and the next call may cost up to "
                f"{usd:.4f} USD; raise it and run the same command again to go on"
            )
        self.reserved_usd += usd

    async def settle(self, reserved_usd: float, paid_usd: float) -> None:
        self.reserved_usd -= reserved_usd
        self.spent_usd += paid_usd
