"""What the tests of finding share. Boxes in pt."""

import pymupdf

from sfq_ray.config import Extract
from sfq_ray.extract.paper import extract_paper
from sfq_ray.geometry import Box

SETTINGS = Extract()


def figures(path):
    return extract_paper(path, SETTINGS).figures


def found(path):
    """Captions with a figure, near duplicates included (plots made for tests look alike)."""
    return [f for f in figures(path) if f.get("dropped_stage") != "find" and f.get("error") is None]


def put(sheet, x, y, text, font="tiro", size=10):
    """Text in a built-in font with all of its letters (insert_text knows those of Latin-1 alone); returns its end."""
    whole = pymupdf.Font(font)
    sheet.page.insert_font(fontname=f"whole-{font}", fontbuffer=whole.buffer)
    sheet.page.insert_text((x, y), text, fontname=f"whole-{font}", fontsize=size)
    return x + whole.text_length(text, size)


def core_boxes(page):
    """(text, box) of each text span of the displayed page; of the box the half around the middle of the letters."""
    result = []
    for block in page.get_text("dict")["blocks"]:
        for line in block.get("lines", ()):
            along_x = abs(line["dir"][0]) > 0.9
            for span in line["spans"]:
                x0, y0, x1, y1 = span["bbox"]
                dx, dy = (0, (y1 - y0) / 4) if along_x else ((x1 - x0) / 4, 0)
                box = pymupdf.Rect(x0 + dx, y0 + dy, x1 - dx, y1 - dy) * page.rotation_matrix
                if span["text"].strip():
                    result.append((span["text"], Box(*box)))
    return result


def check(path, expected, least=0.9):
    """The figures of the file are those expected: {label: (page, box)}, and each holds the text of its box alone."""
    rows = {f["label"]: f for f in found(path)}
    assert set(rows) == set(expected)
    with pymupdf.open(path) as document:
        for label, (number, box) in expected.items():
            row, right = rows[label], Box(*box)
            got = Box(*row["bbox"])
            assert row["page"] == number, label
            assert got.iou(right) > least, (label, got, right)
            for text, core in core_boxes(document[number]):
                middle = Box((core.x0 + core.x1) / 2, (core.y0 + core.y1) / 2, 0, 0)
                inside = right.x0 <= middle.x0 <= right.x1 and right.y0 <= middle.y0 <= right.y1
                share = core.share_inside(got)
                assert share > 0.97 if inside else share < 0.03, (label, text, share)
    return rows
