"""Limits of an account, on a clock of the test's own where time matters."""

import asyncio

import pytest

from sfq_ray.errors import FatalError
from sfq_ray.judge.budget import Budget
from sfq_ray.judge.limits import DEBOUNCE_S, FIRST_IN_FLIGHT, Account, TokenBucket


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def released(account, *outcomes):
    async def run():
        for outcome in outcomes:
            await account.release(-1, outcome)

    asyncio.run(run())


def test_the_limit_grows_with_answers_and_not_beyond_its_most():
    account = Account(FIRST_IN_FLIGHT + 2, 60)
    released(account, *["ok"] * 18)
    assert FIRST_IN_FLIGHT + 1 <= account.limit < FIRST_IN_FLIGHT + 2
    released(account, *["ok"] * 500)
    assert account.limit == FIRST_IN_FLIGHT + 2


def test_many_429_at_once_cut_the_limit_once():
    clock = Clock()
    account = Account(100, 60, now=clock)
    released(account, *["rate_limited"] * 10)
    assert account.limit == pytest.approx(0.8 * FIRST_IN_FLIGHT)
    clock.now += DEBOUNCE_S
    released(account, "rate_limited")
    assert account.limit == pytest.approx(0.64 * FIRST_IN_FLIGHT)


def test_a_server_error_only_pauses_growth():
    clock = Clock()
    account = Account(100, 60, now=clock)
    released(account, "unavailable", "ok", "ok")
    assert account.limit == FIRST_IN_FLIGHT
    clock.now += 60
    released(account, "ok")
    assert account.limit > FIRST_IN_FLIGHT


def test_the_limit_never_falls_below_one():
    clock = Clock()
    account = Account(4, 60, now=clock)
    for _ in range(50):
        clock.now += 60
        released(account, "rate_limited")
    assert account.limit == 1.0


def test_a_bucket_lets_through_what_a_minute_allows():
    bucket = TokenBucket(120, 1.0, 0.0)
    assert bucket.wait_s(1, 0.0) == 0.0
    bucket.take(1)
    assert bucket.wait_s(1, 0.0) == pytest.approx(0.5)
    assert bucket.wait_s(1, 0.5) == 0.0
    assert bucket.wait_s(50, 100.0) == 0.0  # it holds two, and a larger call waits for no more than that
    assert TokenBucket(None).wait_s(10**9, 0.0) == 0.0


def test_no_more_calls_are_in_flight_than_allowed_and_each_goes_through():
    account = Account(3, 60)
    peak = done = 0

    async def call():
        nonlocal peak, done
        lease = await account.acquire(10)
        peak = max(peak, account.in_flight)
        await asyncio.sleep(0.002)
        await account.release(lease, "ok")
        done += 1

    async def run():
        await asyncio.gather(*(call() for _ in range(40)))

    asyncio.run(run())
    assert (peak, done, account.in_flight) == (3, 40, 0)


def test_retry_after_stops_everybody():
    account = Account(10, 60)

    async def run():
        loop = asyncio.get_running_loop()
        await account.release(await account.acquire(1), "rate_limited", 0.15)
        begin = loop.time()
        await account.acquire(1)
        return loop.time() - begin

    assert asyncio.run(run()) >= 0.14


def test_requests_per_minute_hold():
    account = Account(50, 60, requests_per_minute=6000)  # 100 a second

    async def run():
        loop = asyncio.get_running_loop()
        begin = loop.time()
        for _ in range(130):
            await account.release(await account.acquire(1), "ok")
        return loop.time() - begin

    assert asyncio.run(run()) >= 0.25  # a hundred at most at once, the rest as they come


def test_the_place_of_a_worker_that_is_gone_is_taken_back():
    clock = Clock()
    account = Account(2, 60, now=clock)

    async def run():
        await account.acquire(1)
        await account.acquire(1)  # neither is given back
        clock.now += 61
        await asyncio.wait_for(account.acquire(1), 1)

    asyncio.run(run())
    assert account.in_flight == 1


def test_a_budget_waits_for_calls_that_may_turn_out_cheaper():
    budget = Budget(1.0)

    async def run():
        first = await budget.reserve(0.8)
        waiting = asyncio.ensure_future(budget.reserve(0.8))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        await budget.settle(first, 0.1)
        await budget.settle(await waiting, 0.7)
        with pytest.raises(FatalError, match=r"0\.8000 of 1\.0000 USD"):
            await budget.reserve(0.8)

    asyncio.run(run())


def test_money_set_aside_by_a_worker_that_is_gone_counts_as_spent():
    clock = Clock()
    budget = Budget(1.0, lease_s=60, now=clock)

    async def run():
        gone = await budget.reserve(0.4)
        clock.now += 61
        await budget.settle(await budget.reserve(0.5), 0.1)
        await budget.settle(gone, 0.0)  # too late: it has been counted
        with pytest.raises(FatalError, match=r"0\.5000 of 1\.0000 USD"):
            await budget.reserve(0.6)

    asyncio.run(run())
