"""The numbers of an evaluation: against pandas and scipy, and by what must and must not change them."""

import dataclasses
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged_made_up import Made, figure, rated, score, write
from ratings_made_up import WORKED_EXAMPLE
from scipy.stats import spearmanr

from sfq_ray.errors import FatalError
from sfq_ray.evaluate.agreement import nanmean
from sfq_ray.evaluate.evaluation import SEED, evaluate, family, repeats
from sfq_ray.evaluate.judgements import read_judgements
from sfq_ray.evaluate.latex import latex
from sfq_ray.evaluate.leaderboard import leaderboard_rows
from sfq_ray.evaluate.markdown import markdown
from sfq_ray.evaluate.permutation import contrasts
from sfq_ray.rubric import DIMENSIONS
from sfq_ray.tables import FITTED

SEEDS = st.integers(0, 2**32 - 1)
DIMS = [d.value for d in DIMENSIONS]


def evaluated(out, reference=None, draws=100):
    return evaluate(read_judgements(out), {}, reference, draws)


def test_the_worked_example_of_the_paper(tmp_path):
    write(tmp_path, "figures", [figure("p", 1)])
    write(tmp_path, "ratings", rated("p", 1, WORKED_EXAMPLE))
    write(tmp_path, "scores", [score("m-direct", "p", 1, (6, 6, 6, 6, 6))])
    found = evaluated(tmp_path)
    assert found.gold.overall[0] == pytest.approx(5.80)
    (row,) = found.complete
    assert (row.rank, row.ranks, row.metrics.mae.n) == (1, None, 1), "one paper says nothing about ranks"
    assert row.metrics.mae.value == row.metrics.bias.value == pytest.approx(0.2)
    assert row.metrics.spearman.value is None
    assert {interval.low for interval in row.intervals.values()} == {None}, "one paper tells nothing of others"


def by_pandas(out):
    """The leaderboard's numbers from the tables by other means."""
    tables = {
        name: duckdb.sql(f"select * from '{out}/{name}/*.parquet'").df().set_index(["paper_id", "fig_index"])
        for name in ("ratings", "scores")
    }
    gold = tables["ratings"].groupby(level=[0, 1])[DIMS].mean()
    gold["overall"] = gold[DIMS].mean(axis=1)
    result = {}
    for run_id, rows in tables["scores"].groupby("run_id"):
        both = rows.join(gold.add_suffix("_gold"))
        error = (both["overall"] - both["overall_gold"]).dropna()
        numbers = {
            "n": len(error), "mae": error.abs().mean(), "bias": error.mean(),
            "within_1": (error.abs() <= 1 + 1e-9).mean(), "coverage": len(error) / len(gold),
            "spearman": spearmanr(both["overall"], both["overall_gold"].round(9), nan_policy="omit").statistic,
            "scored": int((rows["status"] == "scored").sum()), "failed": int((rows["status"] == "failed").sum()),
            "missing": len(gold) - len(rows), "mae_best": error.abs().sum() / len(gold),
        }  # fmt: skip
        absent = gold["overall"].drop(error.index)
        numbers["mae_worst"] = numbers["mae_best"] + np.maximum(absent - 1, 10 - absent).sum() / len(gold)
        for d in DIMS:
            of_dimension = (both[d].astype(float) - both[f"{d}_gold"]).dropna()
            numbers |= {f"{d}_mae": of_dimension.abs().mean(), f"{d}_n": len(of_dimension)}
        result[run_id] = numbers
    return result


@given(SEEDS)
@settings(max_examples=8, deadline=None)
def test_the_numbers_are_those_of_pandas_and_scipy(seed):
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        made = Made(Path(folder), papers=5, per_paper=3, seed=seed)
        for number, run_id in enumerate(("a-direct", "a-agent", "b-sidecar")):
            lost = np.flatnonzero(rng.random(15) < 0.15 * number)
            made.run(run_id, rng.uniform(0.3, 2), skip=lost[::2], fail=lost[1::2])
        found, expected = evaluated(Path(folder)), by_pandas(folder)
    rows = [row for row in leaderboard_rows(found) if row["kind"] in ("complete", "incomplete")]
    assert {row["run_id"] for row in rows} == expected.keys()
    for row in rows:
        own = expected[row["run_id"]]
        assert {name: row[name] for name in own} == pytest.approx(own, abs=1e-9)
        assert row["kind"] == ("complete" if own["coverage"] == 1 else "incomplete")
    complete = pd.Series({run_id: round(own["mae"], 9) for run_id, own in expected.items() if own["coverage"] == 1})
    assert {row["run_id"]: row["rank"] for row in rows if row["rank"] is not None} == complete.rank(
        method="min"
    ).to_dict()


