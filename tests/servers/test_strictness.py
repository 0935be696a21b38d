"""What providers refuse, each with its own status and in its own words."""

import base64
import copy
import json
from dataclasses import replace

import pytest

from servers import MODELS, ProtocolServer
from servers.calling import (
    JUDGEMENT,
    PROVIDERS,
    SCHEMA,
    anthropic_format,
    anthropic_tool,
    bedrock_tool,
    chat,
    converse,
    gemini_schema,
    generate,
    good,
    image,
    messages,
    send,
    strict,
    words,
)

JSON = {"type": "json_object"}
ADAPTIVE = {"type": "adaptive"}


@pytest.fixture(scope="module")
def server():
    with ProtocolServer() as running:
        yield running
    assert not [record for record in running.requests if record.status == 400 and record.usage]


def told(got):
    """The message of an error in any provider's shape."""
    error = got.body.get("error", got.body)
    return error["message"]


def with_keyword(**keywords):
    """SCHEMA with keywords added to the integer deep inside."""
    schema = copy.deepcopy(SCHEMA)
    schema["properties"]["VC"]["properties"]["score"] |= keywords
    return schema


def without(name):
    """SCHEMA without a keyword of the object VC."""
    schema = copy.deepcopy(SCHEMA)
    del schema["properties"]["VC"][name]
    return schema


REFERENCE = {**SCHEMA, "properties": SCHEMA["properties"] | {"VC": {"$ref": "#/$defs/J"}}, "$defs": {"J": JUDGEMENT}}
DANGLING = {**REFERENCE, "$defs": {}}
UNTYPED = {**SCHEMA, "properties": SCHEMA["properties"] | {"VC": {}}}
SHORT = {**SCHEMA, "required": ["VC"]}

INVALID = [
    # fields that are not the provider's
    (chat(bogus=1), "Unknown parameter: 'bogus'."),
    (chat(enable_thinking=False), "Unknown parameter: 'enable_thinking'."),
    (chat("qwen3-vl-plus", reasoning_effort="low"), "Unknown parameter: 'reasoning_effort'."),
    (messages(bogus=1), "bogus: Extra inputs are not permitted"),
    (messages(response_format=JSON), "response_format: Extra inputs are not permitted"),
    (generate(bogus=1), "Unknown name \"bogus\" at 'generation_config': Cannot find field."),
    (converse(bogus=1), "extraneous key [bogus] is not permitted"),
    (converse(inferenceConfig={"topK": 1}), "extraneous key [topK] is not permitted"),
    # fields of another type
    (chat(messages="hello"), "'messages'"),
    (chat(messages=[{"role": "user", "content": [{"type": "video"}]}]), "Invalid value: 'video'."),
    (messages(messages=[{"role": "user"}]), "Malformed request"),
    (messages(messages=[{"role": "system", "content": "x"}]), "Input should be 'user' or 'assistant'"),
    # schemas
    *((chat(response_format=strict(with_keyword(**{name: 1}))), f"'{name}' is not permitted.")
      for name in ("default", "minimum", "maximum", "minLength", "maxLength", "maxItems")),
    (chat(response_format=strict(without("additionalProperties"))), "'additionalProperties' is required to be supplied"),
    (chat(response_format=strict(SHORT)), "'required' is required to be supplied"),
    (chat(response_format=strict(DANGLING)), "reference to component"),
    (chat(response_format=strict(UNTYPED)), "schema must have a 'type' key."),
    (chat(response_format=strict({"type": "array", "items": JUDGEMENT})), "schema must be a JSON Schema of"),
    (chat(response_format={"type": "json_schema", "json_schema": {"schema": SCHEMA}}), "response_format.json_schema.name"),
    *((messages(output_config=anthropic_format(with_keyword(**{name: 1}))), f"property '{name}' is not supported")
      for name in ("minimum", "maximum", "maxLength", "maxItems")),
    (messages(output_config=anthropic_format(without("additionalProperties"))), "must be explicitly set to false"),
    (messages(output_config={"format": JSON}), "output_config.format.type"),
    *((generate(**{place: gemini_schema() | {name: 1}}), f'Unknown name "{name}"')
      for place in ("responseSchema", "responseJsonSchema")
      for name in ("additionalProperties", "$schema", "$ref", "title", "const", "exclusiveMinimum", "maxItems")),
    (generate(responseSchema=gemini_schema(with_keyword(type=["integer", "null"]))), "Proto field is not repeating"),
    (generate(responseSchema={"type": "object", "properties": {"a": {"type": "integer", "enum": [1]}}}), "(TYPE_STRING)"),
    (generate(responseJsonSchema={"type": "object", "properties": {"a": {"type": "integer", "nullable": True}}}), "nullable"),
    (generate(responseSchema=gemini_schema(), responseMimeType="text/plain"), "response_mime_type"),
    (converse(toolConfig=bedrock_tool(REFERENCE)), "is not supported: keyword $"),
    # JSON modes
    (chat("qwen3-vl-plus", prompt="Judge.", response_format=JSON), "must contain the word 'json'"),
    (chat("qwen3-vl-plus", response_format=JSON, enable_thinking=True), "Json mode response is not supported"),
    (chat("qwen3-vl-plus", response_format=strict()), "`json_schema` is not supported by this model"),
    (chat("doubao-seed-2-0-code", response_format=JSON), "`json_object` is not supported by this model"),
    # sampling and thinking
    (chat("gpt-5.2", temperature=0), "'temperature' is not supported with this model"),
    (chat("gpt-5.2", max_tokens=9), "Use 'max_completion_tokens' instead."),
    (chat(reasoning_effort="low"), "'reasoning_effort' is not supported with this model"),
    (chat(top_logprobs=3), "only allowed when 'logprobs' is enabled"),
    (chat("glm-5.3", thinking={"type": "disabled"}), "'thinking' is not supported with this model"),
    *((messages("claude-opus-4-8", **{name: 1}), f"`{name}` is deprecated for this model.")
      for name in ("temperature", "top_p", "top_k")),
    (messages("claude-opus-4-8", thinking={"type": "enabled", "budget_tokens": 1024}), "thinking.type.enabled"),
    (messages(thinking={"type": "enabled", "budget_tokens": 2000}), "`max_tokens` must be greater"),
    (messages(thinking=ADAPTIVE, temperature=0), "may only be set to 1 when thinking"),
    (messages(thinking=ADAPTIVE, **anthropic_tool()), "Thinking may not be enabled when tool_choice forces tool use."),
    (messages("claude-fable-5", **anthropic_tool()), "tool_choice.type: 'tool' is not supported"),
    (chat("gpt-5.2", reasoning_effort="off"), "Invalid value: 'off'."),
    (messages("claude-opus-4-8", output_config={"effort": "none"}), "output_config.effort: Input should be"),
    (generate(thinkingConfig={"thinkingLevel": "OFF"}), "thinking_config.thinking_level"),
    (generate(thinkingConfig={"thinkingLevel": "LOW", "thinkingBudget": 9}), "only one of thinking budget and"),
    (generate("gemini-3-pro", thinkingConfig={"thinkingBudget": 0}), "This model only works in thinking mode."),
    (converse(additionalModelRequestFields={"reasoningConfig": {"type": "enabled"}}), "reasoningConfig"),
]  # fmt: skip


