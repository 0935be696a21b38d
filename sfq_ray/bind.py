"""Figure references bound to figures: the paragraphs that cite each figure, with the evidence marked.

A paragraph is bound to a figure only where its text names the figure's label or a link in it leads to the figure.
A figure that nobody cites has no context.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from sfq_ray.config import Extract
from sfq_ray.extract.cues import WEIGHTS, cue
from sfq_ray.extract.document import Link, Page
from sfq_ray.extract.paragraphs import Paragraph, find_paragraphs
from sfq_ray.extract.references import find_references, label_of_link, normalise_label
from sfq_ray.extract.rows import Row
from sfq_ray.extract.text import Vocabulary
from sfq_ray.geometry import Box, union_all

BYTES_PER_TOKEN = 4  # of UTF-8 text, for the token cap
LANDING_PT = 40.0  # a link to a figure lands on it or its caption, or so close above or below

# any form of a figure word, also one that a line end breaks
HINT = re.compile(r"f\W{0,2}i\W{0,2}g|abb|рис|rys|obr|kuva|şekil|hình|[图圖図]|그림", re.IGNORECASE)
FIGURE_NAME = re.compile(r"(?:sub)?fig", re.IGNORECASE)  # of a link's destination: figure.3, figure.caption.7, fig:x
OTHER_NAME = re.compile(
    r"(?:cite|(?:sub)*section|sec|table|tab|equation|eq|alg|hfootnote|footnote|appendix|page|chapter|theorem|thm|lemma|"
    r"definition|item|enum|part|toc|listing|lst|proposition|corollary|assumption|remark|example)",
    re.IGNORECASE,
)
BROKEN_NAME = re.compile(r"[^\d]{1,24}")  # what a link to a figure may print other than a label: "left", "above", "??"
OTHER_WORD = re.compile(
    r"\b(?:tab(?:le|s|\.)|algorithms?|alg\.|sections?|sec\.|equations?|eqs?\.|appendix|listing|theorem|lemma|chapter|page)"
    r"[\s~(]*$",
    re.IGNORECASE,
)
WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")
NO_CITATION = re.compile(  # captions, "[Figure 1 about here]"
    r"\W*(?:supplementary )?(?:figure|fig\.?|abbildung|abb\.|рис\.|рисунок|[图圖図表]|그림|table|tab\.|algorithm)"
    r"\s*(?:[A-Z]{0,2}[.\-]?\d+(?:[.\-]\d+)*|[IVX]+)\s*(?:[:|：]|[.。]\s|[—–]\s)"
    r"|\W*(?:insert )?(?:tables?|figures?)\b[^.]{0,40}\b(?:about|around) here\W*$"
    r"|.*(?:\.\s?){6}",  # leaders of a list of figures
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Target:
    """A figure to bind to: label as printed ("3", "A.1"), 0-based pages, boxes in pt."""

    key: int
    label: str
    page: int
    region: Box | None
    caption_page: int
    caption: Box | None


@dataclass(frozen=True)
class Context:
    """A paragraph that cites a figure (tables.CONTEXT). `spans` are character offsets [start, end) in `text`."""

    section: str | None
    place: str
    page: int
    text: str
    spans: tuple[tuple[int, int], ...]
    panels: tuple[str, ...]
    cue: str
    weight: float
    evidence: str

    def as_row(self) -> dict[str, Any]:
        """The context as a value of tables.CONTEXT."""
        return {
            "section": self.section,
            "place": self.place,
            "page": self.page,
            "text": self.text,
            "spans": [{"start": start, "end": end} for start, end in self.spans],
            "panels": list(self.panels),
            "cue": self.cue,
            "weight": self.weight,
            "evidence": self.evidence,
        }


def bind(
    pages: Sequence[Page],
    targets: Sequence[Target],
    zones: Mapping[int, Sequence[Box]],
    vocabulary: Vocabulary,
    settings: Extract,
) -> dict[int, list[Context]]:
    """Contexts per target key, best evidence first; empty for a figure that is never cited.

    `zones` are the boxes per page number that are no body text: figures, tables, and their captions.
    """
    bound: dict[int, list[Context]] = {target.key: [] for target in targets}
    if not targets:
        return bound
    leads = _leads(pages, targets)
    for paragraph in find_paragraphs(pages, zones):
        for key, context in _contexts(paragraph, targets, leads, vocabulary, settings.min_paragraph_chars):
            bound[key].append(context)
    return {key: _capped(contexts, settings.max_context_tokens) for key, contexts in bound.items()}


def marks(
    contexts: Mapping[int, Sequence[Context]], targets: Sequence[Target], captions: Sequence[tuple[int | None, str]]
) -> dict[int, str]:
    """bind:appendix_only or bind:caption_only for the target keys that no paragraph of the paper's body cites.

    `captions`: (key, text) of all captions, key None for those of tables and algorithms.
    """
    labels = {normalise_label(target.label): target.key for target in targets}
    named = {
        labels[reference.label]
        for key, text in captions
        for reference in find_references(text, labels)
        if labels[reference.label] != key
    }
    found: dict[int, str] = {}
    for target in targets:
        own = contexts.get(target.key, [])
        if own and all(context.place == "appendix" for context in own):
            found[target.key] = "bind:appendix_only"
        elif not own and target.key in named:
            found[target.key] = "bind:caption_only"
    return found


def _capped(contexts: list[Context], max_tokens: int) -> list[Context]:
    """Best first, then in reading order; whole paragraphs up to the cap. The best one stays whatever its length."""
    kept: list[Context] = []
    tokens = 0
    for context in sorted(contexts, key=lambda context: -context.weight):
        tokens += -(-len(context.text.encode()) // BYTES_PER_TOKEN)
        if kept and tokens > max_tokens:
            break
        kept.append(context)
    return kept


@dataclass(frozen=True)
class _Lead:
    """A link on a page that leads to where these figures are, the nearest first."""

    link: Link
    targets: tuple[Target, ...]
    certain: bool  # its destination is a figure, and only one lies there


def _leads(pages: Sequence[Page], targets: Sequence[Target]) -> dict[int, list[_Lead]]:
    """Links that lead to figures, per number of the page they stand on."""
    leads: dict[int, list[_Lead]] = {}
    for page in pages:
        for link in page.links:
            if OTHER_NAME.match(link.name):
                continue
            near = tuple(target for target in targets if _lands(link, target))
            if near:
                certain = len(near) == 1 and FIGURE_NAME.match(link.name) is not None
                leads.setdefault(page.number, []).append(_Lead(link, near, certain))
    return leads


def _lands(link: Link, target: Target) -> bool:
    """The link leads to the figure or its caption, by page and height."""
    boxes = [
        box
        for number, box in ((target.page, target.region), (target.caption_page, target.caption))
        if number == link.page and box is not None
    ]
    whole = union_all(boxes)
    if whole is None or link.target_y is None:
        return whole is not None
    return whole.y0 - LANDING_PT <= link.target_y <= whole.y1 + LANDING_PT


@dataclass(frozen=True)
class _Hit:
    """Evidence in a paragraph for one figure. `start` is -1 where a link's place in the text is unknown."""

    key: int
    start: int
    end: int
    panels: tuple[str, ...]
    by: str  # text or link


