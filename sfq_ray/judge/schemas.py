"""What each stage must reply: pydantic models, strict. A judge's reply that does not fit is a failure, not a score."""

from __future__ import annotations

import json
from functools import cache
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Score = Annotated[int, Field(strict=True, ge=1, le=10)]
Text = Annotated[str, Field(max_length=1200)]
Phrases = Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=12)]
Band = Literal["1-2", "3-4", "5-6", "7-8", "9-10"]
Severity = Literal["none", "minor", "moderate", "severe", "contradiction"]
Support = Literal["none", "bare_reference", "topical", "partial", "specific"]


class Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Judgement(Reply):
    """One dimension: score and confidence 1..10, and a reason that points at evidence."""

    score: Score
    confidence: Score
    reason: Text


class DirectReply(Reply):
    """Direct and Sidecar. CC and CTX are null when they are gated off."""

    VC: Judgement
    SL: Judgement
    CC: Judgement | None
    CTX: Judgement | None
    MR: Judgement
    summary: Text
    suggestion: Text


class ImageFacts(Reply):
    figure_type: Annotated[str, Field(max_length=80)]
    visible_content: Text
    panels: Phrases
    metrics: Phrases
    compared_groups: Phrases
    axes_units: Phrases
    legend_notes: Phrases
    uncertain_details: Phrases


class VisionReply(Reply):
    """Agent, stage 1: final VC and SL, what the image shows, and a visual risk band. No CC, CTX or MR."""

    VC: Judgement
    SL: Judgement
    image_facts: ImageFacts
    caption_should_mention: Phrases
    context_should_mention: Phrases
    trust_signals: Phrases
    risk_signals: Phrases
    visual_risk_band: Band


class RuleFlags(Reply):
    result_or_comparison_figure: bool
    caption_mentions_metric: bool
    caption_identifies_groups: bool
    context_is_bare_reference: bool
    context_has_specific_support: bool


class LanguageReply(Reply):
    """Agent, stage 2: what caption and context say. No scores. Caps are null where no rule asks for one."""

    caption_facts: Phrases
    context_facts: Phrases
    context_support: Support
    image_implied_by_caption: Text
    image_implied_by_context: Text
    text_severity: Severity
    flags: RuleFlags
    caption_score_cap: Score | None
    context_score_cap: Score | None
    misleading_score_cap: Score | None


class FusionReply(Reply):
    """Agent, stage 3: proposals for CC, CTX and MR. CC and CTX are null when they are gated off."""

    CC: Judgement | None
    CTX: Judgement | None
    MR: Judgement
    summary: Text
    suggestion: Text


@cache
def reply_schema(stage: str) -> str:
    """The JSON Schema of a stage's reply, as text."""
    return json.dumps(REPLIES[stage].model_json_schema(), sort_keys=True, separators=(",", ":"))


REPLIES: dict[str, type[Reply]] = {
    "direct": DirectReply,
    "sidecar": DirectReply,
    "vision": VisionReply,
    "language": LanguageReply,
    "fusion": FusionReply,
}
