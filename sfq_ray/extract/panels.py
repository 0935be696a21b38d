"""Labels of a figure's panels: "(a)" or "b) Loss" in, above or below the panel."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sfq_ray.extract.document import Line
from sfq_ray.geometry import Box

LABEL = re.compile(r"\s*\(?([a-zA-Z])\)")
REACH = 30.0  # pt: between a panel and its label


def panel_labels(panels: Sequence[Box], lines: Sequence[Line]) -> list[str | None]:
    """The letter of each panel, None where none is visible. Every label goes to the panel that it is nearest to."""
    found: list[tuple[float, str] | None] = [None] * len(panels)
    for line in lines:
        match = LABEL.match(line.text)
        distances = [_distance(line.bbox, panel) for panel in panels]
        if match is None or not distances or min(distances) > REACH:
            continue
        index = distances.index(min(distances))
        best = found[index]
        if best is None or distances[index] < best[0]:
            found[index] = (distances[index], match.group(1))
    return [None if label is None else label[1] for label in found]


def _distance(label: Box, panel: Box) -> float:
    """Points up or down from a label that stands over or under the panel; beside it is no place for one."""
    if label.overlap_x(panel) <= 0:
        return float("inf")
    return max(0.0, -label.overlap_y(panel))
