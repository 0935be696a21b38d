"""The example papers hold what expected.json says of them, as far as a plain reading can tell."""

import json
import re
from pathlib import Path

import pymupdf
import pytest

from sfq_ray.rubric import DIMENSIONS

EXAMPLES = Path(__file__).parent.parent / "examples"
PAPERS = json.loads((EXAMPLES / "expected.json").read_text())["papers"]


def letters(text: str) -> str:
    """The text without spaces and hyphens, which line breaks change."""
    return re.sub(r"[\s\u00a0\u00ad-]", "", text)


def read(page: pymupdf.Page, box: list[float] | None = None) -> str:
    clip = None if box is None else pymupdf.Rect(box) + pymupdf.Rect(-3, -3, 3, 3)
    return letters(page.get_text(clip=clip, flags=pymupdf.TEXT_PRESERVE_WHITESPACE))


@pytest.fixture(params=PAPERS)
def paper(request):
    truth = PAPERS[request.param]
    with pymupdf.open(EXAMPLES / truth["pdf"]) as document:
        yield truth, document


def test_every_pdf_is_described_and_small():
    assert sorted(path.stem for path in EXAMPLES.rglob("*.pdf")) == sorted(PAPERS)
    assert all((EXAMPLES / truth["pdf"]).stat().st_size < 200_000 for truth in PAPERS.values())


def test_captions_stand_in_their_boxes_and_outside_the_figure(paper):
    truth, document = paper
    for item in truth["figures"] + truth["tables"] + truth["algorithms"]:
        page = document[item["page"]]
        assert read(page, item["caption_bbox"]) == letters(item["caption_label"] + item["caption"])
        body = pymupdf.Rect(item["bbox"])
        assert body in page.rect
        assert not body.intersects(item["caption_bbox"])
        assert body.get_area() > 5000


def test_citing_paragraphs_begin_on_their_page_and_name_the_figure(paper):
    truth, document = paper
    for figure in truth["figures"]:
        for context in figure["contexts"]:
            assert letters(context["text"][:30]) in read(document[context["page"]])
            assert letters(context["section_printed"]) in "".join(read(page) for page in document)
            assert all(reference in context["text"] for reference in context["references"])


def test_the_twin_plants_one_defect_in_each_dimension():
    clean, twin = PAPERS["clean-two-column"], PAPERS["defective-two-column"]
    assert clean["defects"] == []
    assert {defect["dimension"] for defect in twin["defects"]} == set(DIMENSIONS)
    assert [defect["figure"] for defect in twin["defects"]] == [figure["label"] for figure in twin["figures"]]
    pages = [[(figure["label"], figure["page"]) for figure in paper["figures"]] for paper in (clean, twin)]
    assert pages[0] == pages[1]


def test_twins_differ_in_captions_and_contexts_only_where_planted():
    pairs = zip(PAPERS["clean-two-column"]["figures"], PAPERS["defective-two-column"]["figures"], strict=True)
    changed = [
        (clean["label"], part) for clean, twin in pairs for part in ("caption", "contexts") if clean[part] != twin[part]
    ]
    assert changed == [("3", "caption"), ("4", "caption"), ("5", "contexts")]
