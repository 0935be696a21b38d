"""Fitted runs: predicted out of fold by whole papers, under the figures' gates, without any look at the paper itself."""

import json
import sys

import numpy as np
import pytest
from judged_made_up import write
from ratings_made_up import rating
from released_made_up import LINKED, directory, figure
from typer.testing import CliRunner

from sfq_ray import evaluate as package
from sfq_ray.cli import app
from sfq_ray.errors import FatalError
from sfq_ray.evaluate.evaluation import evaluate
from sfq_ray.evaluate.fit import Choice, fit
from sfq_ray.evaluate.fit_data import read_rated, sharing
from sfq_ray.evaluate.gold import gold
from sfq_ray.evaluate.judgements import read_judgements
from sfq_ray.evaluate.regressor import CALIBRATIONS, REGRESSORS, folds, out_of_fold, train_means
from sfq_ray.rubric import DIMENSIONS, overall
from sfq_ray.store import Store

PAPERS, PER_PAPER = 10, 5
COLUMNS = [*DIMENSIONS, "overall"]


def made(rng):
    """Figures whose ratings follow two features, and their ratings; figure 1 has no caption, figure 2 no context."""
    figures, ratings = [], []
    for paper in range(PAPERS):
        for index in range(1, PER_PAPER + 1):
            sharp, dense = rng.uniform(-2, 2, 2)
            row = figure(
                f"p{paper}", index, image=None, caption=None if index == 1 else "Loss",
                contexts=[] if index == 2 else [LINKED], edge_density=float(dense),
                blur_laplacian_var=None if index == 3 else float(sharp),
            )  # fmt: skip
            scores = [6 + sharp, 6 + dense, 6 - dense, 5 + dense, 5 + sharp / 2]
            if index == 1:
                scores[2] = None
            if index == 2:
                scores[3] = None
            key = {name: row[name] for name in ("figure_id", "paper_id", "fig_index")}
            figures.append(row)
            ratings += [rating(index, f"Rater {n}", tuple(scores), **key) for n in range(2)]
    return figures, ratings


def judged(figures, ratings, shift=2):
    """A judge that is lenient by `shift` points, fails on one figure and has no row for another."""
    truth = {row["figure_id"]: row for row in gold(ratings)}
    rows = []
    for row in figures[1:]:
        values = {d: None if truth[row["figure_id"]][d] is None else min(10, round(truth[row["figure_id"]][d] + shift)) for d in DIMENSIONS}  # fmt: skip
        about = {"run_id": "D1", "protocol": "direct", "backend": "openai", "model": "m", "status": "scored"}
        key = {name: row[name] for name in ("figure_id", "paper_id", "fig_index")}
        rows.append({**about, **key, **{d.value: value for d, value in values.items()}, "overall": overall(values)})
    rows[0] |= {**dict.fromkeys(COLUMNS), "status": "failed", "failure": "refusal", "message": "no"}
    return rows


def rows_of(out, run_id):
    return {row["figure_id"]: row for row in Store(out).rows("scores") if row["run_id"] == run_id}


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """(source, out, cards) of all four runs; one figure is not rated, one rated figure was dropped."""
    base = tmp_path_factory.mktemp("fit")
    figures, ratings = made(np.random.default_rng(1))
    write(base / "judged", "scores", judged(figures, ratings))
    ratings.append(rating(8, "Rater 0", figure_id="p0__fig0008", paper_id="p0"))
    more = [figure("p0", 7), figure("p0", 8, dropped="solid")]
    source = directory(base / "source", figures + more, ratings)
    cards = fit(source, base / "out")
    cards += fit(source, base / "out", base / "judged", Choice(calibrate="D1"))
    return source, base / "out", {card.run_id: card for card in cards}


