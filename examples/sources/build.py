"""Builds the example papers and expected.json: `python examples/sources/build.py`.

With `--check` nothing is written: the build is compared with the committed files. The papers are laid out in a
temporary folder. What they state about themselves (captions, citing paragraphs, frames of figures) is queried from
the layout and compared with the text that MuPDF reads from the finished PDF.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
import unicodedata
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import plots
import pymupdf
import typst

SOURCES = Path(__file__).parent
EXAMPLES = SOURCES.parent
PAPERS = {
    "clean-two-column": ("two-column.typ", {"variant": "clean"}),
    "defective-two-column": ("two-column.typ", {"variant": "defective"}),
    "one-column": ("one-column.typ", {}),
    "fig-style": ("fig-style.typ", {}),
}
PLAIN_HYPHENS = {"one-column", "fig-style"}  # the others mark a line break's hyphen as soft (U+00AD)
DATE = datetime(2026, 1, 5, tzinfo=UTC)
MEASURE_DPI = 288  # 4 px per pt

Record = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the example papers and expected.json.")
    parser.add_argument("--check", action="store_true", help="compare with the committed files, write nothing")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as name:
        files = build(Path(name))
    stale = [path for path, content in files.items() if not path.exists() or path.read_bytes() != content]
    if check and stale:
        sys.exit("differs from a rebuild: " + ", ".join(path.name for path in stale))
    for path in stale:
        path.write_bytes(files[path])


def build(folder: Path) -> dict[Path, bytes]:
    """All files of the examples, by the path where they belong. Raises ValueError where text and PDF disagree."""
    (folder / "plots").mkdir()
    plots.draw_all(folder / "plots")
    for path in SOURCES.glob("*.typ"):
        shutil.copy(path, folder)
    files: dict[Path, bytes] = {}
    truth: Record = {}
    for name, (source, inputs) in PAPERS.items():
        pdf, records = lay_out(folder, source, inputs)
        if name in PLAIN_HYPHENS:
            pdf = plain_hyphens(pdf)
        files[EXAMPLES / f"{name}.pdf"] = pdf
        truth[name] = expected(name, pdf, records)
    text = json.dumps({"papers": truth}, indent=1, ensure_ascii=False) + "\n"
    return files | {EXAMPLES / "expected.json": text.encode()}


def lay_out(folder: Path, source: str, inputs: dict[str, str]) -> tuple[bytes, list[Record]]:
    """The PDF of one paper and the records that its layout left."""
    compiler = typst.Compiler(
        folder / source,
        root=folder,
        font_paths=[Path(matplotlib.get_data_path()) / "fonts" / "ttf"],
        ignore_system_fonts=True,
        sys_inputs={"plots": "/plots", **inputs},
    )
    pdf, warnings = compiler.compile_with_warnings(format="pdf", timestamp=int(DATE.timestamp()), pdf_tags=False)
    if warnings:
        raise ValueError(f"{source}: {warnings}")
    assert isinstance(pdf, bytes)
    return pdf, json.loads(compiler.query("<record>", field="value"))


def plain_hyphens(pdf: bytes) -> bytes:
    """The PDF with hyphens of line breaks that read as "-", as LaTeX sets them: nothing tells them from others."""
    with pymupdf.open(stream=pdf, filetype="pdf") as document:
        for xref in range(1, document.xref_length()):
            stream = document.xref_stream(xref) if document.xref_is_stream(xref) else None
            if stream and b"> <00AD>" in stream and b"beginbfchar" in stream:
                document.update_stream(xref, stream.replace(b"> <00AD>", b"> <002D>"))
        return bytes(document.tobytes(deflate=True, no_new_id=True))


def expected(name: str, pdf: bytes, records: list[Record]) -> Record:
    """The truth about one paper. Pages count from 0; boxes are [x0, y0, x1, y1] in pt from the page's top left."""
    with pymupdf.open(stream=pdf, filetype="pdf") as document:
        captions = {kind: [r for r in records if r["kind"] == kind] for kind in ("figure", "table", "algorithm")}
        paragraphs = [r for r in records if r["kind"] == "paragraph"]
        text = document_text(document)
        for record in (*(c for found in captions.values() for c in found), *paragraphs):
            verify(running(record.get("text") or f"{record['caption_label']} {record['caption']}"), text)
        items = {
            kind: [captioned(record, records, document, paragraphs) for record in found]
            for kind, found in captions.items()
        }
        defects = [{k: r[k] for k in ("figure", "dimension", "what")} for r in records if r["kind"] == "defect"]
        return {
            "pdf": f"{name}.pdf",
            "title": document.metadata["title"],
            "pages": document.page_count,
            "figures": items["figure"],
            "tables": items["table"],
            "algorithms": items["algorithm"],
            "defects": defects,
        }


