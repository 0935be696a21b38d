"""Backends: where a request becomes a reply. The narrow waist that every judge goes through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from sfq_ray.judge.images import Sent
from sfq_ray.registry import lookup

if TYPE_CHECKING:
    from sfq_ray.config import Judge
    from sfq_ray.judge.calls import Request
    from sfq_ray.judge.capabilities import Model

BACKENDS: dict[str, str] = {
    "rules": "sfq_ray.judge.backends.rules:RulesBackend",
    "openai": "sfq_ray.judge.backends.openai:OpenAIBackend",
    "anthropic": "sfq_ray.judge.backends.anthropic:AnthropicBackend",
    "gemini": "sfq_ray.judge.backends.gemini:GeminiBackend",
    "bedrock": "sfq_ray.judge.backends.bedrock:BedrockBackend",
    "vllm": "sfq_ray.judge.backends.vllm:VLLMBackend",
}


@dataclass(frozen=True)
class Usage:
    """Tokens as the backend counted them; None where it does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True)
class Reply:
    """A reply as it came. latency_s: seconds until it was there, None for the rules, which do not wait."""

    text: str
    finish_reason: str
    usage: Usage | None = None
    latency_s: float | None = None
    response_id: str | None = None  # the provider's
    resolved_model: str | None = None  # as the provider names what answered
    sent: Sent | None = None  # the image as it went out, where there was one
    # mean score by dimension under the model's own probabilities, where the backend gives them (judge.expected)
    expected: Mapping[str, float] = field(default_factory=dict)


class Backend(Protocol):
    """Attributes are only read."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def params(self) -> Mapping[str, Any]:
        """All else that determines a reply: decoding, reply form, limits of the image."""
        ...

    @property
    def reads_measurements(self) -> bool:
        """True for a backend without eyes: it is given measurements of the image instead."""
        ...

    async def complete(self, request: Request) -> Reply:
        """Raises judge.errors.CallError."""
        ...


def load_backend(model: Model, settings: Judge) -> Backend:
    """The backend of the model's record, ready to answer.

    Raises ConfigError for an unknown backend or a missing key, FatalError for a missing package.
    """
    backend: Backend = lookup(BACKENDS, model.backend, "judge.backend")(model, settings)
    return backend
