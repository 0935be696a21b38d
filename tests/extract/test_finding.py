"""Captions and figures on pages made for one question each. Boxes in pt."""

import pymupdf
import pytest

from sfq_ray.config import Extract
from sfq_ray.extract.paper import extract_paper
from sfq_ray.geometry import Box

SETTINGS = Extract()


def figures(path):
    return extract_paper(path, SETTINGS).figures


def kept(path):
    return [f for f in figures(path) if f.get("dropped") is None and f.get("error") is None]


def one_column(caption, size=10):
    """Text, a plot, its caption below, text."""

    def draw(sheet):
        sheet.column(72, 72, 468, 130)
        sheet.plot(180, 230, 240, 150)
        sheet.text(150, 404, caption, size)
        sheet.column(72, 440, 468, 250)

    return draw


@pytest.mark.parametrize(
    ("printed", "label", "text"),
    [
        ("Figure 3: Accuracy over time.", "3", "Accuracy over time."),
        ("Figure 3. Accuracy over time.", "3", "Accuracy over time."),
        ("Fig. 3. Accuracy over time.", "3", "Accuracy over time."),
        ("Fig. 3: Accuracy over time.", "3", "Accuracy over time."),
        ("FIG. 3 - Accuracy over time.", "3", "Accuracy over time."),
        ("FIGURE 3: Accuracy over time.", "3", "Accuracy over time."),
        ("Figure 3 | Accuracy over time.", "3", "Accuracy over time."),
        ("Figure A.1: Accuracy over time.", "A.1", "Accuracy over time."),
        ("Figure S2: Accuracy over time.", "S2", "Accuracy over time."),
        ("Figure 3.1: Accuracy over time.", "3.1", "Accuracy over time."),
        ("Figure 3-1: Accuracy over time.", "3-1", "Accuracy over time."),
        ("Figure IV: Accuracy over time.", "IV", "Accuracy over time."),
        ("Abbildung 3: Genauigkeit im Lauf der Zeit.", "3", "Genauigkeit im Lauf der Zeit."),
    ],
)
def test_caption_forms(make_pdf, printed, label, text):
    (figure,) = kept(make_pdf(one_column(printed)))
    assert (figure["label"], figure["caption"]) == (label, text)
    assert Box(*figure["bbox"]).iou(Box(180, 230, 420, 380)) > 0.8


@pytest.mark.parametrize(
    ("printed", "font", "label"),
    [
        ("图3：随时间变化的准确率", "china-s", "3"),
        ("図３ 時間と精度", "japan", "３"),
        ("그림 3: 시간에 따른 정확도", "korea", "3"),
    ],
)
def test_captions_in_other_scripts(make_pdf, printed, font, label):
    def draw(sheet):
        sheet.column(72, 72, 468, 130)
        sheet.plot(180, 230, 240, 150)
        sheet.text(150, 404, printed, 10, font)
        sheet.column(72, 440, 468, 250)

    (figure,) = kept(make_pdf(draw))
    assert figure["label"] == label


def test_a_sentence_that_begins_with_figure_is_no_caption(make_pdf):
    def draw(sheet):
        sheet.column(72, 72, 468, 60)
        sheet.text(72, 150, "Figure 3 shows that the accuracy grows with the size of the buffer, as one would expect.")
        sheet.column(72, 160, 468, 300)

    assert figures(make_pdf(draw)) == []


def test_a_long_caption_is_whole_and_the_text_after_it_is_not_in_it(make_pdf):
    def draw(sheet):
        sheet.column(72, 72, 468, 130)
        sheet.plot(180, 230, 240, 150)
        sheet.text(
            72, 404, "Figure 1: Accuracy of the three methods on the stream of abrupt changes, measured after each"
        )
        sheet.text(
            72, 416, "thousand samples. Bars are standard errors over five seeds, and the dashed line is the distri-"
        )
        sheet.text(72, 428, "bution of a random guess.")
        sheet.column(72, 460, 468, 200)

    (figure,) = kept(make_pdf(draw))
    assert figure["caption"] == (
        "Accuracy of the three methods on the stream of abrupt changes, measured after each thousand samples. Bars are "
        "standard errors over five seeds, and the dashed line is the distribution of a random guess."
    )


