"""The Runner against a table worked out by hand, and against its rules stated another way for every input."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfq_ray import runner
from sfq_ray.rubric import DIMENSIONS, Dimension, gates, overall

VC, SL, CC, CTX, MR = DIMENSIONS
ALL = frozenset(DIMENSIONS)
CAPS = (None, *range(1, 11))

# severity -> MR for the bands 1-2, 3-4, 5-6, 7-8, 9-10; worked out by hand with halves rounded to the even number
TABLE = {
    "none": (2, 4, 6, 8, 10),  # 1.5 3.5 5.5 7.5 9.5
    "minor": (1, 3, 5, 7, 9),  # max(l, m - 1): 1 3 5 7 9; floors 7 and 8 hold already
    "moderate": (2, 4, 6, 6, 6),  # 1.5 3.5, then 6.5
    "severe": (2, 4, 4, 4, 4),  # 1.5, then 4.5
    "contradiction": (2, 2, 2, 2, 2),
}


def half_even(value: Fraction) -> int:
    below = value.numerator // value.denominator
    rest = value - below
    if rest == Fraction(1, 2):
        return below if below % 2 == 0 else below + 1
    return below + (1 if rest > Fraction(1, 2) else 0)


@pytest.mark.parametrize("severity", runner.SEVERITIES)
def test_misleading_risk_of_every_band_is_the_table(severity):
    found = tuple(
        runner.run({VC: 8, SL: 8}, {CC: 8, CTX: 8, MR: 5}, band, severity, runner.Caps(), ALL).scores[MR]
        for band in runner.BANDS
    )
    assert found == TABLE[severity]


@pytest.mark.parametrize(("severity", "band", "cap"), list(itertools.product(runner.SEVERITIES, runner.BANDS, CAPS)))
def test_every_severity_band_and_cap(severity, band, cap):
    low, high = (Fraction(part) for part in band.split("-"))
    middle = (low + high) / 2
    expected = {
        "none": lambda: middle,
        "minor": lambda: max(low, middle - 1, 8 if low >= 9 else 0, 7 if low >= 7 else 0),
        "moderate": lambda: middle if high <= 5 else Fraction(13, 2),
        "severe": lambda: middle if high <= 3 else Fraction(9, 2),
        "contradiction": lambda: Fraction(2),
    }[severity]()
    score = min(max(half_even(Fraction(expected)), 1), 10)
    capped = score if cap is None else min(score, cap)

    scored = runner.run({VC: 7, SL: 6}, {CC: 9, CTX: 5, MR: 8}, band, severity, runner.Caps(cap, cap, cap), ALL)

    assert scored.scores[MR] == capped
    assert scored.scores[VC] == 7
    assert scored.scores[SL] == 6
    assert scored.scores[CC] == (9 if cap is None else min(9, cap))
    assert scored.scores[CTX] == (5 if cap is None else min(5, cap))
    lowered = {d for d, before in ((CC, 9), (CTX, 5), (MR, score)) if cap is not None and cap < before}
    assert {text.split(" ")[0] for text in scored.caps} == {str(d) for d in lowered}
    assert scored.overall == pytest.approx(sum(scored.scores.values()) / 5)


@pytest.mark.parametrize("text", ["7-8", "7–8", " 7 — 8 ", "7‑8", "7 - 8"])
def test_bands_come_with_any_dash(text):
    assert runner.parse_band(text) == (7, 8)


@pytest.mark.parametrize("number", [6, 6.5, "6", "6.5"])
def test_a_band_may_be_one_number(number):
    low, high = runner.parse_band(number)
    assert low == high == float(number)


@pytest.mark.parametrize("text", ["", "high", "8-7", "0-3", "9-11", "7-8-9", "-"])
def test_other_bands_are_refused(text):
    with pytest.raises(ValueError, match="risk band"):
        runner.parse_band(text)


@given(
    st.fixed_dictionaries({d: st.integers(1, 10) for d in (VC, SL)}),
    st.fixed_dictionaries({d: st.integers(1, 10) for d in (CC, CTX, MR)}),
    st.sampled_from(runner.BANDS),
    st.sampled_from(runner.SEVERITIES),
    st.tuples(*[st.sampled_from(CAPS)] * 3),
    st.booleans(),
    st.booleans(),
)
def test_a_gated_dimension_is_absent_and_moves_no_other(vision, fusion, band, severity, caps, caption, context):
    on = gates("a caption" if caption else None, ["a paragraph"] if context else [])
    if not on:
        return
    full = runner.run(vision, fusion, band, severity, runner.Caps(*caps), ALL)
    scored = runner.run(vision, {d: v for d, v in fusion.items() if d in on}, band, severity, runner.Caps(*caps), on)

    assert set(scored.scores) == on
    assert all(scored.scores[d] == full.scores[d] for d in on)
    assert all(1 <= value <= 10 for value in scored.scores.values())
    assert scored.overall == pytest.approx(sum(full.scores[d] for d in on) / len(on))


def test_a_missing_proposal_is_an_error_and_not_a_low_score():
    with pytest.raises(ValueError, match="CTX is on"):
        runner.run({VC: 8, SL: 8}, {CC: 8, CTX: None, MR: 8}, "7-8", "none", runner.Caps(), ALL)
    with pytest.raises(ValueError, match="CC is on"):
        runner.take({VC: 8, SL: 8, CC: None, CTX: 8, MR: 8}, "direct", ALL)


def test_direct_scores_are_taken_as_they_are():
    scored = runner.take(dict.fromkeys(DIMENSIONS, 9), "direct", ALL)
    assert scored.scores == dict.fromkeys(DIMENSIONS, 9)
    assert set(scored.owners.values()) == {"direct"}
    assert scored.caps == ()


def test_owners_say_who_set_each_score():
    scored = runner.run({VC: 8, SL: 8}, {CC: 8, CTX: 5, MR: 3}, "7-8", "none", runner.Caps(caption=6), ALL)
    assert scored.owners == {VC: "vision", SL: "vision", CC: "runner", CTX: "fusion", MR: "runner"}
    assert scored.proposed == {VC: 8, SL: 8, CC: 8, CTX: 5, MR: 3}


def test_overall_of_a_mixed_mapping_ignores_nulls():
    assert overall({Dimension.VC: 6, Dimension.SL: None}) == 6
