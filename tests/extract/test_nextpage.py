"""Captions that the page break parted from their figures."""

from made import check, figures, found


def with_caption(sheet, number, y):
    sheet.plot(180, y, 240, 130, bend=number / 3)
    sheet.text(150, y + 150, f"Figure {number}: A plot with its caption below it.")


def ordinary(sheet):
    with_caption(sheet, 1, 100)
    sheet.column(72, 270, 468, 400)


def test_a_caption_at_the_top_of_the_next_page(make_pdf):
    def figure_at_the_bottom(sheet):
        sheet.column(72, 72, 468, 420)
        sheet.plot(150, 520, 300, 190, bend=0.7)

    def caption_at_the_top(sheet):
        sheet.text(150, 82, "Figure 2: A plot whose caption found no room below it.")
        sheet.column(72, 110, 468, 500)

    path = make_pdf(ordinary, figure_at_the_bottom, caption_at_the_top)
    rows = check(path, {"1": (0, (180, 99, 421, 230)), "2": (1, (150, 519, 451, 710))})
    assert (rows["2"]["page"], rows["2"]["caption_page"]) == (1, 2)


def test_a_caption_at_the_bottom_of_the_page_before(make_pdf):
    def caption_at_the_bottom(sheet):
        sheet.column(72, 72, 468, 580)
        sheet.text(150, 700, "Figure 2: A plot that fills the top of the next page.")

    def figure_at_the_top(sheet):
        sheet.plot(100, 72, 400, 300, bend=0.7)
        sheet.column(72, 400, 468, 250)

    path = make_pdf(ordinary, caption_at_the_bottom, figure_at_the_top)
    rows = check(path, {"1": (0, (180, 99, 421, 230)), "2": (2, (100, 71, 501, 372))})
    assert (rows["2"]["page"], rows["2"]["caption_page"]) == (2, 1)


def test_a_figure_with_a_caption_of_its_own_is_not_given_to_the_next_page(make_pdf):
    def own(sheet):
        sheet.column(72, 72, 468, 400)
        with_caption(sheet, 2, 520)

    def caption_without_figure(sheet):
        sheet.text(150, 82, "Figure 3: A caption whose figure is missing.")
        sheet.column(72, 110, 468, 500)

    path = make_pdf(own, caption_without_figure)
    assert [f["label"] for f in found(path)] == ["2"]
    assert [(f["label"], f["dropped"]) for f in figures(path) if f.get("dropped_stage") == "find"] == [
        ("3", "unmatched_caption")
    ]


def test_a_caption_in_the_middle_of_the_text_has_no_figure_on_another_page(make_pdf):
    def loose(sheet):
        sheet.column(72, 72, 468, 420)
        sheet.plot(150, 520, 300, 190, bend=0.7)

    def between_paragraphs(sheet):
        sheet.column(72, 72, 468, 200)
        sheet.text(150, 300, "Figure 1: A caption between paragraphs.")
        sheet.column(72, 320, 468, 250)

    dropped = {f["dropped"] for f in figures(make_pdf(loose, between_paragraphs))}
    assert dropped == {"unmatched_caption", "uncaptioned_graphic"}
