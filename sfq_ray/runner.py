"""The Runner (v5): evidence and proposals -> scores. Deterministic, and the only place with caps.

Follows arXiv 2607.27084, the Runner, with the rounding of its released code (Python's, half to even).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from sfq_ray.rubric import DIMENSIONS, SCORE_MAX, SCORE_MIN, Dimension, overall

SEVERITIES = ("none", "minor", "moderate", "severe", "contradiction")
BANDS = ("1-2", "3-4", "5-6", "7-8", "9-10")
BAND = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:[-\u2010-\u2015\u2212]\s*(\d+(?:\.\d+)?))?\s*")

VC, SL, CC, CTX, MR = DIMENSIONS
V = TypeVar("V")


@dataclass(frozen=True)
class Scored:
    """Scores of one figure. Dimensions that are off are absent from every mapping."""

    scores: dict[Dimension, int]
    proposed: dict[Dimension, float]
    owners: dict[Dimension, str]
    caps: tuple[str, ...]

    @property
    def overall(self) -> float | None:
        return overall(dict(self.scores))


@dataclass(frozen=True)
class Caps:
    """Upper bounds from the language stage; None where it set none."""

    caption: int | None = None
    context: int | None = None
    misleading: int | None = None


def parse_band(band: str | int | float) -> tuple[float, float]:
    """(low, high) of "7-8", of "7–8" or of a single number. Raises ValueError for anything else."""
    match = BAND.fullmatch(str(band))
    if match is None:
        raise ValueError(f"risk band {band!r} is neither a number nor a range such as 7-8")
    low = float(match.group(1))
    high = float(match.group(2)) if match.group(2) else low
    if not SCORE_MIN <= low <= high <= SCORE_MAX:
        raise ValueError(f"risk band {band!r} does not lie within {SCORE_MIN}-{SCORE_MAX} in rising order")
    return low, high


def misleading_risk(band: tuple[float, float], severity: str) -> float:
    """r of the Runner: the visual band moved by the severity that the text shows. Raises ValueError."""
    low, high = band
    middle = (low + high) / 2
    if severity == "none":
        return middle
    if severity == "minor":
        lowered = max(low, middle - 1)
        return max(lowered, 8.0) if low >= 9 else max(lowered, 7.0) if low >= 7 else lowered
    if severity == "moderate":
        return middle if high <= 5 else 6.5
    if severity == "severe":
        return middle if high <= 3 else 4.5
    if severity == "contradiction":
        return 2.0
    raise ValueError(f"severity {severity!r} is none of {', '.join(SEVERITIES)}")


def run(
    vision: Mapping[Dimension, int],
    fusion: Mapping[Dimension, int | None],
    band: str | int | float,
    severity: str,
    caps: Caps,
    gates: frozenset[Dimension],
) -> Scored:
    """SFQ-Agent: VC and SL are the vision stage's, CC and CTX the fusion's under their caps, MR the band's.

    Raises ValueError where a dimension that is on has no proposal, or the band or severity is no valid one.
    """
    proposed: dict[Dimension, float] = {VC: vision[VC], SL: vision[SL]}
    scores: dict[Dimension, int] = dict(vision)
    owners = {VC: "vision", SL: "vision"}
    applied: list[str] = []
    for dimension, cap in ((CC, caps.caption), (CTX, caps.context)):
        if dimension in gates:
            value = fusion.get(dimension)
            if value is None:
                raise ValueError(f"{dimension} is on but the fusion stage proposed no score for it")
            proposed[dimension] = value
            scores[dimension] = _capped(dimension, value, cap, applied)
            owners[dimension] = "runner" if scores[dimension] != value else "fusion"
    proposal = fusion.get(MR)
    risk = round(misleading_risk(parse_band(band), severity))
    bounded = min(max(risk, SCORE_MIN), SCORE_MAX)
    proposed[MR] = float(bounded) if proposal is None else proposal
    scores[MR] = _capped(MR, bounded, caps.misleading, applied)
    owners[MR] = "runner"
    return Scored(_only(scores, gates), _only(proposed, gates), _only(owners, gates), tuple(applied))


def take(judged: Mapping[Dimension, int | None], owner: str, gates: frozenset[Dimension]) -> Scored:
    """Direct and Sidecar: the judge's scores as they are, for the dimensions that are on. Raises ValueError."""
    scores: dict[Dimension, int] = {}
    for dimension in DIMENSIONS:
        value = judged.get(dimension)
        if dimension not in gates:
            continue
        if value is None:
            raise ValueError(f"{dimension} is on but the judge gave no score for it")
        scores[dimension] = value
    return Scored(scores, {d: float(v) for d, v in scores.items()}, dict.fromkeys(scores, owner), ())


def _capped(dimension: Dimension, value: int, cap: int | None, applied: list[str]) -> int:
    if cap is not None and cap < value:
        applied.append(f"{dimension} <= {cap}")
        return cap
    return value


def _only(values: Mapping[Dimension, V], gates: frozenset[Dimension]) -> dict[Dimension, V]:
    return {d: values[d] for d in DIMENSIONS if d in gates and d in values}
