"""How far a caption goes where mathematics splits its rows into blocks with odd baselines. Boxes in pt."""

import pytest

from sfq_ray.extract.caption_rows import caption_rows
from sfq_ray.extract.document import Line, Span, _baseline
from sfq_ray.extract.rows import Row
from sfq_ray.geometry import Box


def row(text, box, baseline, block, size=10.0):
    box = Box(*box)
    return Row(box, (Line(box, (Span(text, box, "Times", size, False, False),), True, block, baseline),))


def text_of(rows):
    page = sorted(rows, key=lambda r: (round(r.bbox.y0, 1), r.bbox.x0))
    return [r.text for r in caption_rows(rows[0], page, {id(rows[0])})]


def test_rows_of_pieces_in_blocks_of_their_own():
    """Row 1 goes on in another block; row 2 is five pieces, of which the first ends far left of the margin."""
    rows = [
        row("Figure 2: Similarity between the query bias b(10)", (306, 229, 508, 241), 239, 30),
        row("and", (510, 232, 524, 241), 239, 31),
        row("EPEW", (306, 247, 336, 256), 254, 32),
        row("k", (336, 252.7, 340, 259), 257, 33, 7.0),
        row("(10)", (336, 244.6, 351, 251), 250, 33, 7.0),
        row(". EPEW(10)", (352, 245, 398, 257), 254, 33),
        row("k", (394, 252.7, 398, 259), 257, 34, 7.0),
        row("(red) shows strong positive", (398.5, 248, 524, 257), 254, 34),
        row("alignment (0.7), while other positions (blue) cluster", (306, 259, 525, 269), 267, 34),
        row("near -0.2.", (306, 272, 344, 281), 279, 34),
    ]
    found = text_of(rows)
    assert found[:2] == ["Figure 2: Similarity between the query bias b(10)", "and"]
    assert set(found[2:8]) == {"EPEW", "k", "(10)", ". EPEW(10)", "(red) shows strong positive"}
    assert found[8:] == ["alignment (0.7), while other positions (blue) cluster", "near -0.2."]


def test_a_high_bracket_stands_above_the_row_that_it_belongs_to():
    rows = [
        row("Figure 6: Similarity between the query bias and the projected keys of", (71, 650, 524, 659), 657, 24),
        row("(", (280, 662, 285, 668.6), 663, 25),
        row("layer 2. For each layer we plot cos", (71, 664, 279, 673), 671, 24),
        row(". Red marks position 1, and blue marks all others.", (284, 664, 524, 673), 671, 30),
        row("Position 1 stands out.", (71, 676, 193, 685), 684, 31),
    ]
    assert text_of(rows)[-1] == "Position 1 stands out."
    assert {r.text for r in rows} - set(text_of(rows)) <= {"("}


@pytest.mark.parametrize("index", ["(10)", "(layer)"])
def test_the_baseline_of_a_line_is_not_that_of_its_index(index):
    spans = [
        {"text": "EPE", "size": 10.0, "origin": (0, 254.0)},
        {"text": index, "size": 7.0, "origin": (30, 249.7)},
    ]
    assert _baseline(spans) == 254.0


def test_a_column_beside_the_caption_is_not_part_of_it():
    rows = [
        row("Figure 2: A caption in the left column that", (54, 232, 294, 241), 239, 30),
        row("goes on here.", (54, 244, 110, 253), 251, 30),
        row("The text of the right column on the same lines", (318, 232, 558, 241), 239, 41),
        row("has nothing to do with it.", (318, 244, 500, 253), 251, 41),
    ]
    assert text_of(rows) == ["Figure 2: A caption in the left column that", "goes on here."]
