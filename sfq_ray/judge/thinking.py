"""How much a model thinks: the one setting judge.thinking as the request fields of each backend.

    openai     effort   reasoning_effort; off: none (OpenAI, Create chat completion)
               switch   thinking.type enabled or disabled (GLM; Ark), without levels
               budget   enable_thinking, thinking_budget (DashScope, Deep thinking)
    anthropic  effort   thinking.type adaptive with output_config.effort; off: disabled (Anthropic, Effort)
               budget   thinking.type enabled with budget_tokens; off: disabled (Anthropic, Extended thinking)
    gemini     effort   thinkingConfig.thinkingLevel; off: the lowest (Google, Gemini API: Thinking)
               budget   thinkingConfig.thinkingBudget; off: 0

A model that cannot_disable is one of effort whose off is its lowest level. What is not documented is not sent: a vLLM
server has its chat_template_kwargs, which only a record's `extra` can give. A wish that cannot be met does not stop a
job of many models; it is told by a note, which `sfq doctor`, `sfq judge` and the run manifest show.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sfq_ray.config import Judge
from sfq_ray.judge.capabilities import Model

SHARES = {"low": 1 / 8, "medium": 1 / 4, "high": 1 / 2}  # of max_output_tokens; the rest is for the reply
LEAST_BUDGET = 1024  # of Anthropic
MOST_BUDGET = 24576  # of Gemini 2.5 Flash, the smallest maximum that is documented
SPEAKS_OF_IT = re.compile(r"thinking|reasoning|effort", re.IGNORECASE)


@dataclass(frozen=True)
class Thinking:
    """`fields` of the request as its backend takes them; `note`: where that is not just what was asked for."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    note: str | None = None


Way = Callable[[Model, str, Judge], Thinking]


def thinking_of(model: Model, settings: Judge) -> Thinking:
    """What is sent to `model` for the setting judge.thinking; nothing where that is null."""
    wish = settings.thinking
    if wish is None or (wish == "off" and model.thinking == "none"):
        return Thinking()
    if _says_so(model.extra):
        return Thinking(note="the `extra` of its record says how it thinks, and holds instead")
    reason = _hindrance(model, wish, settings)
    return _nothing(reason) if reason else WAYS[model.backend, str(model.thinking)](model, wish, settings)


def _nothing(reason: str) -> Thinking:
    return Thinking(note=f"nothing is sent: {reason}")


def _says_so(extra: Any) -> bool:
    """Whether a name anywhere in `extra` is about thinking: a mixture of both would contradict itself."""
    if isinstance(extra, Mapping):
        return any(SPEAKS_OF_IT.search(str(name)) or _says_so(value) for name, value in extra.items())
    return isinstance(extra, list) and any(_says_so(item) for item in extra)


def _hindrance(model: Model, wish: str, settings: Judge) -> str | None:
    """Why nothing can be sent; None where something can."""
    if model.thinking is None:
        return "its record does not say by what its thinking is set"
    if model.thinking == "none":
        return "it does not think"
    if model.dialect.startswith("vllm"):
        return "a vLLM server takes chat_template_kwargs, by the `extra` of its record"
    if (model.backend, model.thinking) not in WAYS:
        return f"{model.backend} documents nothing for models of the kind {model.thinking}"
    if wish == "off":
        return None
    if (model.backend, model.thinking, model.dialect) == ("openai", "budget", "json_object"):
        return "DashScope refuses JSON mode while a model thinks; give its record the dialect prompt_only"
    if model.backend == "anthropic" and model.sampling and settings.temperature not in (None, 1):
        return "Anthropic refuses a temperature while a model thinks; set judge.temperature to null"
    return None


def _leveled(model: Model, wish: str, fields: Callable[[str], dict[str, Any]]) -> Thinking:
    """`fields` of the level that the model has for the wish."""
    levels = model.thinking_levels
    if levels is None:
        return _nothing("its record does not name its thinking_levels")
    if wish == "off":
        lowest = levels[0]
        note = None if lowest == "none" else f"it cannot be switched off; its lowest level is sent, {lowest}"
        return Thinking(fields(lowest), note)
    if wish not in levels:
        return _nothing(f"its levels are {', '.join(levels)}")
    return Thinking(fields(wish))


def _budgeted(model: Model, wish: str, settings: Judge, fields: Callable[[int], dict[str, Any]]) -> Thinking:
    """`fields` of the budget in tokens, at most half of what the model may put out."""
    most = model.output_tokens(settings)
    budget = min(max(int(most * SHARES[wish]), LEAST_BUDGET), MOST_BUDGET)
    if 2 * budget > most:
        return _nothing(f"of {most} output tokens the least budget of {budget} leaves too few for the reply")
    return Thinking(fields(budget))


def _openai_effort(model: Model, wish: str, settings: Judge) -> Thinking:
    return _leveled(model, wish, lambda level: {"reasoning_effort": level})


def _openai_switch(model: Model, wish: str, settings: Judge) -> Thinking:
    if wish == "off":
        return Thinking({"thinking": {"type": "disabled"}})
    return Thinking({"thinking": {"type": "enabled"}}, "it is switched on; it has no levels")


def _openai_budget(model: Model, wish: str, settings: Judge) -> Thinking:
    if wish == "off":
        return Thinking({"enable_thinking": False})
    sent = _budgeted(model, wish, settings, lambda budget: {"enable_thinking": True, "thinking_budget": budget})
    note = "DashScope lets many models think only in streamed replies, which these are not; doctor --probe tells"
    return replace(sent, note=sent.note or note)


def _anthropic_effort(model: Model, wish: str, settings: Judge) -> Thinking:
    if wish == "off":
        return Thinking({"thinking": {"type": "disabled"}})
    adaptive = {"thinking": {"type": "adaptive"}}  # without it some do not think at all, whatever the effort
    return _leveled(model, wish, lambda level: adaptive | {"output_config": {"effort": level}})


def _anthropic_always(model: Model, wish: str, settings: Judge) -> Thinking:
    return _leveled(model, wish, lambda level: {"output_config": {"effort": level}})


def _anthropic_budget(model: Model, wish: str, settings: Judge) -> Thinking:
    if wish == "off":
        return Thinking({"thinking": {"type": "disabled"}})
    return _budgeted(
        model, wish, settings, lambda budget: {"thinking": {"type": "enabled", "budget_tokens": budget}}
    )  # fmt: skip


def _gemini_effort(model: Model, wish: str, settings: Judge) -> Thinking:
    return _leveled(model, wish, lambda level: {"thinking_config": {"thinking_level": level}})


def _gemini_budget(model: Model, wish: str, settings: Judge) -> Thinking:
    if wish == "off":
        return Thinking({"thinking_config": {"thinking_budget": 0}})
    return _budgeted(model, wish, settings, lambda budget: {"thinking_config": {"thinking_budget": budget}})


WAYS: dict[tuple[str, str], Way] = {
    ("openai", "effort"): _openai_effort,
    ("openai", "cannot_disable"): _openai_effort,
    ("openai", "switch"): _openai_switch,
    ("openai", "budget"): _openai_budget,
    ("anthropic", "effort"): _anthropic_effort,
    ("anthropic", "cannot_disable"): _anthropic_always,
    ("anthropic", "budget"): _anthropic_budget,
    ("gemini", "effort"): _gemini_effort,
    ("gemini", "cannot_disable"): _gemini_effort,
    ("gemini", "budget"): _gemini_budget,
}
"""By backend and by the kind that the record gives under `thinking`."""
