"""Every hosted backend through its real SDK against the protocol server: good calls, faults, and what is recorded."""

from __future__ import annotations

import asyncio
import inspect
import json

import pytest
from hosted import ENVIRONMENT, models_file, served
from scripted import figures
from servers import ProtocolServer

from sfq_ray.config import ConfigError, Judge
from sfq_ray.judge.backends import load_backend
from sfq_ray.judge.backends.provider import failure, retry_after_s
from sfq_ray.judge.calls import direct_call, figure_of, language_call
from sfq_ray.judge.capabilities import load_models
from sfq_ray.judge.errors import CallError
from sfq_ray.judge.parse import parse

ONE_OF_EACH = ("gpt-5.6-sol", "qwen-vl-max", "glm-4.6v", "claude-opus-4.8", "gemini-3.5-flash", "nova-pro")
SETTINGS = Judge(deadline_s=3.0)
pytestmark = pytest.mark.usefixtures("keys")


async def once(model, figure, call=direct_call):
    backend = load_backend(model, SETTINGS)
    try:
        return await backend.complete(call(figure, backend))
    finally:
        if inspect.iscoroutinefunction(getattr(backend.client, "close", None)):
            await backend.client.close()


def complete(tmp_path, name, script=None, call=direct_call, **changes):
    """(reply or CallError, figure, server) of one call of the model `name`."""
    with ProtocolServer(models=served(), script=script) as server:
        model = load_models(models_file(tmp_path / "models.yaml", server.url, **changes))[name]
        figure = figure_of(figures({}).to_pylist()[0], SETTINGS)

        try:
            return asyncio.run(once(model, figure, call)), figure, server
        except CallError as error:
            return error, figure, server


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_call_is_answered_and_its_reply_is_valid(tmp_path, name):
    reply, figure, server = complete(tmp_path, name)
    assert not isinstance(reply, CallError), reply
    assert parse("direct", reply, figure.available).VC.score >= 1
    (record,) = server.requests
    assert record.status == 200
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (
        record.usage.prompt, record.usage.completion,
    ) or reply.usage.output_tokens >= 1  # fmt: skip
    assert reply.latency_s > 0
    assert (reply.sent.width, reply.sent.height, reply.sent.media_type) == (80, 60, "image/png")


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_the_language_call_has_no_picture_and_no_measurement_on_the_wire(tmp_path, name):
    reply, figure, server = complete(tmp_path, name, call=language_call)
    parse("language", reply, figure.available)
    body = server.requests[0].body
    assert b"image_url" not in body
    assert b"inlineData" not in body
    assert b"base64" not in body
    assert not any(feature.encode() in body for feature in figure.features)
    assert reply.sent is None


@pytest.mark.parametrize("name", ONE_OF_EACH)
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("429", "rate_limited"), ("429_no_header", "rate_limited"), ("500", "unavailable"), ("529", "unavailable"),
        ("html_error", "unavailable"), ("reset", "unavailable"), ("not_json_200", "unavailable"),
    ],
)  # fmt: skip
def test_a_fault_of_the_transport_is_classed(tmp_path, name, fault, kind):
    error, _, server = complete(tmp_path, name, script=lambda asked, seen: fault)
    assert isinstance(error, CallError), error
    assert error.kind == kind
    assert len(server.requests) == 1, "the SDK must not try again by itself"
    if fault == "429" and name != "nova-pro":  # Bedrock does not say how long to wait
        assert error.retry_after_s


SPOILT = {
    "empty": {"empty"},
    "truncated": {"truncated", "invalid_json"},
    "whitespace_loop": {"whitespace_loop", "truncated", "invalid_json", "schema_violation"},
    "prose": {"invalid_json"},
    "wrong_types": {"schema_violation"},
    "out_of_range": {"schema_violation"},
    "extra_keys": {"schema_violation"},
    "refusal": {"refusal", "empty"},
    "duplicate_keys": {"invalid_json"},
}
UNSEEN = {("nova-pro", "prose"), ("nova-pro", "duplicate_keys")}  # the input of a tool arrives parsed


