"""Units of work through a pool of actors of Ray Data."""

from __future__ import annotations

import json
import signal
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
from sfq_ray.raydata.accounts import Halt
from sfq_ray.raydata.session import quiet_loggers

STOPPED = "stopped before the end; run the same command again to continue"
MAX_REBIRTHS = 50
IDLE_LIMIT_S = 6 * 3600  # Ray ends a job that yields nothing for half an hour; a part full of slow papers may


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


def run_units(
    units: Sequence[dict[str, Any]], build: Callable[[], Worker], actors: Actors, halt: Halt | None = None
) -> Iterator[dict[str, Any]]:
    """Every unit through one of the actors; yields the summaries as they come, in any order.

    There are no more actors than the cluster's GPUs allow. With `halt` an end before the end (an interrupt, or whoever
    takes the summaries gives up) lets workers finish the calls they have in flight.

    Raises FatalError when a worker says that the job cannot go on, after the others have finished the units that they
    are at: what these have in flight is paid for. A worker process that dies is replaced and its unit given to another;
    what a unit does about inputs that kill it again and again is its own affair, unless no unit at all gets finished.
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


def _configure() -> None:
    context = ray.data.DataContext.get_current()
    quiet_loggers()  # once more: Ray Data sets its own levels when it is first used
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.execution_options.preserve_order = False
    context.execution_no_progress_timeout_s = IDLE_LIMIT_S
