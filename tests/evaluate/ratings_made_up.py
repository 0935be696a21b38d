"""Ratings for the tests, with every column of ratings/."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sfq_ray.rubric import DIMENSIONS
from sfq_ray.tables import RATINGS

WORKED_EXAMPLE = ((6, 5, 5, 6, 4), (5, 6, 5, 6, 4), (8, 9, 6, 7, 5))
"""Scores of three raters, whose gold is 5.8 (arXiv 2607.27084)."""
START = datetime(2026, 3, 2, 9, 0, 0, 123)
THINGS = (
    "bars", "axes", "legend", "panels", "arrows", "curves", "ticks", "labels", "colours", "boxes", "lines", "grids",
)  # fmt: skip
STATES = (
    "legible", "crowded", "aligned", "unlabelled", "consistent", "overlapping", "readable", "ordered", "faint", "named",
)  # fmt: skip


def rating(figure: int, rater: str, scores: tuple[Any, ...] = (7, 7, 7, 7, 7), **more: Any) -> dict[str, Any]:
    """A human rating of figure 1, 2, ... of paper "p" without reasons."""
    values = dict(zip(DIMENSIONS, scores, strict=True))
    given = [value for value in scores if value is not None]
    row = dict.fromkeys(RATINGS.names) | {
        "figure_id": f"p__fig{figure:04d}", "paper_id": "p", "fig_index": figure, "rater": rater, "source": "human",
        "row": figure, "overall": sum(given) / len(given) if given else None,
        **{dimension.value: value for dimension, value in values.items()},
    }  # fmt: skip
    return row | more


def reason(number: int) -> str:
    """A rationale that shares few words with any other."""
    digits = [number // len(STATES) ** place % len(STATES) for place in range(4)]
    thing = [THINGS[(number * step + place) % len(THINGS)] for place, step in enumerate((1, 5, 7))]
    return (
        f"the {STATES[digits[0]]} {thing[0]} w{number} beside {STATES[digits[1]]} {thing[1]} v{number} "
        f"make {STATES[digits[2]]} {thing[2]} u{number}".translate(str.maketrans("0123456789", "abcdefghij"))
    )


def clean_gold(figures: int = 24, raters: int = 3) -> list[dict[str, Any]]:
    """What three careful people would hand in."""
    rows = []
    for figure in range(1, figures + 1):
        for person in range(raters):
            scores = tuple(5 + (figure * (person + 2) + place * 3) % 5 for place in range(5))
            at = START + timedelta(minutes=4 * figure, seconds=31 * person, microseconds=977 * figure + 31 * person)
            reasons = {
                f"{dimension}_reason": reason((figure * raters + person) * 5 + place)
                for place, dimension in enumerate(DIMENSIONS)
            }
            rows.append(rating(figure, f"Rater_{person + 1:02d}", scores, annotated_at=at, **reasons))
    return rows
