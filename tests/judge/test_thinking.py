"""judge.thinking through the real SDKs: what arrives for each backend and level, and what is told where it cannot."""

import asyncio
import inspect
import json
from dataclasses import replace

import pytest
import yaml
from hosted import models_file, served
from scripted import figures
from servers import ProtocolServer

from sfq_ray.config import ConfigError, Judge, load
from sfq_ray.judge.backends import load_backend
from sfq_ray.judge.backends.provider import decoding
from sfq_ray.judge.calls import direct_call, figure_of, request_id
from sfq_ray.judge.capabilities import Model, load_models
from sfq_ray.judge.doctor import examine
from sfq_ray.judge.parse import parse
from sfq_ray.judge.plan import Absent, Choice, make_plan
from sfq_ray.judge.thinking import SHARES, thinking_of

LEVELS = ("off", "low", "medium", "high")
THINKS = {
    "gpt-5.6-sol": "on", "claude-sonnet-5": "on", "claude-opus-4.8": "off", "gemini-3.5-flash": "on",
    "gemini-3.1-pro": "always", "qwen-plus": "off", "glm-4.6v": "on", "doubao-seed-2.0-pro": "on",
}  # fmt: skip
PLACES = ("reasoning_effort", "enable_thinking", "thinking_budget", "thinking", "thinkingConfig", "effort")
SHIPPED = load_models()
pytestmark = pytest.mark.usefixtures("keys")


def arrived(body):
    """Everything about thinking in a request's body, by name, wherever it stands."""
    places = (body, body.get("output_config", {}), body.get("generationConfig", {}))
    return {name: place[name] for place in places for name in PLACES if name in place}


async def one_call(backend, figure):
    try:
        return await backend.complete(direct_call(figure, backend))
    finally:
        if inspect.iscoroutinefunction(getattr(backend.client, "close", None)):
            await backend.client.close()


def asked(tmp_path, monkeypatch, name, level, **changes):
    """The body of one accepted request, whose reply is a valid judgement."""
    settings = Judge(thinking=level, deadline_s=10.0)
    knows = served()
    for thinker, state in THINKS.items():
        known = knows[SHIPPED[thinker].model]
        family = "ark" if thinker == "doubao-seed-2.0-pro" else known.family
        knows[SHIPPED[thinker].model] = replace(known, thinking=state, family=family)
    with ProtocolServer(models=knows) as server:
        model = load_models(models_file(tmp_path / "models.yaml", server.url))[name].model_copy(update=changes)
        if name == "gpt-5.6-sol":  # at OpenAI's own address, where max_tokens has another name
            monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
            model = model.model_copy(update={"base_url": None})
        figure = figure_of(figures({}).to_pylist()[0], settings)
        reply = asyncio.run(one_call(load_backend(model, settings), figure))
    assert parse("direct", reply, figure.available)
    (record,) = server.requests
    assert record.status == 200
    return json.loads(record.body)


ADAPTIVE = {"thinking": {"type": "adaptive"}}
DISABLED, ENABLED = {"thinking": {"type": "disabled"}}, {"thinking": {"type": "enabled"}}
FREE = {"dialect": "prompt_only"}


def claude(effort):
    return ADAPTIVE | {"effort": effort}


def gemini(level):
    return {"thinkingConfig": {"thinking_level": level}}  # proto JSON: snake case stands for camel case


def qwen(tokens):
    return {"enable_thinking": True, "thinking_budget": tokens}


WIRE = [
    ("gpt-5.6-sol", {}, [{"reasoning_effort": effort} for effort in ("none", "low", "medium", "high")]),
    ("claude-sonnet-5", {}, [DISABLED, claude("low"), claude("medium"), claude("high")]),
    ("claude-opus-4.8", {}, [DISABLED, claude("low"), claude("medium"), claude("high")]),
    ("claude-opus-4.8", {"thinking": "cannot_disable"}, [{"effort": e} for e in ("low", "low", "medium", "high")]),
    ("gemini-3.5-flash", {}, [gemini("MINIMAL"), gemini("LOW"), gemini("MEDIUM"), gemini("HIGH")]),
    ("gemini-3.1-pro", {}, [gemini("LOW"), gemini("LOW"), gemini("MEDIUM"), gemini("HIGH")]),
    ("gemini-3.5-flash", {"thinking": "budget"},
     [{"thinkingConfig": {"thinking_budget": tokens}} for tokens in (0, 1024, 2048, 4096)]),
    ("glm-4.6v", {}, [DISABLED, ENABLED, ENABLED, ENABLED]),
    ("doubao-seed-2.0-pro", {}, [DISABLED, ENABLED, ENABLED, ENABLED]),
    ("qwen-plus", {}, [{"enable_thinking": False}, {}, {}, {}]),  # JSON mode: it must not think
    ("qwen-plus", FREE, [{"enable_thinking": False}, qwen(1024), qwen(2048), qwen(4096)]),
    ("qwen-vl-max", {}, [{}] * 4), ("nova-pro", {}, [{}] * 4), ("internvl3-78b", {}, [{}] * 4),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "changes", "level", "fields"),
    [(name, changes, *pair) for name, changes, wire in WIRE for pair in zip(LEVELS, wire, strict=True)],
)
def test_what_arrives(tmp_path, monkeypatch, name, changes, level, fields):
    body = asked(tmp_path, monkeypatch, name, level, **changes)
    assert arrived(body) == fields
    assert "temperature" not in body or SHIPPED[name].sampling