def test_every_run_has_a_row_for_each_rated_figure(fitted):
    source, out, cards = fitted
    assert list(cards) == ["fit-ridge", "fit-gbm", "D1+isotonic", "D1+linear"]
    rated = {row["figure_id"] for row in Store(source).rows("ratings")} - {"p0__fig0008"}
    for run_id, protocol in zip(cards, ("regressor", "regressor", "calibrated", "calibrated"), strict=True):
        rows = rows_of(out, run_id)
        assert rows.keys() == rated
        assert {row["protocol"] for row in rows.values()} == {protocol}
        assert cards[run_id].rated_without_figure == 1


def test_gates_are_kept_and_overall_is_the_mean(fitted):
    _, out, cards = fitted
    for run_id in cards:
        for row in rows_of(out, run_id).values():
            if row["status"] == "scored":
                assert (row["CC"] is None) == (row["fig_index"] == 1)
                assert (row["CTX"] is None) == (row["fig_index"] == 2)
                assert all(1 <= row[d] <= 10 for d in DIMENSIONS if row[d] is not None)
                assert row["overall"] == overall({d: row[d] for d in DIMENSIONS})
    assert any(row["VC"] != round(row["VC"]) for row in rows_of(out, "fit-ridge").values())


@pytest.mark.parametrize("run_id", ["fit-ridge", "fit-gbm", "D1+isotonic", "D1+linear"])
def test_what_can_be_learned_is_learned(fitted, run_id):
    errors = fitted[2][run_id].errors
    for name in COLUMNS:
        assert errors[name]["mae"] < 0.85 * errors[name]["before"], name
    left_out = 0 if run_id.startswith("fit") else 2
    assert errors["VC"]["n"] == PAPERS * PER_PAPER - left_out


def test_an_evaluation_reads_the_runs_as_any_other_and_finds_the_errors_of_the_cards(fitted):
    source, out, cards = fitted
    found = evaluate(read_judgements(source, [out, out.parent / "judged"]), {}, "D1", draws=100)
    measured = {standing.judged.run_id: standing.metrics for standing in found.fitted}
    assert measured.keys() == cards.keys()
    for run_id, card in cards.items():
        assert measured[run_id].mae.value == pytest.approx(card.errors["overall"]["mae"])
        assert measured[run_id].mae.n == card.errors["overall"]["n"]
        for dimension in DIMENSIONS:
            assert measured[run_id].dimensions[dimension].mae.value == pytest.approx(card.errors[dimension]["mae"])
            assert measured[run_id].dimensions[dimension].gates.judge_only == 0
    assert {(contrast.first, contrast.second) for contrast in found.contrasts} == {(run_id, "D1") for run_id in cards}


def test_a_judge_that_failed_has_no_calibrated_score(fitted):
    rows = rows_of(fitted[1], "D1+isotonic")
    assert (rows["p0__fig0001"]["status"], rows["p0__fig0001"]["failure"]) == ("failed", "not_judged")
    assert (rows["p0__fig0002"]["status"], rows["p0__fig0002"]["failure"]) == ("failed", "refusal")
    assert rows["p0__fig0002"]["overall"] is rows["p0__fig0002"]["VC"] is None
    assert rows["p0__fig0003"]["model"] == "m, isotonic"


# ---- no leak


@pytest.mark.parametrize("name", list(REGRESSORS))
def test_a_feature_that_names_the_paper_does_not_help(rng, name):
    """Each paper has its level and features of its own; whoever saw another figure of the paper knows the level."""
    rows, papers = np.arange(160), np.repeat(np.arange(20), 8)
    x = np.column_stack([rng.permutation(20)[papers], np.eye(20)[papers]])
    y, on = np.tile([2.0, 9.0], 10)[papers], np.ones(160, dtype=bool)
    by_paper = folds([f"p{paper:02d}" for paper in papers], 5)
    by_figure = [(rows[rows % 8 != number], rows[rows % 8 == number]) for number in range(8)]
    base = np.abs(train_means(y, on, by_paper) - y).mean()
    honest, leaking = (out_of_fold(x, y, on, splits, REGRESSORS[name], 0)[0] for splits in (by_paper, by_figure))
    assert np.abs(honest - y).mean() > 0.9 * base
    assert np.abs(leaking - y).mean() < 0.5 * base  # so the features would have helped


