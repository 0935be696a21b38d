"""Judging against a server of known speed: calls per second beside the ideal, refused calls, our own CPU time per call.

    python benchmarks/judge_speed.py OUT [--latency 0.2] [--in-flight 64] [--per-minute 1200] [--repeat 6]

OUT is an output directory of `sfq extract`. The server (tests/servers) answers every call `--latency` s after it came,
for one model of the OpenAI protocol. First a bare loop of the provider's SDK, `--in-flight` calls at once, sends the
requests of the figures, rendered and encoded before; then a job of `--repeat` runs Direct without a limit, beside the
rate of the bare loop; then one with a limit of `--per-minute` requests that the model's record states too, beside that
limit. Rates are taken over the middle 80 % of the calls, so Ray's start and the ends do not count. CPU time is that of
the worker process: Python's start and imports, rendering, hashing, ledger, images, HTTP.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
import yaml

from sfq_ray.config import Judge
from sfq_ray.judge.backends.openai import OpenAIBackend
from sfq_ray.judge.backends.provider import image_of
from sfq_ray.judge.calls import Request, direct_call, figure_of
from sfq_ray.judge.capabilities import Model as CapableModel
from sfq_ray.store import Store

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from servers import Limits, Model, ProtocolServer, Record  # noqa: E402 - lies beside the tests

MODEL = "bench"


def job(out: Path, args: argparse.Namespace, per_minute: float | None) -> tuple[list[Record], float]:
    """The server's records of the job's calls, and the CPU seconds of its workers."""
    limits = None if per_minute is None else Limits(requests_per_minute=per_minute, burst_s=2.0)
    served = {MODEL: Model("openai")}
    with tempfile.TemporaryDirectory() as folder, ProtocolServer(
        models=served, latency_s=args.latency, limits=limits, keep_bodies=False
    ) as server:  # fmt: skip
        place = Path(folder)
        (place / "models.yaml").write_text(yaml.safe_dump({MODEL: record_of(f"{server.url}/v1", per_minute)}))
        (place / "matrix.yaml").write_text(
            yaml.safe_dump({"runs": [{"id": "B", "protocol": "direct", "model": MODEL}]})
        )
        (place / "config.yaml").write_text(yaml.safe_dump({"judge": {"calls_in_flight": args.in_flight}}))
        process = subprocess.Popen(
            [sys.executable, "-m", "sfq_ray.cli", "judge", str(out), "--out", str(place / "out"), "--workers", "1",
             "--matrix", str(place / "matrix.yaml"), "--models", str(place / "models.yaml"),
             "--config", str(place / "config.yaml"), "--repeat", str(args.repeat)],
            cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        cpu = watched(process)
        return list(server.requests), cpu


def bare(out: Path, args: argparse.Namespace) -> list[Record]:
    """The server's records of a loop of the SDK over requests that are rendered and encoded before."""
    store, settings = Store(out), Judge()
    rows = [row for row in store.rows("figures") if row["dropped"] is None and row["error"] is None]
    with ProtocolServer(models={MODEL: Model("openai")}, latency_s=args.latency, keep_bodies=False) as server:
        record = record_of(f"{server.url}/v1", None)
        backend = OpenAIBackend(CapableModel.model_validate({"name": MODEL, **record}), settings)
        requests = [direct_call(figure_of(row, settings), backend) for row in rows]

        async def loop() -> None:
            places = asyncio.Semaphore(args.in_flight)

            async def one(request: Request) -> None:
                async with places:
                    await backend.complete(request)

            for request in requests:
                image_of(request, backend.record)  # kept for the calls
            await asyncio.gather(*(one(request) for _ in range(args.repeat) for request in requests))
            await backend.client.close()

        asyncio.run(loop())
        return list(server.requests)


def record_of(url: str, per_minute: float | None) -> dict[str, Any]:
    return {
        "backend": "openai", "model": MODEL, "base_url": url, "key_env": "BENCH_KEY", "source": "user",
        "dialect": "openai_strict", "requests_per_minute": per_minute,
    }  # fmt: skip


def rate_of(records: list[Record]) -> float:
    """Calls per second over the middle 80 % of those answered."""
    done = sorted(record.time for record in records if record.status == 200)
    first, last = len(done) // 10, len(done) - len(done) // 10 - 1
    return (last - first) / (done[last] - done[first])


def watched(process: subprocess.Popen[bytes]) -> float:
    """Waits for the job; the CPU seconds that its worker processes had used when last seen."""
    used: dict[int, float] = {}
    while process.poll() is None:
        for child in psutil.process_iter(["pid", "name", "cmdline", "cpu_times"]):
            line = " ".join(child.info["cmdline"] or [])
            if line.startswith("ray::") and "MapWorker" in line and child.info["cpu_times"]:
                times = child.info["cpu_times"]
                used[child.info["pid"]] = times.user + times.system
        time.sleep(0.2)
    return sum(used.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--per-minute", type=float, default=1200)
    parser.add_argument("--repeat", type=int, default=6)
    args = parser.parse_args()
    os.environ["BENCH_KEY"] = "key-1"
    loop = rate_of(bare(args.out, args))
    sys.stdout.write(f"bare loop of the SDK, {args.in_flight} calls in flight: {loop:.1f} calls/s\n")
    for title, per_minute, ideal in (
        ("without a limit", None, loop),
        (f"{args.per_minute:g} requests a minute", args.per_minute, args.per_minute / 60),
    ):
        records, cpu = job(args.out, args, per_minute)
        done, rate = sum(record.status == 200 for record in records), rate_of(records)
        refused = sum(record.status == 429 for record in records)
        sys.stdout.write(
            f"{title}: {done} calls, {rate:.1f} calls/s beside {ideal:.1f} ({rate / ideal:.0%}), {refused} "
            f"answered 429, {1000 * cpu / done:.1f} ms of the worker's CPU a call, its start included\n"
        )


if __name__ == "__main__":
    main()
