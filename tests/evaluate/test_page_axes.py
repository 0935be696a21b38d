"""Scales, ticks and escaping of the page's drawings."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfq_ray.evaluate.page.axes import Scale, spanning, ticks
from sfq_ray.evaluate.page.markup import Markup, said, tag

ENDS = st.tuples(st.floats(-1000, 1000), st.floats(1e-3, 1e4))


@given(ENDS)
def test_ticks_are_few_round_numbers_inside(ends):
    low, span = ends
    scale = Scale(low, low + span, 0, 100)
    found = ticks(scale)
    assert 2 <= len(found) <= 7
    assert all(low - 1e-9 * span <= value <= low + span * (1 + 1e-9) for value in found)
    steps = {f"{b - a:.6g}" for a, b in pairwise(found)}
    assert len(steps) == 1
    assert f"{float(steps.pop()):.0e}"[0] in "125"


@given(st.floats(1e-3, 1e3), st.floats(1.5, 1e5))
def test_logarithmic_ticks(low, factor):
    found = ticks(Scale(low, low * factor, 0, 100, log=True))
    assert found == sorted(found)
    assert all(low <= value <= low * factor for value in found)
    assert len(found) <= 9


def test_scales_map_their_ends():
    assert [Scale(1, 3, 10, 50)(value) for value in (1, 2, 3)] == [10, 30, 50]
    assert Scale(1, 100, 0, 10, log=True)(10) == pytest.approx(5)
    assert Scale(2, 2, 0, 10)(2) == 5
    room = spanning([4.0, 6.0], 0, 100)
    assert room(4.0) > 0
    assert room(6.0) < 100
    assert math.isfinite(spanning([], 0, 1)(0.5))


def test_only_markup_is_not_escaped():
    assert tag("p", "<b>", Markup("<i></i>"), None, ["a", ["&"]], title="\"'<") == (
        '<p title="&quot;&#x27;&lt;">&lt;b&gt;<i></i>a&amp;</p>'
    )
    assert said("<") == '<span class="said" dir="auto">&lt;</span>'
    assert tag("line", x1=1.26, x2=2.0, y1=None, stroke_width=3) == '<line x1="1.3" x2="2" stroke-width="3"></line>'
    assert tag("img", alt="") == '<img alt="">'
