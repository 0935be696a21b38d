"""Paragraphs and reading order, on pages set line by line."""

import re

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sfq_ray.extract.document import Line, Page, Span
from sfq_ray.extract.paragraphs import Paragraph, find_paragraphs
from sfq_ray.extract.text import Vocabulary
from sfq_ray.geometry import Box

SIZE, LEADING = 10.0, 12.0
WORDS = re.findall(
    r"\w+",
    "We train every model on the same data and report what it reaches after the last step of the schedule while the "
    "second run starts from other weights and therefore shows how much of the gap is due to chance in this setting ",
)


def line(text: str, x0: float, y: float, x1: float, size: float = SIZE, font: str = "Body", bold: bool = False) -> Line:
    box = Box(x0, y - 0.8 * size, x1, y + 0.2 * size)
    return Line(box, (Span(text, box, font, size, bold, False),), True, 0, y)


def page(number: int, lines: list[Line]) -> Page:
    return Page(number, Box(0, 0, 612, 792), tuple(lines), ())


def block(
    text: str, y: float, left: float = 72, right: float = 540, indent: float = 0, size: float = SIZE
) -> list[Line]:
    """A justified paragraph: full lines to the right margin, a last one that ends early."""
    per_line = int((right - left) / (0.5 * size))
    rows, row = [], ""
    for word in text.split():
        if row and len(row) + 1 + len(word) > per_line - (0 if rows else int(2 * indent / size)):
            rows.append(row)
            row = word
        else:
            row = f"{row} {word}".strip()
    rows.append(row)
    last = left + 0.5 * (right - left)
    return [
        line(row, left + (indent if i == 0 else 0), y + i * LEADING, right if i < len(rows) - 1 else last, size)
        for i, row in enumerate(rows)
    ]


def prose(start: str, words: int = 60) -> str:
    """A sentence that starts with `start`."""
    return f"{start} " + " ".join(WORDS[i % len(WORDS)].lower() for i in range(words)) + " end."


def texts(pages: list[Page], zones: dict[int, list[Box]] | None = None) -> list[str]:
    return [text(paragraph, pages) for paragraph in find_paragraphs(pages, zones or {})]


def text(paragraph: Paragraph, pages: list[Page]) -> str:
    return paragraph.text(Vocabulary(line.text for page in pages for line in page.lines))[0]


def test_indents_and_early_ends_begin_paragraphs() -> None:
    first = block(prose("One"), 100)
    second = block(prose("Two"), first[-1].baseline + LEADING, indent=15)
    third = block(prose("Three"), second[-1].baseline + LEADING)
    assert texts([page(0, first + second + third)]) == [prose("One"), prose("Two"), prose("Three")]


def test_two_columns_below_a_title_over_both() -> None:
    title = [line("A Title over Both of the Columns of the Page", 150, 80, 460, 16)]
    left = block(prose("Left", 90), 120, 72, 290)
    right = block(prose("Right", 90), 120, 322, 540)
    mixed = [one for pair in zip(left, right, strict=True) for one in pair]
    assert texts([page(0, title + mixed)]) == [prose("Left", 90), prose("Right", 90)]


def test_a_paragraph_goes_on_over_column_float_footnote_and_page() -> None:
    whole = block(prose("Start", 330), 0, 72, 290)
    columns = [whole[:15], whole[15:30], whole[30:]]
    assert len(columns[2]) > 3

    def move(rows: list[Line], x: float, top: float) -> list[Line]:
        shift = x - 72
        return [
            line(row.text, row.bbox.x0 + shift, top + i * LEADING, row.bbox.x1 + shift) for i, row in enumerate(rows)
        ]

    figure = [line("legend of a plot", 340, 100, 420), line("Figure 1: What we see.", 322, 150, 540)]
    note = block("1 A footnote in small print that stands below the column.", 600, 72, 290, size=8)
    head = [line("Running Head 3", 250, 40, 350, 9), line("12", 300, 770, 310, 9)]
    head2 = [line("Running Head 4", 250, 40, 350, 9), line("13", 300, 770, 310, 9)]
    pages = [
        page(0, head + move(columns[0], 72, 100) + note + figure + move(columns[1], 322, 200)),
        page(1, head2 + move(columns[2], 72, 100) + move(block(prose("Next"), 0, 72, 290), 72, 300)),
    ]
    result = texts(pages, {0: [Box(320, 90, 542, 155)]})
    assert prose("Start", 330) in result
    assert prose("Next") in result
    assert not any("Running Head" in one or "legend" in one or one in ("12", "13") for one in result)
    assert any("A footnote in small print" in one for one in result)


