"""Made-up gold and judges with papers of different difficulty."""

import dataclasses

import numpy as np

from sfq_ray.evaluate.agreement import Gold, Judged, nanmean


def made_gold(rng, papers=12, per_paper=5):
    n = papers * per_paper
    codes = np.repeat(np.arange(papers), per_paper)
    scores = np.clip(np.round(7 + rng.normal(size=papers)[codes, None] + rng.normal(size=(n, 5))), 1, 10)
    scores[rng.random(n) < 0.3, 3] = np.nan
    return Gold(tuple(f"p{c}__fig{i:04d}" for i, c in enumerate(codes)), codes, scores, nanmean(scores, axis=1))


def made_run(rng, gold, run_id="run", sd=1.0, failed=0.0):
    n = len(gold.figure_ids)
    shift = rng.normal(size=gold.papers.max() + 1)[gold.papers, None] * sd / 2
    scores = np.clip(np.round(gold.scores + shift + rng.normal(scale=sd, size=(n, 5))), 1, 10)
    status = np.where(rng.random(n) < failed, "failed", "scored")
    scores[status == "failed"] = np.nan
    return Judged(run_id, "direct", "model", scores, nanmean(scores, axis=1), tuple(status.tolist()))


def reordered(order, gold, *runs):
    """The gold and runs with their figures in another order."""
    moved = Gold(tuple(gold.figure_ids[i] for i in order), gold.papers[order], gold.scores[order], gold.overall[order])
    return moved, *(
        dataclasses.replace(
            run, scores=run.scores[order], overall=run.overall[order], status=tuple(run.status[i] for i in order)
        )
        for run in runs
    )
