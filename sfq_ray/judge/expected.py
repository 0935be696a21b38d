"""Expected scores: the mean of a dimension's score under the model's own probabilities of the token it wrote there.

They stand beside the integer scores, which stay the protocol's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sfq_ray.rubric import DIMENSIONS, SCORE_MAX, SCORE_MIN

SCORE = re.compile(r'"(VC|SL|CC|CTX|MR)"\s*:\s*\{\s*"score"\s*:\s*(10|[1-9])\b')


@dataclass(frozen=True)
class Token:
    """A token of a reply, with the log-probabilities of the alternatives at its place, its own included."""

    text: str
    logprobs: Mapping[str, float]


def expected_scores(text: str, tokens: Sequence[Token]) -> dict[str, float]:
    """By dimension; only those whose score is one token of the reply. Empty without log-probabilities.

    Alternatives that are no score are left out and the rest is scaled up, so a model that wavers between 7 and a
    quotation mark has 7.
    """
    if not tokens or not "".join(token.text for token in tokens).startswith(text):
        return {}  # a token more is the one that ends the reply, which servers of vLLM list too
    starts: dict[int, Token] = {}
    position = 0
    for token in tokens:
        starts[position] = token
        position += len(token.text)
    found: dict[str, float] = {}
    for match in SCORE.finditer(text):
        written = starts.get(match.start(2)) or _with_space(starts, match.start(2))
        if written is None or written.text.strip() != match.group(2) or match.group(1) in found:
            continue
        weights: dict[int, float] = {}
        for other, logprob in written.logprobs.items():
            if re.fullmatch(r"\s*(?:10|[1-9])", other):
                value = int(other)
                weights[value] = weights.get(value, 0.0) + math.exp(logprob)
        if weights and all(SCORE_MIN <= value <= SCORE_MAX for value in weights):
            found[match.group(1)] = sum(v * w for v, w in weights.items()) / sum(weights.values())
    return {str(d): found[str(d)] for d in DIMENSIONS if str(d) in found}


def _with_space(starts: Mapping[int, Token], at: int) -> Token | None:
    """The token that begins with a space before `at`."""
    token = starts.get(at - 1)
    return token if token is not None and token.text[:1].isspace() else None
