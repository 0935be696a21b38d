"""Citing paragraphs are cut at their references, whatever the offsets."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfq_ray.report.entries import pieces, score_entry
from sfq_ray.report.script import data_script, number


def test_references_are_cut_out_by_code_points() -> None:
    text = "𝒳 in Figure 1a."
    assert pieces(text, [{"start": 5, "end": 14}]) == [["𝒳 in ", 0], ["Figure 1a", 1], [".", 0]]


def test_a_text_without_spans_is_one_plain_piece() -> None:
    assert pieces("As shown.", None) == [["As shown.", 0]]
    assert pieces("", []) == []


offset = st.none() | st.integers(-5, 40)


@given(st.text(max_size=30), st.lists(st.none() | st.fixed_dictionaries({"start": offset, "end": offset})))
@example("00", [{"start": 0, "end": -1}])
@example("00", [{"start": 9, "end": 12}])
def test_pieces_join_to_the_text_and_alternate(text: str, spans: list[dict[str, int | None] | None]) -> None:
    cut = pieces(text, spans)
    assert "".join(piece for piece, _ in cut) == text
    assert all(a[1] != b[1] for a, b in pairwise(cut))


def test_numbers_lose_the_noise_of_float32_and_nothing_is_invented() -> None:
    assert number(0.8999999761581421) == 0.9
    assert number(None) is None
    assert number(math.nan) is None
    assert number(123_456_789) == 123_456_789


def test_scores_may_lie_between_the_whole_ones() -> None:
    row = {"status": "scored", "VC": 7.0, "SL": 7.1234567, "CC": None, "CTX": 1.0, "MR": 10.0, "overall": 6.28}
    assert score_entry(row) == ["scored", 7, 7.12346, None, 1, 10, 6.28]


def test_data_that_json_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        data_script("index", [math.nan])
