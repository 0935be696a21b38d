"""scores/ and ratings/ joined by (paper_id, fig_index): the gold, and every run in the gold's order.

What does not join is counted under a name, never lost without a word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfq_ray.claims import differing
from sfq_ray.errors import FatalError
from sfq_ray.evaluate.agreement import Floats, Judged, nanmean
from sfq_ray.evaluate.gold import Rated, Row, adjudication, by_figure, humans, rated
from sfq_ray.evaluate.ratings import Key, figure_key, read_ratings, read_records
from sfq_ray.judge.matrix import repeat_of
from sfq_ray.places import Place
from sfq_ray.rubric import DIMENSIONS, SCORE_MAX, SCORE_MIN, figure_gates
from sfq_ray.store import Store

EXPECTED = tuple(f"{dimension}_expected" for dimension in DIMENSIONS)
CONFIGURATION = ("protocol", "backend", "model")
COLUMNS = [
    "run_id", "paper_id", "fig_index", *CONFIGURATION, "status", *DIMENSIONS, "overall", *EXPECTED, "request_ids",
]  # fmt: skip
NAMED = 5  # figures that an error names


@dataclass(frozen=True, eq=False)
class Run:
    """One run of scores/ in the gold's order."""

    judged: Judged
    backend: str
    expected: Judged | None  # its scores under the model's own probabilities; None where no figure has them
    request_ids: frozenset[str]  # calls that its scores of the gold's figures came from

    @property
    def run_id(self) -> str:
        return self.judged.run_id

    @property
    def configuration(self) -> tuple[str, str, str]:
        """Protocol, backend and model."""
        return self.judged.protocol, self.backend, self.judged.model


@dataclass(frozen=True, eq=False)
class Judgements:
    """All that an evaluation rests on."""

    rated: Rated  # every figure of the gold, n of them
    must_gate: NDArray[np.bool_]  # (n,) figures without caption and citing paragraph: no judge has a score there
    adjudication: tuple[Row, ...]  # see gold.adjudication
    runs: tuple[Run, ...]  # by id; repeats are runs of their own here
    left_out: Mapping[str, int]  # what did not join, by name


def read_judgements(out: Path, scores: Sequence[Place] = (), split: Path | None = None) -> Judgements:
    """ratings/ and figures/ of `out`, scores/ of `scores` (else of `out`), on the figures of the file `split`, if any.

    Raises FatalError where there are no ratings or scores, where a figure of the split has no gold, and where a run
    was made with several configurations.
    """
    counts = Counter[str]()
    ratings = read_ratings(out)
    everything = _gold(ratings, counts)
    chosen = everything if split is None else everything.only(_places(split, everything, counts))
    inside, known = set(chosen.figure_ids), set(everything.figures)
    must_gate = _must_gate(out, chosen.figures, counts)
    _refuse_mixed(scores or (out,))
    rows = (row for place in scores or (out,) for row in _score_rows(place))
    runs = align(rows, chosen.figures, must_gate, known, counts)
    gaps = tuple(row for row in adjudication(ratings) if row["figure_id"] in inside)
    return Judgements(chosen, must_gate, gaps, runs, {name: counts[name] for name in sorted(counts) if counts[name]})


def align(
    rows: Iterable[Row], figures: Sequence[Key], must_gate: NDArray[np.bool_], known: set[Key], counts: Counter[str]
) -> tuple[Run, ...]:
    """Rows of scores/ as runs over `figures`, by run id. Adds to `counts`; `known` are figures with gold anywhere.

    Raises FatalError where a run's rows have several protocols, backends or models.
    """
    places = {key: place for place, key in enumerate(figures)}
    by_run: dict[str, dict[int, Row]] = {}
    for row in rows:
        key = Key(row["paper_id"], row["fig_index"])
        own = by_run.setdefault(row["run_id"], {})
        place = places.get(key)
        if place is None:
            counts[f"scores of figures {'outside the split' if key in known else 'without gold'}"] += 1
        elif place in own:
            counts["scores of a run and figure that has one already (the first counts)"] += 1
        else:
            own[place] = row
    for run_id in [run_id for run_id, own in by_run.items() if not own]:
        counts[f"runs that judged no figure of the gold: {run_id}"] += 1
        del by_run[run_id]
    judged = {place for own in by_run.values() for place in own}
    counts["figures of the gold that no run judged"] += len(figures) - len(judged)
    return tuple(_run(run_id, own, must_gate, counts) for run_id, own in sorted(by_run.items(), key=_in_order))


def _in_order(item: tuple[str, Any]) -> tuple[str, int]:
    return repeat_of(item[0])


def _run(run_id: str, rows: Mapping[int, Row], must_gate: NDArray[np.bool_], counts: Counter[str]) -> Run:
    configurations = sorted({tuple(row[name] for name in CONFIGURATION) for row in rows.values()})
    if len(configurations) > 1:
        listed = "; ".join(" ".join(map(str, configuration)) for configuration in configurations)
        raise FatalError(f"run {run_id} has scores of several configurations ({listed}); give each a run id of its own")
    protocol, backend, model = configurations[0]
    n = len(must_gate)
    scores, expected, overall = np.full((n, 5), np.nan), np.full((n, 5), np.nan), np.full(n, np.nan)
    status = ["missing"] * n
    for place, row in rows.items():
        status[place] = row["status"]
        if row["status"] != "scored":
            continue
        if must_gate[place]:
            counts["scores of figures with neither caption nor citing paragraph (gated here)"] += 1
            status[place] = "gated"
            continue
        scores[place] = [np.nan if row[d] is None else row[d] for d in DIMENSIONS]
        expected[place] = [np.nan if row[name] is None else row[name] for name in EXPECTED]
        overall[place] = np.nan if row["overall"] is None else row["overall"]
    return Run(
        Judged(run_id, protocol, model, scores, overall, tuple(status)),
        backend,
        _expected(Judged(run_id, protocol, model, expected, overall, tuple(status)), on=~np.isnan(scores)),
        frozenset(key for row in rows.values() for key in row["request_ids"] or ()),
    )


