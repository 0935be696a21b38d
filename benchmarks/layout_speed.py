"""The ONNX layout model inside PyMuPDF against the whole extraction, page by page of the same files in one process.

    python benchmarks/layout_speed.py PDFS... [--papers N]

The model (pymupdf.layout: page.get_layout(), then page.layout_information) finds regions and their classes, and nothing
more. Finding, its counterpart, gives captions and figure regions; extraction does the whole paper: crops at 300 dpi,
citing paragraphs and curation besides, without OCR and features. Each file goes through all three, one after the other.
Prints pages per second (wall), CPU seconds per page (all threads; the model may use every core, the others use one) and
the ratios. --papers takes N files evenly from all.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pymupdf
import pymupdf.layout

from sfq_ray.config import Extract
from sfq_ray.errors import ExtractError
from sfq_ray.extract.document import open_pdf
from sfq_ray.extract.paper import extract_paper, read_paper
from sfq_ray.extract.sheets import Sheets
from sfq_ray.inputs import collect


@dataclass
class Spent:
    """Totals of one contestant: wall and CPU seconds."""

    wall: float = 0.0
    cpu: float = 0.0

    def run(self, work: Callable[[Path], int], path: Path) -> int:
        wall, cpu = time.perf_counter(), time.process_time()
        count = work(path)
        self.wall += time.perf_counter() - wall
        self.cpu += time.process_time() - cpu
        return count


def model(path: Path) -> int:
    """Pages whose regions the model gave."""
    with pymupdf.open(path) as document:
        for page in document:
            page.get_layout()
            if page.layout_information is None:
                raise RuntimeError("the layout model is not active")
        return document.page_count


def finding(path: Path) -> int:
    settings = Extract()
    with open_pdf(path, settings.limits) as document:
        return len(read_paper(Sheets(document), settings, {}).pages)


def whole(path: Path) -> int:
    return extract_paper(path, Extract()).pages


def evenly(paths: Sequence[Path], number: int) -> list[Path]:
    """`number` of the paths at equal distances, all for 0."""
    count = min(number or len(paths), len(paths))
    return [paths[i * len(paths) // count] for i in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdfs", nargs="+")
    parser.add_argument("--papers", type=int, default=0, help="so many files, evenly from all; 0: all")
    args = parser.parse_args()
    paths = evenly([Path(i.source) for i in collect(args.pdfs) if i.sha256 and i.duplicate_of is None], args.papers)
    whole(paths[0])  # imports
    model(paths[0])  # the model's own start
    spent = {"layout model": Spent(), "finding": Spent(), "extraction": Spent()}
    pages, files = 0, 0
    for path in paths:
        try:
            spent["extraction"].run(whole, path)
            spent["finding"].run(finding, path)
            pages += spent["layout model"].run(model, path)
        except ExtractError as error:
            sys.stderr.write(f"{path.name}: left out, {error}\n")
            continue
        files += 1
    base = spent["layout model"]
    for title, own in spent.items():
        sys.stdout.write(
            f"{title}: {pages / own.wall:.2f} pages/s, {own.cpu / pages:.3f} CPU s/page; the model's "
            f"speed {base.wall / own.wall:.1f} times by the clock, {base.cpu / own.cpu:.1f} times by CPU time\n"
        )
    sys.stdout.write(f"{pages} pages of {files} files\n")


if __name__ == "__main__":
    main()
