"""Curation S1 to S5 (arXiv 2607.27084, construction pipeline) as named rules in a fixed order.

A rule drops a figure or flags it; it never deletes a row. S1 drops hard, S2 flags within the paper, S3 crops the
flagged figures again, S4 marks soft quality, S5 decides on the paper. The thresholds stand in config.Curation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import cv2
import imagehash
import numpy as np
from PIL import Image

from sfq_ray.config import Curation
from sfq_ray.features.descriptors import dominant_color_ratio, reduced, sample
from sfq_ray.geometry import Box

SAME_SIDE = 0.03  # near duplicates have sides and aspect within this share ...
HASHED_PX = 65_536  # the hash looks at 32 x 32 px: the image is brought near to that by plain averaging first
CELLS = 64  # ... and, since plots on the same axes look alike to a hash, no cell of a 64 x 64 grid
MAX_CELL_DIFFERENCE = 20.0  # differs by more grey values than scaling and recompression change it
APART = re.compile(r"\W*(?:suppl|extended|appendix)", re.IGNORECASE)
MAX_WIDTH = 1.1  # of the text area's width, and
MAX_HEIGHT = 0.9  # of the page's height: a larger figure overflows
LABELLED = 5  # text lines: a figure with so many is a sparse plot, not an empty panel


@dataclass
class Candidate:
    """A figure while it is curated. `image`: RGB (height, width, 3) uint8."""

    page: int
    bbox: Box  # pt
    number: str | None
    image: np.ndarray
    columns: float  # pt: width of the page's text area
    page_height: float  # pt
    text_lines: int = 0  # of the PDF's own text in the figure
    phash: str = ""
    flags: list[str] = field(default_factory=list)
    dropped: tuple[str, str] | None = None  # (stage, rule)


def perceptual_hash(image: np.ndarray) -> str:
    """64-bit pHash of an RGB image, hex."""
    return str(imagehash.phash(Image.fromarray(reduced(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), HASHED_PX))))


def hash_distance(a: str, b: str) -> int:
    """Hamming distance of two hex hashes of equal length."""
    return (int(a, 16) ^ int(b, 16)).bit_count()


# ---- S1: hard rules on one image. Each returns True to drop.


def tiny(figure: Candidate, limits: Curation) -> bool:
    return min(figure.image.shape[:2]) < limits.min_side_px


def aspect(figure: Candidate, limits: Curation) -> bool:
    height, width = figure.image.shape[:2]
    return max(height, width) > limits.max_aspect * min(height, width)


def solid(figure: Candidate, limits: Curation) -> bool:
    """One colour covers nearly everything, and no labels tell that this is a plot of thin lines."""
    ratio = dominant_color_ratio(sample(figure.image))
    return figure.text_lines < LABELLED and ratio > limits.max_dominant_color


HARD_RULES: tuple[tuple[str, Callable[[Candidate, Curation], bool]], ...] = (
    ("tiny", tiny),
    ("aspect", aspect),
    ("solid", solid),
)


def drop_hard(figures: Sequence[Candidate], limits: Curation) -> None:
    """S1 on every figure, then near duplicates among those that are left: the later one is dropped."""
    for figure in figures:
        for name, rule in HARD_RULES:
            if rule(figure, limits):
                figure.dropped = ("S1", name)
                break
    kept: list[Candidate] = []
    for figure in figures:
        if figure.dropped is None:
            if any(near_duplicate(figure, other, limits) for other in kept):
                figure.dropped = ("S1", "near_duplicate")
            else:
                kept.append(figure)


def near_duplicate(a: Candidate, b: Candidate, limits: Curation) -> bool:
    """Perceptual hashes within the limit, equal shape, and grey values that agree all over."""
    if hash_distance(a.phash, b.phash) > limits.max_phash_distance:
        return False
    aspects = [image.shape[1] / image.shape[0] for image in (a.image, b.image)]
    if abs(aspects[0] / aspects[1] - 1) > SAME_SIDE:
        return False
    return bool(np.abs(_cells(a.image) - _cells(b.image)).max() <= MAX_CELL_DIFFERENCE)


def _cells(image: np.ndarray) -> np.ndarray:
    """Mean grey value of each cell of a CELLS x CELLS grid."""
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    return cv2.resize(grey, (CELLS, CELLS), interpolation=cv2.INTER_AREA).astype(np.float32)


# ---- S2: soft flags within a paper


def flag_soft(figures: Sequence[Candidate], limits: Curation) -> None:
    """Flags area, overflow and index anomalies among the figures that S1 kept. Nothing is deleted."""
    kept = [figure for figure in figures if figure.dropped is None]
    areas = [figure.bbox.area for figure in kept]
    usual = median(areas) if areas else 0.0
    for figure in kept:
        if len(kept) >= 3 and figure.bbox.area > limits.max_area_ratio * usual:
            figure.flags.append("S2:area")
        wide = figure.columns > 0 and figure.bbox.width > MAX_WIDTH * figure.columns
        if wide or figure.bbox.height > MAX_HEIGHT * figure.page_height:
            figure.flags.append("S2:overflow")
    for figure, odd in zip(kept, odd_indices([figure.number for figure in kept]), strict=True):
        if odd:
            figure.flags.append("S2:index")


def plain_number(row: Mapping[str, Any]) -> str | None:
    """The number of a figure of the main sequence; None for supplementary figures, which have one of their own."""
    return None if APART.match(row.get("caption_label") or "") else row.get("label")


def odd_indices(numbers: Sequence[str | None]) -> list[bool]:
    """True where a plain number stands twice, or goes back by more than one place; None and "A.1" are never odd."""
    seen: set[str] = set()
    last = 0
    result = []
    for number in numbers:
        if number is None or not number.isdigit():
            result.append(False)
            continue
        value = int(number)
        result.append(number in seen or value < last - 1)
        seen.add(number)
        last = max(last, value)
    return result


# ---- S4: soft quality marks on finished rows


def soft_marks(row: Mapping[str, Any], dpi: int, limits: Curation) -> list[str]:
    """Marks from density, OCR confidence, resolution and cross-page hints; empty for an ordinary figure."""
    marks = []
    if row["whitespace_ratio"] is not None and row["whitespace_ratio"] > 0.95:
        marks.append("S4:sparse")
    if row["ocr_mean_confidence"] is not None and row["ocr_mean_confidence"] < limits.min_ocr_confidence:
        marks.append("S4:ocr_confidence")
    if row["dpi"] is not None and row["dpi"] < dpi:
        marks.append("S4:reduced_dpi")
    if row["raster_dpi"] is not None and row["raster_dpi"] < 150 and (row["raster_ratio"] or 0) > 0.3:
        marks.append("S4:low_raster_dpi")
    if row["caption_page"] is not None and row["caption_page"] != row["page"]:
        marks.append("S4:cross_page")
    return marks


# ---- S5: the paper


def drop_paper(rows: Iterable[Mapping[str, Any]], limits: Curation) -> str | None:
    """Rule that drops the paper: no_figures, too_many_unusable, missing_indices; None keeps it.

    `rows` are the paper's captioned figures. Unusable are those that S1 dropped and captions without a figure.
    """
    figures = [row for row in rows if row["label"] is not None]
    if not figures:
        return "no_figures"
    unusable = sum(1 for row in figures if row["dropped"] is not None or row["error"] is not None)
    if unusable > limits.max_hard_drop_ratio * len(figures):
        return "too_many_unusable"
    if missing_ratio([number for row in figures if (number := plain_number(row))]) > limits.max_hard_drop_ratio:
        return "missing_indices"
    return None


def missing_ratio(labels: Iterable[str]) -> float:
    """Share of the plain numbers 1..max that no label has."""
    numbers = {int(match.group()) for label in labels if (match := re.fullmatch(r"\d{1,3}", label))}
    return 1.0 - len(numbers) / max(numbers) if numbers else 0.0
