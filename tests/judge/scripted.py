"""A backend whose replies the test writes, and rows of figures/ to judge."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from typing import Any, ClassVar

from PIL import Image

from sfq_ray.judge.backends import Reply
from sfq_ray.judge.calls import Request
from sfq_ray.tables import FIGURES, table_from_rows

LISTS = ("panels", "metrics", "compared_groups", "axes_units", "legend_notes", "uncertain_details")


def judgement(score: int = 8) -> dict[str, Any]:
    return {"score": score, "confidence": 6, "reason": "the axis label reads 12 pt"}


def good(stage: str, available: list[str], score: int = 8) -> dict[str, Any]:
    """A valid reply of the stage, as a dict."""
    on = {d: judgement(score) if d in available else None for d in ("CC", "CTX")}
    if stage in ("direct", "sidecar"):
        return {
            "VC": judgement(score),
            "SL": judgement(score),
            **on,
            "MR": judgement(score),
            "summary": "s",
            "suggestion": "t",
        }
    if stage == "fusion":
        return {**on, "MR": judgement(score), "summary": "s", "suggestion": "t"}
    if stage == "vision":
        facts = {name: [] for name in LISTS}
        return {
            "VC": judgement(score), "SL": judgement(score),
            "image_facts": {"figure_type": "line plot", "visible_content": "two lines", **facts},
            "caption_should_mention": [], "context_should_mention": [], "trust_signals": [], "risk_signals": [],
            "visual_risk_band": "7-8",
        }  # fmt: skip
    flags = ("result_or_comparison_figure", "caption_mentions_metric", "caption_identifies_groups",
             "context_is_bare_reference", "context_has_specific_support")  # fmt: skip
    return {
        "caption_facts": [], "context_facts": [], "context_support": "specific", "image_implied_by_caption": "a plot",
        "image_implied_by_context": "a plot", "text_severity": "none", "flags": dict.fromkeys(flags, True),
        "caption_score_cap": None, "context_score_cap": None, "misleading_score_cap": None,
    }  # fmt: skip


class Scripted:
    """Answers with good replies unless `script(request)` returns a Reply or raises; counts what it was asked."""

    name = "scripted"
    model = "scripted-1"
    params: ClassVar[dict[str, Any]] = {}
    reads_measurements = False

    def __init__(self, script: Callable[[Request], Reply | None] = lambda request: None, delay_s: float = 0.0) -> None:
        self.script = script
        self.delay_s = delay_s
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        await asyncio.sleep(self.delay_s)
        reply = self.script(request)
        if reply is not None:
            return reply
        # language and vision are not told which dimensions are on, so the script looks at the texts
        available = request.evidence.get("available", [])
        answer = good(request.stage, available)
        if request.stage == "vision":
            answer["image_facts"]["visible_content"] = f"two lines in {request.figure_id}"
        return Reply(json.dumps(answer), "stop")


def png(shade: int = 0) -> bytes:
    data = io.BytesIO()
    Image.new("RGB", (80, 60), (shade, shade, shade)).save(data, "PNG")
    return data.getvalue()


def figures(*rows: dict[str, Any]) -> Any:
    """A figures/ table; every row may change the defaults of an ordinary, kept figure."""
    context = {
        "section": "Results", "page": 1, "text": "As Figure 1 shows, A beats B by 3 points.",
        "spans": [{"start": 3, "end": 11}], "panels": [], "cue": "comparative", "weight": 1.0, "evidence": "text",
    }  # fmt: skip
    complete = []
    for index, row in enumerate(rows, 1):
        complete.append(
            {
                "figure_id": f"p__fig{index:04d}", "paper_id": "p", "fig_index": index, "label": str(index),
                "caption": f"Accuracy of A and B, run {index}.", "contexts": [context], "image": png(index),
                "width": 80, "height": 60, "dpi": 300.0, "panels": [], "words": [], "flags": [],
                "text_size_min_pt": 6.0,
            } | row
        )  # fmt: skip
    return table_from_rows(complete, FIGURES)
