"""Replies: what is taken, and the class of everything that is not."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import good

from sfq_ray.judge.backends import Reply
from sfq_ray.judge.errors import FAILURES, CallError
from sfq_ray.judge.parse import parse
from sfq_ray.judge.schemas import REPLIES

ALL = ["VC", "SL", "CC", "CTX", "MR"]


def failure(stage, text, finish="stop", available=ALL):
    with pytest.raises(CallError) as caught:
        parse(stage, Reply(text, finish), available)
    return caught.value.kind


@pytest.mark.parametrize("stage", list(REPLIES))
def test_a_good_reply_of_every_stage_is_taken(stage):
    reply = good(stage, ALL)
    assert parse(stage, Reply(json.dumps(reply), "stop"), ALL).model_dump(mode="json") == reply


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "```\n{}\n```", "\n ```JSON\n{}```\n"])
def test_one_fence_around_the_object_is_stripped(fence):
    text = json.dumps(good("direct", ALL))
    assert parse("direct", Reply(fence.replace("{}", text), "stop"), ALL)


def test_control_characters_in_strings_are_no_failure():
    reply = good("direct", ALL)
    text = json.dumps(reply).replace('"s"', '"a\tb\x01"')
    assert parse("direct", Reply(text, "stop"), ALL).summary == "a\tb\x01"


@pytest.mark.parametrize(
    ("text", "finish", "kind"),
    [
        ("", "stop", "empty"),
        ("  \n", "stop", "empty"),
        ('{"VC": {"score": 7', "length", "truncated"),
        ('{"VC":' + " " * 500, "length", "whitespace_loop"),
        ('{"VC":' + "\n" * 500, "stop", "whitespace_loop"),
        ("I cannot judge this image.", "refusal", "refusal"),
        ("", "content_filter", "refusal"),
        ("The score is 7 of 10.", "stop", "invalid_json"),
        ('Here it is: {"VC": 7}', "stop", "invalid_json"),
        ('{"VC": NaN}', "stop", "invalid_json"),
        ('{"VC": 1, "VC": 2}', "stop", "invalid_json"),
        ("[" * 100_000, "stop", "invalid_json"),
        ("7", "stop", "schema_violation"),
        ("null", "stop", "schema_violation"),
        ("[]", "stop", "schema_violation"),
        ("{}", "stop", "schema_violation"),
    ],
)
def test_failures_have_their_class(text, finish, kind):
    assert failure("direct", text, finish) == kind


@pytest.mark.parametrize("score", [0, 11, -1, 7.5, "7", True, None, [7]])
def test_a_score_outside_of_the_scale_is_no_score(score):
    reply = good("direct", ALL)
    reply["VC"]["score"] = score
    assert failure("direct", json.dumps(reply)) == "schema_violation"


def test_extra_and_missing_keys_are_refused():
    assert failure("direct", json.dumps(good("direct", ALL) | {"overall": 7})) == "schema_violation"
    short = good("direct", ALL)
    del short["MR"]
    assert failure("direct", json.dumps(short)) == "schema_violation"


@pytest.mark.parametrize("stage", ["direct", "sidecar", "fusion"])
@pytest.mark.parametrize("dimension", ["CC", "CTX"])
def test_gated_dimensions_must_be_null_and_others_must_not(stage, dimension):
    on = [d for d in ALL if d != dimension]
    assert getattr(parse(stage, Reply(json.dumps(good(stage, on)), "stop"), on), dimension) is None
    assert failure(stage, json.dumps(good(stage, ALL)), available=on) == "schema_violation"
    assert failure(stage, json.dumps(good(stage, on)), available=ALL) == "schema_violation"


def test_the_text_of_a_failure_does_not_repeat_the_reply():
    reply = good("direct", ALL) | {"hostile": "<script>" * 50}
    with pytest.raises(CallError) as caught:
        parse("direct", Reply(json.dumps(reply), "stop"), ALL)
    assert "<script>" not in str(caught.value)


@given(st.text(max_size=300), st.sampled_from(list(REPLIES)), st.sampled_from(["stop", "length", "", "STOP"]))
def test_no_text_at_all_becomes_a_score(text, stage, finish):
    assert failure(stage, text, finish) in FAILURES
