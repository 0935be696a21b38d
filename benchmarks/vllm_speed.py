"""Judging by an engine of one's own: tokens per second beside a bare loop over the same requests in the same engine.

    python benchmarks/vllm_speed.py OUT MODEL [--repeat 8] [--rounds 4] [--in-flight 16]

OUT is an output directory of `sfq extract`, MODEL a folder of tools/tiny_models.py. One engine is started. The bare
loop puts requests made before through vLLM's own chat renderer into the engine, `--in-flight` at once, as LLM.chat
would. The judge does what an actor of `sfq judge` does: it reads figures/, makes requests, hashes, asks, writes its
ledger, parses and writes scores/. Both do the calls of `--repeat` runs Direct and as many Sidecar, in turn, with the
engine's caches emptied before. Tokens are those of the replies. Ray's start and the engine's are left out.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

from sfq_ray.config import Settings
from sfq_ray.judge.backends.provider import image_of
from sfq_ray.judge.backends.vllm import VLLMBackend
from sfq_ray.judge.calls import Request, direct_call, sidecar_call
from sfq_ray.judge.capabilities import Model
from sfq_ray.judge.judging import instances
from sfq_ray.judge.matrix import Run, repeated
from sfq_ray.judge.worker import JudgeWorker
from sfq_ray.store import Store

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "judge"))

from tiny import record

NAME = "bench"


async def empty_caches(backend: VLLMBackend) -> None:
    await backend.engine.reset_prefix_cache()
    await backend.engine.reset_mm_cache()


async def bare(backend: VLLMBackend, requests: Sequence[Request], in_flight: int) -> float:
    """Tokens per second."""
    await empty_caches(backend)
    places, tokens = asyncio.Semaphore(in_flight), 0

    async def one(number: int, request: Request) -> None:
        nonlocal tokens
        async with places:
            prompt = await backend._prompt(request, image_of(request, backend.record))
            async for output in backend.engine.generate(prompt, backend._sampling(request), f"bare-{begin}-{number}"):
                tokens += len(output.outputs[0].token_ids)

    begin = time.monotonic()
    await asyncio.gather(*(one(number, request) for number, request in enumerate(requests)))
    return tokens / (time.monotonic() - begin)


def judged(worker: JudgeWorker, backend: VLLMBackend, parts: Sequence[str]) -> float:
    """Tokens per second."""
    worker.loop.run(empty_caches(backend))
    begin = time.monotonic()
    worker({"todo": {part: list(worker.runs) for part in parts}})
    spent = time.monotonic() - begin
    calls = [pq.read_table(path) for path in (worker.store.root / "calls").glob("*.parquet")]
    return float(sum(row["output_tokens"] for table in calls for row in table["usage"].to_pylist())) / spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--repeat", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--in-flight", type=int, default=16)
    args = parser.parse_args()
    # twice as many requests are ready as may be in flight, and the engine takes what is ready
    settings = Settings.model_validate({"judge": {"calls_in_flight": args.in_flight // 2, "max_output_tokens": 1000}})
    fields = {"name": NAME, "source": "user", **record(args.model)}
    backend = VLLMBackend(Model.model_validate(fields), settings.judge)
    backend.start()
    parts = Store(args.out).parts("figures")
    figures = [
        figure
        for part in parts
        for _, figure in instances(Store(args.out).read("figures", part), settings.judge)
        if figure.gates
    ]
    runs = repeated([Run("D", "direct", NAME, NAME), Run("S", "sidecar", NAME, NAME)], args.repeat)
    requests = [
        call(figure, backend) for call in (direct_call, sidecar_call) for _ in range(args.repeat) for figure in figures
    ]
    LOOP.run(bare(backend, requests[: len(figures)], args.in_flight))  # the first calls of an engine are slow
    shares = []
    for number in range(args.rounds):
        with tempfile.TemporaryDirectory() as folder:
            Store(Path(folder)).prepare()
            worker = JudgeWorker(args.out, Path(folder), settings, runs, lambda _: backend, f"round-{number}")
            worker.loop = LOOP
            if number % 2:  # so that neither is always the first
                theirs = LOOP.run(bare(backend, requests, args.in_flight))
                ours = judged(worker, backend, parts)
            else:
                ours = judged(worker, backend, parts)
                theirs = LOOP.run(bare(backend, requests, args.in_flight))
        shares.append(ours / theirs)
        print(f"judge {ours:,.0f}, bare loop {theirs:,.0f} tokens/s, {ours / theirs:.3f}")  # noqa: T201
    print(f"{len(requests)} calls a round; median share {statistics.median(shares):.3f}")  # noqa: T201


LOOP = asyncio.Runner()  # the engine belongs to the loop that used it first

if __name__ == "__main__":
    main()
