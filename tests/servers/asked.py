"""What the wire formats have in common: a call as it came, what it asks for, and what is answered."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from servers.models import Model
from servers.pictures import Picture

CHARS_PER_TOKEN = 4
PIXELS_PER_TOKEN = 750  # https://platform.claude.com/docs/en/build-with-claude/vision
REASONING_TOKENS = 64


@dataclass(frozen=True)
class Call:
    """An HTTP request as it came. Names of headers are in lower case, the path is without its query."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def content(self) -> str:
        """SHA-256 of path and body: two calls with the same content would be paid twice."""
        return hashlib.sha256(self.path.encode() + b"\0" + self.body).hexdigest()


class Refused(Exception):
    """The provider does not serve a call.

    kind: no_key, bad_key, unknown_model, invalid, rate_limited, server_error, overloaded. Each wire format knows the
    status and the shape that go with it. `param` is the field at fault, `code` the provider's own word for the fault.
    """

    def __init__(
        self,
        kind: str,
        message: str = "",
        param: str | None = None,
        code: str | None = None,
        wait_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind, self.message, self.param, self.code, self.wait_s = kind, message, param, code, wait_s


@dataclass(frozen=True)
class Asked:
    """What a valid call asks for, whatever its wire format.

    schema        the JSON Schema that the provider enforces, where one was given
    json_only     the reply is bare JSON: a schema, a JSON mode or a forced tool
    tool          the tool that the reply must call
    caches        the provider keeps the system text for later calls
    """

    call: Call
    key: str
    model: str
    record: Model
    system: str
    text: str
    pictures: tuple[Picture, ...] = ()
    schema: Mapping[str, Any] | None = None
    json_only: bool = False
    tool: str | None = None
    thinking: bool = False
    max_tokens: int | None = None
    top_logprobs: int | None = None
    caches: bool = True

    @property
    def content(self) -> str:
        return self.call.content

    @property
    def prompt_tokens(self) -> int:
        pixels = sum(picture.width * picture.height for picture in self.pictures)
        return tokens(self.system) + tokens(self.text) + pixels // PIXELS_PER_TOKEN


@dataclass(frozen=True)
class Usage:
    """Tokens of a call. `prompt` includes what was read from the cache, `completion` includes the reasoning."""

    prompt: int
    completion: int
    cached: int = 0
    cache_written: int = 0
    reasoning: int = 0


@dataclass(frozen=True)
class Outcome:
    """What the model said. finish: stop, length or refusal; each wire format has its own word for it."""

    text: str
    finish: str
    usage: Usage


@dataclass(frozen=True)
class Response:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def json_response(status: int, value: Any, headers: Mapping[str, str] | None = None) -> Response:
    return Response(status, json.dumps(value).encode(), {"content-type": "application/json", **(headers or {})})


def tokens(text: str) -> int:
    return -(-len(text) // CHARS_PER_TOKEN)


def json_body(call: Call) -> dict[str, Any]:
    try:
        body = json.loads(call.body)
    except ValueError:
        raise Refused("invalid", "We could not parse the JSON body of your request.") from None
    if not isinstance(body, dict):
        raise Refused("invalid", "The body of the request must be a JSON object.")
    return body


def first_unknown(value: Mapping[str, Any], known: Collection[str]) -> str | None:
    return next((name for name in value if name not in known), None)


def tool_input(text: str) -> dict[str, Any] | None:
    """The arguments of a tool call; None where the model wrote something else than an object."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
