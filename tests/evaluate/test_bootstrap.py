"""The cluster bootstrap against resampling by hand, and how often its intervals hold the truth."""

import dataclasses

import numpy as np
import pytest
from gold_made_up import made_gold, made_run, reordered
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from sfq_ray.evaluate.agreement import metrics
from sfq_ray.evaluate.bootstrap import (
    METRICS,
    bootstrap,
    intervals,
    mean_draws,
    mean_interval,
    percentiles,
    rank_intervals,
    resamples,
    spearman_draws,
    wild_interval,
)
from sfq_ray.rubric import DIMENSIONS


def rows_of(papers, counts):
    """Figures of a resample, written out."""
    codes = np.unique(papers)
    return np.concatenate([np.tile(np.flatnonzero(papers == c), int(k)) for c, k in zip(codes, counts, strict=True)])


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None)
def test_every_draw_is_the_metric_of_its_resample(seed):
    rng = np.random.default_rng(seed)
    gold = made_gold(rng)
    run = made_run(rng, gold, failed=0.2)
    weights = resamples(gold.papers, 20, rng)
    draws = bootstrap(gold, [run], weights)
    assert weights.sum(axis=1).tolist() == [12] * 20
    for b, counts in enumerate(weights):
        rows = rows_of(gold.papers, counts)
        j, g = run.overall[rows], gold.overall[rows]
        j, g = j[~np.isnan(j)], g[~np.isnan(j)]
        expected = (np.abs(j - g).mean(), (np.abs(j - g) <= 1 + 1e-6).mean(), (j - g).mean(), spearmanr(j, g).statistic)
        assert [draws[name][b, 0] for name in METRICS] == pytest.approx(expected, abs=1e-12)


def test_draws_of_rho_tie_what_differs_in_the_last_bits_alone(rng):
    papers, judge = np.repeat(np.arange(8), 3), rng.integers(1, 5, size=24).astype(float)
    gold = rng.integers(1, 4, size=24) / 10
    noisy = gold + np.where(rng.random(24) < 0.5, 5e-17, 0.0)
    weights = resamples(papers, 50, rng)
    assert len(set(noisy.tolist())) > len(set(gold.tolist()))
    assert spearman_draws(judge, noisy, papers, weights) == pytest.approx(spearman_draws(judge, gold, papers, weights))


def test_each_paper_once_is_the_metric_itself(rng):
    gold = made_gold(rng)
    runs = [made_run(rng, gold, failed=f) for f in (0, 0.1, 0.5)]
    draws = bootstrap(gold, runs, np.ones((1, 12)))
    for column, run in enumerate(runs):
        m = metrics(gold, run)
        assert [draws[name][0, column] for name in METRICS] == pytest.approx([getattr(m, n).value for n in METRICS])


def test_same_seed_same_bytes(rng):
    gold = made_gold(rng)
    runs = [made_run(rng, gold), made_run(rng, gold, failed=0.3)]
    weights = resamples(gold.papers, 300, rng)
    first, second = (intervals(gold, runs, weights, seed=5) for _ in range(2))
    assert repr(first) == repr(second)
    assert repr(intervals(gold, runs[1:], weights, seed=5)) == repr(first[1:]), "other runs change nothing"


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None)
def test_the_order_of_figures_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    gold = made_gold(rng)
    run = made_run(rng, gold, failed=0.2)
    order = rng.permutation(len(gold.figure_ids))
    moved, moved_run = reordered(order, gold, run)
    weights = resamples(gold.papers, 50, rng)
    kept, other = bootstrap(gold, [run], weights), bootstrap(moved, [moved_run], weights)
    for name in METRICS:
        assert other[name] == pytest.approx(kept[name], nan_ok=True)


def test_few_papers_get_wild_intervals_of_means(rng):
    few, many = made_gold(rng, papers=12), made_gold(rng, papers=40)
    (of_few,), (of_many,) = (intervals(g, [made_run(rng, g)], resamples(g.papers, 200, rng)) for g in (few, many))
    assert [of_few[name].method for name in METRICS] == ["wild-t", "wild-t", "wild-t", "percentile"]
    assert {of_many[name].method for name in METRICS} == {"percentile"}
    assert {of_few[d].method for d in DIMENSIONS} == {"wild-t"}
    assert 0 <= of_few["within_1"].low < of_few["within_1"].high <= 1
    assert (of_few["mae"].papers, of_many["mae"].papers) == (12, 40)
    assert all(i.low < i.high for i in (*of_few.values(), *of_many.values()))


