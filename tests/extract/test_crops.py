"""Crops: exact resolution, cut to the ink, the same bytes every time."""

import pymupdf
import pytest

from sfq_ray.config import Limits
from sfq_ray.errors import ExtractError
from sfq_ray.extract import crops
from sfq_ray.extract.document import read_page
from sfq_ray.extract.sheets import Sheets
from sfq_ray.geometry import Box


@pytest.fixture
def page():
    document = pymupdf.open()
    page = document.new_page(width=612, height=792)
    page.draw_rect((200, 300, 400, 420), fill=(0.2, 0.3, 0.9), color=None)
    sheets = Sheets(document)
    yield sheets, read_page(sheets, 0, Limits())
    document.close()


def test_a_crop_has_exactly_300_px_an_inch_and_ends_at_the_ink(page):
    crop = crops.render(*page, Box(150, 250, 500, 500), 300, 16_000_000)
    assert crop.dpi == 300
    height, width = crop.pixels.shape[:2]
    assert abs(width - crop.bbox.width / 72 * 300) <= 1
    assert abs(height - crop.bbox.height / 72 * 300) <= 1
    assert crop.bbox.iou(Box(199, 299, 401, 421)) > 0.99
    assert tuple(crop.pixels[height // 2, width // 2]) == (51, 76, 229)


def test_a_pixel_cap_lowers_the_resolution_and_says_so(page):
    crop = crops.render(*page, Box(150, 250, 500, 500), 300, 200_000)
    assert crop.dpi < 300
    assert crop.pixels.shape[0] * crop.pixels.shape[1] <= 200_000
    assert abs(crop.pixels.shape[1] - crop.bbox.width / 72 * crop.dpi) <= 1


@pytest.mark.parametrize(
    ("box", "kind"),
    [
        (Box(10, 10, 60, 60), "blank_region"),
        (Box(700, 10, 800, 60), "empty_region"),
        (Box(50, 50, 50, 90), "empty_region"),
    ],
)
def test_regions_without_a_figure(page, box, kind):
    with pytest.raises(ExtractError) as caught:
        crops.render(*page, box, 300, 16_000_000)
    assert caught.value.kind == kind


def test_equal_regions_give_equal_bytes(page):
    first, second = (
        crops.encode_png(crops.render(*page, Box(150, 250, 500, 500), 300, 16_000_000).pixels) for _ in range(2)
    )
    assert first == second
    assert first.startswith(b"\x89PNG")