def _contexts(
    paragraph: Paragraph,
    targets: Sequence[Target],
    leads: Mapping[int, Sequence[_Lead]],
    vocabulary: Vocabulary,
    min_chars: int,
) -> Iterator[tuple[int, Context]]:
    """The paragraph as context of each figure it cites."""
    linked = [
        (index, lead)
        for index, (row, page) in enumerate(zip(paragraph.rows, paragraph.pages, strict=True))
        for lead in leads.get(page, ())
        if _on_row(lead.link, row)
    ]
    if not (linked or HINT.search(paragraph.raw)) or NO_CITATION.match(paragraph.raw):
        return
    text, starts = paragraph.text(vocabulary)
    if len(text) < min_chars:
        return
    link_hits = [
        hit for index, lead in linked for hit in _link_hits(lead, paragraph.rows[index], text, starts[index], targets)
    ]
    hits = [*_text_hits(text, paragraph.page, targets, link_hits), *link_hits]
    for target in targets:
        own = [hit for hit in hits if hit.key == target.key]
        if own:
            yield target.key, _context(paragraph, text, own)


def _context(paragraph: Paragraph, text: str, hits: Sequence[_Hit]) -> Context:
    by_text = [(hit.start, hit.end) for hit in hits if hit.by == "text"]
    by_link = [
        (hit.start, hit.end)
        for hit in hits
        if hit.by == "link" and hit.start >= 0 and not any(a <= hit.start < b for a, b in by_text)
    ]
    spans = tuple(sorted({*by_text, *by_link}))
    panels = tuple(dict.fromkeys(panel for hit in hits for panel in hit.panels))
    kinds = {hit.by for hit in hits}
    kind = cue(text, spans)
    evidence = "both" if len(kinds) == 2 else kinds.pop()
    where = paragraph.section, paragraph.place, paragraph.page
    return Context(*where, text, spans, panels, kind, WEIGHTS[kind], evidence)


