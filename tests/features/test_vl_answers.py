"""Answers of PaddleOCR-VL as lines, and what is no answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfq_ray.features import OcrFailed
from sfq_ray.features.vl_answers import plain_lines, spotted_lines

SENT, SIZE = (1000, 500), (1000, 400)  # the lower fifth is padding


def loc(*numbers):
    return "".join(f"<|LOC_{number}|>" for number in numbers)


FULL = loc(0, 0, 1000, 0, 1000, 1000, 0, 1000)


def test_places_are_thousandths_of_what_was_sent_and_stay_within_the_image():
    (line,) = spotted_lines(f"Ours{loc(100, 200, 300, 200, 300, 1000, 100, 1000)}</s>", SENT, SIZE)
    assert line.polygon == ((100, 100), (300, 100), (300, 400), (100, 400))
    assert (line.text, line.confidence) == ("Ours", None)


def test_both_forms_may_be_mixed_with_line_breaks_and_text_that_looks_like_a_token():
    answer = f"<|TEXT_START|>a\n b<|TEXT_END|><|LOC_BEGIN|>{FULL}<|LOC_END|>\n<|im_start|>user {FULL}\n"
    assert [line.text for line in spotted_lines(answer, SENT, SIZE)] == ["a b", "<|im_start|>user"]


@pytest.mark.parametrize(
    "answer",
    [
        f"Ours{loc(1, 2, 3)}", f"Ours{FULL}{loc(1)}", FULL, f"Ours{loc(0, 0, 1001, 0, 9, 9, 0, 9)}", "Ours",
        f"Ours{FULL}and more", "Ou\ufffdrs", "a\x00b", f"<|TEXT_START|>Ours<|TEXT_END|>Theirs<|TEXT_END|>{loc(5)}",
    ],
)  # fmt: skip
def test_an_answer_that_is_not_wholly_understood_is_no_text(answer):
    with pytest.raises(OcrFailed) as raised:
        spotted_lines(answer, SENT, SIZE)
    assert raised.value.kind == "malformed"


@pytest.mark.parametrize(
    "answer",
    [
        "Ours\n" * 12, "the loss of the model " * 6, "Figure: " + "la" * 40, "x" * 60,
        "A title\n" + "one more line of it\n" * 30,
    ],
)  # fmt: skip
def test_a_loop_is_told(answer):
    with pytest.raises(OcrFailed) as raised:
        plain_lines(answer)
    assert raised.value.kind == "repetition"


def test_a_line_again_and_again_at_one_place_is_a_loop_and_at_many_places_is_none():
    with pytest.raises(OcrFailed) as raised:
        spotted_lines(f"Ours{FULL}" * 3, SENT, SIZE)
    assert raised.value.kind == "repetition"
    panels = "".join(f"Ours{loc(x, 0, x + 9, 0, x + 9, 9, x, 9)}" for x in range(0, 400, 20))
    assert len(spotted_lines(panels, SENT, SIZE)) == 20


@pytest.mark.parametrize(
    "answer",
    ["0.0\n" * 100, "0 " * 400, "." * 80, "Ours\nOurs\nBaseline", "Ours\n" * 5, "epoch\n0\n" * 4 + "loss", "ab ab ab"],
)
def test_what_figures_repeat_is_no_loop(answer):
    assert [line.text for line in plain_lines(answer)] == [line.strip() for line in answer.strip().splitlines()]


def test_nothing_read_is_no_line():
    assert plain_lines(" \n</s>") == spotted_lines("", SENT, SIZE) == []


words = st.text(st.characters(codec="utf-8", exclude_characters="<|>\ufffd", exclude_categories=("C", "Z")), min_size=1)


@given(
    st.lists(
        st.tuples(words, st.lists(st.integers(0, 1000), min_size=8, max_size=8).map(tuple)), max_size=5, unique=True
    )
)
def test_every_well_formed_answer_is_read_back_within_the_image(lines):
    answer = "".join(f"<|TEXT_START|>{text}<|TEXT_END|><|LOC_BEGIN|>{loc(*n)}<|LOC_END|>" for text, n in lines)
    try:
        found = spotted_lines(answer, SENT, SIZE)
    except OcrFailed as failure:
        assert failure.kind == "repetition"
        return
    assert [line.text for line in found] == [text for text, _ in lines]
    for line in found:
        assert all(0 <= x <= SIZE[0] and 0 <= y <= SIZE[1] for x, y in line.polygon)
