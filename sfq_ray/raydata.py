"""Ray at the edge: units of work go to a pool of actors, one after the other, and their summaries come back.

The only module besides judge.backends that imports ray. A unit (a part of the tables) is read and written by the
worker itself: neither pages nor images travel through the object store or the driver.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import ray
from ray.util.placement_group import (
    get_placement_group,
    placement_group,
    placement_group_table,
    remove_placement_group,
)
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from sfq_ray.config import ConfigError
from sfq_ray.errors import FatalError
from sfq_ray.judge.budget import Budget
from sfq_ray.judge.limits import Account

MAX_WAITING = 1_000_000  # calls that wait at the gates at once; were it reached, none that gives back got through
STOPPED = "stopped before the end; run the same command again to continue"
MAX_REBIRTHS = 50
KNOCK_S = 10.0
IDLE_LIMIT_S = 6 * 3600  # Ray ends a job that yields nothing for half an hour; a part full of slow papers may


Halt = Callable[[str], object]
"""Told why, no call is let through any more."""


@dataclass(frozen=True)
class Actors:
    """How many actors work at the same time, and what each takes of the cluster beside one CPU.

    `bundles`: for an engine that spreads itself over nodes through Ray: one bundle of resources for each of its
    processes. The actor and the processes live in a placement group of these, so Ray knows of all that they hold.
    """

    fewest: int
    most: int
    gpus: float = 0.0  # of the actor itself
    asked_by: str = ""  # the setting to change where there are not so many GPUs
    bundles: tuple[Mapping[str, float], ...] = ()

    @property
    def all_gpus(self) -> float:
        return self.gpus + sum(bundle.get("GPU", 0.0) for bundle in self.bundles)


class Worker(Protocol):
    """Built once per actor process, then given one unit after the other."""

    def __call__(self, unit: dict[str, Any]) -> dict[str, Any]:
        """Does the unit and returns its summary (JSON-able). Raises FatalError to end the job."""
        ...


class _Stop:
    """Told by the worker that finds that the job cannot go on; asked by the others before each unit.

    Workers that die over one input are the affair of the unit; those that only die, whatever it is, end the job.
    """

    def __init__(self, most_births: int) -> None:
        self.most_births = most_births
        self.why: str | None = None
        self.born = 0  # processes since a unit was last finished

    def birth(self) -> None:
        self.born += 1
        if self.born > self.most_births:
            self.why = self.why or (
                f"{self.born} worker processes were started and none finished a unit of work: rather the machine, a "
                "driver or an engine is to blame than the inputs. Mend that and run the same command again"
            )

    def finished(self) -> None:
        self.born = 0

    def told(self, why: str | None = None) -> str | None:
        self.why = self.why or why
        return self.why


class _Actor:
    """Adapts a worker to Ray Data's batches of one row."""

    def __init__(self, build: Callable[[], Worker], stop: Any) -> None:
        self.stop = stop
        self.worker: Worker | None = None
        self.fatal: str | None = None
        stop.birth.remote()
        try:
            self.worker = build()
        except (FatalError, ConfigError) as error:
            self.fatal = str(error)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        # JSON, since Arrow would merge the keys of all dicts in a column
        return {"summary": [json.dumps(self._summary(json.loads(batch["unit"][0])))]}

    def _summary(self, unit: dict[str, Any]) -> dict[str, Any]:
        why = ray.get(self.stop.told.remote(self.fatal))
        if self.worker is None or why is not None:
            return {"fatal": why}
        try:
            summary = self.worker(unit)
        except (FatalError, ConfigError) as error:
            return {"fatal": ray.get(self.stop.told.remote(str(error)))}
        self.stop.finished.remote()
        return summary


