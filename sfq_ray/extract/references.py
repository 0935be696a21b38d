"""References to figures in running text: which figure labels a text names, and where.

A reference is a figure word ("Figure", "Figs.", "Abb.", "图") with one or more labels behind it. What is a label and
what a panel letter behind one is settled by the labels the paper really has: "Fig. 6A" is panel A of figure 6 unless
a figure is labelled 6A. A label that the paper doesn't have is never bound.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

MAX_RANGE = 30  # figures in one "Figures 3-5"; a longer one is no range of figures

SINGULAR = (
    r"(?:figure|fig|figura|fig[uú]ra|figuur|figur|abbildung|abb|рисун(?:ок|ка|ке|ку|ком)|рис|rysunek|rys|"
    r"obr[aá]zek|obr|şekil|hình|kuva)"
)
PLURAL = r"(?:figures|figs|figuras|figuren|figurer|abbildungen|рисунк(?:и|ах|ов|ам))"
UNSPACED = r"(?:图|圖|図|그림)"  # words of scripts that put no space before them
SUPPLEMENT = r"(?P<supplement>(?:supplementary|supplemental|suppl?\.?|extended\s+data)\s+)?"
WORD = re.compile(
    rf"(?<![\w-]){SUPPLEMENT}(?:(?P<plural>{PLURAL})|{SINGULAR})\b\s?\.?[\s~]*|{UNSPACED}\s*", re.IGNORECASE
)
LABEL = re.compile(
    r"(?:[A-Z]{1,2}[.\-–]?)?\d{1,3}(?:[.\-–]\d{1,3})*(?![\d%])|[IVXL]{1,6}(?![A-Za-z])|[A-Z](?![A-Za-z'’])"
)
RANGE = r"(?:[-–—−]|(?:to|through|bis|до|à|a)\b)"
LIST = r"(?:,\s?(?:and|or|und|et)\b|[,;&/、，]|(?:and|or|und|et|y|e|en|и|oder|ou)\b|和|及|と)"
CONNECTOR = re.compile(
    rf"\s*(?:(?P<range>{RANGE})\s*(?:(?:{PLURAL}|{SINGULAR})\b\s?\.?\s*)?|(?P<list>{LIST})\s*)", re.IGNORECASE
)
# behind a singular "Figure 3 and 4": shows that 4 is a label, not a number of something
NO_QUANTITY = re.compile(
    r"\s*(?:$|[).;:,\]、。]|(?:show|illustrat|depict|present|plot|compar|report|display|demonstrat|indicat|giv|are|were|"
    r"in|for|of|we|to|as|that|which|respectively|also|both|suggest|summari|reveal|highlight|visuali)\w*\b)"
)
CLOSED = re.compile(r"\s*(?:$|[).;:\]])")

BRACKETED_PANELS = re.compile(r"\s?\(\s?(?P<first>[A-Za-z])(?P<rest>[^()]{0,20})\s?\)", re.ASCII)
GLUED_PANEL = re.compile(r"[.\-]?(?P<first>[A-Za-z])(?![A-Za-z\d])", re.ASCII)
NEXT_PANEL = re.compile(
    r"\s?(?P<join>[-–—]|to\b|,\s?and\b|[,&/]|and\b)\s?\(?(?P<letter>[A-Za-z])(?![A-Za-z\d])\)?", re.ASCII
)
PANEL_STEP = 5  # "6A,E" skips panels; "3a, x" doesn't go on to panel x
SIDE = re.compile(
    r"\s?[,(:]?\s?(?P<side>(?:top|bottom|upper|lower|left|right|middle|cent(?:er|re))"
    r"(?:[-\s](?:left|right|row|panel))?)(?=\s?[),.;])",
    re.IGNORECASE,
)

CITATION = (
    r"(?:\[[\w+, -]*\d|[A-Z][\w'’-]+(?:\s(?:and|&)\s[A-Z][\w'’-]+)?,?\s[(\[]?(?:19|20)\d\d|"
    r"[A-Z][\w'’-]+\s(?:et\sal\b|and\scolleagues|and\scoworkers))"
)
OTHER_PAPER = (
    r"(?:(?:that|their|his|her|its|the)\s(?:(?:original|cited|same|previous|first|main|companion|full)\s)?"
    r"(?:paper|work|article|manuscript|report|thesis|book)\b|the\s(?:main|original)\stext\b|ref(?:erence|s|\.)?\s?\[?\d)"
)
FOREIGN_AFTER = re.compile(rf"\s*,?\s?\(?(?:of|in|from|by|taken from|adapted from)\s\(?(?:{CITATION}|{OTHER_PAPER})")
FOREIGN_BEFORE = re.compile(
    r"(?:\b(?:[Tt]heir|[Hh]is|[Hh]er)\s|['’]s?\s|\[[^\[\]]*\d[^\[\]]*,\s?(?:see\s|cf\.\s)?|"
    r"\([^()]*(?:19|20)\d\d[a-z]?,\s?(?:see\s|cf\.\s)?)$"
)


@dataclass(frozen=True)
class Reference:
    """A figure named in a text. `label` is normalised; [start, end) is the whole phrase, as in "Figures 2 and 4"."""

    label: str
    start: int
    end: int
    panels: tuple[str, ...] = ()  # "a", "b"; or the part named in words: "left"


def normalise_label(label: str) -> str:
    """One spelling per label: "A.1", "A-1" and "A1" are "A1", full-width digits are digits, "3." is "3".

    Figure words are left out; "Supplementary Figure 1" is "S1", "Extended Data Fig. 1" is "ED1".
    """
    text = unicodedata.normalize("NFKC", label).strip()
    word = WORD.match(text)
    if word is not None and word.end() < len(text):
        text = (_prefix(word) if text[word.end()].isdigit() else "") + text[word.end() :]
    text = re.sub(r"[\s\u00ad\u200b]", "", text).translate({0x2010: "-", 0x2011: "-", 0x2013: "-"}).strip(".:|()-")
    return re.sub(r"^([A-Za-z]+)[.\-](?=\d)", r"\1", text).upper()


def _prefix(word: re.Match[str]) -> str:
    """What a figure word puts before a bare number."""
    supplement = (word["supplement"] or "").lower()
    return "ED" if supplement.startswith("ext") else "S" if supplement else ""


def find_references(text: str, labels: Iterable[str]) -> list[Reference]:
    """References in `text` to the figures of this paper, whose labels are `labels`, in order of appearance.

    Ranges are expanded to those of their labels that exist. Figures of other works ("Figure 1 of [12]", "their
    Figure 2") are left out.
    """
    known = {normalise_label(label) for label in labels}
    found: list[Reference] = []
    end = 0
    for word in WORD.finditer(text):
        if word.start() < end:
            continue
        items = _items(text, word, known)
        if not items:
            continue
        end = items[-1].end
        if not _foreign(text, word.start(), end):
            found.extend(_references(items, known, word.start(), end))
    return found


def label_of_link(text: str, labels: Iterable[str]) -> str | None:
    """The label that a link's own text is: "3", "Fig. 3a" or "1(c)"; None when it's no single label of the paper."""
    known = {normalise_label(label) for label in labels}
    text = re.sub(r"^[\s(\[]*|[\s\].,;]*$", "", text)
    word = WORD.match(text)
    item = _item(text, word.end() if word else 0, known, _prefix(word) if word else "", "")
    return item.label if item and item.end >= len(text) - 1 else None


@dataclass(frozen=True)
class _Item:
    """One label of a list of labels; None for a number that no figure has."""

    label: str | None
    end: int
    panels: tuple[str, ...]
    join: str  # how it's joined to the one before: "", "range" or the word between


def _items(text: str, word: re.Match[str], known: set[str]) -> list[_Item]:
    prefix = _prefix(word)
    first = _item(text, word.end(), known, prefix, "")
    items = [first] if first else []
    while items and (connector := CONNECTOR.match(text, items[-1].end)):
        join = "range" if connector["range"] else connector["list"]
        item = _item(text, connector.end(), known, prefix, join)
        if item is None or (join == "range" and _between(items[-1].label, item.label, known) is None):
            break
        items.append(item)
    if not word["plural"]:
        while len(items) > 1 and not _ends_list(text, items[-1]):
            items.pop()
    return items


def _ends_list(text: str, item: _Item) -> bool:
    """After a singular word: the last label is one, and not a number of things."""
    if item.label is None:
        return False
    rest = CLOSED if item.join == "," else NO_QUANTITY
    return item.join == "range" or rest.match(text, item.end) is not None


def _item(text: str, start: int, known: set[str], prefix: str, join: str) -> _Item | None:
    match = LABEL.match(text, start)
    if match is None:
        return None
    for label, end in _readings(text, match, prefix):
        if label in known:
            panels, end = _panels(text, end)
            return _Item(label, end, panels, join)
    if not match.group()[-1].isdigit():
        return None
    panels, end = _panels(text, match.end())
    return _Item(None, end, panels, join)


def _readings(text: str, match: re.Match[str], prefix: str) -> list[tuple[str, int]]:
    """What a label may be, longest first: "3a", "3.1", "3" (with where each ends)."""
    start, end = match.span()
    ends = [end]
    for cut in re.finditer(r"[.\-–]", match.group()):
        ends.append(start + cut.start())
    if text[end : end + 1].isalpha() and not text[end + 1 : end + 2].isalpha():
        ends.append(end + 1)
    readings = [(normalise_label(text[start:stop]), stop) for stop in sorted(ends, reverse=True)]
    # a bare number behind "Supplementary Figure" is not one of the paper's own count
    return [(f"{prefix}{label}" if label[:1].isdigit() else label, stop) for label, stop in readings]


def _panels(text: str, end: int) -> tuple[tuple[str, ...], int]:
    """Panels named behind a label, in lower case, and where they end."""
    letters: list[str] = []
    bracket = BRACKETED_PANELS.match(text, end)
    glued = GLUED_PANEL.match(text, end)
    if bracket and not re.search(r"[A-Za-z]{2}", bracket["rest"].replace("and", "").replace("to", "")):
        letters = _letters(bracket["first"] + bracket["rest"])
        end = bracket.end()
    elif glued:
        letters = [glued["first"]]
        end = glued.end()
    while letters and (more := NEXT_PANEL.match(text, end)):
        last, letter = letters[-1], more["letter"]
        if not 0 < ord(letter) - ord(last) <= PANEL_STEP:
            break
        letters.extend(_letters(f"{last} {more['join']} {letter}")[1:])
        end = more.end()
    side = SIDE.match(text, end)
    if side:
        return (*_lower(letters), side["side"].lower()), side.end("side")
    return _lower(letters), end


def _lower(letters: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(letter.lower() for letter in letters))


def _letters(text: str) -> list[str]:
    """The panels of "a, b and d" or "a-c"."""
    found: list[str] = []
    for token in re.finditer(
        r"(?P<to>[-–—]|to)?\s?(?<![A-Za-z])(?P<letter>[A-Za-z])(?![A-Za-z])", text.replace("to", "-")
    ):
        letter = token["letter"]
        if token["to"] and found and found[-1] < letter:
            found.extend(chr(code) for code in range(ord(found[-1]) + 1, ord(letter)))
        found.append(letter)
    return found


def _between(first: str | None, last: str | None, known: set[str]) -> list[str] | None:
    """The labels strictly inside a range that exist; None when the two make no range."""
    a, b = (re.fullmatch(r"(.*?)(\d+)", label or "") for label in (first, last))
    if a is None or b is None or a[1] != b[1] or not 0 < int(b[2]) - int(a[2]) <= MAX_RANGE:
        return None
    return [label for n in range(int(a[2]) + 1, int(b[2])) if (label := f"{a[1]}{n}") in known]


def _references(items: list[_Item], known: set[str], start: int, end: int) -> list[Reference]:
    found: list[Reference] = []
    for before, item in zip([None, *items], items, strict=False):
        if item.join == "range" and before is not None:
            found.extend(Reference(label, start, end) for label in _between(before.label, item.label, known) or ())
        if item.label is not None:
            found.append(Reference(item.label, start, end, item.panels))
    return found


def _foreign(text: str, start: int, end: int) -> bool:
    """The figure is one of another work."""
    return bool(FOREIGN_AFTER.match(text, end) or FOREIGN_BEFORE.search(text[max(0, start - 120) : start]))
