"""Judging against a server of known speed: calls per second beside the ideal, refused calls, our own CPU time per call.

    python benchmarks/judge_speed.py OUT [--latency 0.2] [--in-flight 64] [--per-minute 1200] [--repeat 6]

OUT is an output directory of `sfq extract`. The server (tests/servers) answers every call `--latency` s after it came,
for one model of the OpenAI protocol. Two jobs of `--repeat` runs Direct each: one without a limit, whose ideal is
in-flight / latency calls per second, and one with a limit of `--per-minute` requests that the model's record states
too, whose ideal is that limit. The rate is taken over the middle 80 % of the calls, so Ray's start and the ends do not
count. CPU time is that of the worker process: Python's start and imports, rendering, hashing, ledger, the decoding of
images to see whether they fit, base64, HTTP.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import yaml

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
        record = {
            "backend": "openai", "model": MODEL, "base_url": f"{server.url}/v1", "key_env": "BENCH_KEY",
            "source": "user", "dialect": "openai_strict", "requests_per_minute": per_minute,
        }  # fmt: skip
        (place / "models.yaml").write_text(yaml.safe_dump({MODEL: record}))
        (place / "matrix.yaml").write_text(
            yaml.safe_dump({"runs": [{"id": "B", "protocol": "direct", "model": MODEL}]})
        )
        (place / "config.yaml").write_text(yaml.safe_dump({"judge": {"calls_in_flight": args.in_flight}}))
        process = subprocess.Popen(
            [sys.executable, "-m", "sfq_ray.cli", "judge", str(out), "--out", str(place / "out"), "--workers", "1",
             "--matrix", str(place / "matrix.yaml"), "--models", str(place / "models.yaml"),
             "--config", str(place / "config.yaml"), "--repeat", str(args.repeat)],
            cwd=ROOT, env=os.environ | {"BENCH_KEY": "key-1"}, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        cpu = watched(process)
        return list(server.requests), cpu


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
    for title, per_minute, ideal in (
        ("without a limit", None, args.in_flight / args.latency),
        (f"{args.per_minute:g} requests a minute", args.per_minute, args.per_minute / 60),
    ):
        records, cpu = job(args.out, args, per_minute)
        done = sorted(record.time for record in records if record.status == 200)
        first, last = len(done) // 10, len(done) - len(done) // 10 - 1
        rate = (last - first) / (done[last] - done[first])
        refused = sum(record.status == 429 for record in records)
        sys.stdout.write(
            f"{title}: {len(done)} calls, {rate:.1f} calls/s of an ideal {ideal:.1f} ({rate / ideal:.0%}), {refused} "
            f"answered 429, {1000 * cpu / len(done):.1f} ms of the worker's CPU a call, its start included\n"
        )


if __name__ == "__main__":
    main()
