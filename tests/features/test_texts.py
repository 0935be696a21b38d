import pytest

from sfq_ray.features import texts
from sfq_ray.features.texts import TextLine
from sfq_ray.geometry import Box


def column(values, x1=100.0, top=50.0, gap=80.0):
    """Right-aligned labels below each other."""
    return [
        TextLine(text, Box(x1 - 14 * len(text), top + gap * row, x1, top + gap * row + 24), 24)
        for row, text in enumerate(values)
    ]


@pytest.mark.parametrize("label", ["a", "(b)", "C)", "(d", " (e) "])
def test_panel_labels(label):
    assert texts.panel_label_count([label]) == 1


@pytest.mark.parametrize("other", ["(ab)", "1", "(1)", "a.", "", "() "])
def test_not_panel_labels(other):
    assert texts.panel_label_count([other]) == 0


def test_token_overlap_counts_content_words_once_in_any_case():
    assert texts.token_overlap("The BLEU of BLEU and Loss", ["bleu score", "epoch"]) == 0.5


@pytest.mark.parametrize("caption", [None, "", "of the and"])
def test_no_content_token_is_null(caption):
    assert texts.token_overlap(caption, ["text"]) is None


def test_a_caption_with_tokens_and_a_figure_without_text_is_zero():
    assert texts.token_overlap("Accuracy", []) == 0


def test_numbers_compare_by_value():
    assert texts.numbers("0.50, −3 and 1,000 or 1e3; GPT-2 v3.1") == {0.5, -3, 1000, 2}
    assert texts.numbers("groups 1,2,3 of 10-20, 12,345,678.5, 1.5x and 7.") == {1, 2, 3, 10, 20, 12345678.5, 7}
    assert texts.numeric_overlap("at .5 and 20", ["0.50"]) == 0.5
    assert texts.numeric_overlap("no number", ["0.50"]) is None


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("−0.5", -0.5),
        ("1,000", 1000),
        ("20%", 20),
        ("5k", 5000),
        ("1e-3", 0.001),
        ("0,5", 0.5),
        (".25", 0.25),
        ("2.", 2),
    ]
    + [(text, None) for text in ("10-3", "a1", "", "1 2", "3 apples", "-", ".", "1.2.3")],
)
def test_tick_values(label, value):
    assert texts.tick_value(label) == value


@pytest.mark.parametrize("labels", [["100", "80", "60", "40"], ["0.9", "0.85", "0.8"], ["-1", "0", "1"]])
def test_a_column_of_ticks_gives_the_range(labels):
    values = [float(label) for label in labels]
    assert texts.y_axis_range(column(labels)) == (min(values), max(values))


def test_the_left_most_column_is_taken():
    assert texts.y_axis_range(column(["3", "2", "1"], x1=900) + column(["30", "20", "10"])) == (10, 30)


def test_stacked_panels_are_two_axes():
    lines = column(["10", "5", "0"]) + column(["60", "40", "20"], top=600)
    assert texts.y_axis_range(lines) == (0, 10)


@pytest.mark.parametrize(
    "lines",
    [
        column(["1", "2"]),
        column(["3", "1", "2"]),
        column(["5", "5", "5"]),
        [TextLine(str(n), Box(100 * n, 50, 100 * n + 20, 74), 24) for n in range(5)],
        column(["103", "102", "101", "100"]),
        column(["a", "b", "c"]),
        [],
    ],
    ids=["two", "unordered", "equal", "a row", "powers of ten written flat", "words", "nothing"],
)
def test_no_axis_is_null(lines):
    assert texts.y_axis_range(lines) is None


def test_uneven_numbers_are_no_axis():
    lines = [TextLine(str(v), Box(80, y, 100, y + 24), 24) for v, y in ((1, 0), (2, 40), (3, 400))]
    assert texts.y_axis_range(lines) is None


def test_sizes_are_weighted_by_characters():
    sizes = [(4.0, 4), (8.0, 90), (20.0, 6)]
    assert texts.weighted_size(sizes, 0.05) == 8.0
    assert texts.weighted_size([(4.0, 5), (8.0, 95)], 0.05) == 4.0
    assert texts.weighted_size(sizes, 0.5) == 8.0
    assert texts.weighted_size([], 0.5) is None


def test_dense_labels_whose_boxes_overlap_are_one_axis():
    assert texts.y_axis_range(column(["−390", "−395", "−400", "−405"], gap=14)) == (-405, -390)
