"""A reply's text -> the stage's reply model: strict JSON, then one fenced block stripped, then stop.

Nothing is fished out of prose, and no failure becomes a score.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from sfq_ray.judge.backends import Reply
from sfq_ray.judge.errors import CallError
from sfq_ray.judge.schemas import REPLIES
from sfq_ray.judge.schemas import Reply as ReplyModel
from sfq_ray.rubric import Dimension

FENCED = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*", re.DOTALL | re.IGNORECASE)
CUT_REASONS = frozenset({"length", "max_tokens", "MAX_TOKENS"})
REFUSED_REASONS = frozenset(
    {"refusal", "content_filter", "guardrail_intervened", "content_filtered", "sensitive",
     "SAFETY", "PROHIBITED_CONTENT", "RECITATION", "BLOCKLIST", "SPII", "IMAGE_SAFETY"}
)  # fmt: skip
LOOP = re.compile(r"\s{200,}$")


def parse(stage: str, reply: Reply, available: Iterable[str]) -> ReplyModel:
    """The validated reply of `stage`; dimensions outside of `available` must be null, those in it must not.

    Raises CallError: empty, truncated, whitespace_loop, refusal, invalid_json or schema_violation.
    """
    text = reply.text
    if reply.finish_reason in REFUSED_REASONS:
        raise CallError("refusal", f"the model declined (finish reason {reply.finish_reason})")
    if LOOP.search(text):
        raise CallError("whitespace_loop", "the reply ends in a run of white space")
    if not text.strip():
        raise CallError("empty", f"the reply has no text (finish reason {reply.finish_reason})")
    if reply.finish_reason in CUT_REASONS:
        raise CallError("truncated", f"the reply was cut off (finish reason {reply.finish_reason})")
    try:
        model = REPLIES[stage].model_validate(_object(text))
    except ValidationError as error:
        raise CallError("schema_violation", _where(error)) from None
    _check_gates(stage, model, set(available))
    return model


def _object(text: str) -> Any:
    fenced = FENCED.fullmatch(text)
    try:
        # control characters inside strings come from small models; they change nothing
        return json.loads(
            fenced.group(1) if fenced else text, strict=False, object_pairs_hook=_once, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        raise CallError("invalid_json", f"the reply is not one JSON object: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key stands twice")
    return result


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _where(error: ValidationError) -> str:
    """Places and rules that were broken, without the values, which may be long or hostile."""
    problems = [f"{'.'.join(map(str, e['loc'])) or 'reply'}: {e['msg']}" for e in error.errors(include_input=False)]
    return "; ".join(problems[:5])[:500]


def _check_gates(stage: str, model: ReplyModel, available: set[str]) -> None:
    if stage not in ("direct", "sidecar", "fusion"):
        return
    for dimension in (Dimension.CC, Dimension.CTX):
        given = getattr(model, dimension) is not None
        if given != (dimension in available):
            expected = "a judgement" if dimension in available else "null, since it is gated off"
            raise CallError("schema_violation", f"{dimension}: must be {expected}")
