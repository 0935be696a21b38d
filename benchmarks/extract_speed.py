"""Extraction against a bare loop of PyMuPDF over the same files, side by side in one process.

    python benchmarks/extract_speed.py PDFS... [--rounds 3]

The bare loop opens each file and asks every page for its text dictionary, object boxes and drawings, and throws the
answers away. Extraction does the whole paper: captions, regions, 300 dpi crops as PNG, citing paragraphs, curation,
without OCR and features. Prints pages per second of processor time of both and their ratio, round by round; take the
median.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pymupdf

from sfq_ray.config import Extract
from sfq_ray.errors import ExtractError
from sfq_ray.extract.document import TEXT_FLAGS
from sfq_ray.extract.paper import extract_paper
from sfq_ray.inputs import collect


def bare(path: Path) -> int:
    with pymupdf.open(path) as document:
        for page in document:
            page.get_text("dict", flags=TEXT_FLAGS)
            page.get_bboxlog()
            page.get_drawings()
        return document.page_count


def whole(path: Path) -> int:
    return extract_paper(path, Extract()).pages


def seconds(work: Callable[[Path], int], paths: Sequence[Path]) -> tuple[float, int]:
    started, pages = time.process_time(), 0
    for path in paths:
        try:
            pages += work(path)
        except (ExtractError, RuntimeError, ValueError):
            continue  # damaged files cost both the same
    return time.process_time() - started, pages


def main(arguments: list[str]) -> None:
    rounds = int(arguments[arguments.index("--rounds") + 1]) if "--rounds" in arguments else 3
    given = arguments[: arguments.index("--rounds")] if "--rounds" in arguments else arguments
    paths = [Path(item.source) for item in collect(given) if item.sha256 and item.duplicate_of is None]
    seconds(whole, paths[:1])  # imports
    ratios = []
    for number in range(rounds):
        bare_s, pages = seconds(bare, paths)
        whole_s, _ = seconds(whole, paths)
        ratios.append(bare_s / whole_s)
        sys.stdout.write(
            f"round {number + 1}: {pages} pages, bare {pages / bare_s:.1f} pages/s, "
            f"extraction {pages / whole_s:.1f} pages/s, ratio {ratios[-1]:.2f}\n"
        )
    sys.stdout.write(f"median ratio {statistics.median(ratios):.2f} over {len(paths)} files\n")


if __name__ == "__main__":
    main(sys.argv[1:])
