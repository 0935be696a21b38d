"""A running Ray: the cluster's, or one of the job's own."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray

from sfq_ray.errors import FatalError

KNOCK_S = 10.0


@contextmanager
def session(workers: int | None) -> Iterator[int]:
    """A running Ray, one that is joined already, the cluster's or the job's own. Yields the number of workers."""
    started = not ray.is_initialized()
    if started:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        quiet_loggers()
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


def quiet_loggers() -> None:
    for name in ("ray", "ray.data", "ray.data._internal"):
        logging.getLogger(name).setLevel(logging.ERROR)