def test_tick_labels_belong_to_the_figure_and_body_text_does_not(make_pdf):
    path = make_pdf(one_column("Figure 1: Accuracy."))
    (figure,) = kept(path)
    box = Box(*figure["bbox"])
    texts = {word["text"] for word in figure["words"]}
    assert {"4.0", "0.0", "40"} <= texts
    assert not any("buffer" in text for text in texts)
    assert box.y0 > 205
    assert box.y1 < 395


def test_a_picture_a_plot_and_tiles_are_one_figure_each(make_pdf):
    def tiles(sheet):
        sheet.column(72, 72, 468, 130)
        for row in range(2):
            for column in range(2):
                sheet.picture(180 + 112 * column, 230 + 82 * row, 100, 70, 60 + 40 * row + 20 * column)
        sheet.text(150, 404, "Figure 1: Four examples.")
        sheet.column(72, 440, 468, 250)

    (figure,) = kept(make_pdf(tiles))
    assert Box(*figure["bbox"]).iou(Box(180, 230, 392, 382)) > 0.9
    assert len(figure["panels"]) == 4


def test_captions_above_and_captions_below_are_habits(make_pdf):
    def above(sheet):
        for number, y in ((1, 90), (2, 330)):
            sheet.text(150, y, f"Figure {number}: The plot below this line.")
            sheet.plot(180, y + 12, 240, 150, bend=number / 2)
        sheet.column(72, 560, 468, 160)

    def below(sheet):
        for number, y in ((1, 80), (2, 320)):
            sheet.plot(180, y, 240, 150, bend=number / 2)
            sheet.text(150, y + 168, f"Figure {number}: The plot above this line.")
        sheet.column(72, 560, 468, 160)

    first, second = kept(make_pdf(above, name="above.pdf"))
    assert Box(*first["bbox"]).iou(Box(180, 102, 420, 252)) > 0.8
    assert Box(*second["bbox"]).iou(Box(180, 342, 420, 492)) > 0.8
    first, second = kept(make_pdf(below, name="below.pdf"))
    assert Box(*first["bbox"]).iou(Box(180, 80, 420, 230)) > 0.8
    assert Box(*second["bbox"]).iou(Box(180, 320, 420, 470)) > 0.8


def test_two_columns_side_by_side_and_spanning(make_pdf):
    def draw(sheet):
        sheet.plot(60, 70, 490, 120)
        sheet.text(200, 210, "Figure 1: One plot over both columns of the page.")
        sheet.column(54, 240, 240, 200)
        sheet.plot(318, 240, 230, 140)
        sheet.text(330, 398, "Figure 2: A plot in the right column.")
        sheet.column(318, 420, 240, 300)
        sheet.plot(54, 460, 110, 90)
        sheet.plot(180, 460, 110, 90, bend=2)
        sheet.text(60, 566, "Figure 3: The left.", 8)
        sheet.text(185, 566, "Figure 4: The right.", 8)
        sheet.column(54, 590, 240, 130)

    found = {f["label"]: Box(*f["bbox"]) for f in kept(make_pdf(draw))}
    assert set(found) == {"1", "2", "3", "4"}
    assert found["1"].iou(Box(60, 70, 550, 190)) > 0.8
    assert found["2"].iou(Box(318, 240, 548, 380)) > 0.8
    assert found["3"].iou(Box(54, 460, 164, 550)) > 0.8
    assert found["4"].iou(Box(180, 460, 290, 550)) > 0.8


