"""Sending a request until it is answered or given up: the one place that retries.

Only what may pass is sent again (429, timeouts, server errors), after Retry-After or a random part of a growing wait
(full jitter), until the deadline. The SDKs' own retries are off.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sfq_ray.errors import FatalError
from sfq_ray.judge.backends import Backend, Reply, Usage
from sfq_ray.judge.budget import Purse
from sfq_ray.judge.calls import Request
from sfq_ray.judge.errors import RETRIED, CallError
from sfq_ray.judge.limits import Gate
from sfq_ray.judge.prices import Price, cost

FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 30.0
CHARS_PER_TOKEN = 4
IMAGE_TOKENS = 1600  # about what providers count for a figure; limits per minute and budgets rest on it, nothing else


def size_in_tokens(request: Request) -> int:
    """About how many input tokens the request has."""
    chars = len(request.system) + len(request.user)
    return chars // CHARS_PER_TOKEN + (IMAGE_TOKENS if request.image is not None else 0)


async def answered(backend: Backend, request: Request) -> Reply:
    """The backend's reply. Whatever an answer of an unforeseen form breaks in its SDK is a CallError too."""
    try:
        reply = await backend.complete(request)
    except (CallError, FatalError):
        raise
    except Exception as error:  # noqa: BLE001 - one odd answer must not end the job
        why = f"the answer cannot be read ({type(error).__name__})"
        raise CallError("unavailable", why, maybe_paid=True) from None
    if not isinstance(reply.text, str):
        raise CallError("unavailable", f"the answer's text is a {type(reply.text).__name__}", maybe_paid=True)
    return reply


@dataclass
class Sender:
    """A backend behind the gate of its account and the purse of the job; a Backend itself.

    `deadline_s`: for all attempts of a request and the waits between them, the queue at the gate apart.
    `price`, `max_output_tokens`: what a call costs at most; needed where there is a purse.
    """

    backend: Backend
    gate: Gate
    deadline_s: float
    purse: Purse | None = None
    price: Price | None = None
    max_output_tokens: int = 0
    jitter: random.Random = field(default_factory=random.Random)  # no result rests on it

    @property
    def name(self) -> str:
        return self.backend.name

    @property
    def model(self) -> str:
        return self.backend.model

    @property
    def params(self) -> Mapping[str, Any]:
        return self.backend.params

    @property
    def reads_measurements(self) -> bool:
        return self.backend.reads_measurements

    async def complete(self, request: Request) -> Reply:
        """The reply. Raises CallError with the last failure, FatalError where the budget is spent."""
        left, longest = self.deadline_s, FIRST_WAIT_S
        while True:
            lease = await self.gate.acquire(size_in_tokens(request))
            most, receipt = await self._reserve(request, lease)
            begin = time.monotonic()
            try:
                reply = await self._attempt(request, left, lease)
            except CallError as error:
                await self._settle(receipt, most if error.maybe_paid else 0.0)
                left -= time.monotonic() - begin
                wait = error.retry_after_s or self.jitter.uniform(0, longest)
                if error.kind not in RETRIED or wait >= left:
                    raise
            else:
                paid = self._cost(reply.usage)
                await self._settle(receipt, most if paid is None else paid)
                return reply
            await asyncio.sleep(wait)
            left, longest = left - wait, min(LONGEST_WAIT_S, 2 * longest)

    async def _attempt(self, request: Request, left_s: float, lease: int) -> Reply:
        """One call; gives its place at the gate back whatever happens."""
        outcome, pause = "other", None
        try:
            async with asyncio.timeout(max(1.0, left_s)):
                reply = await answered(self.backend, request)
            outcome = "ok"
            return reply
        except TimeoutError:
            outcome = "unavailable"
            why = f"no reply within the deadline of {self.deadline_s:g} s"
            raise CallError("timeout", why, maybe_paid=True) from None
        except CallError as error:
            outcome, pause = error.kind, error.retry_after_s
            raise
        finally:
            await self.gate.release(lease, outcome, pause)

    async def _reserve(self, request: Request, lease: int) -> tuple[float, int]:
        """Sets money aside: USD and the receipt. The place at the gate is given back where there is none."""
        if self.purse is None:
            return 0.0, 0
        most = self._cost(Usage(size_in_tokens(request), self.max_output_tokens, 0)) or 0.0
        try:
            return most, await self.purse.reserve(most)
        except BaseException:
            await self.gate.release(lease, "other")
            raise

    async def _settle(self, receipt: int, paid: float) -> None:
        if self.purse is not None:
            await self.purse.settle(receipt, paid)

    def _cost(self, usage: Usage | None) -> float | None:
        return None if self.price is None else cost(usage, self.price.name, {self.price.name: self.price})
