"""Raters and repeats: by hand, against the krippendorff package's definition and the matrix form of kappa."""

import dataclasses
import tracemalloc

import numpy as np
import pytest
from gold_made_up import made_gold, made_run
from hypothesis import given, settings
from hypothesis import strategies as st

from sfq_ray.evaluate.agreement import Measure, gold_from_ratings, metrics
from sfq_ray.evaluate.reliability import (
    COLUMNS,
    alpha,
    alpha_draws,
    human_ceiling,
    inter_rater,
    kappa,
    leave_one_out,
    quadratic_kappa,
    retest,
    with_overall,
)

NAN = np.nan
SEEDS = st.integers(0, 2**32 - 1)


def made_ratings(rng, n=40, raters=3):
    true = rng.normal(7, 1.5, size=(n, 1, 5))
    ratings = np.clip(np.round(true + rng.normal(size=(n, raters, 5))), 1, 10)
    ratings[rng.random(n) < 0.3, :, 3] = NAN
    return ratings


def test_dispersion_by_hand():
    ratings = np.array(
        [
            [[6, 5, 5, 6, 4], [5, 6, 5, 6, 4], [8, 9, 6, 7, 5]],
            [[7, 7, 7, NAN, 7], [7, 7, 7, NAN, 9], [NAN] * 5],
            [[3, 3, 3, 3, 3], [NAN] * 5, [NAN] * 5],
        ]
    )
    found = inter_rater(ratings)
    vc, ctx, mr, overall = (found[name] for name in ("VC", "CTX", "MR", "overall"))
    assert (vc.mean_spread, vc.median_spread, vc.within_1, vc.n) == (1.5, 1.5, 0.5, 2)
    assert (ctx.mean_spread, ctx.median_spread, ctx.within_1, ctx.n) == (1, 1, 1, 1)
    assert (mr.mean_spread, mr.within_1) == (1.5, 3 / 4)
    assert overall.mean_spread == pytest.approx((1.8 + 0.5) / 2)
    assert overall.within_1 == 0.5


def alpha_by_definition(scores):
    """1 - observed / expected squared difference over the pairable scores (Krippendorff 2011)."""
    units = [u[~np.isnan(u)] for u in scores]
    units = [u for u in units if len(u) > 1]
    every = np.concatenate(units)
    observed = sum(((u[:, None] - u) ** 2).sum() / (len(u) - 1) for u in units) / len(every)
    expected = ((every[:, None] - every) ** 2).sum() / (len(every) * (len(every) - 1))
    return 1 - observed / expected


@given(SEEDS)
@settings(max_examples=15, deadline=None)
def test_alpha_by_its_definition(seed):
    rng = np.random.default_rng(seed)
    ratings = made_ratings(rng)
    ratings[rng.random((40, 3)) < 0.3] = NAN
    found = alpha(ratings)
    for column, name in enumerate(COLUMNS[:5]):
        assert found[name].value == pytest.approx(alpha_by_definition(ratings[..., column]))


def test_alpha_of_krippendorffs_own_example():
    """Krippendorff (2011), computing alpha-reliability: interval 0.849, ordinal 0.815; four observers, twelve units."""
    data = np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
            [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
        ]
    )
    ratings = np.repeat(data.T[..., None], 5, axis=2)
    assert alpha(ratings)["VC"].value == pytest.approx(0.849, abs=5e-4)
    assert alpha(ratings, "ordinal")["VC"].value == pytest.approx(0.815, abs=5e-4)
    assert alpha(ratings)["VC"].n == 11


@given(SEEDS)
@settings(max_examples=15, deadline=None)
def test_alpha_of_a_resample_is_that_of_its_papers_written_out(seed):
    rng = np.random.default_rng(seed)
    ratings = made_ratings(rng)
    ratings[rng.random((40, 3)) < 0.3] = NAN
    papers = rng.integers(9, size=40)
    weights = rng.integers(3, size=(4, len(np.unique(papers)))).astype(float)
    found = alpha_draws(ratings, papers, weights)
    for draw, counts in enumerate(weights):
        copies = dict(zip(np.unique(papers).tolist(), counts, strict=True))
        written_out = np.repeat(ratings, [int(copies[paper]) for paper in papers.tolist()], axis=0)
        for name, expected in alpha(written_out).items():
            assert found[name][draw] == pytest.approx(np.nan if expected.value is None else expected.value, nan_ok=True)


def kappa_by_matrix(a, b):
    table = np.zeros((10, 10))
    np.add.at(table, (a.astype(int) - 1, b.astype(int) - 1), 1 / len(a))
    weights = (np.arange(10)[:, None] - np.arange(10)) ** 2
    return 1 - (weights * table).sum() / (weights * np.outer(table.sum(1), table.sum(0))).sum()