def _text_hits(text: str, page: int, targets: Sequence[Target], link_hits: Sequence[_Hit]) -> Iterator[_Hit]:
    """References in the text. Of several figures with one label, the one that is linked here, or the nearest."""
    by_label: dict[str, list[Target]] = {}
    for target in targets:
        by_label.setdefault(normalise_label(target.label), []).append(target)
    for reference in find_references(text, by_label):
        linked = {hit.key for hit in link_hits if reference.start <= hit.start < reference.end}
        same = by_label[reference.label]
        target = min(same, key=lambda target: (target.key not in linked, abs(target.page - page), target.page))
        yield _Hit(target.key, reference.start, reference.end, reference.panels, "text")


def _link_hits(lead: _Lead, row: Row, text: str, row_start: int, targets: Sequence[Target]) -> Iterator[_Hit]:
    """The figure that the link's own text names, of those it leads to; without a name, the only one that is there."""
    printed = _text_under(lead.link, row)
    label = label_of_link(printed, (target.label for target in targets))
    if label is None and (not lead.certain or not printed or BROKEN_NAME.fullmatch(printed) is None):
        return
    start = text.find(printed, row_start) if printed else -1
    if OTHER_WORD.search(text[max(0, start - 30) : max(0, start)]):
        return
    for target in lead.targets:
        if label is None or normalise_label(target.label) == label:
            yield _Hit(target.key, start, start + len(printed), (), "link")


def _on_row(link: Link, row: Row) -> bool:
    y = (link.bbox.y0 + link.bbox.y1) / 2
    return row.bbox.y0 <= y <= row.bbox.y1 and link.bbox.overlap_x(row.bbox) > 0


def _text_under(link: Link, row: Row) -> str:
    """The part of the row that lies under the link: whole words and marks, each by the most of its width."""
    text, covered = "", list[tuple[int, int]]()
    end = row.bbox.x0
    for span in row.spans:
        text += " " if span.bbox.x0 - end > 0.15 * span.size else ""
        edges = [0.0, *accumulate(_relative_width(char) for char in span.text)]
        scale = span.bbox.width / (edges[-1] or 1.0)
        for word in WORD_OR_MARK.finditer(span.text):
            left, right = (span.bbox.x0 + scale * edges[at] for at in word.span())
            if min(right, link.bbox.x1) - max(left, link.bbox.x0) >= 0.5 * (right - left):
                covered.append((len(text) + word.start(), len(text) + word.end()))
        text, end = text + span.text, span.bbox.x1
    return text[covered[0][0] : covered[-1][1]] if covered else ""


def _relative_width(char: str) -> float:
    """About how wide a character is in most fonts, em."""
    if char in " .,;:'’|!()[]fijlt-":
        return 0.3
    return 0.8 if char in "mwMW—" else 0.65 if char.isupper() else 0.48
