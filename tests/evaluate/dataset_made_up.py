"""A made-up dataset of the released layout."""

from __future__ import annotations

import csv
import json

from ratings_made_up import WORKED_EXAMPLE
from released_made_up import png

from sfq_ray.rubric import LONG_NAMES


def annotation(rater, scores, **more):
    row = {"source_type": "human", "source_name": rater, "overall_score": 7.199999809265137, "summary": "s"}
    for long, score in zip(LONG_NAMES.values(), scores, strict=True):
        row |= {long: None if score is None else float(score), f"{long}_reason": None if score is None else "since"}
    return row | {"suggestion": "t", "annotated_at": "2026-03-02T09:00:00.000123"} | more


def record(paper, index, **more):
    means = dict(zip(LONG_NAMES.values(), (6.3333, 6.6667, 5.3333, 6.3333, 4.3333), strict=True))
    return {
        "figure_id": f"0001_{paper}__fig{index:04d}", "paper_id": f"0001_{paper}", "paper_id_norm": paper,
        "fig_index": index, "venue": "ACL", "year": 2021, "title": "T", "caption": f"**Figure {index}:** *Loss* by step.",
        "section": "4", "context_texts": ["A neighbour.", f"Figure {index}(b) shows lower loss than before."],
        "context_count": 2, "domain_l1": "NLP", "domain_l2": None, "width": 60, "height": 40, "annotator_count": 3,
        "image": f"images/0001_{paper}__fig{index:04d}.png", "human_overall_score": 5.8,
        **{f"human_{long}": mean for long, mean in means.items()},
        "annotations": [annotation(rater, scores) for rater, scores in zip("abc", WORKED_EXAMPLE, strict=True)],
    } | more  # fmt: skip


def write_dataset(folder, *records, means=None, split=()):
    """Every image that a record names inside images/ but no.png is there."""
    full = folder / "datasets" / "full"
    (full / "images").mkdir(parents=True)
    (full / "splits").mkdir()
    for row in records:
        if isinstance(row, dict) and row["image"] and "no.png" not in row["image"]:
            (full / row["image"]).write_bytes(png())
    lines = [row if isinstance(row, str) else json.dumps(row) for row in records]
    (full / "figures.jsonl").write_text("\n".join(lines) + "\n")
    if means:
        with (full / "human_means.csv").open("w") as file:
            writer = csv.DictWriter(file, means[0])
            writer.writeheader()
            writer.writerows(means)
    (full / "splits" / "eval1200.jsonl").write_text("".join(json.dumps(row) + "\n" for row in split))
    return folder
