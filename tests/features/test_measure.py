import io

import numpy as np
import pyarrow as pa
import pytest
from drawing import DPI, Figure, bar_chart, png, word
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFilter

from sfq_ray.config import Features
from sfq_ray.errors import ExtractError
from sfq_ray.features import FEATURE_VERSION, OcrLine, load_ocr, measure
from sfq_ray.features.raster import MAX_SIDE_PX
from sfq_ray.tables import FEATURE_FIELDS, WORD

KEYS = {name for name, _, _ in FEATURE_FIELDS} | {"words"}
TEXT_COLUMNS = [
    "has_readable_text",
    "text_source",
    "text_box_count",
    "text_region_ratio",
    "panel_label_count",
    "caption_ocr_token_overlap_ratio",
    "caption_numeric_overlap_ratio",
    "text_size_min_pt",
    "text_size_median_pt",
    "text_contrast",
    "tick_label_count",
    "legend_entry_count",
    "y_axis_min",
    "y_axis_max",
    "ocr_mean_confidence",
    "ocr_backend",
]
SHARES = [
    "whitespace_ratio",
    "text_region_ratio",
    "caption_ocr_token_overlap_ratio",
    "caption_numeric_overlap_ratio",
    "raster_ratio",
    "edge_density",
    "dominant_color_ratio",
    "text_contrast",
    "ocr_mean_confidence",
]


class FixedOcr:
    """Gives the same lines for every image and keeps what it was shown."""

    name = "fixed"

    def __init__(self, *lines: OcrLine) -> None:
        self.lines = list(lines)
        self.shown: list[np.ndarray] = []

    def read(self, image: np.ndarray) -> list[OcrLine]:
        self.shown.append(image)
        return self.lines


class BrokenOcr:
    name = "broken"

    def read(self, image: np.ndarray) -> list[OcrLine]:
        raise RuntimeError("no more memory")


def line(text: str, x: float, y: float, confidence: float = 0.9) -> OcrLine:
    return OcrLine(text, ((x, y), (x + 100, y), (x + 100, y + 40), (x, y + 40)), confidence)


def measured(image: bytes, words=(), boxes=(), caption=None, ocr=None, **options):
    return measure(image, words, boxes, DPI, caption, ocr or FixedOcr(), Features(), **options)


def white(width: int, height: int) -> bytes:
    return png(Image.new("RGB", (width, height), "white"))


def test_a_vector_chart_is_measured_from_its_native_text_without_ocr():
    chart, ocr = bar_chart(), FixedOcr(line("never", 0, 0))
    found = measured(chart.png, chart.words, caption="Baseline and ours at 20 and 55 epochs", ocr=ocr)
    assert ocr.shown == []
    assert found["words"] == chart.words
    assert found["text_source"] == "native"
    assert found["ocr_backend"] is None
    assert found["ocr_mean_confidence"] is None
    expected = {
        "pixel_count_mp": 2.0,
        "has_readable_text": True,
        "text_box_count": 9,
        "panel_label_count": 1,
        "caption_ocr_token_overlap_ratio": 3 / 5,
        "caption_numeric_overlap_ratio": 1 / 2,
        "raster_ratio": 0.0,
        "raster_dpi": None,
        "axis_count": 2,
        "bars_detected": 4,
        "tick_label_count": 6,
        "legend_entry_count": 2,
        "y_axis_min": 0.0,
        "y_axis_max": 100.0,
        "text_size_median_pt": 9.6,
        "text_contrast": 1.0,
        "feature_version": FEATURE_VERSION,
    }
    assert {name: found[name] for name in expected} == expected


def test_the_same_chart_as_a_picture_is_read_by_ocr(rapid):
    chart = bar_chart()
    found = measured(chart.png, boxes=[[0, 0, 1600, 1250]], ocr=rapid, image_dpis=[150.0])
    assert {w["text"] for w in chart.words} == {w["text"] for w in found["words"]}
    assert (found["text_source"], found["ocr_backend"], found["raster_dpi"]) == ("ocr", "rapidocr", 150.0)
    assert (found["y_axis_min"], found["y_axis_max"]) == (0, 100)
    assert (found["legend_entry_count"], found["panel_label_count"]) == (2, 1)
    assert found["ocr_mean_confidence"] > 0.9
    assert found["raster_ratio"] == 1
    for got in found["words"]:
        true = next(w for w in chart.words if w["text"] == got["text"])
        assert np.allclose(got["bbox"], true["bbox"], atol=16)


