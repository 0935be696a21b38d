"""The example papers against what their own sources say: figures, captions, labels, boxes, citing paragraphs."""

import json
from collections import Counter
from pathlib import Path

import cv2
import numpy as np
import pytest

from sfq_ray.config import Extract
from sfq_ray.extract.paper import extract_paper
from sfq_ray.geometry import Box

EXAMPLES = Path(__file__).parents[2] / "examples"
EXPECTED = json.loads((EXAMPLES / "expected.json").read_text(encoding="utf-8"))["papers"]


@pytest.fixture(scope="module", params=sorted(EXPECTED))
def both(request):
    """(expected paper, extracted paper), each paper extracted once."""
    expected = EXPECTED[request.param]
    return expected, extract_paper(EXAMPLES / expected["pdf"], Extract())


def kept(paper):
    return [figure for figure in paper.figures if figure.get("dropped") is None and figure.get("error") is None]


def test_the_figures_are_those_of_the_paper_and_no_others(both):
    expected, paper = both
    assert paper.pages == expected["pages"]
    assert paper.title == expected["title"]
    assert paper.warnings == []
    assert [figure["label"] for figure in paper.figures] == [figure["label"] for figure in expected["figures"]]
    assert kept(paper) == paper.figures
    assert [figure["fig_index"] for figure in paper.figures] == list(range(1, len(paper.figures) + 1))


def test_captions_are_exact(both):
    expected, paper = both
    for wanted, figure in zip(expected["figures"], paper.figures, strict=True):
        assert figure["caption"] == wanted["caption"]
        assert figure["caption_label"] == wanted["caption_label"]


def test_boxes_lie_on_the_figures(both):
    expected, paper = both
    for wanted, figure in zip(expected["figures"], paper.figures, strict=True):
        assert figure["page"] == wanted["page"]
        assert Box(*figure["bbox"]).iou(Box(*wanted["bbox"])) >= 0.9, wanted["label"]
        assert Box(*figure["caption_bbox"]).iou(Box(*wanted["caption_bbox"])) >= 0.7, wanted["label"]


def test_citing_paragraphs_are_exact(both):
    """The same texts with the same sections, pages and panels; the order in the row is by evidence."""
    expected, paper = both
    for wanted, figure in zip(expected["figures"], paper.figures, strict=True):
        texts = Counter(context["text"] for context in figure["contexts"])
        assert texts == Counter(context["text"] for context in wanted["contexts"]), wanted["label"]
        found = {context["text"]: context for context in figure["contexts"]}
        for context in wanted["contexts"]:
            own = found[context["text"]]
            assert own["section"] in (context["section"], context["section_printed"])
            assert own["page"] == context["page"]
            assert sorted(own["panels"]) == sorted(context["panels"])
            cited = [own["text"][span["start"] : span["end"]] for span in own["spans"]]
            assert cited == context["references"]


def test_crops_show_the_box_at_300_dpi(both):
    _, paper = both
    for figure in paper.figures:
        pixels = cv2.imdecode(np.frombuffer(figure["image"], np.uint8), cv2.IMREAD_COLOR)
        assert pixels.shape == (figure["height"], figure["width"], 3)
        assert figure["dpi"] == 300
        box = Box(*figure["bbox"])
        assert abs(box.width / 72 * 300 - figure["width"]) <= 1.5
        assert abs(box.height / 72 * 300 - figure["height"]) <= 1.5
        assert (pixels < 128).any()


def test_the_same_paper_gives_the_same_rows(both):
    expected, paper = both
    assert extract_paper(EXAMPLES / expected["pdf"], Extract()) == paper
