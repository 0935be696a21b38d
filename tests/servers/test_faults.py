"""Every scripted fault, in every wire format."""

import http.client
import json
import socket
import time

import pytest

from servers import FAULTS, ProtocolServer, faulty
from servers.calling import PROVIDERS, chat, good, send, words

LIMITED = {"429": 429, "429_no_header": 429, "500": 500, "529": {"anthropic": 529}, "html_error": 502}
CUT = ("length", "max_tokens", "MAX_TOKENS")
REFUSED = ("refusal", "SAFETY", "content_filtered")


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("fault", ["429", "429_no_header", "500", "529", "html_error"])
def test_calls_that_are_not_served_are_not_charged(provider, fault):
    with ProtocolServer(script=[fault]) as server:
        got = send(server.url, good(provider))
        status = LIMITED[fault]
        assert got.status == (status.get(provider, 503) if isinstance(status, dict) else status)
        assert not server.accepted
        waits = "retry-after" in got.headers or b"RetryInfo" in got.raw
        assert waits == (fault == "429" and provider != "bedrock"), "a throttled call to Bedrock is not told how long"
        assert got.body is None if fault == "html_error" else got.body is not None
        assert send(server.url, good(provider)).status == 200, "the script is at its end"


def test_how_long_to_wait_may_be_set():
    with ProtocolServer(script=["429:0.25"]) as server:
        assert send(server.url, good("openai")).headers["retry-after"] == "0.25"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_reset_in_the_middle_of_the_reply(provider):
    with ProtocolServer(script=["reset"]) as server:
        with pytest.raises(ConnectionResetError):
            send(server.url, good(provider))
        assert sum(server.accepted.values()) == 1, "the provider charges what the client did not get"
        assert server.requests[0].status is None


def test_slow_and_never():
    with ProtocolServer(script=["slow:0.2", "hang"]) as server:
        started = time.monotonic()
        assert send(server.url, good("openai")).status == 200
        assert time.monotonic() - started > 0.2
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=0.2)
        connection.request("POST", "/v1/chat/completions", json.dumps(chat().body), chat().headers)
        with pytest.raises(socket.timeout):
            connection.getresponse()
        connection.close()
        assert sum(server.accepted.values()) == 2


@pytest.mark.parametrize("provider", PROVIDERS)
def test_words_that_are_no_judgement(provider):
    kinds = FAULTS[FAULTS.index("empty") :]
    with ProtocolServer(script=kinds) as server:
        got = {kind: words(provider, send(server.url, good(provider))) for kind in kinds}
        sound = json.loads(words(provider, send(server.url, good(provider)))[0])
        assert server.answered(200) == len(kinds) + 1 == sum(server.accepted.values())
    assert got["empty"][0] == ""
    assert got["refusal"][0] == ""
    assert got["refusal"][1] in REFUSED
    assert got["truncated"][1] in CUT
    assert got["whitespace_loop"][1] in CUT
    assert got["whitespace_loop"][0].endswith(" " * 2000)
    assert got["prose"][0].startswith("Here is my judgement")
    for kind in ("truncated", "whitespace_loop", "prose"):
        with pytest.raises(ValueError, match=r"Expecting|Unterminated|char"):
            json.loads(got[kind][0])
    assert isinstance(json.loads(got["wrong_types"][0])["VC"]["score"], str)
    assert json.loads(got["out_of_range"][0])["VC"]["score"] == 11
    assert set(json.loads(got["extra_keys"][0])) - set(sound) == {"overall"}
    if provider != "bedrock":  # the arguments of a tool are an object by then: of two equal keys one is left
        pairs = json.loads(got["duplicate_keys"][0], object_pairs_hook=list)
        assert len(pairs) == len(dict(pairs)) + 1


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_body_that_is_no_json(provider):
    with ProtocolServer(script=["not_json_200"]) as server:
        got = send(server.url, good(provider))
        assert got.status == 200
        with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
            json.loads(got.raw)


@pytest.mark.parametrize(
    ("model", "reason"),
    [("glm-4.6v", "sensitive"), ("doubao-seed-2-0-pro", "content_filter"), ("gpt-4.1", "content_filter")],
)
def test_refusals_without_structured_outputs(model, reason):
    with ProtocolServer(script=["refusal"]) as server:
        assert words("openai", send(server.url, chat(model)))[1] == reason


def test_faulty_depends_on_content_and_on_how_often_it_came():
    def statuses(order):
        with ProtocolServer(script=faulty(0.5, 3, ["500", "429"])) as server:
            return {n: [send(server.url, chat(seed=n)).status for _ in range(3)] for n in order}

    first, second = statuses(range(12)), statuses(reversed(range(12)))
    flat = [status for times in first.values() for status in times]
    assert first == second
    assert 8 < flat.count(200) < 28
    assert {200, 429, 500} == set(flat)
    assert any(times[0] != 200 and times[-1] == 200 for times in first.values())


def test_a_script_that_names_no_fault_is_an_error_of_the_test():
    server = ProtocolServer(script=["flood"])
    server.__enter__()
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        send(server.url, good("openai"))
    with pytest.raises(ValueError, match="'flood' is no fault"):
        server.__exit__(None, None, None)