def test_hyphens_of_line_ends_are_undone_and_those_of_words_kept() -> None:
    rows = [
        line("We measure the perform-", 72, 100, 540),
        line("ance of a state-of-the-", 72, 112, 540),
        line("art model. Its performance and state-of-the-art score", 72, 124, 540),
        line("are known, as ﬁgures show.", 72, 136, 300),
    ]
    (result,) = texts([page(0, rows)])
    assert "the performance of a state-of-the-art model" in result
    assert "as figures show" in result


def test_a_display_equation_does_not_end_its_paragraph() -> None:
    before = [line("The loss that we minimise over all of the samples is the following", 72, 100, 540)]
    before.append(line("one, which is known:", 72, 112, 200))
    equation = [line("L = − ∑ (y − f(x))² + λ‖w‖²", 220, 136, 380), line("(3)", 525, 136, 540)]
    after = [line("where the sum runs over the samples and the second term keeps the weights", 72, 160, 540)]
    after.append(line("small, as we show in Figure 4.", 72, 172, 250))
    filler = block(prose("Other"), 72 + 140, indent=15)
    first, second = texts([page(0, before + equation + after + filler)])
    assert first.startswith("The loss that we minimise")
    assert first.endswith("in Figure 4.")
    assert second == prose("Other")


def test_list_items_are_paragraphs() -> None:
    intro = block(prose("Intro"), 100)
    y = intro[-1].baseline + LEADING
    items = [
        line("• The first item reaches up to the margin of the page and goes on", 82, y, 540),
        line("in a second row.", 92, y + 12, 200),
        line("• The second item.", 82, y + 24, 200),
        line("1. A numbered item.", 82, y + 40, 200),
        line("2. Another numbered item.", 82, y + 56, 210),
    ]
    result = texts([page(0, intro + items)])
    assert result[0] == prose("Intro")
    assert [one[:14] for one in result[1:]] == ["• The first it", "• The second i", "1. A numbered ", "2. Another num"]
    assert result[1].endswith("a second row.")


def headed(y: float, title: str, body: str) -> list[Line]:
    return [line(title, 72, y, 250, 12, "Body-Bold", True), *block(body, y + 24)]


def test_each_paragraph_has_the_deepest_heading_above_it() -> None:
    rows = [
        *headed(100, "3 Method", prose("One")),
        *headed(250, "3.1 Data of the Study", prose("Two")),
        *headed(400, "Conclusion", prose("Three")),
    ]
    sections = [(p.section, text(p, [page(0, rows)])[:3]) for p in find_paragraphs([page(0, rows)], {})]
    assert sections == [("3 Method", "One"), ("3.1 Data of the Study", "Two"), ("Conclusion", "Thr")]


def test_a_heading_over_two_rows_is_one() -> None:
    rows = [
        line("3.1 A Heading so Long that", 72, 100, 250, 12, "Body-Bold", True),
        line("It Needs Two Rows", 72, 114, 200, 12, "Body-Bold", True),
        *block(prose("One"), 138),
    ]
    (paragraph,) = find_paragraphs([page(0, rows)], {})
    assert paragraph.section == "3.1 A Heading so Long that It Needs Two Rows"


def test_a_run_in_title_stays_in_its_paragraph() -> None:
    body = block(prose("we use them"), 124)
    box = body[0].bbox
    first = Line(
        box,
        (
            Span("Datasets. ", Box(72, box.y0, 120, box.y1), "Body-Bold", SIZE, True, False),
            Span(body[0].text, Box(120, box.y0, box.x1, box.y1), "Body", SIZE, False, False),
        ),
        True,
        0,
        body[0].baseline,
    )
    rows = [line("2 Method", 72, 100, 150, 12, "Body-Bold", True), first, *body[1:]]
    (paragraph,) = find_paragraphs([page(0, rows)], {})
    assert paragraph.section == "2 Method"
    assert text(paragraph, [page(0, rows)]) == "Datasets. " + prose("we use them")


