"""`sfq extract` with one worker against two on the same files, or the memory of a job while it works.

    python benchmarks/scaling.py PDFS... [--copies 4] [--rounds 1] [--ocr rapidocr]
    python benchmarks/scaling.py PDFS... --memory [--copies 4] [--workers 2] [--ocr rapidocr]

The job gets every file `--copies` times, pass after pass, each copy with a comment of its own behind its end, since
equal bytes would be dropped as duplicates. It runs as a command of its own; its processes (the command is the driver;
Ray's; the workers; their parser children) are sampled every half second.

Rate: papers per second from the end of the first pass to the end of the last but one, by the times at which the parts
were written, so that Ray's start, imports and the idle end do not count. With it CPU seconds per paper and the cores
that the job really had in that time: on a busy machine two workers cannot have two. Prints the ratio round by round.

Memory: RSS in MiB, mean of the samples in each twentieth of the papers, by kind of process (pages shared between
processes count in each), and its slope over the second half by least squares, in MiB per 100 papers.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pyarrow.parquet as pq

from sfq_ray.inputs import collect

SAMPLE_S = 0.5
POINTS = 20
KINDS = ("driver", "ray", "workers", "parsers")


@dataclass(frozen=True)
class Sample:
    time: float  # s since the epoch, as in a file's mtime
    papers: int  # done so far
    cpu: float  # s, of all processes of the job that were seen so far
    rss: Counter[str]  # MiB by kind of process


def copied(paths: Sequence[Path], number: int, folder: Path) -> None:
    """The files `number` times, in passes; copies differ by a comment behind the end of the PDF."""
    for turn in range(number):
        for path in paths:
            target = folder / f"{turn:04d}-{path.name}"
            target.write_bytes(path.read_bytes() + b"\n%% copy %d\n" % turn)


def run_job(folder: Path, out: Path, workers: int, ocr: str) -> list[Sample]:
    """Runs the command to its end. Exits where it fails."""
    command = [sys.executable, "-m", "sfq_ray.cli", "extract", str(folder), "--out", str(out)]
    command += ["--workers", str(workers), "--ocr", ocr]
    with tempfile.TemporaryFile("w+") as log:
        job = subprocess.Popen(command, stdout=log, stderr=log)
        cpu: dict[psutil.Process, float] = {}
        samples = []
        while job.poll() is None:
            samples.append(_sample(job.pid, out, cpu))
            time.sleep(SAMPLE_S)
        if job.returncode:
            log.seek(0)
            sys.exit(f"sfq extract failed:\n{log.read()}")
    return samples


def _sample(pid: int, out: Path, cpu: dict[psutil.Process, float]) -> Sample:
    rss: Counter[str] = Counter()
    try:
        processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        processes = []
    for process in processes:
        try:
            kind = "driver" if process.pid == pid else _kind(process.cmdline())
            rss[kind] += process.memory_info().rss / 2**20
            cpu[process] = sum(process.cpu_times()[:2])
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return Sample(time.time(), sum(rows for _, rows in finished(out)), sum(cpu.values()), rss)


def _kind(command: Sequence[str]) -> str:
    if "sfq_ray.extract.child" in command:
        return "parsers"
    return "workers" if command and command[0].startswith("ray::") else "ray"


def finished(out: Path) -> list[tuple[float, int]]:
    """When each part was written, s since the epoch, and its papers, in the order of time."""
    parts = (out / "papers").glob("part-*.parquet")
    return sorted((part.stat().st_mtime, pq.read_metadata(part).num_rows) for part in parts)


def steady(parts: Sequence[tuple[float, int]], samples: Sequence[Sample], turn: int, turns: int) -> tuple[float, ...]:
    """Papers/s, CPU s/paper and cores used between the first pass of `turn` papers and the last of `turns`."""
    times, done = np.array([t for t, _ in parts]), np.cumsum([n for _, n in parts])
    first, last = (int(np.searchsorted(done, wanted)) for wanted in (turn, turn * (turns - 1)))
    papers, seconds = done[last] - done[first], times[last] - times[first]
    cpu = np.interp(times[[first, last]], [s.time for s in samples], [s.cpu for s in samples])
    return papers / seconds, (cpu[1] - cpu[0]) / papers, (cpu[1] - cpu[0]) / seconds


def rates(paths: Sequence[Path], turns: int, rounds: int, ocr: str) -> None:
    for number in range(rounds):
        found = {}
        for workers in (1, 2):
            with tempfile.TemporaryDirectory() as name:
                folder, out = Path(name) / "pdfs", Path(name) / "out"
                folder.mkdir()
                copied(paths, turns, folder)
                samples = run_job(folder, out, workers, ocr)
                found[workers] = steady(finished(out), samples, len(paths), turns)
            rate, cost, cores = found[workers]
            sys.stdout.write(
                f"round {number + 1}, {workers} workers: {rate:.2f} papers/s, {cost:.2f} CPU s/paper, "
                f"{cores:.2f} cores used\n"
            )
        sys.stdout.write(
            f"round {number + 1}: 2 workers do {found[2][0] / found[1][0]:.2f} times the papers of 1, "
            f"with {found[2][2] / found[1][2]:.2f} times the CPU time per second\n"
        )


def memory(paths: Sequence[Path], turns: int, workers: int, ocr: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "pdfs"
        folder.mkdir()
        copied(paths, turns, folder)
        samples = run_job(folder, Path(name) / "out", workers, ocr)
    total = len(paths) * turns
    bins: dict[int, list[Sample]] = {}
    for sample in samples:
        if 0 < sample.papers < total:  # neither start nor end of the job
            bins.setdefault(sample.papers * POINTS // total, []).append(sample)
    rows = []
    for _, group in sorted(bins.items()):
        values = [float(np.mean([s.rss[kind] for s in group])) for kind in KINDS]
        rows.append([float(np.mean([s.papers for s in group])), *values, sum(values)])
    sys.stdout.write(f"{'papers':>7} " + " ".join(f"{kind:>8}" for kind in (*KINDS, "all")) + "\n")
    sys.stdout.writelines(" ".join([f"{row[0]:7.0f}", *(f"{value:8.0f}" for value in row[1:])]) + "\n" for row in rows)
    half = np.array([row for row in rows if row[0] >= total / 2])
    slopes = [float(np.polyfit(half[:, 0], half[:, i], 1)[0]) * 100 for i in range(1, half.shape[1])]
    sys.stdout.write(f"{'slope':>7} " + " ".join(f"{slope:8.1f}" for slope in slopes) + "  MiB per 100 papers\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdfs", nargs="+")
    parser.add_argument("--copies", type=int, default=4, help="passes over the files, at least 3")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--ocr", default="rapidocr", help="rapidocr or none")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--workers", type=int, default=2, help="of the memory run")
    args = parser.parse_args()
    if args.copies < 3:
        parser.error("--copies: at least 3, since the first pass and the last do not count")
    paths = [Path(item.source) for item in collect(args.pdfs) if item.sha256 and item.duplicate_of is None]
    if args.memory:
        memory(paths, args.copies, args.workers, args.ocr)
    else:
        rates(paths, args.copies, args.rounds, args.ocr)


if __name__ == "__main__":
    main()
