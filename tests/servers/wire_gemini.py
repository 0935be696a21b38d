"""generateContent of the Gemini API, v1 and v1beta.

https://ai.google.dev/api/generate-content, https://ai.google.dev/gemini-api/docs/troubleshooting. A wrong key is a 400
here and a missing one a 403; a 429 says how long to wait in its body (google.rpc.RetryInfo) and in no header.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from servers import dialects
from servers.asked import Asked, Call, Outcome, Refused, Response, first_unknown, json_body, json_response
from servers.limits import Bucket
from servers.models import Model
from servers.pictures import BadPicture, Picture, check_number, picture

PATH = re.compile(r"/v1(?:beta)?/models/([^/:]+):generateContent")
FIELDS = {"contents", "systemInstruction", "generationConfig", "safetySettings", "serviceTier"}
SAMPLING = {"temperature", "topP", "topK", "presencePenalty", "frequencyPenalty"}
CONFIG = SAMPLING | {"maxOutputTokens", "candidateCount", "stopSequences", "seed", "responseMimeType", "responseSchema",
                     "responseJsonSchema", "thinkingConfig", "mediaResolution"}  # fmt: skip
RPC = "type.googleapis.com/google.rpc."
ERRORS = {
    "no_key": (403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers (callers without established "
               "identity). Please use API Key or other form of API consumer identity to call this API."),
    "bad_key": (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    "unknown_model": (404, "NOT_FOUND", "models/{} is not found for API version v1beta, or is not supported for "
                      "generateContent."),
    "invalid": (400, "INVALID_ARGUMENT", "{}"),
    "rate_limited": (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing "
                     "details."),
    "server_error": (500, "INTERNAL", "An internal error has occurred. Please retry."),
    "overloaded": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
}  # fmt: skip
LEVELS = ("MINIMAL", "LOW", "MEDIUM", "HIGH")
FINISH = {"stop": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}
PICTURE_FAULTS = {
    "base64": "Invalid value at 'contents[0].parts[0].inline_data.data' (TYPE_BYTES), Base64 decoding failed",
    "undecodable": "Unable to process input image.",
    "side": "Unable to process input image: a side is longer than {limit} pixels.",
    "bytes": "Request payload size exceeds the limit: {limit} bytes.",
    "number": "Please use fewer than {limit} images in your request.",
}


def matches(path: str) -> bool:
    return PATH.fullmatch(path) is not None


def read(call: Call, models: Mapping[str, Model], keys: Collection[str]) -> Asked:
    key = call.headers.get("x-goog-api-key", "")
    if key not in keys:
        raise Refused("bad_key" if key else "no_key")
    found = PATH.fullmatch(call.path)
    name = found.group(1) if found else ""
    model = models.get(name)
    if model is None or model.family != "gemini":
        raise Refused("unknown_model", name)
    body = _camel(json_body(call))
    _check_names(body, FIELDS, "")
    config = body.get("generationConfig") or {}
    _check_names(config, CONFIG, " at 'generation_config'")
    for parameter in SAMPLING & set(config):
        if not model.sampling:
            raise Refused("invalid", f"{parameter} is not supported by this model.")
    text, pictures = _parts(body.get("contents"), model)
    system, _ = _parts([body["systemInstruction"]] if "systemInstruction" in body else [], model)
    json_only = config.get("responseMimeType") == "application/json"
    schema = _schema(config, model, json_only)
    return Asked(
        call, key, name, model, system, text, pictures, schema, json_only, thinking=_thinking(config, model),
        max_tokens=config.get("maxOutputTokens"),
    )  # fmt: skip


def _camel(value: Any, name: str = "") -> Any:
    """Field names of messages in camel case, which may come in snake case too; keys of maps and free JSON stay.

    https://protobuf.dev/programming-guides/json
    """
    if isinstance(value, list):
        return [_camel(item, name) for item in value]
    if not isinstance(value, dict) or name == "responseJsonSchema":
        return value
    if name == "properties":
        return {key: _camel(part) for key, part in value.items()}
    camel = {key: re.sub("_([a-z])", lambda found: found.group(1).upper(), key) for key in value}
    return {camel[key]: _camel(part, camel[key]) for key, part in value.items()}


def _check_names(value: Mapping[str, Any], known: Collection[str], where: str) -> None:
    unknown = first_unknown(value, known)
    if unknown is not None:
        raise _unknown_name(unknown, where)


def _unknown_name(name: str, where: str) -> Refused:
    return Refused("invalid", f'Invalid JSON payload received. Unknown name "{name}"{where}: Cannot find field.')


def _parts(contents: object, model: Model) -> tuple[str, tuple[Picture, ...]]:
    if not isinstance(contents, list):
        raise Refused("invalid", "* GenerateContentRequest.contents: contents is not specified")
    texts: list[str] = []
    pictures: list[Picture] = []
    try:
        for part in (part for content in contents for part in content["parts"]):
            if "text" in part:
                texts.append(part["text"])
            elif "inlineData" in part:
                pictures.append(picture(_standard(part["inlineData"]["data"]), model))
            else:
                raise _unknown_name(next(iter(part), ""), " at 'contents[0].parts[0]'")
        check_number(pictures, model)
    except BadPicture as bad:
        raise Refused("invalid", PICTURE_FAULTS[bad.fault].format(**bad.details)) from None
    return "\n".join(texts), tuple(pictures)


def _standard(encoded: str) -> str:
    """bytes fields take standard and URL-safe base64, padded or not: https://protobuf.dev/programming-guides/json"""
    return encoded.rstrip("=").replace("-", "+").replace("_", "/") + "=" * (-len(encoded.rstrip("=")) % 4)


