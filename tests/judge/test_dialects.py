"""Reply schemas per target: what they accept is what the reply models accept, and the linter knows every target's no."""

from __future__ import annotations

import copy
import json
from typing import Annotated, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, ValidationError
from scripted import good

from sfq_ray.config import ConfigError
from sfq_ray.errors import FatalError
from sfq_ray.judge.dialects import DIALECTS, canonical, compile_schema, schema_hash
from sfq_ray.judge.schema_lint import RULES, lint
from sfq_ray.judge.schemas import REPLIES

STAGES = list(REPLIES)
SENT = ["openai_strict", "anthropic", "gemini", "bedrock_tool", "vllm", "vllm_bounded"]
CLOSED = ["openai_strict", "anthropic", "vllm", "vllm_bounded"]
ALL = ["VC", "SL", "CC", "CTX", "MR"]
GATED = ["VC", "SL", "MR"]


def json_schema(node: Any) -> Any:
    """Google's dialect as JSON Schema; the others are that already."""
    if isinstance(node, list):
        return [json_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: json_schema(value) for key, value in node.items() if key != "propertyOrdering"}
    if isinstance(node.get("type"), str):
        node["type"] = node["type"].lower()
    return {"anyOf": [node, {"type": "null"}]} if node.pop("nullable", False) else node


def takes(schema: dict[str, Any], reply: Any) -> bool:
    return Draft202012Validator(json_schema(schema)).is_valid(reply)


def model_takes(stage: str, reply: Any) -> bool:
    try:
        REPLIES[stage].model_validate(reply)
    except ValidationError:
        return False
    return True


def keys_of(node: Any) -> set[str]:
    """Every keyword of a schema; names of properties are none."""
    if isinstance(node, list):
        return set().union(*map(keys_of, node)) if node else set()
    if not isinstance(node, dict):
        return set()
    children = [value.values() if key == "properties" else [value] for key, value in node.items()]
    return set(node).union(*(keys_of(child) for group in children for child in group))


def test_every_dialect_has_rules():
    assert set(RULES) == set(DIALECTS)


@pytest.mark.parametrize("stage", STAGES)
def test_the_canonical_schema_has_no_noise_and_keeps_the_order_of_the_fields(stage):
    schema = canonical(stage)
    assert keys_of(schema) <= {
        "type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "maxLength", "maxItems"
    }  # fmt: skip
    assert list(schema["properties"]) == schema["required"] == list(REPLIES[stage].model_fields)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("dialect", list(DIALECTS))
def test_what_is_compiled_lints_clean(dialect, stage):
    schema = compile_schema(dialect, stage)
    assert (schema is None) == (dialect not in SENT)
    assert lint(dialect, schema) == []


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("dialect", SENT)
def test_good_replies_are_taken_with_every_gate(dialect, stage):
    schema = compile_schema(dialect, stage)
    for available in (ALL, GATED):
        for score in range(1, 11):
            assert takes(schema, good(stage, available, score))


