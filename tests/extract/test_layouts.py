"""The layout stage: pages rendered, seen by a detector, its boxes in the place of the page's graphics."""

import importlib.util
import os
import sys
import types
from pathlib import Path

import layout_fakes
import numpy as np
import pytest

from sfq_ray.config import ConfigError, Layout, load
from sfq_ray.errors import FatalError
from sfq_ray.extract.layout_worker import LayoutWorker, seen_pages
from sfq_ray.extract.layouts import LAYOUTS, load_detector
from sfq_ray.extract.worker import ExtractWorker
from sfq_ray.geometry import Box
from sfq_ray.inputs import collect

EXAMPLES = Path(__file__).parents[2] / "examples"
PART = "part-00000"
LABELS = ("1", "2", "3", "A.1")  # of the figures in one-column.pdf


@pytest.fixture
def detector(monkeypatch):
    """detector(class name, key=value): settings with that detector of layout_fakes."""
    layout_fakes.calls.clear()

    def use(name, **detector):
        monkeypatch.setitem(LAYOUTS, "fake", f"layout_fakes:{name}")
        keys = {f"extract.detector.{key}": value for key, value in detector.items()}
        return load(None, {"extract.layout": "fake", "features.ocr": "none"} | keys)

    return use


def run(store, settings, *paths):
    """Both stages of one part; returns the rows of layouts/, papers/ and figures/."""
    unit = {"part": PART, "inputs": [item.as_dict() for item in collect([str(path) for path in paths])]}
    summary = LayoutWorker(store.root, settings)(unit)
    ExtractWorker(store.root, settings, "job")(unit)
    tables = [store.read(name, PART).to_pylist() for name in ("layouts", "papers", "figures")]
    assert summary["pages"] == sum(row["page"] is not None for row in tables[0])
    return tables


def ordinary(sheet):
    sheet.column(72, 72, 468, 130)
    sheet.plot(180, 230, 240, 130)
    sheet.text(150, 384, "Figure 1: A plot with its caption below it.")
    sheet.column(72, 420, 468, 250)


def dark(sheet):
    sheet.page.draw_rect((0, 0, 612, 9), fill=(0, 0, 0))
    sheet.plot(180, 230, 240, 130, bend=2.0)
    sheet.text(150, 384, "Figure 2: Another plot with its caption below it.")
    sheet.column(72, 420, 468, 250)


def alone(sheet):
    sheet.column(72, 72, 468, 130)
    sheet.text(150, 384, "Figure 3: A caption without a figure.")
    sheet.column(72, 420, 468, 250)


def test_the_boxes_of_the_detector_take_the_place_of_the_graphics(store, detector, make_pdf):
    layouts, _, [figure] = run(store, detector("LeftHalf"), make_pdf(ordinary))
    [region] = layouts[0]["regions"]
    assert Box(*region["bbox"]).iou(Box(200, 241, 310, 333)) > 0.85  # the left half of the curve, without the axes
    assert figure["layout"] == "fake"
    assert Box(*figure["bbox"]).iou(Box(180, 229, 310, 360)) > 0.9  # with the tick labels at it


def test_a_page_on_which_the_detector_failed_is_marked_and_read_by_the_embedded_finder(store, detector, make_pdf):
    layouts, papers, figures = run(store, detector("FailsOnDarkPages"), make_pdf(ordinary, dark))
    assert [(row["page"], row["error"]) for row in layouts] == [(0, None), (1, "layout_failed")]
    assert layout_fakes.calls == [2, 1, 1]  # the batch, then each of its pages alone
    assert [(f["label"], f["layout"], "find:layout_failed" in f["flags"]) for f in figures] == [
        ("1", "fake", False),
        ("2", "pymupdf", True),
    ]
    assert any("page 2: fake failed: out of memory" in warning for warning in papers[0]["warnings"])


def test_batches_hold_pages_of_many_papers(store, detector, make_pdf):
    paths = [
        make_pdf(ordinary, name="one.pdf"),
        make_pdf(ordinary, alone, name="two.pdf"),
        make_pdf(dark, name="three.pdf"),
    ]
    layouts, _, _ = run(store, detector("InkDetector", batch_pages=3), *paths)
    assert layout_fakes.calls == [3, 1]
    assert sorted((row["paper_id"], row["page"]) for row in layouts) == [
        ("one", 0),
        ("three", 0),
        ("two", 0),
        ("two", 1),
    ]