def captioned(record: Record, records: list[Record], document: pymupdf.Document, paragraphs: list[Record]) -> Record:
    """Truth about one figure, table or algorithm. Only figures have contexts."""
    body, caption = (frame(records, record["owner"], part) for part in ("body", "caption"))
    item = {
        "label": record["label"],
        "page": body[0],
        "bbox": ink(document[body[0]], body[1]),
        "caption_label": record["caption_label"],
        "caption": running(record["caption"]),
        "caption_bbox": ink(document[caption[0]], caption[1]),
    }
    if record["kind"] == "figure":
        item["contexts"] = [context for p in paragraphs if (context := citing(p, record["label"]))]
    return item


def citing(paragraph: Record, label: str) -> Record | None:
    """The paragraph as context of the figure, or None when its author does not list the figure as cited."""
    cites = [cite for cite in paragraph["cites"] if cite[0] == label]
    if not cites:
        return None
    text = running(paragraph["text"])
    references = [cite[1] for cite in cites]
    if missing := [reference for reference in references if reference not in text]:
        raise ValueError(f"{missing} is not in the paragraph: {text}")
    return {
        "section": paragraph["section"],
        "section_printed": paragraph["section_printed"],
        "page": paragraph["page"],
        "text": text,
        "references": references,
        "panels": sorted(panel for cite in cites for panel in "".join(cite[2:])),
    }


def frame(records: list[Record], owner: str, part: str) -> tuple[int, pymupdf.Rect]:
    """Page and laid-out frame of a float's body or caption, from its two corners."""
    first, last = (r for r in records if r["kind"] == "corner" and (r["owner"], r["part"]) == (owner, part))
    return first["page"], pymupdf.Rect(first["x"], first["y"], last["x"], last["y"])


def ink(page: pymupdf.Page, area: pymupdf.Rect) -> list[float]:
    """Box of what is visibly printed in the frame, 0.25 pt exact. Text may reach 2 pt out of its frame."""
    pixels = page.get_pixmap(dpi=MEASURE_DPI, clip=area + pymupdf.Rect(-2, -2, 2, 2), colorspace=pymupdf.csGRAY)
    grey = np.frombuffer(pixels.samples, np.uint8).reshape(pixels.height, pixels.stride)[:, : pixels.width]
    rows, columns = (np.flatnonzero((grey < 250).any(axis=axis)) for axis in (1, 0))
    edges = (
        pixels.x + columns[0],
        pixels.y + rows[0],
        pixels.x + columns[-1] + 1,
        pixels.y + rows[-1] + 1,
    )
    return [round(float(edge) * 72 / MEASURE_DPI, 2) for edge in edges]


def running(text: str) -> str:
    """Source text as running text: NFC, one plain space between words."""
    return re.sub(r"\s+", " ", unicodedata.normalize("NFC", text)).strip()


def document_text(document: pymupdf.Document) -> str:
    """Lines of the PDF as MuPDF reads them, ligatures split, tied spaces plain."""
    text = "".join(
        page.get_text(flags=pymupdf.TEXT_MEDIABOX_CLIP | pymupdf.TEXT_PRESERVE_WHITESPACE) for page in document
    )
    return unicodedata.normalize("NFC", text).replace("\u00a0", " ")


def verify(text: str, printed: str) -> None:
    """Raises ValueError unless the PDF holds the text, broken at most by lines and once by a column or page."""
    words = text.split(" ")  # a column or page may end between any two of them
    for cut in range(len(words), 0, -1):
        parts = (" ".join(words[:cut]), " ".join(words[cut:]))
        if all(re.search(_broken(part), printed) for part in parts):
            return
    for cut in (i for i, char in enumerate(text) if char.isalpha()):  # hyphenated over the column's end
        if re.search(_broken(text[:cut]) + "[-\u00ad]?\n", printed) and re.search("\n" + _broken(text[cut:]), printed):
            return
    raise ValueError(f"the PDF does not print this as given: {text}")


def _broken(text: str) -> str:
    """Pattern of the text with line breaks at its spaces, after its hyphens and by hyphenation."""
    pattern = ""
    for left, right in zip(text, f"{text} "[1:] if text else "", strict=True):
        pattern += r"\s+" if left == " " else re.escape(left)
        if left.isalpha() and right.isalpha():
            pattern += "(?:[-\u00ad\u2010]\n)?"
        elif left in "-–—":
            pattern += "\n?"
    return pattern


if __name__ == "__main__":
    main()
