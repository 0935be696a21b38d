"""Plain text from text lines: hyphenation undone, ligatures and odd spaces normalised."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

HYPHENS = "-\u00ad\u2010\u2011"
WORD = re.compile(r"[^\W\d_]+(?:[-\u2010\u2011][^\W\d_]+)*")
LAST_WORD = re.compile(r"([^\W\d_][\w]*(?:[-\u2010\u2011]\w+)*)[-\u00ad\u2010\u2011]$")
FIRST_WORD = re.compile(r"^(\w+(?:[-\u2010\u2011]\w+)*)")
SPACES = re.compile(r"[\s\u00a0\u2000-\u200a\u202f\u205f\u3000]+")
INVISIBLE = re.compile(
    r"[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]"
)


# accents that old TeX fonts print before the letter, as characters of their own
ACCENTS = {"´": "\u0301", "`": "\u0300", "¨": "\u0308", "ˆ": "\u0302", "˜": "\u0303", "¸": "\u0327", "ˇ": "\u030c"}
ACCENTED = re.compile(r"([´¨ˆ˜¸ˇ])([A-Za-zı])|(?<=[A-Za-z])(`)([aeiou])|(?<!\S)(`)([aA])(?=\s)")


def normalise(text: str) -> str:
    """NFC, accents set on their letters, ligatures split, control characters removed, one space between words."""
    if text.isascii() and text.isprintable() and "`" not in text:  # most text: nothing to do but spaces
        return " ".join(text.split())
    text = ACCENTED.sub(_accented, unicodedata.normalize("NFC", text))
    for ligature, letters in (
        ("ﬀ", "ff"),
        ("ﬁ", "fi"),
        ("ﬂ", "fl"),
        ("ﬃ", "ffi"),
        ("ﬄ", "ffl"),
        ("ﬅ", "st"),
        ("ﬆ", "st"),
    ):
        text = text.replace(ligature, letters)
    return SPACES.sub(" ", INVISIBLE.sub("", text)).strip()


def _accented(match: re.Match[str]) -> str:
    """Accent and letter as one character, where there is such a one."""
    accent, letter = (part for part in match.groups() if part)
    whole = unicodedata.normalize("NFC", letter.replace("ı", "i") + ACCENTS[accent])
    return whole if len(whole) == 1 else match.group()


class Vocabulary:
    """Words of a document, to tell a hyphen of the word from one of the line break.

    Words at line ends are not counted, since these are what is asked about.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self.words: Counter[str] = Counter()
        for line in lines:
            text = normalise(line)
            found = [
                match.group().lower().replace("\u2010", "-").replace("\u2011", "-") for match in WORD.finditer(text)
            ]
            if found and text[-1:] in HYPHENS:
                found.pop()
            self.words.update(found)

    def joined(self, left: str, right: str) -> str:
        """`left` (ending in a hyphen) and `right` (starting the next line) as one piece of text."""
        stem = left[:-1]
        head = LAST_WORD.search(left[-60:])
        tail = FIRST_WORD.match(right)
        if left[-1] == "\u00ad":
            return stem + right
        if head is None or tail is None:
            return left + right
        a, b = head.group(1).lower(), tail.group(1).lower()
        closed, open_ = self.words[a + b], self.words[f"{a}-{b}"]
        if closed != open_:
            return (stem if closed > open_ else left) + right
        if not tail.group(1)[0].islower() or "-" in a:
            return left + right
        # neither form is known: two known words are a compound, anything else was broken by the line
        first = a.rsplit("-", 1)[-1]
        if self.words[first] > 1 and self.words[b] > 1 and len(first) > 2 and len(b) > 3:
            return left + right
        return stem + right


def join_lines(lines: Sequence[str], vocabulary: Vocabulary) -> str:
    """Lines of one paragraph as running text."""
    return join_with_starts(lines, vocabulary)[0]


def join_with_starts(lines: Sequence[str], vocabulary: Vocabulary) -> tuple[str, list[int]]:
    """Lines of one paragraph as running text, and the offset in it at which each line begins."""
    result = ""
    starts = []
    for line in lines:
        line = normalise(line)
        if not line or not result:
            result = result or line
        elif result[-1] in HYPHENS and len(result) > 1 and result[-2].isalnum() and line[0].isalnum():
            result = vocabulary.joined(result, line)
        elif _cjk(result[-1]) and _cjk(line[0]):
            result += line
        else:
            result += " " + line
        starts.append(len(result) - len(line))
    return result, starts


def _cjk(char: str) -> bool:
    return "\u2e80" <= char <= "\u9fff" or "\uff00" <= char <= "\uffef"
