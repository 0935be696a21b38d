"""Counts that add up, distributions that never count a null, and checks that notice when tables disagree."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_up_tables import figure, paper, score, write

from sfq_ray.report.read import read_tables
from sfq_ray.report.totals import distribution, failures, summary


def test_outcomes_add_up(out: Path) -> None:
    result = summary(read_tables(out))
    assert result["papers"] == {"found": 5, "kept": 3, "dropped": 1, "failed": 1}
    assert result["figures"] == {"found": 6, "kept": 4, "dropped": 1, "failed": 1}
    assert result["drops"] == [["S1:small_side", 1]]
    assert result["paperDrops"] == [["duplicate", 1]]
    assert result["flags"] == [["S2:area_outlier", 1]]
    assert result["evidence"] == {"both": 1, "caption": 2, "context": 1, "neither": 0}
    assert all(check["ok"] for check in result["checks"])


def test_a_run_counts_every_row_once_and_names_what_is_missing(out: Path) -> None:
    agent, direct = summary(read_tables(out))["runs"]
    assert (agent["id"], agent["rows"], agent["scored"], agent["missing"]) == ("rules-agent", 2, 2, 2)
    assert (direct["id"], direct["rows"], direct["scored"], direct["failed"]) == ("rules-direct", 3, 2, 1)
    assert direct["failures"] == [["truncated", 1]]


def test_nulls_are_neither_in_the_bins_nor_in_the_mean() -> None:
    result = distribution([None, 1, 10, None, 10])
    assert (result["n"], result["nulls"], result["mean"], result["median"]) == (3, 2, 7.0, 10)
    assert result["bins"] == [1, 0, 0, 0, 0, 0, 0, 0, 0, 2]
    empty = distribution([None])
    assert (empty["n"], empty["nulls"], empty["mean"], sum(empty["bins"])) == (0, 1, None, 0)


@pytest.mark.parametrize(("overall", "nearest"), [(1.0, 1), (6.4, 6), (6.5, 7), (9.8, 10)])
def test_an_overall_counts_for_the_nearest_score(overall: float, nearest: int) -> None:
    assert distribution([overall])["bins"].index(1) == nearest - 1


def test_failures_carry_their_messages(out: Path) -> None:
    found = {(group["of"], group["run"], group["class"]): group["items"] for group in failures(read_tables(out))}
    assert found == {
        ("paper", "", "damaged"): [[4, "Not a PDF <i>at all</i>."]],
        ("figure", "", "render_failed"): [[2, "The region is damaged."]],
        ("score", "rules-direct", "truncated"): [[5, "The reply has no end."]],
    }


def test_tables_that_disagree_are_reported(tmp_path: Path) -> None:
    row = figure("a", 1)
    write(tmp_path, "papers", [paper("z", figures_found=3, figures_kept=3, figures_failed=0)])
    write(tmp_path, "figures", [row, row])
    write(tmp_path, "scores", [score("rules-direct", figure("gone", 1), {"VC": 5, "SL": 5, "MR": 5})])
    bad = {
        check["what"]: (check["expected"], check["found"])
        for check in summary(read_tables(tmp_path))["checks"]
        if not check["ok"]
    }
    assert bad == {
        "figures found: papers/ counts as many as figures/ holds": (3, 1),
        "figures kept: papers/ counts as many as figures/ holds": (3, 1),
        "figures whose paper is not in papers/": (0, 1),
        "rows of figures/ that repeat a key (left out here)": (0, 1),
        "rules-direct: scores whose figure is not in figures/": (0, 1),
    }
