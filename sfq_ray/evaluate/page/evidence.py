"""What the page shows of a figure beside its numbers: picture, caption, and reasons of raters and judges."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfq_ray.evaluate.gold import by_figure, rater_names
from sfq_ray.evaluate.ratings import Key, read_ratings
from sfq_ray.places import Place
from sfq_ray.report.images import picture
from sfq_ray.report.read import stream
from sfq_ray.rubric import DIMENSIONS
from sfq_ray.store import Store

Reasons = tuple[str | None, ...]  # in the order of DIMENSIONS
REASONS = tuple(f"{dimension}_reason" for dimension in DIMENSIONS)
SCORE_KEYS = ["run_id", "paper_id", "fig_index"]


@dataclass
class Evidence:
    """Of one figure of the gold; what the tables do not hold is None or absent."""

    address: str | None = None  # its figure_id in figures/, by which the report finds it
    caption: str | None = None
    thumbnail: bytes | None = None  # WebP
    raters: dict[str, Reasons] = field(default_factory=dict)
    judges: dict[str, Reasons] = field(default_factory=dict)  # by run_id


def read_evidence(out: Path, scores: Sequence[Place], wanted: Mapping[str, set[str]]) -> dict[str, Evidence]:
    """figures/ and ratings/ of `out` and scores/ of `scores`, of the figures `wanted` and, for each, of these runs."""
    found = {figure_id: Evidence() for figure_id in sorted(wanted)}
    _read_figures(out, found)
    for figure_id, rows in by_figure(read_ratings(out)).items():
        if figure_id in found:
            found[figure_id].raters = dict(zip(rater_names(rows), map(_reasons, rows), strict=True))
    for place in scores:
        for run_id, figure_id, reasons in _judges(place, wanted):
            found[figure_id].judges.setdefault(run_id, reasons)
    return found


def _read_figures(out: Path, found: Mapping[str, Evidence]) -> None:
    rows = stream(out, "figures", ["figure_id", "paper_id", "fig_index", "caption", "image"])
    with ThreadPoolExecutor() as pool:  # decoding and scaling run outside the interpreter lock
        waiting = []
        for row in rows:
            own = found.get(Key(row["paper_id"], row["fig_index"]).figure_id)
            if own is None or own.address is not None:
                continue
            own.address, own.caption = row["figure_id"], row["caption"]
            waiting.append((own, pool.submit(picture, row["image"])))
            if len(waiting) > 4 * (os.cpu_count() or 1):  # so few images in memory at a time
                _take(*waiting.pop(0))
        for own, drawn in waiting:
            _take(own, drawn)


def _take(own: Evidence, drawn: Any) -> None:
    shown = drawn.result()
    own.thumbnail = None if shown is None else shown.thumbnail


def _reasons(row: Mapping[str, Any]) -> Reasons:
    return tuple(row[reason] for reason in REASONS)


def _judges(place: Place, wanted: Mapping[str, set[str]]) -> Iterator[tuple[str, str, Reasons]]:
    """Only the wanted rows become objects."""
    store = Store(place)
    for part in store.parts("scores"):
        table = store.read("scores", part, [*SCORE_KEYS, *REASONS])
        keys = zip(*(table[name].to_pylist() for name in SCORE_KEYS), strict=True)
        places = [
            number for number, (run_id, paper, index) in enumerate(keys)
            if run_id in wanted.get(Key(paper, index).figure_id, ())
        ]  # fmt: skip
        for row in table.take(places).to_pylist() if places else ():
            key = Key(row["paper_id"], row["fig_index"])
            yield row["run_id"], key.figure_id, _reasons(row)
