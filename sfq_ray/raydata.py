"""Ray at the edge: units of work go to a pool of actors, one after the other, and their summaries come back.

The only module besides judge.backends that imports ray. A unit (a part of the tables) is read and written by the
worker itself: neither pages nor images travel through the object store or the driver.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import ray

from sfq_ray.errors import FatalError

IDLE_LIMIT_S = 6 * 3600  # Ray ends a job that yields nothing for half an hour; a part full of slow papers may


class Worker(Protocol):
    """Built once per actor process, then given one unit after the other."""

    def __call__(self, unit: dict[str, Any]) -> dict[str, Any]:
        """Does the unit and returns its summary (JSON-able). Raises FatalError to end the job."""
        ...


class _Actor:
    """Adapts a worker to Ray Data's batches of one row."""

    def __init__(self, build: Callable[[], Worker]) -> None:
        self.worker: Worker | None = None
        self.fatal: str | None = None
        try:
            self.worker = build()
        except FatalError as error:
            self.fatal = str(error)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        # JSON, since Arrow would merge the keys of all dicts in a column
        return {"summary": [json.dumps(self._summary(json.loads(batch["unit"][0])))]}

    def _summary(self, unit: dict[str, Any]) -> dict[str, Any]:
        if self.worker is None:
            return {"fatal": self.fatal}
        try:
            return self.worker(unit)
        except FatalError as error:
            return {"fatal": str(error)}


@contextmanager
def session(workers: int | None) -> Iterator[int]:
    """A running Ray, the job's own or a local one. Yields the number of workers."""
    started = not ray.is_initialized()
    if started:
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        os.environ.setdefault("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
        _quiet_loggers()
        remote = os.environ.get("RAY_ADDRESS")
        local: dict[str, Any] = {} if remote else {"num_cpus": workers or os.cpu_count(), "include_dashboard": False}
        ray.init(log_to_driver=False, logging_level=logging.ERROR, configure_logging=False, **local)
    try:
        yield workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
    finally:
        if started:
            ray.shutdown()


def run_units(
    units: Sequence[dict[str, Any]], build: Callable[[], Worker], workers: int, gpus: float = 0.0
) -> Iterator[dict[str, Any]]:
    """Every unit through one of `workers` actors; yields the summaries as they come, in any order.

    With `gpus` each actor holds so many, and there are no more actors than the cluster's GPUs allow.

    Raises FatalError when a worker says that the job cannot go on. A worker process that dies is replaced and its
    unit given to another; what a unit does about inputs that kill it again and again is its own affair.
    """
    if not units:
        return
    _configure()
    if gpus:
        here = ray.cluster_resources().get("GPU", 0.0)
        if here < gpus:
            raise FatalError(
                f"extract.detector.gpus: {gpus:g} GPUs are asked for each actor, but Ray knows of {here:g}; "
                "set it to 0 for the CPU, or start the job where the GPUs are"
            )
        workers = min(workers, int(here / gpus))
    dataset = ray.data.from_items([{"unit": json.dumps(unit)} for unit in units], override_num_blocks=len(units))
    results = dataset.map_batches(
        _Actor,
        fn_constructor_args=(build,),
        batch_size=1,
        batch_format="numpy",
        compute=ray.data.ActorPoolStrategy(size=min(workers, len(units)), max_tasks_in_flight_per_actor=1),
        num_cpus=1,
        num_gpus=gpus or None,
    )
    for row in results.iter_rows():
        summary = json.loads(row["summary"])
        if summary.get("fatal"):
            raise FatalError(summary["fatal"])
        yield summary


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
