"""The published tool figcrop 0.3.0 on the same PDFs: its figures as predictions, its CPU time beside extraction's.

    python -m venv FIGCROP && FIGCROP/bin/pip install figcrop==0.3.0
    python benchmarks/peer_figcrop.py PDFS_DIR predictions.jsonl --python FIGCROP/bin/python [--loose]

figcrop finds regions with a layout model (PP-DocLayoutV2) and gives page (1-based), box (pt, top-left origin) and
figure number, no captions and no citing paragraphs. Its command runs once per paper, so that start and loading of the
model count each time; what they cost is measured with a blank page and taken off in a second number. Extraction is
extract_paper: captions, boxes, crops and citing paragraphs, without OCR. Both render their crops, figcrop at 600 dpi,
extraction at 300. Prints CPU seconds (all threads, user and system) per page of both, over the papers both could read.

figcrop names tables as it names figures ("Table 2" gives Fig2), so numbered regions are left out where the page has a
caption line of that number for a table and none for a figure. Regions without a number are left out too; --loose writes
those that are no tables, with an empty number. A paper on which figcrop breaks off gives no predictions and no times.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymupdf

from sfq_ray.config import Extract
from sfq_ray.errors import ExtractError
from sfq_ray.extract.paper import extract_paper

CAPTION = re.compile(r"\s*(fig(?:ure)?|table)\.?\s*(\d+)", re.IGNORECASE)  # as figcrop reads captions


def figcrop(python: Path, pdf: Path, folder: Path) -> tuple[list[dict[str, Any]] | None, float]:
    """figcrop's manifest of one PDF, None where it failed, and the CPU seconds of its process."""
    before = _children_s()
    command = [str(python), "-m", "figcrop", "extract", str(pdf), str(folder), "auto"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    spent = _children_s() - before
    manifest = folder / "figures.json"
    if done.returncode or not manifest.exists():
        return None, spent
    return json.loads(manifest.read_text(encoding="utf-8")), spent


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def start_s(python: Path, folder: Path) -> float:
    """CPU seconds of figcrop's start, loading of the model and one blank page; the smaller of two."""
    blank = folder / "blank.pdf"
    with pymupdf.open() as document:
        document.new_page()
        document.save(blank)
    return min(figcrop(python, blank, folder / f"blank{number}")[1] for number in (1, 2))


def table_numbers(page: pymupdf.Page) -> set[str]:
    """Numbers that caption lines of the page give to tables and not to figures."""
    found: dict[str, set[str]] = {"f": set(), "t": set()}
    for line in page.get_text().splitlines():
        if match := CAPTION.match(line):
            found[match[1][0].lower()].add(str(int(match[2])))
    return found["t"] - found["f"]


def lines(pdf: Path, manifest: list[dict[str, Any]], loose: bool) -> Iterator[dict[str, Any]]:
    """Predictions in the format of export_predictions.py."""
    with pymupdf.open(pdf) as document:
        tables = [table_numbers(page) for page in document]
    for entry in manifest:
        number, page = (entry["fig"] or "").removeprefix("Fig"), entry["page"] - 1
        if entry["label"] == "table" or number in tables[page] or not (number or loose):
            continue
        yield {"id": pdf.stem, "number": number, "page": page, "bbox": entry["bbox_pt"], "caption": "", "citing": []}


def own(pdf: Path) -> tuple[int, float]:
    """Pages, and the CPU seconds of extraction."""
    begin = time.process_time()
    pages = extract_paper(pdf, Extract()).pages
    return pages, time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdfs", type=Path)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--python", type=Path, required=True, help="of the virtual environment that has figcrop 0.3.0")
    parser.add_argument("--loose", action="store_true", help="regions without a figure number too")
    parser.add_argument("--papers", type=int, default=0, help="only the first N")
    args = parser.parse_args()
    pdfs = sorted(args.pdfs.glob("*.pdf"))[: args.papers or None]
    own(pdfs[0])  # imports
    papers = pages = 0
    theirs_s = ours_s = 0.0
    with tempfile.TemporaryDirectory() as name, args.predictions.open("w", encoding="utf-8") as file:
        start = start_s(args.python, Path(name))
        for pdf in pdfs:
            manifest, spent = figcrop(args.python, pdf, Path(name) / pdf.stem)
            try:
                count, mine = own(pdf)
            except ExtractError as error:
                sys.stderr.write(f"{pdf.stem}: extraction failed: {error}\n")
                continue
            if manifest is None:
                sys.stderr.write(f"{pdf.stem}: figcrop failed\n")
                continue
            file.writelines(json.dumps(line) + "\n" for line in lines(pdf, manifest, args.loose))
            papers, pages, theirs_s, ours_s = papers + 1, pages + count, theirs_s + spent, ours_s + mine
    for title, seconds in (("figcrop", theirs_s), ("figcrop without start", theirs_s - papers * start)):
        sys.stdout.write(f"{title}: {seconds / pages:.3f} CPU s/page, {seconds / ours_s:.1f} times extraction\n")
    sys.stdout.write(
        f"extraction: {ours_s / pages:.3f} CPU s/page; {papers} of {len(pdfs)} papers, {pages} pages, "
        f"{os.cpu_count()} cores, figcrop's start {start:.1f} CPU s\n"
    )


if __name__ == "__main__":
    main()
