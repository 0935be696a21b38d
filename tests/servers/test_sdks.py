"""The providers' own clients take the server for their provider. Each test runs where its client is installed."""

import base64
import json

import pytest

from servers import ProtocolServer
from servers.calling import (
    PROMPT,
    SCHEMA,
    SYSTEM,
    anthropic_format,
    anthropic_tool,
    bedrock_tool,
    gemini_schema,
    image,
    strict,
)

SCRIPT = [None, "429", "500", "529", "refusal", "empty", "reset", "not_json_200", "html_error"]


def scripted():
    return ProtocolServer(script=SCRIPT)


def outcomes(call):
    """What `call` returns or raises, for every fault of SCRIPT after the first."""
    found = []
    for _ in SCRIPT[1:]:
        try:
            found.append(call())
        except Exception as raised:  # noqa: BLE001 - clients pass on errors of the libraries below them
            found.append(raised)
    return found


def test_openai():
    openai = pytest.importorskip("openai")
    with scripted() as server, openai.OpenAI(base_url=f"{server.url}/v1", api_key="key-1", max_retries=0) as client:
        url = {"url": f"data:image/png;base64,{image()}", "detail": "high"}
        content = [{"type": "text", "text": PROMPT}, {"type": "image_url", "image_url": url}]
        talk = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": content}]

        def call(**fields):
            asked = {"model": "gpt-4.1", "messages": talk, "response_format": strict(), "temperature": 0} | fields
            return client.chat.completions.create(**asked)

        first = call(logprobs=True, top_logprobs=3)
        assert set(json.loads(first.choices[0].message.content)) == set(SCHEMA["properties"])
        assert first.choices[0].logprobs.content[0].top_logprobs[0].logprob < 0
        assert first.usage.total_tokens == first.usage.prompt_tokens + first.usage.completion_tokens
        limited, failed, overloaded, refused, empty, *broken = outcomes(call)
        assert isinstance(limited, openai.RateLimitError)
        assert limited.code == "rate_limit_exceeded"
        assert [failed.status_code, overloaded.status_code, broken[2].status_code] == [500, 503, 502]
        assert refused.choices[0].message.refusal
        assert empty.choices[0].message.content == ""
        assert isinstance(broken[0], openai.APIConnectionError)
        with pytest.raises(openai.BadRequestError, match="Unknown parameter"):
            call(extra_body={"enable_thinking": False})
        qwen = call(
            model="qwen3-vl-plus", response_format={"type": "json_object"}, extra_body={"enable_thinking": False}
        )
        assert json.loads(qwen.choices[0].message.content)
        with pytest.raises(openai.AuthenticationError):
            call(extra_headers={"authorization": "Bearer wrong"})


def test_anthropic():
    anthropic = pytest.importorskip("anthropic")
    with scripted() as server, anthropic.Anthropic(base_url=server.url, api_key="key-1", max_retries=0) as client:
        source = {"type": "base64", "media_type": "image/png", "data": image()}
        talk = [{"role": "user", "content": [{"type": "text", "text": PROMPT}, {"type": "image", "source": source}]}]

        def call(**fields):
            asked = {"model": "claude-opus-4-8", "max_tokens": 900, "system": SYSTEM, "messages": talk} | fields
            return client.messages.create(**asked)

        first = call(output_config=anthropic_format(), thinking={"type": "adaptive"})
        assert [block.type for block in first.content] == ["thinking", "text"]
        assert set(json.loads(first.content[1].text)) == set(SCHEMA["properties"])
        limited, failed, overloaded, refused, empty, *broken = outcomes(call)
        assert isinstance(limited, anthropic.RateLimitError)
        assert limited.response.headers["retry-after"] == "1"
        assert [failed.status_code, overloaded.status_code, broken[2].status_code] == [500, 529, 502]
        assert (refused.stop_reason, refused.stop_details.type, refused.content) == ("refusal", "refusal", [])
        assert (empty.stop_reason, empty.content) == ("end_turn", [])
        assert isinstance(broken[0], anthropic.APIConnectionError)
        tool = call(model="claude-sonnet-4-6", **anthropic_tool())
        assert (tool.stop_reason, tool.content[0].name) == ("tool_use", "reply")
        with pytest.raises(anthropic.BadRequestError, match="`temperature` is deprecated"):
            call(extra_body={"temperature": 0})


