"""Rows as the page wants them: short entries for the lists, full details per figure.

Entries are arrays, to keep the index small; `start` in report.js takes them apart in the order given here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from sfq_ray.report.read import Row
from sfq_ray.report.script import number
from sfq_ray.report.totals import drop_rule
from sfq_ray.rubric import DIMENSIONS, figure_gates
from sfq_ray.tables import FEATURE_FIELDS, figure_state

CAPTION_CHARS = 1000
"""Of a caption in the index; the details have all of it."""

FEATURES = [(name, doc) for name, _, doc in FEATURE_FIELDS if name != "color_histogram"]

PAPER_COLUMNS = (
    *("paper_id", "title", "venue", "year", "pages", "outcome", "dropped", "duplicate_of", "error", "message"),
    *("source", "figures_found", "figures_kept", "figures_failed", "warnings"),
)

FIGURE_COLUMNS = ("figure_id", "paper_id", "fig_index", "label", "page")


def paper_entry(paper: Row) -> list[Any]:
    """The values of PAPER_COLUMNS."""
    return [paper[name] for name in PAPER_COLUMNS]


def figure_entry(figure: Row, image: str | None, scores: Iterable[Row | None]) -> list[Any]:
    """FIGURE_COLUMNS, state, stage:rule, failure class, flags, dimensions on, image ending, caption, [run scores]."""
    state = figure_state(figure)
    caption = figure["caption"]
    if caption is not None and len(caption) > CAPTION_CHARS:
        caption = caption[: CAPTION_CHARS - 1] + "…"
    return [
        *(figure[name] for name in FIGURE_COLUMNS),
        state,
        drop_rule(figure) if state == "dropped" else None,
        figure["error"],
        sorted(set(figure["flags"] or [])),
        _gate_letters(figure),
        image,
        caption,
        [score_entry(row) for row in scores],
    ]


def score_entry(row: Row | None) -> list[Any] | None:
    """Status, the five scores, overall; null when the run has no row for the figure."""
    return None if row is None else [row["status"], *(number(row[d]) for d in DIMENSIONS), row["overall"]]


def figure_detail(figure: Row, scores: Iterable[Row]) -> dict[str, Any]:
    """Everything about one figure that its card shows and the index leaves out."""
    return {
        "captionLabel": figure["caption_label"],
        "caption": figure["caption"],
        "captionScore": number(figure["caption_score"]),
        "title": figure["title"],
        "venue": figure["venue"],
        "year": figure["year"],
        "bbox": [number(value) for value in figure["bbox"] or []],
        "panels": len(figure["panels"] or []),
        "size": [figure["width"], figure["height"], number(figure["dpi"])],
        "layout": figure["layout"],
        "message": figure["message"],
        "features": [number(figure[name]) if _is_number(figure[name]) else figure[name] for name, _ in FEATURES],
        "contexts": [_context(context) for context in figure["contexts"] or []],
        "scores": [_score(row) for row in scores],
    }


def pieces(text: str, spans: Iterable[Mapping[str, int | None] | None] | None) -> list[list[Any]]:
    """`text` cut at its spans: [piece, 1 when it is a matched reference]. The pieces join to `text`.

    Offsets count code points. They are cut here because JavaScript counts UTF-16 units. Spans may overlap or
    reach beyond the text; what lies in none is plain.
    """
    marked = bytearray(len(text))
    for span in spans or []:
        if span is None or span["start"] is None or span["end"] is None:
            continue
        start = max(0, span["start"])
        end = max(start, min(len(text), span["end"]))
        marked[start:end] = b"\1" * (end - start)
    cuts = [i for i in range(1, len(text)) if marked[i] != marked[i - 1]]
    edges = [0, *cuts, len(text)]
    return [[text[a:b], marked[a]] for a, b in pairwise(edges) if a < b]


def _context(context: Row) -> dict[str, Any]:
    return {
        "section": context["section"],
        "page": context["page"],
        "cue": context["cue"],
        "evidence": context["evidence"],
        "place": context["place"],
        "weight": number(context["weight"]),
        "panels": context["panels"] or [],
        "text": pieces(context["text"] or "", context["spans"]),
    }


def _score(row: Row) -> dict[str, Any]:
    return {
        "run": row["run_id"],
        "status": row["status"],
        "failure": row["failure"],
        "message": row["message"],
        "caps": row["caps"] or [],
        "summary": row["summary"],
        "suggestion": row["suggestion"],
        "dims": [
            [
                number(row[d]),
                row[f"{d}_confidence"],
                row[f"{d}_owner"],
                number(row[f"{d}_proposed"]),
                row[f"{d}_reason"],
            ]
            for d in DIMENSIONS
        ],
    }


def _gate_letters(figure: Row) -> str:
    """One character per dimension: 1 on, 0 off."""
    on = figure_gates(figure)
    return "".join("1" if d in on else "0" for d in DIMENSIONS)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
