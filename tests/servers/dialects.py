"""The subsets of JSON Schema that providers take. Everything else is refused, as they do.

OpenAI     https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
Anthropic  https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
Gemini     https://ai.google.dev/api/caching#Schema, less what some of its models refuse: title, maxItems, unions
Bedrock    https://docs.aws.amazon.com/nova/latest/userguide/tool-use-definition.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

ROOM = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
                  "pattern", "format", "minItems", "maxItems", "uniqueItems", "default"})  # fmt: skip
SHAPE = frozenset({"type", "properties", "required", "items", "enum", "anyOf", "description"})
CLOSED = SHAPE | {"additionalProperties", "const", "title"}
REFERENCES = frozenset({"$ref", "$defs"})


@dataclass(frozen=True)
class Dialect:
    """closed: every object forbids further properties. complete: every property is required. unions: lists of types.
    word_enums: enum holds strings only."""

    keywords: frozenset[str]
    closed: bool = False
    complete: bool = False
    unions: bool = True
    word_enums: bool = False


OPENAI = Dialect(CLOSED | REFERENCES, closed=True, complete=True)
ANTHROPIC = Dialect(CLOSED | REFERENCES | {"default", "format", "pattern", "minItems", "allOf"}, closed=True)
GEMINI_JSON_SCHEMA = Dialect(
    SHAPE | {"format", "minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "propertyOrdering"},
    unions=False,
)
GEMINI = Dialect(GEMINI_JSON_SCHEMA.keywords | {"nullable"}, unions=False, word_enums=True)
BEDROCK = Dialect(CLOSED | ROOM)


@dataclass(frozen=True)
class Violation:
    """Where a schema leaves its dialect. rule: keyword, open, required, union, enum, untyped, reference or root."""

    rule: str
    where: tuple[str, ...]
    name: str = ""
    type: str = ""


def violation(schema: object, dialect: Dialect) -> Violation | None:
    """The first thing in `schema` that `dialect` does not take."""
    if not isinstance(schema, Mapping) or str(schema.get("type")).lower() != "object":
        return Violation("root", ())
    return next(_violations(schema, schema, dialect, ()), None)


def _violations(
    schema: object, root: Mapping[str, Any], dialect: Dialect, where: tuple[str, ...]
) -> Iterator[Violation]:
    if not isinstance(schema, Mapping):
        yield Violation("untyped", where)
        return
    kind = schema.get("type")
    for name in schema:
        if name not in dialect.keywords:
            yield Violation("keyword", where, name, str(kind))
    if "$ref" in schema:
        target = str(schema["$ref"]).removeprefix("#/$defs/")
        if target not in root.get("$defs", {}) or len(schema) > 1:
            yield Violation("reference", where, str(schema["$ref"]))
        return
    if not {"type", "anyOf", "allOf", "enum", "const"} & set(schema):
        yield Violation("untyped", where)
    if isinstance(kind, list) and not dialect.unions:
        yield Violation("union", where, "type")
    if dialect.word_enums and not all(isinstance(value, str) for value in schema.get("enum", ())):
        yield Violation("enum", where, "enum")
    if str(kind).lower() == "object":
        yield from _object(schema, dialect, where)
    for path, part in _parts(schema):
        yield from _violations(part, root, dialect, where + path)


def _object(schema: Mapping[str, Any], dialect: Dialect, where: tuple[str, ...]) -> Iterator[Violation]:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if dialect.closed and schema.get("additionalProperties") is not False:
        yield Violation("open", where, "additionalProperties")
    for name in properties:
        if dialect.complete and name not in required:
            yield Violation("required", where, name)
    for name in required:
        if name not in properties:
            yield Violation("required", where, name)


def _parts(schema: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], object]]:
    for group in ("properties", "$defs"):
        for name, part in schema.get(group, {}).items():
            yield (group, name), part
    for group in ("anyOf", "allOf"):
        for number, part in enumerate(schema.get(group, ())):
            yield (group, str(number)), part
    if "items" in schema:
        yield ("items",), schema["items"]
