"""Metrics of a run: checked by hand, against scipy, and by what must not change them."""

import dataclasses
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from gold_made_up import made_gold, made_run, reordered
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from sfq_ray.evaluate.agreement import Gold, Judged, baselines, gold_from_ratings, metrics, nanmean, spearman
from sfq_ray.rubric import DIMENSIONS, Dimension

NAN = np.nan
SEEDS = st.integers(0, 2**32 - 1)


def by_hand():
    gold = Gold(
        ("a", "b", "c", "d"),
        np.array([0, 0, 1, 1]),
        np.array([[6, 6, 6, 6, 6], [4, 4, 4, NAN, 4], [8, 8, 8, 8, 8], [9, 9, NAN, 9, 9]], float),
        np.array([6.0, 4.0, 8.0, 9.0]),
    )
    judged = Judged(
        "r",
        "direct",
        "m",
        np.array([[7, 7, 7, 7, 7], [2, 2, 2, 2, 2], [8, 8, 8, NAN, 8], [NAN] * 5], float),
        np.array([7.0, 2.0, 8.0, NAN]),
        ("scored", "scored", "scored", "failed"),
    )
    return gold, judged


def test_by_hand():
    m = metrics(*by_hand())
    assert (m.mae.value, m.mae.n) == (1.0, 3)
    assert m.within_1.value == pytest.approx(2 / 3)
    assert m.bias.value == pytest.approx(-1 / 3)
    assert m.spearman.value == pytest.approx(1)
    assert (m.coverage.value, m.coverage.n) == (0.75, 4)
    assert m.statuses == {"failed": 1, "scored": 3}
    assert m.mae_best == pytest.approx(3 / 4)
    assert m.mae_worst == pytest.approx((3 + 8) / 4)
    ctx = m.dimensions[Dimension.CTX]
    assert (ctx.mae.value, ctx.mae.n) == (1, 1)
    assert dataclasses.astuple(ctx.gates) == (1, 1, 1, 0)


def test_the_gold_of_three_raters():
    ratings = np.array([[[6, 5, 5, 6, 4], [5, 6, 5, 6, 4], [8, 9, 6, 7, 5]]], float)
    gold = gold_from_ratings(["f"], [0], ratings)
    assert gold.scores[0] == pytest.approx([19 / 3, 20 / 3, 16 / 3, 19 / 3, 13 / 3])
    assert gold.overall[0] == pytest.approx(5.8)


def test_a_rater_who_leaves_a_dimension_out_does_not_weigh_on_it():
    ratings = np.array([[[10, 10, 10, 10, 10], [1, 1, NAN, NAN, 1]]], float)
    assert gold_from_ratings(["f"], [0], ratings).overall[0] == pytest.approx((5.5 * 3 + 20) / 5)


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_spearman_is_scipys(seed):
    rng = np.random.default_rng(seed)
    gold = made_gold(rng)
    run = made_run(rng, gold, failed=0.2)
    there = ~np.isnan(run.overall)
    expected = spearmanr(run.overall[there], gold.overall[there]).statistic
    assert metrics(gold, run).spearman.value == pytest.approx(expected, abs=1e-12)


@given(SEEDS)
@settings(max_examples=20, deadline=None)
def test_the_order_of_figures_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    gold = made_gold(rng)
    run = made_run(rng, gold, failed=0.2)
    order = rng.permutation(len(gold.figure_ids))
    moved = metrics(*reordered(order, gold, run))
    kept = metrics(gold, run)
    for name in ("mae", "within_1", "spearman", "bias", "coverage"):
        assert getattr(moved, name).value == pytest.approx(getattr(kept, name).value)
        assert getattr(moved, name).n == getattr(kept, name).n
    assert {d: v.gates for d, v in moved.dimensions.items()} == {d: v.gates for d, v in kept.dimensions.items()}


@given(SEEDS, st.integers(0, 4))
@settings(max_examples=20, deadline=None)
def test_gating_one_dimension_moves_no_other(seed, column):
    rng = np.random.default_rng(seed)
    gold = made_gold(rng)
    run = made_run(rng, gold)
    scores = run.scores.copy()
    scores[rng.random(len(scores)) < 0.5, column] = NAN
    before, after = metrics(gold, run), metrics(gold, dataclasses.replace(run, scores=scores))
    for other, dimension in enumerate(DIMENSIONS):
        if other != column:
            assert after.dimensions[dimension] == before.dimensions[dimension]
    assert (after.mae, after.spearman) == (before.mae, before.spearman)


def test_a_run_that_scored_nothing_has_no_numbers(rng):
    gold = made_gold(rng)
    m = metrics(gold, made_run(rng, gold, failed=1.0))
    assert m.mae.value is m.bias.value is m.spearman.value is m.within_1.value is None
    assert (m.mae.n, m.coverage.value, m.mae_best) == (0, 0, 0)
    assert m.mae_worst > 4.5
    assert sum(dataclasses.astuple(m.dimensions[Dimension.VC].gates)) == 0


def test_a_difference_of_one_is_within_one_in_spite_of_float32(rng):
    gold = Gold(("a",), np.array([0]), np.full((1, 5), 6.2), np.array([6.2]))
    run = Judged("r", "direct", "m", np.full((1, 5), 7.2), np.array([float(np.float32(7.2)) + 4e-7]), ("scored",))
    assert metrics(gold, run).within_1.value == 1


def test_the_baselines_look_at_no_figure(rng):
    gold = made_gold(rng)
    median, means = (metrics(gold, run) for run in baselines(gold))
    assert median.spearman.value is None
    assert median.coverage.value == means.coverage.value == 1
    assert median.mae.value == pytest.approx(np.abs(gold.overall - np.median(gold.overall)).mean())
    assert means.bias.value == pytest.approx(0, abs=0.2)
    assert all(m.gates.gold_only == m.gates.judge_only == 0 for m in means.dimensions.values())


def test_what_is_not_aligned_is_refused(rng):
    gold = made_gold(rng)
    other = made_run(rng, made_gold(rng, papers=3))
    with pytest.raises(ValueError, match="not aligned"):
        metrics(gold, other)
    with pytest.raises(ValueError, match="no gold"):
        Gold(("a",), np.array([0]), np.full((1, 5), NAN), np.array([NAN]))


@pytest.mark.parametrize("seed", range(5))
def test_golds_that_are_equal_are_tied_however_their_means_were_summed(seed):
    rng = np.random.default_rng(seed)
    ratings = rng.integers(4, 9, size=(60, 3, 5)).astype(float)
    gold = gold_from_ratings([str(i) for i in range(60)], np.arange(60), ratings)
    judge = nanmean(rng.integers(4, 9, size=(60, 5)).astype(float), axis=1)
    exact = [sum(Fraction(int(score)) for score in figure.ravel()) for figure in ratings]
    assert len(set(gold.overall.tolist())) > len(set(exact)), "the same mean in different last bits"
    levels = [sorted(set(exact)).index(value) for value in exact]
    assert spearman(judge, gold.overall).value == pytest.approx(spearmanr(judge, levels).statistic, abs=1e-12)


def test_a_gold_that_is_constant_but_for_its_last_bits_has_no_rho():
    raters = np.array([[6, 5, 5, 6, 4], [5, 6, 5, 6, 4], [8, 9, 6, 7, 5]], dtype=float)
    ratings = np.stack([raters[:, list(order)] for order in permutations(range(5))])
    gold = gold_from_ratings([str(i) for i in range(120)], np.arange(120), ratings)
    assert len(set(gold.overall.tolist())) > 1
    assert spearman(np.arange(120.0), gold.overall).value is None
