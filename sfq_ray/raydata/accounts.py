"""Limits and money that all workers of a job share: one process that they ask before each call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import ray

from sfq_ray.errors import FatalError
from sfq_ray.judge.budget import Budget
from sfq_ray.judge.limits import Account

MAX_WAITING = 1_000_000  # calls that wait at the gates at once; were it reached, none that gives back got through
Halt = Callable[[str], object]
"""Told why, no call is let through any more."""


class _Shared:
    """The accounts and the purse of a job in one process, asked by all of its workers."""

    def __init__(self, limits: Mapping[str, Mapping[str, Any]], budget: Mapping[str, Any] | None) -> None:
        self.accounts = {name: Account(**limit) for name, limit in limits.items()}
        self.budget = None if budget is None else Budget(**budget)
        self.halted: str | None = None
        self.halting = asyncio.Event()

    async def halt(self, why: str) -> None:
        self.halted = why
        self.halting.set()

    async def acquire(self, account: str, tokens: int) -> int | str:
        """The lease, or why no call is let through any more."""
        lease = asyncio.ensure_future(self.accounts[account].acquire(tokens))
        halted = asyncio.ensure_future(self.halting.wait())
        await asyncio.wait({lease, halted}, return_when=asyncio.FIRST_COMPLETED)
        halted.cancel()
        if self.halted is None:
            return lease.result()
        lease.cancel()
        return self.halted

    async def release(self, account: str, lease: int, outcome: str, retry_after_s: float | None) -> None:
        await self.accounts[account].release(lease, outcome, retry_after_s)

    async def reserve(self, usd: float) -> int | str:
        """The receipt, or what is wrong, since an exception would come back wrapped."""
        assert self.budget is not None
        try:
            return await self.budget.reserve(usd)
        except FatalError as error:
            return str(error)

    async def settle(self, receipt: int, paid_usd: float) -> None:
        assert self.budget is not None
        await self.budget.settle(receipt, paid_usd)


@dataclass(frozen=True)
class SharedGate:
    """The gate of one account (judge.limits.Gate) for all workers."""

    actor: Any
    account: str

    async def acquire(self, tokens: int) -> int:
        lease: int | str = await self.actor.acquire.remote(self.account, tokens)
        if isinstance(lease, str):
            raise FatalError(lease)
        return lease

    async def release(self, lease: int, outcome: str, retry_after_s: float | None = None) -> None:
        self.actor.release.remote(self.account, lease, outcome, retry_after_s)


@dataclass(frozen=True)
class SharedPurse:
    """The purse of the job (judge.budget.Purse) for all workers."""

    actor: Any

    async def reserve(self, usd: float) -> int:
        receipt: int | str = await self.actor.reserve.remote(usd)
        if isinstance(receipt, str):
            raise FatalError(receipt)
        return receipt

    async def settle(self, receipt: int, paid_usd: float) -> None:
        await self.actor.settle.remote(receipt, paid_usd)


def shared(
    limits: Mapping[str, Mapping[str, Any]], budget: Mapping[str, float] | None
) -> tuple[dict[str, SharedGate], SharedPurse | None, Halt]:
    """Gates by account and the purse, of the arguments of Account and Budget, and what shuts all gates.

    They live as long as the handles to them do.
    """
    actor = ray.remote(_Shared).options(num_cpus=0, max_concurrency=MAX_WAITING).remote(limits, budget)
    gates = {name: SharedGate(actor, name) for name in limits}
    return gates, None if budget is None else SharedPurse(actor), actor.halt.remote