def _thinking(config: Mapping[str, Any], model: Model) -> bool:
    wish = config.get("thinkingConfig")
    if wish is None:
        return model.thinking in ("on", "always")
    if model.thinking == "never":
        raise Refused("invalid", "Thinking is not enabled for this model.")
    _check_names(
        wish, ("thinkingBudget", "thinkingLevel", "includeThoughts"), " at 'generation_config.thinking_config'"
    )
    if "thinkingBudget" in wish and "thinkingLevel" in wish:
        raise Refused("invalid", "You can only set only one of thinking budget and thinking level.")
    if wish.get("thinkingLevel", "HIGH").upper() not in LEVELS:
        raise Refused("invalid", "Invalid value at 'generation_config.thinking_config.thinking_level'")
    if wish.get("thinkingBudget") == 0 and model.thinking == "always":
        raise Refused("invalid", "Budget 0 is invalid. This model only works in thinking mode.")
    return wish.get("thinkingBudget") != 0


def _schema(config: Mapping[str, Any], model: Model, json_only: bool) -> Mapping[str, Any] | None:
    kinds = [name for name in ("responseSchema", "responseJsonSchema") if name in config]
    if not kinds:
        return None
    if len(kinds) == 2 or not json_only or "json_schema" not in model.json_modes:
        raise Refused("invalid", f"{kinds[0]} needs a response_mime_type of application/json and stands alone.")
    dialect = dialects.GEMINI if kinds[0] == "responseSchema" else dialects.GEMINI_JSON_SCHEMA
    found = dialects.violation(config[kinds[0]], dialect)
    if found is None:
        return config[kinds[0]]
    snake = "response_schema" if kinds[0] == "responseSchema" else "response_json_schema"
    where = ".".join((f"generation_config.{snake}", *found.where))
    if found.rule == "keyword":
        raise _unknown_name(found.name, f" at '{where}'")
    problem = {
        "root": f"GenerateContentRequest.{where}: schema must be an object",
        "required": f"GenerateContentRequest.{where}.required: property is not defined: {found.name}",
        "union": f"Invalid JSON payload received. Unknown name \"type\" at '{where}': Proto field is not repeating, "
        "cannot start list.",
        "enum": f"Invalid value at '{where}.enum[0]' (TYPE_STRING)",
        "untyped": f"GenerateContentRequest.{where}.type: must be specified",
    }[found.rule]
    raise Refused("invalid", problem)


def reply(asked: Asked, outcome: Outcome) -> Response:
    usage = outcome.usage
    candidate: dict[str, Any] = {"index": 0, "finishReason": FINISH[outcome.finish]}
    if outcome.finish != "refusal":  # a blocked candidate has no content at all
        candidate["content"] = {"role": "model"} | ({"parts": [{"text": outcome.text}]} if outcome.text else {})
    counts = {
        "promptTokenCount": usage.prompt,
        "candidatesTokenCount": usage.completion - usage.reasoning,
        "totalTokenCount": usage.prompt + usage.completion,
    }
    if usage.cached:
        counts["cachedContentTokenCount"] = usage.cached
    if usage.reasoning:
        counts["thoughtsTokenCount"] = usage.reasoning
    body = {
        "candidates": [candidate],
        "usageMetadata": counts,
        "modelVersion": asked.model,
        "responseId": asked.content[:22],
    }
    return json_response(200, body)


def refusal(refused: Refused, call: Call, models: Mapping[str, Model]) -> Response:
    status, name, message = ERRORS[refused.kind]
    error: dict[str, Any] = {"code": status, "message": message.format(refused.message), "status": name}
    if refused.kind == "bad_key":
        domain = {"domain": "googleapis.com", "metadata": {"service": "generativelanguage.googleapis.com"}}
        error["details"] = [{"@type": f"{RPC}ErrorInfo", "reason": "API_KEY_INVALID", **domain}]
    elif refused.kind == "invalid":
        error["details"] = [{"@type": f"{RPC}BadRequest", "fieldViolations": [{"description": error["message"]}]}]
    elif refused.wait_s is not None:
        error["message"] += f"\nPlease retry in {refused.wait_s:.9f}s."
        error["details"] = [{"@type": f"{RPC}RetryInfo", "retryDelay": f"{refused.wait_s:.9f}s"}]
    return json_response(status, {"error": error})


def limit_headers(buckets: Mapping[str, Bucket]) -> dict[str, str]:
    return {}
