"""Good calls in each wire format, and a client that sends them as they stand."""

from __future__ import annotations

import base64
import http.client
import io
import json
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from PIL import Image

SYSTEM = "You judge figures. " * 40
PROMPT = "Available dimensions: VC (Visual Clarity), CC (Caption Consistency). Reply with JSON."
JUDGEMENT = {
    "type": "object",
    "properties": {"score": {"type": "integer", "enum": list(range(1, 11))}, "reason": {"type": "string"}},
    "required": ["score", "reason"],
    "additionalProperties": False,
}
NULLABLE = {"anyOf": [JUDGEMENT, {"type": "null"}]}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"VC": JUDGEMENT, "CC": NULLABLE, "CTX": NULLABLE, "MR": JUDGEMENT,
                   "notes": {"type": "array", "items": {"type": "string"}}},
    "required": ["VC", "CC", "CTX", "MR", "notes"],
    "additionalProperties": False,
}  # fmt: skip
SIGNED = (
    "AWS4-HMAC-SHA256 Credential={}/20261201/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=" + "0" * 64
)


def image(width: int = 60, height: int = 40, kind: str = "PNG") -> str:
    data = io.BytesIO()
    Image.new("1" if kind == "PNG" else "L", (width, height), 1).save(data, kind)
    return base64.b64encode(data.getvalue()).decode()


@dataclass
class Sending:
    """A request that a test may change before it is sent."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(frozen=True)
class Got:
    status: int
    headers: Mapping[str, str]
    raw: bytes
    body: Any = field(default=None)


def send(url: str, sending: Sending) -> Got:
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=5)
    try:
        connection.request("POST", sending.path, json.dumps(sending.body), sending.headers)
        response = connection.getresponse()
        raw = response.read()
    finally:
        connection.close()
    headers = {name.lower(): value for name, value in response.getheaders()}
    body = json.loads(raw) if headers["content-type"] == "application/json" and response.status != 200 else None
    return Got(response.status, headers, raw, body)


def chat(model: str = "gpt-4.1", picture: str | None = None, prompt: str = PROMPT, **fields: Any) -> Sending:
    content = [
        {"type": "text", "text": prompt},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture or image()}"}},
    ]
    body = {"model": model, "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": content}]}
    return Sending("/v1/chat/completions", {"authorization": "Bearer key-1"}, body | fields)


def strict(schema: object = SCHEMA) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}


def messages(model: str = "claude-sonnet-4-6", picture: str | None = None, **fields: Any) -> Sending:
    source = {"type": "base64", "media_type": "image/png", "data": picture or image()}
    content = [{"type": "text", "text": PROMPT}, {"type": "image", "source": source}]
    system = [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}]
    body = {"model": model, "max_tokens": 2000, "system": system, "messages": [{"role": "user", "content": content}]}
    headers = {"x-api-key": "key-1", "anthropic-version": "2023-06-01"}
    return Sending("/v1/messages", headers, body | fields)


def anthropic_format(schema: object = SCHEMA) -> dict[str, Any]:
    return {"format": {"type": "json_schema", "schema": schema}}


def anthropic_tool(schema: object = SCHEMA, choice: str = "tool") -> dict[str, Any]:
    named = {"name": "reply"} if choice == "tool" else {}
    return {"tools": [{"name": "reply", "input_schema": schema}], "tool_choice": {"type": choice, **named}}


def generate(model: str = "gemini-2.5-flash", picture: str | None = None, **config: Any) -> Sending:
    data = {"mimeType": "image/png", "data": picture or image()}
    body = {
        "systemInstruction": {"parts": [{"text": SYSTEM}]},
        "contents": [{"role": "user", "parts": [{"text": PROMPT}, {"inlineData": data}]}],
        "generationConfig": {"responseMimeType": "application/json", **config},
    }
    return Sending(f"/v1beta/models/{model}:generateContent", {"x-goog-api-key": "key-1"}, body)


def gemini_schema(schema: Mapping[str, Any] = SCHEMA) -> dict[str, Any]:
    """SCHEMA in Gemini's subset, for responseSchema."""
    if "anyOf" in schema:
        return gemini_schema(schema["anyOf"][0]) | {"nullable": True}
    subset = {name: value for name, value in schema.items() if name not in ("additionalProperties", "enum")}
    if "enum" in schema:
        subset |= {"minimum": 1, "maximum": 10}
    if "properties" in schema:
        subset["properties"] = {name: gemini_schema(part) for name, part in schema["properties"].items()}
    return subset


def converse(model: str = "amazon.nova-pro-v1:0", picture: str | None = None, **fields: Any) -> Sending:
    block = {"image": {"format": "png", "source": {"bytes": picture or image()}}}
    body = {
        "system": [{"text": SYSTEM}],
        "messages": [{"role": "user", "content": [{"text": PROMPT}, block]}],
        "toolConfig": bedrock_tool(),
    }
    path = f"/model/{urllib.parse.quote(model, safe='')}/converse"
    return Sending(path, {"authorization": SIGNED.format("key-1")}, body | fields)


def bedrock_tool(schema: object = SCHEMA, choice: str = "tool") -> dict[str, Any]:
    named = {"name": "reply"} if choice == "tool" else {}
    return {"tools": [{"toolSpec": {"name": "reply", "inputSchema": {"json": schema}}}], "toolChoice": {choice: named}}


def good(provider: str) -> Sending:
    """A call with an image and an enforced schema."""
    if provider == "openai":
        return chat(response_format=strict())
    if provider == "anthropic":
        return messages(output_config=anthropic_format())
    if provider == "gemini":
        return generate(responseSchema=gemini_schema())
    return converse()


PROVIDERS = ("openai", "anthropic", "gemini", "bedrock")


def words(provider: str, got: Got) -> tuple[str, str]:
    """(text, finish reason) of an answer, read as a careful client reads it."""
    body = json.loads(got.raw)
    if provider == "openai":
        choice = body["choices"][0]
        return choice["message"]["content"] or "", "refusal" if choice["message"].get("refusal") else choice[
            "finish_reason"
        ]
    if provider == "anthropic":
        return _blocks(body["content"], "tool_use"), body["stop_reason"]
    if provider == "gemini":
        candidate = body["candidates"][0]
        parts = candidate.get("content", {}).get("parts", [])
        return "".join(part["text"] for part in parts), candidate["finishReason"]
    return _blocks(body["output"]["message"]["content"], "toolUse"), body["stopReason"]


def _blocks(blocks: list[dict[str, Any]], tool: str) -> str:
    for block in blocks:
        if tool in block or block.get("type") == tool:
            return json.dumps(block.get(tool, block)["input"])
    return "".join(block["text"] for block in blocks if "text" in block)
