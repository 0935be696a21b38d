"""What the backends of models share: SDKs, keys, decoding, images, and what an HTTP status says of a failed call."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib import import_module
from types import ModuleType
from typing import Any

from sfq_ray.config import Judge, hidden, secret
from sfq_ray.errors import FatalError
from sfq_ray.judge.calls import Request
from sfq_ray.judge.capabilities import Model
from sfq_ray.judge.errors import CallError
from sfq_ray.judge.images import Sent, fit
from sfq_ray.judge.thinking import thinking_of

MAX_MESSAGE = 300  # characters of what a provider says
IMAGE_WORDS = re.compile(r"image|pixel|media", re.IGNORECASE)
NO_CREDIT = re.compile(
    r"insufficient_quota|credit balance|arrearage|good standing|insufficient balance|\b1113\b", re.IGNORECASE
)
NO_CONNECTION = re.compile(r"ConnectError|ConnectTimeout|ClientConnector|EndpointConnection|gaierror|PoolTimeout")
"""Names of the errors by which httpx, aiohttp and botocore say that nothing was sent."""
KEYS = re.compile(r"\b(?:sk|key|AKIA|AIza)[\w*.\-]{8,}")


def sdk(module: str, extra: str) -> ModuleType:
    """The provider's SDK. Raises FatalError that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise FatalError(f"{module} is not installed; run: pip install 'sfq_ray[{extra}]'") from error


def key_of(model: Model) -> str:
    """The key of the model's account; a word that is no key where none is needed. Raises ConfigError."""
    return secret(model.key_env) if model.key_env else "none"


def decoding(model: Model, settings: Judge) -> dict[str, Any]:
    """What determines a reply besides the messages: part of every request id."""
    params: dict[str, Any] = {
        "dialect": model.dialect,
        "max_output_tokens": model.output_tokens(settings),
        "image": [model.max_image_side_px, model.max_image_bytes],
        "extra": dict(model.extra),
    }
    if model.sampling and settings.temperature is not None:
        params["temperature"] = settings.temperature
    thinking = thinking_of(model, settings).fields
    if thinking:  # without it the ids of requests stay what they were before there was the setting
        params["thinking"] = dict(thinking)
    if model.answering:
        params["engine"] = model.answering
    return params


def image_of(request: Request, model: Model) -> Sent | None:
    """The figure within the model's limits. Raises CallError image_rejected."""
    if request.image is None:
        return None
    return fit(request.image, model.max_image_side_px, model.max_image_bytes)


def data_url(image: Sent) -> str:
    return f"data:{image.media_type};base64,{base64.b64encode(image.data).decode('ascii')}"


def failure(status: int | None, text: str, headers: Mapping[str, str], model: Model) -> CallError:
    """The class of a failed call by its HTTP status (None: no answer that says one), with a message without a key."""
    said = f"{f'HTTP {status}: ' if status else ''}{clean(text, model)}"
    account = model.key_env or "the account"
    wait = retry_after_s(headers)
    if status == 402 or (status in (400, 403, 429) and NO_CREDIT.search(text)):
        return CallError("auth", f"HTTP {status}: {account} has no credit left")
    if status in (401, 403) or (status == 400 and "api key" in text.lower()):
        return CallError("auth", f"HTTP {status}: {account} was refused for {model.name}")
    if status == 404:
        return CallError(
            "auth", f"HTTP 404: there is no model {model.model!r} at this address, or not for this account"
        )
    if status == 429:
        return CallError("rate_limited", said, wait)
    if status in (408, 504):
        return CallError("timeout", said, wait, maybe_paid=True)
    if status is None:
        return CallError("unavailable", said, wait, maybe_paid=True)
    if status >= 500 or status in (409, 424, 499):
        return CallError("unavailable", said, wait)
    return CallError("image_rejected" if IMAGE_WORDS.search(text) else "bad_request", said)


@contextmanager
def classed(sdk: ModuleType, model: Model) -> Iterator[None]:
    """Errors of the SDKs of OpenAI and Anthropic, which are made alike, as CallError."""
    try:
        yield
    except sdk.APIStatusError as error:
        raise failure(error.status_code, error.message, error.response.headers, model) from None
    except sdk.APITimeoutError as error:
        raise no_answer("timeout", error, model) from None
    except sdk.APIError as error:
        raise no_answer("unavailable", error, model) from None
    except ValueError as error:  # a body that is no JSON
        raise failure(None, f"the answer is no JSON: {error}", {}, model) from None


def no_answer(kind: str, error: BaseException, model: Model) -> CallError:
    """The failure of a call that no answer came back for; it cost nothing where there was no connection."""
    sent = not any(NO_CONNECTION.match(type(cause).__name__) for cause in _causes(error))
    said = "no reply in time" if kind == "timeout" else f"{type(error).__name__}: {clean(str(error), model)}"
    return CallError(kind, said, maybe_paid=sent)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Retry-After in seconds, from a number or date (RFC 9110, 10.2.3), or retry-after-ms; None without a sound one."""
    try:
        if "retry-after-ms" in headers:
            wait = max(0.0, float(headers["retry-after-ms"]) / 1000)
            return wait if math.isfinite(wait) else None
        value = headers.get("retry-after") or headers.get("Retry-After")
        if not value:
            return None
        if value.replace(".", "", 1).isdigit():
            return float(value)
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def clean(text: str, model: Model) -> str:
    """What a provider or its SDK said, short and without the key."""
    plain = KEYS.sub("***", " ".join(hidden(text, model.key_env).split()))
    return plain[:MAX_MESSAGE]
