"""Sentences that begin as captions do."""

import pytest
from made import figures, put

TEXT = "Accuracy over time."
SENTENCES = (
    "Figure 3 shows that the accuracy grows with the size of the buffer, as one would expect.",
    "Fig. 3 compares the accuracy of the methods on all of the streams.",
    "Figures 3 and 4 show that the accuracy grows with the size of the buffer.",
    "Figure 3, which is discussed below, shows the accuracy.",
    "Figure 3a shows that the accuracy grows with the size of the buffer.",
    "Figure 3 (left) shows that the accuracy grows with the size of the buffer.",
    "Figure 3 clearly shows that the accuracy grows with the size of the buffer.",
    "Figure 3’s right panel has the accuracy of the other methods.",
    "图 3 显示了随时间变化的准确率，如上所述。",
    "Рис. 3 показывает, что точность растет.",
)


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("gap", [0, 24])
def test_a_sentence_is_no_caption(make_pdf, sentence, gap):
    """In a paper whose figure 3 has its own caption, and below a graphic that is none."""

    def draw(sheet):
        sheet.column(72, 72, 468, 60)
        put(sheet, 72, 140 + gap, sentence, "cjk" if sentence[0] == "图" else "tiro")
        sheet.column(72, 160 + gap, 468, 90)
        sheet.plot(180, 290, 240, 150)
        sheet.text(150, 464, f"Figure 3: {TEXT}")
        sheet.column(72, 500, 468, 200)

    (figure,) = figures(make_pdf(draw))
    assert (figure["label"], figure["caption"]) == ("3", TEXT)


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("other", ["Figure 1: ", "Fig. 1. ", "Figure 1 "])
def test_a_sentence_about_a_figure_of_another_paper_is_no_caption(make_pdf, sentence, other):
    def draw(sheet):
        put(sheet, 72, 90, sentence, "cjk" if sentence[0] == "图" else "tiro")
        sheet.column(72, 100, 468, 150)
        sheet.plot(180, 290, 240, 150)
        sheet.text(150, 464, other + TEXT)
        sheet.column(72, 500, 468, 200)

    assert [f["label"] for f in figures(make_pdf(draw))] == ["1"]


def test_the_end_of_a_sentence_on_a_new_line_is_no_caption(make_pdf):
    def draw(sheet):
        for row in range(3):
            sheet.text(
                72,
                84 + 12 * row,
                "The method keeps a small buffer of past samples and replays them to the model as shown in",
            )
        sheet.text(
            72, 120, "Fig. 1. We then measure the accuracy of the model on each of the streams of the benchmark as"
        )
        sheet.text(72, 132, "Figure 1. We then measure it again.")
        sheet.plot(180, 150, 240, 150)
        sheet.column(72, 340, 468, 360)

    assert [f.get("dropped") for f in figures(make_pdf(draw))] == ["uncaptioned_graphic"]
