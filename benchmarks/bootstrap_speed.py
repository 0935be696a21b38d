"""Seconds of the cluster bootstrap: every metric of every run, and the ranks, on made-up scores.

python benchmarks/bootstrap_speed.py [--runs 29] [--figures 1200] [--papers 200] [--draws 10000]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from sfq_ray.evaluate.agreement import Gold, Judged, nanmean
from sfq_ray.evaluate.bootstrap import bootstrap, percentiles, rank_intervals, resamples


def made_up(runs: int, figures: int, papers: int, rng: np.random.Generator) -> tuple[Gold, list[Judged]]:
    """Gold of three raters and judges that round to whole points."""
    codes = np.sort(rng.integers(papers, size=figures))
    scores = np.clip(np.round((7 + rng.normal(size=(figures, 5))) * 3) / 3, 1, 10)
    gold = Gold(tuple(str(i) for i in range(figures)), codes, scores, nanmean(scores, axis=1))
    judged = []
    for number in range(runs):
        said = np.clip(np.round(scores + rng.normal(size=scores.shape)), 1, 10)
        judged.append(Judged(f"R{number}", "direct", "made up", said, said.mean(axis=1), ("scored",) * figures))
    return gold, judged


def main() -> None:
    """Print the seconds of each part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("runs", 29), ("figures", 1200), ("papers", 200), ("draws", 10_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    gold, runs = made_up(options.runs, options.figures, options.papers, rng)
    start = time.perf_counter()
    weights = resamples(gold.papers, options.draws, rng)
    drawn = time.perf_counter()
    metrics = bootstrap(gold, runs, weights)
    measured = time.perf_counter()
    for values in metrics.values():
        percentiles(values)
    rank_intervals(metrics["mae"])
    end = time.perf_counter()
    print(f"resamples {drawn - start:.1f} s, metrics {measured - drawn:.1f} s, intervals {end - measured:.1f} s")  # noqa: T201


if __name__ == "__main__":
    main()