@pytest.mark.parametrize("learner", [*REGRESSORS.values(), *CALIBRATIONS.values()], ids=[*REGRESSORS, *CALIBRATIONS])
def test_ratings_and_features_of_a_paper_touch_no_model_that_predicts_its_fold(rng, learner):
    papers = [f"p{row // 6}" for row in range(60)]
    x = rng.normal(size=(60, 1 if learner in CALIBRATIONS.values() else 3))
    if x.shape[1] > 1:
        x[rng.random(x.shape) < 0.2] = np.nan
    y, on = 5 + np.nan_to_num(x[:, 0]) + rng.normal(scale=0.1, size=60), np.ones(60, dtype=bool)
    splits = folds(papers, 5)
    before, _ = out_of_fold(x, y, on, splits, learner, 0)
    test = splits[0][1]
    own = test[[papers[row] == papers[test[0]] for row in test]]
    assert 0 < len(own) < len(test)
    other_y, other_x = y.copy(), x.copy()
    other_y[own] = 10 - 3 * other_y[own]
    other_x[own] = 1e3
    rated, _ = out_of_fold(x, other_y, on, splits, learner, 0)
    assert np.array_equal(rated[test], before[test])
    assert not np.array_equal(rated, before)  # of the other folds: there the paper is learned from
    measured, _ = out_of_fold(other_x, y, on, splits, learner, 0)
    rest = np.setdiff1d(test, own)
    assert np.array_equal(measured[rest], before[rest])


def test_whole_papers_are_the_folds():
    papers = [f"p{n % 7}" for n in range(40)]
    splits = folds(papers, 3)
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(40))
    for train, test in splits:
        assert not {papers[row] for row in train} & {papers[row] for row in test}


# ---- what is missing


def test_nothing_is_predicted_where_it_is_off_or_too_little_is_known(rng):
    papers = [f"p{row // 4}" for row in range(40)]
    x, y, on = rng.normal(size=(40, 2)), rng.normal(size=40) + 5, np.ones(40, dtype=bool)
    x[:, 1] = np.nan
    on[::4] = False
    predicted, importances = out_of_fold(x, y, on, folds(papers, 5), REGRESSORS["ridge"], 0)
    assert np.array_equal(np.isnan(predicted), ~on)
    assert importances[1] == 0
    y[12:] = np.nan
    predicted, importances = out_of_fold(x, y, on, folds(papers, 5), REGRESSORS["ridge"], 0)
    assert np.isnan(predicted).all()
    assert np.isnan(importances).all()


def test_a_figure_that_lacks_one_dimension_has_failed(tmp_path, rng):
    figures, ratings = made(rng)
    bare = [row | {"CTX": None} if row["paper_id"] != "p3" else row for row in ratings]
    fit(directory(tmp_path / "s", figures, bare), tmp_path / "o")
    rows = rows_of(tmp_path / "o", "fit-ridge")
    assert {row["status"] for row in rows.values() if row["fig_index"] == 2} == {"scored"}
    lacking = [row for row in rows.values() if row["fig_index"] != 2]
    assert {(row["status"], row["failure"], row["overall"], row["VC"]) for row in lacking} == {("failed", "too_few_ratings", None, None)}  # fmt: skip


