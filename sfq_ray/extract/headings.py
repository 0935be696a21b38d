"""Headings among the rows of a document: by their type, the space above them, their number or their name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from sfq_ray.extract.document import Page
from sfq_ray.extract.reading import Column
from sfq_ray.extract.rows import Row, body_size

FOOTNOTE_SIZE = 0.93  # of the body size
NAMED_HEADING = re.compile(
    r"(?:abstract|introduction|related works?|background|methods?|materials and methods|experiments?|evaluation|"
    r"results(?: and discussion)?|discussion|conclusions?|limitations|acknowledge?ments?|appendix|appendices|"
    r"supplementary materials?|r[ée]sum[ée]|zusammenfassung|摘要|要旨)\W*",
    re.IGNORECASE,
)
REFERENCES = re.compile(
    r"(?:[\dIVX]+\.?\s+)?(?:references|bibliography|literature cited|r[ée]f[ée]rences|bibliographie|"
    r"literatur(?:verzeichnis)?|referencias|bibliograf[ií]a|список литературы|литература|参考文献|참고문헌)\W*",
    re.IGNORECASE,
)
APPENDIX = re.compile(
    r"(?:appendi(?:x|ces)|supplementa(?:ry|l)\b|supporting information|anhang|annexes?\b|附[录錄]|付録|부록)",
    re.IGNORECASE,
)
NUMBERED = re.compile(
    r"(?:(?:\d{1,2}|[A-Z])(?:\.\d{1,2})*\.?|[IVX]{1,5}\.|§\s?\d+|(?:[Aa]ppendix|APPENDIX)\s+[A-Z][:.]?)\s+[^\Wa-z_]"
)
BULLET = re.compile(r"(?:[•◦▪●■‣∙·►▶➤✓⋆*]|[–—]\s)\s*")
WORD = re.compile(r"[^\W\d_]{3,}")
MAX_HEADING_CHARS = 120
MAX_HEADING_GAP = 2.5  # em, as between number and title
MAX_HEADING_ROWS = 3
TITLE_SIZE = 1.28  # of the body size: the title of the paper and what stands below it are no section
SANS_FONT = re.compile(r"helvet|arial|sans|nimbussan|biolinum|calibri|gothic|verdana|roboto", re.IGNORECASE)
MATH_FONT = re.compile(
    r"(?:cm|lm)(?:mi|sy|ex|mathi|maths)|math|msam|msbm|eufm|rsfs|symbol|esint|txsy|mtmi|mtsy", re.IGNORECASE
)


@dataclass(frozen=True)
class BodyStyle:
    """How the body text is set: font size, distance of baselines, whether lines end at the right margin, font."""

    body: float  # pt
    leading: float  # pt
    justified: bool
    font: str


def body_style(pages: Sequence[Page], columns: Sequence[Column]) -> BodyStyle:
    """The style that most rows of the document have."""
    body = body_size(pages)
    steps = Counter[float]()
    fonts = Counter[str]()
    at_margin = rows = 0
    for column in columns:
        for before, row in pairwise(column.rows):
            if abs(row.size - body) < 0.6 and abs(before.size - body) < 0.6 and len(row.text) > 20:
                steps[round(2 * (row.baseline - before.baseline)) / 2] += 1
                rows += 1
                fonts[row.lines[0].font] += 1
                at_margin += column.right - before.bbox.x1 < 0.5 * body
    leading = max(steps, key=lambda step: (steps[step], -step)) if steps else 1.2 * body
    return BodyStyle(
        body,
        leading if leading > 0.8 * body else 1.2 * body,
        at_margin > 0.55 * rows,
        max(fonts, key=lambda f: (fonts[f], f), default=""),
    )


def is_heading(row: Row, before: Row | None, after: Sequence[Row], column: Column, style: BodyStyle) -> bool:
    """The row stands out in type and, unless numbered, in space; it's short, and no sentence that goes on."""
    text = row.text.strip()
    if len(text) > MAX_HEADING_CHARS or not WORD.search(text) or is_display(row) or text[0].islower():
        return False
    if any(following.bbox.x0 - line.bbox.x1 > MAX_HEADING_GAP * row.size for line, following in pairwise(row.lines)):
        return False  # cells of a table
    if REFERENCES.fullmatch(text) or (NAMED_HEADING.fullmatch(text) and text[0].isupper()):
        return True
    numbered = NUMBERED.match(text) is not None
    apart = before is None or row.baseline - before.baseline > 1.25 * style.leading
    sentence = text[-1] in ",;:" or (text[-1] == "." and not numbered)
    if sentence or not (apart or numbered) or BULLET.match(text) or _goes_on(row, after):
        return False
    size = largest_size(row)
    if size > 1.08 * style.body:
        return True
    spans = [span for span in row.spans if WORD.search(span.text)]
    if size > 0.85 * style.body and all(span.bold or _sans(span.font) != _sans(style.font) for span in spans):
        return True
    narrow = row.bbox.width < 0.85 * (column.right - column.left)
    if size < FOOTNOTE_SIZE * style.body or not (numbered and apart and narrow) or text.rstrip(".")[-1] in ".!?":
        return False
    return text.upper() == text or all(span.italic for span in spans)


def largest_size(row: Row) -> float:
    """Font size of most of the row; of its capitals, where the rest is small capitals. pt"""
    if row.text.upper() != row.text:
        return row.size
    return max((span.size for span in row.spans if any(map(str.isalpha, span.text))), default=row.size)


@lru_cache(maxsize=1024)
def _sans(font: str) -> bool:
    return SANS_FONT.search(font) is not None


def _goes_on(row: Row, after: Sequence[Row]) -> bool:
    """What follows is set like the row: a title run in to its paragraph, or a whole paragraph in that type."""
    if after and row.text.isupper() and not after[0].text.isupper():
        return False
    close = [
        below.spans[0].font == row.spans[-1].font and below.baseline - above.baseline < 1.4 * row.size
        for above, below in pairwise([row, *after])
    ]
    if not close or not close[0]:
        return False
    run_in = after[0].spans[-1].font != after[0].spans[0].font and not NUMBERED.match(after[0].text.strip())
    return run_in or (len(close) == MAX_HEADING_ROWS and all(close))


def is_second_row(row: Row, heading: Row) -> bool:
    """The row goes on a heading: all of it in the same type, close below."""
    if heading.text.isupper() and not row.text.isupper():
        return False
    same = abs(largest_size(row) - largest_size(heading)) < 0.3 and {
        span.font for span in row.spans if span.text.strip()
    } <= {span.font for span in heading.spans}
    return same and row.baseline - heading.baseline < 1.5 * heading.size and not NUMBERED.match(row.text.strip())


def is_display(row: Row) -> bool:
    """The row is of a display equation: next to no words outside of mathematical type."""
    text = row.text
    if len(text) > 120:
        return False
    enough = 0.3 * (len(text) - text.count(" "))
    if not any(_mathematical(span.font) for span in row.spans):
        return sum(map(len, WORD.findall(text))) < enough
    return sum(len(w) for s in row.spans if not _mathematical(s.font) for w in WORD.findall(s.text)) < enough


@lru_cache(maxsize=1024)
def _mathematical(font: str) -> bool:
    return MATH_FONT.search(font) is not None
