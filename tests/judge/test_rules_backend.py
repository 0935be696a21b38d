"""The rules judge: valid replies to everything, reasons with evidence, and planted defects that cost what they should."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import figures

from sfq_ray.config import Judge
from sfq_ray.judge.backends import Backend
from sfq_ray.judge.backends.rules import RulesBackend
from sfq_ray.judge.calls import (
    MEASURED,
    Figure,
    Request,
    direct_call,
    figure_of,
    fusion_call,
    language_call,
    sidecar_call,
    vision_call,
)
from sfq_ray.judge.protocols import Judges, agent
from sfq_ray.judge.schemas import REPLIES, Reply
from sfq_ray.rubric import DIMENSIONS
from sfq_ray.tables import FEATURE_FIELDS

BACKEND = RulesBackend()
EVIDENCE = re.compile(r"\d|\".+\"|'.+'")
JUDGED = [str(d) for d in DIMENSIONS]


def word(text: str, x: float, y: float) -> dict[str, Any]:
    return {"text": text, "bbox": [x, y, x + 10.0 * len(text), y + 20.0], "size_pt": 8.0, "confidence": None,
            "origin": "native"}  # fmt: skip


WORDS = [word("(a)", 10, 10), word("(b)", 410, 12), word("(c)", 810, 9), word("Accuracy", 40, 100),
         word("Alpha", 500, 200), word("Beta", 500, 260), word("Steps", 500, 400)]  # fmt: skip
CAPTION = (
    "Accuracy of Alpha compared with the baseline Beta over training steps on (a) news, (b) web and (c) code; "
    "error bars show one standard deviation."
)
SOUND = {
    "label": "5", "caption": CAPTION, "width": 1200, "height": 450, "words": WORDS, "panels": [[0.0, 0, 1, 1]] * 3,
    "text_size_min_pt": 7.5, "text_contrast": 0.9, "raster_ratio": 0.0, "axis_count": 6, "tick_label_count": 18,
    "text_region_ratio": 0.1, "bars_detected": 0, "y_axis_min": 0.0, "y_axis_max": 1.0,
}  # fmt: skip
CLAIM = "As Figure 5 shows, Alpha reaches a higher accuracy than Beta by 3.1 points after 100 training steps."


def context(text: str) -> dict[str, Any]:
    return {"section": "Results", "page": 1, "text": text, "spans": [], "panels": [], "cue": "comparative",
            "weight": 1.0, "evidence": "text"}  # fmt: skip


def figure(**changes: Any) -> Figure:
    row = figures({"contexts": [context(CLAIM)]} | SOUND | changes).to_pylist()[0]
    return figure_of(row, Judge())


def ask(request: Request) -> Any:
    return REPLIES[request.stage].model_validate_json(asyncio.run(BACKEND.complete(request)).text)


def replies(of: Figure) -> dict[str, Any]:
    """The replies of all stages."""
    vision, language = ask(vision_call(of, BACKEND)), ask(language_call(of, BACKEND))
    return {
        "direct": ask(direct_call(of, BACKEND)),
        "sidecar": ask(sidecar_call(of, BACKEND)),
        "vision": vision,
        "language": language,
        "fusion": ask(fusion_call(of, vision, language, BACKEND)),
    }


def scores(reply: Reply) -> dict[str, int]:
    return {d: judgement.score for d in JUDGED if (judgement := getattr(reply, d, None)) is not None}


# --- every reply is valid

TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(
        st.sampled_from(
            ["Figure 5", "See Fig. 5.", "accuracy", "higher than", "Alpha", "vs.", "3.1", "%", "error bars", "(a)", "(b)",
             "\n", "  ", '"', "结果", "x" * 700, "baseline", "Comparison of A1 and B2.", "outperforms", "."]
        ),
        max_size=25,
    ).map(" ".join),
)  # fmt: skip
NUMBERS = {"float": st.floats(-10, 5000, width=32), "int32": st.integers(0, 400), "bool": st.booleans()}
BOXES = st.lists(st.integers(0, 1000).map(float), min_size=4, max_size=4).map(
    lambda b: [min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3])]
)
LINES = st.builds(
    lambda text, box: word("", 0, 0) | {"text": text, "bbox": box},
    st.one_of(
        st.sampled_from(["(a)", "(b)", "(c)", "a", "x", "y", "(z) end", "0.5", "Accuracy"]), st.text(max_size=30)
    ),
    BOXES,
)


@st.composite
def measurements(draw: st.DrawFn) -> dict[str, Any]:
    """Any pattern of nulls in what is measured."""
    row: dict[str, Any] = {}
    for name, kind, _ in FEATURE_FIELDS:
        if str(kind) in NUMBERS:
            row[name] = draw(st.none() | NUMBERS[str(kind)])
    row["width"], row["height"] = draw(st.none() | st.integers(1, 5000)), draw(st.none() | st.integers(1, 5000))
    row["panels"] = draw(st.none() | st.lists(BOXES, max_size=5))
    row["words"] = draw(st.none() | st.lists(LINES, max_size=12))
    return row


@given(measurements(), st.none() | TEXTS, st.lists(TEXTS, max_size=3))
@settings(max_examples=150, deadline=None)
def test_every_stage_replies_within_its_schema(
    measured: dict[str, Any], caption: str | None, citing: list[str]
) -> None:
    of = figure(**measured, caption=caption, contexts=[context(text) for text in citing])
    for stage, reply in replies(of).items():
        for dimension in ("CC", "CTX"):
            if stage in ("direct", "sidecar", "fusion"):
                assert (getattr(reply, dimension) is None) == (dimension not in of.gates)
        for dimension in scores(reply):
            judgement = getattr(reply, dimension)
            assert EVIDENCE.search(judgement.reason), f"{stage} {dimension}: {judgement.reason}"


def test_nothing_measured_costs_nothing() -> None:
    nulls: dict[str, Any] = {name: None for name, _, _ in FEATURE_FIELDS} | dict.fromkeys(MEASURED)
    reply = replies(figure(**nulls))["direct"]
    assert scores(reply)["VC"] == scores(reply)["SL"] == 9
    assert reply.VC.confidence < replies(figure())["direct"].VC.confidence


def test_equal_requests_get_equal_replies() -> None:
    request = direct_call(figure(), BACKEND)
    assert asyncio.run(BACKEND.complete(request)) == asyncio.run(RulesBackend().complete(request))


def test_the_backend_without_eyes_is_given_measurements_where_others_get_the_image() -> None:
    of = figure()
    vision, language = ask(vision_call(of, BACKEND)), ask(language_call(of, BACKEND))
    assert direct_call(of, BACKEND).measured == sidecar_call(of, BACKEND).measured == of.measured
    assert language_call(of, BACKEND).measured is None
    assert fusion_call(of, vision, language, BACKEND).measured is None


# --- a sound figure, and one defect at a time


def test_a_sound_figure_scores_high_in_every_stage() -> None:
    found = replies(figure())
    for stage in ("direct", "sidecar", "vision", "fusion"):
        assert min(scores(found[stage]).values()) >= 8, stage
    language = found["language"]
    assert language.context_support == "specific"
    assert language.text_severity == "none"
    assert language.caption_score_cap is language.context_score_cap is language.misleading_score_cap is None
    assert found["vision"].image_facts.panels == ["(a)", "(b)", "(c)"]


def labelled(*labels: str) -> list[dict[str, Any]]:
    return [word(label, 10.0 + 400 * place, 10) for place, label in enumerate(labels)] + WORDS[3:]


BARS = {"bars_detected": 6, "axis_count": 2}
DEFECTS: dict[str, tuple[dict[str, Any], str, int]] = {  # changes, dimension, points it costs at least
    "small print": ({"text_size_min_pt": 3.1}, "VC", 3),
    "pale print": ({"text_contrast": 0.2}, "VC", 2),
    "coarse raster": ({"raster_ratio": 0.9, "raster_dpi": 72.0}, "VC", 2),
    "panels out of order": ({"words": labelled("(a)", "(c)", "(b)")}, "SL", 2),
    "panel label twice": ({"words": labelled("(a)", "(b)", "(b)")}, "SL", 2),
    "panel label missing": ({"words": labelled("(a)", "(b)", "(d)")}, "SL", 1),
    "truncated bars": (BARS | {"y_axis_min": 0.86, "y_axis_max": 0.95}, "MR", 4),
    "axes without numbers": ({"tick_label_count": 0, "y_axis_min": None, "y_axis_max": None}, "MR", 2),
    "vague caption": ({"caption": "Results."}, "CC", 3),
    "bare pointer": ({"contexts": [context("See Figure 5.")]}, "CTX", 3),
}


@pytest.mark.parametrize("defect", DEFECTS)
@pytest.mark.parametrize("stage", ["direct", "sidecar"])
def test_a_defect_costs_its_own_dimension_only(stage: str, defect: str) -> None:
    changes, hit, points = DEFECTS[defect]
    before, after = scores(replies(figure())[stage]), scores(replies(figure(**changes))[stage])
    assert after[hit] <= before[hit] - points
    for other in set(JUDGED) - {hit}:
        assert abs(after[other] - before[other]) <= 1, other


@pytest.mark.parametrize("defect", DEFECTS)
def test_the_agent_finds_the_defect_too(defect: str) -> None:
    """The text severity of a vague caption moves MR by the Runner's rule, so only VC and SL must stay there."""

    async def answer(request: Request, backend: Backend) -> Reply:
        return REPLIES[request.stage].model_validate_json((await backend.complete(request)).text)

    changes, hit, points = DEFECTS[defect]
    judges = Judges(BACKEND, BACKEND)
    before, after = (asyncio.run(agent(f, answer, judges)).scored.scores for f in (figure(), figure(**changes)))
    found = {str(d): before[d] - after[d] for d in DIMENSIONS}
    assert found[hit] >= points
    assert all(abs(found[other]) <= 1 for other in {"VC", "SL"} - {hit})


