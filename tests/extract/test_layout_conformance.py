"""Every layout backend of the registry through the same cases, each as far as it can run on this machine."""

import importlib.util
import os
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from sfq_ray.config import Layout, load
from sfq_ray.extract.layout_worker import LayoutWorker
from sfq_ray.extract.layouts import EMBEDDED, LAYOUTS, load_detector
from sfq_ray.extract.worker import ExtractWorker
from sfq_ray.geometry import Box
from sfq_ray.inputs import collect
from sfq_ray.store import Store

EXAMPLES = Path(__file__).parents[2] / "examples"
PART = "part-00000"
LETTER_PT = Box(0, 0, 612, 792)


def why_not(name):
    """Why the backend cannot run here; None where it can."""
    if name == "pp-doclayout" and importlib.util.find_spec("figcrop") is None:
        return "the extra pp-doclayout is not installed"
    if name == "marker" and "SFQ_SURYA_WEIGHTS" not in os.environ:
        return "the extra marker needs weights: SFQ_SURYA_WEIGHTS names no folder"
    return None


@pytest.fixture(params=sorted(LAYOUTS))
def layout(request):
    reason = why_not(request.param)
    if reason is not None:
        pytest.skip(reason)
    return request.param


@pytest.fixture(params=sorted(LAYOUTS.keys() - {EMBEDDED}))
def detector(request):
    reason = why_not(request.param)
    if reason is not None:
        pytest.skip(reason)
    return load_detector(request.param, Layout(weights=os.environ.get("SFQ_SURYA_WEIGHTS")))


def extracted(folder, layout, *paths):
    """Rows of layouts/, papers/ and figures/ of one part."""
    weights = os.environ.get("SFQ_SURYA_WEIGHTS") if layout == "marker" else None
    settings = load(None, {"extract.layout": layout, "features.ocr": "none", "extract.detector.weights": weights})
    store = Store(folder)
    store.prepare()
    unit = {"part": PART, "inputs": [item.as_dict() for item in collect([str(path) for path in paths])]}
    if layout != EMBEDDED:
        LayoutWorker(store.root, settings)(unit)
    ExtractWorker(store.root, settings, "job")(unit)
    return [
        store.read(name, PART).to_pylist() if store.has(name, PART) else [] for name in ("layouts", "papers", "figures")
    ]


def words_alone(sheet):
    sheet.column(72, 72, 468, 600)


def test_boxes_lie_within_the_page_and_each_figure_says_whose_box_it_has(layout, tmp_path):
    layouts, papers, figures = extracted(tmp_path, layout, EXAMPLES / "one-column.pdf")
    assert papers[0]["outcome"] == "kept"
    for page in layouts:
        for region in page["regions"]:
            assert Box(*region["bbox"]).share_inside(LETTER_PT.grown(0.5)) == pytest.approx(1)
            assert 0 <= region["score"] <= 1
    for figure in figures:
        assert figure["layout"] in (layout, EMBEDDED, None)
        if figure["bbox"] is not None:
            assert Box(*figure["bbox"]).share_inside(LETTER_PT.grown(0.5)) == pytest.approx(1)


def test_the_same_paper_gives_the_same_rows(layout, tmp_path):
    paper = EXAMPLES / "one-column.pdf"
    assert extracted(tmp_path / "a", layout, paper) == extracted(tmp_path / "b", layout, paper)


def test_files_that_cannot_be_read_are_rows_and_the_others_go_on(layout, tmp_path, make_pdf):
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.5 nothing")
    (tmp_path / "none.pdf").write_bytes(b"")
    paths = [tmp_path / "bad.pdf", tmp_path / "none.pdf", EXAMPLES / "one-column.pdf"]
    _, papers, figures = extracted(tmp_path / "out", layout, *paths)
    assert {row["paper_id"]: (row["outcome"], row["error"]) for row in papers} == {
        "bad": ("failed", "damaged"), "none": ("failed", "empty_file"), "one-column": ("kept", None),
    }  # fmt: skip
    assert {figure["paper_id"] for figure in figures} == {"one-column"}


def test_a_page_of_words_gives_no_figure(layout, tmp_path, make_pdf):
    _, papers, figures = extracted(tmp_path / "out", layout, make_pdf(words_alone))
    assert papers[0]["figures_kept"] == 0
    assert not [figure for figure in figures if figure["label"] is not None]


@pytest.mark.parametrize("shape", [(800, 600), (600, 800), (40, 30), (1200, 60)])
def test_a_detector_answers_for_every_image_with_boxes_inside_it(detector, shape):
    image = np.random.default_rng(1).integers(0, 256, (*shape, 3), np.uint8)
    white = np.full((*shape, 3), 255, np.uint8)
    found = detector.detect([image, white])
    assert len(found) == 2
    assert detector.detect([]) == []
    for region in found[0] + found[1]:
        assert region.label
        assert 0 <= region.score <= 1
        assert Box(*region.bbox).share_inside(Box(-0.5, -0.5, shape[1] + 0.5, shape[0] + 0.5)) == pytest.approx(1)


def test_a_detector_sees_pages_together_as_it_sees_them_alone(detector):
    """Boxes may differ by what a batch changes in the last digits of its sums."""
    rng = np.random.default_rng(2)
    pages = [np.full((700, 500, 3), 255, np.uint8) for _ in range(3)]
    for page in pages[1:]:
        page[100:400, 80:420] = rng.integers(0, 256, (300, 340, 3), np.uint8)
    together, alone = detector.detect(pages), [detector.detect([page])[0] for page in pages]
    assert [len(found) for found in together] == [len(found) for found in alone]
    for many, one in zip(chain(*together), chain(*alone), strict=True):
        assert many.label == one.label
        assert np.allclose(many.bbox, one.bbox, atol=0.5)