def test_each_mistake_is_named(tmp_path, rng, monkeypatch):
    figures, ratings = made(rng)
    source = directory(tmp_path / "s", figures, ratings)
    write(tmp_path / "j", "scores", [row | {"protocol": "calibrated"} for row in judged(figures, ratings)])
    bare = {"blur_laplacian_var": None, "has_readable_text": None, "text_box_count": None, "edge_density": None}
    unmeasured = directory(tmp_path / "u", [row | bare for row in figures], ratings)
    for words, arguments in (
        ("10 papers have kept figures with a human rating, 11 folds", (source, None, Choice(folds=11))),
        ("no ratings/ here", (directory(tmp_path / "n", figures), None, Choice())),
        ("no measured features", (unmeasured, None, Choice())),
        ("no run D2 in scores/; there are D1", (source, tmp_path / "j", Choice(runs=("D2",)))),
        ("no run D2 in scores/; there are none", (source, None, Choice(calibrate="D2"))),
        ("D1 was fitted to ratings itself", (source, tmp_path / "j", Choice(runs=("D1",)))),
    ):
        with pytest.raises(FatalError, match=words):
            fit(arguments[0], tmp_path / "o", *arguments[1:])
    monkeypatch.delattr(package, "regressor")
    monkeypatch.setitem(sys.modules, "sfq_ray.evaluate.regressor", None)
    with pytest.raises(FatalError, match=r"pip install 'sfq_ray\[fit\]'"):
        fit(source, tmp_path / "o")
    assert not (tmp_path / "o").exists()


# ---- what is written


def test_judges_are_features_and_the_same_bytes_come_again(fitted, tmp_path):
    source, out, _ = fitted
    for name in ("a", "b"):
        cards = fit(source, tmp_path / name, out.parent / "judged", Choice(runs=("D1",), folds=4))
    assert [card.run_id for card in cards] == ["fit-ridge(D1)", "fit-gbm(D1)"]
    assert {"D1 VC", "edge_density", "context_weight"} <= set(cards[0].features)
    assert "y_axis_max" not in cards[0].features
    names = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert len(names) == 6
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_the_card(fitted):
    _, out, cards = fitted
    found = json.loads((out / "fit/fit-gbm.json").read_text())
    assert (found["figures"], found["papers"], found["seed"]) == (50, 10, 0)
    assert found["folds"] == [{"papers": 2, "figures": 10}] * 5
    assert found["hyper_parameters"]["max_depth"] == 3
    assert found["errors"] == cards["fit-gbm"].errors
    assert found["versions"].keys() >= {"scikit-learn", "numpy"}
    first = max(found["importances"]["VC"].items(), key=lambda item: item[1])
    assert first[0] == "blur_laplacian_var"
    text = (out / "fit/fit-gbm.md").read_text()
    assert f"| VC | 50 | {found['errors']['VC']['mae']:.3f} |" in text
    assert "- VC: `blur_laplacian_var` +" in text
    assert "Features" in (out / "fit/D1+linear.md").read_text()


def test_the_command(fitted, tmp_path):
    source, out, _ = fitted
    judge = ["--scores", str(out.parent / "judged"), "--calibrate", "D1"]
    result = CliRunner().invoke(app, ["fit", str(source), "--out", str(tmp_path), *judge])
    assert result.exit_code == 0, result.output
    assert "D1+isotonic: 50 figures of 10 papers, 5 folds: 2 failed, 48 scored" in result.output
    result = CliRunner().invoke(app, ["fit", str(source), "--out", str(tmp_path), *judge, "--runs", "D1"])
    assert result.exit_code == 1
    assert "exclude each other" in result.stderr


def test_papers_that_share_a_figure_are_in_one_fold(tmp_path):
    """Else a second version of a paper, rated alike, would tell the model what it is asked."""
    said = "The loss of all models by training step, three seeds each"
    papers = [("a", None, said), ("b", "ff00", "Loss"), ("c", None, said.upper()), ("d", "ff00", said + "."),
              ("e", "00ff", said + "."), ("f", "0f0f", "Loss")]  # fmt: skip
    figures = [figure(name, 1, phash=phash, caption=caption) for name, phash, caption in papers]
    assert sharing(figures) == ["a", "b", "a", "b", "b", "f"]
    rated = [rating(1, "R", figure_id=row["figure_id"], paper_id=row["paper_id"]) for row in figures]
    source = directory(tmp_path, figures, rated)
    assert read_rated(source, 3).groups == ["a", "b", "a", "b", "b", "f"]
    with pytest.raises(FatalError, match=r"6 papers \(3 groups that share no figure\)"):
        read_rated(source, 4)