@given(SEEDS, st.sets(st.integers(0, 8), min_size=1, max_size=9))
@settings(max_examples=10, deadline=None)
def test_an_incomplete_run_is_never_ranked(seed, lost):
    with tempfile.TemporaryDirectory() as folder:
        made = Made(Path(folder), papers=3, per_paper=3, seed=seed)
        made.run("a-direct", 2.0)
        made.run("b-direct", 0.1, skip=list(lost)[::2], fail=list(lost)[1::2])  # the better one by far
        found = evaluated(Path(folder))
    assert [s.judged.run_id for s in found.complete] == ["a-direct"]
    assert [(s.rank, s.ranks) for s in found.complete] == [(1, (1, 1))]
    for standing in found.incomplete:
        assert (standing.rank, standing.ranks, standing.judged.run_id) == (None, None, "b-direct")
        assert standing.metrics.coverage.value == pytest.approx(1 - len(lost) / 9)
    assert (len(found.incomplete) == 1) or len(lost) == 9


@given(SEEDS, st.integers(0, 4))
@settings(max_examples=8, deadline=None)
def test_gating_a_dimension_moves_no_number_of_another(seed, column):
    with tempfile.TemporaryDirectory() as folder:
        made = Made(Path(folder), papers=4, per_paper=3, seed=seed)
        made.run("a-direct", 1.0)
        judgements = read_judgements(Path(folder))
    (run,) = judgements.runs
    scores = run.judged.scores.copy()
    scores[np.random.default_rng(seed).random(len(scores)) < 0.5, column] = np.nan
    gated = dataclasses.replace(run, judged=dataclasses.replace(run.judged, scores=scores))
    before, after = (
        leaderboard_rows(evaluate(dataclasses.replace(judgements, runs=(own,)), {}, draws=100))[0]
        for own in (run, gated)
    )
    own = DIMENSIONS[column].value
    assert {name for name in before if before[name] != after[name]} <= {
        f"{own}_n", *(f"{own}_mae{end}" for end in ("", "_low", "_high", "_interval"))
    }  # fmt: skip


def test_runs_with_the_same_errors_in_another_order_share_their_rank(tmp_path):
    made = Made(tmp_path, papers=20)
    made.run("a-direct", 1.0)
    judgements = read_judgements(tmp_path)
    (run,), gold = judgements.runs, judgements.rated.gold
    error = run.judged.overall - gold.overall
    runs = [run]
    for number in range(20):
        moved = gold.overall + np.random.default_rng(number).permutation(error)
        runs.append(
            dataclasses.replace(run, judged=dataclasses.replace(run.judged, run_id=f"r{number}", overall=moved))
        )
    found = evaluate(dataclasses.replace(judgements, runs=tuple(runs)), {}, draws=100)
    assert len({standing.metrics.mae.value for standing in found.complete}) > 1, "they differ in the last bits"
    assert {standing.rank for standing in found.complete} == {1}


def test_one_paper_gives_ranks_no_interval(tmp_path):
    made = Made(tmp_path, papers=1)
    made.run("a-direct", 1.0)
    made.run("a-agent", 3.0)
    found = evaluated(tmp_path)
    assert [(standing.rank, standing.ranks) for standing in found.complete] == [(1, None), (2, None)]
    assert [row.get("rank_low") for row in leaderboard_rows(found) if row["rank"]] == [None, None]
    assert "| 1 | a-direct |" in markdown(found)
    assert found.contrasts[0].interval.low is None