def test_truncated_bars_lower_the_risk_band_and_are_told() -> None:
    sound, cut = (ask(vision_call(figure(**BARS, **axis), BACKEND)) for axis in (
        {"y_axis_min": 0.0, "y_axis_max": 0.95}, {"y_axis_min": 0.86, "y_axis_max": 0.95},
    ))  # fmt: skip
    assert (sound.visual_risk_band, cut.visual_risk_band) == ("9-10", "3-4")
    assert "0.86 to 0.95" in cut.risk_signals[0]


def test_cells_of_a_heat_map_are_no_bars() -> None:
    axis = {"y_axis_min": 0.86, "y_axis_max": 0.95, "raster_ratio": 0.8, "raster_dpi": 300.0}
    reply = ask(vision_call(figure(**BARS, **axis), BACKEND))
    assert reply.image_facts.figure_type != "bar chart"
    assert not any("bars" in signal for signal in reply.risk_signals)


def test_a_vague_caption_of_a_result_figure_is_capped() -> None:
    found = replies(figure(caption="Results."))
    assert found["language"].flags.result_or_comparison_figure
    assert found["language"].caption_score_cap == 6
    assert found["direct"].CC.score <= 6
    unclaimed = replies(figure(caption="Results.", contexts=[]))["language"]
    assert unclaimed.caption_score_cap is None, "nothing says that it is a result"


