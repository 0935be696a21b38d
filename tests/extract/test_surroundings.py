"""What stands around a figure: running heads, rules, margins, backgrounds. Boxes in pt."""

import pymupdf
import pytest
from made import check, found

from sfq_ray.extract.document import Span, _letters
from sfq_ray.geometry import Box


def with_caption(sheet, text="Figure 1: A plot with its caption below it.", y=384):
    sheet.text(150, y, text)
    sheet.column(72, y + 36, 468, 250)


def check_box(path, right, least=0.93):
    [row] = found(path)
    assert Box(*row["bbox"]).iou(Box(*right)) > least, row["bbox"]


def test_a_frame_of_lines_below_the_rule_of_the_running_head(make_pdf):
    """The head's rule is as wide as the frame, but no side of the frame reaches up to it."""

    def draw(sheet):
        sheet.text(72, 36, "Under review as a conference paper")
        sheet.page.draw_line((72, 40), (540, 40), width=0.5)
        sheet.column(72, 60, 468, 60)
        for y in (140, 520):
            sheet.page.draw_line((72, y), (540, y), width=0.5)
        for x in (72, 540):
            sheet.page.draw_line((x, 140), (x, 520), width=0.5)
        for row in range(28):
            sheet.text(76, 156 + 13 * row, f"value[{row}] = score(row={row})", 9, "cour")
        with_caption(sheet, "Figure 1: A listing in a frame of four lines.", 540)

    check(make_pdf(draw), {"1": (0, (72, 140, 540, 520))})


def test_panels_that_stand_far_apart_from_each_other(make_pdf):
    """The middle one ends higher than the two at the sides, which are too far from each other to be one without it."""

    def draw(sheet):
        sheet.column(72, 72, 468, 60)
        sheet.picture(90, 200, 100, 100)
        sheet.picture(250, 180, 90, 118)
        sheet.picture(400, 200, 120, 100)
        with_caption(sheet, "Figure 1: Three pictures.", 330)

    check(make_pdf(draw), {"1": (0, (90, 180, 520, 300))})


def test_a_running_head_far_below_the_edge_of_large_paper(make_pdf):
    """A4 with the type area of a small book, as in proceedings: the head stands 12 % below the edge."""

    def page(number):
        def draw(sheet):
            sheet.text(134, 104, str(number), 9)
            sheet.text(168, 104, "G. Author et al.", 9)
            if number == 4:
                sheet.picture(200, 116, 190, 150)
                sheet.text(150, 290, "Fig. 1. A picture below the running head.", 9)
                sheet.column(134, 320, 346, 300)
            else:
                sheet.column(134, 118, 346, 500)

        return draw

    check(make_pdf(*(page(n) for n in (2, 4, 6, 8)), size=(595, 842)), {"1": (1, (200, 116, 390, 266))})


def test_numbers_and_words_at_the_top_of_the_type_area_are_no_heads(make_pdf):
    """Margins of 54 pt: tick labels at the top of a figure stand where page numbers stand on other paper."""

    def page(number):
        def draw(sheet):
            if number:
                sheet.plot(100, 54, 300, 150, bend=number / 3)
                sheet.text(230, 60, "Accuracy", 7)
                sheet.text(150, 224, f"Figure {number}: A plot at the top of the page.")
            sheet.column(54, 260 if number else 54, 504, 400 if number else 600)
            sheet.text(300, 770, str(number + 1), 8)

        return draw

    path = make_pdf(*(page(n) for n in range(3)))
    check(path, {str(n): (n, (101, 53, 401, 205)) for n in (1, 2)}, least=0.93)


def test_a_title_on_the_white_ground_of_a_figure(make_pdf):
    def draw(sheet):
        sheet.column(72, 72, 468, 60)
        sheet.page.draw_rect((150, 160, 450, 366), color=None, fill=(1, 1, 1))
        sheet.text(220, 176, "Profiles of all agents", 11, "hebo")
        sheet.plot(160, 230, 280, 130)
        with_caption(sheet)

    check(make_pdf(draw), {"1": (0, (160, 166, 441, 360))})


@pytest.mark.parametrize(("text", "top", "bottom"), [("Memory layout", 181.7, 190.7), ("(", 184.7, 188.9)])
def test_the_box_of_letters_in_a_font_with_wrong_metrics_is_taken_from_its_baseline(text, top, bottom):
    printed = Box(54, 184.7, 294.1, 188.9)  # 4 pt high for letters of 9 pt
    span = Span(text, printed, "LinLibertineTB", 9.0, True, False)
    assert _letters(printed, [span], 188.9) == pytest.approx((54, top, 294.1, bottom))


def test_a_watermark_across_the_figure_is_no_part_of_it(make_pdf):
    def draw(sheet):
        sheet.column(72, 72, 468, 60)
        sheet.plot(180, 230, 240, 130)
        with_caption(sheet)
        middle = pymupdf.Point(300, 300)
        slant = pymupdf.Matrix(1, 1).prerotate(55)
        sheet.page.insert_text((130, 340), "Draft", fontsize=140, color=(0.7, 0.7, 0.7), morph=(middle, slant))

    check_box(make_pdf(draw), (181, 229, 421, 360), least=0.9)


def test_text_that_flows_around_a_figure_may_begin_with_a_bold_title(make_pdf):
    def draw(sheet):
        sheet.text(72, 82, "A title in bold type that runs in here", 10, "tibo")
        sheet.column(72, 84, 210, 150)
        sheet.plot(290, 84, 240, 110)
        sheet.text(290, 212, "Figure 1: A plot beside a paragraph.")
        sheet.column(72, 260, 468, 400)

    check_box(make_pdf(draw), (291, 83, 531, 194))


def test_a_figure_in_the_margin_of_the_text(make_pdf):
    """Books set narrow figures beside the text, with their captions under them."""

    def draw(sheet):
        sheet.column(72, 72, 300, 600)
        sheet.plot(395, 200, 165, 120)
        for row, text in enumerate(("Figure 1: A plot in the", "margin of the page.")):
            sheet.text(395, 336 + 11 * row, text, 9)

    check_box(make_pdf(draw, lambda sheet: sheet.column(72, 72, 300, 600)), (396, 199, 561, 320))


def test_supplementary_figures_have_a_sequence_of_their_own(make_pdf):
    def page(label):
        def draw(sheet):
            sheet.column(72, 72, 468, 130)
            sheet.plot(180, 230, 240, 130, bend=0.4 + len(label) / 20)
            sheet.text(150, 384, f"{label}: A plot of the method.")
            sheet.column(72, 420, 468, 250)

        return draw

    labels = ("Figure 1", "Figure 2", "Supplementary Figure 1", "Supplementary Figure 2")
    rows = found(make_pdf(*map(page, labels)))
    assert len(rows) == 4
    assert not any("S2:index" in row["flags"] for row in rows)
