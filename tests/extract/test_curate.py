"""Every curation rule, once when it holds and once when it does not."""

import cv2
import numpy as np
import pytest
from made import figures

from sfq_ray.config import Curation
from sfq_ray.extract import curate
from sfq_ray.extract.curate import Candidate, perceptual_hash
from sfq_ray.geometry import Box

LIMITS = Curation()


def plot(bend=0.5, width=600, height=400):
    """A framed curve on white, RGB."""
    image = np.full((height, width, 3), 255, np.uint8)
    cv2.rectangle(image, (40, 10), (width - 10, height - 40), (0, 0, 0), 2)
    points = [(40 + i * (width - 50) // 50, height - 40 - int((height - 60) * (i / 50) ** bend)) for i in range(51)]
    cv2.polylines(image, [np.array(points, np.int32)], False, (200, 30, 30), 5)
    for row in range(5):
        cv2.putText(image, str(row), (8, 30 + row * 80), cv2.FONT_HERSHEY_SIMPLEX, 0.8, (0, 0, 0), 2)
    return image


PLACE = Box(100, 100, 300, 230)


def candidate(image=None, number="1", box=PLACE, columns=240.0, text_lines=0):
    image = plot() if image is None else image
    return Candidate(0, box, number, image, columns, 792, text_lines, perceptual_hash(image))


def dropped(*figures):
    curate.drop_hard(figures, LIMITS)
    return [figure.dropped for figure in figures]


def test_tiny():
    assert dropped(candidate(plot()[:49, :200])) == [("S1", "tiny")]
    assert dropped(candidate(plot()[:200, :49])) == [("S1", "tiny")]
    assert dropped(candidate(plot()[:50, :200])) != [("S1", "tiny")]


def test_aspect():
    strip = np.random.default_rng(1).integers(0, 255, (60, 1300, 3), np.uint8)
    assert dropped(candidate(strip)) == [("S1", "aspect")]
    assert dropped(candidate(strip[:, :1200])) == [None]


def test_solid():
    assert dropped(candidate(np.full((300, 300, 3), 240, np.uint8))) == [("S1", "solid")]
    assert dropped(candidate(plot())) == [None]


def test_thin_curves_with_labels_are_not_solid():
    image = np.full((600, 900, 3), 255, np.uint8)
    cv2.line(image, (10, 590), (890, 590), (0, 0, 0), 2)
    assert dropped(candidate(image)) == [("S1", "solid")]
    assert dropped(candidate(image, text_lines=6)) == [None]


def test_a_copy_is_dropped_at_another_scale_and_quality():
    image = plot()
    smaller = cv2.resize(image, None, fx=0.6, fy=0.6, interpolation=cv2.INTER_AREA)
    jpeg = cv2.imdecode(cv2.imencode(".jpg", smaller, [cv2.IMWRITE_JPEG_QUALITY, 80])[1], cv2.IMREAD_COLOR)
    assert dropped(candidate(image), candidate(jpeg)) == [None, ("S1", "near_duplicate")]


def test_another_curve_on_the_same_axes_is_no_copy():
    first, second = candidate(plot(0.5)), candidate(plot(0.8))
    assert dropped(first, second) == [None, None]


def test_what_was_dropped_makes_no_duplicate():
    blank = np.full((300, 300, 3), 240, np.uint8)
    assert dropped(candidate(blank), candidate(blank)) == [("S1", "solid")] * 2


def test_area_and_overflow_flag_and_delete_nothing():
    figures = [candidate(plot(0.3 + 0.2 * i), str(i + 1)) for i in range(4)]
    figures[3].bbox = Box(50, 100, 450, 500)
    curate.flag_soft(figures, LIMITS)
    assert [figure.flags for figure in figures] == [[], [], [], ["S2:area", "S2:overflow"]]
    assert all(figure.dropped is None for figure in figures)


def test_a_figure_as_high_as_its_page_overflows():
    figure = candidate(plot(0.5))
    figure.bbox = Box(50, 20, 250, 760)
    curate.flag_soft([figure], LIMITS)
    assert figure.flags == ["S2:overflow"]


def test_a_stray_line_in_the_margin_is_cut_off_a_flagged_figure(make_pdf):
    def draw(sheet):
        sheet.column(72, 72, 468, 100)
        sheet.plot(80, 200, 450, 200)
        sheet.page.draw_line((10, 300), (200, 300), color=(0.2, 0.2, 0.2), width=0.5)
        sheet.text(150, 420, "Figure 1: A plot with a line that a proof mark left in the margin.")
        sheet.column(72, 450, 468, 250)

    [row] = figures(make_pdf(draw))
    assert row["flags"] == ["S2:overflow", "S3:cropped_again"]
    assert row["bbox"][0] > 60
    assert row["width"] == pytest.approx((row["bbox"][2] - row["bbox"][0]) * 300 / 72, abs=1)


def test_a_figure_wider_than_the_text_keeps_its_crop(make_pdf):
    def draw(sheet):
        sheet.column(72, 72, 468, 100)
        sheet.plot(15, 200, 580, 200)
        sheet.text(150, 420, "Figure 1: A plot that reaches into both margins.")
        sheet.column(72, 450, 468, 250)

    [row] = figures(make_pdf(draw))
    assert row["flags"] == ["S2:overflow", "S3:kept_original"]
    assert row["bbox"][0] < 20
    assert row["bbox"][2] > 590


@pytest.mark.parametrize(
    ("numbers", "odd"),
    [
        (["1", "2", "3"], [False, False, False]),
        (["2", "1", "3"], [False, False, False]),
        (["1", "2", "2"], [False, False, True]),
        (["1", "5", "2"], [False, False, True]),
        (["1", "A.1", None, "2"], [False] * 4),
    ],
)
def test_odd_indices(numbers, odd):
    assert curate.odd_indices(numbers) == odd


ORDINARY = {
    "whitespace_ratio": 0.7, "ocr_mean_confidence": None, "dpi": 300.0, "raster_dpi": None, "raster_ratio": 0.0,
    "caption_page": 2, "page": 2,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "marks"),
    [
        ({}, []),
        ({"whitespace_ratio": 0.97}, ["S4:sparse"]),
        ({"ocr_mean_confidence": 0.4}, ["S4:ocr_confidence"]),
        ({"ocr_mean_confidence": 0.9}, []),
        ({"dpi": 210.0}, ["S4:reduced_dpi"]),
        ({"raster_dpi": 90.0, "raster_ratio": 0.9}, ["S4:low_raster_dpi"]),
        ({"raster_dpi": 90.0, "raster_ratio": 0.1}, []),
        ({"caption_page": 3}, ["S4:cross_page"]),
        ({"caption_page": None}, []),
        (dict.fromkeys(ORDINARY), []),
    ],
)
def test_soft_marks(change, marks):
    assert curate.soft_marks(ORDINARY | change, 300, LIMITS) == marks


def rows(*labels, dropped=()):
    return [{"label": label, "dropped": "tiny" if label in dropped else None, "error": None} for label in labels]


@pytest.mark.parametrize(
    ("figures", "rule"),
    [
        (rows("1", "2", "3"), None),
        ([], "no_figures"),
        (rows(None, None), "no_figures"),
        (rows("1", "2", "3", dropped=("2",)), "too_many_unusable"),
        (rows("1", "2", "3", "4", dropped=("2",)), None),
        (rows("1", "5"), "missing_indices"),
        (rows("A.1", "S2"), None),
    ],
)
def test_the_paper_filter(figures, rule):
    assert curate.drop_paper(figures, LIMITS) == rule
