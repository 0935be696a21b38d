"""Errors of the providers behind Chat Completions. Each has its own codes, and two of them their own envelope."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from servers.asked import Call, Refused, Response, json_response
from servers.models import Model

Table = dict[str, tuple[int, str | None, str | None]]  # kind -> (status, type, code)

OPENAI: Table = {
    "no_key": (401, "invalid_request_error", None),
    "bad_key": (401, "invalid_request_error", "invalid_api_key"),
    "unknown_model": (404, "invalid_request_error", "model_not_found"),
    "invalid": (400, "invalid_request_error", None),
    "rate_limited": (429, "requests", "rate_limit_exceeded"),
    "server_error": (500, "server_error", None),
    "overloaded": (503, "server_error", None),
}
DASHSCOPE: Table = OPENAI | {
    "no_key": (401, "invalid_request_error", "invalid_api_key"),
    "invalid": (400, "invalid_request_error", "invalid_parameter_error"),
    "rate_limited": (429, "limit_requests", "limit_requests"),
    "server_error": (500, "internal_error", "internal_error"),
    "overloaded": (503, "service_unavailable", "service_unavailable"),
}
GLM: Table = {
    "no_key": (401, None, "1001"),
    "bad_key": (401, None, "1000"),
    "unknown_model": (400, None, "1211"),
    "invalid": (400, None, "1210"),
    "rate_limited": (429, None, "1302"),
    "server_error": (500, None, "1230"),
    "overloaded": (503, None, "1305"),
}
ARK: Table = {
    "no_key": (401, "Unauthorized", "AuthenticationError"),
    "bad_key": (401, "Unauthorized", "AuthenticationError"),
    "unknown_model": (404, "NotFound", "InvalidEndpointOrModel.NotFound"),
    "invalid": (400, "BadRequest", "InvalidParameter"),
    "rate_limited": (429, "TooManyRequests", "RateLimitExceeded.EndpointRPMExceeded"),
    "server_error": (500, "InternalServerError", "InternalServiceError"),
    "overloaded": (503, "ServiceUnavailable", "ServerOverloaded"),
}
TABLES = {"openai": OPENAI, "dashscope": DASHSCOPE, "glm": GLM, "ark": ARK}
MESSAGES = {
    "no_key": "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer "
    "auth (i.e. Authorization: Bearer YOUR_KEY).",
    "bad_key": "Incorrect API key provided: {}. You can find your API key at "
    "https://platform.openai.com/account/api-keys.",
    "rate_limited": "Rate limit reached on {} per min. Please try again later.",
    "server_error": "The server had an error while processing your request. Sorry about that!",
    "overloaded": "The engine is currently overloaded, please try again later.",
}


def refusal(refused: Refused, call: Call, models: Mapping[str, Model]) -> Response:
    family = _family(call, models)
    status, kind, code = TABLES[family][refused.kind]
    message = MESSAGES.get(refused.kind, "{}").format(refused.message)
    headers = {"x-request-id": f"req_{call.content[:32]}"}
    if refused.wait_s is not None:
        headers["retry-after"] = f"{refused.wait_s:g}"
    error: dict[str, Any] = {"code": code, "message": message}
    if family == "openai":
        kind = refused.message if refused.kind == "rate_limited" else kind
        error |= {"code": refused.code or code, "type": kind, "param": refused.param}
    elif family == "dashscope":
        prefix = "<400> InternalError.Algo.InvalidParameter: " if status == 400 else ""
        error |= {"message": prefix + message, "type": kind, "param": None}
    elif family == "ark":
        error |= {"message": f"{message} Request id: {call.content[:32]}", "type": kind, "param": refused.param or ""}
    own = {"request_id": call.content[:32]} if family in ("dashscope", "glm") else {}
    return json_response(status, {"error": error, **own}, headers)


def _family(call: Call, models: Mapping[str, Model]) -> str:
    """Whose endpoint the call was for, as far as its body tells."""
    try:
        family = models[json.loads(call.body)["model"]].family
    except (ValueError, KeyError, TypeError):
        return "openai"
    return family if family in TABLES else "openai"
