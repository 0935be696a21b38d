"""Binding measured alone: known figures of papers in, citing paragraphs out, as predictions for the truth's scorer.

    python benchmarks/bind_truth.py TRUTH_DIR predictions.jsonl [--ids a,b]

TRUTH_DIR holds pdfs/<id>.pdf and truth/<id>.json, which gives number, page, box and caption of each figure. What is
measured is how well the text is cut into paragraphs and references are read, and the processor seconds that this takes
beside those for reading the pages and those of the whole extraction. It says nothing about finding figures.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sfq_ray.bind import Target, bind
from sfq_ray.config import Extract
from sfq_ray.extract.document import open_pdf, read_pages
from sfq_ray.extract.paper import extract_paper
from sfq_ray.extract.sheets import Sheets
from sfq_ray.extract.text import Vocabulary
from sfq_ray.geometry import Box


def known(truth: dict[str, Any]) -> tuple[list[Target], dict[int, list[Box]]]:
    """Targets, and the boxes of figures and captions per page."""
    targets: list[Target] = []
    zones: dict[int, list[Box]] = {}
    for key, figure in enumerate(truth["figures"]):
        region, caption = _box(figure.get("bbox_body") or figure["bbox"]), _box(figure.get("caption_bbox"))
        targets.append(Target(key, figure["number"], figure["page"], region, figure["page"], caption))
        zones.setdefault(figure["page"], []).extend(box for box in (region, caption) if box is not None)
    for table in truth["tables"]:
        if table.get("caption_bbox"):
            zones.setdefault(table["page"], []).append(Box(*table["caption_bbox"]))
    return targets, zones


def _box(values: list[float] | None) -> Box | None:
    return Box(*values).grown(1.0) if values else None


def predictions(
    directory: Path, ids: list[str], settings: Extract
) -> Iterator[tuple[list[dict[str, Any]], tuple[float, float, float]]]:
    """Rows per paper; seconds for reading its pages, for binding, and for its whole extraction."""
    for path in sorted((directory / "truth").glob("*.json")):
        if ids and path.stem not in ids:
            continue
        truth = json.loads(path.read_text(encoding="utf-8"))
        pdf = directory / "pdfs" / f"{path.stem}.pdf"
        start = time.process_time()
        extract_paper(pdf, settings)
        begin = time.process_time()
        with open_pdf(pdf, settings.limits) as document:
            pages = list(read_pages(Sheets(document), settings.limits))
        vocabulary = Vocabulary(line.text for page in pages for line in page.lines)
        middle = time.process_time()
        targets, zones = known(truth)
        contexts = bind(pages, targets, zones, vocabulary, settings)
        end = time.process_time()
        rows = [
            {
                "id": path.stem,
                "number": figure["number"],
                "page": figure["page"],
                "bbox": figure["bbox"],
                "caption": figure["caption"],
                "citing": [context.text for context in contexts[key]],
                "contexts": [context.as_row() for context in contexts[key]],
            }
            for key, figure in enumerate(truth["figures"])
        ]
        yield rows, (middle - begin, end - middle, begin - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("truth", type=Path)
    parser.add_argument("predictions", type=Path)
    parser.add_argument("--ids", default="", help="only these papers, separated by commas")
    args = parser.parse_args()
    spent = [0.0, 0.0, 0.0]
    with args.predictions.open("w", encoding="utf-8") as file:
        for rows, seconds in predictions(args.truth, [i for i in args.ids.split(",") if i], Extract()):
            spent = [total + own for total, own in zip(spent, seconds, strict=True)]
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    reading, binding, extraction = spent
    sys.stderr.write(
        f"reading {reading:.2f} s, binding {binding:.2f} s, extraction {extraction:.2f} s: binding adds "
        f"{binding / max(extraction - binding, 1e-9):.0%} to the rest of it\n"
    )


if __name__ == "__main__":
    main()
