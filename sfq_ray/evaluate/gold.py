"""Human gold, dimension first (arXiv 2607.27084, human gold), and what its raters have to talk about again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Any

import numpy as np

from sfq_ray.evaluate.agreement import Floats, Gold, Ints, dimension_first, gold_from_ratings
from sfq_ray.evaluate.ratings import Key
from sfq_ray.rubric import DIMENSIONS, overall

Row = Mapping[str, Any]

MAX_GAP = 2.0  # points between two raters' overalls; more is adjudicated
NOISE = 1e-5  # of scores that were float32 once: 7.199999809265137 is 7.2


@dataclass(frozen=True, eq=False)
class Rated:
    """The human ratings of n figures; a place of the second axis is the same rater in every figure."""

    figures: tuple[Key, ...]
    raters: tuple[str, ...]
    ratings: Floats  # (n, R, 5), NaN where a rater gave no score

    @property
    def figure_ids(self) -> tuple[str, ...]:
        return tuple(key.figure_id for key in self.figures)

    @property
    def papers(self) -> Ints:
        """(n,) code of each figure's paper."""
        codes = np.unique([key.paper_id for key in self.figures], return_inverse=True)[1]
        return codes.astype(np.int64)

    @property
    def gold(self) -> Gold:
        """Raises ValueError where a figure has no dimension that a rater scored."""
        return gold_from_ratings(self.figure_ids, self.papers, self.ratings)

    def only(self, places: Iterable[int]) -> Rated:
        """These figures, and the raters who rated one of them."""
        kept = list(places)
        ratings = self.ratings[kept]
        there = np.flatnonzero(~np.isnan(ratings).all(axis=(0, 2)))
        raters = tuple(self.raters[place] for place in there.tolist())
        return Rated(tuple(self.figures[place] for place in kept), raters, ratings[:, there])


def rated(ratings: Iterable[Row]) -> Rated:
    """The human ratings of every figure that has one, by figure_id. Raters without a name have places of their own."""
    groups = by_figure(ratings)
    places: dict[tuple[bool, str], int] = {}
    entries = []
    for number, own in enumerate(groups.values()):
        for row, name in zip(own, rater_names(own), strict=True):
            rater = (row["rater"] is None, name)
            places[rater] = 0
            entries.append((number, rater, [row[dimension] for dimension in DIMENSIONS]))
    places = {rater: place for place, rater in enumerate(sorted(places))}
    table = np.full((len(groups), len(places), len(DIMENSIONS)), np.nan)
    for number, rater, scores in entries:
        table[number, places[rater]] = np.array(scores, dtype=np.float64)
    keys = tuple(Key(own[0]["paper_id"], own[0]["fig_index"]) for own in groups.values())
    return Rated(keys, tuple(name for _, name in places), table)


def rater_names(ratings: Iterable[Row]) -> list[str]:
    """Of the ratings of one figure, in their order; raters without a name are numbered."""
    unnamed = count(1)
    return [f"unnamed {next(unnamed)}" if row["rater"] is None else row["rater"] for row in ratings]


def gold(ratings: Iterable[Row]) -> list[dict[str, Any]]:
    """One row per figure that a human rated: figure_id, paper_id, fig_index, raters, the dimensions and overall.

    A dimension is the mean over the raters that scored it, and is off (None) where none did; overall is the mean of
    the dimensions that are on, at full precision. It is not the mean of the raters' overalls.
    """
    groups = by_figure(ratings)
    scores, overalls = dimension_first(rated(row for own in groups.values() for row in own).ratings)
    return [
        {
            "figure_id": figure_id, "paper_id": own[0]["paper_id"], "fig_index": own[0]["fig_index"],
            "raters": len(own), **{d.value: _known(score) for d, score in zip(DIMENSIONS, of_figure, strict=True)},
            "overall": _known(mean),
        }
        for (figure_id, own), of_figure, mean in zip(groups.items(), scores, overalls, strict=True)
    ]  # fmt: skip


def adjudication(ratings: Iterable[Row]) -> list[dict[str, Any]]:
    """Figures whose raters' overalls lie more than MAX_GAP apart, the widest gap first.

    Each row: figure_id, gap, and overalls by rater, in the order of the ratings.
    """
    found = []
    for figure_id, own in by_figure(ratings).items():
        overalls = [(row["rater"], value) for row in own if (value := rater_overall(row)) is not None]
        values = [value for _, value in overalls]
        gap = max(values) - min(values) if values else 0.0
        if gap > MAX_GAP + NOISE:
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
    """The human ratings of each figure, by figure_id; a rating without any score is none.

    Of several ratings of a figure by one rater the latest counts: by the time stated, else by their order.
    """
    groups: dict[str, dict[Any, Row]] = {}
    for number, row in enumerate(humans(ratings)):
        if rater_overall(row) is not None:
            own = groups.setdefault(Key(row["paper_id"], row["fig_index"]).figure_id, {})
            rater = number if row["rater"] is None else row["rater"]
            if rater not in own or _moment(own[rater]) <= _moment(row):
                own[rater] = row
    return {figure_id: list(own.values()) for figure_id, own in sorted(groups.items())}


def _moment(row: Row) -> datetime:
    return row["annotated_at"] or datetime.min


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