def test_nothing_scored_has_no_interval(rng):
    gold = made_gold(rng)
    (found,) = intervals(gold, [made_run(rng, gold, failed=1.0)], resamples(gold.papers, 50, rng))
    assert {(i.low, i.high, i.papers) for i in found.values()} == {(None, None, 0)}
    one = made_gold(rng, papers=1)
    (found,) = intervals(one, [made_run(rng, one)], resamples(one.papers, 50, rng))
    assert {(i.low, i.high, i.papers) for i in found.values()} == {(None, None, 1)}


@given(st.integers(0, 2**32 - 1), st.integers(0, 4))
@settings(max_examples=10, deadline=None)
def test_gating_one_dimension_moves_no_interval_of_another(seed, column):
    rng = np.random.default_rng(seed)
    gold = made_gold(rng, papers=45, per_paper=2)
    run = made_run(rng, gold)
    scores = run.scores.copy()
    scores[rng.random(len(scores)) < 0.5, column] = np.nan
    weights = resamples(gold.papers, 50, rng)
    (before,), (after,) = (
        intervals(gold, [dataclasses.replace(run, scores=s)], weights, seed) for s in (run.scores, scores)
    )
    gated = DIMENSIONS[column]
    assert after[gated] != before[gated]
    assert {n: i for n, i in after.items() if n != gated} == {n: i for n, i in before.items() if n != gated}


def test_the_interval_of_a_mean_is_that_of_the_metric(rng):
    for papers, method in ((12, "wild-t"), (45, "percentile")):
        gold = made_gold(rng, papers=papers)
        run = made_run(rng, gold, failed=0.3)
        weights = resamples(gold.papers, 200, rng)
        (of_run,) = intervals(gold, [run], weights, seed=3)
        own = mean_interval(run.overall - gold.overall, gold.papers, weights, seed=3)
        assert own == of_run["bias"]
        assert own.method == method
    assert mean_interval(np.zeros(3), np.zeros(3, dtype=int), np.ones((100, 1))).low is None, "one paper"


def test_rank_intervals(rng):
    gold = made_gold(rng, papers=40)
    runs = [made_run(rng, gold, sd=sd) for sd in (0.2, 3.0, 1.0)]
    ranks = rank_intervals(bootstrap(gold, runs, resamples(gold.papers, 500, rng))["mae"])
    assert ranks.tolist() == [[1, 3, 2], [1, 3, 2]]
    twins = rank_intervals(np.tile(rng.random((100, 1)), 2))
    assert twins.tolist() == [[1, 1], [1, 1]]
    nearly = rank_intervals(np.tile([0.1 + 0.2, 0.3], (100, 1)))
    assert nearly.tolist() == [[1, 1], [1, 1]], "sums of the same errors in another order"
    with pytest.raises(ValueError, match="no resample"):
        rank_intervals(np.full((3, 2), np.nan))


def clustered(rng, papers, per_paper):
    """Values whose true mean is 0; half of their variance is the paper's."""
    return (rng.normal(size=(papers, 1)) + rng.normal(size=(papers, per_paper))).ravel()


def test_intervals_hold_the_truth_as_often_as_they_say():
    rng, trials, papers, per_paper = np.random.default_rng(1), 1200, 80, 6
    codes = np.repeat(np.arange(papers), per_paper)
    weights = resamples(codes, 1000, rng)
    values = np.stack([clustered(rng, papers, per_paper) for _ in range(trials)], axis=1)
    low, high = percentiles(mean_draws(values, codes, weights))
    naive = 1.96 * values.std(axis=0, ddof=1) / np.sqrt(len(values))
    assert 0.93 <= ((low < 0) & (high > 0)).mean() <= 0.97
    assert (np.abs(values.mean(axis=0)) < naive).mean() < 0.85


@pytest.mark.parametrize("papers", [10, 15, 30])
def test_wild_intervals_hold_the_truth_with_few_papers_of_different_sizes(papers):
    rng, trials = np.random.default_rng(2), 3000
    codes = np.repeat(np.arange(papers), np.resize([2, 4, 6, 8], papers))
    inside = 0
    for _ in range(trials):
        values = rng.normal(size=papers)[codes] + rng.normal(size=len(codes))
        low, high = wild_interval(values, codes, rng, draws=999)
        inside += low < 0 < high
    assert 0.93 <= inside / trials <= 0.97


def test_wild_intervals_of_one_paper_or_equal_values(rng):
    assert np.isnan(wild_interval(np.arange(3.0), np.zeros(3, int), rng)).all()
    assert np.isnan(wild_interval(np.full(3, np.nan), np.arange(3), rng)).all()
    assert wild_interval(np.full(4, 0.5), np.arange(4), rng, draws=50) == (0.5, 0.5)
