"""Chat Completions of OpenAI, and of the providers that speak it with words of their own: DashScope, GLM and Ark.

OpenAI     https://platform.openai.com/docs/api-reference/chat, .../docs/guides/error-codes
DashScope  https://help.aliyun.com/zh/model-studio/compatibility-of-openai-with-dashscope, .../json-mode
GLM        https://docs.bigmodel.cn/api-reference, https://docs.bigmodel.cn/cn/faq/api-code
Ark        https://www.volcengine.com/docs/82379/1494384, https://www.volcengine.com/docs/82379/1299023
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from servers import dialects
from servers.asked import Asked, Call, Outcome, Refused, Response, first_unknown, json_body, json_response
from servers.limits import Bucket
from servers.logprobs import token_logprobs
from servers.models import Model
from servers.openai_errors import refusal
from servers.pictures import BadPicture, Picture, check_number, picture

__all__ = ["limit_headers", "matches", "read", "refusal", "reply"]

SAMPLING = ("temperature", "top_p", "top_k", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs")
FIELDS = {"model", "messages", "max_tokens", "max_completion_tokens", "seed", "stop", "n", "user", "response_format",
          "service_tier", *SAMPLING} - {"top_k"}  # fmt: skip
OWN_FIELDS = {
    "openai": {"reasoning_effort", "verbosity", "store", "metadata", "prompt_cache_key", "safety_identifier"},
    "dashscope": {"enable_thinking", "thinking_budget", "top_k", "vl_high_resolution_images"},
    "glm": {"thinking", "do_sample", "request_id", "user_id"},
    "ark": {"thinking", "reasoning_effort"},
}
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
FINISH = {"stop": "stop", "length": "length", "refusal": "content_filter"}
PICTURE_FAULTS = {
    "base64": "Invalid base64 image_url.",
    "undecodable": "You uploaded an unsupported image. Please make sure your image is valid.",
    "side": "The image is too large: no side may exceed {limit} pixels.",
    "bytes": "The image is too large: {size} bytes exceed the limit of {limit} bytes.",
    "number": "Too many images in request: {number} exceed the limit of {limit}.",
}


def matches(path: str) -> bool:
    return path.endswith("/chat/completions")


def read(call: Call, models: Mapping[str, Model], keys: Collection[str]) -> Asked:
    key = _key(call, keys)
    body = json_body(call)
    name = str(body.get("model"))
    model = models.get(name)
    if model is None or model.family not in OWN_FIELDS:
        raise Refused("unknown_model", f"The model `{name}` does not exist or you do not have access to it.")
    unknown = first_unknown(body, FIELDS | OWN_FIELDS[model.family])
    if unknown is not None:
        raise Refused("invalid", f"Unknown parameter: '{unknown}'.", unknown, "unknown_parameter")
    thinking = _thinking(body, model)
    _check_parameters(body, model, thinking)
    system, text, pictures = _messages(body, model)
    mode, schema = _format(body, model, f"{system}\n{text}", thinking)
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    top = body.get("top_logprobs", 0) if body.get("logprobs") else None
    return Asked(
        call, key, name, model, system, text, pictures, schema, mode != "text", thinking=thinking, max_tokens=limit,
        top_logprobs=top,
    )  # fmt: skip


def _key(call: Call, keys: Collection[str]) -> str:
    scheme, _, key = call.headers.get("authorization", "").partition(" ")
    if scheme != "Bearer" or not key:
        raise Refused("no_key")
    if key not in keys:
        raise Refused("bad_key", key)
    return key


def _thinking(body: Mapping[str, Any], model: Model) -> bool:
    """Whether the model will think. Raises Refused where the model cannot be told to do what it is told."""
    wish: bool | None = None
    if body.get("reasoning_effort") is not None:
        if body["reasoning_effort"] not in EFFORTS:
            message = f"Invalid value: '{body['reasoning_effort']}'."
            raise Refused("invalid", message, "reasoning_effort", "invalid_value")
        wish = body["reasoning_effort"] not in ("none", "minimal")
    if body.get("enable_thinking") is not None:
        wish = bool(body["enable_thinking"])
    if body.get("thinking") is not None:
        wish = body["thinking"].get("type") == "enabled"
    name = next((n for n in ("reasoning_effort", "enable_thinking", "thinking") if n in body), "thinking")
    if (wish is not None and model.thinking == "never") or (wish is False and model.thinking == "always"):
        raise _unsupported(name)
    return model.thinking in ("on", "always") if wish is None else wish


def _check_parameters(body: Mapping[str, Any], model: Model, thinking: bool) -> None:
    reasons = model.family == "openai" and thinking  # https://platform.openai.com/docs/guides/latest-model
    for name in SAMPLING:
        if body.get(name) is not None and (reasons or not model.sampling):
            raise _unsupported(name)
    if model.family == "openai" and model.thinking != "never" and "max_tokens" in body:
        raise Refused(
            "invalid", "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.", "max_tokens", "unsupported_parameter",
        )  # fmt: skip
    if body.get("n", 1) != 1:
        raise Refused("invalid", "Invalid value for 'n': the only value here is 1.", "n", "invalid_value")
    if body.get("top_logprobs") is not None and not body.get("logprobs"):
        message = "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled."
        raise Refused("invalid", message, "top_logprobs")
    if not 0 <= (body.get("top_logprobs") or 0) <= 20:
        raise Refused("invalid", "Invalid 'top_logprobs': must be between 0 and 20.", "top_logprobs", "invalid_value")


def _unsupported(name: str) -> Refused:
    message = f"Unsupported parameter: '{name}' is not supported with this model."
    return Refused("invalid", message, name, "unsupported_parameter")


def _messages(body: Mapping[str, Any], model: Model) -> tuple[str, str, tuple[Picture, ...]]:
    """(system text, other text, images) of the messages."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refused("invalid", "Missing required parameter: 'messages'.", "messages", "missing_required_parameter")
    texts: dict[bool, list[str]] = {True: [], False: []}
    pictures: list[Picture] = []
    try:
        for message in messages:
            content = message["content"]
            parts: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
            for part in parts:
                if part["type"] == "text":
                    texts[message["role"] in ("system", "developer")].append(part["text"])
                elif part["type"] == "image_url":
                    pictures.append(_picture(part["image_url"]["url"], model))
                else:
                    raise Refused("invalid", f"Invalid value: '{part['type']}'.", "messages", "invalid_value")
        check_number(pictures, model)
    except BadPicture as bad:
        message = PICTURE_FAULTS[bad.fault].format(**bad.details)
        raise Refused("invalid", message, "messages", "invalid_image_format") from None
    return "\n".join(texts[True]), "\n".join(texts[False]), tuple(pictures)