def test_a_budget_of_anthropic_arrives_where_no_temperature_is_sent(tmp_path, monkeypatch):
    knows = {"thinking": "budget", "sampling": True}
    model = SHIPPED["claude-opus-4.8"].model_copy(update=knows)
    assert "judge.temperature" in thinking_of(model, Judge(thinking="low")).note
    sent = thinking_of(model, Judge(thinking="low", temperature=None))
    assert sent.fields == {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    assert thinking_of(model, Judge(thinking="off")).fields == DISABLED


@pytest.mark.parametrize("name", [*THINKS, "nova-pro", "qwen-vl-max"])
def test_null_sends_nothing(tmp_path, monkeypatch, name):
    assert arrived(asked(tmp_path, monkeypatch, name, None)) == {}


def test_effort_and_schema_of_anthropic_arrive_together_from_the_setting_and_from_extra(tmp_path, monkeypatch):
    by_setting = asked(tmp_path, monkeypatch, "claude-opus-4.8", "medium")
    extra = {"output_config": {"effort": "max"}}
    by_extra = asked(tmp_path, monkeypatch, "claude-opus-4.8", "medium", extra=extra)
    assert by_setting["output_config"]["format"] == by_extra["output_config"]["format"]
    assert arrived(by_extra) == {"effort": "max"}


EXTRAS = [
    ("gpt-5.6-sol", {"reasoning_effort": "xhigh"}, {"reasoning_effort": "xhigh"}),
    ("qwen-plus", {"enable_thinking": False}, {"enable_thinking": False}),
    ("glm-4.6v", DISABLED, DISABLED),
    ("claude-sonnet-5", DISABLED, DISABLED),
    ("gemini-3.5-flash", {"generationConfig": gemini("LOW")}, gemini("LOW")),
]


@pytest.mark.parametrize(("name", "extra", "fields"), EXTRAS, ids=[name for name, _, _ in EXTRAS])
def test_extra_wins_whole(tmp_path, monkeypatch, name, extra, fields):
    assert arrived(asked(tmp_path, monkeypatch, name, "high", extra=extra)) == fields
    model = SHIPPED[name].model_copy(update={"extra": extra})
    assert "`extra`" in thinking_of(model, Judge(thinking="high")).note
    assert "thinking" not in decoding(model, Judge(thinking="high"))


def test_extra_about_something_else_leaves_the_setting(tmp_path, monkeypatch):
    body = asked(tmp_path, monkeypatch, "gpt-5.6-sol", "low", extra={"verbosity": "low"})
    assert (arrived(body), body["verbosity"]) == ({"reasoning_effort": "low"}, "low")


@pytest.mark.parametrize("name", SHIPPED)
def test_without_the_setting_ids_are_made_of_what_they_were_made_of(name):
    model = SHIPPED[name]
    before = {
        "dialect": model.dialect, "max_output_tokens": 8192,
        "image": [model.max_image_side_px, model.max_image_bytes], "extra": {},
    } | ({"temperature": 0.0} if model.sampling else {})  # fmt: skip
    assert decoding(model, Judge()) == before


def test_only_what_is_sent_is_in_the_id():
    figure = figure_of(figures({}).to_pylist()[0], Judge())

    def ids(name):
        model = SHIPPED[name]
        backends = [
            Absent(model.backend, model.model, decoding(model, Judge(thinking=level))) for level in (None, *LEVELS)
        ]
        return [request_id(backend, direct_call(figure, backend)) for backend in backends]

    assert len(set(ids("gpt-5.6-sol"))) == 5
    assert len(set(ids("glm-4.6v"))) == 3  # null, off and on
    assert len(set(ids("nova-pro"))) == 1


@pytest.mark.parametrize("most", [2048, 3000, 8192, 60000, 500_000])
def test_a_budget_leaves_half_of_the_output_for_the_reply(most):
    model = SHIPPED["qwen-plus"].model_copy(update=FREE)
    budgets = [
        thinking_of(model, Judge(thinking=level, max_output_tokens=most)).fields["thinking_budget"] for level in SHARES
    ]
    assert budgets == sorted(budgets)
    assert min(budgets) >= 1024
    assert max(budgets) <= most / 2


def test_the_limit_of_the_record_bounds_the_budget_too():
    model = SHIPPED["qwen-plus"].model_copy(update=FREE | {"max_output_tokens": 4096})
    assert thinking_of(model, Judge(thinking="high", max_output_tokens=64000)).fields["thinking_budget"] == 2048
    nothing = thinking_of(model, Judge(thinking="low", max_output_tokens=2047))
    assert (nothing.fields, "2047 output tokens" in nothing.note) == ({}, True)


OPEN = {"backend": "openai", "model": "m", "source": "user"}
NOTES = [
    (SHIPPED["nova-pro"], "high", "it does not think"),
    (SHIPPED["qwen-vl-max"], "off", "does not say by what"),
    (SHIPPED["gemini-3.1-pro"], "off", "cannot be switched off; its lowest level is sent, low"),
    (SHIPPED["gemini-3.5-flash"], "off", "its lowest level is sent, minimal"),
    (SHIPPED["glm-4.6v"], "medium", "it has no levels"),
    (SHIPPED["qwen-plus"], "low", "refuses JSON mode while a model thinks; give its record the dialect prompt_only"),
    (SHIPPED["qwen-plus"].model_copy(update=FREE), "low", "only in streamed replies"),
    (SHIPPED["nova-pro"].model_copy(update={"thinking": "effort"}), "low", "bedrock documents nothing"),
    (Model(name="m", dialect="vllm", thinking="switch", **OPEN), "off", "chat_template_kwargs"),
    (Model(name="m", dialect="vllm_bounded", thinking="switch", **OPEN), "off", "chat_template_kwargs"),
    (Model(name="m", dialect="prompt_only", thinking="effort", **OPEN), "low", "thinking_levels"),
    (Model(name="m", dialect="prompt_only", thinking="cannot_disable", **OPEN), "off", "thinking_levels"),
    (Model(name="m", dialect="prompt_only", thinking="effort", thinking_levels=("low", "high"), **OPEN), "medium",
     "its levels are low, high"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "level", "words"), NOTES, ids=[f"{m.name}-{level}" for m, level, _ in NOTES])
def test_what_is_not_just_as_asked_is_told(model, level, words):
    settings = Judge(thinking=level)
    assert words in thinking_of(model, settings).note
    if model.name in SHIPPED:
        (finding,) = examine([model], settings, False)
        assert finding.usable
        assert f"thinking {level}: " in finding.says
        assert words in finding.says
        assert "thinking" not in examine([model], Judge(), False)[0].says


def test_a_wish_that_is_met_needs_no_word():
    for name, level in (("gpt-5.6-sol", "off"), ("claude-opus-4.8", "high"), ("nova-pro", "off"), ("glm-4.6v", "off")):
        assert thinking_of(SHIPPED[name], Judge(thinking=level)).note is None


def test_the_manifest_says_for_each_run_what_was_sent_and_one_model_does_not_stop_the_others(tmp_path):
    runs = [{"id": n, "protocol": "direct", "model": m} for n, m in (("A", "gpt-5.6-sol"), ("B", "nova-pro"))]
    (tmp_path / "runs.yaml").write_text(yaml.safe_dump({"runs": runs}))
    settings = Judge(thinking="high")
    plan = make_plan(settings, Choice(matrix=tmp_path / "runs.yaml"))
    lineage = plan.lineage(settings)
    assert lineage["A"]["vision"]["thinking"] == {"reasoning_effort": "high"}
    assert "thinking_note" not in lineage["A"]["vision"]
    assert "thinking" not in lineage["B"]["vision"]
    assert lineage["B"]["vision"]["thinking_note"] == "nothing is sent: it does not think"
    assert plan.thinking_notes(settings) == ["thinking high: nova-pro: nothing is sent: it does not think"]
    assert "thinking_note" not in plan.lineage(Judge())["B"]["vision"]
    assert plan.thinking_notes(Judge()) == []


def test_off_without_quotes_is_off_and_another_word_is_named(tmp_path):
    path = tmp_path / "settings.yaml"
    path.write_text("judge: {thinking: off}")
    assert load(path).judge.thinking == "off"
    path.write_text("judge: {thinking: a lot}")
    with pytest.raises(ConfigError, match=r"judge\.thinking: Input should be 'off'"):
        load(path)
