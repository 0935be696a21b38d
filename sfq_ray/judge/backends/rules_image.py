"""What the rules judge makes of a picture's measurements: findings for VC, SL and the visual risk.

Every finding carries its numbers. What was not measured is said and costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PANEL = re.compile(r"^\(?([a-z])\)(?:\s|$)|^\(([a-z])$|^([a-z])$")

# (column, bound, points): below the bound the points are taken off; of one column the first that holds
CLARITY = (
    ("text_size_min_pt", ((3.5, 5.0), (5.0, 3.0), (6.0, 1.0)), "the smallest text is {0:.1f} pt high as printed"),
    ("text_contrast", ((0.35, 3.0), (0.55, 1.0)), "the text contrast is {0:.2f} of 1"),
    ("ocr_mean_confidence", ((0.6, 2.0), (0.8, 1.0)), "OCR read the text with a confidence of {0:.2f} only"),
)
RASTER = (
    ("raster_dpi", ((100.0, 3.0), (150.0, 2.0), (200.0, 1.0)), "the embedded image has {0:.0f} px per printed inch"),
    ("blur_laplacian_var", ((50.0, 2.0), (120.0, 1.0)), "the Laplacian variance of {0:.0f} tells of blur"),
)
RASTER_SHARE = 0.3  # share of the area that must be raster before the raster table applies
OVERLAP_SHARE = 0.2  # of the smaller text box
TRIM = 0.2  # of a text box's sides is left out on each side
CRAMPED_RATIO = 0.35  # share of the area covered by text boxes
TRUNCATED = ((0.5, 5.0), (0.2, 3.0), (0.05, 1.5))  # axis minimum / maximum of a bar chart: points taken off
FLAT_AXIS = 0.75  # minimum / maximum of another axis: only a small part of its own magnitude is shown
TOP = 9.0


@dataclass
class View:
    """Points off per aspect (VC, SL, risk) with the findings that took them, and what speaks well of the figure."""

    off: dict[str, float] = field(default_factory=lambda: {"VC": 0.0, "SL": 0.0, "risk": 0.0})
    bad: dict[str, list[str]] = field(default_factory=lambda: {"VC": [], "SL": [], "risk": []})
    good: dict[str, list[str]] = field(default_factory=lambda: {"VC": [], "SL": [], "risk": []})
    panels: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    kind: str = "picture"

    def take(self, aspect: str, points: float, finding: str) -> None:
        self.off[aspect] += points
        self.bad[aspect].append(finding)

    def score(self, aspect: str) -> int:
        return int(min(10, max(1, round(TOP - self.off[aspect]))))


def sentence(findings: Sequence[str]) -> str:
    text = "; ".join(findings)
    return text[:1].upper() + text[1:] + "."


def look(measured: Mapping[str, Any]) -> View:
    """Findings from the measurements of a figure (tables.FEATURE_FIELDS, words, panels, width, height in px)."""
    view = View()
    words = [word for word in measured.get("words") or [] if (word.get("text") or "").strip()]
    view.texts = [word["text"].strip() for word in words]
    view.kind = _kind(measured)
    _clarity(view, measured)
    placed = [word for word in words if word["bbox"] is not None]  # OCR may not say where its lines stand
    _panel_labels(view, placed, len(measured.get("panels") or []))
    _spacing(view, placed, measured)
    _axes(view, measured)
    return view


def _kind(measured: Mapping[str, Any]) -> str:
    drawn = (measured.get("raster_ratio") or 0.0) < RASTER_SHARE  # cells of a picture look like bars
    if drawn and (measured.get("bars_detected") or 0) >= 2 and (measured.get("axis_count") or 0) >= 1:
        return "bar chart"
    if (measured.get("axis_count") or 0) >= 2 and (measured.get("tick_label_count") or 0) >= 4:
        return "plot with axes"
    return "image" if (measured.get("raster_ratio") or 0.0) > 0.6 else "diagram or drawing"


def _clarity(view: View, measured: Mapping[str, Any]) -> None:
    raster = (measured.get("raster_ratio") or 0.0) >= RASTER_SHARE
    for column, bounds, text in (*CLARITY, *(RASTER if raster else ())):
        value = measured.get(column)
        if value is None:
            continue
        finding = text.format(value)
        points = next((points for bound, points in bounds if value < bound), 0.0)
        if points:
            view.take("VC", points, finding)
        else:
            view.good["VC"].append(finding.replace(" only", ""))
    if not view.good["VC"] and not view.bad["VC"]:
        size = f"{measured.get('width') or 0} x {measured.get('height') or 0} px"
        view.good["VC"].append(f"no text could be read in the crop of {size}, so legibility was not measured")


def _panel_labels(view: View, words: Sequence[Mapping[str, Any]], panels: int) -> None:
    """Labels (a), (b) ... in reading order: missing, doubled or shuffled ones cost points."""
    found = [(match, word["bbox"]) for word in words if (match := PANEL.match(word["text"].strip()))]
    labelled = [(next(g for g in match.groups() if g), box) for match, box in found]
    if not _is_series({label for label, _ in labelled}):
        if panels > 1:
            view.good["SL"].append(f"{panels} separate parts without panel labels")
        return
    labelled = _in_reading_order(labelled)
    view.panels = [f"({label})" for label, _ in labelled]
    shown = f"{len(view.panels)} panel labels {', '.join(view.panels)}"
    letters = [label for label, _ in labelled]
    expected = [chr(ord("a") + i) for i in range(ord(max(letters)) - ord("a") + 1)]
    if len(set(letters)) < len(letters):
        view.take("SL", 3.0, f"of the {shown} one stands twice")
    missing = [f"({letter})" for letter in expected if letter not in letters]
    if missing:
        view.take("SL", 2.0, f"of the {shown} the reader misses {', '.join(missing)}")
    if letters != sorted(letters):
        view.take("SL", 3.0, f"from left to right and top to bottom the {shown} are out of order")
    if not view.bad["SL"]:
        view.good["SL"].append(f"the {shown} stand in reading order")


def _is_series(letters: set[str]) -> bool:
    """Whether at most as many letters are missing up to the last one as are there: x and y are names of axes."""
    if len(letters) < 2 and "a" not in letters:
        return False
    return ord(max(letters)) - ord("a") + 1 <= 2 * len(letters)


def _in_reading_order(labelled: Sequence[tuple[str, Sequence[float]]]) -> list[tuple[str, Sequence[float]]]:
    """Row by row; a row takes what begins less than three label heights below its first label."""
    heights = sorted(box[3] - box[1] for _, box in labelled)
    row_px = 3.0 * heights[len(heights) // 2]
    rows: list[list[tuple[str, Sequence[float]]]] = []
    for item in sorted(labelled, key=lambda item: item[1][1]):
        if rows and item[1][1] - rows[-1][0][1][1] <= row_px:
            rows[-1].append(item)
        else:
            rows.append([item])
    return [item for row in rows for item in sorted(row, key=lambda item: item[1][0])]


def _spacing(view: View, words: Sequence[Mapping[str, Any]], measured: Mapping[str, Any]) -> None:
    crossing = _overlaps([(_inner(word["bbox"]), word["text"]) for word in words])
    if crossing:
        view.take("SL", 1.0 if crossing < 3 else 2.5, f"{crossing} pairs of text lines overlap")
    ratio = measured.get("text_region_ratio")
    if ratio is not None and ratio > CRAMPED_RATIO and view.kind != "diagram or drawing":
        view.take("SL", 1.0, f"text covers {ratio:.0%} of the figure")
    if not view.bad["SL"]:
        view.good["SL"].append(f"none of {len(words)} text lines overlap")


def _inner(box: Sequence[float]) -> tuple[float, float, float, float]:
    """The part of a text box that holds ink: boxes of fonts are higher than their letters."""
    trim_x, trim_y = (box[2] - box[0]) * TRIM, (box[3] - box[1]) * TRIM
    return box[0] + trim_x, box[1] + trim_y, box[2] - trim_x, box[3] - trim_y


def _overlaps(lines: Sequence[tuple[tuple[float, float, float, float], str]]) -> int:
    """Pairs of different texts whose ink boxes share OVERLAP_SHARE of the smaller."""
    count = 0
    ordered = sorted(lines, key=lambda line: line[0][1])
    for number, (a, text) in enumerate(ordered):
        for b, other in ordered[number + 1 :]:
            if b[1] >= a[3]:
                break
            if text == other:  # drawn twice, for an outline
                continue
            width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
            smaller = min((a[2] - a[0]) * (a[3] - a[1]), (b[2] - b[0]) * (b[3] - b[1]))
            if width > 0 and height > 0 and smaller > 0 and width * height > OVERLAP_SHARE * smaller:
                count += 1
    return count


def _axes(view: View, measured: Mapping[str, Any]) -> None:
    low, high = measured.get("y_axis_min"), measured.get("y_axis_max")
    if low is not None and high is not None and high > 0:
        axis = f"the value axis runs from {low:g} to {high:g}"
        share = low / high
        points = next((points for bound, points in TRUNCATED if share >= bound), 0.0)
        if view.kind == "bar chart" and points:
            view.take("risk", points, f"{axis} under bars, which exaggerates their differences")
        elif share >= FLAT_AXIS:
            view.take("risk", 1.0, f"{axis}, a small part of its own magnitude")
        else:
            view.good["risk"].append(axis)
    elif view.kind in ("bar chart", "plot with axes"):
        view.good["risk"].append(f"{measured.get('tick_label_count') or 0} numeric labels stand on the axes")
    if (measured.get("axis_count") or 0) >= 2 and measured.get("tick_label_count") == 0:
        view.take("risk", 2.0, f"{measured['axis_count']} axis lines carry no numbers")
    if not view.good["risk"] and not view.bad["risk"]:
        view.good["risk"].append(f"no value axis was found among {len(view.texts)} text lines")
