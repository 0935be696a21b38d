"""The calls of the three protocols. What a call may see is fixed by its constructor, and nothing else reaches it.

direct_call    image, caption, citing snippets, metadata
sidecar_call   the same and the OCR/CV features
vision_call    image and features; neither caption nor citing text
language_call  caption, citing snippets, metadata; neither pixels nor features
fusion_call    the two evidence reports
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from sfq_ray.config import Judge
from sfq_ray.judge.backends import Backend
from sfq_ray.judge.errors import CallError
from sfq_ray.judge.payload import figure_map, snippets
from sfq_ray.judge.rendering import prompt_hash, render
from sfq_ray.judge.schemas import LanguageReply, VisionReply, reply_schema
from sfq_ray.rubric import DIMENSIONS, Dimension, figure_gates
from sfq_ray.tables import FEATURE_FIELDS

FEATURES = tuple(name for name, _, _ in FEATURE_FIELDS)
NOT_FOR_JUDGES = ("color_histogram", "feature_version", "ocr_backend")  # no evidence about quality
CACHED_IMAGES = 256  # a figure is judged by many runs one after the other
MEASURED = ("width", "height", "dpi", "panels", "words")


@dataclass(frozen=True)
class Figure:
    """The instance (I, c, T, m) of a figures/ row, with its gates."""

    figure_id: str
    image: bytes | None
    caption: str | None
    snippets: tuple[dict[str, Any], ...]
    metadata: dict[str, Any]
    features: dict[str, Any]
    measured: dict[str, Any]
    gates: frozenset[Dimension]
    others: tuple[dict[str, Any], ...] = ()  # the figure map: label and short caption of the paper's figures

    @property
    def available(self) -> list[str]:
        return [str(d) for d in DIMENSIONS if d in self.gates]


@dataclass(frozen=True)
class Request:
    """One model call. `evidence` is what `system` and `user` were rendered from; `measured` is for eyeless backends."""

    stage: str
    figure_id: str
    evidence: dict[str, Any]
    system: str
    user: str
    image: bytes | None = None
    measured: dict[str, Any] | None = None
    attempt: int = 0
    repeat: int = 0

    @property
    def image_sha256(self) -> str | None:
        return None if self.image is None else _sha256(self.image)

    def asked_again(self, problem: str) -> Request:
        """The same call with what was wrong with the reply; it counts as another request."""
        user = (
            f"{self.user}\n\nYour last reply could not be used: {problem}\n"
            "Reply again with one JSON object of exactly the required form and nothing else."
        )
        return replace(self, user=user, attempt=self.attempt + 1)


@lru_cache(CACHED_IMAGES)
def _sha256(image: bytes) -> str:
    return hashlib.sha256(image).hexdigest()


def request_id(backend: Backend, request: Request) -> str:
    """SHA-256 over everything that determines the reply."""
    content = {
        "backend": backend.name,
        "model": backend.model,
        "params": dict(backend.params),
        "stage": request.stage,
        "prompt": prompt_hash(request.stage),
        "schema": reply_schema(request.stage),
        "system": request.system,
        "user": request.user,
        "image": request.image_sha256,
        "measured": request.measured,
        "attempt": request.attempt,
        "repeat": request.repeat,
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def figure_of(row: Mapping[str, Any], settings: Judge, others: Sequence[Mapping[str, Any]] = ()) -> Figure:
    """The instance of a figures/ row; `others`: the paper's rows, for the figure map."""
    chosen = tuple(snippets(row["contexts"] or [], settings.max_snippets, settings.max_snippet_chars))
    features = {name: row[name] for name in FEATURES if name not in NOT_FOR_JUDGES and row[name] is not None}
    metadata = {name: row[name] for name in ("venue", "year", "label") if row[name] is not None}
    sections = [s["section"] for s in chosen if s["section"]]
    return Figure(
        row["figure_id"], row["image"], row["caption"], chosen,
        metadata | ({"sections": sections} if sections else {}),
        features, {name: row[name] for name in (*FEATURES, *MEASURED)},
        figure_gates(row),
        tuple(figure_map(others)),
    )  # fmt: skip


def direct_call(figure: Figure, backend: Backend) -> Request:
    return _request("direct", figure, _texts(figure), backend, image=True)


def sidecar_call(figure: Figure, backend: Backend) -> Request:
    return _request("sidecar", figure, _texts(figure) | {"features": figure.features}, backend, image=True)


def vision_call(figure: Figure, backend: Backend) -> Request:
    return _request("vision", figure, {"features": figure.features}, backend, image=True)


def language_call(figure: Figure, backend: Backend) -> Request:
    return _request("language", figure, _texts(figure), backend, image=False)


def fusion_call(figure: Figure, vision: VisionReply, language: LanguageReply, backend: Backend) -> Request:
    evidence = {
        "available": [d for d in figure.available if d in ("CC", "CTX", "MR")],
        "vision": vision.model_dump(mode="json"),
        "language": language.model_dump(mode="json"),
    }
    return _request("fusion", figure, evidence, backend, image=False)


def _texts(figure: Figure) -> dict[str, Any]:
    return {
        "available": figure.available,
        "caption": figure.caption if Dimension.CC in figure.gates else None,
        "snippets": [{"section": s["section"], "text": s["text"]} for s in figure.snippets],
        "metadata": figure.metadata,
        **({"figure_map": list(figure.others)} if figure.others else {}),
    }


def _request(stage: str, figure: Figure, evidence: dict[str, Any], backend: Backend, image: bool) -> Request:
    """Raises CallError where the call needs an image that is not there: what is paid for must be judged by sight."""
    if image and figure.image is None:
        raise CallError("image_rejected", "the figure has no image")
    system, user = render(stage, evidence)
    measured = figure.measured if image and backend.reads_measurements else None
    return Request(stage, figure.figure_id, evidence, system, user, figure.image if image else None, measured)
