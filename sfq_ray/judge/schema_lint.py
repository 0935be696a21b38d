"""What each target takes as a reply schema, checked without the target: keywords it knows and rules of structure.

Sources are the providers' pages on structured output as of 2026-12-01: OpenAI (Structured Outputs, supported
schemas), Anthropic (Structured outputs, JSON Schema limitations), Google (Gemini API, Schema), AWS (Amazon Nova,
troubleshooting tool calls), vLLM (Structured Outputs). Where they leave room, the rules here are the narrower ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sfq_ray.registry import check

MAX_DEPTH = 3  # objects within objects, below what any target allows
PLAIN_TYPES = ("string", "integer", "number", "boolean", "null")
STRUCTURE = frozenset({"type", "properties", "required", "items", "enum"})


@dataclass(frozen=True)
class Rules:
    """keywords: those known at any depth; root_keywords: those of the outermost object, where they are fewer."""

    keywords: frozenset[str]
    root_keywords: frozenset[str] | None = None
    upper_case_types: bool = False
    closed: bool = True  # every object says additionalProperties: false
    integer_enums: bool = True
    max_enum_values: int | None = None  # over the whole schema
    max_unions: int | None = None  # anyOf over the whole schema


CLOSED = STRUCTURE | {"additionalProperties", "anyOf"}
RULES: dict[str, Rules | None] = {
    "openai_strict": Rules(CLOSED, max_enum_values=1000),
    "anthropic": Rules(CLOSED, max_unions=16),
    "gemini": Rules(
        STRUCTURE | {"nullable", "propertyOrdering", "minimum", "maximum"},
        upper_case_types=True,
        closed=False,
        integer_enums=False,
    ),
    "bedrock_tool": Rules(
        STRUCTURE | {"anyOf"}, root_keywords=frozenset({"type", "properties", "required"}), closed=False
    ),
    "vllm": Rules(CLOSED | {"minItems", "maxItems"}),
    "vllm_bounded": Rules(CLOSED | {"minItems", "maxItems", "minLength", "maxLength"}),
    "json_object": None,
    "prompt_only": None,
}


def lint(dialect: str, schema: Mapping[str, Any] | None) -> list[str]:
    """Why the dialect's target would refuse `schema`, each problem with its JSON path; empty where it would not.

    None stands for sending no schema. Raises ConfigError for an unknown dialect.
    """
    check(RULES, dialect, "dialect")
    rules = RULES[dialect]
    if rules is None or schema is None:
        return [] if rules is None and schema is None else [f"$: {'no' if rules is None else 'a'} schema must be sent"]
    problems = [f"{path}: {problem}" for path, problem in _problems(schema, "$", 0, rules)]
    nodes = list(_nodes(schema))
    if schema.get("type") != _cased("object", rules):
        problems.append("$: the outermost schema must be an object")
    values, unions = sum(len(_list(node, "enum")) for node in nodes), sum("anyOf" in node for node in nodes)
    if rules.max_enum_values is not None and values > rules.max_enum_values:
        problems.append(f"$: {values} enum values, of which {rules.max_enum_values} are allowed")
    if rules.max_unions is not None and unions > rules.max_unions:
        problems.append(f"$: {unions} unions, of which {rules.max_unions} are allowed")
    return problems


def _problems(node: Any, path: str, depth: int, rules: Rules) -> Iterator[tuple[str, str]]:
    """(JSON path, problem) of `node`, which stands within `depth` objects, and of all within it."""
    if not isinstance(node, Mapping) or not node:
        yield path, "an empty schema allows anything"
        return
    known = rules.root_keywords if path == "$" and rules.root_keywords is not None else rules.keywords
    yield from ((path, f"{key} is not known here") for key in node if key not in known)
    kind = node.get("type")
    if "anyOf" in node:
        yield from _union_problems(node, path)
    elif kind == _cased("object", rules):
        yield from _object_problems(node, path, depth + 1, rules)
    elif kind == _cased("array", rules):
        if "items" not in node:
            yield path, "an array must say what its items are"
    elif kind not in [_cased(name, rules) for name in PLAIN_TYPES]:
        yield path, f"type must be one that the dialect knows, not {kind!r}"
    yield from _enum_problems(node, path, rules)
    for step, child, inner in _children(node, path, depth):
        yield from _problems(child, step, inner, rules)


def _children(node: Mapping[str, Any], path: str, depth: int) -> Iterator[tuple[str, Any, int]]:
    """(JSON path, schema, number of objects around it) of the schemas right within `node`."""
    properties = node.get("properties")
    if isinstance(properties, Mapping):
        yield from ((f"{path}.properties.{name}", child, depth + 1) for name, child in properties.items())
    if "items" in node:
        yield f"{path}.items", node["items"], depth
    yield from ((f"{path}.anyOf[{place}]", option, depth) for place, option in enumerate(_list(node, "anyOf")))


def _nodes(node: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(node, Mapping):
        yield node
        for _, child, _ in _children(node, "", 0):
            yield from _nodes(child)


def _object_problems(node: Mapping[str, Any], path: str, depth: int, rules: Rules) -> Iterator[tuple[str, str]]:
    properties = node.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        yield path, "an object must have properties"
        return
    if depth > MAX_DEPTH:
        yield path, f"{depth} objects deep, of which {MAX_DEPTH} are allowed"
    required = _list(node, "required")
    yield from ((path, f"{name} must be required") for name in properties if name not in required)
    yield from ((path, f"{name} is required but no property") for name in required if name not in properties)
    if rules.closed and node.get("additionalProperties") is not False:
        yield path, "additionalProperties must be false"
    if "propertyOrdering" in rules.keywords and _list(node, "propertyOrdering") != list(properties):
        yield path, "propertyOrdering must name all properties in their order"


def _union_problems(node: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    if len(_list(node, "anyOf")) < 2:
        yield path, "anyOf must list two schemas or more"
    if "type" in node:
        yield path, "a union has no type of its own"


def _enum_problems(node: Mapping[str, Any], path: str, rules: Rules) -> Iterator[tuple[str, str]]:
    if "enum" not in node:
        return
    kinds = {"string": str, "integer": int} if rules.integer_enums else {"string": str}
    kind = kinds.get(str(node.get("type")).lower())
    values = _list(node, "enum")
    if kind is None:
        yield path, f"an enum must be of type {' or '.join(kinds)}"
    elif not values or not all(type(value) is kind for value in values) or len(set(values)) < len(values):
        yield path, "an enum must list values of its type, each once"


def _cased(name: str, rules: Rules) -> str:
    return name.upper() if rules.upper_case_types else name


def _list(node: Mapping[str, Any], key: str) -> list[Any]:
    value = node.get(key)
    return value if isinstance(value, list) else []