@pytest.mark.parametrize(
    ("name", "fault"), [(name, fault) for name in ONE_OF_EACH for fault in SPOILT if (name, fault) not in UNSEEN]
)
def test_a_reply_that_is_no_judgement_is_classed_and_never_a_score(tmp_path, name, fault):
    kinds = SPOILT[fault]
    reply, figure, _ = complete(tmp_path, name, script=lambda asked, seen: fault)
    if isinstance(reply, CallError):
        assert reply.kind in kinds | {"unavailable"}
        return
    with pytest.raises(CallError) as raised:
        parse("direct", reply, figure.available)
    assert raised.value.kind in kinds


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_call_without_a_connection_cost_nothing_and_one_that_was_cut_off_may_have(tmp_path, name):
    model = load_models(models_file(tmp_path / "models.yaml", "http://127.0.0.1:9"))[name]  # nobody listens there
    with pytest.raises(CallError) as refused:
        asyncio.run(once(model, figure_of(figures({}).to_pylist()[0], SETTINGS)))
    assert (refused.value.kind, refused.value.maybe_paid) == ("unavailable", False)
    cut, _, _ = complete(tmp_path, name, lambda asked, seen: "reset")
    assert (cut.kind, cut.maybe_paid) == ("unavailable", True)


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_refused_key_stops_and_is_not_in_the_message(tmp_path, name, monkeypatch):
    for variable in ENVIRONMENT:
        if variable.endswith("KEY") or variable == "AWS_ACCESS_KEY_ID":
            monkeypatch.setenv(variable, "sk-planted-0123456789abcdef")
    error, _, _ = complete(tmp_path, name)
    assert (error.kind, error.permanent) == ("auth", False)
    assert "planted" not in str(error)


@pytest.mark.parametrize("name", [n for n in ONE_OF_EACH if n != "nova-pro"])
def test_a_missing_key_names_its_variable(tmp_path, name, monkeypatch):
    model = load_models()[name]
    monkeypatch.delenv(model.key_env)
    with pytest.raises(ConfigError, match=model.key_env):
        load_backend(model, SETTINGS)


@pytest.mark.parametrize("name", ["claude-opus-4.8", "gemini-3.5-flash", "gpt-5.6-sol", "nova-pro"])
def test_an_image_is_sent_within_the_limits_of_the_model(tmp_path, name):
    reply, _, _ = complete(tmp_path, name, max_image_side_px=40)
    assert (reply.sent.width, reply.sent.height) == (40, 30)


def test_log_probabilities_give_expected_scores_beside_the_score(tmp_path):
    reply, figure, _ = complete(tmp_path, "internvl3-78b")
    assert reply.expected == {}
    path = models_file(tmp_path / "more.yaml", "http://127.0.0.1:1")
    assert load_models(path)["internvl3-78b"].logprobs is False
    with ProtocolServer(models=served()) as server:
        record = load_models(models_file(path, server.url))["internvl3-78b"].model_copy(update={"logprobs": True})
        reply = asyncio.run(once(record, figure))
    scores = json.loads(reply.text)
    assert set(reply.expected) == {"VC", "SL", "CC", "CTX", "MR"}
    for dimension, expected in reply.expected.items():
        assert abs(expected - scores[dimension]["score"]) < 2
        assert 1 <= expected <= 10


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (400, "Invalid image: too many pixels", "image_rejected"), (400, "Unknown field", "bad_request"),
        (401, "no", "auth"), (403, "no", "auth"), (404, "no such model", "auth"), (408, "", "timeout"),
        (429, "insufficient_quota", "auth"), (429, "slow down", "rate_limited"), (500, "", "unavailable"),
        (529, "overloaded", "unavailable"), (None, "connection refused", "unavailable"),
        (400, "API key not valid. Please pass a valid API key.", "auth"),
    ],
)  # fmt: skip
def test_statuses(status, text, kind):
    error = failure(status, text, {}, load_models()["gpt-5.6-sol"])
    assert error.kind == kind


def test_an_account_without_a_key_of_its_own_is_not_called_none():
    model = load_models()["nova-pro"].model_copy(update={"key_env": None})
    assert "the account has no credit left" in str(failure(402, "", {}, model))


def test_messages_of_providers_lose_their_keys():
    error = failure(400, "bad header sk-proj-abcdef0123456789 in request", {}, load_models()["gpt-5.6-sol"])
    assert "abcdef" not in str(error)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2.0), ({"retry-after": "0.5"}, 0.5), ({"retry-after-ms": "250"}, 0.25), ({}, None),
        ({"retry-after": "soon"}, None), ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)  # fmt: skip
def test_retry_after(headers, seconds):
    assert retry_after_s(headers) == seconds
