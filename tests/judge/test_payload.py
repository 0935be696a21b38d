"""What of the citing paragraphs reaches a prompt: whole sentences around an intact reference, never too much."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from sfq_ray.judge.payload import ELLIPSIS, cut_around, figure_map, sentence_bounds, shorten, snippets

WORDS = st.sampled_from(
    ["the", "loss", "falls", "e.g.", "faster,", "et al.", "(see", "below)", "0.5", "Ünïcode", "x" * 30]
)
REFERENCES = st.sampled_from(["Figure 3", "Fig. 12a", "Figs. 2 and 3", "Figure A.1"])
MARKS = 4  # characters of two ellipses with their spaces


@st.composite
def sentences(draw: st.DrawFn) -> str:
    words = draw(st.lists(WORDS, min_size=1, max_size=60))
    return "So " + " ".join(words) + " ends" + draw(st.sampled_from([".", "!", "?", ".)", '."']))


@st.composite
def paragraphs(draw: st.DrawFn) -> tuple[str, tuple[int, int]]:
    """A paragraph and the span of the reference in it."""
    before, after = draw(st.lists(sentences(), max_size=6)), draw(st.lists(sentences(), max_size=6))
    reference = draw(REFERENCES)
    lead, tail = draw(st.lists(WORDS, max_size=80)), draw(st.lists(WORDS, max_size=80))
    start = len(" ".join([*before, "In", *lead, ""]))
    text = " ".join([*before, "In", *lead, reference, *tail, "ends.", *after])
    assert text[start : start + len(reference)] == reference
    return text, (start, start + len(reference))


@given(paragraphs(), st.integers(50, 600))
def test_a_cut_paragraph_fits_and_keeps_its_reference(paragraph: tuple[str, tuple[int, int]], max_chars: int) -> None:
    text, (start, end) = paragraph
    cut = cut_around(text, (start, end), max_chars)
    assert len(cut) <= max_chars
    assert text[start:end] in cut
    assert cut.removeprefix(f"{ELLIPSIS} ").removesuffix(f" {ELLIPSIS}") in text
    assert cut.startswith(ELLIPSIS) == (not text.startswith(cut[:10]))


@given(paragraphs(), st.integers(50, 600))
def test_whole_sentences_where_one_fits(paragraph: tuple[str, tuple[int, int]], max_chars: int) -> None:
    text, (start, end) = paragraph
    bounds = sentence_bounds(text)
    low, high = next((low, high) for low, high in bounds if low <= start and end <= high)
    inner = cut_around(text, (start, end), max_chars).removeprefix(f"{ELLIPSIS} ").removesuffix(f" {ELLIPSIS}")
    if high - low <= max_chars - MARKS:
        assert any(inner.startswith(text[a:b]) for a, b in bounds)
        assert any(inner.endswith(text[a:b]) for a, b in bounds)
        assert text[low:high] in inner
    else:  # words at least are whole
        at = text.index(inner)
        assert at == 0 or text[at - 1] == " "
        assert at + len(inner) == len(text) or text[at + len(inner)] == " "


@given(st.text(max_size=800), st.data(), st.integers(50, 300))
def test_any_text_is_cut_to_size(text: str, data: st.DataObject, max_chars: int) -> None:
    """Only a reference longer than the room is not cut, since nothing may break it."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    cut = cut_around(text, (start, end), max_chars)
    assert len(cut) <= max(max_chars, end - start + MARKS)
    assert text[start:end].strip() in cut
    if len(text) <= max_chars:
        assert cut == text


@given(st.text(max_size=400))
@example("One. Two.\n\nThree")
@example("结果见图三。方法更好！ End.")
def test_sentences_cover_all_but_white_space(text: str) -> None:
    bounds = sentence_bounds(text)
    places = [0, *(place for bound in bounds for place in bound), len(text)]
    assert places == sorted(places)
    gaps = [text[a:b] for a, b in zip(places[::2], places[1::2], strict=True)]
    assert not "".join(gaps).strip()


def test_abbreviations_end_no_sentence() -> None:
    text = "As Fig. 3 of Lee et al. shows, e.g. A. Smith et al. agree. It holds (see Eq. 2). Done"
    assert [text[a:b] for a, b in sentence_bounds(text)] == [
        "As Fig. 3 of Lee et al. shows, e.g. A. Smith et al. agree.",
        "It holds (see Eq. 2).",
        "Done",
    ]


def test_sentences_without_spaces_between_them() -> None:
    text = "如图3所示。方法更好！"
    assert [text[a:b] for a, b in sentence_bounds(text)] == ["如图3所示。", "方法更好！"]


def test_sentences_after_the_reference_come_first() -> None:
    text = "A first sentence stands here. Figure 3 shows it. What follows explains it."
    assert cut_around(text, (30, 38), 60) == "… Figure 3 shows it. What follows explains it."


def test_snippets_are_the_first_contexts_with_their_sections() -> None:
    long = "Nothing here. " * 50 + "Figure 3 shows a gain. " + "Nothing there. " * 50
    contexts: list[dict[str, Any]] = [
        {"section": "Results", "text": long, "spans": [{"start": 700, "end": 708}]},
        {"section": None, "text": "A link only, without a matched span.", "spans": []},
        {"section": "Appendix", "text": "Figure 3 again.", "spans": [{"start": 0, "end": 8}]},
    ]
    chosen = snippets(contexts, 2, 100)
    assert [c["section"] for c in chosen] == ["Results", None]
    assert "Figure 3 shows a gain." in chosen[0]["text"]
    assert len(chosen[0]["text"]) <= 100
    assert chosen[1]["text"] == "A link only, without a matched span."
    assert snippets(contexts, 0, 100) == []


def test_a_paragraph_cited_by_a_link_alone_is_cut_from_its_beginning() -> None:
    context: dict[str, Any] = {"section": None, "text": "It begins here. " + "More of it. " * 60, "spans": None}
    assert snippets([context], 1, 80)[0]["text"].startswith("It begins here. More of it.")


@given(st.text(max_size=500), st.integers(2, 300))
def test_shortened_text_fits(text: str, max_chars: int) -> None:
    short = shorten(text, max_chars)
    assert len(short) <= max_chars
    if len(text) <= max_chars:
        assert short == text
    else:
        assert short.endswith(ELLIPSIS)
        assert text.startswith(short[:-1])


def test_shortened_text_ends_at_a_word() -> None:
    assert shorten("Accuracy of all methods", 12) == "Accuracy of…"
    assert shorten("Accuracy of all methods", 11) == "Accuracy…"
    assert shorten("Unbrokenwords", 5) == "Unbr…"


def test_figure_map_lists_labelled_figures_in_order() -> None:
    rows: list[dict[str, Any]] = [
        {"label": "1", "caption": "word " * 100},
        {"label": None, "caption": "A picture without a label."},
        {"label": "A.1", "caption": None},
    ]
    listed = figure_map(rows)
    assert [entry["label"] for entry in listed] == ["1", "A.1"]
    assert len(listed[0]["caption"]) <= 220
    assert listed[1]["caption"] == ""
