"""All features of one figure as the columns of figures/."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import cv2
import numpy as np

from sfq_ray.config import Features
from sfq_ray.features import descriptors, ocr, shapes, texts
from sfq_ray.features.ocr import OcrBackend, RasterText
from sfq_ray.features.texts import TextLine
from sfq_ray.geometry import Box, pt_to_px

FEATURE_VERSION = "1"


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
    """The columns of tables.FEATURE_FIELDS and "words" (tables.WORD: the native lines, then those of OCR) of a figure.

    `png` is the crop at `dpi`; `native_words` are its text lines in the PDF, boxes in px of the crop;
    `image_boxes_px` are the embedded images in it, [x0, y0, x1, y1] in px, and `image_dpis` their native resolutions
    in the same order. Only these images are shown to OCR, so a figure without any is never read by it; pass the whole
    crop as an image for a scan, or where letters were drawn as outlines. What could not be measured is None.

    Raises ValueError for a broken PNG and ExtractError with class ocr_failed when the OCR backend fails.
    """
    bgr = descriptors.decode(png)
    gray = cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY)
    small = descriptors.reduced(gray)
    native = [dict(word) for word in native_words if word["text"].strip()]
    raster_ratio, raster = _raster_text(bgr, native, image_boxes_px, dpi, ocr, settings)
    return {
        "pixel_count_mp": gray.size / 1e6,
        "blur_laplacian_var": descriptors.blur_laplacian_var(gray),
        "whitespace_ratio": descriptors.whitespace_ratio(gray),
        **_color_features(bgr),
        "edge_density": descriptors.edge_density(small),
        "raster_ratio": raster_ratio,
        "raster_dpi": float(min(image_dpis)) if image_dpis else None,
        "axis_count": shapes.axis_count(small),
        "bars_detected": shapes.bars_detected(bgr),
        **_reading_features(native, raster, ocr),
        **_text_features(bgr, gray, native, raster, caption, dpi),
        "feature_version": FEATURE_VERSION,
        "words": native + raster.words,
    }


def _raster_text(
    bgr: np.ndarray,
    native: Sequence[Mapping[str, Any]],
    image_boxes_px: Sequence[Sequence[float]],
    dpi: float,
    backend: OcrBackend,
    settings: Features,
) -> tuple[float, RasterText]:
    """Share of the crop under embedded images, and the text that OCR finds there."""
    if not image_boxes_px:
        return 0.0, RasterText([], [], needed=False, ran=False)
    mask = ocr.raster_mask(bgr.shape[:2], image_boxes_px)
    boxes = [Box(*word["bbox"]) for word in native]
    areas = ocr.unread_areas(mask, boxes)
    return float(mask.mean()), ocr.read_raster(bgr, areas, boxes, dpi, backend, settings.min_ocr_score)


def _color_features(bgr: np.ndarray) -> dict[str, Any]:
    pixels = descriptors.sample(bgr)
    histogram = descriptors.color_histogram(pixels)
    return {
        "dominant_color_ratio": descriptors.dominant_color_ratio(pixels),
        "color_histogram": histogram,
        "color_count": descriptors.color_count(histogram),
    }


def _reading_features(native: list[dict[str, Any]], raster: RasterText, backend: OcrBackend) -> dict[str, Any]:
    """Where the text came from. All unknown when nothing is native and the raster stayed unread."""
    unknown = _unknown(native, raster)
    sources = {(True, True): "both", (True, False): "native", (False, True): "ocr", (False, False): "none"}
    confidences = [word["confidence"] for word in raster.words]
    return {
        "has_readable_text": None if unknown else bool(native or raster.words),
        "ocr_mean_confidence": float(np.mean(confidences)) if confidences else None,
        "text_source": None if unknown else sources[bool(native), bool(raster.words)],
        "ocr_backend": backend.name if raster.ran else None,
    }


def _text_features(
    bgr: np.ndarray,
    gray: np.ndarray,
    native: list[dict[str, Any]],
    raster: RasterText,
    caption: str | None,
    dpi: float,
) -> dict[str, Any]:
    lines = [_line(word, dpi) for word in native + raster.words]
    strings = [line.text for line in lines]
    sizes = [
        (float(word["size_pt"]), len(word["text"].strip()))
        for word in native + raster.words
        if word["size_pt"] is not None
    ]
    y_range = texts.y_axis_range(lines)
    area_px2 = sum(Box(*word["bbox"]).area for word in native) + sum(raster.areas_px2)
    features: dict[str, Any] = {
        "text_box_count": len(lines),
        "text_region_ratio": min(1.0, area_px2 / gray.size),
        "panel_label_count": texts.panel_label_count(strings),
        "caption_ocr_token_overlap_ratio": texts.token_overlap(caption, strings),
        "caption_numeric_overlap_ratio": texts.numeric_overlap(caption, strings),
        "text_size_min_pt": texts.weighted_size(sizes, 0.05),
        "text_size_median_pt": texts.weighted_size(sizes, 0.5),
        "text_contrast": descriptors.text_contrast(gray, (line.box for line in lines)),
        "tick_label_count": sum(texts.tick_value(text) is not None for text in strings),
        "legend_entry_count": shapes.legend_entry_count(bgr, lines),
        "y_axis_min": y_range[0] if y_range else None,
        "y_axis_max": y_range[1] if y_range else None,
    }
    return dict.fromkeys(features) if _unknown(native, raster) else features


def _line(word: Mapping[str, Any], dpi: float) -> TextLine:
    box = Box(*word["bbox"])
    size_pt = word["size_pt"]
    return TextLine(word["text"].strip(), box, box.height if size_pt is None else pt_to_px(size_pt, dpi))


def _unknown(native: list[dict[str, Any]], raster: RasterText) -> bool:
    return not native and raster.needed and not raster.ran