@pytest.mark.parametrize("size_pt", [5, 7, 10, 14])
def test_ocr_font_sizes_are_within_a_fifth(rapid, size_pt):
    figure = Figure(1000, 500)
    figure.text(60, 60, "Validation accuracy", size_pt)
    figure.text(60, 300, "0.8542", size_pt)
    found = measured(figure.png, boxes=[[0, 0, 1000, 500]], ocr=rapid)
    assert len(found["words"]) == 2
    assert [w["size_pt"] for w in found["words"]] == pytest.approx([size_pt] * 2, rel=0.2)
    assert found["text_size_median_pt"] == pytest.approx(size_pt, rel=0.2)


def test_a_picture_larger_than_ocr_sees_keeps_its_coordinates(rapid):
    figure = Figure(4200, 600)
    figure.text(3600, 250, "far right", 20)
    found = measured(figure.png, boxes=[[0, 0, 4200, 600]], ocr=rapid)
    assert [w["text"] for w in found["words"]] == ["far right"]
    assert np.allclose(found["words"][0]["bbox"], figure.words[0]["bbox"], atol=40)
    assert found["words"][0]["size_pt"] == pytest.approx(20, rel=0.25)


def test_ocr_sees_the_raster_parts_alone():
    image = np.zeros((600, 800, 3), np.uint8)
    ocr = FixedOcr(line("inside", 10, 20))
    found = measured(png(image), boxes=[[100, 100, 300, 200], [400, 300, 500, 500]], ocr=ocr)
    assert len(ocr.shown) == 1
    shown = ocr.shown[0]
    assert shown.shape == (400, 400, 3)
    assert shown[50, 50].max() == 0
    assert shown[50, 350].min() == 255
    assert found["words"][0]["bbox"] == [110, 120, 210, 160]
    assert found["raster_ratio"] == pytest.approx((200 * 100 + 100 * 200) / (600 * 800))


def test_no_side_that_ocr_sees_is_longer_than_the_limit():
    ocr = FixedOcr(line("x1", 10, 20))
    found = measured(white(5000, 300), boxes=[[0, 0, 5000, 300]], ocr=ocr)
    assert max(ocr.shown[0].shape) == MAX_SIDE_PX
    assert found["words"][0]["bbox"] == pytest.approx([25, 50, 275, 150])


def test_overlapping_images_count_once_and_boxes_beyond_the_crop_are_cut():
    assert measured(white(100, 100), boxes=[[-50, 0, 50, 100], [0, 0, 50, 100]])["raster_ratio"] == 0.5


def test_small_icons_are_not_read_but_a_picture_cut_into_strips_is():
    icons, strips = FixedOcr(), FixedOcr()
    measured(white(400, 400), boxes=[[10, 10, 30, 200], [100, 100, 120, 120]], ocr=icons)
    measured(white(400, 400), boxes=[[10, y, 310, y + 8] for y in range(10, 200, 8)], ocr=strips)
    assert icons.shown == []
    assert len(strips.shown) == 1


def test_a_scan_with_a_text_layer_is_not_read_again():
    ocr = FixedOcr()
    rows = [word("a line of the text layer", (20, y, 380, y + 20)) for y in range(20, 380, 40)]
    found = measured(white(400, 400), rows, [[0, 0, 400, 400]], ocr=ocr)
    assert ocr.shown == []
    assert found["text_source"] == "native"
    assert found["text_box_count"] == 9


def test_native_text_on_a_picture_is_not_counted_twice():
    ocr = FixedOcr(line("Cat", 20, 20), line("Dog", 20, 200))
    found = measured(white(400, 400), [word("Cat", (22, 25, 118, 55))], [[0, 0, 400, 400]], ocr=ocr)
    assert [(w["text"], w["origin"]) for w in found["words"]] == [("Cat", "native"), ("Dog", "ocr")]
    assert found["text_source"] == "both"
    assert found["text_region_ratio"] == pytest.approx((96 * 30 + 100 * 40) / 160_000)


def test_unsure_lines_and_marks_without_letters_are_left_out():
    ocr = FixedOcr(line("sure", 20, 20, 0.8), line("unsure", 20, 100, 0.49), line("—", 20, 200, 0.99))
    found = measured(white(400, 400), boxes=[[0, 0, 400, 400]], ocr=ocr)
    assert [w["text"] for w in found["words"]] == ["sure"]
    assert found["ocr_mean_confidence"] == pytest.approx(0.8)


