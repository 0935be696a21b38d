"""What `sfq fit` learns from: rated figures, their features, and the scores of judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfq_ray.errors import FatalError
from sfq_ray.evaluate.agreement import Floats
from sfq_ray.evaluate.gold import Row, gold
from sfq_ray.evaluate.ratings import number, read_ratings
from sfq_ray.evaluate.released import FEATURES
from sfq_ray.places import Place
from sfq_ray.rubric import DIMENSIONS, figure_gates
from sfq_ray.store import Store
from sfq_ray.tables import FITTED, figure_state

MEASURED = tuple(name for name, kind in FEATURES.items() if not pa.types.is_string(kind))
TEXTS = ("caption_chars", "context_count", "context_weight")
SAME_CAPTION = 40  # shorter ones ("Training loss") meet by chance
KEYS = ("figure_id", "paper_id", "fig_index", "venue", "year")


@dataclass(frozen=True, eq=False)
class Rated:
    """Kept figures with human gold, by paper and index; all arrays are in their order."""

    figures: list[Row]  # of figures/
    papers: list[str]  # (n,)
    groups: list[str]  # (n,) see `sharing`
    gold: Floats  # (n, 5), NaN without a rating
    overall: Floats  # (n,)
    on: NDArray[np.bool_]  # (n, 5) the figures' own gates
    without_figure: int  # rated figures that are not kept in figures/


def read_rated(source: Path, folds: int) -> Rated:
    """The figures that can be learned from. Raises FatalError where they are of fewer papers than `folds`."""
    scores = {row["figure_id"]: row for row in gold(read_ratings(source))}
    columns = [*KEYS, "caption", "contexts", "phash", "dropped", "error", *MEASURED]
    found: dict[str, Row] = {
        row["figure_id"]: row for row in Store(source).rows("figures", columns)
        if row["figure_id"] in scores and figure_state(row) == "kept"
    }  # fmt: skip
    figures = sorted(found.values(), key=lambda row: (row["paper_id"], row["fig_index"]))
    papers = [row["paper_id"] for row in figures]
    groups = sharing(figures)
    if len(set(groups)) < folds:
        joined = f" ({len(set(groups))} groups that share no figure)" if len(set(groups)) < len(set(papers)) else ""
        raise FatalError(
            f"{source}: {len(set(papers))} papers{joined} have kept figures with a human rating, {folds} folds need as "
            "many; import more ratings or give fewer --folds"
        )
    own = [scores[row["figure_id"]] for row in figures]
    on = [figure_gates(row) for row in figures]
    return Rated(
        figures, papers, groups, points(own), np.array([row["overall"] for row in own], dtype=np.float64),
        np.array([[dimension in each for dimension in DIMENSIONS] for each in on]), len(scores) - len(figures),
    )  # fmt: skip


def sharing(figures: Sequence[Row]) -> list[str]:
    """(n,) the group of each figure's paper, by the name of its first paper.

    Versions of one paper are rated alike: papers are in one group where figures of theirs have the same perceptual hash
    or the same caption of at least SAME_CAPTION characters, directly or over other papers.
    """
    group = {row["paper_id"]: row["paper_id"] for row in figures}
    first: dict[tuple[str, str], str] = {}
    for row in figures:
        caption = " ".join((row["caption"] or "").casefold().split())
        marks = [("caption", caption)] if len(caption) >= SAME_CAPTION else []
        marks += [("phash", row["phash"])] if row["phash"] is not None else []
        for mark in marks:
            one, other = sorted((group[row["paper_id"]], group[first.setdefault(mark, row["paper_id"])]))
            if one != other:
                group = {paper: one if of == other else of for paper, of in group.items()}
    return [group[row["paper_id"]] for row in figures]


def read_judges(place: Place, wanted: Sequence[str]) -> dict[str, dict[str, Row]]:
    """Rows of scores/ by run and figure. Raises FatalError for a run that is not there or was itself fitted."""
    columns = ["run_id", "figure_id", "protocol", "model", "status", "failure", "message", *DIMENSIONS]
    judges: dict[str, dict[str, Row]] = {}
    known = dict[str, str]()
    for row in Store(place).rows("scores", columns):
        known[row["run_id"]] = row["protocol"]
        if row["run_id"] in wanted:
            judges.setdefault(row["run_id"], {}).setdefault(row["figure_id"], row)
    for run_id in wanted:
        if run_id not in known:
            raise FatalError(f"{place}: no run {run_id} in scores/; there are {', '.join(sorted(known)) or 'none'}")
        if known[run_id] in FITTED:
            raise FatalError(f"{run_id} was fitted to ratings itself and would leak them; give a judge's run")
    return judges


def points(rows: Iterable[Row | None]) -> Floats:
    """(n, 5) the dimensions of rows that have them, NaN for none."""
    given = [[np.nan if row is None or row[d] is None else row[d] for d in DIMENSIONS] for row in rows]
    return np.array(given, dtype=np.float64).reshape(-1, len(DIMENSIONS))


def features(figures: Sequence[Row], judges: Mapping[str, Mapping[str, Row]]) -> tuple[list[str], Floats]:
    """Names and values (n, p), NaN for what was not measured. Columns that no figure has are left out.

    Raises FatalError where no figure was measured and there is no judge.
    """
    columns: dict[str, list[float | None]] = {}
    for name in MEASURED:
        columns[name] = [None if row[name] is None else number(float(row[name])) for row in figures]
    if not judges and not any(value is not None for column in columns.values() for value in column):
        raise FatalError(
            "figures/ has no measured features (an imported dataset brings none unless it states them); "
            "give judges with --scores and --runs"
        )
    texts = [_of_texts(row) for row in figures]
    columns |= {name: [values[place] for values in texts] for place, name in enumerate(TEXTS)}
    for run_id, rows in judges.items():
        scores = points(rows.get(row["figure_id"]) for row in figures)
        columns |= {f"{run_id} {d}": list(scores[:, place]) for place, d in enumerate(DIMENSIONS)}
    values = {name: np.array(column, dtype=np.float64) for name, column in columns.items()}
    names = [name for name, column in values.items() if not np.isnan(column).all()]
    return names, np.stack([values[name] for name in names], axis=1)


def _of_texts(row: Row) -> tuple[float, float, float | None]:
    """The values of TEXTS."""
    contexts = row["contexts"] or []
    weights = [context["weight"] for context in contexts if context["weight"] is not None]
    return float(len(row["caption"] or "")), float(len(contexts)), max(weights, default=None)
