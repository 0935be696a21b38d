"""DIR/evaluation/: the files of an evaluation, and what is needed to make every number in them again.

leaderboard.parquet .csv .md .tex    evaluation.json    and a CSV file for each of evaluate.sheets
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sfq_ray.errors import FatalError
from sfq_ray.evaluate.bootstrap import FEW_PAPERS
from sfq_ray.evaluate.evaluation import Evaluation
from sfq_ray.evaluate.latex import latex
from sfq_ray.evaluate.leaderboard import LEADERBOARD, leaderboard_rows
from sfq_ray.evaluate.markdown import markdown
from sfq_ray.evaluate.sheets import Sheet, sheets
from sfq_ray.places import Place
from sfq_ray.store import Store, write_parquet, write_text
from sfq_ray.tables import table_from_rows

FORMULA = ("=", "+", "-", "@", "\t", "\r")
LIBRARIES = ("sfq_ray", "numpy", "scipy", "krippendorff", "pyarrow")


def publish(evaluation: Evaluation, inputs: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Writes every file of the evaluation into `out` and returns its record. Raises FatalError.

    The same evaluation gives the same bytes.
    """
    made = record(evaluation, inputs)
    texts = {f"{name}.csv": csv_text(sheet) for name, sheet in sheets(evaluation).items()}
    texts["leaderboard.md"] = markdown(evaluation)
    texts["leaderboard.tex"] = latex(evaluation)
    texts["evaluation.json"] = json.dumps(made, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    for name, text in texts.items():
        write_text(out / name, text)
    write_parquet(table_from_rows(leaderboard_rows(evaluation), LEADERBOARD), out / "leaderboard.parquet")
    return made


def record(evaluation: Evaluation, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """evaluation.json: settings, versions, inputs, and the metrics of every judge with their counts."""
    return {
        "settings": {
            "draws": evaluation.draws, "seed": evaluation.seed, "level": evaluation.level,
            "reference": evaluation.reference, "wild_below_papers": FEW_PAPERS,
        },
        "versions": {name: version(name) for name in LIBRARIES},
        "inputs": dict(inputs),
        "gold": {
            "figures": len(evaluation.gold.figure_ids), "papers": len(set(evaluation.gold.papers.tolist())),
            "raters": len(evaluation.raters), "must_gate": evaluation.must_gate,
            "to_adjudicate": len(evaluation.adjudication),
        },
        "leaderboard": leaderboard_rows(evaluation),
        "contrasts": [asdict(contrast) for contrast in evaluation.contrasts],
        "ceiling": [asdict(metrics) for metrics in evaluation.ceiling],
        "reliability": {name: asdict(found) for name, found in evaluation.reliability.items()},
        "retests": [asdict(of_run) for of_run in evaluation.retests],
        "left_out": dict(evaluation.left_out),
    }  # fmt: skip


def inputs_of(
    out: Path, scores: Sequence[Place], split: Path | None, models: Path | None, prices: Path | None
) -> dict[str, Any]:
    """Fingerprints of what is read, without the places where it lies."""
    places = list(scores) or [out]
    return {
        "ratings": fingerprint(out, "ratings"),
        "figures": fingerprint(out, "figures"),
        "scores": [fingerprint(place, "scores") for place in places],
        "calls": [fingerprint(place, "calls") for place in places],
        "split": None if split is None else _sha256(split),
        "models": None if models is None else _sha256(models),
        "prices": None if prices is None else _sha256(prices),
    }


def fingerprint(place: Place, table: str) -> dict[str, Any]:
    """Number of a table's parts and a hash over their names and bytes."""
    store, digest = Store(place), hashlib.sha256()
    parts = store.parts(table)
    for part in parts:
        digest.update(f"{part} {_sha256(store.path(table, part))}\n".encode())
    return {"parts": len(parts), "sha256": digest.hexdigest()}


def csv_text(sheet: Sheet) -> str:
    """The sheet as CSV: floats as Python writes them, which is exact; None is an empty cell.

    A name that a spreadsheet would run as a formula has an apostrophe before it; leaderboard.parquet has it as it is.
    """
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([_no_formula(value) for value in row] for row in sheet)
    return buffer.getvalue()


def _no_formula(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _sha256(path: Place) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FatalError(f"{path}: cannot be read: {error}") from error