@contextmanager
def session(workers: int | None) -> Iterator[int]:
    """A running Ray, the job's own or a local one. Yields the number of workers."""
    started = not ray.is_initialized()
    if started:
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        os.environ.setdefault("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
        _quiet_loggers()
        _start(os.environ.get("RAY_ADDRESS"), workers)
    try:
        yield workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
    finally:
        if started:
            ray.shutdown()


def _start(address: str | None, workers: int | None) -> None:
    """Joins the cluster at `address`, or starts a Ray of the job's own, whatever other one runs on this machine."""
    local = {"address": "local", "num_cpus": workers or os.cpu_count(), "include_dashboard": False}
    options: dict[str, Any] = {"address": address} if address else local
    try:
        _knock(address)
        ray.init(log_to_driver=False, logging_level=logging.ERROR, configure_logging=False, **options)
    except (OSError, ray.exceptions.RayError) as error:
        raise FatalError(
            f"RAY_ADDRESS={address}: no Ray answers there ({str(error).splitlines()[0]}). Start it, or give every "
            "node and this one its token (RAY_AUTH_TOKEN_PATH), or unset RAY_ADDRESS to run on this machine alone"
        ) from error


def _knock(address: str | None) -> None:
    """Raises OSError where nobody listens at host:port: Ray itself would try for a long time without a word."""
    host, _, port = (address or "").rpartition(":")
    if port.isdigit() and "/" not in host:
        socket.create_connection((host, int(port)), KNOCK_S).close()


def run_units(
    units: Sequence[dict[str, Any]], build: Callable[[], Worker], actors: Actors, halt: Halt | None = None
) -> Iterator[dict[str, Any]]:
    """Every unit through one of the actors; yields the summaries as they come, in any order.

    There are no more actors than the cluster's GPUs allow. With `halt` an end before the end (an interrupt, or whoever
    takes the summaries gives up) lets workers finish the calls they have in flight.

    Raises FatalError when a worker says that the job cannot go on, after the others have finished the units that they
    are at: what these have in flight is paid for. A worker process that dies is replaced and its
    unit given to another; what a unit does about inputs that kill it again and again is its own affair.
    """
    if not units:
        return
    _configure()
    fewest, most = _pool_size(actors, len(units))
    groups = uuid.uuid4().hex
    stop = ray.remote(_Stop).options(num_cpus=0).remote(most + MAX_REBIRTHS)
    dataset = ray.data.from_items([{"unit": json.dumps(unit)} for unit in units], override_num_blocks=len(units))
    results = dataset.map_batches(
        _Actor,
        fn_constructor_args=(build, stop),
        batch_size=1,
        batch_format="numpy",
        compute=ray.data.ActorPoolStrategy(min_size=fewest, max_size=most, max_tasks_in_flight_per_actor=1),
        num_cpus=1,
        num_gpus=actors.gpus or None,
        ray_remote_args_fn=partial(_in_group, actors.bundles, groups) if actors.bundles else None,
    )
    fatal: str | None = None
    rows = iter(results.iter_rows())
    with _ended_early(stop, halt) as end:
        try:
            for row in rows:
                summary = json.loads(row["summary"])
                if summary.get("fatal"):
                    fatal = summary["fatal"]
                else:
                    yield summary
        except GeneratorExit:
            if halt is not None:
                end()
                for _ in rows:
                    continue
            raise
        finally:
            if actors.bundles:
                _remove_groups(groups)
    if fatal is not None:
        raise FatalError(fatal)


@contextmanager
def _ended_early(stop: Any, halt: Halt | None) -> Iterator[Callable[[], None]]:
    """Yields what ends the job early; the first SIGINT or SIGTERM does so too, a second one at once.

    Raises KeyboardInterrupt at the end where there was a signal. A handler must not call Ray, so a thread does.
    """
    asked = threading.Event()

    def tell() -> None:
        asked.wait()
        if halt is not None:
            stop.told.remote(STOPPED)
            halt(STOPPED)

    def handle(number: int, frame: object) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        sys.stderr.write("\nsfq: finishing the calls in flight; once more to stop at once\n")

    if halt is None or threading.current_thread() is not threading.main_thread():
        yield asked.set
        return
    threading.Thread(target=tell, daemon=True).start()
    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if asked.is_set():
        raise KeyboardInterrupt


def _pool_size(actors: Actors, units: int) -> tuple[int, int]:
    """Fewest and most actors that the work and the cluster's GPUs allow. Raises FatalError where they allow none."""
    most = min(actors.most, units)
    if actors.all_gpus:
        here = ray.cluster_resources().get("GPU", 0.0)
        if here < actors.all_gpus:
            raise FatalError(
                f"{actors.asked_by}: {actors.all_gpus:g} GPUs are asked for each actor, but Ray knows of {here:g}; "
                "set it to 0 for the CPU, or start the job where the GPUs are"
            )
        most = min(most, int(here / actors.all_gpus))
    return min(actors.fewest, most), most


def _in_group(bundles: Sequence[Mapping[str, float]], groups: str) -> dict[str, Any]:
    """Where the next actor goes: a placement group of its own, which what it starts takes part in."""
    name = f"{groups}-{uuid.uuid4().hex}"
    group = placement_group([dict(bundle) for bundle in bundles], strategy="PACK", name=name)
    strategy = PlacementGroupSchedulingStrategy(group, placement_group_capture_child_tasks=True)
    return {"scheduling_strategy": strategy}


def _remove_groups(groups: str) -> None:
    """By their names: Ray Data makes them out of sight."""
    for group in placement_group_table().values():
        if group["name"].startswith(groups) and group["state"] != "REMOVED":
            remove_placement_group(get_placement_group(group["name"]))


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


def _configure() -> None:
    context = ray.data.DataContext.get_current()
    _quiet_loggers()  # once more: Ray Data sets its own levels when it is first used
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.execution_options.preserve_order = False
    context.execution_no_progress_timeout_s = IDLE_LIMIT_S


def _quiet_loggers() -> None:
    for name in ("ray", "ray.data", "ray.data._internal"):
        logging.getLogger(name).setLevel(logging.ERROR)