def test_figures_that_must_be_gated_make_no_run_incomplete(tmp_path):
    keys = [("p", 1), ("p", 2), ("q", 1)]
    write(tmp_path, "figures", [figure("p", 1, caption=None, contexts=[]), figure("p", 2), figure("q", 1)])
    write(tmp_path, "ratings", [row for key in keys for row in rated(*key, WORKED_EXAMPLE)])
    gated = score("m-direct", "p", 1, None, status="gated", failure=None)
    six = (6, 6, 6, 6, 6)
    write(tmp_path, "scores", [gated, *(score("m-direct", *key, six) for key in keys[1:])])
    write(tmp_path, "scores", [score("n-direct", *key, six) for key in keys], "part-00001")
    gated_too_much = [gated | {"run_id": "o-direct", "model": "o", "fig_index": i} for i in (1, 2)]
    write(tmp_path, "scores", [*gated_too_much, score("o-direct", "q", 1, six)], "part-00002")
    found = evaluated(tmp_path)
    assert [(s.judged.run_id, s.rank, s.metrics.mae.n) for s in found.complete] == [
        ("m-direct", 1, 2),
        ("n-direct", 1, 2),
    ]
    assert [s.judged.run_id for s in found.incomplete] == ["o-direct"]
    assert found.must_gate == 1
    assert [(s.metrics.mae.n, s.metrics.statuses["gated"]) for s in found.baselines] == [(2, 1)] * 2


def test_only_the_first_of_repeats_is_ranked(tmp_path):
    made = Made(tmp_path)
    for run_id in ("a-direct", "a-direct+1", "a-direct+2", "b-direct+1"):
        made.run(run_id, 1.0)
    made.run("b-direct", 1.0, skip=[0])
    write(tmp_path, "scores", [score("a-direct+3", "p000", 1, (5,) * 5, model="another")])
    found = evaluated(tmp_path)
    assert {s.judged.run_id for s in found.runs} == {"a-direct", "b-direct", "a-direct+3"}
    retests = {of_run.run_id: of_run for of_run in found.retests}
    assert {run_id: of_run.repeats for run_id, of_run in retests.items()} == {"a-direct": 3, "b-direct": 2}
    runs = {run.run_id: run.judged.overall for run in read_judgements(tmp_path).runs}
    variances = np.var([runs[f"a-direct{end}"] for end in ("", "+1", "+2")], axis=0, ddof=1)
    assert retests["a-direct"].noise["overall"].sd == pytest.approx(np.sqrt(variances.mean()))
    assert found.left_out["repeats that stand in test-retest only: a-direct+2"] == 1


def test_the_family_of_contrasts_is_known_before_the_scores(tmp_path):
    made = Made(tmp_path, papers=4)
    for run_id in ("a-direct", "a-sidecar", "a-agent", "b-direct", "b-agent", "c-agent"):
        made.run(run_id, 1.0)
    runs = [group[0] for group in repeats(read_judgements(tmp_path).runs)]
    within = [("a-sidecar", "a-direct"), ("a-agent", "a-direct"), ("b-agent", "b-direct")]
    assert family(runs) == within
    assert family(runs, "a-direct") == [
        *within,
        ("b-agent", "a-direct"),
        ("b-direct", "a-direct"),
        ("c-agent", "a-direct"),
    ]
    with pytest.raises(FatalError, match="--reference z: no such run; there are a-agent, a-direct"):
        family(runs, "z")


def test_contrasts_are_corrected_as_one_family(tmp_path):
    made = Made(tmp_path)
    for run_id, sd in (("a-direct", 1.5), ("a-agent", 0.3), ("b-direct", 1.0), ("b-sidecar", 1.0)):
        made.run(run_id, sd)
    made.run("c-direct", 1.0, skip=range(1, 48))
    made.run("c-agent", 1.0, skip=[0])
    judgements = read_judgements(tmp_path)
    found = evaluate(judgements, {}, draws=300)
    gold, judged = found.gold, [run.judged for run in judgements.runs]
    pairs = [("b-sidecar", "b-direct"), ("a-agent", "a-direct")]
    assert found.contrasts == contrasts(gold, judged, pairs, np.ones((300, 12)), [SEED, 2])  # few papers: wild-t
    assert [c.interval.low < c.difference < c.interval.high < 0 for c in found.contrasts] == [False, True]
    assert found.left_out["contrasts without a figure that both scored: c-agent - c-direct"] == 1
    assert found.contrasts[1].p_family < 0.05 < found.contrasts[0].p_family


