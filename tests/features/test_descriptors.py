import time

import cv2
import numpy as np
import pytest
from drawing import png
from PIL import Image

from sfq_ray.features import descriptors
from sfq_ray.geometry import Box


def noise(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(7).integers(0, 256, (height, width, 3), dtype=np.uint8)


def test_blur_is_the_variance_of_the_double_precision_laplacian():
    gray = cv2.cvtColor(noise(301, 407), cv2.COLOR_BGR2GRAY)
    assert descriptors.blur_laplacian_var(gray) == pytest.approx(cv2.Laplacian(gray, cv2.CV_64F).var(), rel=1e-9)


def test_blurring_lowers_it_and_a_flat_image_has_none():
    gray = noise(100, 100)[..., 0]
    assert descriptors.blur_laplacian_var(cv2.GaussianBlur(gray, (9, 9), 3)) < descriptors.blur_laplacian_var(gray) / 10
    assert descriptors.blur_laplacian_var(np.full((50, 50), 200, np.uint8)) == 0


def test_white_begins_at_245():
    gray = np.array([[244, 245, 255, 0]], np.uint8)
    assert descriptors.whitespace_ratio(gray) == 0.5


def test_histogram_names_hues_dark_grey_and_white():
    rgb = np.zeros((10, 10, 3), np.uint8)
    rgb[:2] = (255, 0, 0)
    rgb[2:4] = (0, 255, 0)
    rgb[4:5] = (0, 0, 255)
    rgb[5:7] = (128, 128, 128)
    rgb[7:9] = 255
    histogram = descriptors.color_histogram(np.ascontiguousarray(rgb[..., ::-1]))
    expected = [0.0] * 15
    expected[0], expected[4], expected[8], expected[12], expected[13], expected[14] = 0.2, 0.2, 0.1, 0.1, 0.2, 0.2
    assert histogram == pytest.approx(expected)
    assert descriptors.color_count(histogram) == 3


def test_red_on_both_ends_of_the_hue_circle_is_one_bin():
    reds = np.array([[(0, 0, 255), (20, 0, 255), (0, 20, 255)]], np.uint8)
    assert descriptors.color_histogram(reds)[0] == 1


def test_dominant_color_is_exact_on_small_images_and_close_on_large_ones():
    image = np.full((100, 100, 3), 255, np.uint8)
    image[:3] = 0
    assert descriptors.dominant_color_ratio(descriptors.sample(image)) == pytest.approx(0.97)
    large = cv2.resize(image, (3000, 3000), interpolation=cv2.INTER_NEAREST)
    assert descriptors.dominant_color_ratio(descriptors.sample(large)) == pytest.approx(0.97, abs=0.002)


def test_edges_of_a_flat_image_are_none_and_a_square_has_some():
    gray = np.full((200, 200), 255, np.uint8)
    assert descriptors.edge_density(gray) == 0
    gray[50:150, 50:150] = 0
    assert descriptors.edge_density(gray) == pytest.approx(400 / 40_000, rel=0.1)


def test_reduced_averages_whole_squares_and_leaves_strips_alone():
    checks = np.tile(np.array([[0, 255], [255, 0]], np.uint8), (1000, 1000))
    small = descriptors.reduced(checks, 1_000_000)
    assert small.shape == (1000, 1000)
    assert set(np.unique(small)) <= {127, 128}
    strip = np.zeros((1, 3_000_000), np.uint8)
    assert descriptors.reduced(strip).shape == strip.shape


def test_contrast_is_the_median_over_boxes_and_null_without_any():
    gray = np.full((30, 90), 255, np.uint8)
    gray[10:20, 5:25] = 0
    gray[10:20, 35:55] = 153
    gray[10:20, 65:85] = 204
    boxes = [Box(0, 0, 30, 30), Box(30, 0, 60, 30), Box(60, 0, 90, 30)]
    assert descriptors.text_contrast(gray, boxes) == pytest.approx(102 / 255)
    assert descriptors.text_contrast(gray, []) is None
    assert descriptors.text_contrast(gray, [Box(500, 500, 600, 600)]) is None


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_every_colour_type_decodes_to_bgr(mode):
    source = Image.new("L", (40, 30), 255)
    source.paste(0, (0, 0, 20, 30))
    image = source.point(lambda v: v * 257, "I").convert("I;16") if mode == "I;16" else source.convert(mode)
    bgr = descriptors.decode(png(image))
    assert bgr.shape == (30, 40, 3)
    assert bgr.dtype == np.uint8
    assert bgr[15, 5].tolist() == [0, 0, 0]
    assert bgr[15, 35].tolist() == [255, 255, 255]


def test_transparency_shows_white():
    assert descriptors.decode(png(Image.new("RGBA", (4, 4), (0, 0, 0, 0)))).min() == 255
    assert descriptors.decode(png(Image.new("RGBA", (4, 4), (0, 0, 0, 128)))).max() == 127


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (b"", "not a PNG"),
        (b"\xff\xd8\xff\xe0 a JPEG", "not a PNG"),
        (png(noise(50, 50))[:2000], "cut off"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0\1\0\0" * 2 + b"\x08\2\0\0\0IEND", "65536 x 65536 px"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 40 + b"IEND\xaeB`\x82", "cannot be decoded"),
    ],
)
def test_a_broken_png_says_what_is_wrong(broken, says):
    with pytest.raises(ValueError, match=says):
        descriptors.decode(broken)


def test_a_large_image_takes_no_more_memory_than_a_few_copies_and_little_time():
    gray = np.full((4000, 4000), 255, np.uint8)
    gray[::50] = 0
    start = time.perf_counter()
    descriptors.blur_laplacian_var(gray)
    descriptors.edge_density(descriptors.reduced(gray))
    assert time.perf_counter() - start < 2


def test_damage_inside_the_file_is_seen():
    damaged = bytearray(png(noise(50, 50)))
    damaged[3000:3050] = bytes(50)
    with pytest.raises(ValueError, match="damaged"):
        descriptors.decode(bytes(damaged))


def test_bytes_after_the_end_marker_do_no_harm():
    image = noise(20, 20)
    assert np.array_equal(descriptors.decode(png(image[..., ::-1].copy()) + b"trailing"), image)
