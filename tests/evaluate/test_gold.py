"""Gold is made by dimension first."""

from datetime import datetime

import numpy as np
import pytest
from ratings_made_up import WORKED_EXAMPLE, rating

from sfq_ray.evaluate.gold import adjudication, gold, rated


def test_the_worked_example_of_the_paper():
    ratings = [rating(1, rater, scores) for rater, scores in zip("abc", WORKED_EXAMPLE, strict=True)]
    (row,) = gold(ratings)
    assert [round(row[d], 2) for d in ("VC", "SL", "CC", "CTX", "MR")] == [6.33, 6.67, 5.33, 6.33, 4.33]
    assert row["overall"] == pytest.approx(5.80, abs=1e-9)
    assert row["raters"] == 3


def test_a_dimension_that_one_rater_left_out_is_the_mean_of_the_others():
    ratings = [rating(1, "a", (6, 6, 4, None, 6)), rating(1, "b", (8, 8, None, None, 8))]
    (row,) = gold(ratings)
    assert (row["CC"], row["CTX"]) == (4, None)
    assert row["overall"] == (7 + 7 + 4 + 7) / 4  # the mean of the raters' overalls would be 6.75 too, not with SL:
    ratings = [rating(1, "a", (6, 6, 1, None, 6)), rating(1, "b", (8, 8, None, None, 8))]
    assert gold(ratings)[0]["overall"] == (7 + 7 + 1 + 7) / 4 != (4.75 + 8) / 2


def test_only_human_ratings_with_a_score_count():
    ratings = [
        rating(1, "a", (6, 6, 6, 6, 6)),
        rating(1, "model", (1, 1, 1, 1, 1), source="other"),
        rating(1, "b", (None,) * 5),
        rating(2, "b", (None,) * 5),
    ]
    (row,) = gold(ratings)
    assert (row["figure_id"], row["raters"], row["overall"]) == ("p__fig0001", 1, 6.0)


def test_of_two_ratings_by_one_rater_the_latest_counts():
    early, late = datetime(2026, 3, 2), datetime(2026, 3, 3)
    ratings = [
        rating(1, "a", (9,) * 5, annotated_at=late), rating(1, "a", (5,) * 5, annotated_at=early),
        rating(2, "a", (5,) * 5), rating(2, "a", (9,) * 5), rating(2, None, (9,) * 5), rating(2, None, (9,) * 5),
    ]  # fmt: skip
    assert [(row["raters"], row["overall"]) for row in gold(ratings)] == [(1, 9.0), (3, 9.0)]


def test_a_place_is_the_same_rater_in_every_figure():
    ratings = [rating(2, "b", (6,) * 5), rating(2, "a", (5,) * 5), rating(1, None, (3,) * 5), rating(1, "b", (7,) * 5)]
    found = rated(ratings)
    assert (found.figure_ids, found.raters) == (("p__fig0001", "p__fig0002"), ("a", "b", "unnamed 1"))
    assert np.array_equal(found.ratings[..., 0], [[np.nan, 7, 3], [5, 6, np.nan]], equal_nan=True)
    assert found.only([1]).raters == ("a", "b")
    assert found.gold.overall.tolist() == [5.0, 5.5]


def test_adjudication_wants_more_than_two_points():
    ratings = [
        rating(1, "a", (7,) * 5), rating(1, "b", (5,) * 5),
        rating(2, "a", (9, 9, 9, 9, 9)), rating(2, "b", (6, 7, 7, 6, 6)),
        rating(3, "a", (7.200000286102295,) * 5), rating(3, "b", (5.199999809265137,) * 5),
    ]  # fmt: skip
    (row,) = adjudication(ratings)
    assert row["figure_id"] == "p__fig0002"
    assert row["gap"] == pytest.approx(2.6)
    assert [rater for rater, _ in row["overalls"]] == ["a", "b"]
