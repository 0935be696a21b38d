"""Reading order: the body text of each page as columns of rows, without floats, running heads and page numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from sfq_ray.extract.document import Line, Page
from sfq_ray.extract.rows import Row, text_lines
from sfq_ray.geometry import Box, union_all

NUMBER_MARGIN = 0.1  # of the page height, above and below: where page numbers stand
HEAD_MARGIN = 0.15  # where running heads stand
PAGE_NUMBER = re.compile(r"\W*(?:page\s*)?(?:\d{1,4}|[ivxl]{1,7})(?:\s*(?:of|/)\s*\d{1,4})?\W*", re.IGNORECASE)
DIGITS = re.compile(r"\d+")
MIN_COLUMN_PT = 100.0
MIN_COLUMN_LINES = 4
OVERHANG_PT = 12.0  # so far a line of a column may stick out over the gutter
MIN_WORDS_LETTERS = 6  # a line with fewer doesn't tell where the text begins and ends
ACROSS = 2


@dataclass(frozen=True)
class Column:
    """Rows from top to bottom, and the left and right edge of the text they belong to, pt."""

    page: int
    rows: tuple[Row, ...]
    left: float
    right: float


def reading_order(pages: Sequence[Page], zones: Mapping[int, Sequence[Box]]) -> Iterator[Column]:
    """The columns of all pages in reading order. `zones`: boxes per page number that hold no body text."""
    furniture = _furniture(pages)
    bodies = [_body(page, zones.get(page.number, ()), furniture) for page in pages]
    gutters = [_gutter(lines) for lines in bodies]
    usual = _usual(gutters)
    for page, lines, gutter in zip(pages, bodies, gutters, strict=True):
        if gutter is None and usual is not None and _fits(lines, usual):
            gutter = usual
        for column in _columns(lines, gutter):
            yield Column(page.number, tuple(_rows(column.lines)), column.left, column.right)


def _body(page: Page, outside: Sequence[Box], furniture: set[int]) -> list[Line]:
    """The lines of the page's body text."""
    zones = [box for box in outside if not box.empty]
    return _without_margin_numbers(
        [
            line
            for line in text_lines(page)
            if line.horizontal
            and id(line) not in furniture
            and line.bbox.overlap_y(page.box) > 0
            and not any(_inside(line.bbox, box) for box in zones)
        ]
    )


def _inside(line: Box, zone: Box) -> bool:
    return line.y0 < zone.y1 and line.y1 > zone.y0 and line.share_inside(zone) > 0.6


def _furniture(pages: Sequence[Page]) -> set[int]:
    """Ids of the lines that are running heads or feet (the same on several pages but for digits) or page numbers."""
    seen: dict[tuple[str, int], list[tuple[int, Line]]] = {}
    found: set[int] = set()
    for page in pages:
        for line in page.lines:
            depth = min(line.bbox.y0, page.box.height - line.bbox.y1) / max(page.box.height, 1.0)
            if not line.horizontal or depth > HEAD_MARGIN:
                continue
            text = line.text.strip()
            if depth < NUMBER_MARGIN and PAGE_NUMBER.fullmatch(text):
                found.add(id(line))
            seen.setdefault((DIGITS.sub("#", text), round(line.bbox.y0 / 4)), []).append((page.number, line))
    for same in seen.values():
        if len({number for number, _ in same}) > 1:
            found.update(id(line) for _, line in same)
    return found


def _without_margin_numbers(lines: list[Line]) -> list[Line]:
    """The lines without numbers that stand beside the text: line numbers, when too few to be seen as a count."""
    words = [line.bbox for line in lines if sum(map(str.isalpha, line.text)) >= MIN_WORDS_LETTERS]
    if not words:
        return lines
    left, right = min(box.x0 for box in words), max(box.x1 for box in words)
    return [
        line
        for line in lines
        if (left - 2 < line.bbox.x1 and line.bbox.x0 < right + 2) or not line.text.strip().isdigit()
    ]


@dataclass(frozen=True)
class _Lines:
    lines: list[Line]
    left: float
    right: float


def _columns(lines: list[Line], gutter: float | None) -> list[_Lines]:
    """The lines split at the gutter; lines across it divide the page into bands that are read one after the other."""
    if gutter is None:
        return [_with_edges(lines, lines)] if lines else []
    sides: tuple[list[Line], list[Line], list[Line]] = ([], [], [])
    for line in lines:
        sides[_side(line.bbox, gutter)].append(line)
    side_of = {id(line): side for side, group in enumerate(sides) for line in group}
    result: list[_Lines] = []
    band: tuple[list[Line], list[Line], list[Line]] = ([], [], [])

    def flush() -> None:
        for side in range(3):
            if band[side]:
                result.extend(_halves(band[side], sides[side]) if side < ACROSS else [_with_edges(band[side], lines)])
                band[side].clear()

    for line in sorted(lines, key=lambda line: line.bbox.y0 + line.bbox.y1):
        side = side_of[id(line)]
        if band[ACROSS] if side != ACROSS else band[0] or band[1]:
            flush()
        band[side].append(line)
    flush()
    return result


def _halves(lines: list[Line], side: list[Line]) -> list[_Lines]:
    """One side of the page: a column, or on wide pages several."""
    wide = side and max(line.bbox.x1 for line in side) - min(line.bbox.x0 for line in side) > 4 * MIN_COLUMN_PT
    gutter = _gutter(lines) if wide else None
    return _columns(list(lines), gutter) if gutter is not None else [_with_edges(lines, side)]


