"""Images for models: untouched where they fit, smaller and readable where they do not, the same on every run."""

from __future__ import annotations

import hashlib
import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from sfq_ray.judge.errors import CallError
from sfq_ray.judge.images import MAX_PIXELS, fit

MODES = ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"]


def noise(width: int, height: int, mode: str = "RGB") -> Image.Image:
    rng = np.random.default_rng(width * 10_007 + height)
    if mode == "I;16":
        return Image.fromarray(rng.integers(0, 65536, (height, width), dtype=np.uint16))
    return Image.fromarray(rng.integers(0, 256, (height, width, 4), dtype=np.uint8), "RGBA").convert(mode)


def png(image: Image.Image) -> bytes:
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("limits", [(None, None), (60, None), (None, 10**6), (60, 10**6)])
def test_what_fits_goes_as_it_came(mode, limits):
    data = png(noise(60, 40, mode))
    sent = fit(data, *limits)
    assert sent.data == data
    assert (sent.media_type, sent.width, sent.height) == ("image/png", 60, 40)
    assert sent.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("mode", MODES)
def test_a_long_side_is_shrunk_and_the_shape_kept(mode):
    data = png(noise(300, 200, mode))
    sent = fit(data, 150, None)
    image = opened(sent.data)
    assert image.size == (sent.width, sent.height) == (150, 100)
    assert image.has_transparency_data == opened(data).has_transparency_data
    assert sent.sha256 == hashlib.sha256(sent.data).hexdigest()


@pytest.mark.parametrize("mode", MODES)
def test_too_many_bytes_are_brought_down_in_steps(mode):
    data = png(noise(400, 300, mode))
    sent = fit(data, None, len(data) // 4)
    assert len(sent.data) <= len(data) // 4
    assert opened(sent.data).size == (sent.width, sent.height)
    assert sent.width < 400
    assert abs(sent.width / sent.height - 4 / 3) < 0.02


def test_better_packing_comes_before_fewer_pixels():
    image = Image.new("RGB", (400, 300), "white")
    data = io.BytesIO()
    image.save(data, "PNG", compress_level=0)
    sent = fit(data.getvalue(), None, 20_000)
    assert (sent.width, sent.height) == (400, 300)


@given(st.integers(1, 90), st.integers(1, 90), st.integers(1, 100), st.sampled_from(MODES))
def test_it_keeps_the_side_never_grows_and_repeats_itself(width, height, side, mode):
    data = png(noise(width, height, mode))
    sent = fit(data, side, None)
    assert 1 <= sent.width <= min(width, side)
    assert 1 <= sent.height <= min(height, side)
    assert sent == fit(data, side, None)
    assert opened(sent.data).size == (sent.width, sent.height)


@pytest.mark.parametrize(("width", "height"), [(1, 9000), (9000, 1)])
def test_an_image_of_one_pixel_in_width_stays_one(width, height):
    sent = fit(png(noise(width, height)), 1000, None)
    assert sorted((sent.width, sent.height)) == [1, 1000]


def test_a_huge_image_comes_down():
    sent = fit(png(Image.new("L", (12_000, 9_000), 200)), 8000, None)
    assert (sent.width, sent.height) == (8000, 6000)
    assert opened(sent.data).getextrema() == (200, 200)


def test_the_mean_of_an_area_is_kept():
    stripes = np.zeros((80, 80, 3), np.uint8)
    stripes[:, ::2] = 200
    shrunk = np.asarray(opened(fit(png(Image.fromarray(stripes)), 40, None).data))
    assert np.all(shrunk == 100)


def test_sixteen_bits_keep_their_grey():
    sent = fit(png(Image.fromarray(np.full((80, 80), 128 * 257, np.uint16))), 40, None)
    assert opened(sent.data).mode == "L"
    assert opened(sent.data).getextrema() == (128, 128)


def test_colours_under_transparent_parts_do_not_bleed():
    pixels = np.zeros((80, 80, 4), np.uint8)
    pixels[..., 1] = 255  # green that nobody sees
    pixels[:, 1::2] = (250, 0, 0, 255)
    shrunk = np.asarray(opened(fit(png(Image.fromarray(pixels, "RGBA")), 40, None).data))
    assert np.all(shrunk == (250, 0, 0, 128))


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "P"])
def test_colours_stay_what_they_are(mode):
    colour = Image.new("RGB", (80, 60), (250, 100, 20))
    image = colour.quantize(2) if mode == "P" else colour.convert(mode)
    after = opened(fit(png(image), 40, None).data)
    assert after.convert("RGB").getcolors() == [(40 * 30, image.convert("RGB").getpixel((0, 0)))]


GOOD = png(noise(60, 40))


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def bomb(width: int, height: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return GOOD[:8] + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")


def jpeg() -> bytes:
    data = io.BytesIO()
    noise(60, 40).save(data, "JPEG")
    return data.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is no PNG"),
        (b"no image", "is no PNG"),
        (GOOD[:20], "is no PNG"),
        (jpeg(), "is no PNG"),
        (GOOD[: len(GOOD) // 2], "60 x 40 px is damaged"),
        (GOOD[: len(GOOD) // 2] + b"\0\0\0\0" + GOOD[len(GOOD) // 2 + 4 :], "60 x 40 px is damaged"),
        (bomb(0, 40), "0 x 40 px is damaged"),
        (bomb(MAX_PIXELS // 2, 3), "too large to open"),
        (bomb(2**31 - 1, 2**31 - 1), "too large to open"),
    ],
)
@pytest.mark.parametrize("limits", [(None, None), (20, 1000)])
def test_what_cannot_be_opened_is_a_typed_failure(data, message, limits):
    with pytest.raises(CallError, match=message) as caught:
        fit(data, *limits)
    assert caught.value.kind == "image_rejected"
    assert caught.value.permanent


def test_limits_that_nothing_keeps_are_a_typed_failure():
    with pytest.raises(CallError, match="cannot be made to fit") as caught:
        fit(png(noise(300, 200)), None, 100)
    assert caught.value.kind == "image_rejected"
