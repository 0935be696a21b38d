"""Anthropic's Messages API.

https://platform.claude.com/docs/en/api/messages, .../docs/en/api/errors, .../docs/en/build-with-claude/ and there
structured-outputs, extended-thinking, vision. The key comes as x-api-key, or as a Bearer token from clients since 2026.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping
from typing import Any

from servers import dialects
from servers.asked import Asked, Call, Outcome, Refused, Response, first_unknown, json_body, json_response, tool_input
from servers.limits import Bucket
from servers.models import Model
from servers.pictures import BadPicture, Picture, check_number, picture

FIELDS = {"model", "max_tokens", "messages", "system", "temperature", "top_p", "top_k", "stop_sequences", "metadata",
          "thinking", "output_config", "tools", "tool_choice", "service_tier", "cache_control"}  # fmt: skip
ERRORS = {
    "no_key": (401, "authentication_error", "x-api-key header is required"),
    "bad_key": (401, "authentication_error", "invalid x-api-key"),
    "unknown_model": (404, "not_found_error", "model: {}"),
    "invalid": (400, "invalid_request_error", "{}"),
    "rate_limited": (429, "rate_limit_error", "This request would exceed your organization's limit of {} per minute."),
    "server_error": (500, "api_error", "Internal server error"),
    "overloaded": (529, "overloaded_error", "Overloaded"),
}
FINISH = {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal"}
PICTURE_FAULTS = {
    "base64": "invalid base64 data",
    "undecodable": "Could not process image",
    "mismatch": "The image was specified using the {declared} media type, but the image appears to be a {found} image",
    "side": "At least one of the image dimensions exceed max allowed size: {limit} pixels",
    "bytes": "image exceeds the maximum: {size} bytes > {limit} bytes",
    "number": "Too many images: {number} > {limit}",
}
FORCING = ("any", "tool")
EFFORTS = ("low", "medium", "high", "xhigh", "max")


def matches(path: str) -> bool:
    return path == "/v1/messages"


def read(call: Call, models: Mapping[str, Model], keys: Collection[str]) -> Asked:
    key = call.headers.get("x-api-key") or call.headers.get("authorization", "").removeprefix("Bearer ")
    if key not in keys:
        raise Refused("bad_key" if key else "no_key")
    if "anthropic-version" not in call.headers:
        raise Refused("invalid", "anthropic-version: header is required")
    body = json_body(call)
    unknown = first_unknown(body, FIELDS)
    if unknown is not None:
        raise Refused("invalid", f"{unknown}: Extra inputs are not permitted")
    for name in ("model", "messages", "max_tokens"):
        if name not in body:
            raise Refused("invalid", f"{name}: Field required")
    model = models.get(str(body["model"]))
    if model is None or model.family != "anthropic":
        raise Refused("unknown_model", str(body["model"]))
    thinking = _thinking(body, model)
    _check_sampling(body, model, thinking)
    system, caches = _system(body)
    text, pictures = _messages(body, model)
    tool, tool_schema = _tool(body, model, thinking)
    schema = _schema(body, model) or tool_schema
    return Asked(
        call, key, body["model"], model, system, text, pictures, schema, schema is not None, tool, thinking,
        body["max_tokens"], caches=caches or "cache_control" in body,
    )  # fmt: skip


def _thinking(body: Mapping[str, Any], model: Model) -> bool:
    wish = (body.get("thinking") or {}).get("type")
    if wish is None:
        return model.thinking in ("on", "always")
    if wish == "disabled":
        if model.thinking == "always":
            raise Refused("invalid", '"thinking.type.disabled" is not supported for this model.')
        return False
    if model.thinking == "never":
        raise Refused("invalid", f"thinking.type.{wish} is not supported on this model")
    if wish == "enabled":
        if not model.sampling:  # the models that no longer sample think adaptively only
            message = '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".'
            raise Refused("invalid", message)
        budget = body["thinking"].get("budget_tokens", 0)
        if budget < 1024:
            message = "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
            raise Refused("invalid", message)
        if budget >= body["max_tokens"]:
            raise Refused("invalid", "`max_tokens` must be greater than `thinking.budget_tokens`.")
    return True


def _check_sampling(body: Mapping[str, Any], model: Model, thinking: bool) -> None:
    for name in ("temperature", "top_p", "top_k"):
        if name in body and not model.sampling:
            raise Refused("invalid", f"`{name}` is deprecated for this model.")
    if thinking and body.get("temperature", 1) != 1:
        raise Refused("invalid", "`temperature` may only be set to 1 when thinking is enabled.")


def _system(body: Mapping[str, Any]) -> tuple[str, bool]:
    """(system text, whether it is marked for the cache)."""
    system = body.get("system", "")
    if isinstance(system, str):
        return system, False
    return "\n".join(block["text"] for block in system), any("cache_control" in block for block in system)


def _messages(body: Mapping[str, Any], model: Model) -> tuple[str, tuple[Picture, ...]]:
    texts: list[str] = []
    pictures: list[Picture] = []
    place = "messages"
    try:
        for number, message in enumerate(body["messages"]):
            if message["role"] not in ("user", "assistant"):
                raise Refused("invalid", f"messages.{number}.role: Input should be 'user' or 'assistant'")
            content = message["content"]
            for index, block in enumerate([{"type": "text", "text": content}] if isinstance(content, str) else content):
                place = f"messages.{number}.content.{index}"
                if block["type"] == "text":
                    texts.append(block["text"])
                elif block["type"] == "image":
                    place += ".image.source.base64"
                    pictures.append(picture(block["source"]["data"], model, block["source"]["media_type"]))
                else:
                    raise Refused("invalid", f"{place}: Input tag '{block['type']}' does not match the expected tags")
        check_number(pictures, model)
    except BadPicture as bad:
        raise Refused("invalid", f"{place}: {PICTURE_FAULTS[bad.fault].format(**bad.details)}") from None
    return "\n".join(texts), tuple(pictures)


def _tool(body: Mapping[str, Any], model: Model, thinking: bool) -> tuple[str | None, Mapping[str, Any] | None]:
    """(name, schema) of the tool that the reply must call. A choice of "auto" leaves the model free to write prose."""
    choice = body.get("tool_choice") or {"type": "auto"}
    if choice.get("type") not in FORCING:
        return None, None
    if not model.forced_tool:
        raise Refused("invalid", f"tool_choice.type: '{choice['type']}' is not supported for this model")
    if thinking:
        raise Refused("invalid", "Thinking may not be enabled when tool_choice forces tool use.")
    tools = {tool.get("name"): tool.get("input_schema") for tool in body.get("tools", [])}
    name = choice.get("name") if choice["type"] == "tool" else next(iter(tools), None)
    if name not in tools:
        raise Refused("invalid", f"Tool '{name}' not found in provided tools")
    return name, tools[name]


def _schema(body: Mapping[str, Any], model: Model) -> Mapping[str, Any] | None:
    output = body.get("output_config") or {}
    if output.get("effort", "high") not in EFFORTS:
        raise Refused("invalid", "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
    form = output.get("format")
    if form is None:
        return None
    if form.get("type") != "json_schema" or "json_schema" not in model.json_modes:
        raise Refused("invalid", "output_config.format.type: Input should be 'json_schema', where the model has it")
    found = dialects.violation(form.get("schema"), dialects.ANTHROPIC)
    if found is None:
        return form["schema"]
    problem = {
        "root": "Schema must be an object",
        "keyword": f"For '{found.type}' type, property '{found.name}' is not supported",
        "open": "For 'object' type, 'additionalProperties' must be explicitly set to false",
        "required": f"required property '{found.name}' is not among the properties",
        "untyped": f"Schema type is missing at {'.'.join(found.where)}",
        "reference": f"Reference '{found.name}' cannot be resolved",
    }[found.rule]
    raise Refused("invalid", f"output_config.format.schema: {problem}")


def reply(asked: Asked, outcome: Outcome) -> Response:
    usage, text = outcome.usage, outcome.text
    content: list[dict[str, Any]] = []
    if asked.thinking:
        content.append({"type": "thinking", "thinking": "The figure is looked at.", "signature": asked.content})
    arguments = tool_input(text) if asked.tool else None
    if arguments is not None:
        tool_id = f"toolu_{asked.content[:24]}"
        content.append({"type": "tool_use", "id": tool_id, "name": asked.tool, "input": arguments})
    elif text:
        content.append({"type": "text", "text": text})
    refused = outcome.finish == "refusal"
    body = {
        "id": f"msg_{asked.content[:24]}", "type": "message", "role": "assistant", "model": asked.model,
        "content": [] if refused else content,
        "stop_reason": "tool_use" if arguments is not None else FINISH[outcome.finish], "stop_sequence": None,
        "stop_details": {"type": "refusal", "category": "bio", "explanation": "not served"} if refused else None,
        "usage": {
            "input_tokens": usage.prompt - usage.cached - usage.cache_written, "output_tokens": usage.completion,
            "cache_read_input_tokens": usage.cached, "cache_creation_input_tokens": usage.cache_written,
            "service_tier": "standard",
        },
    }  # fmt: skip
    return json_response(200, body, {"request-id": f"req_{asked.content[:24]}"})


def refusal(refused: Refused, call: Call, models: Mapping[str, Model]) -> Response:
    status, kind, message = ERRORS[refused.kind]
    request_id = f"req_{call.content[:24]}"
    error = {"type": kind, "message": message.format(refused.message)}
    headers = {"request-id": request_id}
    if refused.wait_s is not None:
        headers["retry-after"] = f"{refused.wait_s:.3g}"
    return json_response(status, {"type": "error", "error": error, "request_id": request_id}, headers)


def limit_headers(buckets: Mapping[str, Bucket]) -> dict[str, str]:
    """https://platform.claude.com/docs/en/api/rate-limits#response-headers"""
    headers = {}
    for name, bucket in buckets.items():
        full = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=bucket.wait_s(bucket.capacity))
        headers[f"anthropic-ratelimit-{name}-limit"] = str(int(bucket.per_minute))
        headers[f"anthropic-ratelimit-{name}-remaining"] = str(max(0, int(bucket.level)))
        headers[f"anthropic-ratelimit-{name}-reset"] = full.strftime("%Y-%m-%dT%H:%M:%SZ")
    return headers
