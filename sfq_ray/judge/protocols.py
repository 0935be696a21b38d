"""The three protocols, as the paper tells them. Each is a coroutine over an `ask` that knows the ledger.

direct    one call over image, caption and citing text
sidecar   the same call with OCR/CV features beside it
agent     vision evidence and language evidence, at the same time, then fusion, then the Runner
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import cast

from sfq_ray import runner
from sfq_ray.judge.backends import Backend
from sfq_ray.judge.calls import (
    Figure,
    Request,
    direct_call,
    fusion_call,
    language_call,
    sidecar_call,
    vision_call,
)
from sfq_ray.judge.schemas import DirectReply, FusionReply, Judgement, LanguageReply, Reply, VisionReply
from sfq_ray.rubric import DIMENSIONS, Dimension

Ask = Callable[[Request, Backend], Awaitable[Reply]]


@dataclass(frozen=True)
class Judges:
    """Who answers: `vision` the calls with an image, `language` those without. Mostly the same model."""

    vision: Backend
    language: Backend


@dataclass(frozen=True)
class Judged:
    """A figure's scores with the judgements (reasons, confidences) they rest on."""

    scored: runner.Scored
    judgements: Mapping[Dimension, Judgement]
    summary: str
    suggestion: str


async def direct(figure: Figure, ask: Ask, judges: Judges) -> Judged:
    reply = await ask(direct_call(figure, judges.vision), judges.vision)
    return _as_judged(cast(DirectReply, reply), "direct", figure)


async def sidecar(figure: Figure, ask: Ask, judges: Judges) -> Judged:
    reply = await ask(sidecar_call(figure, judges.vision), judges.vision)
    return _as_judged(cast(DirectReply, reply), "sidecar", figure)


async def agent(figure: Figure, ask: Ask, judges: Judges) -> Judged:
    replies = await _both(
        ask(vision_call(figure, judges.vision), judges.vision),
        ask(language_call(figure, judges.language), judges.language),
    )
    vision, language = cast(VisionReply, replies[0]), cast(LanguageReply, replies[1])
    fusion_request = fusion_call(figure, vision, language, judges.language)
    fusion = cast(FusionReply, await ask(fusion_request, judges.language))
    scored = runner.run(
        {Dimension.VC: vision.VC.score, Dimension.SL: vision.SL.score},
        {d: j.score if (j := getattr(fusion, d)) else None for d in (Dimension.CC, Dimension.CTX, Dimension.MR)},
        vision.visual_risk_band,
        language.text_severity,
        runner.Caps(language.caption_score_cap, language.context_score_cap, language.misleading_score_cap),
        figure.gates,
    )
    return Judged(scored, _judgements(vision) | _judgements(fusion), fusion.summary, fusion.suggestion)


PROTOCOLS: dict[str, Callable[[Figure, Ask, Judges], Awaitable[Judged]]] = {
    "direct": direct,
    "sidecar": sidecar,
    "agent": agent,
}


async def _both(first: Awaitable[Reply], second: Awaitable[Reply]) -> tuple[Reply, Reply]:
    """Both at the same time; a failure of one is raised after the other has ended, since that one is paid for too."""
    replies = await asyncio.gather(first, second, return_exceptions=True)
    for reply in replies:
        if isinstance(reply, BaseException):
            raise reply
    return cast(tuple[Reply, Reply], tuple(replies))


def _as_judged(reply: DirectReply, owner: str, figure: Figure) -> Judged:
    judgements = _judgements(reply)
    scored = runner.take({d: j.score for d, j in judgements.items()}, owner, figure.gates)
    return Judged(scored, judgements, reply.summary, reply.suggestion)


def _judgements(reply: Reply) -> dict[Dimension, Judgement]:
    found = {d: getattr(reply, d, None) for d in DIMENSIONS}
    return {d: judgement for d, judgement in found.items() if judgement is not None}
