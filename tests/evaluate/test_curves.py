"""Calibration, limits of agreement and disputes, against pandas."""

import numpy as np
import pandas as pd
import pytest
from gold_made_up import made_gold, made_run

from sfq_ray.evaluate.agreement import Gold, Judged
from sfq_ray.evaluate.curves import calibration, disputes, limits


def test_calibration_is_a_grouped_mean(rng):
    gold = made_gold(rng)
    run = made_run(rng, gold, failed=0.2)
    frame = pd.DataFrame({"judge": run.overall, "gold": gold.overall}).dropna()
    by_score = frame.groupby(np.floor(frame["judge"] + 0.5))
    bins = calibration(gold, run)
    assert [b.score for b in bins] == list(by_score.groups)
    assert [b.n for b in bins] == by_score.size().tolist()
    assert [b.gold for b in bins] == pytest.approx(by_score["gold"].mean().tolist())
    assert [b.judge for b in bins] == pytest.approx(by_score["judge"].mean().tolist())


def test_limits_are_the_bias_and_twice_its_sd(rng):
    gold = made_gold(rng)
    run = made_run(rng, gold, failed=0.2)
    error = pd.Series(run.overall - gold.overall).dropna()
    found = limits(gold, run)
    assert (found.bias.value, found.bias.n) == (pytest.approx(error.mean()), len(error))
    assert found.sd == pytest.approx(error.std())
    assert (found.low, found.high) == pytest.approx(
        (error.mean() - 1.96 * error.std(), error.mean() + 1.96 * error.std())
    )


def test_one_figure_has_no_limits_and_none_has_nothing():
    gold = Gold(("p__fig0001", "p__fig0002"), np.zeros(2, dtype=np.int64), np.full((2, 5), 6.0), np.full(2, 6.0))
    scores = np.array([[7.0] * 5, [np.nan] * 5])
    one = Judged("one", "direct", "m", scores, scores[:, 0], ("scored", "failed"))
    none = Judged("none", "direct", "m", scores[::-1] * np.nan, np.full(2, np.nan), ("failed", "failed"))
    assert (limits(gold, one).bias.value, limits(gold, one).low) == (1.0, None)
    assert (limits(gold, none).bias.value, limits(gold, none).sd, calibration(gold, none)) == (None, None, ())
    assert [(d.figure_id, d.judges, d.difference) for d in disputes(gold, [one, none], 5)] == [("p__fig0001", 1, 1.0)]
    assert disputes(gold, [], 5) == ()


def test_disputes_are_the_largest_mean_distances(rng):
    gold = made_gold(rng)
    runs = [made_run(rng, gold, name, failed=0.3) for name in "abc"]
    distance = pd.DataFrame([run.overall - gold.overall for run in runs]).abs().mean()
    found = disputes(gold, runs, 7)
    assert [d.distance for d in found] == pytest.approx(sorted(distance.dropna(), reverse=True)[:7])
    assert all(abs(d.difference) <= d.distance + 1e-12 for d in found)
