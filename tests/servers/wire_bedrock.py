"""Converse of Amazon Bedrock, for models that give structured output through a forced tool.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolConfiguration.html
https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html
A throttled call is not told how long to wait.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Collection, Mapping
from typing import Any

from servers import dialects
from servers.asked import Asked, Call, Outcome, Refused, Response, first_unknown, json_body, json_response, tool_input
from servers.limits import Bucket
from servers.models import Model
from servers.pictures import BadPicture, Picture, check_number, picture

PATH = re.compile(r"/model/([^/]+)/converse")
SIGNATURE = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/]+)/.*SignedHeaders=.+Signature=[0-9a-f]{64}")
FIELDS = {"messages", "system", "inferenceConfig", "toolConfig", "additionalModelRequestFields", "requestMetadata",
          "performanceConfig", "serviceTier"}  # fmt: skip
INFERENCE = {"maxTokens", "temperature", "topP", "stopSequences"}
ADDITIONAL = {"inferenceConfig", "reasoningConfig"}
ERRORS = {
    "no_key": (403, "MissingAuthenticationTokenException", "Missing Authentication Token"),
    "bad_key": (403, "UnrecognizedClientException", "The security token included in the request is invalid."),
    "unknown_model": (400, "ValidationException", "The provided model identifier is invalid."),
    "invalid": (400, "ValidationException", "{}"),
    "rate_limited": (429, "ThrottlingException", "Too many {}, please wait before trying again."),
    "server_error": (500, "InternalServerException", "The system encountered an unexpected error during processing."),
    "overloaded": (503, "ServiceUnavailableException", "Bedrock is unable to process your request."),
}
FINISH = {"stop": "end_turn", "length": "max_tokens", "refusal": "content_filtered"}
PICTURE_FAULTS = {
    "base64": "The image bytes are not valid base64.",
    "undecodable": "Failed to decode the image. Check the format and try again.",
    "mismatch": "The provided image does not match the specified image format.",
    "side": "The image dimensions exceed the maximum of {limit} pixels.",
    "bytes": "The image size of {size} bytes exceeds the maximum of {limit} bytes.",
    "number": "The number of images {number} exceeds the maximum of {limit}.",
}


def matches(path: str) -> bool:
    return PATH.fullmatch(path) is not None


def read(call: Call, models: Mapping[str, Model], keys: Collection[str]) -> Asked:
    key = _key(call, keys)
    found = PATH.fullmatch(call.path)
    name = urllib.parse.unquote(found.group(1)) if found else ""
    model = models.get(name)
    if model is None or model.family != "bedrock":
        raise Refused("unknown_model")
    body = json_body(call)
    inference, additional = body.get("inferenceConfig") or {}, body.get("additionalModelRequestFields") or {}
    for value, known in ((body, FIELDS), (inference, INFERENCE), (additional, ADDITIONAL)):
        _check_names(value, known)
    if not model.sampling and ({"temperature", "topP"} & set(inference) or "inferenceConfig" in additional):
        raise Refused("invalid", "This model doesn't support sampling parameters in inferenceConfig.")
    thinking = _thinking(additional, model)
    system, caches, _ = _blocks(body.get("system", []), model)
    messages = body.get("messages") or []
    text, cached_too, pictures = _blocks([block for message in messages for block in message["content"]], model)
    tool, schema = _tool(body.get("toolConfig") or {}, model, thinking)
    return Asked(
        call, key, name, model, system, text, pictures, schema, tool is not None, tool, thinking,
        inference.get("maxTokens"), caches=caches or cached_too,
    )  # fmt: skip


def _key(call: Call, keys: Collection[str]) -> str:
    """The access key that signed, or a Bedrock API key; the signature itself is not recomputed."""
    authorization = call.headers.get("authorization", "")
    signed = SIGNATURE.match(authorization)
    key = signed.group(1) if signed else authorization.removeprefix("Bearer ")
    if not key:
        raise Refused("no_key")
    if key not in keys:
        raise Refused("bad_key")
    return key


def _check_names(value: Mapping[str, Any], known: Collection[str]) -> None:
    unknown = first_unknown(value, known)
    if unknown is not None:
        problem = f"#: extraneous key [{unknown}] is not permitted"
        raise Refused("invalid", f"Malformed input request: {problem}, please reformat your input and try again.")


def _thinking(additional: Mapping[str, Any], model: Model) -> bool:
    wish = additional.get("reasoningConfig")
    if wish is not None and model.thinking == "never":
        raise Refused("invalid", "This model doesn't support the reasoningConfig field.")
    return model.thinking in ("on", "always") if wish is None else wish.get("type") == "enabled"


def _blocks(blocks: list[dict[str, Any]], model: Model) -> tuple[str, bool, tuple[Picture, ...]]:
    """(text, whether a cache point is set, images) of content blocks."""
    texts: list[str] = []
    pictures: list[Picture] = []
    try:
        for block in blocks:
            if "text" in block:
                texts.append(block["text"])
            elif "image" in block:
                image = block["image"]
                pictures.append(picture(image["source"]["bytes"], model, f"image/{image['format']}"))
            elif "cachePoint" not in block:
                raise Refused("invalid", f"This model doesn't support the {next(iter(block), '')} content block.")
        check_number(pictures, model)
    except BadPicture as bad:
        raise Refused("invalid", PICTURE_FAULTS[bad.fault].format(**bad.details)) from None
    return "\n".join(texts), any("cachePoint" in block for block in blocks), tuple(pictures)


def _tool(config: Mapping[str, Any], model: Model, thinking: bool) -> tuple[str | None, Mapping[str, Any] | None]:
    """(name, schema) of the tool that the reply must call. A choice of "auto" leaves the model free to write prose."""
    tools = {}
    for number, tool in enumerate(config.get("tools", [])):
        schema = tool["toolSpec"]["inputSchema"]["json"]
        found = dialects.violation(schema, dialects.BEDROCK)
        if found is not None:
            place = ".".join((f"toolConfig.tools.{number}.toolSpec.inputSchema.json", *found.where))
            raise Refused("invalid", f"The value at {place} is not supported: {found.rule} {found.name}".rstrip())
        tools[tool["toolSpec"]["name"]] = schema
    choice = config.get("toolChoice") or {"auto": {}}
    if "auto" in choice:
        return None, None
    forcing = next(iter(choice))
    if not model.forced_tool:
        field = f"toolConfig.toolChoice.{forcing}"
        raise Refused("invalid", f"This model doesn't support the {field} field. Remove {field} and try again.")
    if thinking:
        raise Refused("invalid", "Thinking may not be enabled when tool_choice forces tool use.")
    name = choice["tool"]["name"] if forcing == "tool" else next(iter(tools), None)
    if name not in tools:
        raise Refused("invalid", f"The toolChoice names the tool {name}, which is not in toolConfig.tools.")
    return name, tools[name]


def reply(asked: Asked, outcome: Outcome) -> Response:
    usage, text = outcome.usage, outcome.text
    arguments = tool_input(text) if asked.tool else None
    content: list[dict[str, Any]] = []
    if arguments is not None:
        tool_id = f"tooluse_{asked.content[:22]}"
        content.append({"toolUse": {"toolUseId": tool_id, "name": asked.tool, "input": arguments}})
    elif text:
        content.append({"text": text})
    body = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "tool_use" if arguments is not None else FINISH[outcome.finish],
        "usage": {
            "inputTokens": usage.prompt - usage.cached - usage.cache_written, "outputTokens": usage.completion,
            "totalTokens": usage.prompt + usage.completion, "cacheReadInputTokens": usage.cached,
            "cacheWriteInputTokens": usage.cache_written,
        },
        "metrics": {"latencyMs": 400},
    }  # fmt: skip
    return json_response(200, body, {"x-amzn-requestid": asked.content[:36]})


def refusal(refused: Refused, call: Call, models: Mapping[str, Model]) -> Response:
    status, name, message = ERRORS[refused.kind]
    headers = {"x-amzn-requestid": call.content[:36], "x-amzn-errortype": name}
    return json_response(status, {"message": message.format(refused.message)}, headers)


def limit_headers(buckets: Mapping[str, Bucket]) -> dict[str, str]:
    return {}
