"""Reply schemas in the dialect of each target: one canonical JSON Schema per stage, compiled to what a target takes.

The canonical schema is read off the pydantic models of judge.schemas, which stay the judges of every reply: a dialect
that cannot say "at most 12 phrases" leaves it out of what is sent, and the reply is checked all the same.

    openai_strict  response_format.json_schema.schema, strict (OpenAI, Structured Outputs: supported schemas)
    anthropic      output_config.format.schema (Anthropic, Structured outputs: JSON Schema limitations)
    gemini         generationConfig.responseSchema (Google, Gemini API: Schema)
    bedrock_tool   toolSpec.inputSchema.json (AWS, Amazon Nova: troubleshooting tool calls)
    vllm           structured_outputs.json (vLLM, Structured Outputs; grammars by xgrammar)
    vllm_bounded   the same with string lengths, for models so small that they do not end their strings
    json_object    nothing: the target promises JSON, the prompt carries the schema
    prompt_only    nothing: the target promises nothing, the prompt carries the schema
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any

from sfq_ray.errors import FatalError
from sfq_ray.judge.schema_lint import lint
from sfq_ray.judge.schemas import REPLIES
from sfq_ray.registry import check

Schema = dict[str, Any]

GATED = {"CC", "CTX"}  # dimensions that a figure without caption or context does not have
LENGTHS = ("minLength", "maxLength", "minItems", "maxItems")
NOISE = frozenset({"title", "description", "default", "format", "examples"})


@cache
def _canonical(stage: str) -> str:
    schema = REPLIES[stage].model_json_schema()
    defs = schema.pop("$defs", {})
    return json.dumps(_plain(schema, defs))


def canonical(stage: str) -> Schema:
    """The JSON Schema of a stage's reply that all dialects are compiled from, with properties in the fields' order.

    References are inlined, every object is closed and requires all of its keys, a bounded integer is an enum, what may
    be null is an anyOf with null, and lengths are kept. Raises KeyError for an unknown stage, FatalError where the
    pydantic model says something that has no place in it.
    """
    schema: Schema = json.loads(_canonical(stage))
    return schema


def _plain(node: Mapping[str, Any], defs: Mapping[str, Any]) -> Schema:
    if "$ref" in node:
        return _plain(defs[node["$ref"].rpartition("/")[2]], defs)
    if "anyOf" in node:
        return {"anyOf": [_plain(option, defs) for option in node["anyOf"]]}
    plain: Schema = {"type": node.get("type", "anything")}
    said = {"required", "additionalProperties"}
    if "enum" in node:
        plain["enum"] = list(node["enum"])
    elif "minimum" in node and "maximum" in node:
        plain["enum"] = list(range(node["minimum"], node["maximum"] + 1))
        said |= {"minimum", "maximum"}
    if "properties" in node:
        plain["properties"] = {name: _plain(child, defs) for name, child in node["properties"].items()}
        plain["required"] = list(node["properties"])
        plain["additionalProperties"] = False
    if "items" in node:
        plain["items"] = _plain(node["items"], defs)
    plain |= {key: node[key] for key in LENGTHS if key in node}
    lost = set(node) - set(plain) - NOISE - said
    if lost:
        raise FatalError(f"a reply model says {', '.join(sorted(lost))}, which no dialect can")
    return plain


def _map(node: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """`change` applied to every schema within `node`, the innermost first."""
    node = dict(node)
    if "properties" in node:
        node["properties"] = {name: _map(child, change) for name, child in node["properties"].items()}
    if "items" in node:
        node["items"] = _map(node["items"], change)
    if "anyOf" in node:
        node["anyOf"] = [_map(option, change) for option in node["anyOf"]]
    return change(node)


def _without(*keywords: str) -> Callable[[Schema], Schema]:
    return lambda node: {key: value for key, value in node.items() if key not in keywords}


def _unbounded(schema: Schema) -> Schema:
    """OpenAI refuses string lengths, Anthropic all lengths; both take integers as an enum and null by anyOf."""
    return _map(schema, _without(*LENGTHS))


def _gemini(schema: Schema) -> Schema:
    """An OpenAPI subset: nullable, enums of strings only, so integers by their bounds, and an order of properties.

    It has list lengths too, but schemas with them are refused as having too many states.
    """
    return _map(_unbounded(schema), _gemini_node)


def _gemini_node(node: Schema) -> Schema:
    if "anyOf" in node:
        kept = [option for option in node["anyOf"] if option != {"type": "NULL"}]
        return kept[0] | {"nullable": True} if len(kept) == 1 else node
    node = node | {"type": node["type"].upper()}
    node.pop("additionalProperties", None)
    if node["type"] == "INTEGER" and "enum" in node:
        values = node.pop("enum")
        node |= {"minimum": min(values), "maximum": max(values)}
    if "properties" in node:
        node["propertyOrdering"] = list(node["properties"])
    return node


def _bedrock_tool(schema: Schema) -> Schema:
    """Amazon Nova takes no more than type, properties and required at the top, so objects stay open."""
    return _map(_unbounded(schema), _without("additionalProperties"))


def _vllm(schema: Schema) -> Schema:
    """List lengths stop endless lists; string lengths make a token mask of xgrammar 0.2.8 take 3 ms instead of 0.04.

    (Measured with a vocabulary of 150,000 tokens on one core, for each sequence and token.)
    """
    return _map(schema, _without("minLength", "maxLength"))


def _as_it_is(schema: Schema) -> Schema:
    return schema


def _nothing(schema: Schema) -> None:
    return None


DIALECTS: dict[str, Callable[[Schema], Schema | None]] = {
    "openai_strict": _unbounded,
    "anthropic": _unbounded,
    "gemini": _gemini,
    "bedrock_tool": _bedrock_tool,
    "vllm": _vllm,
    "vllm_bounded": _as_it_is,
    "json_object": _nothing,
    "prompt_only": _nothing,
}


@cache
def _compiled(dialect: str, stage: str) -> str:
    check(DIALECTS, dialect, "dialect")
    schema = DIALECTS[dialect](canonical(stage))
    problems = lint(dialect, schema)
    if problems:
        raise FatalError(f"dialect {dialect} cannot ask for a {stage} reply: {'; '.join(problems)}")
    return json.dumps(schema, separators=(",", ":"))


def compile_schema(dialect: str, stage: str, available: Collection[str] | None = None) -> Schema | None:
    """What to send as the schema of a stage's reply; None where the dialect sends none.

    Grammars are cheap where the engine is one's own: with `available`, the dialects of vLLM hold the gated dimensions
    to null and the others to a judgement. Raises ConfigError for an unknown dialect, KeyError for an unknown stage,
    FatalError naming the JSON path of what the target would refuse.
    """
    schema: Schema | None = json.loads(_compiled(dialect, stage))
    if schema is not None and available is not None and dialect.startswith("vllm"):
        for dimension in GATED & schema["properties"].keys():
            options = schema["properties"][dimension]["anyOf"]
            chosen = next(o for o in options if (o["type"] != "null") == (dimension in available))
            schema["properties"][dimension] = chosen
    return schema


def schema_hash(dialect: str, stage: str) -> str:
    """SHA-256, hexadecimal, over the dialect's name and the schema it sends, the order of properties included."""
    return hashlib.sha256(f"{dialect}\0{_compiled(dialect, stage)}".encode()).hexdigest()
