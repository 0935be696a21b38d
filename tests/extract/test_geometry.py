"""Where figures stand in relation to their captions, on made pages. Boxes in pt."""

import pytest
from made import check

from sfq_ray.geometry import Box

WIDE, LEFT, RIGHT = (72, 468), (54, 240), (318, 240)  # x and width of one and of two columns


def test_panels_with_captions_of_their_own_are_one_figure(make_pdf):
    def draw(sheet):
        sheet.column(72, 72, 468, 130)
        for place, name in enumerate(("(a) Accuracy", "(b) Loss", "(c) Memory of the method")):
            sheet.plot(72 + 158 * place, 230, 150, 120, bend=0.3 + place)
            sheet.text(110 + 158 * place, 364, name, 9)
        sheet.text(150, 390, "Figure 1: Three views of one method.")
        sheet.column(72, 420, 468, 250)

    row = check(make_pdf(draw), {"1": (0, (72, 229, 540, 367))})["1"]
    assert len(row["panels"]) == 3
    assert row["panel_labels"] == ["a", "b", "c"]
    for place, panel in enumerate(row["panels"]):
        assert Box(*panel).iou(Box(92 + 158 * place, 230, 222 + 158 * place, 335)) > 0.8


def test_panels_two_by_two_with_captions_over_two_rows(make_pdf):
    def draw(sheet):
        sheet.column(72, 72, 468, 70)
        for place in range(4):
            x, y = 80 + 240 * (place % 2), 160 + 160 * (place // 2)
            sheet.plot(x, y, 200, 110, bend=0.3 + place)
            sheet.text(x + 20, y + 122, f"({'abcd'[place]}) The accuracy of the model on stream", 9)
            sheet.text(x + 20, y + 133, f"number {place} of the benchmark.", 9)
        sheet.text(150, 480, "Figure 1: Four streams.")
        sheet.column(72, 500, 468, 200)

    row = check(make_pdf(draw), {"1": (0, (80, 159, 520, 456))})["1"]
    assert len(row["panels"]) == 4
    assert row["panel_labels"] == ["a", "b", "c", "d"]


def tight(sheet, above, gap=12.0):
    """Figure, caption, figure, caption; or caption, figure, caption, figure: `gap` pt between all of them."""
    y = 90.0
    boxes = {}
    for number in (1, 2):
        if above:
            sheet.text(150, y, f"Figure {number}: A plot with a caption.")
            y += 2 + gap
        sheet.plot(180, y, 240, 140, bend=number / 2)
        boxes[str(number)] = (0, (180, y - 1, 421, y + 140))
        y += 136
        if not above:
            sheet.text(150, y + gap + 7, f"Figure {number}: A plot with a caption.")
            y += gap + 9
        y += gap + (7 if above else 0)
    sheet.column(72, y + 20, 468, 200)
    return boxes


@pytest.mark.parametrize("gap", [4, 8, 12, 20])
@pytest.mark.parametrize("above", [True, False])
def test_figures_stacked_tightly(make_pdf, above, gap):
    boxes = {}
    check(make_pdf(lambda sheet: boxes.update(tight(sheet, above, gap))), boxes)


@pytest.mark.parametrize("above", [True, False])
def test_the_side_of_the_caption_is_a_habit_of_the_document(make_pdf, above):
    """On the last page the caption has a figure of its own and a graphic without caption on the other side."""

    def one(number, y=230):
        def draw(sheet):
            sheet.column(72, 72, 468, 130)
            sheet.plot(180, y, 240, 150, bend=number / 3)
            sheet.text(150, y - 10 if above else y + 164, f"Figure {number}: A plot.")
            sheet.column(72, 440, 468, 250)

        return draw

    def last(sheet):
        sheet.column(72, 72, 468, 60)
        sheet.plot(180, 150, 240, 150, bend=2)
        sheet.text(150, 322, "Figure 4: A plot.")
        sheet.plot(180, 340, 240, 150, bend=3)
        sheet.column(72, 520, 468, 200)

    right = {str(n): (n - 1, (180, 229, 421, 379)) for n in (1, 2, 3)}
    right["4"] = (3, (180, 339, 421, 489) if above else (180, 149, 421, 299))
    check(make_pdf(one(1), one(2), one(3), last), right)


def test_captions_of_unlike_heights_on_one_line_close_to_each_other(make_pdf):
    def draw(sheet):
        sheet.column(72, 72, 468, 130)
        sheet.plot(72, 230, 225, 150, bend=0.3)
        sheet.plot(315, 280, 225, 100, bend=2)
        for x, number in ((72, 1), (312, 2)):
            sheet.text(x, 404, f"Figure {number}: The accuracy of the method over time on the")
            sheet.text(x, 416, "first stream, and its standard errors.")
            if number == 1:
                sheet.text(x, 428, "Three seeds.")
        sheet.column(72, 450, 468, 250)

    rows = check(make_pdf(draw), {"1": (0, (72, 229, 298, 380)), "2": (0, (315, 279, 541, 380))})
    assert rows["1"]["caption"].endswith("errors. Three seeds.")
    assert rows["2"]["caption"].endswith("and its standard errors.")


@pytest.mark.parametrize("top", [True, False])
def test_a_figure_over_both_columns(make_pdf, top):
    def draw(sheet):
        y = 72 if top else 500
        sheet.plot(60, y, 492, 150)
        sheet.text(170, y + 170, "Figure 1: A plot over both columns.")
        for x, width in (LEFT, RIGHT):
            sheet.column(x, y + 200 if top else 72, width, 400)

    y = 72 if top else 500
    check(make_pdf(draw), {"1": (0, (60, y - 1, 553, y + 150))})


@pytest.mark.parametrize("right", [True, False])
def test_text_flows_around_a_figure(make_pdf, right):
    def draw(sheet):
        sheet.column(72, 72, 468, 130)
        sheet.column(72 if right else 312, 200, 228, 206)
        x = 320 if right else 72
        sheet.plot(x, 205, 215, 150)
        sheet.text(x, 374, "Figure 1: The accuracy of the method over time,", 9)
        sheet.text(x, 385, "with its standard errors.", 9)
        sheet.column(72, 404, 468, 250)

    x = 320 if right else 72
    check(make_pdf(draw), {"1": (0, (x, 204, x + 216, 354))})


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("rise", [0, 60, 120])
def test_a_caption_beside_its_figure(make_pdf, side, rise):
    def draw(sheet):
        sheet.column(72, 72, 468, 130)
        x = 90 if side == "left" else 400
        sheet.plot(230 if side == "left" else 90, 230, 290, 170)
        for row, text in enumerate(("Figure 1: The accuracy of", "the method over time, with", "its standard errors.")):
            sheet.text(x, 250 + rise + 12 * row, text)
        sheet.column(72, 440, 468, 250)

    x = 230 if side == "left" else 90
    row = check(make_pdf(draw), {"1": (0, (x, 229, x + 291, 398))})["1"]
    assert row["caption"] == "The accuracy of the method over time, with its standard errors."


def test_two_figures_side_by_side_with_captions_on_one_line(make_pdf):
    def draw(sheet):
        sheet.column(72, 72, 468, 130)
        sheet.plot(72, 230, 220, 150, bend=0.3)
        sheet.plot(320, 230, 220, 150, bend=2)
        sheet.text(80, 404, "Figure 1: The accuracy of the method.")
        sheet.text(330, 404, "Figure 2: The loss of the method.")
        sheet.column(72, 440, 468, 250)

    rows = check(make_pdf(draw), {"1": (0, (72, 229, 293, 380)), "2": (0, (320, 229, 541, 380))})
    assert rows["1"]["caption"] == "The accuracy of the method."
    assert rows["2"]["caption"] == "The loss of the method."


def test_figures_side_by_side_with_captions_at_different_heights(make_pdf):
    def draw(sheet):
        sheet.column(72, 72, 468, 130)
        sheet.plot(72, 230, 220, 200, bend=0.3)
        sheet.plot(320, 230, 220, 100, bend=2)
        sheet.text(80, 450, "Figure 1: The accuracy of the method.")
        sheet.text(330, 350, "Figure 2: The loss of the method.")
        sheet.column(72, 480, 468, 200)

    check(make_pdf(draw), {"1": (0, (72, 229, 293, 430)), "2": (0, (320, 229, 541, 330))})


def test_a_wide_figure_below_two_narrow_ones_with_short_captions(make_pdf):
    def draw(sheet):
        sheet.column(72, 72, 468, 60)
        sheet.plot(72, 150, 220, 100, bend=0.3)
        sheet.plot(320, 150, 220, 100, bend=2)
        sheet.text(160, 270, "Figure 1: A.")
        sheet.text(410, 270, "Figure 2: B.")
        sheet.plot(72, 300, 468, 150)
        sheet.text(282, 470, "Figure 3: C.")
        sheet.column(72, 500, 468, 200)

    right = {"1": (72, 149, 293, 250), "2": (320, 149, 541, 250), "3": (72, 299, 541, 450)}
    check(make_pdf(draw), {label: (0, box) for label, box in right.items()})


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_caption_beside_the_gap_between_two_panels(make_pdf, side):
    def draw(sheet):
        sheet.column(72, 72, 468, 100)
        for y, bend in ((190, 0.4), (330, 2)):
            sheet.plot(230 if side == "left" else 90, y, 290, 120, bend=bend)
        for row, text in enumerate(("Figure 1: The accuracy of", "the method over time.")):
            sheet.text(90 if side == "left" else 400, 316 + 12 * row, text)
        sheet.column(72, 470, 468, 250)

    x = 230 if side == "left" else 90
    check(make_pdf(draw), {"1": (0, (x, 189, x + 291, 448))})