def _side(box: Box, gutter: float) -> int:
    """0 left of the gutter, 1 right of it, ACROSS when a good part lies on either side."""
    left, right = gutter - box.x0, box.x1 - gutter
    if min(left, right) > max(OVERHANG_PT, 0.1 * box.width):
        return ACROSS
    return 0 if left > right else 1


def _gutter(lines: Sequence[Line]) -> float | None:
    """x of the white lane between two columns of text, pt; None for text in one column."""
    if len(lines) < 2 * MIN_COLUMN_LINES:
        return None
    x0, x1 = min(line.bbox.x0 for line in lines), max(line.bbox.x1 for line in lines)
    if x1 - x0 < 2 * MIN_COLUMN_PT:
        return None
    steps = [0] * (int(x1 - x0) + 3)
    for line in lines:
        steps[int(line.bbox.x0 - x0) + 1] += 1
        steps[int(line.bbox.x1 - x0) + 1] -= 1
    cover = list(accumulate(steps))
    first, last = int(0.25 * len(cover)), int(0.75 * len(cover))
    lowest = min(cover[first:last])
    lanes = [list(group) for low, group in groupby(range(first, last), lambda x: cover[x] == lowest) if low]
    lane = max(lanes, key=lambda lane: (len(lane), -abs(lane[0] + lane[-1] - len(cover))))
    gutter = x0 + (lane[0] + lane[-1]) / 2
    return gutter if _two_columns(lines, gutter, x0, x1) else None


def _two_columns(lines: Sequence[Line], gutter: float, x0: float, x1: float) -> bool:
    """Enough lines fill either side of the gutter, at the same heights, and not too many cross it."""
    widths = (gutter - x0, x1 - gutter)
    full: tuple[list[Box], list[Box]] = ([], [])
    across = 0
    for line in lines:
        side = _side(line.bbox, gutter)
        if side == ACROSS:
            across += 1
        elif line.bbox.width > 0.5 * widths[side]:
            full[side].append(line.bbox)
    if min(widths) < MIN_COLUMN_PT or min(len(full[0]), len(full[1])) < MIN_COLUMN_LINES:
        return False
    shared = min(max(b.y1 for b in side) for side in full) - max(min(b.y0 for b in side) for side in full)
    return shared > 0 and across < len(full[0]) + len(full[1])


def _usual(gutters: Sequence[float | None]) -> float | None:
    """The gutter that many pages share, for pages with too little text to show it."""
    places = Counter(round(gutter / 6) for gutter in gutters if gutter is not None)
    place = max(places, key=lambda place: (places[place], place), default=None)
    return None if place is None or places[place] < 0.3 * len(gutters) else 6.0 * place


def _fits(lines: Sequence[Line], gutter: float) -> bool:
    """Both sides of the gutter have text, and little crosses it."""
    sides = Counter(_side(line.bbox, gutter) for line in lines)
    return min(sides[0], sides[1]) > 0 and sides[ACROSS] < 0.3 * (sides[0] + sides[1])


def _with_edges(lines: list[Line], like: Sequence[Line]) -> _Lines:
    """The lines with the edges of the text that `like` are the lines of."""
    starts = Counter[int]()
    for line in like:
        starts[round(line.bbox.x0 / 2)] += len(line.text)
    often = max(starts.values())
    left = 2.0 * min(x for x, count in starts.items() if count > 0.5 * often)
    beyond = 0.1 * sum(starts.values())  # characters of lines that may end further right than the edge
    right = 0.0
    for line in sorted(like, key=lambda line: -line.bbox.x1):
        right, beyond = line.bbox.x1, beyond - len(line.text)
        if beyond < 0:
            break
    return _Lines(list(lines), left, right)


def _rows(lines: list[Line]) -> Iterator[Row]:
    """Lines of one column joined where they share a baseline, sub- and superscripts included; from top to bottom."""
    groups: list[list[Line]] = []
    mains: list[Line] = []  # the longest line of each group
    for line in sorted(lines, key=lambda line: (line.baseline, line.bbox.x0)):
        recent = range(len(groups) - 1, max(-1, len(groups) - 4), -1)
        home = next((index for index in recent if _same_row(mains[index], groups[index], line)), None)
        if home is None:
            groups.append([line])
            mains.append(line)
        else:
            groups[home].append(line)
            mains[home] = max(mains[home], line, key=lambda one: len(one.text))
    for group in groups:
        group.sort(key=lambda line: line.bbox.x0)
        box = union_all(line.bbox for line in group)
        assert box is not None
        yield Row(box, tuple(group))


def _same_row(main: Line, group: Sequence[Line], line: Line) -> bool:
    if line.baseline - main.baseline > main.size + line.size:
        return False
    size, other = main.size, line.size
    shared = min(main.baseline + 0.15 * size, line.baseline + 0.15 * other) - max(
        main.baseline - 0.7 * size, line.baseline - 0.7 * other
    )
    if shared < 0.45 * min(size, other):
        return False
    return all(one.bbox.overlap_x(line.bbox) < 0.3 * min(one.bbox.width, line.bbox.width) + 1 for one in group)
