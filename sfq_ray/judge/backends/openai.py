"""Chat completions of OpenAI and of everything that speaks its protocol: DashScope, GLM, Ark, Mistral, a vLLM server.

Source: OpenAI API reference, Create chat completion; Structured Outputs guide.
"""

from __future__ import annotations

import time
from typing import Any

from sfq_ray.config import Judge
from sfq_ray.judge.backends import Reply, Usage
from sfq_ray.judge.backends.provider import classed, data_url, decoding, failure, image_of, key_of, sdk
from sfq_ray.judge.calls import Request
from sfq_ray.judge.capabilities import Model
from sfq_ray.judge.dialects import compile_schema
from sfq_ray.judge.expected import Token, expected_scores

TOP_LOGPROBS = 20  # the most that is given


class OpenAIBackend:
    name = "openai"
    reads_measurements = False

    def __init__(self, model: Model, settings: Judge) -> None:
        self.record = model
        self.model = model.model
        self.params = decoding(model, settings)
        self.sdk = sdk("openai", "openai")
        self.client = self.sdk.AsyncOpenAI(
            api_key=key_of(model), base_url=model.base_url, max_retries=0, timeout=settings.deadline_s
        )

    async def complete(self, request: Request) -> Reply:
        sent = image_of(request, self.record)
        content: list[dict[str, Any]] = [{"type": "text", "text": request.user}]
        if sent is not None:
            content.append({"type": "image_url", "image_url": {"url": data_url(sent)}})
        begin = time.monotonic()
        with classed(self.sdk, self.record):
            answer = await self.client.chat.completions.with_raw_response.create(
                model=self.model,
                messages=[
                    {"role": "system", "content": request.system},
                    {"role": "user", "content": content if sent is not None else request.user},
                ],
                **self._options(request),
            )
            completion = answer.parse()
        return self._reply(completion, sent, time.monotonic() - begin)

    def _options(self, request: Request) -> dict[str, Any]:
        schema = compile_schema(self.record.dialect, request.stage, request.evidence.get("available"))
        new = self.record.base_url is None  # OpenAI itself has renamed it for models that think
        options: dict[str, Any] = {("max_completion_tokens" if new else "max_tokens"): self.params["max_output_tokens"]}
        if "temperature" in self.params:
            options["temperature"] = self.params["temperature"]
        body: dict[str, Any] = {}  # as it stands on the wire: the SDK walks over all of a schema given by name
        if schema is not None:
            form = {"name": request.stage, "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        elif self.record.dialect == "json_object":
            body["response_format"] = {"type": "json_object"}
        if self.record.logprobs:
            options |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
        return options | {"extra_body": body | self.params.get("thinking", {}) | self.record.extra}

    def _reply(self, completion: Any, sent: Any, latency_s: float) -> Reply:
        choices = getattr(completion, "choices", None)
        if not choices:
            raise failure(None, "the answer has no choices", {}, self.record)
        choice = choices[0]
        text = choice.message.content or ""
        refused = getattr(choice.message, "refusal", None)
        return Reply(
            text,
            "refusal" if refused else choice.finish_reason or "",
            _usage(completion.usage),
            latency_s,
            completion.id,
            completion.model,
            sent,
            expected_scores(text, _tokens(choice.logprobs)),
        )


def _usage(usage: Any) -> Usage | None:
    if usage is None:
        return None
    inputs, outputs = usage.prompt_tokens_details, usage.completion_tokens_details
    return Usage(
        usage.prompt_tokens,
        usage.completion_tokens,
        None if inputs is None else inputs.cached_tokens,
        None if outputs is None else outputs.reasoning_tokens,
    )


def _tokens(logprobs: Any) -> tuple[Token, ...]:
    content = None if logprobs is None else logprobs.content
    return tuple(
        Token(token.token, {other.token: other.logprob for other in token.top_logprobs} | {token.token: token.logprob})
        for token in content or ()
    )
