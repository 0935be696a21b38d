"""How far a caption goes: its rows, from the first one on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sfq_ray.extract.rows import Row
from sfq_ray.geometry import Box

WORD = 0.7  # of the font size: pieces of one row that lie closer are words of one text
INDEX_SIZE = 0.85  # of the caption's size: what is set smaller may be an index


def caption_rows(start: Row, rows: Sequence[Row], begins: set[int]) -> list[Row]:
    """The rows of the caption that begins with `start`: down from it while size and baseline distance stay the same.

    `rows`: those of the page; `begins`: the ids of rows with which captions begin.
    """
    size = start.size
    taken, pending = [start], list[Row]()  # `pending`: small rows that may be raised indices of the row below
    box = start.bbox
    last, pitch = start, None  # `last` is the main row of the visual row, `visual` all its pieces
    visual = [start]
    for row in rows:
        step = row.baseline - last.baseline
        if not row.horizontal or row is start or row.bbox.y1 <= start.bbox.y0 + 0.5 * size:
            continue
        if step > 3 * size:
            break
        piece = abs(step) < 0.3 * size and row.block == last.block and row.size < 1.2 * size
        if not _in_line(row, start, box, (3.0 if piece else 0.5) * size):
            continue
        index = _is_index(row, size) and abs(step) < 1.5 * size
        if index or (abs(step) < 0.6 * size and row.size < 1.2 * size):  # or a piece of the same row
            if abs(step) >= 0.6 * size:
                pending.append(row)
            elif piece or row.block == last.block or _goes_on(visual, row):
                taken.append(row)
                visual.append(row)
                box = box.union(row.bbox)
            continue
        if id(row) in begins or not _continues(start, taken, visual, row, step, pitch):
            break
        pitch = step if pitch is None else pitch
        raised = [r for r in pending if abs(r.baseline - row.baseline) < 0.6 * size]
        taken += [row, *raised]
        box, last, visual, pending = box.union(row.bbox), row, [row, *raised], []
    return _reading_order(taken, size)


def _is_index(row: Row, size: float) -> bool:
    """A small or raised piece, or a sign such as a high bracket, whose baseline is not that of the text."""
    text = row.text.strip()
    return len(text) <= 12 and (row.size < INDEX_SIZE * size or (len(text) < 3 and not any(map(str.isalnum, text))))


def _goes_on(visual: Sequence[Row], row: Row) -> bool:
    """The row stands over a piece of the visual row or close beside it: mathematics splits rows into blocks."""
    return any(row.bbox.overlap_x(piece.bbox) > -WORD * row.size for piece in visual)


def _in_line(row: Row, start: Row, box: Box, reach: float) -> bool:
    """The row stands within `reach` pt of the caption so far and does not begin far left of it, unless centred."""
    centred = abs(row.bbox.x0 + row.bbox.x1 - box.x0 - box.x1) < 2 * start.size
    return row.bbox.overlap_x(box.grown(reach)) > 0 and (centred or row.bbox.x0 >= start.bbox.x0 - 2 * start.size)


def _reading_order(rows: Sequence[Row], size: float) -> list[Row]:
    """Pieces of one visual row, indices included, from left to right."""
    ordered: list[list[Row]] = []
    for row in sorted(rows, key=lambda r: (-r.size > -0.85 * size, r.baseline)):
        home = next((line for line in ordered if abs(line[0].baseline - row.baseline) < 0.6 * size), None)
        if home is None:
            ordered.append([row])
        else:
            home.append(row)
    ordered.sort(key=lambda line: line[0].baseline)
    return [row for line in ordered for row in sorted(line, key=lambda r: r.bbox.x0)]


def _font(rows: Sequence[Row]) -> str:
    fonts = Counter[str]()
    for row in rows:
        for span in row.spans:
            fonts[span.font] += len(span.text.strip())
    return max(fonts, key=lambda f: (fonts[f], f))


def _continues(
    start: Row, taken: Sequence[Row], visual: Sequence[Row], row: Row, step: float, pitch: float | None
) -> bool:
    size = start.size
    if abs(row.size - size) > 0.6 and (len(row.text.strip()) > 3 or step > 1.3 * size):
        return False
    if step > (1.75 * size if pitch is None else max(pitch, 1.2 * size) + 0.3 * size):
        return False
    # running text goes on in the font it breaks off in
    other_font = _font([row]) != _font(taken) and row.spans[0].font != visual[-1].spans[-1].font and len(row.text) > 20
    if other_font and step > (1.35 * size if pitch is None else 1.12 * pitch):
        return False
    # a last row that ends early, then a row of another block at the left edge: a new paragraph
    right = max(r.bbox.x1 for r in taken)
    left = min(r.bbox.x0 for r in taken)
    short = max(r.bbox.x1 for r in visual) < right - 4 * size and start not in visual
    new_block = row.block not in {r.block for r in visual}
    return not (short and new_block and abs(row.bbox.x0 - left) < 2 * size)
