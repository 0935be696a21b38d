"""The card of a fitted run: what it was fitted to and how well that went, as JSON and for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sfq_ray.evaluate.escaping import escaped
from sfq_ray.rubric import DIMENSIONS
from sfq_ray.store import write_text

LIBRARIES = ("scikit-learn", "scipy", "numpy", "sfq_ray")
SHOWN = 15  # features of each dimension, the most important first
BEFORE = {"regressor": "the training papers' mean", "calibrated": "the judge itself"}


@dataclass(frozen=True)
class Card:
    """One fitted run. `errors`: by dimension and overall {n, mae, before}; `importances`: by dimension and feature."""

    run_id: str
    protocol: str
    model: str
    says: str
    hyper_parameters: Mapping[str, Any]
    seed: int
    features: Sequence[str]
    figures: int
    papers: int
    groups: int  # of papers that share a figure
    folds: Sequence[Mapping[str, int]]
    statuses: Mapping[str, int]
    rated_without_figure: int
    errors: Mapping[str, Mapping[str, float | int | None]]
    importances: Mapping[str, Mapping[str, float]]

    @property
    def compared_with(self) -> str:
        """What `before` in the errors is."""
        return BEFORE[self.protocol]


def write_card(out: Path, card: Card) -> None:
    """fit/<run_id>.json and .md below `out`. Raises FatalError."""
    versions = {name: version(name) for name in LIBRARIES}
    found = {**asdict(card), "compared_with": card.compared_with, "versions": versions}
    found["importances"] = {of: {name: _known(x) for name, x in by.items()} for of, by in card.importances.items()}
    text = json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_text(out / "fit" / f"{card.run_id}.json", text)
    write_text(out / "fit" / f"{card.run_id}.md", "\n".join(card_lines(card, versions)) + "\n")


def card_lines(card: Card, versions: Mapping[str, str]) -> Iterator[str]:
    """The card in Markdown."""
    sizes = ", ".join(f"{fold['papers']:,} papers with {fold['figures']:,} figures" for fold in card.folds)
    yield from (
        f"# {escaped(card.run_id)}", "",
        f"{card.says[0].upper()}{card.says[1:]}, one model for each dimension and fold. Every score comes from a model "
        "that saw no figure of its paper, nor of a paper that shares one with it. The run has seen human ratings of "
        "the same set, as no judge has: it must not be ranked among judges.", "",
        f"- fitted to {card.figures:,} rated figures of {card.papers:,} papers, {card.groups:,} groups of these that "
        f"share no figure; folds: {sizes}",
        f"- rows: {', '.join(f'{count:,} {status}' for status, count in card.statuses.items())}",
        f"- rated figures that are not kept in figures/: {card.rated_without_figure:,}",
        f"- hyper-parameters, fixed beforehand: {_listed(card.hyper_parameters)}; seed {card.seed}",
        f"- versions: {_listed(versions)}",
        "", "## Error out of fold", "",
        f"Mean absolute error in points, and that of {card.compared_with} on the same figures.", "",
        f"| | n | MAE | {card.compared_with} |", "|---|---:|---:|---:|",
    )  # fmt: skip
    for name, error in card.errors.items():
        yield f"| {name} | {error['n']:,} | {_points(error['mae'])} | {_points(error['before'])} |"
    yield from ("", "## Features", "", ", ".join(f"`{name}`" for name in card.features) + ".")
    if card.importances:
        yield from (
            "",
            f"By how many points the error out of fold grows when a feature is shuffled, the first {SHOWN}:",
            "",
        )
        yield from _importances(card)


def _importances(card: Card) -> Iterator[str]:
    for dimension in DIMENSIONS:
        known = {name: found for name, x in card.importances[dimension].items() if (found := _known(x)) is not None}
        first = sorted(known, key=lambda name: (-known[name], name))[:SHOWN]
        yield f"- {dimension}: " + (", ".join(f"`{name}` {known[name]:+.3f}" for name in first) or "not measured")


def _known(value: float) -> float | None:
    return None if value != value else value


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items()) or "none"


def _points(value: float | int | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"
