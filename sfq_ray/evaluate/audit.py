"""`sfq gold audit`: what one should know about human ratings before trusting them as gold.

Every check looks at the human rows of ratings/ alone and names the rows that speak against them. A check fails where
they are more than its allowed share of the rows (or rationales) it looked at. It accuses nobody: it says where to look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sfq_ray.evaluate.gold import NOISE, Row, humans
from sfq_ray.evaluate.rationales import Rationale, quotes_features, repeated
from sfq_ray.rubric import DIMENSIONS, SCORE_MAX, SCORE_MIN, overall

MIN_SECONDS = 10.0  # between two figures of one rater: five scores with reasons cannot be given faster
MIN_RATINGS = 20  # of one dimension by one rater, before equal scores in all of them say something
MIN_FIGURES = 10  # rated altogether, before raters who rated only one of them say something
MAX_SINGLE = 0.1  # share of the ratings that may come from such raters
ROUNDING = 0.05  # overalls are often given with one decimal
EXAMPLES = 5


@dataclass(frozen=True)
class Finding:
    """One check. `count` of `looked_at` rows or rationales speak against the gold; a few of them are shown."""

    check: str
    passed: bool
    count: int
    looked_at: int
    examples: list[str]


def audit(ratings: Iterable[Row]) -> list[Finding]:
    """All checks, in the order of OF_RATIONALES and OF_ROWS."""
    rows = humans(ratings)
    rationales = [
        Rationale(row["figure_id"], row["rater"], dimension.value, row[f"{dimension}_reason"])
        for row in rows
        for dimension in DIMENSIONS
        if row[f"{dimension}_reason"] is not None
    ]
    findings = [_finding(name, find(rationales), len(rationales), share) for name, find, share in OF_RATIONALES]
    return findings + [_finding(name, find(rows), len(rows), share) for name, find, share in OF_ROWS]


def audit_lines(findings: Iterable[Finding]) -> Iterator[str]:
    """The findings as lines of text, each with its examples below."""
    for finding in findings:
        mark = "ok    " if finding.passed else "FAILED"
        yield f"{mark} {finding.check:20} {finding.count:8,} in {finding.looked_at:,}"
        yield from (f"         {example}" for example in finding.examples)


def _finding(check: str, found: list[str], looked_at: int, allowed: float) -> Finding:
    return Finding(check, len(found) <= allowed * looked_at, len(found), looked_at, found[:EXAMPLES])


# ---- checks on rationales


def repeated_rationales(rationales: Sequence[Rationale]) -> list[str]:
    """Near-identical texts for different figures or by different raters."""
    return [f"{later.where} = {earlier.where}: {later.text[:100]}" for later, earlier in repeated(rationales)]


def machine_features(rationales: Sequence[Rationale]) -> list[str]:
    """Rationales that quote what only a program measures: nobody sees a blur variance."""
    return [f"{each.where}: {quote}" for each in rationales if (quote := quotes_features(each.text))]


# ---- checks on rows


def rater_ids(rows: Sequence[Row]) -> list[str]:
    """Ids that do not stand for one person: missing, spelled in several ways, twice on a figure, or used only once."""
    found = [f"{_where(row)}: no rater" for row in rows if row["rater"] is None]
    named = [row for row in rows if row["rater"] is not None]
    uses, spellings = Counter(row["rater"] for row in named), dict[str, str]()
    for rater in uses:
        first = spellings.setdefault(_plain_id(rater), rater)
        found += [f"{rater} is also written {first}"] if first != rater else []
    twice = Counter((row["figure_id"], row["rater"]) for row in named)
    found += [f"{figure_id} by {rater}: {count} ratings" for (figure_id, rater), count in twice.items() if count > 1]
    single = [f"{rater}: only one rating" for rater, count in uses.items() if count == 1]
    many = len({row["figure_id"] for row in rows}) >= MIN_FIGURES and len(single) > MAX_SINGLE * len(named)
    return found + (single if many else [])


def timestamps(rows: Sequence[Row]) -> list[str]:
    """Times shared to the microsecond, and figures that one rater finished within MIN_SECONDS of the one before.

    Times without a fraction of a second may meet by chance among raters, so they count only within one rater.
    """
    timed = sorted((row for row in rows if row["annotated_at"] is not None), key=_moment)
    shared, last, found = dict[datetime, Row](), dict[str | None, Row](), list[str]()
    for row in timed:
        moment, before = row["annotated_at"], last.get(row["rater"])
        same = shared.setdefault(moment, row) if moment.microsecond else row
        if same is not row:
            found.append(f"{_where(row)} at {moment}, as {_where(same)}")
        elif before is not None and before["figure_id"] != row["figure_id"]:
            seconds = (moment - before["annotated_at"]).total_seconds()
            if seconds < MIN_SECONDS:
                found.append(f"{_where(row)}: {seconds:.6g} s after {before['figure_id']}")
        last[row["rater"]] = row
    return found


def constant_raters(rows: Sequence[Row]) -> list[str]:
    """Raters who gave one dimension the same score MIN_RATINGS times or more, and never another."""
    given: dict[tuple[str | None, str], list[float]] = {}
    for row in rows:
        for dimension in DIMENSIONS:
            if row[dimension] is not None:
                given.setdefault((row["rater"], dimension.value), []).append(row[dimension])
    return [
        f"{rater}: {dimension} is always {scores[0]:g}, {len(scores)} times"
        for (rater, dimension), scores in given.items()
        if len(scores) >= MIN_RATINGS and max(scores) - min(scores) <= NOISE
    ]


def out_of_range(rows: Sequence[Row]) -> list[str]:
    """Scores and overalls below 1 or above 10."""
    return [
        f"{_where(row)}: {name} {row[name]:g}"
        for row in rows
        for name in (*DIMENSIONS, "overall")
        if row[name] is not None and not SCORE_MIN - NOISE <= row[name] <= SCORE_MAX + NOISE
    ]


def wrong_overalls(rows: Sequence[Row]) -> list[str]:
    """Overalls that are not the mean of the row's own dimensions, to one decimal."""
    found = []
    for row in rows:
        mean = overall({dimension: row[dimension] for dimension in DIMENSIONS})
        if mean is not None and row["overall"] is not None and abs(row["overall"] - mean) > ROUNDING + NOISE:
            found.append(f"{_where(row)}: {row['overall']:.4g}, the mean is {mean:.4g}")
    return found


