"""What the report counts: outcomes that add up, the funnel, the distributions and whether the tables agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import fmean, median
from typing import Any

from sfq_ray.report.read import Row, Tables
from sfq_ray.rubric import DIMENSIONS, SCORE_MAX, SCORE_MIN, Dimension, figure_gates
from sfq_ray.tables import figure_state

STATES = ("kept", "dropped", "failed")
STATUSES = ("scored", "gated", "failed")
MEASURES = (*DIMENSIONS, "overall")


def drop_rule(row: Row) -> str:
    """stage:rule of a dropped figure."""
    stage = row["dropped_stage"]
    return f"{stage}:{row['dropped']}" if stage else str(row["dropped"])


def summary(tables: Tables) -> dict[str, Any]:
    """Totals, funnel, runs and checks. Everything that came from a paper stands in a value, never in a key."""
    states = Counter(figure_state(figure) for figure in tables.figures)
    outcomes = Counter(paper["outcome"] for paper in tables.papers)
    kept = [figure for figure in tables.figures if figure_state(figure) == "kept"]
    dropped = (figure for figure in tables.figures if figure_state(figure) == "dropped")
    kept_ids = {figure["figure_id"] for figure in kept}
    return {
        "papers": _outcomes(outcomes),
        "figures": _outcomes(states),
        "paperDrops": _counted(paper["dropped"] for paper in tables.papers if paper["outcome"] == "dropped"),
        "drops": _counted(drop_rule(figure) for figure in dropped),
        "flags": _counted(flag for figure in tables.figures for flag in set(figure["flags"] or [])),
        "evidence": _evidence(kept),
        "runs": [run_summary(run_id, rows, kept_ids) for run_id, rows in tables.scores.items()],
        "checks": checks(tables, states),
    }


def run_summary(run_id: str, rows: Mapping[str, Row], kept_ids: set[str]) -> dict[str, Any]:
    """One run: rows by status, kept figures without a row, failure classes, and the distribution of each measure."""
    first = next(iter(rows.values()))
    statuses = Counter(row["status"] for row in rows.values())
    return {
        "id": run_id,
        "protocol": first["protocol"],
        "backend": first["backend"],
        "model": first["model"],
        "rows": len(rows),
        **{status: statuses[status] for status in STATUSES},
        "missing": len(kept_ids - rows.keys()),
        "failures": _counted(row["failure"] or "unnamed" for row in rows.values() if row["status"] == "failed"),
        "measures": [distribution([row[measure] for row in rows.values()]) for measure in MEASURES],
    }


def distribution(values: list[float | None]) -> dict[str, Any]:
    """n, nulls, mean, median and the counts of the scores 1..10. An overall counts for the nearest score, half up.

    A null is counted as a null: it is in neither the counts nor the mean.
    """
    present = [value for value in values if value is not None]
    bins = [0] * (SCORE_MAX - SCORE_MIN + 1)
    for value in present:
        bins[min(max(int(value + 0.5), SCORE_MIN), SCORE_MAX) - SCORE_MIN] += 1
    return {
        "n": len(present),
        "nulls": len(values) - len(present),
        "mean": fmean(present) if present else None,
        "median": median(present) if present else None,
        "bins": bins,
    }


def checks(tables: Tables, states: Counter[str]) -> list[dict[str, Any]]:
    """Whether the tables agree with each other; each check says what was expected and what was found."""
    papers, figures = tables.papers, tables.figures
    result = []
    for column, found, what in (
        ("figures_found", len(figures), "figures found"),
        ("figures_kept", states["kept"], "figures kept"),
        ("figures_failed", states["failed"], "figures failed"),
    ):
        if papers:
            expected = sum(paper[column] or 0 for paper in papers)
            result.append(_check(f"{what}: papers/ counts as many as figures/ holds", expected, found))
    paper_ids = {paper["paper_id"] for paper in papers}
    figure_ids = {figure["figure_id"] for figure in figures}
    if papers:
        orphans = sum(figure["paper_id"] not in paper_ids for figure in figures)
        result.append(_check("figures whose paper is not in papers/", 0, orphans))
    strange = sum(paper["outcome"] not in STATES for paper in papers)
    result.append(_check("papers that are neither kept, dropped nor failed", 0, strange))
    for table, count in tables.repeated.items():
        result.append(_check(f"rows of {table}/ that repeat a key (left out here)", 0, count))
    for run_id, rows in tables.scores.items():
        result.append(_check(f"{run_id}: scores whose figure is not in figures/", 0, len(rows.keys() - figure_ids)))
        odd = sum(row["status"] not in STATUSES for row in rows.values())
        result.append(_check(f"{run_id}: scores that are neither scored, gated nor failed", 0, odd))
    return result


def failures(tables: Tables) -> list[dict[str, Any]]:
    """Failed papers, figures and scores, grouped by class; items are [number, message].

    The number is that of the paper or figure; a score of an unknown figure has the figure's id in its place.
    """
    groups: dict[tuple[str, str, str], list[list[Any]]] = {}
    for number, paper in enumerate(tables.papers):
        if paper["outcome"] == "failed":
            groups.setdefault(("paper", "", paper["error"] or "unnamed"), []).append([number, paper["message"]])
    for number, figure in enumerate(tables.figures):
        if figure_state(figure) == "failed":
            groups.setdefault(("figure", "", figure["error"]), []).append([number, figure["message"]])
    numbers = {figure["figure_id"]: number for number, figure in enumerate(tables.figures)}
    for run_id, rows in tables.scores.items():
        for figure_id, row in rows.items():
            if row["status"] == "failed":
                item = [numbers.get(figure_id, figure_id), row["message"]]
                groups.setdefault(("score", run_id, row["failure"] or "unnamed"), []).append(item)
    order = ("paper", "figure", "score")
    in_order = sorted(groups.items(), key=lambda group: (order.index(group[0][0]), *group[0][1:]))
    return [{"of": of, "run": run, "class": kind, "items": items} for (of, run, kind), items in in_order]


def _outcomes(counts: Counter[str]) -> dict[str, int]:
    return {"found": counts.total(), **{state: counts[state] for state in STATES}}


def _evidence(kept: list[Row]) -> dict[str, int]:
    """Kept figures by the evidence that gates them."""
    counts = {"both": 0, "caption": 0, "context": 0, "neither": 0}
    for figure in kept:
        on = figure_gates(figure)
        caption, context = Dimension.CC in on, Dimension.CTX in on
        counts[{(1, 1): "both", (1, 0): "caption", (0, 1): "context", (0, 0): "neither"}[caption, context]] += 1
    return counts


def _counted(names: Iterable[str | None]) -> list[list[Any]]:
    """[name, count] by name, so that stages stand in their order."""
    return [[name, count] for name, count in sorted(Counter(name or "unnamed" for name in names).items())]


def _check(what: str, expected: int, found: int) -> dict[str, Any]:
    return {"what": what, "expected": expected, "found": found, "ok": expected == found}
