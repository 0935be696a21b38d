"""`sfq import`: the released dataset, or own annotation rows, into figures/ and ratings/, and a reconciliation of both.

DATASET/datasets/full/figures.jsonl, images/, human_means.csv, splits/*.jsonl  -> figures/, ratings/, splits/
own.jsonl or own.csv                                                           -> ratings/
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sfq_ray.errors import FatalError
from sfq_ray.evaluate.gold import gold
from sfq_ray.evaluate.ratings import Key, figure_key, rating_row, read_records
from sfq_ray.evaluate.released import figure_row, means, own_label
from sfq_ray.store import Store, write_text
from sfq_ray.tables import FIGURES, RATINGS, table_from_rows

ROWS_PER_PART = 64
TOLERANCE = 1e-3  # of means: they are written with four decimals and come from float32
EXAMPLES = 5
REPORT = "import.json"
SEPARATORS = {ord(char): f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"}

Report = dict[str, Any]


def import_ratings(source: Path, out: Path) -> Report:
    """A folder in the released layout, or a file of own annotations, into `out`; the report is kept in import.json.

    Importing the same source again replaces its rows. Raises FatalError where there is nothing to import.
    """
    report = import_dataset(source, out) if source.is_dir() else import_annotations(source, out)
    path = out / REPORT
    try:
        reports = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        reports[source.resolve().name] = report
    except (OSError, ValueError, TypeError) as error:
        raise FatalError(f"{path}: cannot be brought up to date ({error}); remove it and import again") from error
    write_text(path, json.dumps(reports, indent=1, sort_keys=True) + "\n")
    return report


# ---- the released dataset


def import_dataset(source: Path, out: Path) -> Report:
    """figures.jsonl and what lies around it into figures/, ratings/ and splits/ of `out`."""
    path = _figures_file(source)
    store = Store(out)
    if "extract" in (store.manifest() or {}):
        raise FatalError(f"{out}: holds figures that were extracted; choose another --out for an imported dataset")
    labels, issues = _labels(path), Counter[str]()
    if not labels:
        raise FatalError(f"{path}: no row names a figure; give figure_id, or paper_id and fig_index, in every row")
    store.prepare()
    for table in ("figures", "ratings"):
        store.remove(table, "part-*")
    stated: dict[Key, Mapping[str, float | None]] = {}
    figures: list[dict[str, Any]] = []
    ratings: list[dict[str, Any]] = []
    texts: list[dict[str, Any]] = []  # of the figures: what the reconciliation needs
    for line, key, record in _first_rows(path, issues):
        figure = figure_row(record, key, path.parent, labels[key.paper_id], issues)
        texts.append({name: figure.get(name) for name in ("figure_id", "venue", "year", "contexts", "error")})
        stated[key] = means(record)
        ratings.extend(_annotations(record, key, line, issues))
        figures.append(figure)
        if len(figures) == ROWS_PER_PART:
            _write(store, len(texts), figures)
            figures = []
    _write(store, len(texts), figures)
    sums = {"figures": hashlib.sha256(path.read_bytes()).hexdigest()}  # judging refuses to mix scores of others
    store.write_manifest((store.manifest() or {"format": 1}) | {"import": sums})
    store.write("ratings", "part-00000", table_from_rows(ratings, RATINGS))
    found = _reconciled(texts, ratings, issues)
    return found | compared_means(stated, ratings, path.parent / "human_means.csv") | _splits(path, out, set(stated))


def _figures_file(source: Path) -> Path:
    places = [source / "datasets" / "full", source / "full", source]
    found = next((place / "figures.jsonl" for place in places if (place / "figures.jsonl").is_file()), None)
    if found is None:
        raise FatalError(f"{source}: no datasets/full/figures.jsonl or figures.jsonl there; give the dataset's folder")
    return found


def _labels(path: Path) -> dict[str, set[str]]:
    """The figure labels of every paper."""
    labels: dict[str, set[str]] = {}
    for _, record in read_records(path):
        if record is not None and (key := figure_key(record)) is not None:
            labels.setdefault(key.paper_id, set()).add(own_label(record, key))
    return labels


def _named(
    path: Path, issues: Counter[str], known: frozenset[Key] | set[Key] = frozenset()
) -> Iterator[tuple[int, Key, dict[str, Any]]]:
    """The rows that name a figure; the others are counted."""
    for line, record in read_records(path):
        issues["rows read"] += 1
        key = None if record is None else figure_key(record, known)
        if record is None or key is None:
            issues["unreadable rows" if record is None else "rows that name no figure"] += 1
        else:
            yield line, key, record


def _first_rows(path: Path, issues: Counter[str]) -> Iterator[tuple[int, Key, dict[str, Any]]]:
    """The first row of every figure; the others are counted."""
    seen: set[Key] = set()
    for line, key, record in _named(path, issues):
        if key in seen:
            issues["duplicate figures"] += 1
        else:
            seen.add(key)
            yield line, key, record


def _annotations(record: Mapping[str, Any], key: Key, line: int, issues: Counter[str]) -> Iterator[dict[str, Any]]:
    annotations = record.get("annotations")
    for annotation in annotations if isinstance(annotations, list) else ():
        if isinstance(annotation, Mapping):
            yield rating_row(annotation, key, line, issues)
        else:
            issues["unreadable annotations"] += 1


def _write(store: Store, read: int, figures: list[dict[str, Any]]) -> None:
    if figures:
        store.write("figures", f"part-{(read - 1) // ROWS_PER_PART:05d}", table_from_rows(figures, FIGURES))


# ---- own annotations


def import_annotations(path: Path, out: Path) -> Report:
    """Rows of figure_id or (paper_id, fig_index), rater and the dimensions, into ratings/ of `out`."""
    store, issues = Store(out), Counter[str]()
    known = {Key(row["paper_id"], row["fig_index"]) for row in store.rows("figures", ["paper_id", "fig_index"])}
    rows = []
    for line, key, record in _named(path, issues, known):
        if key not in known:
            issues["rows of figures that are not in figures/"] += 1
        rows.append(rating_row(record, key, line, issues))
    if not rows:
        raise FatalError(f"{path}: no row names a figure; give figure_id, or paper_id and fig_index, in every row")
    store.prepare()
    store.write("ratings", f"file-{path.name}", table_from_rows(rows, RATINGS))
    return {"counts": dict(sorted(issues.items())), **_raters(rows)}


# ---- the reconciliation


def _reconciled(figures: list[dict[str, Any]], ratings: list[dict[str, Any]], issues: Counter[str]) -> Report:
    issues["figures kept"] = sum(row["error"] is None for row in figures)
    issues.update(f"figures with {row['error']}" for row in figures if row["error"])
    shards: dict[str, bool] = {}
    for row in figures:
        name = f"{row['venue']} {row['year']}"
        shards[name] = shards.get(name, False) or bool(row["contexts"])
    rated = {row["figure_id"] for row in ratings}
    unrated = sum(row["figure_id"] not in rated for row in figures)
    report = {"counts": dict(sorted(issues.items())), **_raters(ratings)}
    report["raters per figure"] = ({"0": unrated} if unrated else {}) | report["raters per figure"]
    return report | {"shards without citing paragraphs": sorted(name for name, some in shards.items() if not some)}


def _raters(ratings: list[dict[str, Any]]) -> Report:
    per_figure = Counter(Counter(row["figure_id"] for row in ratings).values())
    return {"ratings": len(ratings), "raters per figure": {str(n): per_figure[n] for n in sorted(per_figure)}}


def compared_means(
    stated: Mapping[Key, Mapping[str, float | None]], ratings: list[dict[str, Any]], csv: Path
) -> Report:
    """Means that differ: those of human_means.csv from the JSONL's, and those of the JSONL from its annotations'."""
    jsonl = {key.figure_id: values for key, values in stated.items()}
    report: Report = {
        "means that differ from those of the annotations": _differences(
            {r["figure_id"]: r for r in gold(ratings)}, jsonl
        )
    }
    if csv.is_file():
        rows = {
            key.figure_id: means(row) for _, row in read_records(csv) if row and (key := figure_key(row, set(stated)))
        }
        report["means in CSV that differ"] = _differences(jsonl, rows)
        report["figures in one of CSV and JSONL only"] = len(rows.keys() ^ jsonl.keys())
    return report


def _differences(here: Mapping[str, Mapping[str, Any]], there: Mapping[str, Mapping[str, Any]]) -> Report:
    found = [
        f"{figure_id} {name}: {here[figure_id][name]} or {value}"
        for figure_id in there if figure_id in here
        for name, value in there[figure_id].items() if _differ(here[figure_id][name], value)
    ]  # fmt: skip
    return {"count": len(found), "examples": found[:EXAMPLES]}


def _differ(a: float | None, b: float | None) -> bool:
    return (a is None) != (b is None) if a is None or b is None else abs(a - b) > TOLERANCE


def _splits(path: Path, out: Path, known: set[Key]) -> Report:
    """The dataset's splits under our figure ids, in splits/ of `out`; rows without a figure are counted."""
    report: Report = {}
    places = (path.parent, path.parent.parent)
    for split in sorted(found for place in places for found in place.glob("splits/*.jsonl")):
        members, rows = split_members(split, known)
        write_jsonl(out / "splits" / split.name, members)
        report[split.stem] = {"rows": rows, "found": len(members)}
    return {"splits": report}


def split_members(path: Path, known: set[Key]) -> tuple[list[dict[str, Any]], int]:
    """Rows of a split whose figure is `known`, under our figure ids, and how many rows it has."""
    records = [record for _, record in read_records(path) if record is not None]
    keyed = [(figure_key(record, known), record) for record in records]
    return [split_row(key, record) for key, record in keyed if key is not None and key in known], len(records)


def split_row(key: Key, record: Mapping[str, Any]) -> dict[str, Any]:
    """One figure of a split: splits/*.jsonl."""
    return {
        "figure_id": key.figure_id, "paper_id": key.paper_id, "fig_index": key.fig_index,
        "venue": record.get("venue"), "year": record.get("year"),
    }  # fmt: skip


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    """One JSON object a line, also for readers that break lines at every separator of Unicode. Raises FatalError."""
    write_text(path, "".join(json.dumps(row, ensure_ascii=False).translate(SEPARATORS) + "\n" for row in rows))


def report_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """The report as lines of text."""
    for name, value in report.items():
        if name == "counts":
            yield from (f"{count:>8,}  {what}" for what, count in value.items())
        else:
            yield f"{name}: {value if isinstance(value, str | int) else json.dumps(value, ensure_ascii=False)}"
