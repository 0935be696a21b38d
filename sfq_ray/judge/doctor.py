"""Which models are usable here, what is missing for the others, and which reply form works where one call is made."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

import cv2
import numpy as np

from sfq_ray.config import ConfigError, Judge
from sfq_ray.errors import FatalError
from sfq_ray.judge.backends import Backend, load_backend
from sfq_ray.judge.calls import Figure, direct_call
from sfq_ray.judge.capabilities import Model
from sfq_ray.judge.dialects import compile_schema
from sfq_ray.judge.errors import CallError
from sfq_ray.judge.parse import parse
from sfq_ray.judge.schemas import REPLIES
from sfq_ray.judge.sending import answered
from sfq_ray.judge.thinking import thinking_of
from sfq_ray.rubric import DIMENSIONS

PROBE_S = 60.0  # for one call
LOOSER = ("json_object", "prompt_only")  # reply forms to try where the record's own is refused


@dataclass(frozen=True)
class Finding:
    model: str
    backend: str
    usable: bool
    says: str


def examine(models: Iterable[Model], settings: Judge, probe: bool) -> list[Finding]:
    """One finding for each model. `probe` makes one call to each that looks usable, more where its form is refused."""
    return [_examine(model, settings, probe) for model in models]


def _examine(model: Model, settings: Judge, probe: bool) -> Finding:
    try:
        for stage in REPLIES:
            compile_schema(model.dialect, stage)
        load_backend(model, settings)
    except (ConfigError, FatalError) as error:
        return Finding(model.name, model.backend, False, str(error))
    usable, says = True, f"package and key are there; replies by {model.dialect}"
    if probe:
        patience = settings.model_copy(update={"deadline_s": min(settings.deadline_s, PROBE_S)})  # of SDKs with threads
        usable, says = asyncio.run(_probe(model, patience))
    note = thinking_of(model, settings).note
    return Finding(
        model.name, model.backend, usable, f"{says}; thinking {settings.thinking}: {note}" if note else says
    )  # fmt: skip


async def _probe(model: Model, settings: Judge) -> tuple[bool, str]:
    """One Direct call about a made picture; where its reply form is refused, with a looser one."""
    problem = await _ask(load_backend(model, settings))
    if problem is None:
        return True, f"answered; replies by {model.dialect} are valid"
    if problem.kind in ("bad_request", "schema_violation", "invalid_json"):
        for dialect in LOOSER:
            if dialect != model.dialect:
                other = model.model_copy(update={"dialect": dialect})
                if await _ask(load_backend(other, settings)) is None:
                    return False, f"{model.dialect} fails ({problem}); {dialect} works: set it in the models file"
    return False, f"{problem.kind}: {problem}"


async def _ask(backend: Backend) -> CallError | None:
    figure = _figure()
    try:
        async with asyncio.timeout(PROBE_S):
            parse("direct", await answered(backend, direct_call(figure, backend)), figure.available)
    except CallError as error:
        return error
    except TimeoutError:
        return CallError("timeout", f"no answer within {PROBE_S:g} s")
    return None


def _figure() -> Figure:
    """Two bars, a caption and a sentence: enough to be judged."""
    image = np.full((240, 320, 3), 255, np.uint8)
    cv2.rectangle(image, (60, 100), (120, 220), (180, 80, 20), -1)
    cv2.rectangle(image, (190, 60), (250, 220), (20, 80, 180), -1)
    png = cv2.imencode(".png", image)[1].tobytes()
    snippet = {"section": "Results", "text": "As Figure 1 shows, B is higher than A."}
    return Figure(
        "probe", png, "Accuracy of A and B.", (snippet,), {"label": "1"}, {}, {}, frozenset(DIMENSIONS)
    )  # fmt: skip
