"""What a citing paragraph does with a figure: points at it, describes it, or claims a comparison or trend from it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

WEIGHTS = {"comparative": 1.0, "descriptive": 0.7, "pointer": 0.3}

SENTENCE_END = re.compile(
    r"(?<=[.!?])(?<!\b[Ff]ig\.)(?<!\b[Ff]igs\.)(?<!\b[Ee]q\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bal\.)(?<!\bcf\.)(?<!\bvs\.)"
    r"\s+(?=[\W\d]*[A-ZÀ-ÞА-Я])|(?<=[。！？])"
)
COMPARISON = re.compile(
    r"\b(?:\w+er than|more|less|fewer|better|worse|best|worst|higher|lower|highest|lowest|larger|smaller|largest|"
    r"smallest|greater|stronger|weaker|faster|slower|increas\w*|decreas\w*|improv\w*|reduc(?:es?|ed|tions?)|degrad\w*|"
    r"declin\w*|drop(?:s|ped|ping)?|gain(?:s|ed)?|ris(?:es?|ing)|grow(?:s|ing|th)?|fall(?:s|ing)?|outperform\w*|exceed\w*|"
    r"surpass\w*|superior|inferior|compar(?:ed|able|ably|ison|isons|es?|ing)|versus|vs|trends?|correlat\w*|converg\w*|"
    r"diverg\w*|peaks?|plateaus?|saturat\w*|significant(?:ly)?|similar(?:ly)?|differ(?:s|ence|ences)?|whereas|at least|"
    r"at most|twice|times)\b|\d\s?[%×]",
    re.IGNORECASE,
)
POINTING = re.compile(
    r"(?:a|additional|all|an|and|are|as|also|at|be|been|below|above|by|can|could|depicted|depicts|detail|"
    r"detailed|details|displayed|displays|e|example|examples|figure|figures|fig|figs|following|follows|for|"
    r"found|from|full|further|g|given|gives|have|here|how|i|illustrated|illustrates|illustration|in|is|it|its|"
    r"list|listed|more|next|note|of|on|or|our|overview|please|plotted|plots|presented|presents|provide|"
    r"provided|provides|reader|refer|referred|report|reported|reports|respectively|result|results|see|seen|"
    r"show|shown|shows|summarised|summarized|that|the|their|them|these|they|this|to|us|visualised|visualized|"
    r"was|we|were|which|with)",
    re.IGNORECASE,
)
MIN_CLAIM_WORDS = 4  # content words beside the reference; a sentence with fewer only points
WORD = re.compile(r"[^\W\d_]+")


def cue(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """pointer, descriptive or comparative: the strongest that a sentence with one of the references makes.

    A sentence that only points is read with the sentence after it, unless that one has a reference itself. A paragraph
    without spans (a link is all there is) is read as a whole.
    """
    sentences, without = list(_sentences(text)), _without(text, spans)
    starts, ends = sorted(start for start, _ in spans), sorted(end for _, end in spans)
    citing = [bisect_left(starts, stop) > bisect_right(ends, begin) for begin, stop in sentences]
    strongest = "pointer"
    for index, (begin, stop) in enumerate(sentences):
        if spans and not citing[index]:
            continue
        kind = _kind(without[begin:stop])
        if kind == "pointer" and index + 1 < len(sentences) and not citing[index + 1]:
            kind = _kind(text[slice(*sentences[index + 1])])
        strongest = max(strongest, kind, key=WEIGHTS.__getitem__)
    return strongest


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for match in SENTENCE_END.finditer(text):
        yield begin, match.start()
        begin = match.end()
    yield begin, len(text)


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text, as long as before, with blanks for the references."""
    characters = list(text)
    for start, end in spans:
        characters[start:end] = " " * (end - start)
    return "".join(characters)


def _kind(sentence: str) -> str:
    words = WORD.findall(sentence)
    content = sum(len(word) / 2 if word[0] >= "\u2e80" else 1 for word in words if not POINTING.fullmatch(word))
    if content < MIN_CLAIM_WORDS:
        return "pointer"
    return "comparative" if COMPARISON.search(sentence) else "descriptive"
