"""`sfq fit`: what features (and judges) can tell of human ratings, as runs of their own, predicted out of fold.

    OUT/scores/fit-ridge.part-00000.parquet   one row per rated figure; as any run for `sfq evaluate --scores OUT`
    OUT/fit/fit-ridge.json  fit-ridge.md      the model card

A figure's scores come from a model that saw no figure of its paper, nor of a paper that shares a figure with it.
Nothing else is ever written: there is no row for a figure without a rating, and no model of all papers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from sfq_ray.errors import FatalError
from sfq_ray.evaluate.agreement import Floats, nanmean
from sfq_ray.evaluate.fit_card import Card, write_card
from sfq_ray.evaluate.fit_data import KEYS, Rated, features, points, read_judges, read_rated
from sfq_ray.evaluate.gold import Row
from sfq_ray.places import Place
from sfq_ray.rubric import DIMENSIONS, overall
from sfq_ray.store import Store
from sfq_ray.tables import SCORES, table_from_rows


@dataclass(frozen=True)
class Choice:
    """What is fitted: `runs` are judges whose scores are features too; `calibrate` is the one judge to calibrate."""

    runs: tuple[str, ...] = ()
    calibrate: str | None = None
    folds: int = 5
    seed: int = 0


def fit(source: Path, out: Path, scores: Place | None = None, choice: Choice = Choice()) -> list[Card]:
    """Fits to the ratings of `source`, with judges from scores/ of `scores` (default: `source`), and writes into `out`.

    Raises FatalError where there are no ratings, no features or no such run, or fewer papers than folds.
    """
    _learners()  # says at once that scikit-learn is missing
    rated = read_rated(source, choice.folds)
    wanted = (choice.calibrate,) if choice.calibrate else choice.runs
    judges = read_judges(scores or source, wanted) if wanted else {}
    if choice.calibrate:
        cards = _calibrate(rated, choice, judges[choice.calibrate], out)
    else:
        cards = _regress(rated, choice, judges, out)
    for card in cards:
        write_card(out, card)
    return cards


def _learners() -> ModuleType:
    """The module with the models. Raises FatalError that says how to install what it needs."""
    try:
        from sfq_ray.evaluate import regressor
    except ImportError as error:
        raise FatalError("scikit-learn is not installed; run: pip install 'sfq_ray[fit]'") from error
    return regressor


# ---- what is fitted


def _regress(rated: Rated, choice: Choice, judges: Mapping[str, Mapping[str, Row]], out: Path) -> list[Card]:
    learn = _learners()
    names, x = features(rated.figures, judges)
    splits = learn.folds(rated.groups, choice.folds)
    before = np.stack(
        [learn.train_means(rated.gold[:, place], rated.on[:, place], splits) for place in range(len(DIMENSIONS))],
        axis=1,
    )
    cards = []
    for name, learner in learn.REGRESSORS.items():
        run_id = f"fit-{name}" + (f"({','.join(judges)})" if judges else "")
        found, importances = np.full_like(rated.gold, np.nan), {}
        for place, dimension in enumerate(DIMENSIONS):
            found[:, place], weights = learn.out_of_fold(
                x, rated.gold[:, place], rated.on[:, place], splits, learner, choice.seed
            )
            importances[dimension.value] = dict(zip(names, weights.tolist(), strict=True))
        about = {"run_id": run_id, "protocol": "regressor", "backend": "scikit-learn", "model": name}
        lacks = np.any(rated.on & np.isnan(found), axis=1)
        why = f"fewer than {learn.MIN_FIGURES} rated figures in the other papers for a dimension that is on"
        states = [
            {"status": "failed", "failure": "too_few_ratings", "message": why} if lack
            else {"status": "scored"} if on.any() else {"status": "gated"}
            for lack, on in zip(lacks.tolist(), rated.on, strict=True)
        ]  # fmt: skip
        fitted = Fitted(about, found, states, learner, before, names, importances)
        cards.append(_finished(out, rated, choice, splits, fitted))
    return cards


def _calibrate(rated: Rated, choice: Choice, judge: Mapping[str, Row], out: Path) -> list[Card]:
    learn = _learners()
    splits = learn.folds(rated.groups, choice.folds)
    own = [judge.get(row["figure_id"]) for row in rated.figures]
    given = np.where(rated.on, points(own), np.nan)
    cards = []
    for name, learner in learn.CALIBRATIONS.items():
        run_id = f"{choice.calibrate}+{name}"
        found = np.full_like(given, np.nan)
        for place in range(len(DIMENSIONS)):
            x = given[:, place, None]
            found[:, place], _ = learn.out_of_fold(
                x, rated.gold[:, place], ~np.isnan(given[:, place]), splits, learner, choice.seed
            )
        model = next(iter(judge.values()))["model"]
        about = {"run_id": run_id, "protocol": "calibrated", "backend": "scikit-learn", "model": f"{model}, {name}"}
        lacks = np.any(np.isnan(found) & ~np.isnan(given), axis=1)
        states = [_state(row, lack, learn.MIN_FIGURES) for row, lack in zip(own, lacks.tolist(), strict=True)]
        names = [f"{choice.calibrate}, the same dimension"]
        cards.append(_finished(out, rated, choice, splits, Fitted(about, found, states, learner, given, names, {})))
    return cards


def _state(judged: Row | None, lacks: bool, least: int) -> dict[str, Any]:
    """Status of a calibrated score: the judge's own, unless there was nothing to calibrate it by."""
    if judged is None:
        return {"status": "failed", "failure": "not_judged", "message": "the judge has no row for this figure"}
    if judged["status"] == "scored" and lacks:
        why = f"the judge scored fewer than {least} rated figures of the other papers in a dimension"
        return {"status": "failed", "failure": "too_few_ratings", "message": why}
    return {name: judged[name] for name in ("status", "failure", "message")}


