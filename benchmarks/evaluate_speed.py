"""Seconds of the whole command `sfq evaluate`, and its parts, on made-up tables written as real Parquet.

python benchmarks/evaluate_speed.py [--runs 29] [--figures 1200] [--papers 200] [--draws 10000]
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from bootstrap_speed import made_up

from sfq_ray.cli import app
from sfq_ray.rubric import DIMENSIONS
from sfq_ray.store import Store
from sfq_ray.tables import TABLES, table_from_rows

PROTOCOLS = ("direct", "sidecar", "agent")
CALLS = {"direct": 1, "sidecar": 1, "agent": 3}


def write(out: Path, runs: int, figures: int, papers: int) -> None:
    """figures/, ratings/ of three raters, scores/ and calls/."""
    rng = np.random.default_rng(0)
    gold, judged = made_up(runs, figures, papers, rng)
    keys = [(f"p{paper:05d}", place) for place, paper in enumerate(gold.papers.tolist())]
    about = [{"figure_id": f"{p}__fig{i:04d}", "paper_id": p, "fig_index": i} for p, i in keys]
    store = Store(out)
    store.prepare()
    texts = {"caption": "A caption.", "contexts": [{"text": "See Figure 1."}]}
    put(store, "figures", "part-00000", [row | texts for row in about])
    ratings = np.clip(np.round(gold.scores[:, None] + rng.normal(size=(figures, 3, 5))), 1, 10)
    put(store, "ratings", "part-00000", [
        row | {"rater": f"Rater_{place}", "source": "human", "row": 1} | by_name(scores)
        for row, own in zip(about, ratings, strict=True) for place, scores in enumerate(own)
    ])  # fmt: skip
    for number, run in enumerate(judged):
        protocol = PROTOCOLS[number % 3]
        made_with = {"protocol": protocol, "backend": "openai", "model": f"m{number // 3}"}
        ids = [[f"{run.run_id}-{place}-{call}" for call in range(CALLS[protocol])] for place in range(figures)]
        put(store, "scores", f"{run.run_id}.part-00000", [
            row | made_with | by_name(scores) | {"run_id": run.run_id, "status": "scored", "request_ids": own}
            | {"overall": float(overall)}
            for row, scores, overall, own in zip(about, run.scores, run.overall, ids, strict=True)
        ])  # fmt: skip
        usage = {"input_tokens": 3000, "output_tokens": 500, "cached_tokens": 0, "reasoning_tokens": None}
        put(store, "calls", f"{run.run_id}.part-00000", [
            {"request_id": key, "figure_id": row["figure_id"], "stage": protocol, "backend": "openai",
             "model": made_with["model"], "prompt_hash": "0", "text": "x" * 2000, "usage": usage}
            for row, own in zip(about, ids, strict=True) for key in own
        ])  # fmt: skip


def by_name(scores: Any) -> dict[str, int]:
    return dict(zip(map(str, DIMENSIONS), (int(score) for score in scores), strict=True))


def put(store: Store, table: str, part: str, rows: list[dict[str, Any]]) -> None:
    store.write(table, part, table_from_rows(rows, TABLES[table]))


def main() -> None:
    """Print the seconds, and the functions that take most of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("runs", 29), ("figures", 1200), ("papers", 200), ("draws", 10_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        write(out, options.runs, options.figures, options.papers)
        arguments = ["evaluate", str(out), "--reference", "R0", "--draws", str(options.draws)]
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "sfq_ray.cli", *arguments], check=True, stdout=subprocess.DEVNULL)
        seconds, used = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu, memory = used.ru_utime + used.ru_stime, used.ru_maxrss >> 10
        print(f"sfq evaluate: {seconds:.1f} s, {cpu:.1f} s of CPU, {memory} MiB")  # noqa: T201
        profile = cProfile.Profile()
        profile.runcall(app, arguments, standalone_mode=False)
        pstats.Stats(profile).sort_stats("cumulative").print_stats("sfq_ray", 25)


if __name__ == "__main__":
    main()
