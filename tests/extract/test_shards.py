"""Rates of figures without citing paragraphs, by shard."""

import pytest

from sfq_ray.extract.shards import shards


def paper(venue, year, kept, uncited):
    return {"venue": venue, "year": year, "figures_kept": kept, "figures_uncited": uncited}


def test_a_venue_that_lost_its_citations_is_out_of_line():
    rows = [("part-00000", paper(venue, 2024, 40, 5)) for venue in ("ICML", "ACL", "CVPR")]
    found = shards([*rows, ("part-00000", paper("AAAI", 2024, 40, 31))])
    assert [(shard.name, shard.out_of_line) for shard in found] == [
        ("AAAI 2024", True), ("ACL 2024", False), ("CVPR 2024", False), ("ICML 2024", False),
    ]  # fmt: skip
    assert found[0].expected_rate == pytest.approx((15 + 20 * 100 / 739) / 140)


def test_a_shard_of_its_own_is_compared_with_the_usual_rate():
    assert shards([("part-00000", paper(None, None, 50, 7))])[0].out_of_line is False
    assert shards([("part-00000", paper(None, None, 50, 25))])[0].out_of_line is True


def test_few_figures_say_nothing_and_papers_without_figures_are_no_shard():
    found = shards([("part-00000", paper(None, None, 6, 6)), ("part-00001", paper(None, None, None, None))])
    assert [(shard.name, shard.out_of_line) for shard in found] == [("part-00000", False)]
