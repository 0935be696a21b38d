"""Human gold, dimension first (arXiv 2607.27084, human gold), and what its raters have to talk about again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

from sfq_ray.rubric import DIMENSIONS, Dimension, overall

Row = Mapping[str, Any]

MAX_GAP = 2.0  # points between two raters' overalls; more is adjudicated
NOISE = 1e-5  # of scores that were float32 once: 7.199999809265137 is 7.2


def gold(ratings: Iterable[Row]) -> list[dict[str, Any]]:
    """One row per figure that a human rated: figure_id, paper_id, fig_index, raters, the dimensions and overall.

    A dimension is the mean over the raters that scored it, and is off (None) where none did; overall is the mean of
    the dimensions that are on, at full precision. It is not the mean of the raters' overalls.
    """
    rows = []
    for figure_id, own in by_figure(ratings).items():
        means = {dimension: _mean(own, dimension) for dimension in DIMENSIONS}
        key = {name: own[0][name] for name in ("paper_id", "fig_index")}
        scores: dict[str, Any] = {dimension.value: means[dimension] for dimension in DIMENSIONS}
        rows.append({"figure_id": figure_id, **key, "raters": len(own), **scores, "overall": overall(means)})
    return rows


def adjudication(ratings: Iterable[Row], max_gap: float = MAX_GAP) -> list[dict[str, Any]]:
    """Figures whose raters' overalls lie more than `max_gap` apart, the widest gap first.

    Each row: figure_id, gap, and overalls by rater, in the order of the ratings.
    """
    found = []
    for figure_id, own in by_figure(ratings).items():
        overalls = [(row["rater"], value) for row in own if (value := rater_overall(row)) is not None]
        values = [value for _, value in overalls]
        gap = max(values) - min(values) if values else 0.0
        if gap > max_gap + NOISE:
            found.append({"figure_id": figure_id, "gap": gap, "overalls": overalls})
    return sorted(found, key=lambda row: (-row["gap"], row["figure_id"]))


def rater_overall(rating: Row) -> float | None:
    """Mean of the dimensions one rater scored; the overall as given where no dimension is."""
    mean = overall({dimension: rating[dimension] for dimension in DIMENSIONS})
    return rating["overall"] if mean is None else mean


def humans(ratings: Iterable[Row]) -> list[Row]:
    """Only human ratings count as gold."""
    return [row for row in ratings if row["source"] == "human"]


def by_figure(ratings: Iterable[Row]) -> dict[str, list[Row]]:
    """The human ratings of each figure, by figure_id; a rating without any score is none."""
    groups: dict[str, list[Row]] = {}
    for row in humans(ratings):
        if rater_overall(row) is not None:
            groups.setdefault(row["figure_id"], []).append(row)
    return dict(sorted(groups.items()))


def _mean(ratings: Iterable[Row], dimension: Dimension) -> float | None:
    scores = [row[dimension] for row in ratings if row[dimension] is not None]
    return fmean(scores) if scores else None
