"""Splits are exact, keep papers together and depend on nothing but the data."""

import json
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged_made_up import write
from ratings_made_up import rating
from typer.testing import CliRunner

from sfq_ray.cli import app
from sfq_ray.errors import FatalError
from sfq_ray.evaluate.splits import Paper, balance, figure_kind, parse_quotas, rated_papers, split

CAPTIONS = ("Overview of it", "Accuracy by step", "Examples of outputs", "Loss curves", "The world")


def paper(number, size, venue="ACL"):
    figures = tuple(
        {"paper_id": f"p{number}", "fig_index": i, "venue": venue, "year": 2020 + number % 6, "caption": CAPTIONS[(number + i) % 5]}
        for i in range(1, size + 1)
    )  # fmt: skip
    return Paper(f"p{number}", venue, figures, Counter(figure_kind(figure["caption"]) for figure in figures))


def corpus(papers=400):
    venues = ("ACL", "EMNLP", "ICML", "NeurIPS")
    return [
        paper(number, 1 + number * 7 % 11, venues[number * number % 4 + number % 3 % 2]) for number in range(papers)
    ]


def size(papers):
    return sum(each.size for each in papers)


def test_1200_of_the_rated_figures_with_their_mix():
    papers = corpus()
    chosen = split(papers, 1200)
    assert size(chosen) == 1200
    assert len({each.paper_id for each in chosen}) == len(chosen)
    table = balance(papers, chosen)
    for name in ("venue", "kind"):
        for ours, everything in table[name].values():
            assert ours / 1200 == pytest.approx(everything / size(papers), abs=0.01)
    for ours, everything in table["year"].values():
        assert ours / 1200 == pytest.approx(everything / size(papers), abs=0.06)
    assert table["total"]["figures"] == (1200, size(papers))
    assert len(chosen) == pytest.approx(len(papers) * 1200 / size(papers), rel=0.15)  # no taste for small papers


def test_the_order_of_the_papers_does_not_matter():
    papers = corpus(120)
    shuffled = random.Random(1).sample(papers, len(papers))
    assert split(shuffled, 200) == split(papers, 200)


def test_quotas_are_met_exactly_or_refused():
    papers = corpus()
    chosen = split(papers, 300, {"ACL": 100, "EMNLP": 200})
    venues = Counter[str]()
    for each in chosen:
        venues[each.venue] += each.size
    assert venues == {"ACL": 100, "EMNLP": 200}
    with pytest.raises(FatalError, match="a venue stands twice"):
        parse_quotas("ACL=1,EMNLP=2,ACL=3")
    with pytest.raises(FatalError, match="sum to 300, not to 301"):
        split(papers, 301, {"ACL": 100, "EMNLP": 200})
    with pytest.raises(FatalError, match="nowhere: whole papers cannot make 5 figures of 0; 0 would do"):
        split(papers, 5, {"nowhere": 5})
    with pytest.raises(FatalError, match="cannot make 5 figures of 12; 4 would do"):
        split([paper(n, 4) for n in range(3)], 5, {"ACL": 5})


def test_what_cannot_be_exact_is_refused():
    with pytest.raises(FatalError, match="8 would do"):
        split([paper(n, 4) for n in range(3)], 9)
    with pytest.raises(FatalError, match="12 have 3 raters"):
        split([paper(n, 4) for n in range(3)], 13)
    with pytest.raises(FatalError, match="cannot choose 0"):
        split([paper(1, 1)], 0)


@given(
    st.lists(st.tuples(st.integers(1, 6), st.sampled_from(["ACL", "ICML"])), min_size=1, max_size=9), st.integers(1, 30)
)
def test_whatever_whole_papers_can_make_is_found(sizes, n):
    papers = [paper(number, count, venue) for number, (count, venue) in enumerate(sizes)]
    possible = {0}
    for count, _ in sizes:
        possible |= {total + count for total in possible}
    if n in possible:
        assert size(split(papers, n)) == n
    else:
        with pytest.raises(FatalError):
            split(papers, n)


def test_figures_with_fewer_than_three_people_are_left_out():
    figures = [
        {"figure_id": f"p__fig000{i}", "paper_id": "p", "fig_index": i, "venue": None, "caption": None}
        for i in (2, 1, 3)
    ]
    ratings = [rating(i, rater) for i in (1, 2) for rater in "abc"] + [rating(3, rater) for rater in "aab"]
    (found,) = rated_papers(figures, ratings)
    assert ([row["fig_index"] for row in found.figures], found.venue) == ([1, 2], "unknown")


@pytest.mark.parametrize(
    ("caption", "kind"),
    [("Overview of results", "diagram"), ("Results of the pipeline", "result"), ("Qualitative comparison", "example"), ("A", "other"), (None, "other")],
)  # fmt: skip
def test_kinds(caption, kind):
    assert figure_kind(caption) == kind


def test_the_command_writes_the_split_and_prints_its_balance(tmp_path):
    keys = [
        {"figure_id": f"p__fig{i:04d}", "paper_id": "p", "fig_index": i, "venue": "ACL", "year": 2020} for i in (1, 2)
    ]
    write(tmp_path, "figures", keys)
    write(tmp_path, "ratings", [rating(i, r) for i in (1, 2) for r in "abc"])
    result = CliRunner().invoke(app, ["split", str(tmp_path), "--n", "2", "--quotas", "ACL=2"])
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in (tmp_path / "splits/eval2.jsonl").read_text().splitlines()]
    assert rows == keys
    assert "venue ACL" in result.output
    for wrong in (["--n", "1"], ["--n", "2", "--quotas", "ACL"]):
        assert CliRunner().invoke(app, ["split", str(tmp_path), *wrong]).exit_code != 0
