"""Messages of Anthropic, with replies held to their schema by output_config.

Source: Anthropic API reference, Create a message; Structured outputs; Prompt caching.
"""

from __future__ import annotations

import base64
import time
from typing import Any

from sfq_ray.config import Judge
from sfq_ray.judge.backends import Reply, Usage
from sfq_ray.judge.backends.provider import classed, decoding, failure, image_of, key_of, sdk
from sfq_ray.judge.calls import Request
from sfq_ray.judge.capabilities import Model
from sfq_ray.judge.dialects import compile_schema


class AnthropicBackend:
    name = "anthropic"
    reads_measurements = False

    def __init__(self, model: Model, settings: Judge) -> None:
        self.record = model
        self.model = model.model
        self.params = decoding(model, settings)
        self.sdk = sdk("anthropic", "anthropic")
        self.client = self.sdk.AsyncAnthropic(
            api_key=key_of(model), base_url=model.base_url, max_retries=0, timeout=settings.deadline_s
        )

    async def complete(self, request: Request) -> Reply:
        sent = image_of(request, self.record)
        content: list[dict[str, Any]] = [{"type": "text", "text": request.user}]
        if sent is not None:
            data = base64.b64encode(sent.data).decode("ascii")
            content.append({"type": "image", "source": {"type": "base64", "media_type": sent.media_type, "data": data}})
        begin = time.monotonic()
        with classed(self.sdk, self.record):
            message = await self.client.messages.create(
                model=self.model,
                # the rubric is the same in every request: it is read from the provider's cache after the first
                system=[{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}],
                messages=[{"role": "user", "content": content}],
                **self._options(request.stage),
            )
        latency_s = time.monotonic() - begin
        if not isinstance(getattr(message, "content", None), list):
            raise failure(None, "the answer has no content", {}, self.record)
        text = "".join(block.text for block in message.content if block.type == "text")
        usage = _usage(message.usage)
        return Reply(text, message.stop_reason or "", usage, latency_s, message.id, message.model, sent)

    def _options(self, stage: str) -> dict[str, Any]:
        schema = compile_schema(self.record.dialect, stage)
        options: dict[str, Any] = {"max_tokens": self.params["max_output_tokens"]}
        if "temperature" in self.params:
            options["temperature"] = self.params["temperature"]
        options |= self.params.get("thinking", {})
        extra = dict(self.record.extra)
        # the SDK would put an output_config of `extra` in the place of the one with the schema
        output = options.get("output_config", {}) | extra.pop("output_config", {})
        if schema is not None:
            output = {"format": {"type": "json_schema", "schema": schema}} | output
        if output:
            options["output_config"] = output
        if extra:
            options["extra_body"] = extra
        return options


def _usage(usage: Any) -> Usage | None:
    """Anthropic counts what was read from and written to the cache apart from input_tokens; here it is within."""
    if usage is None:
        return None
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    return Usage(usage.input_tokens + read + written, usage.output_tokens, read)
