"""The tables: one documented pyarrow schema each. Every row is cast to its schema when it is written.

layouts/  one row per page that a layout detector saw (written by extract, only with such a detector)
papers/   one row per input file                     (written by extract)
figures/  one row per figure found, kept or dropped  (written by extract)
calls/    one row per model call: the ledger         (written by judge)
scores/   one row per (run, figure)                  (written by judge, and by fit)
ratings/  one row per (rater, figure), as given      (written by import)

What evaluate writes is no table of parts; the schema of its leaderboard stands in evaluate.leaderboard.

Two kinds of "not kept" are never mixed: `dropped` is the decision of a named rule, `error` is a failure.
No column holds a time or a host of the job's own, so equal inputs give equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from sfq_ray.rubric import DIMENSIONS


def _field(name: str, kind: pa.DataType, doc: str, nullable: bool = True) -> pa.Field:
    return pa.field(name, kind, nullable=nullable, metadata={b"doc": doc.encode()})


def _key(name: str, doc: str) -> pa.Field:
    return _field(name, pa.string(), doc, nullable=False)


BOX = pa.list_(pa.float32())
"""[x0, y0, x1, y1] in pt, origin at the top left of the displayed page."""

RULE_COUNT = pa.struct([pa.field("stage", pa.string()), pa.field("rule", pa.string()), pa.field("count", pa.int32())])

LAYOUTS = pa.schema(
    [
        _key("paper_id", "The paper."),
        _field("page", pa.int32(), "0-based; null: the paper's pages could not be rendered (error says why)."),
        _field(
            "regions",
            pa.list_(
                pa.struct([pa.field("label", pa.string()), pa.field("score", pa.float32()), pa.field("bbox", BOX)])
            ),
            "Figure bodies that the detector sees, box in pt; null where it failed.",
        ),
        _field("error", pa.string(), "layout_failed, or why the paper could not be rendered; else null."),
        _field("message", pa.string(), "What went wrong."),
    ],
    metadata={b"table": b"layouts"},
)

PAPERS = pa.schema(
    [
        _key("paper_id", "Unique within the job: from the manifest, or the file's name without its ending."),
        _field("venue", pa.string(), "From the manifest, else null."),
        _field("year", pa.int16(), "From the manifest, else null."),
        _field("title", pa.string(), "From the manifest, else the PDF's own metadata, else null."),
        _key("source", "Path of the PDF as given."),
        _field("sha256", pa.string(), "Of the file's bytes, hex; null when the file could not be read."),
        _field("size_bytes", pa.int64(), "Size of the file."),
        _field("pages", pa.int32(), "Pages in the PDF; null when it could not be opened."),
        _key("outcome", "kept, dropped (by a rule) or failed (with an error)."),
        _field("dropped", pa.string(), "Name of the rule that dropped the paper, else null."),
        _field("duplicate_of", pa.string(), "paper_id of the first input with the same bytes, else null."),
        _field("error", pa.string(), "Failure class when outcome is failed (see errors.ExtractError), else null."),
        _field("message", pa.string(), "What was wrong and what to do, for dropped and failed papers."),
        _field("warnings", pa.list_(pa.string()), "Limits met on single pages (page number: what was left out)."),
        _field("figures_found", pa.int32(), "Rows of this paper in figures/."),
        _field("figures_kept", pa.int32(), "Of these, kept."),
        _field("figures_failed", pa.int32(), "Of these, with an error."),
        _field("figures_uncited", pa.int32(), "Of those kept, cited by no paragraph."),
        _field("drops", pa.list_(RULE_COUNT), "Figures dropped, by stage and rule."),
        _field("flags", pa.list_(RULE_COUNT), "Figures flagged, by stage and rule; a flag deletes nothing."),
        _key("extractor", "Name and version of the extractor."),
    ],
    metadata={b"table": b"papers"},
)

CONTEXT = pa.struct(
    [
        pa.field("section", pa.string()),  # heading of the section the paragraph stands in, or null
        pa.field("place", pa.string()),  # body, footnote or appendix (what follows the reference list)
        pa.field("page", pa.int32()),  # 0-based page on which the paragraph begins
        pa.field("text", pa.string()),  # the paragraph, hyphenation undone
        # character offsets [start, end) of every matched reference in `text`
        pa.field("spans", pa.list_(pa.struct([pa.field("start", pa.int32()), pa.field("end", pa.int32())]))),
        pa.field("panels", pa.list_(pa.string())),  # panels named with the reference: "a", "b"
        pa.field("cue", pa.string()),  # pointer, descriptive or comparative
        pa.field("weight", pa.float32()),  # 0..1, higher is better evidence
        pa.field("evidence", pa.string()),  # text, link or both; imported: bound by whoever made the dataset
    ]
)

WORD = pa.struct(
    [
        pa.field("text", pa.string()),
        pa.field("bbox", pa.list_(pa.float32())),  # px of the stored image; null where OCR gives no places
        pa.field("size_pt", pa.float32()),  # font size on the printed page; null without a box
        pa.field("confidence", pa.float32()),  # OCR 0..1; null for native text and OCR that states none
        pa.field("origin", pa.string()),  # native (text of the PDF) or ocr
    ]
)

FEATURE_FIELDS: list[tuple[str, pa.DataType, str]] = [
    ("pixel_count_mp", pa.float32(), "width * height / 1e6 of the crop."),
    ("blur_laplacian_var", pa.float32(), "Variance of the Laplacian of the grey crop; low is blurred."),
    ("whitespace_ratio", pa.float32(), "Share of pixels with grey value >= 245."),
    ("has_readable_text", pa.bool_(), "At least one word of text was read in the figure."),
    (
        "ocr_mean_confidence",
        pa.float32(),
        "Mean line confidence of OCR; null when OCR read nothing, did not run or states none.",
    ),
    ("text_box_count", pa.int32(), "Text lines found in the figure, native and OCR."),
    ("text_region_ratio", pa.float32(), "Area of the text boxes / area of the figure, at most 1."),
    ("panel_label_count", pa.int32(), "Text lines that are a panel label such as (a)."),
    ("caption_ocr_token_overlap_ratio", pa.float32(), "Share of the caption's content tokens also read in the figure."),
    ("caption_numeric_overlap_ratio", pa.float32(), "Share of the caption's numbers also read in the figure."),
    ("text_source", pa.string(), "native, ocr, both or none: where the text of the figure came from."),
    ("ocr_backend", pa.string(), "OCR backend that ran on this figure; null when none was needed or chosen."),
    ("raster_ratio", pa.float32(), "Share of the figure's area covered by embedded images."),
    ("edge_density", pa.float32(), "Share of pixels on a Canny edge."),
    ("dominant_color_ratio", pa.float32(), "Share of pixels in the most frequent of 4096 colour bins."),
    ("color_histogram", pa.list_(pa.float32()), "12 hue bins, then dark, grey and white; sums to 1."),
    ("color_count", pa.int32(), "Hue bins that hold at least 0.5 % of the pixels."),
    ("text_size_min_pt", pa.float32(), "Smallest text (5th percentile of characters) at publication scale, pt."),
    ("text_size_median_pt", pa.float32(), "Median text size at publication scale, pt."),
    ("text_contrast", pa.float32(), "Median over text boxes of (light - dark) / 255, 0..1."),
    ("raster_dpi", pa.float32(), "Lowest native resolution of the embedded images, px per printed inch."),
    ("axis_count", pa.int32(), "Long straight axis lines found (horizontal and vertical)."),
    ("tick_label_count", pa.int32(), "Numeric text lines, as on axes."),
    ("legend_entry_count", pa.int32(), "Text lines next to a small swatch of colour."),
    ("y_axis_min", pa.float32(), "Smallest number of the left-most vertical column of tick labels; null without one."),
    ("y_axis_max", pa.float32(), "Largest number of that column."),
    ("bars_detected", pa.int32(), "Filled bars that stand on one common base line."),
    ("feature_version", pa.string(), "Version of these formulas."),
]

FIGURES = pa.schema(
    [
        _key("figure_id", "<paper_id>__fig<fig_index, four digits>."),
        _key("paper_id", "Key into papers/."),
        _field("venue", pa.string(), "As in papers/."),
        _field("year", pa.int16(), "As in papers/."),
        _field("title", pa.string(), "As in papers/."),
        _field("fig_index", pa.int32(), "1-based position among the figures of the paper.", nullable=False),
        _field("label", pa.string(), 'Number as printed: "3", "A.1", "S2"; null without a caption.'),
        _field("page", pa.int32(), "0-based page of the figure."),
        _field("bbox", BOX, "Figure region without its caption, pt."),
        _field("panels", pa.list_(BOX), "Boxes of the sub-panels, pt; empty for a single one."),
        _field(
            "panel_labels",
            pa.list_(pa.string()),
            "Their printed letters, in the same order; null where none is visible.",
        ),
        _field("image", pa.binary(), "PNG of the region; null when it was not rendered."),
        _field("width", pa.int32(), "px of the image."),
        _field("height", pa.int32(), "px of the image."),
        _field("dpi", pa.float32(), "Resolution of the image: 300 unless a pixel cap lowered it."),
        _field("phash", pa.string(), "64-bit perceptual hash, hex."),
        _field("caption", pa.string(), "Caption text without its label, hyphenation undone; null without one."),
        _field("caption_label", pa.string(), 'Label as printed: "Figure 3:".'),
        _field("caption_page", pa.int32(), "0-based page of the caption."),
        _field("caption_bbox", BOX, "Box of the caption with its label, pt."),
        _field("caption_score", pa.float32(), "How well caption and region fit, 0..1."),
        _field("contexts", pa.list_(CONTEXT), "Citing paragraphs, best evidence first; empty when never cited."),
        _field("words", pa.list_(WORD), "Text lines inside the figure."),
        *[_field(name, kind, doc) for name, kind, doc in FEATURE_FIELDS],
        _field("flags", pa.list_(pa.string()), "stage:rule of every soft flag; nothing was deleted for them."),
        _field("layout", pa.string(), "Layout backend that gave the region."),
        _field("dropped_stage", pa.string(), "Curation stage of the rule that dropped the figure, else null."),
        _field("dropped", pa.string(), "Name of that rule, else null."),
        _field("error", pa.string(), "Failure class, else null."),
        _field("message", pa.string(), "Detail for dropped or failed figures."),
    ],
    metadata={b"table": b"figures"},
)

USAGE = pa.struct(
    [
        pa.field("input_tokens", pa.int64()),
        pa.field("output_tokens", pa.int64()),
        pa.field("cached_tokens", pa.int64()),
        pa.field("reasoning_tokens", pa.int64()),
    ]
)

SENT = pa.struct(
    [
        pa.field("sha256", pa.string()),
        pa.field("media_type", pa.string()),
        pa.field("width", pa.int32()),  # px
        pa.field("height", pa.int32()),
    ]
)

EXPECTED = pa.struct([pa.field("dimension", pa.string()), pa.field("score", pa.float64())])

CALLS = pa.schema(
    [
        _key("request_id", "Content hash of everything that determines the reply (judge.ledger)."),
        _key("figure_id", "Figure the call was made for."),
        _key("stage", "direct, sidecar, vision, language or fusion."),
        _key("backend", "Registry name of the backend."),
        _key("model", "Resolved model name."),
        _key("prompt_hash", "SHA-256 of the prompt files and reply schema of the stage."),
        _field("resolved_model", pa.string(), "As the provider names what answered; null where it does not say."),
        _field("response_id", pa.string(), "The provider's name of the answer."),
        _field("image_sha256", pa.string(), "Of the figure's image; null for calls without pixels."),
        _field("sent", SENT, "The image as it was sent, within the model's limits; null for calls without pixels."),
        _field("text", pa.string(), "Reply as it came; null when the call failed."),
        _field("finish_reason", pa.string(), "As the backend gave it."),
        _field("usage", USAGE, "Tokens as the backend counted them; null when it does not count."),
        _field("latency_s", pa.float32(), "Seconds until the reply was there; null for the rules and for failures."),
        _field("expected", pa.list_(EXPECTED), "Scores under the model's own probabilities; empty without them."),
        _field("attempt", pa.int16(), "0 for the first call, 1 for the one re-ask after an invalid reply."),
        _field("error", pa.string(), "Failure class of the call (judge.errors), else null."),
        _field("message", pa.string(), "Detail of the failure."),
    ],
    metadata={b"table": b"calls"},
)

SCORES = pa.schema(
    [
        _key("run_id", "Judge configuration, such as rules-agent."),
        _key("figure_id", "Key into figures/."),
        _key("paper_id", "Key into papers/."),
        _field("fig_index", pa.int32(), "As in figures/.", nullable=False),
        _field("venue", pa.string(), "As in papers/."),
        _field("year", pa.int16(), "As in papers/."),
        _key("protocol", "direct, sidecar or agent; regressor or calibrated for runs fitted to human ratings."),
        _key("backend", "Registry name of the vision model's backend; scikit-learn for fitted runs."),
        _key("model", "Resolved model; 'vision + language' for a mixed agent."),
        _key("status", "scored, gated (no caption and no context) or failed."),
        *[
            _field(d, pa.float64(), "1..10, whole numbers of a judge; null when gated off or not scored.")
            for d in DIMENSIONS
        ],
        _field("overall", pa.float64(), "Mean of the dimensions that are on, full precision."),
        *[_field(f"{d}_reason", pa.string(), "Reason; null when gated off.") for d in DIMENSIONS],
        *[_field(f"{d}_confidence", pa.int8(), "1..10 as the judge stated it, else null.") for d in DIMENSIONS],
        *[
            _field(f"{d}_owner", pa.string(), "What owns the score: direct, vision, runner, regressor ...")
            for d in DIMENSIONS
        ],
        *[_field(f"{d}_proposed", pa.float32(), "Score before the Runner; null when gated off.") for d in DIMENSIONS],
        *[
            _field(f"{d}_expected", pa.float64(), "Proposed score under the model's own probabilities, else null.")
            for d in DIMENSIONS
        ],
        _field("caps", pa.list_(pa.string()), "Caps that lowered a score, such as 'CC <= 6'."),
        _field("summary", pa.string(), "Judge's summary."),
        _field("suggestion", pa.string(), "Judge's suggestion."),
        _field("request_ids", pa.list_(pa.string()), "Calls the score came from, in protocol order."),
        _field("failure", pa.string(), "Failure class when status is failed, else null."),
        _field("message", pa.string(), "Detail of the failure."),
    ],
    metadata={b"table": b"scores"},
)

FITTED = ("regressor", "calibrated")
"""Protocols of runs that have seen the human ratings of other papers: no judges."""

RATINGS = pa.schema(
    [
        _key("figure_id", "Key into figures/."),
        _key("paper_id", "Paper of the figure, without a leading counter."),
        _field("fig_index", pa.int32(), "As in figures/.", nullable=False),
        _field("rater", pa.string(), "Who rated, as given; null where it is not said."),
        _key("source", "human or other."),
        *[_field(d, pa.float64(), "As given, usually 1..10; null when gated off or not rated.") for d in DIMENSIONS],
        _field("overall", pa.float64(), "As given, never recomputed; null where it is not given."),
        *[_field(f"{d}_reason", pa.string(), "Rationale as given, else null.") for d in DIMENSIONS],
        _field("summary", pa.string(), "Rater's summary."),
        _field("suggestion", pa.string(), "Rater's suggestion."),
        _field("annotated_at", pa.timestamp("us"), "Time that the source states, UTC where it has an offset."),
        _field("row", pa.int64(), "1-based line in the file it came from.", nullable=False),
    ],
    metadata={b"table": b"ratings"},
)

TABLES: dict[str, pa.Schema] = {
    "layouts": LAYOUTS, "papers": PAPERS, "figures": FIGURES, "calls": CALLS, "scores": SCORES, "ratings": RATINGS,
}  # fmt: skip


def figure_state(figure: Mapping[str, Any]) -> str:
    """kept, dropped or failed. An error outranks a rule: it says that the rules could not decide."""
    if figure["error"] is not None:
        return "failed"
    return "kept" if figure["dropped"] is None else "dropped"


def table_from_rows(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows as a table of exactly `schema`.

    A key that the schema does not have is a programming error (KeyError); a missing key is null.
    """
    rows = list(rows)
    known = set(schema.names)
    for row in rows:
        unknown = row.keys() - known
        if unknown:
            raise KeyError(f"{schema.metadata[b'table'].decode()}/ has no column {sorted(unknown)}")
    table = pa.Table.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema=schema)
    for field in schema:
        if not field.nullable and table[field.name].null_count:
            raise ValueError(f"{schema.metadata[b'table'].decode()}/{field.name} must not be null")
    return table
