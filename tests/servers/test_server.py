"""Good calls, what is counted, limits, and the server as a process."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from servers import Limits, ProtocolServer
from servers.calling import PROVIDERS, SYSTEM, chat, converse, generate, good, messages, send, strict, words
from sfq_ray.judge.backends import Reply
from sfq_ray.judge.parse import parse
from sfq_ray.judge.rendering import render
from sfq_ray.judge.schemas import REPLIES

CACHED = {
    "openai": lambda usage: usage["prompt_tokens_details"]["cached_tokens"],
    "anthropic": lambda usage: usage["cache_read_input_tokens"],
    "gemini": lambda usage: usage.get("cachedContentTokenCount", 0),
}


@pytest.fixture(scope="module")
def server():
    with ProtocolServer() as running:
        yield running


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_good_call_is_answered_in_the_form_of_the_schema(server, provider):
    got = send(server.url, good(provider))
    text, finish = words(provider, got)
    reply = json.loads(text)
    assert got.status == 200
    assert finish in ("stop", "end_turn", "STOP", "tool_use")
    assert list(reply) == ["VC", "CC", "CTX", "MR", "notes"]
    assert 1 <= reply["VC"]["score"] <= 10
    assert reply["CC"] is not None
    assert reply["CTX"] is None, "the prompt does not list CTX among the available dimensions"
    assert words(provider, send(server.url, good(provider))) == (text, finish), "the same call, the same answer"


def test_scores_vary_between_calls(server):
    texts = [words("openai", send(server.url, chat(response_format=strict(), seed=seed)))[0] for seed in range(8)]
    assert len({json.loads(text)["VC"]["score"] for text in texts}) > 2


@pytest.mark.parametrize("stage", list(REPLIES))
def test_every_stage_of_a_judge_is_known_by_its_prompt_and_answered(server, stage):
    evidence = {"available": ["VC", "SL", "CC", "MR"], "caption": "Accuracy.", "snippets": [], "metadata": {}}
    if stage == "sidecar":
        evidence |= {"features": {"blur": 0.5}}
    if stage == "fusion":
        evidence = {"available": ["CC", "MR"], "vision": {"image_facts": {}}, "language": {"caption_facts": []}}
    system, user = render(stage, evidence)
    text, finish = words("openai", send(server.url, chat("qwen3-vl-plus", prompt=f"{system}\n{user}")))
    assert server.requests[-1].stage == stage
    parse(stage, Reply(text, finish), evidence["available"])


def test_without_a_schema_the_model_writes_as_it_likes(server):
    assert words("openai", send(server.url, chat(prompt="Say hello.")))[0] == "Understood."
    bound = {"type": "json_schema", "json_schema": {"name": "reply", "schema": {}}}
    assert words("openai", send(server.url, chat(prompt="Say hello.", response_format=bound)))[0] == "Understood."


def test_tests_may_answer_themselves():
    with ProtocolServer(answer=lambda stage, asked: f"{stage} by {asked.model}") as own:
        assert words("openai", send(own.url, chat()))[0] == "other by gpt-4.1"


@pytest.mark.parametrize("model", ["gpt-5.2", "claude-opus-4-8", "gemini-3-pro", "glm-4.6v"])
def test_thinking_takes_its_tokens_from_the_limit(server, model):
    if model == "claude-opus-4-8":
        got = send(server.url, messages(model, thinking={"type": "adaptive"}, max_tokens=10))
        assert words("anthropic", got) == ("", "max_tokens")
        assert json.loads(got.raw)["content"][0]["type"] == "thinking"
    elif model == "gemini-3-pro":
        got = send(server.url, generate(model, maxOutputTokens=10))
        assert words("gemini", got) == ("", "MAX_TOKENS")
        assert json.loads(got.raw)["usageMetadata"]["thoughtsTokenCount"] > 10
    else:
        assert words("openai", send(server.url, chat(model, max_completion_tokens=10))) == ("", "length")


@pytest.mark.parametrize("provider", list(CACHED))
def test_a_system_text_that_came_before_is_read_from_the_cache(provider):
    with ProtocolServer() as fresh:
        usages = []
        for _ in range(2):
            body = json.loads(send(fresh.url, good(provider)).raw)
            usages.append(body.get("usage") or body["usageMetadata"])
        assert [CACHED[provider](usage) for usage in usages] == [0, len(SYSTEM) // 4]
        assert fresh.requests[0].usage.prompt == fresh.requests[1].usage.prompt


def test_logprobs_make_up_the_text_and_offer_other_numbers(server):
    got = send(server.url, chat(response_format=strict(), logprobs=True, top_logprobs=5))
    tokens = json.loads(got.raw)["choices"][0]["logprobs"]["content"]
    text, _ = words("openai", got)
    score = str(json.loads(text)["VC"]["score"])
    entry = next(token for token in tokens if token["token"] == score)
    assert "".join(token["token"] for token in tokens) == text
    assert len(entry["top_logprobs"]) == 5
    assert entry["top_logprobs"][0]["token"] == score
    assert all(top["token"].isdigit() and top["logprob"] < 0 for top in entry["top_logprobs"])


def test_accepted_calls_are_counted_by_their_content():
    with ProtocolServer(keep_bodies=False) as server:
        for seed in (1, 1, 2):
            send(server.url, chat(seed=seed))
        send(server.url, chat(bogus=1))
        assert sorted(server.accepted.values()) == [1, 2]
        assert (server.answered(200), server.answered(400)) == (3, 1)
        assert [record.status for record in server.requests] == [200, 200, 200, 400]
        assert {record.key for record in server.requests[:3]} == {"key-1"}
        assert server.requests[0].body == b""


def test_calls_run_side_by_side():
    with ProtocolServer(latency_s=0.2) as server:
        threads = [threading.Thread(target=send, args=(server.url, chat(seed=n))) for n in range(8)]
        started = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert time.monotonic() - started < 1.2
        assert server.in_flight_peak == 8


@pytest.mark.parametrize(
    "limits", [Limits(requests_per_minute=600, burst_s=0.2), Limits(tokens_per_minute=60_000, burst_s=0.3)]
)
def test_a_key_over_its_limit_waits_and_another_does_not(limits):
    with ProtocolServer(limits=limits) as server:
        answers = [send(server.url, chat(seed=n)) for n in range(3)]
        refused = answers[-1]
        assert answers[0].status == 200
        assert refused.status == 429
        assert refused.body["error"]["code"] == "rate_limit_exceeded"
        other = chat()
        other.headers["authorization"] = "Bearer key-2"
        assert send(server.url, other).status == 200
        time.sleep(float(refused.headers["retry-after"]) + 0.02)
        assert send(server.url, chat(seed=2)).status == 200


def test_limits_are_told_in_headers():
    with ProtocolServer(limits=Limits(60, 60_000)) as server:
        assert send(server.url, chat()).headers["x-ratelimit-remaining-requests"] == "59"
        assert send(server.url, messages()).headers["anthropic-ratelimit-requests-remaining"] == "58"
        assert not [name for name in send(server.url, converse()).headers if "limit" in name]


def test_as_a_process_it_leaves_a_line_for_every_accepted_call(tmp_path):
    state = tmp_path / "accepted.jsonl"
    tests = Path(__file__).parents[1]
    command = [sys.executable, "-m", "servers.run", "--port", "0", "--state", str(state), "--latency", "0.01"]
    environment = os.environ | {"PYTHONPATH": str(tests)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        url = process.stdout.readline().strip()
        for sending in (chat(), chat(), messages(), chat(bogus=1)):
            send(url, sending)
        lines = [json.loads(line) for line in state.read_text().splitlines()]
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0
    assert [line["model"] for line in lines] == ["gpt-4.1", "gpt-4.1", "claude-sonnet-4-6"]
    assert len({line["content"] for line in lines}) == 2
    assert lines[0]["usage"]["prompt"] > 0