# ---- what is written


@dataclass(frozen=True, eq=False)
class Fitted:
    """One run, out of fold."""

    about: Row  # its columns of scores/
    found: Floats  # (n, 5)
    states: Sequence[Row]  # of the figures
    learner: Any
    before: Floats  # (n, 5) what the predictions are compared with
    features: Sequence[str]
    importances: Mapping[str, Mapping[str, float]]


def _finished(out: Path, rated: Rated, choice: Choice, splits: Sequence[Any], fitted: Fitted) -> Card:
    """Writes the rows of one run and returns its card."""
    about, learner = fitted.about, fitted.learner
    scored = np.array([state["status"] == "scored" for state in fitted.states])
    found = np.where(scored[:, None], fitted.found, np.nan)
    rows = [
        score_row(figure, scores, {**about, **state})
        for figure, scores, state in zip(rated.figures, found, fitted.states, strict=True)
    ]
    store = Store(out)
    store.prepare()
    store.write("scores", f"{about['run_id']}.part-00000", table_from_rows(rows, SCORES))
    return Card(
        run_id=about["run_id"], protocol=about["protocol"], model=about["model"], says=learner.says,
        hyper_parameters=dict(learner.parameters), seed=choice.seed, features=list(fitted.features),
        figures=len(rated.figures), papers=len(set(rated.papers)), groups=len(set(rated.groups)),
        folds=[{"papers": len({rated.papers[row] for row in test}), "figures": len(test)} for _, test in splits],
        statuses=dict(sorted(Counter(state["status"] for state in fitted.states).items())),
        rated_without_figure=rated.without_figure, errors=errors(rated, found, fitted.before),
        importances=fitted.importances,
    )  # fmt: skip


def score_row(figure: Row, scores: Floats, about: Row) -> dict[str, Any]:
    """A row of scores/; the scores are real numbers, as an error of a rounded one would not be the model's."""
    values = {d: None if np.isnan(score) else float(score) for d, score in zip(DIMENSIONS, scores, strict=True)}
    owner = {f"{d}_owner": None if value is None else about["protocol"] for d, value in values.items()}
    row = {name: figure[name] for name in KEYS} | {d.value: value for d, value in values.items()} | owner
    return {**row, **about, "overall": overall(values), "caps": [], "request_ids": []}


def errors(rated: Rated, found: Floats, before: Floats) -> dict[str, dict[str, float | int | None]]:
    """By dimension and overall: the figures that have a rating, a prediction and a `before`, and the MAE of both."""
    measures = {
        d.value: (rated.gold[:, place], found[:, place], before[:, place]) for place, d in enumerate(DIMENSIONS)
    }
    measures["overall"] = (
        rated.overall,
        nanmean(found, axis=1),
        nanmean(np.where(np.isnan(found), np.nan, before), axis=1),
    )
    table: dict[str, dict[str, float | int | None]] = {}
    for name, (truth, ours, others) in measures.items():
        there = ~np.isnan(truth + ours + others)
        mae, base = (float(np.abs(side - truth)[there].mean()) if there.any() else None for side in (ours, others))
        table[name] = {"n": int(there.sum()), "mae": mae, "before": base}
    return table


def fit_lines(cards: Iterable[Card]) -> Iterator[str]:
    """Errors of every run as lines of text."""
    for card in cards:
        states = ", ".join(f"{count:,} {status}" for status, count in card.statuses.items())
        yield f"{card.run_id}: {card.figures:,} figures of {card.papers:,} papers, {len(card.folds)} folds: {states}"
        yield f"  {'out of fold':12}{'n':>7}{'MAE':>8}  {card.compared_with}"
        for name, error in card.errors.items():
            mae, before = (" " * 5 + "n/a" if error[key] is None else f"{error[key]:8.3f}" for key in ("mae", "before"))
            yield f"  {name:12}{error['n']:7,}{mae}{before}"
