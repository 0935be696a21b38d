"""Prompts from evidence: the rubric as system text, the same for every stage, then protocol, payload and reply form.

What comes from a paper stands between fences that it cannot close: each fence carries a hash of its data, and
lines of the data that look like a fence are broken up.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from sfq_ray.judge.schemas import REPLIES, reply_schema
from sfq_ray.rubric import NAMES, Dimension

WITH_IMAGE = frozenset({"direct", "sidecar", "vision"})
FENCES = ("<<<DATA", ">>>DATA")


@cache
def prompt(name: str) -> str:
    """The text of prompts/<name>.md."""
    return files("sfq_ray.judge.prompts").joinpath(f"{name}.md").read_text(encoding="utf-8").strip()


@cache
def prompt_hash(stage: str) -> str:
    """SHA-256 over the prompt files and the reply schema of a stage."""
    return hashlib.sha256("\0".join((prompt("rubric"), prompt(stage), reply_schema(stage))).encode()).hexdigest()


def prompt_hashes() -> dict[str, str]:
    return {stage: prompt_hash(stage) for stage in REPLIES}


def render(stage: str, evidence: Mapping[str, Any]) -> tuple[str, str]:
    """(system, user) of a call. The image, where the stage has one, follows the user text."""
    parts = [prompt(stage), _payload(evidence), _reply_form(stage)]
    if stage in WITH_IMAGE:
        parts.append("The image of the figure follows.")
    return prompt("rubric"), "\n\n".join(part for part in parts if part)


def _payload(evidence: Mapping[str, Any]) -> str:
    parts = []
    if "available" in evidence:
        names = [f"{code} ({NAMES[Dimension(code)]})" for code in evidence["available"]]
        parts.append(f"Available dimensions: {', '.join(names) or 'none'}.")
    if evidence.get("metadata"):
        parts.append(fenced("metadata", json.dumps(evidence["metadata"], ensure_ascii=False, sort_keys=True)))
    if "caption" in evidence:
        caption = evidence["caption"]
        parts.append("The figure has no caption." if caption is None else fenced("caption", caption))
    if "snippets" in evidence:
        snippets = evidence["snippets"]
        if not snippets:
            parts.append("No paragraph cites the figure.")
        for number, snippet in enumerate(snippets, 1):
            section = f"[section: {snippet['section']}]\n" if snippet["section"] else ""
            parts.append(fenced(f"citing paragraph {number}", section + snippet["text"]))
    if "figure_map" in evidence:
        others = "\n".join(f"Figure {figure['label']}: {figure['caption']}" for figure in evidence["figure_map"])
        parts.append(fenced("all figures of the paper", others))
    if "features" in evidence:
        values = "\n".join(f"{name}: {_number(value)}" for name, value in sorted(evidence["features"].items()))
        parts.append(fenced("measurements", values or "none were made"))
    for report in ("vision", "language"):
        if report in evidence:
            parts.append(fenced(f"{report} report", json.dumps(evidence[report], ensure_ascii=False, indent=1)))
    return "\n\n".join(parts)


def fenced(title: str, data: str) -> str:
    """`data` between two fence lines that carry a hash of title and data; it cannot contain either."""
    clean = "".join(char if char == "\n" or char.isprintable() else " " for char in data)
    for fence in FENCES:
        clean = clean.replace(fence, f"{fence[0]} {fence[1:]}")
    mark = hashlib.sha256(f"{title}\0{clean}".encode()).hexdigest()[:12]
    return f"<<<DATA {mark} ({title})\n{clean}\n>>>DATA {mark}"


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


def _reply_form(stage: str) -> str:
    schema = reply_schema(stage)
    return f"Reply with one JSON object and nothing else. It must be valid under this JSON Schema:\n{schema}"