def test_intervals_come_from_the_same_resamples_whatever_runs_there_are(tmp_path):
    made = Made(tmp_path, papers=45, per_paper=2)
    made.run("a-direct", 1.0)
    alone = evaluated(tmp_path, draws=200).complete[0].intervals
    made.run("b-direct", 0.5)
    found = {s.judged.run_id: s for s in evaluated(tmp_path, draws=200).complete}
    assert found["a-direct"].intervals == alone
    assert alone["mae"].method == "percentile"
    assert alone["mae"].low < found["a-direct"].metrics.mae.value < alone["mae"].high
    assert (found["b-direct"].ranks, found["a-direct"].ranks) == ((1, 1), (2, 2))


def test_expected_scores_stand_beside_the_runs(tmp_path):
    made = Made(tmp_path, papers=3, per_paper=2)
    made.run("a-direct", 1.0, **{f"{d}_expected": 6.25 for d in DIMENSIONS})
    found = evaluated(tmp_path)
    (row,) = found.expected
    assert (row.kind, row.rank, row.judged.run_id, row.metrics.mae.n) == ("expected", None, "a-direct", 6)
    assert row.metrics.mae.value == pytest.approx(np.abs(6.25 - found.gold.overall).mean())
    assert len(found.complete) == 1


@pytest.mark.parametrize("protocol", FITTED)
def test_runs_that_have_seen_ratings_are_never_ranked(tmp_path, protocol):
    made = Made(tmp_path, papers=3, per_paper=2)
    made.run("a-direct", 1.0)
    made.run("b-direct", 0.0, protocol=protocol)
    found = evaluated(tmp_path, reference="a-direct")
    assert [(s.judged.run_id, s.rank, s.ranks) for s in found.complete] == [("a-direct", 1, (1, 1))]
    (row,) = found.fitted
    assert (row.kind, row.rank, row.judged.run_id, row.metrics.mae.n) == ("fitted", None, "b-direct", 6)
    assert [row["kind"] for row in leaderboard_rows(found)] == ["complete", "fitted", "baseline", "baseline"]
    assert [(c.first, c.second) for c in found.contrasts] == [("b-direct", "a-direct")]
    for text in (markdown(found), latex(found)):
        assert "Fitted runs, not ranked" in text


def test_raters_have_their_table_ceiling_and_gaps(tmp_path):
    made = Made(tmp_path, papers=40, per_paper=2, rater_sd=2.0)
    made.run("a-direct", 1.0)
    found = evaluated(tmp_path, draws=300)
    vc = found.reliability["VC"]
    spread = made.ratings[..., 0].max(axis=1) - made.ratings[..., 0].min(axis=1)
    assert (vc.dispersion.mean_spread, vc.dispersion.median_spread) == (spread.mean(), np.median(spread))
    assert vc.alpha_interval.low < vc.alpha.value < vc.alpha_interval.high
    assert [m.run_id for m in found.ceiling] == ["ann", "ben", "cat"]
    own = np.nanmean(made.ratings, axis=2)
    others = nanmean(nanmean(made.ratings[:, 1:], axis=1), axis=1)
    assert found.ceiling[0].mae.value == pytest.approx(np.abs(own[:, 0] - others).mean())
    wide = np.ptp(own, axis=1) > 2 + 1e-5
    assert {row["figure_id"] for row in found.adjudication} == {
        figure_id for figure_id, far in zip(found.gold.figure_ids, wide, strict=True) if far
    }
    assert wide.any()


def test_without_a_run_there_is_no_evaluation(tmp_path):
    Made(tmp_path, papers=2)
    write(tmp_path, "scores", [score("m-direct", "elsewhere", 1, (6,) * 5)])
    with pytest.raises(FatalError, match="same papers"):
        evaluated(tmp_path)
