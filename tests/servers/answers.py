"""What the model says where nothing goes wrong: an instance of the schema it was given, the same for the same call.

Like a model under constrained decoding, it knows the reply's form from the schema that the provider enforces; without
one, from the schema in the prompt, and then it puts the JSON into a Markdown block, as chat models do.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from typing import Any

from servers.asked import Asked

Answer = Callable[[str, Asked], str]

AVAILABLE = re.compile(r"^Available dimensions: (.*)\.$", re.MULTILINE)
DIMENSION = re.compile(r"\b(VC|SL|CC|CTX|MR)\b(?= \()")
SCHEMA = re.compile(r"JSON Schema:\s*(?=\{)")
PHRASES = (
    "the axis titles name units",
    "the legend covers the last panel",
    "tick labels can be read at print size",
    "the caption names both groups",
    "no error bars are drawn",
    "the paragraph claims what panel a shows",
)


def answer(stage: str, asked: Asked) -> str:
    """The good reply. `stage` is for replacements of this function that answer stages in different ways."""
    schema = reply_schema(asked)
    if schema is None:
        return '{"answer": "ok"}' if asked.json_only else "Understood."
    instance = _Instance(schema, random.Random(asked.content), available(asked))
    text = json.dumps(instance.of(schema), ensure_ascii=False)
    return text if asked.json_only else f"```json\n{text}\n```"


def stage_of(asked: Asked) -> str:
    """direct, sidecar, vision, language or fusion by the form of the reply; "other" for calls of another kind."""
    names = set((reply_schema(asked) or {}).get("properties", ()))
    if "image_facts" in names:
        return "vision"
    if "caption_facts" in names:
        return "language"
    if {"VC", "MR"} <= names:
        return "sidecar" if "(measurements)\n" in asked.text else "direct"
    return "fusion" if "MR" in names else "other"


def reply_schema(asked: Asked) -> Mapping[str, Any] | None:
    """The enforced schema, else the last one that the prompt shows."""
    if asked.schema is not None:
        return asked.schema
    places = list(SCHEMA.finditer(asked.text)) or list(SCHEMA.finditer(asked.system))
    if not places:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(places[-1].string, places[-1].end())
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def available(asked: Asked) -> set[str] | None:
    """The dimensions that the prompt says are on; None where it does not say."""
    found = AVAILABLE.search(asked.text)
    return None if found is None else set(DIMENSION.findall(found.group(1)))


class _Instance:
    """Makes values of a schema. CC and CTX are null where the prompt does not list them; a cap is null by chance."""

    def __init__(self, root: Mapping[str, Any], chance: random.Random, on: set[str] | None) -> None:
        self.root, self.chance, self.on = root, chance, on

    def of(self, schema: Mapping[str, Any], name: str = "") -> Any:
        if "$ref" in schema:
            return self.of(self.root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], name)
        if _may_be_null(schema) and self._is_null(name):
            return None
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.chance.choice([value for value in schema["enum"] if value is not None])
        if "anyOf" in schema:
            return self.of(next(part for part in schema["anyOf"] if not _is_null(part)), name)
        return self._typed(schema, name)

    def _typed(self, schema: Mapping[str, Any], name: str) -> Any:
        kind = next(k for k in _types(schema) if k != "null")
        if kind == "object":
            return {key: self.of(part, key) for key, part in schema.get("properties", {}).items()}
        if kind == "array":
            return [self.of(schema["items"], name) for _ in range(self.chance.randint(1, 2))]
        if kind == "boolean":
            return self.chance.random() < 0.5
        if kind == "string":
            return f"{self.chance.choice(PHRASES)} ({self.chance.randint(100, 999)})"
        low, high = int(schema.get("minimum", 1)), int(schema.get("maximum", 10))
        return self.chance.randint(low, high)

    def _is_null(self, name: str) -> bool:
        if name in ("CC", "CTX"):
            return self.on is not None and name not in self.on
        return self.chance.random() < 0.5


def _types(schema: Mapping[str, Any]) -> list[str]:
    kind = schema.get("type", "string")
    return [str(k).lower() for k in (kind if isinstance(kind, list) else [kind])]


def _is_null(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") is not None and _types(schema) == ["null"]


def _may_be_null(schema: Mapping[str, Any]) -> bool:
    return (
        schema.get("nullable") is True
        or "null" in _types(schema)
        or any(_is_null(part) for part in schema.get("anyOf", ()))
        or None in schema.get("enum", ())
    )