def missing_rationales(rows: Sequence[Row]) -> list[str]:
    """Scores without a reason."""
    return [
        f"{_where(row)}: {dimension}"
        for row in rows
        for dimension in DIMENSIONS
        if row[dimension] is not None and row[f"{dimension}_reason"] is None
    ]


OF_RATIONALES: tuple[tuple[str, Callable[[Sequence[Rationale]], list[str]], float], ...] = (
    ("repeated_rationales", repeated_rationales, 0.01),
    ("machine_features", machine_features, 0.0),
)
OF_ROWS: tuple[tuple[str, Callable[[Sequence[Row]], list[str]], float], ...] = (
    ("rater_ids", rater_ids, 0.0),
    ("timestamps", timestamps, 0.0),
    ("constant_raters", constant_raters, 0.0),
    ("out_of_range", out_of_range, 0.0),
    ("wrong_overalls", wrong_overalls, 0.0),
    ("missing_rationales", missing_rationales, 0.0),
)
"""(name, what finds the rows that speak against the gold, the share of them that is allowed)."""


def _where(row: Row) -> str:
    return f"{row['figure_id']} by {row['rater']}"


def _moment(row: Row) -> tuple[datetime, str, str]:
    return row["annotated_at"], row["figure_id"], row["rater"] or ""


def _plain_id(rater: str) -> str:
    """Rater_01, rater 1 and RATER-1 are one id."""
    parts = "".join(char if char.isalnum() else " " for char in rater.casefold()).split()
    return "".join(part.lstrip("0") or "0" for part in parts)
