"""What a prompt is given of the paper's text: the best citing snippets, and the map of the paper's figures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

ELLIPSIS = "…"
SENTENCE_END = re.compile(r"[.!?][)\]\"'”’]*(?=\s|$)|[。！？][)\]\"'”’）」』]*")
ABBREVIATION = re.compile(r"(?:\b(?:Figs?|Eqs?|Secs?|Tabs?|Refs?|Nos?|vs|cf|approx|resp|etc|al|e\.g|i\.e|[A-Z]))\.$")


def snippets(contexts: Sequence[Mapping[str, Any]], count: int, max_chars: int) -> list[dict[str, Any]]:
    """The first `count` citing paragraphs (the best come first), each of at most `max_chars` characters.

    A longer one is cut at sentence ends around its first matched reference, which is never cut itself.
    """
    return [
        {"section": context["section"], "text": cut_around(context["text"], _first_span(context), max_chars)}
        for context in contexts[:count]
    ]


def _first_span(context: Mapping[str, Any]) -> tuple[int, int]:
    spans = context["spans"] or []
    return (spans[0]["start"], spans[0]["end"]) if spans else (0, 0)


def cut_around(text: str, span: tuple[int, int], max_chars: int) -> str:
    """The sentences of `text` around `span` that fit into `max_chars`, with an ellipsis for what is left out."""
    if len(text) <= max_chars:
        return text
    sentences = sentence_bounds(text)
    first = last = next((i for i, (_, end) in enumerate(sentences) if end > span[0]), len(sentences) - 1)
    while last + 1 < len(sentences) and sentences[last][1] < span[1]:
        last += 1
    room = max_chars - 4  # two ellipses with their spaces
    if sentences[last][1] - sentences[first][0] > room:
        return _cut_words(text, span, sentences[first][0], sentences[last][1], room)
    grown = True
    while grown:  # forwards first: what follows a reference explains it
        grown = False
        if last + 1 < len(sentences) and sentences[last + 1][1] - sentences[first][0] <= room:
            last, grown = last + 1, True
        if first > 0 and sentences[last][1] - sentences[first - 1][0] <= room:
            first, grown = first - 1, True
    return _marked(text, sentences[first][0], sentences[last][1])


def sentence_bounds(text: str) -> list[tuple[int, int]]:
    """[start, end) of every sentence; "Fig. 3" and "et al." end none."""
    bounds = []
    start = 0
    for match in SENTENCE_END.finditer(text):
        if ABBREVIATION.search(text[start : match.start() + 1]):
            continue
        bounds.append((start, match.end()))
        start = match.end()
        while start < len(text) and text[start].isspace():
            start += 1
    if start < len(text):
        bounds.append((start, len(text)))
    return bounds


def _cut_words(text: str, span: tuple[int, int], low: int, high: int, room: int) -> str:
    """A sentence that is too long is cut at word ends, the reference in its middle."""
    spare = max(0, room - (span[1] - span[0]))
    start = max(low, span[0] - spare // 2)
    end = min(high, max(span[1], start + room))
    start = max(low, min(start, end - room))
    if start > low:
        space = text.find(" ", start, span[0])
        start = space + 1 if space >= 0 else start
    if end < high:
        space = text.rfind(" ", span[1], end)
        end = space if space >= 0 else end
    return _marked(text, start, end)


def _marked(text: str, start: int, end: int) -> str:
    before = f"{ELLIPSIS} " if start > 0 else ""
    after = f" {ELLIPSIS}" if end < len(text) else ""
    return f"{before}{text[start:end].strip()}{after}"


def figure_map(rows: Sequence[Mapping[str, Any]], max_chars: int = 220) -> list[dict[str, Any]]:
    """Label and shortened caption of every labelled figure of a paper."""
    return [
        {"label": row["label"], "caption": shorten(row["caption"] or "", max_chars)}
        for row in rows
        if row["label"] is not None
    ]


def shorten(text: str, max_chars: int) -> str:
    """The beginning of `text` up to a word end, with an ellipsis, in at most `max_chars` characters."""
    if len(text) <= max_chars:
        return text
    space = text.rfind(" ", 0, max_chars)
    return text[: space if space > 0 else max_chars - 1].rstrip() + ELLIPSIS
