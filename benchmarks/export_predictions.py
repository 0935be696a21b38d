"""figures/ of an output directory -> one JSON line per kept figure, in the format of figure-extraction scorers.

    python benchmarks/export_predictions.py OUT predictions.jsonl

Each line: {"id": paper_id, "number", "page" (0-based), "bbox" [x0, y0, x1, y1] in pt, "caption", "citing": [text]}.
Figures that a curation rule dropped after they were found are written too: detection is measured, not curation.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sfq_ray.store import Store

COLUMNS = ["paper_id", "label", "page", "bbox", "caption", "contexts", "dropped_stage"]


def main(out: str, target: str) -> None:
    with Path(target).open("w", encoding="utf-8") as file:
        for row in Store(Path(out)).rows("figures", COLUMNS):
            if row["dropped_stage"] == "find" or row["bbox"] is None:
                continue
            line = {
                "id": row["paper_id"], "number": row["label"], "page": row["page"], "bbox": row["bbox"],
                "caption": row["caption"] or "", "citing": [context["text"] for context in row["contexts"]],
            }  # fmt: skip
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
