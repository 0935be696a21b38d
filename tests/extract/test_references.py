"""References: every way to name a figure, and what only looks like one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfq_ray.extract.references import find_references, label_of_link, normalise_label

LABELS = ("1", "2", "3", "4", "5", "6", "10", "3.1", "A.1", "S1", "S2", "IV", "3-2")


def found(text: str, labels: tuple[str, ...] = LABELS) -> list[str]:
    return [reference.label for reference in find_references(text, labels)]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("see Figure 3.", ["3"]),
        ("in figure 5 we", ["5"]),
        ("FIGURE 2 and FIG. 4", ["2", "4"]),
        ("Fig.3 and Fig 4", ["3", "4"]),
        ("Figure\u00a03, Figure\u20093", ["3", "3"]),
        ("Figure~3", ["3"]),
        ("Figure 10", ["10"]),
        ("Figure 3.1 is deeper", ["3.1"]),
        ("Figure 2.1 where 1 is a footnote", ["2"]),
        ("Figure 3-2", ["3-2"]),
        ("Figure A.1", ["A1"]),
        ("Figure A1", ["A1"]),
        ("Figure S1", ["S1"]),
        ("Supplementary Figure 1", ["S1"]),
        ("Supp. Figs. 1 and 2", ["S1", "S2"]),
        ("FIGURE IV", ["IV"]),
        ("Figure ３", ["3"]),
        ("(Fig. 3, left)", ["3"]),
        ("Figures 1 and 3 show", ["1", "3"]),
        ("Figures 2, 3, and 4", ["2", "3", "4"]),
        ("Figs. 1, 2 and 4", ["1", "2", "4"]),
        ("Figs.3&4", ["3", "4"]),
        ("Figure 3 and 4 show", ["3", "4"]),
        ("Figure 1 and Figure 2", ["1", "2"]),
        ("Figs. 2-4", ["2", "3", "4"]),
        ("Figs. 2–4 show", ["2", "3", "4"]),
        ("Figures 5 to 6", ["5", "6"]),
        ("from Figure 4 to Figure 6", ["4", "5", "6"]),
        ("Figures 4 through 6", ["4", "5", "6"]),
        ("siehe Abb. 3 und Abbildung 4", ["3", "4"]),
        ("на рис. 3 и рисунке 4", ["3", "4"]),
        ("如图3所示", ["3"]),
        ("図 2 に示す", ["2"]),
        ("그림 2는", ["2"]),
        ("la figura 3, figuur 4", ["3", "4"]),
    ],
)
def test_forms(text: str, labels: list[str]) -> None:
    assert found(text) == labels


@pytest.mark.parametrize(
    ("text", "panels"),
    [
        ("Fig. 3a", ("a",)),
        ("Figure 2(b)", ("b",)),
        ("Figure 2 (a, b)", ("a", "b")),
        ("Fig. 6A,E", ("a", "e")),
        ("Figures 3a-c", ("a", "b", "c")),
        ("Figures 3(a)-(c)", ("a", "b", "c")),
        ("Figure 3a and b", ("a", "b")),
        ("Figure 3a and a model", ("a",)),
        ("Figure 3a, x is", ("a",)),
        ("(Fig. 3, left)", ("left",)),
        ("Figure 3 (bottom right)", ("bottom right",)),
        ("Figure 3 (see text)", ()),
        ("Figure 3 A model", ()),
    ],
)
def test_panels(text: str, panels: tuple[str, ...]) -> None:
    (reference,) = find_references(text, LABELS)
    assert reference.panels == panels


def test_panels_of_each_figure_of_a_list() -> None:
    first, second = find_references("Figs. 2a, b and 3c differ", LABELS)
    assert (first.label, first.panels) == ("2", ("a", "b"))
    assert (second.label, second.panels) == ("3", ("c",))


def test_a_letter_belongs_to_the_label_when_a_figure_has_that_label() -> None:
    assert found("Fig. 6a", ("6", "6a")) == ["6A"]
    assert found("Fig. 6a", ("6",)) == ["6"]


@pytest.mark.parametrize(
    "text",
    [
        "Figure 1 of [12]",
        "Figure 3 in Smith et al. (2020)",
        "Figure 2 of Smith and Jones (2020)",
        "Figure 2 from (Smith et al., 2020)",
        "Figures 2 and 3 in [4, 5]",
        "Figure 2 of the original paper",
        "Figure 4 in their paper",
        "their Figure 2",
        "Smith et al.'s Figure 2",
        "[12, Figure 3]",
        "(Smith et al., 2020, Figure 3)",
        "Supplementary Figure 5",  # there is no S5
        "Extended Data Fig. 1",
        "Figure 7",
        "Figure 33",
        "Figure 3% of",
        "configure 3, config 3",
        "Table 3 and Section 2",
        "a figure of 3",
    ],
)
def test_what_is_no_figure_of_this_paper(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("In Figure 3, 4 models are", ["3"]),
        ("In Figure 3 and 4 other plots", ["3"]),
        ("As in [12], Figure 3 shows", ["3"]),
        ("(Smith et al., 2020; Figure 3)", ["3"]),
        ("By 2020, Figure 3 shows", ["3"]),
        ("Figure 2 in Section 3", ["2"]),
        ("Figure 3-1998", ["3"]),
    ],
)
def test_numbers_nearby_are_left_alone(text: str, labels: list[str]) -> None:
    assert found(text) == labels


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A.1", "A1"),
        ("A-1", "A1"),
        ("３", "3"),
        ("3.", "3"),
        ("s2", "S2"),
        ("Figure 3:", "3"),
        ("Supplementary Figure 1", "S1"),
        ("Extended Data Fig. 2", "ED2"),
    ],
)
def test_labels_compare_after_normalisation(one: str, other: str) -> None:
    assert normalise_label(one) == normalise_label(other)


@pytest.mark.parametrize(
    ("text", "label"),
    [("3", "3"), ("Fig. 3a", "3"), ("1(c)", "1"), ("(3)", "3"), ("2020", None), ("Smith", None), ("3 and 4", None)],
)
def test_label_of_a_link(text: str, label: str | None) -> None:
    assert label_of_link(text, LABELS) == label


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6, unique=True), st.sampled_from([", ", " and ", " & "]))
def test_plural_lists_give_their_labels(numbers: list[int], join: str) -> None:
    text = "As Figures " + join.join(map(str, numbers)) + " show."
    references = find_references(text, [str(n) for n in range(1, 41)])
    assert [reference.label for reference in references] == [str(number) for number in numbers]


@given(st.text(alphabet="Figuresabc 1234(),.-–&\u00a0", max_size=80), st.sets(st.sampled_from(LABELS)))
def test_only_labels_of_the_paper_and_spans_with_a_figure_word(text: str, labels: set[str]) -> None:
    known = {normalise_label(label) for label in labels}
    for reference in find_references(text, labels):
        assert reference.label in known
        assert 0 <= reference.start < reference.end <= len(text)
        assert text[reference.start : reference.end].lower().startswith("fig")
