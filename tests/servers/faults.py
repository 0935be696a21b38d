"""What can go wrong with a call, and scripts that say when it does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from servers.asked import Asked, Refused

FAULTS = (
    # the provider does not serve the call: it is not charged
    "429",  # rate limited, saying how long to wait, the way the provider says it
    "429_no_header",  # rate limited, not saying it
    "500",
    "529",  # overloaded: 529 from Anthropic, 503 elsewhere
    "html_error",  # a gateway's 502 page
    # the call is served and charged, but the reply does not arrive, or late
    "reset",  # the connection is reset in the middle of the reply
    "slow",  # the reply comes after so many seconds
    "hang",  # it never comes
    "not_json_200",  # the body of the reply is cut in half
    # the reply arrives, and the model's words are no judgement
    "empty",
    "truncated",  # half of the text, finish reason length
    "whitespace_loop",  # a beginning and 2000 spaces, finish reason length
    "prose",  # the JSON with words around it
    "wrong_types",  # numbers as words, lists as text
    "out_of_range",  # scores of 11
    "extra_keys",
    "refusal",
    "duplicate_keys",
)
UNCHARGED = frozenset(FAULTS[:5])
SCORES = ("score", "confidence", "score_cap")
DEFAULT_S = 1.0

Script = Callable[[Asked, int], str | None] | Sequence[str | None]


@dataclass(frozen=True)
class Fault:
    """A fault by its name; `seconds` of a "slow" or a "429", written as in "slow:0.2"."""

    name: str
    seconds: float = DEFAULT_S

    @staticmethod
    def read(text: str) -> Fault:
        name, _, seconds = text.partition(":")
        if name not in FAULTS:
            raise ValueError(f"{name!r} is no fault; known: {', '.join(FAULTS)}")
        return Fault(name, float(seconds or DEFAULT_S))


def faulty(rate: float, seed: int, kinds: Sequence[str]) -> Callable[[Asked, int], str | None]:
    """A script under which a share `rate` of the calls meets one of `kinds`; when asked again, the dice are cast anew.

    It depends on nothing but the call's content and on how often that came before: not on order or timing.
    """

    def script(asked: Asked, seen: int) -> str | None:
        digest = hashlib.sha256(f"{seed} {seen} {asked.content}".encode()).digest()
        fraction, choice = int.from_bytes(digest[:6]) / 2**48, int.from_bytes(digest[6:8])
        return kinds[choice % len(kinds)] if fraction < rate else None

    return script


def following(script: Script | None) -> Callable[[Asked, int], Fault | None]:
    """Any script as a function. A sequence serves the calls in the order in which they come, then all is well."""
    if script is None:
        return lambda asked, seen: None
    if callable(script):
        decide = script
    else:
        left = iter(tuple(script))

        def decide(asked: Asked, seen: int) -> str | None:
            return next(left, None)

    def named(asked: Asked, seen: int) -> Fault | None:
        text = decide(asked, seen)
        return None if text is None else Fault.read(text)

    return named


def refuse(fault: Fault | None) -> None:
    """Raises Refused for the faults that a provider answers with an error of its own."""
    if fault is None:
        return
    if fault.name in ("429", "429_no_header"):
        raise Refused("rate_limited", "requests", wait_s=fault.seconds if fault.name == "429" else None)
    if fault.name in ("500", "529"):
        raise Refused("server_error" if fault.name == "500" else "overloaded")


def spoil(fault: Fault | None, text: str) -> tuple[str, str]:
    """(text, finish) of a reply after the fault; "stop" where the fault leaves the words alone."""
    if fault is None or fault.name not in SPOILS:
        return text, "stop"
    return SPOILS[fault.name](text)


def _truncated(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], "length"


def _whitespace_loop(text: str) -> tuple[str, str]:
    return text[: text.find(",") + 1] + " " * 2000, "length"


def _prose(text: str) -> tuple[str, str]:
    return f"Here is my judgement of the figure.\n\n{text}\n\nLet me know if you need more detail.", "stop"


def _duplicate_keys(text: str) -> tuple[str, str]:
    value = _value(text)
    first = json.dumps(dict([next(iter(value.items()))]))
    return f"{first[:-1]}, {json.dumps(value, ensure_ascii=False)[1:]}", "stop"


def _edited(edit: Callable[[str, Any], Any]) -> Callable[[str], tuple[str, str]]:
    """A fault that changes values: `edit(key, value)` is called for every value that is not an object."""

    def walk(key: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {k: walk(k, v) for k, v in value.items()}
        return edit(key, value)

    return lambda text: (json.dumps(walk("", _value(text)), ensure_ascii=False), "stop")


def _wrong_type(key: str, value: Any) -> Any:
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return str(value) if isinstance(value, int | float) else value


def _value(text: str) -> dict[str, Any]:
    return json.loads(text[text.find("{") : text.rfind("}") + 1] or "{}")


SPOILS: dict[str, Callable[[str], tuple[str, str]]] = {
    "empty": lambda text: ("", "stop"),
    "truncated": _truncated,
    "whitespace_loop": _whitespace_loop,
    "prose": _prose,
    "wrong_types": _edited(_wrong_type),
    "out_of_range": _edited(lambda key, value: 11 if key.endswith(SCORES) else value),
    "extra_keys": lambda text: (json.dumps(_value(text) | {"overall": 8}, ensure_ascii=False), "stop"),
    "refusal": lambda text: ("", "refusal"),
    "duplicate_keys": _duplicate_keys,
}
