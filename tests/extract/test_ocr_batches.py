"""OCR of a part's figures together, against the stand-in server of PaddleOCR-VL: same rows, bounded memory, failures."""

import numpy as np
import pytest
from servers.paddleocr_vl import OcrServer

from sfq_ray.config import load
from sfq_ray.errors import FatalError
from sfq_ray.extract.worker import ExtractWorker
from sfq_ray.inputs import collect
from sfq_ray.store import Store

PART = "part-00000"
SHADES = (20, 60, 100, 140, 180, 220)


def shade_of(image):
    return int(np.median(image[:, :, 2]))


def planted(image):
    """One line that says what was seen."""
    height, width = image.shape[:2]
    corners = ((0.1, 0.1), (0.8, 0.1), (0.8, 0.3), (0.1, 0.3))
    return [(f"shade{shade_of(image)}", [(x * width, y * height) for x, y in corners])]


def two_figures(first, second):
    def draw(sheet):
        sheet.column(72, 72, 468, 100)
        for number, (shade, y) in enumerate(((first, 200), (second, 450)), 1):
            sheet.picture(180, y, 240, 130, shade)
            sheet.text(150, y + 154, f"Figure {number}: A picture with its caption below it.")
        sheet.column(72, 640, 468, 100)

    return draw


@pytest.fixture
def papers(make_pdf):
    return [make_pdf(two_figures(*SHADES[i : i + 2]), name=f"paper{i}.pdf") for i in (0, 2, 4)]


@pytest.fixture
def extract(tmp_path, papers):
    """extract(server, batch_mp): rows of figures/ and papers/ of one part with three papers."""

    def run(server, batch_mp=32.0, **changes):
        settings = load(
            None,
            {
                "features.ocr": "paddleocr-vl", "features.ocr_server.url": f"{server.url}/v1",
                "features.ocr_batch_mp": batch_mp,
            } | {f"features.ocr_server.{key}": value for key, value in changes.items()},
        )  # fmt: skip
        store = Store(tmp_path / f"out-{batch_mp}")
        store.prepare()
        unit = {"part": PART, "inputs": [item.as_dict() for item in collect([str(path) for path in papers])]}
        ExtractWorker(store.root, settings, "job")(unit)
        return store.read("figures", PART).to_pylist(), store.read("papers", PART).to_pylist()

    return run


def test_figures_of_many_papers_are_read_at_once_and_the_rows_are_those_of_reading_one_by_one(extract):
    with OcrServer(reader=planted, latency_s=0.3) as server:
        together = extract(server)
        assert (len(server.sent), server.in_flight_peak) == (6, 6)
    with OcrServer(reader=planted) as server:
        alone = extract(server, batch_mp=1e-6)
        assert server.in_flight_peak == 1
    assert together == alone
    figures, papers = together
    assert [figure["words"][0]["text"] for figure in figures] == [f"shade{shade}" for shade in SHADES]
    assert all(figure["ocr_backend"] == "paddleocr-vl" and figure["text_box_count"] == 1 for figure in figures)
    assert all(figure["ocr_mean_confidence"] is None for figure in figures)
    assert not any(flag.startswith("S4:ocr") for figure in figures for flag in figure["flags"])
    assert [paper["figures_kept"] for paper in papers] == [2, 2, 2]


def test_a_batch_holds_no_more_pixels_than_the_setting(extract):
    with OcrServer(reader=planted, latency_s=0.1) as server:
        figures, _ = extract(server, batch_mp=1.0)
        sizes = [figure["width"] * figure["height"] / 1e6 for figure in figures]
        assert all(0.5 < size < 1 for size in sizes)  # two of them reach the limit
        assert server.in_flight_peak == 2


def test_a_figure_that_ocr_failed_on_is_a_row_and_counts_in_its_paper(extract):
    with OcrServer(lambda image, number: "loop" if shade_of(image) == SHADES[3] else None, planted) as server:
        figures, papers = extract(server)
    assert [figure["error"] for figure in figures] == [None, None, None, "ocr_failed", None, None]
    assert "repetition" in figures[3]["message"]
    assert figures[3]["ocr_backend"] is None
    assert [paper["figures_failed"] for paper in papers] == [0, 1, 0]


def test_a_server_that_goes_away_ends_the_job_and_leaves_no_part(extract, tmp_path):
    def closing(image, number):
        server.lists = False
        return "503"

    with OcrServer(closing, planted) as server, pytest.raises(FatalError, match="it continues"):
        extract(server, deadline_s=0.5)
    assert not (tmp_path / "out-32.0" / "papers" / f"{PART}.parquet").exists()
