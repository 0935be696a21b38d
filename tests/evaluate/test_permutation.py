"""Sign flips against scipy, p-values that are uniform when nothing differs, and the family's error rate."""

import numpy as np
import pytest
from gold_made_up import made_gold, made_run, reordered
from scipy.stats import kstest, permutation_test

from sfq_ray.evaluate.bootstrap import errors, resamples
from sfq_ray.evaluate.permutation import contrasts, sign_flip, signs, sums_by_paper


def scipys(sums):
    return permutation_test(
        (sums,), lambda x, axis: x.sum(axis=axis), permutation_type="samples", n_resamples=np.inf, vectorized=True
    ).pvalue


def test_one_contrast_is_scipys_exact_test(rng):
    gold = made_gold(rng, papers=9)
    runs = [made_run(rng, gold, "a"), made_run(rng, gold, "b", sd=1.6)]
    (found,) = contrasts(gold, runs, [("a", "b")], resamples(gold.papers, 100, rng), [0])
    e = np.abs(errors(gold, runs))
    d = e[:, 0] - e[:, 1]
    sums = np.bincount(gold.papers, d)
    assert found.exact
    assert found.difference == pytest.approx(d.mean())
    assert (found.figures, found.papers) == (45, 9)
    assert found.p == pytest.approx(scipys(sums))
    assert found.p_family == found.p


def test_drawn_flips_come_near_the_exact_ones_and_are_never_zero(rng):
    sums = rng.normal(0.4, 1, size=(14, 1))
    exact = sign_flip(sums, signs(14, rng, 0), True)[0][0]
    drawn = sign_flip(sums, rng.choice([-1.0, 1.0], size=(20_000, 14)), False)[0][0]
    assert drawn == pytest.approx(exact, abs=0.01)
    assert sign_flip(np.ones((50, 1)), signs(50, rng, 999), False)[0][0] == pytest.approx(1 / 1000)


def test_all_flips_are_there_once(rng):
    flips = signs(5, rng, 0)
    assert flips.shape == (32, 5)
    assert len({tuple(f) for f in flips.tolist()}) == 32
    assert set(flips.ravel().tolist()) == {-1.0, 1.0}


@pytest.mark.parametrize("papers", [10, 25])
def test_p_is_uniform_when_nothing_differs(papers):
    rng = np.random.default_rng(4)
    sums = rng.normal(size=(papers, 2000)) * rng.uniform(0.5, 3, size=(papers, 1))
    flips = signs(papers, rng, 999)
    p = sign_flip(sums, flips, papers <= 14)[0]
    assert kstest(p, "uniform").pvalue > 0.01
    assert (p <= 0.05).mean() == pytest.approx(0.05, abs=0.015)


def test_the_family_errs_as_seldom_as_it_says():
    rng = np.random.default_rng(5)
    false = false_alone = 0
    for _ in range(1000):
        sums = rng.normal(size=(20, 1)) + rng.normal(size=(20, 8))
        p, p_family = sign_flip(sums, signs(20, rng, 299), False)
        false += p_family.min() <= 0.05
        false_alone += p.min() <= 0.05
    assert 0.03 <= false / 1000 <= 0.07
    assert false_alone / 1000 > 0.1


def test_the_corrected_p_keeps_the_order_and_costs_less_than_bonferroni(rng):
    sums = rng.normal(size=(12, 1)) + rng.normal(size=(12, 6)) + np.linspace(0, 1, 6)
    p, p_family = sign_flip(sums, signs(12, rng, 0), True)
    assert (p_family >= p).all()
    assert (p_family <= np.minimum(1, 6 * p) + 1e-12).all()
    observed = np.abs(sums.sum(axis=0)) / np.sqrt((sums**2).sum(axis=0))
    assert (np.diff(p_family[np.argsort(-observed)]) >= 0).all()


def test_equal_runs_and_the_other_direction(rng):
    gold = made_gold(rng)
    runs = [made_run(rng, gold, "a"), made_run(rng, gold, "b", sd=2)]
    same, there, back = contrasts(
        gold, runs, [("a", "a"), ("a", "b"), ("b", "a")], resamples(gold.papers, 100, rng), [0]
    )
    assert (same.difference, same.p, same.p_family) == (0, 1, 1)
    assert there.difference == -back.difference < 0
    assert there.p == back.p


def test_order_and_seed(rng):
    gold = made_gold(rng, papers=20)
    runs = [made_run(rng, gold, "a", failed=0.2), made_run(rng, gold, "b", failed=0.2)]
    order = rng.permutation(len(gold.figure_ids))
    moved, *moved_runs = reordered(order, gold, *runs)
    (first,), (again,), (other,) = (
        contrasts(g, r, [("a", "b")], resamples(g.papers, 500, np.random.default_rng(8)), [8])
        for g, r in ((gold, runs), (gold, runs), (moved, moved_runs))
    )
    assert first == again
    assert other.p == first.p
    assert other.figures == first.figures < 100


def test_runs_that_share_nothing_are_not_compared(rng):
    gold = made_gold(rng)
    with pytest.raises(ValueError, match="a and b share no figure"):
        contrasts(
            gold,
            [made_run(rng, gold, "a"), made_run(rng, gold, "b", failed=1.0)],
            [("a", "b")],
            np.ones((100, 12)),
            [0],
        )


def test_sums_by_paper():
    values = np.array([[1.0, np.nan], [2.0, 3.0], [4.0, 5.0]])
    assert sums_by_paper(values, np.array([7, 3, 7])).tolist() == [[2, 3], [5, 5]]
