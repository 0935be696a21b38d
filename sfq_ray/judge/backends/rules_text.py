"""What the rules judge makes of the words: what the caption names, and what the citing sentences claim.

Word lists are English; with other languages the flags stay off and the reasons say what was not found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

METRIC = re.compile(
    r"\b(accurac\w+|precision|recall|f1|auc|auroc|bleu|rouge|perplexit\w+|loss(?:es)?|error(?:s|\s+rate)?|rmse|mae|mse|"
    r"latenc\w+|throughput|runtime|time|speed\w*|memory|energy|power|rate|rates|score|scores|reward|return|regret|"
    r"probabilit\w+|correlation|variance|entropy|similarit\w+|distance|temperature|density|frequenc\w+|percent\w*|"
    r"number|count|fraction|share|ratio|cost|utility|likelihood|iou|psnr|ssim|fid|gain|improvement|performance)\b|[%‰]",
    re.IGNORECASE,
)
GROUPS = re.compile(
    r"\b(?i:vs\.?|versus|compar\w+|against|baselines?|relative to|different|each|per|across|between|both|respectively|"
    r"with(?:out)?\s+and\s+with(?:out)?|methods?|models?|variants?|datasets?|conditions?)\b|"
    r"\b[A-Z][\w-]*[A-Z\d][\w-]*\b|\([a-h]\)|,\s+[\w-]+(?:\s+[\w-]+)?\s+and\s+",
)
COMPARATIVE = re.compile(
    r"\b(better|worse|higher|lower|larger|smaller|faster|slower|more|less|fewer|outperform\w*|exceed\w*|increas\w+|"
    r"decreas\w+|grow\w*|drop\w*|fall\w*|rise\w*|improv\w+|reduc\w+|best|worst|highest|lowest|largest|smallest|than|"
    r"peak\w*|converg\w+|similar|constant|stable|gap|difference\w*|dominat\w+|consistent\w*)\b",
    re.IGNORECASE,
)
UNCERTAINTY = re.compile(
    r"error bars?|standard (?:deviation|error)|confidence|±|\bs\.?d\.?\b|quantile|percentile|variance|\bseeds?\b|"
    r"shaded|min(?:imum)? (?:to|and) max|repetitions?|\bruns\b|intervals?",
    re.IGNORECASE,
)
BASELINE = re.compile(r"\b(baselines?|chance|random|oracle|dashed|reference|control|naive|without)\b", re.IGNORECASE)
ILLUSTRATION = re.compile(
    r"^\W*(?:an?\s+|the\s+)?(?:\w+\s+)?(?:illustrat\w+|architecture|schematic\w*|diagram|flow\s?chart|cartoon|"
    r"screenshot|photo\w*|example\w*)\b",
    re.IGNORECASE,
)
REFERENCE = re.compile(r"\b(?:supplementary\s+)?fig(?:ure)?s?\.?\s*[A-Z]?\.?\d+(?:\s*\(?[a-h]\)?)?", re.IGNORECASE)
NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)?(?![\w])")
WORD = re.compile(r"[^\W\d_]{3,}")
STOP = frozenset(
    """the and for with from that this are was were its our their into over under see figure figures fig figs shown show
    shows also each all can has have had not but than then they which while where when both results result overview
    illustration illustrated depicted presented given more most such other these those using used""".split()  # noqa: SIM905
)
VAGUE_WORDS = 4  # a caption with so few content words says next to nothing
POINTER_WORDS = 5  # a citing sentence with so few content words beside the reference claims nothing
MAX_QUOTE = 90  # characters


@dataclass(frozen=True)
class Words:
    """What caption and citing text say."""

    caption: str
    terms: tuple[str, ...]  # content words of the caption
    numbers: tuple[str, ...]
    metric: str | None  # as named by the caption
    groups: str | None
    uncertainty: str | None
    baseline: str | None
    result: bool  # a result or comparison figure, by the words used about it
    support: str  # none, bare_reference, topical, partial or specific
    claim: str  # the citing sentence with the strongest claim, quoted
    claim_names: tuple[str, ...]  # terms that the claim shares with the caption


def read(caption: str | None, snippets: Sequence[Mapping[str, Any]]) -> Words:
    text = caption or ""
    terms = content_words(text)
    claims = [(_strength(part, terms), part) for s in snippets for part in _citing_sentences(s["text"])]
    strength, claim = max(claims, key=lambda item: item[0]) if claims else (0, "")
    support = ("none", "bare_reference", "topical", "partial", "specific")[strength]
    metric, groups = METRIC.search(text), GROUPS.search(text)
    uncertainty, baseline = UNCERTAINTY.search(text), BASELINE.search(text)
    told = metric is not None or (strength >= 3 and METRIC.search(claim) is not None)
    names = tuple(word for word in content_words(claim) if word in terms)
    return Words(
        text, terms, tuple(NUMBER.findall(text)), _group(metric), _group(groups), _group(uncertainty),
        _group(baseline), told and ILLUSTRATION.search(text) is None, support, quote(claim), names[:6],
    )  # fmt: skip


def content_words(text: str) -> tuple[str, ...]:
    """Words of three letters or more that are no stop words, lower case, each once, in order."""
    return tuple(dict.fromkeys(w.lower() for w in WORD.findall(text) if w.lower() not in STOP))


def quote(text: str) -> str:
    """The beginning of `text` between quotation marks; nothing for nothing."""
    text = " ".join(text.split())
    if not text:
        return ""
    return f'"{text}"' if len(text) <= MAX_QUOTE else f'"{text[: MAX_QUOTE - 1].rstrip()}…"'


def _group(match: re.Match[str] | None) -> str | None:
    return None if match is None else match.group().strip(" ,()")


def _citing_sentences(text: str) -> list[str]:
    """The sentence of each reference and the one after it, which often holds the claim."""
    guarded = re.sub(r"\b(Figs?|al|e\.g|i\.e|vs|cf|Eq|Sec)\.", r"\1․", text)
    parts = [part.replace("․", ".") for part in re.split(r"(?<=[.!?])\s+", guarded)]
    found = []
    for number, part in enumerate(parts):
        if REFERENCE.search(part):
            found.append(" ".join(parts[number : number + 2]))
    return found or parts[:1]


def _strength(claim: str, terms: Sequence[str]) -> int:
    """0 nothing, 1 bare pointer, 2 topic, 3 a claim in part, 4 a specific claim."""
    bare = REFERENCE.sub(" ", claim)
    words = content_words(bare)
    compares = COMPARATIVE.search(bare) is not None
    numbers = len(NUMBER.findall(bare))
    if not claim.strip():
        return 0
    if len(words) < POINTER_WORDS and not numbers:
        return 1
    if compares and (numbers or sum(word in terms for word in words) >= 2):
        return 4
    return 3 if compares or numbers else 2