def test_the_reference_list_is_left_out_and_the_appendix_is_not() -> None:
    rows = [
        *headed(100, "5 Conclusion", prose("One")),
        *headed(250, "References", prose("Smith, J. Figure 1 revisited.")),
        *headed(400, "A Proofs", prose("Two")),
    ]
    assert texts([page(0, rows)]) == [prose("One"), prose("Two")]
    assert [paragraph.place for paragraph in find_paragraphs([page(0, rows)], {})] == ["body", "appendix"]


def test_a_heading_that_says_appendix_begins_it() -> None:
    rows = [*headed(100, "5 Conclusion", prose("One")), *headed(250, "Supplementary Material", prose("Two"))]
    assert [paragraph.place for paragraph in find_paragraphs([page(0, rows)], {})] == ["body", "appendix"]


def test_line_numbers_of_review_copies_and_turned_text_are_left_out() -> None:
    body = block(prose("One", 120), 100)
    numbers = [line(str(100 + i), 40, row.baseline, 55, 7) for i, row in enumerate(body)]
    stamp = Line(
        Box(10, 200, 25, 600), (Span("arXiv:2001.1", Box(10, 200, 25, 600), "B", 20, False, False),), False, 0, 0
    )
    assert texts([page(0, [*body, *numbers, stamp])]) == [prose("One", 120)]


def test_a_table_between_two_halves_of_a_paragraph_is_left_out() -> None:
    whole = block(prose("One", 90), 100)
    cells = [
        line(cell, 80 + 120 * column, 300 + 12 * row, 110 + 120 * column)
        for row in range(5)
        for column, cell in enumerate(("Ours", "0.91", "0.87", "0.55"))
    ]
    half = len(whole) // 2
    pages = [
        page(0, whole[:half]),
        page(1, cells + [line(row.text, 72, 400 + 12 * i, row.bbox.x1) for i, row in enumerate(whole[half:])]),
    ]
    assert texts(pages) == [prose("One", 90)]


def test_a_page_with_little_text_has_the_columns_of_the_other_pages() -> None:
    full = page(0, block(prose("Left", 90), 120, 72, 290) + block(prose("Right", 90), 120, 322, 540))
    few = page(1, block(prose("Third", 12), 120, 72, 290) + block(prose("Fourth", 12), 120, 322, 540))
    assert texts([full, few])[-2:] == [prose("Third", 12), prose("Fourth", 12)]


def test_empty_documents_have_no_paragraphs() -> None:
    assert find_paragraphs([], {}) == []
    assert find_paragraphs([page(0, [])], {}) == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(5, 60), st.booleans()), min_size=1, max_size=8),
    st.booleans(),
)
def test_no_word_is_lost_or_said_twice(parts: list[tuple[int, bool]], two_columns: bool) -> None:
    """Whatever the paragraphs, every word that is printed is in exactly one of them, in order."""
    right = 290.0 if two_columns else 540.0
    rows: list[Line] = []
    wanted: list[str] = []
    for number, (words, indented) in enumerate(parts):
        body = f"Part{number} " + " ".join(f"word{number}x{i}" for i in range(words)) + " end."
        wanted.extend(body.split())
        rows.extend(block(body, 0, 72, right, 15 if indented else 0))
    assume(not two_columns or len(rows) >= 24)  # fewer rows do not tell two columns from one
    half = -(-len(rows) // 2) if two_columns else len(rows)
    placed = [
        line(row.text, row.bbox.x0 + 250 * (i >= half), 90 + 6 * (i % half) * 1.0, row.bbox.x1 + 250 * (i >= half), 5)
        for i, row in enumerate(rows)
    ]
    pages = [page(0, placed)]
    assert " ".join(texts(pages)).split() == wanted
