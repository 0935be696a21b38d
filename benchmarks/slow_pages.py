"""The slowest pages and papers of extraction, and pages made to be slow.

    python benchmarks/slow_pages.py PDFS... [--papers N]
    python benchmarks/slow_pages.py --hostile

Wall seconds of extract_paper (captions, regions, 300 dpi crops as PNG, citing paragraphs, curation; no OCR, no
features): for every paper as a whole, and for each of its pages alone, saved as a PDF of one page. A page alone may be
read a little differently than in its paper, whose style is learned from all pages, so the seconds of the pages do not
add up to the paper's. Prints the 10 slowest of both with page numbers from 1, medians and maxima.

--hostile makes pages with PyMuPDF instead, each with a figure caption, so that its graphics are cropped: 200,000 small
paths, a side of 14,400 pt (the largest a PDF may have), 2,000 images. Prints wall and CPU seconds of each and exits
with 1 where one takes 5 s or longer by the clock.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pymupdf

from sfq_ray.config import Extract
from sfq_ray.errors import ExtractError
from sfq_ray.extract.paper import extract_paper
from sfq_ray.inputs import collect

HOSTILE_LIMIT_S = 5.0
SLOWEST = 10
BODY = (
    "The words of a page of running text, so that its margins, columns and sizes can be told from those of a figure. "
)


def seconds(path: Path) -> tuple[float, int]:
    """Wall seconds and figures with a crop. Raises ExtractError."""
    begin = time.perf_counter()
    figures = extract_paper(path, Extract()).figures
    return time.perf_counter() - begin, sum(figure.get("image") is not None for figure in figures)


def single_pages(path: Path, folder: Path) -> Iterator[tuple[int, Path]]:
    """Every page, counted from 1, as a PDF of its own."""
    with pymupdf.open(path) as document:
        for number in range(document.page_count):
            target = folder / "page.pdf"
            with pymupdf.open() as alone:
                alone.insert_pdf(document, from_page=number, to_page=number)
                alone.save(target)
            yield number + 1, target


def measured(paths: Sequence[Path]) -> tuple[list[tuple[float, str]], list[tuple[float, str]]]:
    """Seconds and names of papers and of pages; those that cannot be read are named on stderr."""
    papers: list[tuple[float, str]] = []
    pages: list[tuple[float, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            try:
                papers.append((seconds(path)[0], path.name))
                for number, page in single_pages(path, Path(folder)):
                    pages.append((seconds(page)[0], f"{path.name} page {number}"))
            except (ExtractError, RuntimeError, ValueError) as error:
                sys.stderr.write(f"{path.name}: left out from here on: {error}\n")
    return papers, pages


def slowest(title: str, entries: Sequence[tuple[float, str]]) -> str:
    ordered = sorted(entries, reverse=True)
    times = [spent for spent, _ in ordered]
    lines = [f"{spent:8.3f} s  {name}" for spent, name in ordered[:SLOWEST]]
    head = f"{len(times)} {title}: median {statistics.median(times):.3f} s, maximum {times[0]:.3f} s"
    return "\n".join([head, *lines]) + "\n"


def _page(side: float = 0.0) -> tuple[pymupdf.Document, pymupdf.Page]:
    """A new document with a page of running text and a figure caption; the upper half is free."""
    document = pymupdf.open()
    page = document.new_page(width=side or 612, height=side or 792)
    size, width, height = page.rect.width / 61.2, page.rect.width, page.rect.height
    box = pymupdf.Rect(0.1 * width, 0.55 * height, 0.9 * width, 0.9 * height)
    caption = "Figure 1: What is drawn on a page that is made to be slow."
    page.insert_text((0.1 * width, 0.52 * height), caption, fontsize=size)
    page.insert_textbox(box, BODY * 15, fontsize=size)
    return document, page


def _draw(document: pymupdf.Document, page: pymupdf.Page, operators: Sequence[str]) -> None:
    """Appends PDF operators to the page (y grows upwards)."""
    xref = _stream(document, "<<>>", "\n".join(operators).encode())
    contents = [*page.get_contents(), xref]
    document.xref_set_key(page.xref, "Contents", "[" + " ".join(f"{number} 0 R" for number in contents) + "]")


def _stream(document: pymupdf.Document, dictionary: str, data: bytes) -> int:
    xref = document.get_new_xref()
    document.update_object(xref, dictionary)
    document.update_stream(xref, data)
    return xref


def many_paths(count: int = 200_000) -> pymupdf.Document:
    """Small strokes and filled squares in turn, one object each."""
    document, page = _page()
    chance = random.Random(1)
    operators = []
    for number in range(count):
        x, y = 70 + 470 * chance.random(), 420 + 320 * chance.random()
        stroke = f"{x:.2f} {y:.2f} m {x + 1:.2f} {y + 1:.2f} l S"
        operators.append(stroke if number % 2 else f"{x:.2f} {y:.2f} 1 1 re f")
    _draw(document, page, operators)
    return document


def huge_page(side: float = 14_400.0) -> pymupdf.Document:
    """A square page of the largest size, with curves over its upper half."""
    document, page = _page(side)
    operators = [f"{side / 1000} w"]
    for number in range(100):
        y = side * (0.54 + 0.004 * number)
        curve = (0.1 * side, y, 0.4 * side, 0.95 * side, 0.6 * side, 0.54 * side, 0.9 * side, y)
        operators.append("{:.0f} {:.0f} m {:.0f} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f} c S".format(*curve))
    _draw(document, page, operators)
    return document


def many_images(count: int = 2_000) -> pymupdf.Document:
    """Different images of 32 x 32 px side by side."""
    document, page = _page()
    chance = random.Random(1)
    operators, names = [], []
    kind = "<</Type/XObject/Subtype/Image/Width 32/Height 32/BitsPerComponent 8/ColorSpace/DeviceRGB>>"
    for number in range(count):
        x, y = 70 + 9 * (number % 50), 735 - 8 * (number // 50)
        names.append(f"/I{number} {_stream(document, kind, chance.randbytes(32 * 32 * 3))} 0 R")
        operators.append(f"q 8 0 0 7 {x} {y} cm /I{number} Do Q")
    resources = int(document.xref_get_key(page.xref, "Resources")[1].split()[0])
    document.xref_set_key(resources, "XObject", f"<<{' '.join(names)}>>")
    _draw(document, page, operators)
    return document


HOSTILE: dict[str, Callable[[], pymupdf.Document]] = {
    "200,000 small paths": many_paths,
    "a side of 14,400 pt": huge_page,
    "2,000 images": many_images,
}


def hostile() -> bool:
    """Measures the made pages; True where all stay below the limit."""
    fast = True
    with tempfile.TemporaryDirectory() as folder:
        for name, make in HOSTILE.items():
            path = Path(folder) / "page.pdf"
            with make() as document:
                document.save(path)
            begin = time.process_time()
            spent, crops = seconds(path)
            cpu = time.process_time() - begin
            fast = fast and spent < HOSTILE_LIMIT_S
            sys.stdout.write(f"{spent:8.3f} s ({cpu:.3f} CPU s)  {name}, {crops} figures cropped\n")
    return fast


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdfs", nargs="*")
    parser.add_argument("--papers", type=int, default=0, help="so many files, evenly from all; 0: all")
    parser.add_argument("--hostile", action="store_true", help="made pages instead of PDFS")
    args = parser.parse_args()
    if bool(args.pdfs) == args.hostile:
        parser.error("give PDFS or --hostile")
    if args.hostile:
        sys.exit(0 if hostile() else 1)
    paths = [Path(item.source) for item in collect(args.pdfs) if item.sha256 and item.duplicate_of is None]
    count = min(args.papers or len(paths), len(paths))
    seconds(paths[0])  # imports
    papers, pages = measured([paths[i * len(paths) // count] for i in range(count)])
    sys.stdout.write(slowest("papers", papers) + slowest("pages alone", pages))


if __name__ == "__main__":
    main()