def places(reply: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all values within a reply."""
    inner = reply.items() if isinstance(reply, dict) else enumerate(reply) if isinstance(reply, list) else ()
    return [found for key, value in inner for found in [(*path, key), *places(value, (*path, key))]]


def value_at(reply: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        reply = reply[key]
    return reply


VALUES = [None, True, 0, 11, -1, 5, "", "x" * 1201, "x" * 201, [], ["a"] * 13, ["a"], [1], {}, "none", "9-10"]


@st.composite
def replies(draw: st.DrawFn, stage: str) -> Any:
    """A reply with up to two changes: a value replaced, a key taken away or one added."""
    reply = copy.deepcopy(good(stage, draw(st.sampled_from([ALL, GATED]))))
    for _ in range(draw(st.integers(0, 2))):
        path = draw(st.sampled_from(places(reply) or [()]))
        if not path:
            break
        holder, act = value_at(reply, path[:-1]), draw(st.sampled_from(["replace", "remove", "add"]))
        if act == "replace":
            holder[path[-1]] = copy.deepcopy(draw(st.sampled_from(VALUES)))
        elif act == "remove":
            del holder[path[-1]]
        elif isinstance(holder, dict):
            holder["extra"] = 1
    return reply


@given(st.data())
def test_the_canonical_schema_takes_exactly_what_the_model_takes(data):
    stage = data.draw(st.sampled_from(STAGES))
    reply = data.draw(replies(stage))
    assert takes(canonical(stage), reply) == model_takes(stage, reply)


@given(st.data())
def test_no_dialect_is_narrower_than_the_model(data):
    stage, dialect = data.draw(st.sampled_from(STAGES)), data.draw(st.sampled_from(SENT))
    reply = data.draw(replies(stage))
    if model_takes(stage, reply):
        assert takes(compile_schema(dialect, stage), reply)


@pytest.mark.parametrize("dialect", SENT)
@pytest.mark.parametrize("score", [0, 11, -1, 5.5, "5", None, True])
def test_scores_out_of_range_are_refused(dialect, score):
    for stage in ("direct", "sidecar", "vision", "fusion"):
        reply = good(stage, ALL)
        reply["VC" if "VC" in reply else "MR"]["score"] = score
        assert not takes(compile_schema(dialect, stage), reply)


@pytest.mark.parametrize("dialect", SENT)
@pytest.mark.parametrize("stage", STAGES)
def test_missing_keys_are_refused_at_every_depth(dialect, stage):
    reply = good(stage, ALL)
    for path in places(reply):
        broken = copy.deepcopy(reply)
        holder = value_at(broken, path[:-1])
        if isinstance(holder, dict):
            del holder[path[-1]]
            assert not takes(compile_schema(dialect, stage), broken), path


@pytest.mark.parametrize("dialect", CLOSED)
@pytest.mark.parametrize("stage", STAGES)
def test_extra_keys_are_refused_where_objects_can_be_closed(dialect, stage):
    reply = good(stage, ALL) | {"overall": 9}
    assert not takes(compile_schema(dialect, stage), reply)


def test_lists_without_end_are_refused_by_the_grammar_alone():
    reply = good("vision", ALL) | {"trust_signals": ["a"] * 13}
    assert [dialect for dialect in SENT if not takes(compile_schema(dialect, "vision"), reply)] == [
        "vllm", "vllm_bounded",
    ]  # fmt: skip


@pytest.mark.parametrize("dialect", SENT)
@pytest.mark.parametrize("stage", ["direct", "sidecar", "fusion"])
def test_the_gates_are_in_the_schema_where_grammars_are_cheap(dialect, stage):
    """Elsewhere a schema for each figure would have to be compiled by the provider, at the price of seconds."""
    every, gated = good(stage, ALL), good(stage, GATED)
    open_, shut = (compile_schema(dialect, stage, given) for given in (ALL, GATED))
    assert takes(open_, every)
    assert takes(shut, gated)
    assert takes(open_, gated) == takes(shut, every) == (not dialect.startswith("vllm"))


def test_long_strings_are_refused_by_the_bounded_grammar_alone():
    reply = good("direct", ALL) | {"summary": "a" * 1201}
    assert [d for d in SENT if not takes(compile_schema(d, "direct"), reply)] == ["vllm_bounded"]


def test_gemini_is_told_the_order_and_what_may_be_null():
    schema = compile_schema("gemini", "direct")
    assert schema["propertyOrdering"] == ["VC", "SL", "CC", "CTX", "MR", "summary", "suggestion"]
    assert schema["properties"]["CC"]["nullable"] is True
    assert "nullable" not in schema["properties"]["VC"]
    assert schema["properties"]["VC"]["properties"]["score"] == {"type": "INTEGER", "minimum": 1, "maximum": 10}


def test_a_compiled_schema_may_be_changed_without_harm():
    compile_schema("vllm", "direct").clear()
    canonical("direct").clear()
    assert compile_schema("vllm", "direct")["properties"]


def test_hashes_tell_dialects_and_stages_apart():
    hashes = {schema_hash(dialect, stage) for dialect in DIALECTS for stage in ("direct", "vision", "language")}
    assert len(hashes) == len(SENT) * 3 + 2  # where nothing is sent, all stages send the same
    assert schema_hash("vllm", "direct") == schema_hash("vllm", "direct")


OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


def nested(depth: int) -> dict[str, Any]:
    inner = OBJECT
    for _ in range(depth - 1):
        inner = {**OBJECT, "properties": {"a": inner}}
    return inner


def with_a(child: Any) -> dict[str, Any]:
    return {**OBJECT, "properties": {"a": child}}


@pytest.mark.parametrize(
    ("dialect", "schema", "problem"),
    [
        ("openai_strict", {}, "$: an empty schema allows anything"),
        ("openai_strict", with_a({}), "$.properties.a: an empty schema allows anything"),
        ("openai_strict", with_a(True), "$.properties.a: an empty schema allows anything"),
        ("openai_strict", {"type": "string"}, "$: the outermost schema must be an object"),
        ("openai_strict", {"anyOf": [OBJECT, OBJECT]}, "$: the outermost schema must be an object"),
        ("openai_strict", {**OBJECT, "required": []}, "$: a must be required"),
        ("openai_strict", {**OBJECT, "required": ["a", "b"]}, "$: b is required but no property"),
        ("openai_strict", {**OBJECT, "properties": {}}, "$: an object must have properties"),
        ("openai_strict", {**OBJECT, "additionalProperties": True}, "$: additionalProperties must be false"),
        ("openai_strict", with_a({"type": "object"}), "$.properties.a: an object must have properties"),
        ("openai_strict", with_a({"type": "string", "maxLength": 9}), "$.properties.a: maxLength is not known here"),
        ("openai_strict", with_a({"type": "integer", "minimum": 1}), "$.properties.a: minimum is not known here"),
        ("openai_strict", with_a({"$ref": "#/$defs/A"}), "$.properties.a: $ref is not known here"),
        ("openai_strict", {**OBJECT, "$defs": {}}, "$: $defs is not known here"),
        ("openai_strict", with_a({"type": "array"}), "$.properties.a: an array must say what its items are"),
        ("openai_strict", with_a({"type": "text"}), "$.properties.a: type must be one that the dialect knows, not 'text'"),
        ("openai_strict", with_a({"type": ["string", "null"]}), "$.properties.a: type must be one that the dialect knows, not ['string', 'null']"),
        ("openai_strict", with_a({"type": "integer", "enum": list(range(1001))}), "$: 1001 enum values, of which 1000 are allowed"),
        ("openai_strict", with_a({"type": "integer", "enum": [1, True]}), "$.properties.a: an enum must list values of its type, each once"),
        ("openai_strict", with_a({"type": "string", "enum": []}), "$.properties.a: an enum must list values of its type, each once"),
        ("openai_strict", with_a({"type": "string", "enum": ["x", "x"]}), "$.properties.a: an enum must list values of its type, each once"),
        ("openai_strict", with_a({"type": "boolean", "enum": [True]}), "$.properties.a: an enum must be of type string or integer"),
        ("openai_strict", with_a({"anyOf": [{"type": "null"}]}), "$.properties.a: anyOf must list two schemas or more"),
        ("openai_strict", nested(4), "$.properties.a.properties.a.properties.a: 4 objects deep, of which 3 are allowed"),
        ("anthropic", with_a({"type": "array", "items": {"type": "string"}, "maxItems": 3}), "$.properties.a: maxItems is not known here"),
        ("anthropic", with_a({"type": "array", "items": {"anyOf": [{"type": "null"}] * 17}}), None),
        ("anthropic", {**OBJECT, "properties": {c: {"anyOf": [{"type": "null"}, {"type": "string"}]} for c in "abcdefghijklmnopq"}, "required": list("abcdefghijklmnopq")}, "$: 17 unions, of which 16 are allowed"),
        ("vllm", with_a({"type": "string", "maxLength": 9}), "$.properties.a: maxLength is not known here"),
        ("vllm", with_a({"anyOf": [{"type": "null"}, {}]}), "$.properties.a.anyOf[1]: an empty schema allows anything"),
        ("vllm", with_a({"type": "array", "items": {}}), "$.properties.a.items: an empty schema allows anything"),
        ("bedrock_tool", OBJECT, "$: additionalProperties is not known here"),
        ("bedrock_tool", {"type": "object", "properties": {"a": OBJECT}, "required": ["a"]}, "$.properties.a: additionalProperties is not known here"),
        ("gemini", OBJECT, "$: type must be one that the dialect knows, not 'object'"),
        ("gemini", {"type": "OBJECT", "properties": {"a": {"type": "INTEGER", "enum": [1]}}, "required": ["a"], "propertyOrdering": ["a"]}, "$.properties.a: an enum must be of type string"),
        ("gemini", {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": ["a"]}, "$: propertyOrdering must name all properties in their order"),
        ("gemini", {"type": "OBJECT", "properties": {"a": {"type": "STRING", "title": "A"}}, "required": ["a"], "propertyOrdering": ["a"]}, "$.properties.a: title is not known here"),
        ("json_object", OBJECT, "$: no schema must be sent"),
        ("prompt_only", {}, "$: no schema must be sent"),
        ("vllm", None, "$: a schema must be sent"),
    ],
)  # fmt: skip
def test_the_linter_finds_each_fault(dialect, schema, problem):
    problems = lint(dialect, schema)
    assert problems == [] if problem is None else problem in problems


FAULTS = ["$ref", "$defs", "title", "default", "format", "const", "oneOf", "allOf", "pattern", "maxLength", "not"]


@given(st.sampled_from(SENT), st.sampled_from(STAGES), st.sampled_from(FAULTS), st.data())
def test_a_foreign_keyword_anywhere_is_found_with_its_path(dialect, stage, keyword, data):
    assume((dialect, keyword) != ("vllm_bounded", "maxLength"))
    schema = compile_schema(dialect, stage)
    node, path = schema, "$"
    while True:
        steps = [(f"{path}.properties.{name}", child) for name, child in node.get("properties", {}).items()]
        steps += [(f"{path}.items", node["items"])] if "items" in node else []
        steps += [(f"{path}.anyOf[{place}]", option) for place, option in enumerate(node.get("anyOf", []))]
        if not steps or data.draw(st.booleans()):
            break
        path, node = data.draw(st.sampled_from(steps))
    node[keyword] = json.loads('{"a": 1}')
    assert lint(dialect, schema) == [f"{path}: {keyword} is not known here"]


def test_an_unknown_dialect_is_named_with_the_known_ones():
    with pytest.raises(ConfigError, match="dialect: 'klingon' is unknown; known: anthropic, bedrock_tool"):
        compile_schema("klingon", "direct")
    with pytest.raises(ConfigError, match="klingon"):
        lint("klingon", None)


class Odd(BaseModel):
    name: Annotated[str, Field(pattern="^a")]


class Deep(BaseModel):
    one: dict[str, int]


class OpenEnd(BaseModel):
    score: Annotated[int, Field(ge=1)]


@pytest.mark.parametrize(
    ("model", "dialect", "message"),
    [
        (Odd, "vllm", "pattern, which no dialect can"),
        (OpenEnd, "vllm", "minimum, which no dialect can"),
        (Deep, "vllm", r"\$.properties.one: an object must have properties"),
    ],
)
def test_a_reply_model_that_cannot_be_asked_for_stops_the_job(monkeypatch, model, dialect, message):
    monkeypatch.setitem(REPLIES, model.__name__, model)
    with pytest.raises(FatalError, match=message):
        compile_schema(dialect, model.__name__)
