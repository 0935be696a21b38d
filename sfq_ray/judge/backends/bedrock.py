"""Converse of Amazon Bedrock, with replies held to their schema as the input of one forced tool.

boto3 has no asyncio; its calls wait in threads. Source: AWS, Converse API reference; Amazon Nova, tool use.
"""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sfq_ray.config import ConfigError, Judge
from sfq_ray.judge.backends import Reply, Usage
from sfq_ray.judge.backends.provider import decoding, failure, image_of, no_answer, sdk
from sfq_ray.judge.calls import Request
from sfq_ray.judge.capabilities import Model
from sfq_ray.judge.dialects import compile_schema
from sfq_ray.judge.errors import CallError

TOOL = "judgement"


class BedrockBackend:
    name = "bedrock"
    reads_measurements = False

    def __init__(self, model: Model, settings: Judge) -> None:
        self.record = model
        self.model = model.model
        self.params = decoding(model, settings)
        self.errors = sdk("botocore.exceptions", "bedrock")
        config = sdk("botocore.config", "bedrock").Config(
            retries={"total_max_attempts": 1}, read_timeout=settings.deadline_s, connect_timeout=30,
            max_pool_connections=settings.calls_in_flight,
        )  # fmt: skip
        try:
            session = sdk("boto3", "bedrock").session.Session()
            self.client = session.client("bedrock-runtime", endpoint_url=model.base_url, config=config)
        except self.errors.BotoCoreError as error:
            raise ConfigError(
                f"{model.name}: {error}; boto3 reads AWS_REGION and the account from its own settings"
            ) from None
        self.threads = ThreadPoolExecutor(settings.calls_in_flight, "bedrock")

    async def complete(self, request: Request) -> Reply:
        sent = image_of(request, self.record)
        content: list[dict[str, Any]] = [{"text": request.user}]
        if sent is not None:
            content.append({"image": {"format": "png", "source": {"bytes": sent.data}}})
        options = self._options(request.stage) | {
            "modelId": self.model,
            "system": [{"text": request.system}],
            "messages": [{"role": "user", "content": content}],
        }
        begin = time.monotonic()
        try:
            answer = await asyncio.get_running_loop().run_in_executor(
                self.threads, lambda: self.client.converse(**options)
            )
        except self.errors.ClientError as error:
            meta = error.response.get("ResponseMetadata", {})
            said = error.response.get("Error", {}).get("Message", "")
            raise failure(meta.get("HTTPStatusCode"), said, meta.get("HTTPHeaders", {}), self.record) from None
        except (self.errors.ReadTimeoutError, self.errors.ConnectTimeoutError) as error:
            raise no_answer("timeout", error, self.record) from None
        except self.errors.NoCredentialsError:
            raise CallError(
                "auth", "AWS credentials are missing; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            ) from None
        except self.errors.BotoCoreError as error:
            raise no_answer("unavailable", error, self.record) from None
        return self._reply(answer, sent, time.monotonic() - begin)

    def _options(self, stage: str) -> dict[str, Any]:
        inference: dict[str, Any] = {"maxTokens": self.params["max_output_tokens"]}
        if "temperature" in self.params:
            inference["temperature"] = self.params["temperature"]
        options: dict[str, Any] = {"inferenceConfig": inference}
        schema = compile_schema(self.record.dialect, stage)
        if schema is not None:
            spec = {"name": TOOL, "description": "Gives the judgement.", "inputSchema": {"json": schema}}
            options["toolConfig"] = {"tools": [{"toolSpec": spec}], "toolChoice": {"tool": {"name": TOOL}}}
        if self.record.extra:
            options["additionalModelRequestFields"] = dict(self.record.extra)
        return options

    def _reply(self, answer: dict[str, Any], sent: Any, latency_s: float) -> Reply:
        blocks = answer.get("output", {}).get("message", {}).get("content")
        if not isinstance(blocks, list):
            raise failure(None, "the answer has no content", {}, self.record)
        inputs = [block["toolUse"]["input"] for block in blocks if "toolUse" in block]
        text = json.dumps(inputs[0], ensure_ascii=False) if inputs else "".join(b.get("text", "") for b in blocks)
        counts = answer.get("usage") or {}
        usage = Usage(counts.get("inputTokens"), counts.get("outputTokens"), counts.get("cacheReadInputTokens"))
        request_id = answer.get("ResponseMetadata", {}).get("RequestId")
        return Reply(text, answer.get("stopReason", ""), usage, latency_s, request_id, None, sent)
