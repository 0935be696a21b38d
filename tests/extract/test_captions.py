"""Forms of captions, on pages with text, a plot, the caption below it, and text. Boxes in pt."""

import pytest
from made import figures, found, put

from sfq_ray.geometry import Box

PLOT = Box(180, 230, 420, 380)
TEXT = "Accuracy over time."


def page_with(*pieces, size=10):
    """A page whose caption is made of pieces (text, font) on one line."""

    def draw(sheet):
        sheet.column(72, 72, 468, 130)
        sheet.plot(180, 230, 240, 150)
        x = 150
        for text, font in pieces:
            x = put(sheet, x, 404, text, font, size)
        sheet.column(72, 440, 468, 250)

    return draw


@pytest.mark.parametrize(
    ("printed", "label"),
    [
        ("Figure 3: ", "3"),
        ("Figure 3. ", "3"),
        ("Figure 3.", "3"),
        ("Figure 3 : ", "3"),
        ("Fig. 3 ", "3"),
        ("Fig. 3. ", "3"),
        ("Fig.3. ", "3"),
        ("Fig 3. ", "3"),
        ("FIG. 3 - ", "3"),
        ("FIG. 3 \u2013 ", "3"),
        ("FIG. 3 \u2014 ", "3"),
        ("FIG. 3\u2014", "3"),
        ("Figure 3 | ", "3"),
        ("Fig. 3 | ", "3"),
        ("Figure 3) ", "3"),
        ("Figure A.1: ", "A.1"),
        ("Figure A1. ", "A1"),
        ("Figure S2: ", "S2"),
        ("Fig. S2. ", "S2"),
        ("Figure 3.1: ", "3.1"),
        ("Figure 3.1. ", "3.1"),
        ("Figure 3-1: ", "3-1"),
        ("Figure 3\u20131. ", "3\u20131"),
        ("Figure 3a: ", "3a"),
        ("Figure B: ", "B"),
        ("FIGURE IV: ", "IV"),
        ("FIGURE IV. ", "IV"),
        ("Figure I. ", "I"),
        ("Supplementary Figure 1: ", "1"),
        ("Supplementary Fig. 1. ", "1"),
        ("Supplementary Figure S1: ", "S1"),
        ("Extended Data Fig. 2 | ", "2"),
        ("Extended Data Figure 2: ", "2"),
        ("Appendix Figure 1: ", "1"),
        ("Abbildung 3: ", "3"),
        ("Abb. 3: ", "3"),
        ("Figura 3. ", "3"),
        ("Figuur 3: ", "3"),
        ("Figur 3: ", "3"),
        ("Rysunek 3. ", "3"),
        ("Rys. 3. ", "3"),
        ("Obrázek 3: ", "3"),
        ("Obr. 3: ", "3"),
        ("Şekil 3. ", "3"),
        ("Hình 3. ", "3"),
        ("Kuva 3. ", "3"),
        ("Scheme 1. ", "1"),
        ("Plate 1. ", "1"),
        ("Chart 1: ", "1"),
    ],
)
def test_latin_labels(make_pdf, printed, label):
    (figure,) = found(make_pdf(page_with((printed + TEXT, "tiro"))))
    assert (figure["label"], figure["caption"]) == (label, TEXT)
    assert figure["caption_label"] == printed.strip()
    assert Box(*figure["bbox"]).iou(PLOT) > 0.8


@pytest.mark.parametrize("number", ["3", "S2", "A.1", "IV"])
@pytest.mark.parametrize("font", ["tibo", "hebo", "helv", "tiit"])
def test_a_label_set_apart_by_its_font_alone(make_pdf, number, font):
    (figure,) = found(make_pdf(page_with((f"Figure {number}", font), (f"  {TEXT}", "tiro"))))
    assert (figure["label"], figure["caption"]) == (number, TEXT)


@pytest.mark.parametrize("font", ["tiro", "tibo"])
@pytest.mark.parametrize("text", ["", "(a) Accuracy. (b) Loss.", "the accuracy over time"])
def test_a_label_on_a_line_of_its_own(make_pdf, font, text):
    def draw(sheet):
        sheet.column(72, 72, 468, 130)
        sheet.plot(180, 230, 240, 150)
        sheet.text(150, 404, "Figure 3", 10, font)
        sheet.text(150, 416, text)
        sheet.column(72, 450, 468, 250)

    (figure,) = found(make_pdf(draw))
    assert (figure["label"], figure["caption"] or "") == ("3", text)


@pytest.mark.parametrize(
    ("printed", "font", "label", "text"),
    [
        ("Рис. 3. Точность во времени.", "tiro", "3", "Точность во времени."),
        ("Рис. 3 Точность во времени.", "tiro", "3", "Точность во времени."),
        ("Рисунок 3 — Точность во времени.", "tiro", "3", "Точность во времени."),
        ("Рис.3: Точность во времени.", "tiro", "3", "Точность во времени."),
        ("图 3 随时间变化的准确率", "cjk", "3", "随时间变化的准确率"),
        ("图３ 随时间变化的准确率", "cjk", "３", "随时间变化的准确率"),
        ("图 ３：随时间变化的准确率", "cjk", "３", "随时间变化的准确率"),
        ("图3-1 随时间变化的准确率", "cjk", "3-1", "随时间变化的准确率"),
        ("圖 3 隨時間變化的準確率", "cjk", "3", "隨時間變化的準確率"),
        ("図 3 時間と精度", "cjk", "3", "時間と精度"),
        ("図３．時間と精度", "cjk", "３", "時間と精度"),
        ("図3時間と精度", "cjk", "3", "時間と精度"),
        ("그림 3: 시간에 따른 정확도", "cjk", "3", "시간에 따른 정확도"),
        ("그림 3. 시간에 따른 정확도", "cjk", "3", "시간에 따른 정확도"),
        ("[그림 3] 시간에 따른 정확도", "cjk", "3", "시간에 따른 정확도"),
        ("<그림 3> 시간에 따른 정확도", "cjk", "3", "시간에 따른 정확도"),
        ("〈그림 3〉 시간에 따른 정확도", "cjk", "3", "시간에 따른 정확도"),
        ("【図３】時間と精度", "cjk", "３", "時間と精度"),
    ],
)
def test_other_scripts(make_pdf, printed, font, label, text):
    def draw(sheet):
        sheet.column(72, 72, 468, 130)
        sheet.plot(180, 230, 240, 150)
        put(sheet, 150, 404, printed, font)
        sheet.column(72, 440, 468, 250)

    (figure,) = found(make_pdf(draw))
    assert (figure["label"], figure["caption"]) == (label, text)