def test_reading_nothing_is_zero_and_not_looking_is_null():
    looked = measured(white(400, 400), boxes=[[0, 0, 400, 400]], caption="Two cats")
    unread = measured(white(400, 400), boxes=[[0, 0, 400, 400]], caption="Two cats", ocr=load_ocr("none"))
    assert looked["has_readable_text"] is False
    assert (looked["text_source"], looked["ocr_backend"]) == ("none", "fixed")
    assert looked["text_box_count"] == looked["caption_ocr_token_overlap_ratio"] == 0
    assert looked["ocr_mean_confidence"] is None
    assert {unread[name] for name in TEXT_COLUMNS} == {None}
    assert unread["raster_ratio"] == 1


def test_native_text_counts_even_where_the_picture_stays_unread():
    found = measured(white(400, 400), [word("Cat", (2, 2, 50, 20))], [[0, 100, 400, 400]], ocr=load_ocr("none"))
    assert (found["has_readable_text"], found["text_box_count"], found["text_source"]) == (True, 1, "native")


def test_the_coarsest_picture_gives_the_raster_resolution():
    found = measured(white(400, 400), boxes=[[0, 0, 100, 100], [200, 200, 300, 300]], image_dpis=[300.0, 72.5])
    assert found["raster_dpi"] == 72.5


def test_a_failing_backend_is_an_error_of_the_figure():
    with pytest.raises(ExtractError, match=r"broken failed: no more memory") as raised:
        measured(white(400, 400), boxes=[[0, 0, 400, 400]], ocr=BrokenOcr())
    assert raised.value.kind == "ocr_failed"


def test_a_broken_image_is_a_value_error():
    with pytest.raises(ValueError, match="not a PNG"):
        measured(b"GIF89a")


def test_blur_and_contrast_see_a_spoilt_copy():
    chart = bar_chart()
    blurred = chart.image.filter(ImageFilter.GaussianBlur(4))
    pale = Image.blend(chart.image, Image.new("RGB", chart.image.size, "white"), 0.8)
    good = measured(chart.png, chart.words)
    assert measured(png(blurred), chart.words)["blur_laplacian_var"] < good["blur_laplacian_var"] / 20
    assert measured(png(pale), chart.words)["text_contrast"] == pytest.approx(0.2, abs=0.02)


def test_equal_input_gives_equal_output_and_inputs_stay_untouched():
    chart = bar_chart()
    before = [dict(w) for w in chart.words]
    assert measured(chart.png, chart.words) == measured(chart.png, chart.words)
    assert chart.words == before


boxes = st.lists(st.lists(st.floats(-50, 120), min_size=4, max_size=4), max_size=4)
text_lines = st.lists(st.tuples(st.text(max_size=8), st.lists(st.floats(-20, 90), min_size=4, max_size=4)), max_size=6)


@settings(max_examples=80, deadline=None)
@given(
    size=st.tuples(st.integers(1, 70), st.integers(1, 70)),
    mode=st.sampled_from(["1", "L", "LA", "P", "RGB", "RGBA"]),
    seed=st.integers(0, 2**32 - 1),
    native=text_lines,
    read=text_lines,
    images=boxes,
    caption=st.none() | st.text(max_size=40),
)
def test_any_small_image_gives_every_column_within_its_range(size, mode, seed, native, read, images, caption):
    pixels = np.random.default_rng(seed).integers(0, 256, (*size, 4), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels, "RGBA").convert(mode).save(buffer, "PNG")
    words = [word(text, tuple(box), None if index % 2 else 7.5) for index, (text, box) in enumerate(native)]
    ocr = FixedOcr(*(line(text, box[0], box[1], 0.7) for text, box in read))
    found = measured(buffer.getvalue(), words, images, caption, ocr)

    assert found.keys() == KEYS
    for name in SHARES:
        assert found[name] is None or 0 <= found[name] <= 1, name
    assert sum(found["color_histogram"]) == pytest.approx(1)
    assert len(found["color_histogram"]) == 15
    counts = [name for name, kind, _ in FEATURE_FIELDS if kind == pa.int32()]
    assert all(found[name] is None or (isinstance(found[name], int) and found[name] >= 0) for name in counts)
    for name, kind, _ in FEATURE_FIELDS:
        assert pa.array([found[name]], type=kind).to_pylist()
    pa.array([found["words"]], type=pa.list_(WORD))
