"""The rubric: five dimensions, evidence gating and the overall score (arXiv 2607.27084, the rubric and L1 gating).

The only module that decides which dimensions are on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

SCORE_MIN, SCORE_MAX = 1, 10


class Dimension(StrEnum):
    """The five dimensions; every score is an integer 1..10, higher is better (MR: higher = lower risk)."""

    VC = "VC"
    SL = "SL"
    CC = "CC"
    CTX = "CTX"
    MR = "MR"


DIMENSIONS: tuple[Dimension, ...] = tuple(Dimension)

NAMES: dict[Dimension, str] = {
    Dimension.VC: "Visual Clarity",
    Dimension.SL: "Structure & Layout",
    Dimension.CC: "Caption Consistency",
    Dimension.CTX: "Context Consistency",
    Dimension.MR: "Misleading Risk",
}

LONG_NAMES: dict[Dimension, str] = {
    Dimension.VC: "visual_clarity",
    Dimension.SL: "structure_layout",
    Dimension.CC: "caption_consistency",
    Dimension.CTX: "context_consistency",
    Dimension.MR: "misleading_risk",
}


def gates(caption: str | None, contexts: Iterable[str | None]) -> frozenset[Dimension]:
    """The dimensions that are on for a figure with this caption and these citing paragraphs.

    Empty means that the instance is excluded: with neither caption nor context nothing is scored.
    White space alone is no evidence.
    """
    has_caption = bool(caption and caption.strip())
    has_context = any(text and text.strip() for text in contexts)
    if not has_caption and not has_context:
        return frozenset()
    on = {Dimension.VC, Dimension.SL, Dimension.MR}
    if has_caption:
        on.add(Dimension.CC)
    if has_context:
        on.add(Dimension.CTX)
    return frozenset(on)


def figure_gates(figure: Mapping[str, Any]) -> frozenset[Dimension]:
    """The dimensions that are on for a row of figures/."""
    return gates(figure["caption"], (context["text"] for context in figure["contexts"] or []))


def overall(scores: Mapping[Dimension, float | None]) -> float | None:
    """Arithmetic mean of the dimensions that have a score, at full precision; None when none has.

    A missing score is missing: it never counts as 0.
    """
    present = [scores[d] for d in DIMENSIONS if scores.get(d) is not None]
    if not present:
        return None
    return float(sum(value for value in present if value is not None)) / len(present)