def grid(sheet, x, y, columns=4, rows=5):
    """A bordered table, 60 x 16 pt a cell."""
    for row in range(rows + 1):
        sheet.page.draw_line((x, y + 16 * row), (x + 60 * columns, y + 16 * row), width=0.6)
    for column in range(columns + 1):
        sheet.page.draw_line((x + 60 * column, y), (x + 60 * column, y + 16 * rows), width=0.6)
    for row in range(rows):
        for column in range(columns):
            sheet.text(x + 20 + 60 * column, y + 12 + 16 * row, f"{row}.{column}", 8, "helv")


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize(
    ("printed", "is_figure"),
    [
        ("Figure 3: Cells.", True),
        ("Fig. 3. Cells.", True),
        ("Table 2: Cells.", False),
        ("TABLE II", False),
        ("Tab. 2. Cells.", False),
        ("Supplementary Table 1: Cells.", False),
        ("Tabelle 2: Zellen.", False),
        ("Algorithm 1: Cells.", False),
        ("Algorithm 1 Cells", False),
        ("Listing 1: Cells.", False),
    ],
)
def test_the_caption_word_tells_a_figure_from_a_table(make_pdf, printed, is_figure, above):
    def draw(sheet):
        sheet.column(72, 72, 468, 130)
        sheet.text(180, 228 if above else 340, printed)
        grid(sheet, 180, 240)
        sheet.column(72, 380, 468, 250)

    rows = figures(make_pdf(draw))
    assert len(rows) == is_figure
    if is_figure:
        assert Box(*rows[0]["bbox"]).iou(Box(180, 240, 420, 320)) > 0.9


def test_a_supplementary_figure_is_another_than_the_figure_of_that_number(make_pdf):
    def draw(*labels):
        def page(sheet):
            for place, label in enumerate(labels):
                sheet.plot(180, 80 + 220 * place, 240, 150, bend=0.3 + place)
                sheet.text(150, 254 + 220 * place, f"{label} {TEXT}")
            sheet.column(72, 540, 468, 160)

        return page

    path = make_pdf(
        draw("Figure 1:", "Figure 2:"), draw("Supplementary Figure 1", "Extended Data Fig. 2 |"), draw("Figure S4:")
    )
    labels = [f["caption_label"] for f in found(path)]
    assert labels == ["Figure 1:", "Figure 2:", "Supplementary Figure 1", "Extended Data Fig. 2 |", "Figure S4:"]


@pytest.mark.parametrize("gap", [4, 8, 11, 14, 20])
def test_a_wide_space_after_the_label(make_pdf, gap):
    def draw(sheet):
        sheet.column(72, 72, 468, 130)
        sheet.plot(180, 230, 240, 150)
        x = put(sheet, 150, 404, "Fig. 3.")
        put(sheet, x + gap, 404, TEXT)
        sheet.column(72, 440, 468, 250)

    (figure,) = found(make_pdf(draw))
    assert (figure["label"], figure["caption"]) == ("3", TEXT)


def test_a_small_word_after_the_number_is_no_panel_letter(make_pdf):
    (figure,) = found(make_pdf(page_with(("Figure 3", "tibo"), (" a comparison of methods.", "tiro"))))
    assert (figure["label"], figure["caption"]) == ("3", "a comparison of methods.")


def test_one_caption_without_the_punctuation_of_the_others(make_pdf):
    def draw(*printed):
        def page(sheet):
            for place, text in enumerate(printed):
                sheet.plot(180, 80 + 220 * place, 240, 150, bend=0.3 + place)
                sheet.text(150, 254 + 220 * place, text)
            sheet.column(72, 540, 468, 160)

        return page

    path = make_pdf(
        draw("Figure 1: Accuracy over time.", "Figure 2: Loss over time."),
        draw("Figure 3 Memory over time.", "Fig. 4. Time over memory."),
        draw("Figure 5 (color online) Nothing over time."),
    )
    assert [f["label"] for f in found(path)] == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize("label", ["Figure 1:", "Figure 1.", "Fig. 1."])
def test_a_caption_above_its_figure_tight_below_a_paragraph(make_pdf, label):
    def draw(sheet):
        for row in range(6):
            sheet.text(
                72,
                84 + 12 * row,
                "The method keeps a small buffer of past samples and replays them to the model again and again.",
            )
        sheet.text(72, 156, f"{label} {TEXT}")
        sheet.plot(180, 166, 240, 150)
        sheet.column(72, 340, 468, 360)

    (figure,) = found(make_pdf(draw))
    assert (figure["label"], figure["caption"]) == ("1", TEXT)
