"""generateContent of the Gemini API, with replies held to their schema by responseSchema.

Source: Gemini API reference, models.generateContent; Structured output.
"""

from __future__ import annotations

import re
import time
from typing import Any

from sfq_ray.config import Judge
from sfq_ray.judge.backends import Reply, Usage
from sfq_ray.judge.backends.provider import decoding, failure, image_of, key_of, no_answer, sdk
from sfq_ray.judge.calls import Request
from sfq_ray.judge.capabilities import Model
from sfq_ray.judge.dialects import compile_schema

RETRY_DELAY = re.compile(r"retryDelay\W+([\d.]+)s")  # of google.rpc.RetryInfo; there is no Retry-After


class GeminiBackend:
    name = "gemini"
    reads_measurements = False

    def __init__(self, model: Model, settings: Judge) -> None:
        self.record = model
        self.model = model.model
        self.params = decoding(model, settings)
        self.genai = sdk("google.genai", "gemini")
        self.errors = sdk("google.genai.errors", "gemini")
        self.types = sdk("google.genai.types", "gemini")
        options = self.types.HttpOptions(
            api_version="v1beta", base_url=model.base_url, timeout=int(settings.deadline_s * 1000)
        )
        self.client = self.genai.Client(api_key=key_of(model), http_options=options)

    async def complete(self, request: Request) -> Reply:
        sent = image_of(request, self.record)
        parts = [self.types.Part.from_text(text=request.user)]
        if sent is not None:
            parts.append(self.types.Part.from_bytes(data=sent.data, mime_type=sent.media_type))
        begin = time.monotonic()
        try:
            answer = await self.client.aio.models.generate_content(
                model=self.model,
                contents=[self.types.Content(role="user", parts=parts)],
                config=self.types.GenerateContentConfig(
                    system_instruction=request.system, **self._options(request.stage)
                ),
            )
        except self.errors.APIError as error:
            delay = RETRY_DELAY.search(str(error.details))
            headers = {"retry-after": delay.group(1)} if delay else {}
            raise failure(error.code, str(error.message), headers, self.record) from None
        except Exception as error:  # noqa: BLE001 - the SDK lets the errors of its HTTP clients and of json through
            kind = "timeout" if "timeout" in type(error).__name__.lower() else "unavailable"
            raise no_answer(kind, error, self.record) from None
        return self._reply(answer, sent, time.monotonic() - begin)

    def _options(self, stage: str) -> dict[str, Any]:
        options: dict[str, Any] = {"max_output_tokens": self.params["max_output_tokens"]}
        schema = compile_schema(self.record.dialect, stage)
        if schema is not None:
            options |= {
                "response_mime_type": "application/json",
                "response_schema": self.types.Schema.model_validate(schema),
            }
        if "temperature" in self.params:
            options["temperature"] = self.params["temperature"]
        options |= self.params.get("thinking", {})
        if self.record.extra:
            options["http_options"] = self.types.HttpOptions(extra_body=dict(self.record.extra))
        return options

    def _reply(self, answer: Any, sent: Any, latency_s: float) -> Reply:
        blocked = getattr(answer.prompt_feedback, "block_reason", None)
        candidate = answer.candidates[0] if answer.candidates else None
        if candidate is None and blocked is None:
            raise failure(None, "the answer has no candidates", {}, self.record)
        parts = (candidate.content.parts if candidate is not None and candidate.content else None) or []
        text = "".join(part.text for part in parts if part.text and not part.thought)
        reason = "SAFETY" if candidate is None else getattr(candidate.finish_reason, "value", None) or ""
        usage = _usage(answer.usage_metadata)
        return Reply(text, reason, usage, latency_s, answer.response_id, answer.model_version, sent)


def _usage(usage: Any) -> Usage | None:
    """Gemini counts thinking apart from the candidates; here it is within the output."""
    if usage is None:
        return None
    thoughts = usage.thoughts_token_count or 0
    output = None if usage.candidates_token_count is None else usage.candidates_token_count + thoughts
    return Usage(usage.prompt_token_count, output, usage.cached_content_token_count or 0, thoughts)
