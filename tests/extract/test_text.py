"""Running text from lines: hyphens, accents, spaces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfq_ray.extract.text import Vocabulary, join_lines, join_with_starts, normalise


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("ﬁgure  of\u00a0wa\ufb04es", "figure of waffles"),
        ("D´etection de sc`enes, o`u reconnaˆıtre", "Détection de scènes, où reconnaître"),
        ("`a la na¨ıve", "à la naïve"),
        ("the `args` and ``quoted'' of x˜y", "the `args` and ``quoted'' of xỹ"),
        ("zero\u200bwidth", "zerowidth"),
    ],
)
def test_normalise(printed: str, text: str) -> None:
    assert normalise(printed) == text


@pytest.mark.parametrize(
    ("known", "lines", "text"),
    [
        ("the performance", ["the perform-", "ance"], "the performance"),
        ("a well-known fact", ["a well-", "known fact"], "a well-known fact"),
        ("", ["an unseenword-", "break"], "an unseenwordbreak"),
        ("", ["the Smith-", "Jones test"], "the Smith-Jones test"),
        ("", ["soft\u00ad", "ly"], "softly"),
        ("", ["図を", "示す"], "図を示す"),
        ("", ["one", "", "two"], "one two"),
    ],
)
def test_join(known: str, lines: list[str], text: str) -> None:
    assert join_lines(lines, Vocabulary([known])) == text


@given(st.lists(st.text(alphabet="ab- \u00ad図", max_size=8), max_size=6))
def test_each_line_starts_where_it_says(lines: list[str]) -> None:
    text, starts = join_with_starts(lines, Vocabulary(lines))
    assert len(starts) == len(lines)
    for line, start in zip(lines, starts, strict=True):
        assert text[start:].startswith(normalise(line).rstrip("-\u00ad\u2010\u2011"))