def test_only_the_pages_that_leave_a_caption_alone_are_seen(store, detector, make_pdf):
    layouts, papers, figures = run(store, detector("InkDetector", pages="unsure"), make_pdf(ordinary, dark, alone))
    assert [row["page"] for row in layouts] == [2]
    assert [(f["label"], f["layout"], f["width"] is None) for f in figures] == [
        ("1", "pymupdf", False),
        ("2", "pymupdf", False),
        ("3", "pymupdf", True),
    ]
    assert papers[0]["figures_found"] == 3


def test_a_file_that_cannot_be_rendered_is_a_row_and_the_others_go_on(store, detector, make_pdf, tmp_path):
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.5 nothing")
    layouts, papers, figures = run(store, detector("InkDetector"), tmp_path / "bad.pdf", make_pdf(ordinary))
    assert {row["paper_id"]: row["error"] for row in layouts} == {"made": None, "bad": "damaged"}
    assert {row["paper_id"]: row["outcome"] for row in papers} == {"bad": "failed", "made": "kept"}
    assert len(figures) == 1


def test_what_was_seen_is_read_back_in_pt(store, detector, make_pdf):
    run(store, detector("FailsOnDarkPages"), make_pdf(ordinary, dark))
    seen = seen_pages(store, PART)["made"]
    assert list(seen.regions) == [0]
    assert seen.failures == {1: "out of memory"}
    assert seen_pages(store, "part-00001") == {}


def test_a_detector_without_weights_ends_the_job_with_its_one_message(store, detector):
    with pytest.raises(FatalError, match=r"extract\.detector\.weights: 'nowhere' is no folder"):
        LayoutWorker(store.root, detector("WithoutWeights", weights="nowhere"))


def test_an_unknown_layout_names_the_known_ones():
    with pytest.raises(
        ConfigError, match=r"extract\.layout: 'detectron' is unknown; known: marker, pp-doclayout, pymupdf"
    ):
        load_detector("detectron", Layout())


NEEDS = {"pp-doclayout": "figcrop", "marker": "surya"}
ABSENT = {name: importlib.util.find_spec(package) is None for name, package in NEEDS.items()}


@pytest.mark.parametrize("name", NEEDS)
def test_a_detector_says_what_to_install_or_which_weights_are_missing(name, tmp_path):
    wanted = rf"pip install 'sfq_ray\[{name}\]'" if ABSENT[name] else r"extract\.detector\.weights: .*missing"
    with pytest.raises(FatalError, match=wanted):
        load_detector(name, Layout(weights=str(tmp_path / "missing")))


@pytest.mark.skipif(ABSENT["pp-doclayout"], reason="the extra pp-doclayout is not installed")
def test_pp_doclayout_sees_the_figures_of_the_examples(store):
    settings = load(None, {"extract.layout": "pp-doclayout", "features.ocr": "none"})
    layouts, _, figures = run(store, settings, EXAMPLES / "one-column.pdf")
    assert sum(len(row["regions"]) for row in layouts) >= 4
    assert [(f["label"], f["layout"]) for f in figures if f["dropped_stage"] is None] == [
        (label, "pp-doclayout") for label in LABELS
    ]


@pytest.mark.skipif(
    "SFQ_SURYA_WEIGHTS" not in os.environ, reason="the extra marker needs weights: SFQ_SURYA_WEIGHTS names no folder"
)
def test_marker_answers_for_every_page(store):
    settings = load(
        None,
        {
            "extract.layout": "marker",
            "features.ocr": "none",
            "extract.detector.weights": os.environ["SFQ_SURYA_WEIGHTS"],
        },
    )
    layouts, papers, figures = run(store, settings, EXAMPLES / "one-column.pdf")
    assert len(layouts) == papers[0]["pages"]
    assert not any(row["error"] for row in layouts)
    assert {f["label"] for f in figures if f["label"]} == set(LABELS)
    detector = load_detector("marker", settings.extract.detector)
    assert detector.detect([np.full((400, 300, 3), 255, np.uint8)] * 2) is not None


def test_another_surya_than_the_one_relied_on_is_told(monkeypatch):
    def old_loader(path):
        """As in a version that takes neither a device nor a number of threads."""

    for name, members in {
        "surya": {}, "surya.common": {},
        "surya.common.rfdetr_torch": {"load_detector": old_loader, "resolve_model_dir": lambda name: name},
        "surya.fast_layout": {"build_layout_result": lambda page, boxes, features: None},
    }.items():  # fmt: skip
        module = types.ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    with pytest.raises(FatalError, match=r"old_loader\(path\) is not as in 0\.22"):
        load_detector("marker", Layout())