@pytest.mark.parametrize(("sending", "message"), INVALID, ids=lambda value: value if isinstance(value, str) else "")
def test_what_the_provider_does_not_take_is_a_400(server, sending, message):
    got = send(server.url, sending)
    assert got.status == 400
    assert message in told(got)


TAKEN = [
    chat("gpt-5.2", reasoning_effort="none", temperature=0),
    chat(response_format=strict(REFERENCE)),
    chat(response_format=strict(with_keyword(type=["integer", "null"], enum=[1, None]))),
    chat("qwen3-vl-plus", response_format=JSON, enable_thinking=False, temperature=0, top_k=1),
    chat("glm-4.6v", response_format=JSON, thinking={"type": "disabled"}),
    chat("doubao-seed-2-0-pro", response_format=strict(), thinking={"type": "disabled"}),
    messages(output_config=anthropic_format() | {"effort": "low"}),
    messages(output_config=anthropic_format(REFERENCE), thinking=ADAPTIVE),
    messages(**anthropic_tool(), temperature=0),
    messages(**anthropic_tool(choice="auto"), thinking={"type": "enabled", "budget_tokens": 1024}),
    generate(responseJsonSchema={"type": "object", "properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}),
    generate(temperature=0, thinkingConfig={"thinkingBudget": 0}),
    converse(inferenceConfig={"temperature": 0, "maxTokens": 900}, toolConfig=bedrock_tool(choice="any")),
    converse(toolConfig=bedrock_tool(with_keyword(minimum=1, maximum=10), choice="auto")),
]  # fmt: skip


@pytest.mark.parametrize("sending", TAKEN, ids=lambda sending: sending.path)
def test_what_the_provider_takes_is_answered(server, sending):
    got = send(server.url, sending)
    assert got.status == 200, told(got)


KEYS = [
    # provider, header, status and code without a key, status and code with a wrong one
    ("openai", "authorization", "Bearer wrong", (401, None), (401, "invalid_api_key")),
    ("anthropic", "x-api-key", "wrong", (401, "authentication_error"), (401, "authentication_error")),
    ("gemini", "x-goog-api-key", "wrong", (403, "PERMISSION_DENIED"), (400, "INVALID_ARGUMENT")),
    ("bedrock", "authorization", "Bearer wrong", (403, "MissingAuthenticationTokenException"), (403, "UnrecognizedClientException")),
]  # fmt: skip
CODES = {
    "openai": lambda got: got.body["error"]["code"],
    "anthropic": lambda got: got.body["error"]["type"],
    "gemini": lambda got: got.body["error"]["status"],
    "bedrock": lambda got: got.headers["x-amzn-errortype"],
}


@pytest.mark.parametrize(("provider", "header", "wrong", "missing", "bad"), KEYS)
def test_without_a_good_key_nothing_is_served(server, provider, header, wrong, missing, bad):
    sending = good(provider)
    del sending.headers[header]
    for expected in (missing, bad):
        got = send(server.url, sending)
        assert (got.status, CODES[provider](got)) == expected
        sending.headers[header] = wrong
    if provider == "gemini":
        assert got.body["error"]["details"][0]["reason"] == "API_KEY_INVALID", "a wrong key is told from a bad request"


@pytest.mark.parametrize(
    ("model", "code"),
    [("glm-4.6v", "1000"), ("doubao-seed-2-0-pro", "AuthenticationError"), ("qwen3-vl-plus", "invalid_api_key")],
)
def test_providers_behind_chat_completions_have_codes_of_their_own(server, model, code):
    sending = chat(model)
    sending.headers["authorization"] = "Bearer wrong"
    got = send(server.url, sending)
    assert (got.status, got.body["error"]["code"]) == (401, code)


@pytest.mark.parametrize("make", [chat, messages, generate, converse])
def test_models_that_are_not_there(server, make):
    got = send(server.url, make("no-such-model"))
    assert got.status == (400 if make is converse else 404)


def test_anthropic_wants_its_version(server):
    sending = messages()
    del sending.headers["anthropic-version"]
    assert "anthropic-version: header is required" in told(send(server.url, sending))


def test_anthropic_takes_the_key_as_a_token_too(server):
    sending = messages()
    sending.headers["authorization"] = f"Bearer {sending.headers.pop('x-api-key')}"
    assert send(server.url, sending).status == 200


def test_gemini_takes_snake_case_and_url_safe_base64(server):
    schema = {"type": "OBJECT", "properties": {"risk_band": {"type": "STRING"}}, "property_ordering": ["risk_band"]}
    sending = generate(response_schema=schema, thinking_config={"thinking_budget": 0})
    data = sending.body["contents"][0]["parts"][1]["inlineData"]
    data["data"] = data["data"].replace("+", "-").replace("/", "_").rstrip("=")
    got = send(server.url, sending)
    assert got.status == 200
    assert list(json.loads(words("gemini", got)[0])) == ["risk_band"]


MAKERS = {"openai": chat, "anthropic": messages, "gemini": generate, "bedrock": converse}
PICTURES = {
    "too wide": image(8001, 2),
    "no base64": "%%%",
    "no image": base64.b64encode(b"GIF89a no image").decode(),
    "cut": image(300, 300)[:80],
}


@pytest.mark.parametrize("picture", list(PICTURES))
@pytest.mark.parametrize("provider", PROVIDERS)
def test_images_that_are_none_or_too_large(server, provider, picture):
    got = send(server.url, MAKERS[provider](picture=PICTURES[picture]))
    assert got.status == 400
    assert "image" in told(got).lower() or "base64" in told(got).lower()


def test_sizes_and_numbers_of_images():
    small = {name: replace(MODELS[name], max_image_bytes=90, max_images=2) for name in ("gpt-4.1", "claude-sonnet-4-6")}
    with ProtocolServer(models=small) as server:
        encoded = image()
        assert 67 < len(encoded) * 3 // 4 < 90 < len(encoded), "the limit lies between the file and its base64"
        assert send(server.url, chat()).status == 200
        assert "bytes > 90 bytes" in told(send(server.url, messages())), "Anthropic counts the base64 text"
        many = chat()
        many.body["messages"][1]["content"] *= 3
        assert "Too many images" in told(send(server.url, many))


def test_media_types_are_checked_where_the_provider_checks_them(server):
    jpeg = image(kind="JPEG")
    assert "appears to be a image/jpeg" in told(send(server.url, messages(picture=jpeg)))
    assert "does not match the specified image format" in told(send(server.url, converse(picture=jpeg)))
    assert send(server.url, chat(picture=jpeg)).status == 200