def _picture(url: str, model: Model) -> Picture:
    head, _, data = url.partition(";base64,")
    if not head.startswith("data:image/"):
        raise Refused("invalid", f"Failed to download image from {url[:80]}.", "url", "invalid_image_url")
    return picture(data, model)


def _format(body: Mapping[str, Any], model: Model, text: str, thinking: bool) -> tuple[str, Mapping[str, Any] | None]:
    """(mode, enforced schema): text, json_object or json_schema. A schema that is not strict enforces nothing."""
    form = body.get("response_format") or {"type": "text"}
    mode = form.get("type")
    if mode == "text":
        return "text", None
    if mode not in model.json_modes:
        message = (
            "The parameter `response_format.type` specified in the request are not valid: "
            f"`{mode}` is not supported by this model."
        )
        raise Refused("invalid", message, "response_format")
    if mode == "json_object":
        if "json" not in text.lower():
            message = (
                "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
            )
            raise Refused("invalid", message, "messages")
        if thinking and model.family == "dashscope":
            message = "Json mode response is not supported when enable_thinking is true"
            raise Refused("invalid", message, "response_format")
        return "json_object", None
    given = form.get("json_schema") or {}
    if not given.get("name"):
        message = "Missing required parameter: 'response_format.json_schema.name'."
        raise Refused("invalid", message, "response_format.json_schema.name", "missing_required_parameter")
    if given.get("strict") is not True:
        return "text", None
    _check_schema(given.get("schema"), given["name"])
    return "json_schema", given["schema"]


def _check_schema(schema: object, name: str) -> None:
    found = dialects.violation(schema, dialects.OPENAI)
    if found is None:
        return
    context = f"In context={found.where!r}, "
    problem = {
        "root": "schema must be a JSON Schema of 'type: \"object\"'.",
        "keyword": f"{context}'{found.name}' is not permitted.",
        "open": f"{context}'additionalProperties' is required to be supplied and to be false.",
        "required": f"{context}'required' is required to be supplied and to be an array including every key in "
        f"properties. Missing '{found.name}'.",
        "untyped": f"{context}schema must have a 'type' key.",
        "reference": f"{context}reference to component '{found.name}' which was not found, or has keywords beside it.",
    }[found.rule]
    raise Refused("invalid", f"Invalid schema for response_format '{name}': {problem}", "response_format")


def reply(asked: Asked, outcome: Outcome) -> Response:
    usage = outcome.usage
    refused = outcome.finish == "refusal"
    message: dict[str, Any] = {"role": "assistant", "content": None if refused else outcome.text}
    finish = FINISH[outcome.finish]
    if asked.record.family == "openai":
        # a refusal under Structured Outputs is told by its own field, and the finish reason stays "stop"
        by_field = refused and asked.schema is not None
        message["refusal"] = "I'm sorry, I can't assist with that request." if by_field else None
        finish = "stop" if by_field else finish
    elif asked.thinking:
        message["reasoning_content"] = "The figure is looked at, then its caption."
    if refused and asked.record.family == "glm":
        finish = "sensitive"
    logprobs = None
    if asked.top_logprobs is not None:
        logprobs = {"content": token_logprobs(outcome.text, asked.top_logprobs), "refusal": None}
    body = {
        "id": f"chatcmpl-{asked.content[:24]}", "object": "chat.completion", "created": 1764547200,
        "model": asked.model, "service_tier": "default", "system_fingerprint": f"fp_{asked.content[24:34]}",
        "choices": [{"index": 0, "message": message, "logprobs": logprobs, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": usage.prompt, "completion_tokens": usage.completion,
            "total_tokens": usage.prompt + usage.completion,
            "prompt_tokens_details": {"cached_tokens": usage.cached},
            "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
        },
    }  # fmt: skip
    return json_response(200, body, {"x-request-id": f"req_{asked.content[:32]}"})


def limit_headers(buckets: Mapping[str, Bucket]) -> dict[str, str]:
    """https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers"""
    headers = {}
    for name, bucket in buckets.items():
        headers[f"x-ratelimit-limit-{name}"] = str(int(bucket.per_minute))
        headers[f"x-ratelimit-remaining-{name}"] = str(max(0, int(bucket.level)))
        headers[f"x-ratelimit-reset-{name}"] = f"{bucket.wait_s(bucket.capacity):.3f}s"
    return headers