def test_a_table_is_not_part_of_the_figure_below_it(make_pdf):
    def draw(sheet):
        sheet.text(200, 80, "Table 1: Sizes.")
        for y in (90, 106, 170):
            sheet.page.draw_line((180, y), (420, y), width=0.8)
        for row in range(5):
            for column in range(4):
                sheet.text(190 + 60 * column, 102 + 16 * row, f"{row}.{column}")
        sheet.plot(180, 210, 240, 150)
        sheet.text(150, 380, "Figure 1: The plot.")
        sheet.column(72, 420, 468, 250)

    (figure,) = kept(make_pdf(draw))
    assert Box(*figure["bbox"]).iou(Box(180, 210, 420, 360)) > 0.8


def test_what_is_not_a_figure_is_a_row_with_its_reason(make_pdf):
    def draw(sheet):
        sheet.column(72, 72, 468, 200)
        sheet.text(72, 300, "Figure 1: A caption that lost its figure.")
        sheet.column(72, 330, 468, 100)
        sheet.picture(150, 450, 240, 200)
        sheet.column(72, 670, 468, 60)

    rows = [(f.get("label"), f["dropped_stage"], f["dropped"]) for f in figures(make_pdf(draw))]
    assert rows == [("1", "find", "unmatched_caption"), (None, "find", "uncaptioned_graphic")]


def test_a_page_of_text_has_no_figures(make_pdf):
    assert figures(make_pdf(lambda sheet: sheet.column(72, 72, 468, 600))) == []


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_rotated_pages_show_the_same_figure(make_pdf, tmp_path, rotation):
    path = make_pdf(one_column("Figure 1: Accuracy."))
    (plain,) = kept(path)
    with pymupdf.open(path) as document:
        page = document[0]
        turned = pymupdf.open()
        sides = (page.rect.width, page.rect.height) if rotation == 180 else (page.rect.height, page.rect.width)
        sheet = turned.new_page(width=sides[0], height=sides[1])
        sheet.show_pdf_page(sheet.rect, document, 0, rotate=rotation)
        sheet.set_rotation(rotation)
        turned.save(tmp_path / "turned.pdf")
    (figure,) = kept(tmp_path / "turned.pdf")
    assert Box(*figure["bbox"]).iou(Box(*plain["bbox"])) > 0.95
    assert abs(figure["width"] - plain["width"]) <= 2


def test_a_crop_box_moves_nothing_inside_the_figure(make_pdf, tmp_path):
    path = make_pdf(one_column("Figure 1: Accuracy."))
    (plain,) = kept(path)
    with pymupdf.open(path) as document:
        document[0].set_cropbox(pymupdf.Rect(40, 50, 580, 760))
        document.save(tmp_path / "cropped.pdf")
    (figure,) = kept(tmp_path / "cropped.pdf")
    moved = Box(*plain["bbox"])
    assert Box(*figure["bbox"]).iou(Box(moved.x0 - 40, moved.y0 - 50, moved.x1 - 40, moved.y1 - 50)) > 0.97


def test_thousands_of_marks_are_one_figure(make_pdf):
    def draw(sheet):
        sheet.column(72, 72, 468, 130)
        shape = sheet.page.new_shape()
        for i in range(2000):
            shape.draw_circle((190 + (i * 37) % 220, 235 + (i * 61) % 140), 1.2)
        shape.finish(fill=(0.2, 0.4, 0.8), color=None)
        shape.commit()
        sheet.text(150, 404, "Figure 1: A scatter plot.")
        sheet.column(72, 440, 468, 250)

    (figure,) = kept(make_pdf(draw))
    assert Box(*figure["bbox"]).iou(Box(189, 234, 411, 376)) > 0.9


def test_a_framed_text_is_a_figure(make_pdf):
    def draw(sheet):
        sheet.column(72, 72, 468, 130)
        sheet.page.draw_rect((120, 220, 490, 330), width=0.8)
        for row in range(6):
            sheet.page.insert_text(
                (130, 240 + 15 * row), "INPUT: what is the answer to this?", fontname="cour", fontsize=9
            )
        sheet.text(150, 350, "Figure 1: The prompt.")
        sheet.column(72, 380, 468, 300)

    (figure,) = kept(make_pdf(draw))
    assert Box(*figure["bbox"]).iou(Box(120, 220, 490, 330)) > 0.9