def _expected(judged: Judged, on: NDArray[np.bool_]) -> Judged | None:
    """The expected scores of the figures that have one in every dimension that is on; the others are missing."""
    there = ~np.isnan(judged.scores)
    whole = np.asarray(on.any(axis=1) & (there >= on).all(axis=1))
    if not whole.any():
        return None
    scores: Floats = np.where(on & whole[:, None], judged.scores, np.nan)
    status = tuple(
        "missing" if said == "scored" and not complete else said
        for said, complete in zip(judged.status, whole.tolist(), strict=True)
    )
    return Judged(judged.run_id, judged.protocol, judged.model, scores, nanmean(scores, axis=1), status)


def _gold(ratings: Sequence[Row], counts: Counter[str]) -> Rated:
    """The figures with gold; ratings that are none are counted."""
    of_humans = humans(ratings)
    used = [row for own in by_figure(ratings).values() for row in own]
    with_score = sum(any(row[name] is not None for name in (*DIMENSIONS, "overall")) for row in of_humans)
    counts["ratings that no human gave"] += len(ratings) - len(of_humans)
    counts["ratings without any score"] += len(of_humans) - with_score
    counts["ratings that the same rater gave again (the latest counts)"] += with_score - len(used)
    counts["ratings without a rater's name"] += sum(row["rater"] is None for row in used)
    counts["ratings with a score outside 1..10 (used as they are; see sfq gold audit)"] += sum(
        any(row[d] is not None and not SCORE_MIN <= row[d] <= SCORE_MAX for d in DIMENSIONS) for row in used
    )
    found = rated(used)
    scored = np.flatnonzero(~np.isnan(found.ratings).all(axis=(1, 2)))
    counts["rated figures without a score of any dimension"] += len(found.figures) - len(scored)
    if not len(scored):
        raise FatalError("ratings/ holds no human rating with a score of a dimension, so there is no gold")
    return found.only(scored.tolist())


def _places(split: Path, gold: Rated, counts: Counter[str]) -> list[int]:
    """Where the figures of the split are in the gold."""
    places = {key: place for place, key in enumerate(gold.figures)}
    known, wanted = set(places), dict[Key, None]()
    for line, record in read_records(split):
        key = None if record is None else figure_key(record, known)
        if key is None:
            raise FatalError(f"{split}: line {line} names no figure; give paper_id and fig_index in every line")
        counts["lines of the split that name a figure again"] += key in wanted
        wanted[key] = None
    absent = [key.figure_id for key in wanted if key not in places]
    if absent or not wanted:
        named = ", ".join(absent[:NAMED]) + (" ..." if len(absent) > NAMED else "")
        raise FatalError(
            f"{split}: {len(absent):,} of its {len(wanted):,} figures have no human rating here ({named or 'none'}); "
            "import the dataset that it belongs to"
        )
    counts["figures with gold outside the split"] += len(places) - len(wanted)
    return sorted(places[key] for key in wanted)


def _must_gate(out: Path, figures: Sequence[Key], counts: Counter[str]) -> NDArray[np.bool_]:
    """By figures/, which also tells why a figure of the gold has no scores."""
    places = {key: place for place, key in enumerate(figures)}
    must, seen = np.zeros(len(figures), dtype=bool), set[int]()
    for row in Store(out).rows("figures", ["paper_id", "fig_index", "caption", "contexts", "dropped", "error"]):
        place = places.get(Key(row["paper_id"], row["fig_index"]))
        if place is None:
            continue
        seen.add(place)
        must[place] = not figure_gates(row)
        lost = row["error"] or row["dropped"]
        if lost is not None:
            counts[f"figures of the gold that cannot be judged: {lost}"] += 1
    counts["figures of the gold that are not in figures/"] += len(figures) - len(seen)
    counts["figures of the gold with neither caption nor citing paragraph"] += int(must.sum())
    return must


def _refuse_mixed(places: Iterable[Place]) -> None:
    """Raises FatalError where the run manifests say that a run of one id was made in different ways."""
    seen: dict[str, Mapping[str, Any]] = {}
    for place in places:
        for run_id, made in (Store(place).manifest() or {}).get("judge", {}).get("runs", {}).items():
            if changed := differing(seen.setdefault(run_id, made), made):
                raise FatalError(
                    f"run {run_id} was made in another way in {place} than in the directory before it "
                    f"({', '.join(changed)}); give it a run id of its own or leave one of them out"
                )


def _score_rows(place: Place) -> Iterator[dict[str, Any]]:
    store = Store(place)
    if not store.parts("scores"):
        raise FatalError(f"{place}: no scores/ here; run `sfq judge {place}` first, or name a directory with --scores")
    yield from store.rows("scores", COLUMNS)
