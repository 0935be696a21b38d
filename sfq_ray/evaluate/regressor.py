"""Regressors of dimension scores, with whole papers as folds. The only module that imports scikit-learn.

Nothing here is tuned: the hyper-parameters are fixed, so no choice has seen the papers that it is measured on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sfq_ray.evaluate.agreement import Floats
from sfq_ray.rubric import SCORE_MAX, SCORE_MIN

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]

MIN_FIGURES = 10  # with a score, in the papers that a model is fitted to
DECIMALS = 6  # of predictions: what the linear algebra of two machines agrees on, far below what a rater can tell
SHUFFLES = 5  # of each feature, for its importance

RIDGE: Mapping[str, Any] = {"alpha": 100.0}
GBM: Mapping[str, Any] = {"n_estimators": 150, "learning_rate": 0.05, "max_depth": 3, "min_samples_leaf": 10}
ISOTONIC: Mapping[str, Any] = {"y_min": SCORE_MIN, "y_max": SCORE_MAX, "out_of_bounds": "clip"}


@dataclass(frozen=True)
class Learner:
    """A kind of model: `make(seed)` gives a new one, unfitted; `parameters` are all that differ from the defaults."""

    make: Callable[[int], Any]
    parameters: Mapping[str, Any]
    says: str


def _imputer() -> SimpleImputer:
    return SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)


REGRESSORS: dict[str, Learner] = {
    "ridge": Learner(
        lambda seed: make_pipeline(_imputer(), StandardScaler(), Ridge(**RIDGE)),
        RIDGE,
        "medians for missing values and a mark that they were missing, standardised, ridge regression",
    ),
    "gbm": Learner(
        lambda seed: make_pipeline(_imputer(), GradientBoostingRegressor(**GBM, random_state=seed)),
        GBM,
        "medians for missing values and a mark that they were missing, gradient boosting of regression trees",
    ),
}
CALIBRATIONS: dict[str, Learner] = {
    "isotonic": Learner(
        lambda seed: IsotonicRegression(**ISOTONIC), ISOTONIC, "isotonic regression of the ratings on the judge's score"
    ),
    "linear": Learner(lambda seed: LinearRegression(), {}, "least squares line of the ratings on the judge's score"),
}


def folds(papers: Sequence[str], count: int) -> list[Fold]:
    """(train, test) row numbers; all figures of a paper are in one test set. The same papers give the same folds."""
    return list(GroupKFold(count).split(np.zeros((len(papers), 1)), groups=np.asarray(papers)))


def out_of_fold(
    x: Floats, y: Floats, on: NDArray[np.bool_], splits: Sequence[Fold], learner: Learner, seed: int
) -> tuple[Floats, Floats]:
    """Predictions (n,), and by how much the MAE grows when a feature is shuffled (p,), points.

    `x` (n, p) with NaN for what is missing, `y` (n,) with NaN for no rating. A row is predicted where it is `on`, by a
    model fitted to the rated rows of other folds alone, medians and scales included; NaN where these are fewer than
    MIN_FIGURES. Predictions are clipped to 1..10. The importance is the mean over the rated rows predicted, NaN
    without any.
    """
    predicted, importances, weights = np.full(len(y), np.nan), np.zeros(x.shape[1]), 0
    for train, test in splits:
        known, asked = train[on[train] & ~np.isnan(y[train])], test[on[test]]
        if len(known) < MIN_FIGURES or not len(asked):
            continue
        model = learner.make(seed).fit(x[known], y[known])
        predicted[asked] = np.clip(model.predict(x[asked]), SCORE_MIN, SCORE_MAX).round(DECIMALS)
        rated = asked[~np.isnan(y[asked])]
        if x.shape[1] > 1 and len(rated) > 1:
            importances += len(rated) * _importances(model, x[rated], y[rated], seed)
            weights += len(rated)
    return predicted, (importances / weights if weights else np.full(x.shape[1], np.nan)).round(DECIMALS)


def train_means(y: Floats, on: NDArray[np.bool_], splits: Sequence[Fold]) -> Floats:
    """(n,) what every model has to beat: the mean of the rated rows of the other folds, where the row is `on`."""
    means = np.full(len(y), np.nan)
    for train, test in splits:
        known = train[on[train] & ~np.isnan(y[train])]
        if len(known) >= MIN_FIGURES:
            means[test[on[test]]] = y[known].mean()
    return means


def _importances(model: Any, x: Floats, y: Floats, seed: int) -> Floats:
    found = permutation_importance(
        model, x, y, scoring="neg_mean_absolute_error", n_repeats=SHUFFLES, random_state=seed
    )
    return np.asarray(found.importances_mean, dtype=np.float64)
