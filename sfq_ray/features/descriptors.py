"""Descriptors of pixels. Images are BGR uint8 (height, width, 3) or grey uint8 (height, width)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import cv2
import numpy as np

from sfq_ray.geometry import Box

cv2.setNumThreads(1)  # one worker per core: more threads would only take turns

WHITE_FROM = 245
SAMPLE_PX = 500_000  # colours are counted on an evenly spaced sample of about this size
EDGE_PX = 1_500_000  # edges and lines are looked for at no more than this size
DARK_BELOW = 64  # largest channel, 0..255
COLORED_FROM = 0.15  # saturation, 0..1
HUE_BINS = 12
COLOR_SHARE = 0.005

MAX_PIXELS = 150_000_000  # a few bytes can claim to be gigapixels
PNG_HEAD, PNG_TAIL = b"\x89PNG\r\n\x1a\n", b"IEND"


def decode(png: bytes) -> np.ndarray:
    """Pixels of a PNG of any colour type as BGR uint8; transparency shows white. Raises ValueError when broken."""
    if not png.startswith(PNG_HEAD):
        raise ValueError(f"not a PNG: the {len(png)} bytes begin with {png[:8]!r}")
    if PNG_TAIL not in png:
        raise ValueError("the PNG is cut off: its end marker is missing; render or fetch it again")
    width, height = int.from_bytes(png[16:20]), int.from_bytes(png[20:24])
    if width * height > MAX_PIXELS:
        raise ValueError(f"the PNG says it is {width} x {height} px, over the limit of {MAX_PIXELS / 1e6:.0f} MP")
    try:
        image = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_UNCHANGED)
    except cv2.error as error:
        raise ValueError(f"the PNG cannot be decoded: {error}") from error
    if image is None:
        raise ValueError("the PNG cannot be decoded: its data are damaged; render or fetch it again")
    if image.dtype == np.uint16:
        image = (image >> 8).astype(np.uint8)
    if image.ndim == 2:
        return cv2.cvtColor(image, cv2.COLOR_GRAY2BGR)
    if image.shape[2] == 4:
        alpha = image[:, :, 3:].astype(np.uint16)
        blended = (image[:, :, :3] * alpha + 255 * (255 - alpha) + 127) // 255
        return blended.astype(np.uint8)
    return image


def reduced(image: np.ndarray, pixels: int = EDGE_PX) -> np.ndarray:
    """The image with at most `pixels` pixels: squares of k by k averaged, k whole. Thin strips stay as they are."""
    height, width = image.shape[:2]
    step = math.ceil((height * width / pixels) ** 0.5)
    if step <= 1 or step > min(height, width):
        return image
    whole = image[: height // step * step, : width // step * step]
    return cv2.resize(whole, (width // step, height // step), interpolation=cv2.INTER_AREA)


def blur_laplacian_var(gray: np.ndarray) -> float:
    """Variance of the Laplacian. Its values are whole numbers, so 16 bits hold them exactly."""
    _, deviation = cv2.meanStdDev(cv2.Laplacian(gray, cv2.CV_16S))
    return float(deviation[0, 0] ** 2)


def whitespace_ratio(gray: np.ndarray) -> float:
    return float(np.count_nonzero(gray >= WHITE_FROM) / gray.size)


def edge_density(gray: np.ndarray) -> float:
    """Share of pixels on a Canny edge (100, 200)."""
    edges = cv2.Canny(gray, 100, 200)
    return float(np.count_nonzero(edges) / edges.size)


def sample(bgr: np.ndarray) -> np.ndarray:
    """Every k-th pixel of every k-th row, about SAMPLE_PX of them: unlike averaging, it makes no new colours."""
    step = max(1, int((bgr.shape[0] * bgr.shape[1] / SAMPLE_PX) ** 0.5))
    return np.ascontiguousarray(bgr[::step, ::step])


def dominant_color_ratio(pixels: np.ndarray) -> float:
    """Share of the fullest of 4096 bins, 16 levels a channel."""
    counts = cv2.calcHist([pixels], [0, 1, 2], None, [16, 16, 16], [0, 256] * 3)
    return float(counts.max() / (pixels.shape[0] * pixels.shape[1]))


def color_histogram(pixels: np.ndarray) -> list[float]:
    """Shares of 12 hues (30 degrees each, the first centred on red), dark, grey and white pixels."""
    hsv = cv2.cvtColor(pixels, cv2.COLOR_BGR2HSV)
    hue, value = hsv[..., 0].astype(np.int32), hsv[..., 2]
    colored = hsv[..., 1] >= COLORED_FROM * 255
    names = (hue * 2 + 15) // 30 % HUE_BINS
    names[~colored] = HUE_BINS + 1
    names[~colored & (value >= WHITE_FROM)] = HUE_BINS + 2
    names[value < DARK_BELOW] = HUE_BINS
    counts = np.bincount(names.ravel(), minlength=HUE_BINS + 3)
    return [float(share) for share in counts / names.size]


def color_count(histogram: Sequence[float]) -> int:
    return sum(share >= COLOR_SHARE for share in histogram[:HUE_BINS])


def text_contrast(gray: np.ndarray, boxes_px: Iterable[Box]) -> float | None:
    """Median over boxes of (light - dark) / 255, where 2 % of a box's pixels may lie beyond either."""
    contrasts = []
    for x0, y0, x1, y1 in boxes_px:
        patch = gray[max(0, int(y0)) : max(0, int(np.ceil(y1))), max(0, int(x0)) : max(0, int(np.ceil(x1)))]
        if patch.size:
            levels = np.sort(patch, axis=None)
            beyond = levels.size // 50
            contrasts.append(float(levels[-1 - beyond]) - float(levels[beyond]))
    return float(np.median(contrasts)) / 255 if contrasts else None