def test_gemini():
    genai = pytest.importorskip("google.genai")
    types, errors = genai.types, genai.errors
    with scripted() as server:
        client = genai.Client(api_key="key-1", http_options=types.HttpOptions(base_url=server.url))
        picture = types.Part.from_bytes(data=base64.b64decode(image()), mime_type="image/png")

        def call(model="gemini-2.5-flash", **config):
            settings = {"system_instruction": SYSTEM, "response_mime_type": "application/json", "temperature": 0}
            return client.models.generate_content(model=model, contents=[PROMPT, picture], config=settings | config)

        first = call(response_schema=gemini_schema(), thinking_config={"thinking_budget": 0})
        assert set(json.loads(first.text)) == set(SCHEMA["properties"])
        assert first.usage_metadata.total_token_count > 0
        assert first.usage_metadata.thoughts_token_count is None
        limited, failed, overloaded, refused, empty, *broken = outcomes(call)
        assert (limited.code, limited.status) == (429, "RESOURCE_EXHAUSTED")
        assert limited.details["error"]["details"][0]["retryDelay"] == "1.000000000s"
        assert [failed.code, overloaded.code] == [500, 503]
        assert refused.candidates[0].finish_reason == types.FinishReason.SAFETY
        assert not refused.text
        assert not empty.text
        assert all(isinstance(error, Exception) for error in broken)
        assert call(response_json_schema={"type": "object", "properties": {"a": {"type": "integer"}}}).parsed["a"]
        with pytest.raises(errors.ClientError, match="additionalProperties"):
            call(response_json_schema=SCHEMA)
        with pytest.raises(errors.ClientError, match="only works in thinking mode"):
            call("gemini-3-pro", thinking_config={"thinking_budget": 0})


def test_bedrock():
    boto3 = pytest.importorskip("boto3")
    exceptions = pytest.importorskip("botocore.exceptions")
    config = pytest.importorskip("botocore.config").Config(retries={"total_max_attempts": 1}, read_timeout=5)
    with scripted() as server:
        client = boto3.client(
            "bedrock-runtime", endpoint_url=server.url, region_name="us-east-1", config=config,
            aws_access_key_id="key-1", aws_secret_access_key="secret",
        )  # fmt: skip
        picture = {"image": {"format": "png", "source": {"bytes": base64.b64decode(image())}}}
        talk = [{"role": "user", "content": [{"text": PROMPT}, picture]}]

        def call(**fields):
            asked = {"modelId": "amazon.nova-pro-v1:0", "messages": talk, "toolConfig": bedrock_tool()} | fields
            return client.converse(**asked)

        first = call(inferenceConfig={"maxTokens": 900, "temperature": 0})
        assert first["stopReason"] == "tool_use"
        block = first["output"]["message"]["content"][0]["toolUse"]
        assert set(block["input"]) == set(SCHEMA["properties"])
        limited, failed, overloaded, refused, empty, *broken = outcomes(call)
        codes = [error.response["Error"]["Code"] for error in (limited, failed, overloaded)]
        assert codes == ["ThrottlingException", "InternalServerException", "ServiceUnavailableException"]
        assert refused["stopReason"] == "content_filtered"
        assert empty["output"]["message"]["content"] == []
        assert [isinstance(end, Exception) for end in broken] == [True, False, True]
        assert "output" not in broken[1], "this client returns a dict without an answer where the body is no JSON"
        with pytest.raises(exceptions.ClientError, match="provided model identifier is invalid"):
            call(modelId="gpt-4.1")
        assert server.requests[0].key == "key-1"
