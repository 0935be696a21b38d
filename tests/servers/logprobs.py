"""Log probabilities as OpenAI returns them: one entry a token, alternatives for numbers.

https://platform.openai.com/docs/api-reference/chat/object
"""

from __future__ import annotations

import math
import re
from typing import Any

TOKEN = re.compile(r"\d{1,3}|[^\W\d]+|[^\w\s]|\s+|.", re.DOTALL)
DECAY = 0.4  # probability of each alternative relative to the one before it


def token_logprobs(text: str, top: int) -> list[dict[str, Any]]:
    """Entries whose tokens make up `text`; `top` alternatives for a number, which are the numbers nearest to it."""
    return [_entry(token, top) for token in TOKEN.findall(text)]


def _entry(token: str, top: int) -> dict[str, Any]:
    choices = [token]
    if token.isascii() and token.isdigit():
        value = int(token)
        near = [value + step for distance in range(1, top + 1) for step in (-distance, distance)]
        choices += [str(number) for number in near if number >= 0]
    choices = choices[: max(1, top)]
    weights = [DECAY**rank for rank in range(len(choices))]
    total = sum(weights) if len(choices) > 1 else 1.001
    scored = [_scored(choice, math.log(weight / total)) for choice, weight in zip(choices, weights, strict=True)]
    return {**scored[0], "top_logprobs": scored[:top]}


def _scored(token: str, logprob: float) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode())}