@given(SEEDS)
@settings(max_examples=15, deadline=None)
def test_kappa_is_that_of_the_matrix(seed):
    ratings = made_ratings(np.random.default_rng(seed))
    a, b, c = ratings[..., 0].T
    assert quadratic_kappa(a, b).value == pytest.approx(kappa_by_matrix(a, b))
    light = np.mean([kappa_by_matrix(a, b), kappa_by_matrix(a, c), kappa_by_matrix(b, c)])
    assert kappa(ratings)["VC"].value == pytest.approx(light)


@given(SEEDS, st.integers(0, 4))
@settings(max_examples=15, deadline=None)
def test_order_changes_nothing_and_gating_one_dimension_moves_no_other(seed, column):
    rng = np.random.default_rng(seed)
    ratings = made_ratings(rng)
    mixed = rng.permutation(ratings)[:, rng.permutation(3)]
    gated = ratings.copy()
    gated[rng.random(40) < 0.5, :, column] = NAN
    for function in (inter_rater, alpha, kappa):
        before, moved, after = function(ratings), function(mixed), function(gated)
        for place, name in enumerate(COLUMNS[:5]):
            assert dataclasses.astuple(moved[name]) == pytest.approx(dataclasses.astuple(before[name]))
            assert place == column or after[name] == before[name]


def test_the_ceiling_measures_each_rater_against_the_others(rng):
    ratings = made_ratings(rng)
    papers = np.arange(40) // 4
    ids, raters = [f"f{i}" for i in range(40)], ("ann", "ben", "cat")
    ratings[:10, 2] = NAN
    first, _, third = human_ceiling(ids, papers, ratings, raters)
    assert first == metrics(*leave_one_out(ids, papers, ratings, raters)[0])
    assert (first.mae.n, third.mae.n, third.figures) == (40, 30, 30)
    others = gold_from_ratings(ids, papers, ratings[:, 1:])
    own = gold_from_ratings(ids, papers, ratings[:, :1])
    assert first.mae.value == pytest.approx(np.abs(own.overall - others.overall).mean())
    assert human_ceiling(ids, papers, ratings[:, :1], raters[:1]) == ()


def test_repeats_by_hand(rng):
    gold = made_gold(rng, papers=1, per_paper=3)
    run = made_run(rng, gold)
    overalls = np.array([[5, 7, 6], [5, 8, NAN], [5, 9, NAN]], float)
    scores = np.full((3, 5), 4.0)
    found = retest([dataclasses.replace(run, scores=scores, overall=overall) for overall in overalls])
    assert found["overall"].sd == pytest.approx(np.sqrt((0 + 1) / 2))
    assert (found["overall"].flip_rate, found["overall"].n) == (0.5, 2)
    assert dataclasses.astuple(found["VC"]) == (0, 0, 3)


def test_what_cannot_be_known_is_none(rng):
    one = made_ratings(rng, raters=1)
    assert dataclasses.astuple(inter_rater(one)["VC"]) == (None, None, None, 0)
    assert (alpha(one)["VC"].value, kappa(one)["VC"].value) == (None, None)
    same = np.full((4, 3, 5), 7.0)
    assert (alpha(same)["VC"].value, kappa(same)["VC"].value, alpha(same)["VC"].n) == (None, None, 4)
    assert retest([made_run(rng, made_gold(rng))])["VC"].n == 0


def test_a_crowd_of_raters_fits_in_memory():
    """1,500 people, three a figure: all pairs of people are a million columns, of which few say anything."""
    rng = np.random.default_rng(0)
    ratings = np.full((400, 1500, 5), np.nan)
    for figure in ratings:
        figure[rng.choice(1500, 3, replace=False)] = rng.integers(1, 11, size=(3, 5))
    there = ratings[~np.isnan(ratings)].reshape(400, 3, 5)
    tracemalloc.start()
    assert inter_rater(ratings) == inter_rater(there)
    assert kappa(ratings)["VC"].n == 400
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400e6, "the differences of all pairs alone would be 3.6 GB"


def test_overalls_that_are_equal_but_for_their_last_bits_have_no_alpha():
    raters = np.array([[6.1, 5.3, 5.7, 6.9, 4.2], [4.2, 6.9, 5.7, 5.3, 6.1], [5.3, 6.1, 4.2, 5.7, 6.9]])
    ratings = np.stack([raters] * 4)
    assert len(set(with_overall(ratings)[0, :, 5].tolist())) > 1
    assert alpha(ratings)["overall"] == Measure(None, 4)
