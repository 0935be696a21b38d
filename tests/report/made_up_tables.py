"""Made-up rows of the three tables: kept, dropped and failed figures, hostile texts, missing scores."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from PIL import Image, ImageDraw

from sfq_ray.rubric import DIMENSIONS, gates, overall
from sfq_ray.tables import FIGURES, PAPERS, SCORES, table_from_rows

HOSTILE = (
    "</script><script>document.title='owned'</script>"
    "<img src=x onerror=\"document.title='owned'\"> \u2028\u2029 \" ' & 𝒳 javascript:document.title='owned'"
)
CITING = "𝒳 beats 𝒴 in Figure 1, which <b>shows</b> it; Figure 1a says more."


def png(width: int = 640, height: int = 400) -> bytes:
    image = Image.new("RGB", (width, height), "white")
    ImageDraw.Draw(image).line((20, height - 20, width - 20, 20), fill="navy", width=5)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def paper(paper_id: str, outcome: str = "kept", **more: Any) -> dict[str, Any]:
    row = {"paper_id": paper_id, "source": f"{paper_id}.pdf", "outcome": outcome, "extractor": "made up 1"}
    return {**row, "title": f"Title of {paper_id}", "pages": 9, **more}


def figure(paper_id: str, index: int, **more: Any) -> dict[str, Any]:
    row = {"figure_id": f"{paper_id}__fig{index:04}", "paper_id": paper_id, "fig_index": index, "label": str(index)}
    return {**row, "page": 2, "caption": f"Caption {index} of {paper_id}.", "image": png(), "flags": [], **more}


def citing(text: str = CITING) -> dict[str, Any]:
    spans = [{"start": start, "end": start + 8} for start in range(len(text)) if text.startswith("Figure 1", start)]
    return {"section": "4 Results", "page": 4, "text": text, "spans": spans, "panels": ["a"], "cue": "comparative"} | {
        "weight": 0.9,
        "evidence": "text",
        "place": "body",
    }


def score(run_id: str, of: dict[str, Any], values: dict[str, int | None], **more: Any) -> dict[str, Any]:
    row = {"run_id": run_id, "protocol": run_id.split("-")[1], "backend": "rules", "model": "rules-1"}
    row |= {name: of[name] for name in ("figure_id", "paper_id", "fig_index")}
    row |= {"status": "scored", **values, "overall": overall({d: values.get(d) for d in DIMENSIONS})}
    on = gates(of["caption"], [context["text"] for context in of.get("contexts") or []])
    row |= {f"{d}_reason": f"{run_id} on {d} of {of['figure_id']}" for d in on}
    return {**row, **more}


def write(out: Path, name: str, rows: list[dict[str, Any]]) -> None:
    schema = {"papers": PAPERS, "figures": FIGURES, "scores": SCORES}[name]
    (out / name).mkdir(parents=True)
    half = (len(rows) + 1) // 2
    for part, some in enumerate((rows[:half], rows[half:])):
        pq.write_table(table_from_rows(some, schema), out / name / f"part-{part}.parquet")


def figure_rows() -> list[dict[str, Any]]:
    return [
        figure("b", 2, caption=None, label=None, contexts=[citing()]),
        figure("b", 1, caption=HOSTILE, contexts=[citing()], flags=["S2:area_outlier"]),
        figure("a", 1, blur_laplacian_var=812.25),
        figure("a", 2, dropped_stage="S1", dropped="small_side", message="31 px is below 50 px"),
        figure("a", 3, error="render_failed", message="The region is damaged.", image=None),
        figure("a/../<odd>&id", 1, caption="Only three words.", image=b"not a picture"),
    ]


def score_rows(figures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    no_caption, hostile, plain = figures[:3]
    capped = {"CC_proposed": 8.0, "CC_owner": "runner", "CC_confidence": 7, "caps": ["CC <= 6"], "summary": HOSTILE}
    return [
        score("rules-direct", hostile, {"VC": 2, "SL": 3, "CC": 4, "CTX": 5, "MR": 6}),
        score("rules-direct", plain, {"VC": 9, "SL": 9, "CC": 8, "CTX": None, "MR": 9}),
        score("rules-direct", no_caption, {}, status="failed", failure="truncated", message="The reply has no end."),
        score("rules-agent", hostile, {"VC": 7, "SL": 7, "CC": 6, "CTX": 6, "MR": 5}, **capped),
        score("rules-agent", no_caption, {"VC": 5, "SL": 5, "CC": None, "CTX": 6, "MR": 5}),
    ]
