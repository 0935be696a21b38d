"""Binding, on PDFs made here: every citing paragraph of a figure, and nothing else."""

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pymupdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfq_ray import tables
from sfq_ray.bind import Context, Target, bind, marks
from sfq_ray.config import Extract, Limits
from sfq_ray.extract.cues import cue
from sfq_ray.extract.document import Page, read_pages
from sfq_ray.extract.sheets import Sheets
from sfq_ray.extract.text import Vocabulary
from sfq_ray.geometry import Box

FIGURE, CAPTION = Box(320, 90, 540, 200), Box(320, 204, 540, 232)
TARGET = Target(7, "1", 0, FIGURE, 0, CAPTION)
ZONES = {0: [FIGURE, CAPTION]}

CITING = (
    "The accuracy of the larger model is higher than that of the small one at every step of the run, as Figure 1 shows "
    "for all of the five seeds that we have tried in this study."
)
POINTING = "An overview is given in Figure 1. See also the appendix."
OTHER = (
    "The schedule of the learning rate is the usual one and we did not tune it for any of the data sets we use here."
)


def write(
    document: pymupdf.Document, paragraphs: Sequence[str], page: int = 0, left: bool = True, top: float = 90
) -> None:
    """Justified paragraphs in one of two columns of an A4-like page."""
    x0, x1 = (72, 292) if left else (320, 540)
    for text in paragraphs:
        height = 14.0 * (len(text) // 40 + 2)
        room = document[page].insert_textbox((x0, top, x1, top + height), text, fontsize=10, fontname="tiro", align=3)
        assert room >= 0
        top += height - room + 8


def paper(caption: str = "Figure 1: Accuracy over the steps of the run.") -> pymupdf.Document:
    """One page: a figure with its caption on the right, text in both columns."""
    document = pymupdf.open()
    page = document.new_page(width=612, height=792)
    page.draw_rect(FIGURE, color=(0, 0, 0))
    page.insert_text((330, 120), "Figure 1 legend, not text", fontsize=8)
    page.insert_textbox(CAPTION, caption, fontsize=9, fontname="tiro")
    write(document, [OTHER, CITING, OTHER])
    write(document, [POINTING, OTHER, OTHER], left=False, top=260)
    return document


def pages_of(document: pymupdf.Document) -> list[Page]:
    reopened = pymupdf.open("pdf", document.tobytes())
    return list(read_pages(Sheets(reopened), Limits()))


def contexts(document: pymupdf.Document, target: Target = TARGET, **changes: object) -> list[Context]:
    pages = pages_of(document)
    vocabulary = Vocabulary(line.text for page in pages for line in page.lines)
    return bind(pages, [target], ZONES, vocabulary, Extract(**changes))[target.key]


def test_every_citing_paragraph_and_nothing_else_best_first() -> None:
    first, second = contexts(paper())
    assert (first.text, first.cue, first.evidence, first.page) == (CITING, "comparative", "text", 0)
    assert (second.text, second.cue) == (POINTING, "pointer")
    assert first.weight > second.weight
    assert [first.text[a:b] for a, b in first.spans] == ["Figure 1"]


@pytest.mark.parametrize(
    "label", ["Figure 1:", "Figure 1.", "Fig. 1:", "Fig. 1.", "FIGURE 1 |", "Figure 1 |", "Figure 1 —", "Fig 1"]
)
def test_the_style_of_the_caption_changes_nothing(label: str) -> None:
    assert contexts(paper(f"{label} Accuracy over the steps of the run.")) == contexts(paper())


@pytest.mark.parametrize("label", ["Figure 1:", "Figure 1.", "Fig. 1 |"])
def test_a_caption_outside_of_the_zones_is_no_context(label: str) -> None:
    pages = pages_of(paper(f"{label} Accuracy over the steps of the run."))
    bound = bind(pages, [TARGET], {0: [FIGURE]}, Vocabulary([]), Extract())
    assert [context.text for context in bound[7]] == [CITING, POINTING]


def test_a_reference_broken_over_a_line_and_over_pages() -> None:
    document = pymupdf.open()
    for _ in range(2):
        document.new_page(width=612, height=792)
    first, second = document[0], document[1]
    for i, text in enumerate(
        ["All of the models reach a plateau soon, which can be seen best in Fig-", "ure 1 and in"]
    ):
        first.insert_text((72, 700 + 12 * i), text, fontsize=10, fontname="tiro")
    second.insert_text((72, 80), "the numbers of the table, which agree with it.", fontsize=10, fontname="tiro")
    (context,) = contexts(document)
    assert "best in Figure 1 and in the numbers of the table" in context.text
    assert [context.text[a:b] for a, b in context.spans] == ["Figure 1"]


def test_a_figure_that_nobody_cites_has_no_context() -> None:
    assert contexts(paper(), Target(7, "2", 0, FIGURE, 0, CAPTION)) == []


def test_no_figures_no_work() -> None:
    assert bind(pages_of(paper()), [], {}, Vocabulary([]), Extract()) == {}


def test_two_figures_with_one_label_share_out_the_paragraphs_by_nearness() -> None:
    document = paper()
    document.new_page(width=612, height=792)
    document[1].insert_text((72, 80), "A Supplement", fontsize=13, fontname="tibo")
    write(document, ["In the supplement, Figure 1 is the first one again, which restarts the count."], page=1)
    pages = pages_of(document)
    again = Target(8, "1", 1, Box(320, 300, 540, 400), 1, Box(320, 404, 540, 420))
    bound = bind(pages, [TARGET, again], ZONES, Vocabulary([]), Extract())
    assert {context.page for context in bound[7]} == {0}
    assert {context.page for context in bound[8]} == {1}


def linked(text: str, mark: str, name: str, y: float = 204) -> pymupdf.Document:
    """The paper with one more paragraph, in which `mark` is a link to a named destination on page 1 at height `y`."""
    document = paper()
    write(document, [text], top=500)
    page = document[0]
    (rect,) = page.search_for(mark, clip=(72, 480, 292, 700))
    page.insert_link({"kind": pymupdf.LINK_NAMED, "from": rect, "name": name})
    height = page.rect.height
    catalog = document.pdf_catalog()
    document.xref_set_key(catalog, "Dests", f"<</{name} [{page.xref} 0 R /XYZ 320 {height - y} null]>>")
    return document


SENTENCE = "Most of the gain comes from the data, as the curves of {} tell us quite clearly at the end of the run."


@pytest.mark.parametrize(
    ("mark", "name", "evidence"),
    [
        ("Figure 1", "figure.caption.5", "both"),
        ("Figure 1", "figure.1", "both"),
        ("Figure 1", "fig:curves", "both"),
        ("Figure 1", "page.3", "text"),
        ("Exhibit 1", "figure.caption.5", "link"),
        ("the plot", "figure.caption.5", "link"),
        ("panels(1(b))", "figure.caption.5", "link"),
        ("Exhibit 1", "anchor", "link"),
    ],
)
def test_links_are_evidence(mark: str, name: str, evidence: str) -> None:
    printed = mark.removeprefix("Exhibit ").removeprefix("panels(").replace("))", ")")
    found = [c for c in contexts(linked(SENTENCE.format(mark), printed, name)) if "Most of the gain" in c.text]
    assert [context.evidence for context in found] == [evidence]
    ((start, _),) = found[0].spans
    assert found[0].text[start:].startswith(printed if evidence == "link" else mark)


@pytest.mark.parametrize(
    ("mark", "name", "y"),
    [
        ("Table 1", "figure.caption.5", 204),  # printed as something else
        ("Exhibit 2", "figure.caption.5", 204),  # printed with another number
        ("the plot", "figure.caption.5", 700),  # leads elsewhere
        ("the plot", "anchor", 204),  # may lead to anything
        ("the plot", "cite.smith", 204),
        ("the plot", "table.2", 204),
    ],
)
def test_links_to_something_else_are_none(mark: str, name: str, y: float) -> None:
    printed = mark.removeprefix("Table ").removeprefix("Exhibit ")
    document = linked(SENTENCE.format(mark), printed, name, y)
    assert not any("Most of the gain" in context.text for context in contexts(document))


def test_short_paragraphs_are_left_out() -> None:
    document = paper()
    write(document, ["See Figure 1."], top=500)
    assert len(contexts(document)) == 2
    assert len(contexts(document, min_paragraph_chars=5)) == 3


def test_the_token_cap_drops_whole_paragraphs_lowest_weight_first() -> None:
    document = paper()
    tokens = [-(-len(text) // 4) for text in (CITING, POINTING)]
    assert len(contexts(document, max_context_tokens=sum(tokens))) == 2
    assert [c.text for c in contexts(document, max_context_tokens=sum(tokens) - 1)] == [CITING]
    assert [c.text for c in contexts(document, max_context_tokens=1)] == [CITING]


def context(place: str) -> Context:
    return Context(None, place, 0, CITING, ((0, 8),), (), "pointer", 0.25, "text")


@pytest.mark.parametrize(
    ("places", "caption", "mark"),
    [
        (["body", "appendix"], "Another view of Figure 1.", None),
        (["footnote"], "", None),
        (["appendix", "appendix"], "Another view of Figure 1.", "bind:appendix_only"),
        ([], "Another view of Figure 1.", "bind:caption_only"),
        ([], "Another view.", None),
    ],
)
def test_a_figure_that_the_body_does_not_cite_is_marked(places: list[str], caption: str, mark: str | None) -> None:
    other = Target(8, "2", 0, None, 0, None)
    captions = [(7, "The same as Figure 1."), (8, caption), (None, "")]
    contexts = {7: [context(place) for place in places], 8: [context("body")]}
    assert marks(contexts, [TARGET, other], captions) == ({7: mark} if mark else {})


def test_the_caption_of_a_table_can_be_the_only_one_that_names_a_figure() -> None:
    assert marks({}, [TARGET], [(7, "See Figure 1."), (None, "The numbers of Figure 1.")]) == {7: "bind:caption_only"}


def test_contexts_are_rows_of_the_table() -> None:
    rows = [context.as_row() for context in contexts(paper())]
    assert pa.array(rows, tables.CONTEXT).to_pylist()[0]["text"] == CITING
    assert set(rows[0]) == {field.name for field in tables.CONTEXT}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("See Figure 1.", "pointer"),
        ("The results are shown in Figure 1.", "pointer"),
        ("We give an example (Figure 1).", "pointer"),
        ("We use an encoder and a decoder with shared weights (Figure 1).", "descriptive"),
        ("Figure 1 shows the encoder, the decoder and the attention layers.", "descriptive"),
        ("In Figure 1 the loss of the baseline model is higher than ours.", "comparative"),
        ("Figure 1 shows a gain of 12% over the strongest of the baselines.", "comparative"),
        ("The results are in Figure 1. Our model outperforms both of the baselines.", "comparative"),
        ("Our model outperforms every baseline by far. See Figure 1.", "pointer"),
    ],
)
def test_cues(text: str, kind: str) -> None:
    start = text.index("Figure 1")
    assert cue(text, [(start, start + len("Figure 1"))]) == kind


def test_a_paragraph_with_very_many_references_takes_no_time() -> None:
    unit = "see Figure 1, "
    spans = [(4 + len(unit) * number, 12 + len(unit) * number) for number in range(20_000)]
    began = time.monotonic()
    assert cue(unit * 20_000 + "and loss is lower than before.", spans) == "comparative"
    assert time.monotonic() - began < 10, "each character was held against every reference once: 200 s"


@settings(max_examples=25, deadline=None)
@given(st.permutations([CITING, POINTING, OTHER, OTHER]), st.sampled_from(["1", "2", "A.1"]))
def test_every_context_is_evidence_and_the_order_is_fixed(order: list[str], label: str) -> None:
    document = pymupdf.open()
    document.new_page(width=612, height=792)
    write(document, order)
    pages = pages_of(document)
    target = Target(0, label, 0, None, 0, None)
    once, twice = (bind(pages, [target], {}, Vocabulary([]), Extract())[0] for _ in range(2))
    assert once == twice
    assert sorted(c.text for c in once) == (sorted([CITING, POINTING]) if label == "1" else [])
    assert [c.weight for c in once] == sorted((c.weight for c in once), reverse=True)
    assert all(c.spans and all(c.text[a:b] == "Figure 1" for a, b in c.spans) for c in once)


@pytest.fixture
def truth() -> Path:
    if "SFQ_SHARED" not in os.environ:
        pytest.skip("SFQ_SHARED names no directory with papers of known citing paragraphs")
    return Path(os.environ["SFQ_SHARED"]) / "truth"


@pytest.mark.parametrize("name", ["adagrad17", "europar", "wql", "kdd19"])
def test_known_papers(truth: Path, name: str, words: Callable[[str], Counter[str]]) -> None:
    """Each known citing paragraph is found, for the most part, by one context, and there are hardly more."""
    known = json.loads((truth / "truth" / f"{name}.json").read_text(encoding="utf-8"))
    with pymupdf.open(truth / "pdfs" / f"{name}.pdf") as document:
        pages = list(read_pages(Sheets(document), Limits()))
    targets, zones = [], {}
    for key, figure in enumerate(known["figures"]):
        region, caption = Box(*figure["bbox_body"]), Box(*figure["caption_bbox"])
        targets.append(Target(key, figure["number"], figure["page"], region, figure["page"], caption))
        zones.setdefault(figure["page"], []).extend([region, caption.grown(1)])
    bound = bind(pages, targets, zones, Vocabulary(line.text for page in pages for line in page.lines), Extract())
    given_, found, right = 0, 0, 0
    for key, figure in enumerate(known["figures"]):
        texts = [words(context.text) for context in bound[key]]
        for citing in figure["citing"]:
            wanted = words(citing["text"])
            given_ += 1
            found += any((wanted & text).total() >= 0.6 * wanted.total() for text in texts)
        right += len(texts)
    assert found >= 0.9 * given_
    assert right <= 1.25 * given_


@pytest.fixture
def words() -> Callable[[str], Counter[str]]:
    return lambda text: Counter(text.lower().split())