def test_a_bare_pointer_is_capped() -> None:
    found = replies(figure(contexts=[context("See Figure 5.")]))
    assert found["language"].context_support == "bare_reference"
    assert found["language"].context_score_cap == 6
    assert found["direct"].CTX.score == found["fusion"].CTX.score == 5


def test_blank_snippets_hold_no_claim() -> None:
    """CTX is on by the third paragraph, of which the judge is shown nothing."""
    found = replies(figure(contexts=[context(" "), context("\n"), context(CLAIM)]))
    assert found["language"].context_support == "none"
    assert found["language"].context_facts == []
    assert found["direct"].CTX.reason == "0 citing sentences were found."


# --- panel labels


def panel_finding(*words: dict[str, Any]) -> tuple[int, list[str]]:
    reply = ask(vision_call(figure(words=list(words)), BACKEND))
    return reply.SL.score, reply.image_facts.panels


@given(st.lists(st.integers(-8, 8), min_size=6, max_size=6), st.integers(0, 400))
@settings(max_examples=60, deadline=None)
def test_labels_of_a_row_need_not_stand_at_equal_height(shifts: list[int], top: int) -> None:
    places = [(x, top + y) for y in (0, 300) for x in (10, 400, 800)]
    words = [word(f"({label})", x, y + shift) for label, (x, y), shift in zip("abcdef", places, shifts, strict=True)]
    assert panel_finding(*words) == (9, [f"({label})" for label in "abcdef"])


@pytest.mark.parametrize("names", [("x", "y"), ("t",), ("n", "k"), ("b",)])
def test_names_of_axes_are_no_panel_labels(names: tuple[str, ...]) -> None:
    assert panel_finding(*(word(name, 100.0 * place, 50) for place, name in enumerate(names))) == (9, [])


# --- words


@pytest.mark.parametrize(
    "caption", ["Comparison of accuracy in both cases", "Different accuracy", "Accuracy of GPT and ViT"]
)
def test_groups_are_found_at_the_beginning_of_a_caption(caption: str) -> None:
    assert ask(language_call(figure(caption=caption), BACKEND)).flags.caption_identifies_groups


def test_the_fusion_compares_with_what_stands_in_the_figure_only() -> None:
    """The image report counts "text lines"; a caption about text lines shares nothing with the figure for that."""
    of = figure(caption="Accuracy of text lines against the baseline, with error bars, in (a), (b), (c)")
    fusion = replies(of)["fusion"]
    assert "'accuracy'" in fusion.CC.reason
    assert "'lines'" not in fusion.CC.reason
