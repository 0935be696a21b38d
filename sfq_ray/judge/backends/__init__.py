"""Backends: where a request becomes a reply. The narrow waist that every judge goes through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sfq_ray.registry import lookup

if TYPE_CHECKING:
    from sfq_ray.judge.calls import Request

BACKENDS: dict[str, str] = {"rules": "sfq_ray.judge.backends.rules:RulesBackend"}


@dataclass(frozen=True)
class Usage:
    """Tokens as the backend counted them; None where it does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True)
class Reply:
    """A reply as it came. latency_s: seconds on the wire, None for backends inside the process."""

    text: str
    finish_reason: str
    usage: Usage | None = None
    latency_s: float | None = None


class Backend(Protocol):
    name: str
    model: str
    params: Mapping[str, Any]  # all else that determines a reply: decoding, reply form, limits of the image
    reads_measurements: bool  # True for a backend without eyes: it is given measurements of the image instead

    async def complete(self, request: Request) -> Reply:
        """Raises judge.errors.CallError."""
        ...


def load_backend(name: str) -> Backend:
    """The backend registered as `name`. Raises ConfigError naming the known ones."""
    return lookup(BACKENDS, name, "judge.backend")()
