"""All features of one figure as the columns of figures/."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from sfq_ray.config import Features
from sfq_ray.errors import ExtractError
from sfq_ray.features import descriptors, raster, shapes, texts
from sfq_ray.features.ocr import Found, OcrBackend, OcrLine, read_images
from sfq_ray.features.raster import RasterText, Reading
from sfq_ray.features.texts import TextLine
from sfq_ray.geometry import Box, pt_to_px

FEATURE_VERSION = "1"
PLACE_FEATURES = (
    "text_box_count", "text_region_ratio", "panel_label_count", "text_size_min_pt", "text_size_median_pt",
    "text_contrast", "tick_label_count", "legend_entry_count", "y_axis_min", "y_axis_max",
)  # fmt: skip


@dataclass(frozen=True)
class OpenFigure:
    """A figure decoded and looked at as far as that goes without OCR. `reading`: what OCR has still to be shown."""

    bgr: np.ndarray
    native: list[dict[str, Any]]
    dpi: float
    caption: str | None
    raster_ratio: float
    raster_dpi: float | None
    reading: Reading | None


def open_figure(
    png: bytes,
    native_words: Sequence[Mapping[str, Any]],
    image_boxes_px: Sequence[Sequence[float]],
    dpi: float,
    caption: str | None,
    image_dpis: Sequence[float] | None = None,
) -> OpenFigure:
    """The figure of a crop at `dpi`, ready for OCR and for `features_of`.

    `native_words` are its text lines in the PDF, boxes in px of the crop;
    `image_boxes_px` are the embedded images in it, [x0, y0, x1, y1] in px, and `image_dpis` their native resolutions
    in the same order. Only these images are shown to OCR, so a figure without any is never read by it; pass the whole
    crop as an image for a scan, or where letters were drawn as outlines.

    Raises ValueError for a broken PNG.
    """
    bgr = descriptors.decode(png)
    native = [dict(word) for word in native_words if word["text"].strip()]
    ratio, shown = 0.0, None
    if image_boxes_px:
        mask = raster.raster_mask(bgr.shape[:2], image_boxes_px)
        ratio = float(mask.mean())
        shown = raster.reading(bgr, raster.unread_areas(mask, _boxes(native)))
    return OpenFigure(bgr, native, dpi, caption, ratio, float(min(image_dpis)) if image_dpis else None, shown)


def features_of(figure: OpenFigure, found: Found, ocr_name: str, settings: Features) -> dict[str, Any]:
    """The columns of tables.FEATURE_FIELDS and "words" (tables.WORD: the native lines, then those of OCR) of a figure.

    `found` is what the OCR backend `ocr_name` gave for the figure's reading, None where it has none. What could not
    be measured is None. Raises the ExtractError with class ocr_failed that `found` is.
    """
    if isinstance(found, ExtractError):
        raise found
    bgr, native = figure.bgr, figure.native
    gray = cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY)
    small = descriptors.reduced(gray)
    read = _raster_text(figure, found, settings)
    return {
        "pixel_count_mp": gray.size / 1e6,
        "blur_laplacian_var": descriptors.blur_laplacian_var(gray),
        "whitespace_ratio": descriptors.whitespace_ratio(gray),
        **_color_features(bgr),
        "edge_density": descriptors.edge_density(small),
        "raster_ratio": figure.raster_ratio,
        "raster_dpi": figure.raster_dpi,
        "axis_count": shapes.axis_count(small),
        "bars_detected": shapes.bars_detected(bgr),
        **_reading_features(native, read, ocr_name),
        **_overlap_features(native, read, figure.caption),
        **_place_features(bgr, gray, native, read, figure.dpi),
        "feature_version": FEATURE_VERSION,
        "words": native + read.words,
    }


def measure(
    png: bytes,
    native_words: Sequence[Mapping[str, Any]],
    image_boxes_px: Sequence[Sequence[float]],
    dpi: float,
    caption: str | None,
    ocr: OcrBackend,
    settings: Features,
    image_dpis: Sequence[float] | None = None,
) -> dict[str, Any]:
    """`open_figure`, OCR and `features_of` of one figure; raises what they raise."""
    figure = open_figure(png, native_words, image_boxes_px, dpi, caption, image_dpis)
    found = read_images(ocr, [figure.reading.image])[0] if figure.reading else None
    return features_of(figure, found, ocr.name, settings)


def _raster_text(figure: OpenFigure, lines: list[OcrLine] | None, settings: Features) -> RasterText:
    if figure.reading is None:
        return raster.NO_RASTER
    if lines is None:
        return raster.UNREAD
    return raster.raster_text(figure.reading, lines, _boxes(figure.native), figure.dpi, settings.min_ocr_score)


def _boxes(words: Sequence[Mapping[str, Any]]) -> list[Box]:
    return [Box(*word["bbox"]) for word in words]


def _color_features(bgr: np.ndarray) -> dict[str, Any]:
    pixels = descriptors.sample(bgr)
    histogram = descriptors.color_histogram(pixels)
    return {
        "dominant_color_ratio": descriptors.dominant_color_ratio(pixels),
        "color_histogram": histogram,
        "color_count": descriptors.color_count(histogram),
    }


def _reading_features(native: list[dict[str, Any]], read: RasterText, ocr_name: str) -> dict[str, Any]:
    """Where the text came from. All unknown when nothing is native and the raster stayed unread."""
    unknown = _unknown(native, read)
    sources = {(True, True): "both", (True, False): "native", (False, True): "ocr", (False, False): "none"}
    confidences = [word["confidence"] for word in read.words if word["confidence"] is not None]
    return {
        "has_readable_text": None if unknown else bool(native or read.words),
        "ocr_mean_confidence": float(np.mean(confidences)) if confidences else None,
        "text_source": None if unknown else sources[bool(native), bool(read.words)],
        "ocr_backend": ocr_name if read.ran else None,
    }


def _overlap_features(native: list[dict[str, Any]], read: RasterText, caption: str | None) -> dict[str, Any]:
    """What the text says, wherever it stands."""
    strings = [word["text"].strip() for word in native + read.words]
    unknown = _unknown(native, read)
    return {
        "caption_ocr_token_overlap_ratio": None if unknown else texts.token_overlap(caption, strings),
        "caption_numeric_overlap_ratio": None if unknown else texts.numeric_overlap(caption, strings),
    }


def _place_features(
    bgr: np.ndarray, gray: np.ndarray, native: list[dict[str, Any]], read: RasterText, dpi: float
) -> dict[str, Any]:
    """Lines, their sizes and places. All unknown where OCR does not say where a line of its text stands."""
    if _unknown(native, read) or not read.placed:
        return dict.fromkeys(PLACE_FEATURES)
    words = native + read.words
    lines = [_line(word, dpi) for word in words]
    strings = [line.text for line in lines]
    sizes = [(float(w["size_pt"]), len(w["text"].strip())) for w in words if w["size_pt"] is not None]
    y_range = texts.y_axis_range(lines)
    area_px2 = sum(Box(*word["bbox"]).area for word in native) + sum(read.areas_px2)
    values = (
        len(lines),
        min(1.0, area_px2 / gray.size),
        texts.panel_label_count(strings),
        texts.weighted_size(sizes, 0.05),
        texts.weighted_size(sizes, 0.5),
        descriptors.text_contrast(gray, (line.box for line in lines)),
        sum(texts.tick_value(text) is not None for text in strings),
        shapes.legend_entry_count(bgr, lines),
        *(y_range or (None, None)),
    )
    return dict(zip(PLACE_FEATURES, values, strict=True))


def _line(word: Mapping[str, Any], dpi: float) -> TextLine:
    box = Box(*word["bbox"])
    size_pt = word["size_pt"]
    return TextLine(word["text"].strip(), box, box.height if size_pt is None else pt_to_px(size_pt, dpi))


def _unknown(native: list[dict[str, Any]], read: RasterText) -> bool:
    return not native and read.needed and not read.ran
