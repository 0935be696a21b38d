"""A directory with figures as extraction leaves them and ratings as import does, odd ones among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
from ratings_made_up import clean_gold, rating

from sfq_ray.store import Store
from sfq_ray.tables import FIGURES, RATINGS, table_from_rows

ODD = 'Loss, "as is"\n| in 𝒳\u2028 & <b>Köln</b>; 図, \\alpha, NaN'
LINKED = {
    "section": "5 | Results", "place": "appendix", "page": 7, "text": "Bound by its link alone.", "spans": [],
    "panels": ["b"], "cue": "descriptive", "weight": 0.7, "evidence": "link",
}  # fmt: skip
POINTER = LINKED | {
    "text": "See Figure S2.", "spans": [{"start": 4, "end": 13}], "cue": "pointer", "weight": 0.3, "evidence": "text",
}  # fmt: skip


def png(shade: int = 120) -> bytes:
    pixels = np.full((40, 60, 3), 255, np.uint8)
    pixels[10:30, 10:20] = (0, shade, 200)
    return cv2.imencode(".png", pixels)[1].tobytes()


def figure(paper: str, index: int, **more: Any) -> dict[str, Any]:
    row = {
        "figure_id": f"{paper}__fig{index:04d}", "paper_id": paper, "fig_index": index, "venue": "ACL", "year": 2021,
        "title": "T", "label": str(index), "caption_label": f"Figure {index}:", "caption": "Loss by step.",
        "contexts": [], "image": png(index), "width": 60, "height": 40, "dpi": 300.0, "page": 3, "layout": "pymupdf",
        "blur_laplacian_var": 812.3, "has_readable_text": True, "text_box_count": 4,
    }  # fmt: skip
    return row | more


def odd_figures() -> list[dict[str, Any]]:
    """Kept figures that are hard to carry, and six rows that are none to release."""
    return [
        figure("p", 3, caption=ODD, label="S2", caption_label="Supplementary Fig S2", contexts=[LINKED, POINTER]),
        figure("p", 1),
        figure("p", 2, caption=None, contexts=[POINTER]),
        figure("0001_q/ü", 1, caption="Figure 4: is quoted", caption_label=None, label=None, venue=None, year=None),
        figure("2020.10", 12, caption=None, caption_label=None, label=None, title=None, contexts=None, venue="I|C"),
        figure("r", 1, dropped="small_side", dropped_stage="S1"),
        figure("r", 2, error="ocr_failed"),
        figure("r", 3, image=None),
        figure("r", 4, image=png()[:90]),
        figure("r", 5, figure_id="r-5"),
        figure("p", 1, caption="again"),
    ]


def odd_ratings() -> list[dict[str, Any]]:
    """Ratings of the kept figures 1 to 3 of paper p, some bare, and of figures that are not there."""
    reasons = {"VC_reason": ODD, "summary": ODD, "overall": 7.199999809265137}
    return [
        *clean_gold(3),
        rating(2, "Rater 4", (7, 7, None, 7.5, 1 / 3), **reasons),
        rating(3, None, (None,) * 5, overall=6.0),
        rating(3, "a model", source="other"),
        rating(9, "Rater_01"),
    ]


def directory(path: Path, figures: list[dict[str, Any]], ratings: list[dict[str, Any]] | None = None) -> Path:
    """Tables in two parts each."""
    store = Store(path)
    store.prepare()
    for table, schema, rows in (("figures", FIGURES, figures), ("ratings", RATINGS, ratings or [])):
        half = (len(rows) + 1) // 2
        for part, some in enumerate((rows[:half], rows[half:])):
            if some:
                store.write(table, f"part-{part:05d}", table_from_rows(some, schema))
    return path
