"""Native text first, as the pipeline does, against OCR on every crop: figures per second and what comes out.

    python benchmarks/ocr_first.py OUT... [--figures N]

OUT are output directories of `sfq extract` with default settings; their kept figures are measured, evenly sampled by
--figures. Native first gives features.measure the PDF's text lines and its embedded images, so that OCR sees these
images alone. OCR first gives it no text and the whole crop as one image. Both times are those of the whole measure
call, with every descriptor, on the same crop, one after the other; the papers are extracted again for their image
boxes, untimed.

Prints figures per second of both and their ratio, for all figures and apart for those without and with embedded
images; for every feature that rests on text both means, the mean of the absolute differences over the figures where
both know it, and the figures where one alone does; and which share of the native words OCR read too.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfq_ray.config import Settings
from sfq_ray.extract.paper import extract_paper
from sfq_ray.features import load_ocr, measure
from sfq_ray.features.ocr import OcrBackend
from sfq_ray.store import Store

TEXT_FEATURES = (
    "text_box_count", "text_region_ratio", "panel_label_count", "caption_ocr_token_overlap_ratio",
    "caption_numeric_overlap_ratio", "text_size_min_pt", "text_size_median_pt", "text_contrast", "tick_label_count",
    "legend_entry_count", "y_axis_min", "y_axis_max",
)  # fmt: skip


class Result:
    """One figure measured both ways: columns of tables.FEATURE_FIELDS and words, and seconds."""

    def __init__(self, row: Mapping[str, Any], ocr: OcrBackend, settings: Settings) -> None:
        whole = [[0.0, 0.0, float(row["width"]), float(row["height"])]]
        self.native, self.native_s = _timed(row, row["words"], row["image_boxes"], ocr, settings)
        self.ocr, self.ocr_s = _timed(row, [], whole, ocr, settings)
        self.raster = bool(row["image_boxes"])


def _timed(
    row: Mapping[str, Any], words: Sequence[Any], boxes: Sequence[Any], ocr: OcrBackend, settings: Settings
) -> tuple[dict[str, Any], float]:
    begin = time.perf_counter()
    features = measure(row["image"], words, boxes, row["dpi"], row["caption"], ocr, settings.features)
    return features, time.perf_counter() - begin


def kept(out: Path, number: int, settings: Settings) -> Iterator[dict[str, Any]]:
    """Rows of extract_paper, with image boxes, for `number` of the directory's kept figures, all for 0."""
    store = Store(out)
    sources = {row["paper_id"]: row["source"] for row in store.rows("papers", ["paper_id", "source"])}
    rows = store.rows("figures", ["paper_id", "fig_index", "dropped", "error"])
    chosen = [(r["paper_id"], r["fig_index"]) for r in rows if r["dropped"] is None and r["error"] is None]
    count = min(number or len(chosen), len(chosen))
    wanted = {chosen[i * len(chosen) // count] for i in range(count)}
    for paper_id in sorted({paper_id for paper_id, _ in wanted}):
        for row in extract_paper(Path(sources[paper_id]), settings.extract).figures:
            if (paper_id, row["fig_index"]) in wanted:
                yield row


def rates(title: str, results: Sequence[Result]) -> str:
    if not results:
        return f"{title}: none\n"
    native, ocr = sum(r.native_s for r in results), sum(r.ocr_s for r in results)
    return (
        f"{title}: {len(results)} figures, native first {len(results) / native:.2f} figures/s, "
        f"OCR first {len(results) / ocr:.2f} figures/s, ratio {ocr / native:.1f}\n"
    )


def difference(name: str, results: Sequence[Result]) -> str:
    pairs = [(r.native[name], r.ocr[name]) for r in results]
    both = [(float(a), float(b)) for a, b in pairs if a is not None and b is not None]
    only = [sum(a is not None and b is None for a, b in pairs), sum(a is None and b is not None for a, b in pairs)]
    count = max(1, len(both))
    means = [sum(a for a, _ in both) / count, sum(b for _, b in both) / count, sum(abs(a - b) for a, b in both) / count]
    return f"{name:32} {len(both):5} " + " ".join(f"{m:10.3f}" for m in means) + f" {only[0]:6} {only[1]:6}\n"


def _tokens(words: Sequence[Mapping[str, Any]], origin: str) -> Counter[str]:
    return Counter(t for w in words if w["origin"] == origin for t in re.findall(r"\w+", w["text"].lower()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, nargs="+")
    parser.add_argument("--figures", type=int, default=0, help="so many kept figures of each directory, 0: all")
    args = parser.parse_args()
    settings = Settings()
    ocr = load_ocr(settings.features.ocr, settings.features)
    results = [Result(row, ocr, settings) for out in args.out for row in kept(out, args.figures, settings)]
    sys.stdout.write(rates("all", results))
    sys.stdout.write(rates("without embedded images", [r for r in results if not r.raster]))
    sys.stdout.write(rates("with embedded images", [r for r in results if r.raster]))
    sys.stdout.write(
        f"{'feature':32} {'both':>5} {'native':>10} {'OCR':>10} {'abs diff':>10} {'only n':>6} {'only O':>6}\n"
    )
    sys.stdout.writelines(difference(name, results) for name in TEXT_FEATURES)
    known = read = 0
    for result in results:
        native = _tokens(result.native["words"], "native")
        known, read = known + native.total(), read + (native & _tokens(result.ocr["words"], "ocr")).total()
    sys.stdout.write(f"native words that OCR first read too: {read} of {known} ({read / max(1, known):.0%})\n")


if __name__ == "__main__":
    main()
