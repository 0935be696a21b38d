"""What the tests of finding share. Boxes in pt."""

import pymupdf

from sfq_ray.config import Extract
from sfq_ray.extract.paper import extract_paper

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
