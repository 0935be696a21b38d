"""Rows of ratings/ from annotations as people bring them: the released dataset's, or their own JSONL or CSV.

Values stay as given; what cannot be read is null and counted under a name, never guessed.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfq_ray.errors import FatalError
from sfq_ray.rubric import LONG_NAMES
from sfq_ray.store import Store
from sfq_ray.tables import RATINGS

FIGURE_ID = re.compile(r"(?P<paper>.+)__fig(?P<index>\d+)")
COUNTER = re.compile(r"^\d{4}_(?=.)")  # "0001_2020.acl-main.1"
SURROGATE = "\\ud"  # as JSON escapes one half of a surrogate pair; other letters have it too
KNOWN_KEYS = (
    {"figure_id", "paper_id", "paper_id_norm", "fig_index", "venue", "year", "rater", "source", "source_type"}
    | {"source_name", "overall", "overall_score", "summary", "suggestion", "annotated_at"}
    | {name for code, long in LONG_NAMES.items() for name in (code, long, f"{code}_reason", f"{long}_reason")}
)


@dataclass(frozen=True)
class Key:
    """A figure, as figures/ names it."""

    paper_id: str
    fig_index: int

    @property
    def figure_id(self) -> str:
        return f"{self.paper_id}__fig{self.fig_index:04d}"


def figure_key(record: Mapping[str, Any], known: frozenset[Key] | set[Key] = frozenset()) -> Key | None:
    """The figure that a record names by figure_id or by (paper_id, fig_index); None where it names none.

    A leading counter of paper_id is taken off, unless the figure is in `known` as it is written.
    """
    match = FIGURE_ID.fullmatch(str(record.get("figure_id") or ""))
    paper, index = record.get("paper_id"), number(record.get("fig_index"))
    if match is not None:
        paper = paper or match["paper"]
        index = float(match["index"]) if index is None else index
    if not paper or index is None or index != int(index) or not 0 <= index < 2**31:
        return None
    as_written = Key(str(paper), int(index))
    plain = Key(str(record.get("paper_id_norm") or COUNTER.sub("", str(paper))), int(index))
    return as_written if as_written in known else plain


def rating_row(record: Mapping[str, Any], key: Key, line: int, issues: Counter[str]) -> dict[str, Any]:
    """The annotation as a row of tables.RATINGS; dimensions by short or long names. Adds to `issues`.

    An annotation that does not say who made it is a human's.
    """
    row: dict[str, Any] = {
        "figure_id": key.figure_id, "paper_id": key.paper_id, "fig_index": key.fig_index, "row": line,
        "rater": text(_first(record, "rater", "source_name")),
        "source": _source(_first(record, "source", "source_type")),
        "overall": _score(_first(record, "overall", "overall_score"), issues),
        "summary": text(record.get("summary")), "suggestion": text(record.get("suggestion")),
        "annotated_at": _time(record.get("annotated_at"), issues),
    }  # fmt: skip
    for code, long in LONG_NAMES.items():
        row[code.value] = _score(_first(record, code, long), issues)
        row[f"{code}_reason"] = text(_first(record, f"{code}_reason", f"{long}_reason"))
    issues.update(f"unknown key in annotations: {name}" for name in record if name not in KNOWN_KEYS)
    return row


def read_ratings(out: Path) -> list[dict[str, Any]]:
    """All rows of ratings/. Raises FatalError where there are none."""
    rows = list(Store(out).rows("ratings", RATINGS.names))
    if not rows:
        raise FatalError(f"{out}: no ratings/ here; run `sfq import DATASET --out {out}` first")
    return rows


def read_records(path: Path) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """(1-based line, record) of a JSONL or CSV file; None for a line that is no record. Raises FatalError."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            if path.suffix.lower() == ".csv":
                reader = csv.DictReader(file)
                for record in reader:
                    yield reader.line_num, None if None in record else record  # more cells than the header has
            else:
                for line, content in enumerate(file, 1):
                    if content.strip():
                        yield line, _object(content)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FatalError(f"{path}: cannot be read: {error}") from error


def number(value: Any) -> float | None:
    """A finite number, also one written as text; else None."""
    if isinstance(value, bool):
        return None
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def text(value: Any) -> str | None:
    """A text that says something; blank ones and other things are None."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value.strip() else None


def _object(line: str) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
        if SURROGATE in line.lower():
            json.dumps(record, ensure_ascii=False).encode()  # half a character, which no table can hold
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _first(record: Mapping[str, Any], *names: str) -> Any:
    """The value of the first of these keys that has one."""
    return next((record[name] for name in names if record.get(name) not in (None, "")), None)


def _source(value: Any) -> str:
    return "human" if value is None or str(value).strip().lower() == "human" else "other"


def _score(value: Any, issues: Counter[str]) -> float | None:
    score = number(value)
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    if score is None and not missing:
        issues["unreadable scores"] += 1
    return score


def _time(value: Any, issues: Counter[str]) -> datetime | None:
    if text(value) is None:
        return None
    try:
        moment = datetime.fromisoformat(str(value).strip())
        return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        issues["unreadable timestamps"] += 1
        return None
