"""Gating and the overall score: what is missing is missing, and never 0."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfq_ray.rubric import DIMENSIONS, Dimension, gates, overall

VC, SL, CC, CTX, MR = DIMENSIONS


@pytest.mark.parametrize(
    ("caption", "contexts", "on"),
    [
        ("a caption", ["a paragraph"], {VC, SL, CC, CTX, MR}),
        ("a caption", [], {VC, SL, CC, MR}),
        (None, ["a paragraph"], {VC, SL, CTX, MR}),
        (None, [], set()),
        ("", [""], set()),
        (" \n\t", [None, "  "], set()),
    ],
)
def test_the_gating_table(caption, contexts, on):
    assert gates(caption, contexts) == on


scores = st.fixed_dictionaries({d: st.one_of(st.none(), st.integers(1, 10)) for d in Dimension})


@given(scores)
def test_overall_is_the_mean_of_what_is_there(values):
    present = [value for value in values.values() if value is not None]
    result = overall(values)
    if not present:
        assert result is None
    else:
        assert result == pytest.approx(sum(present) / len(present))
        assert min(present) <= result <= max(present)


@given(scores, st.sampled_from(DIMENSIONS))
def test_null_is_the_same_as_absent(values, dimension):
    without = {d: v for d, v in values.items() if d != dimension}
    assert overall(values | {dimension: None}) == overall(without)


def test_overall_keeps_full_precision():
    assert overall({VC: 6, SL: 7, MR: 7}) == pytest.approx(20 / 3, abs=1e-15)
