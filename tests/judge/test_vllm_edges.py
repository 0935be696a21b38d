"""What surrounds the engine, without it: devices, messages, tokens."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from sfq_ray.judge.backends import vllm
from sfq_ray.judge.capabilities import load_models
from sfq_ray.judge.errors import CallError
from sfq_ray.judge.expected import Token, expected_scores

MODEL = load_models()["internvl3-78b"]
CORE = RuntimeError("Engine core initialization failed. See root cause above. Failed core proc(s): {}")


def said(tmp_path, error, log=""):
    (tmp_path / "log").write_text(log)
    return str(vllm._cannot_start(MODEL, error, tmp_path / "log"))


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("(EngineCore pid=7) ERROR torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a",
         "torch.OutOfMemoryError: CUDA out of memory"),
        ("ERROR 12-01 [core.py:9] ValueError: No available memory for the cache blocks. Try increasing it",
         "ValueError: No available memory for the cache blocks"),
    ],
)  # fmt: skip
def test_the_cause_is_the_one_that_the_engines_own_process_gave(tmp_path, line, cause):
    log = f"INFO loading\n{line}\nException: WorkerProc initialization failed due to an exception\n"
    text = said(tmp_path, CORE, log)
    assert cause in text
    assert "raise engine.tensor_parallel_size, lower engine.max_model_len" in text
    assert str(tmp_path / "log") in text


def test_missing_weights_are_said_with_what_to_do(tmp_path):
    error = OSError("Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/no/such/weights'")
    assert "set `model` to a folder that holds the weights" in said(tmp_path, error)


def test_where_nothing_is_known_the_error_itself_is_said(tmp_path):
    assert "RuntimeError: Engine core initialization failed" in said(tmp_path, CORE)


def test_two_engines_of_one_actor_see_different_gpus(monkeypatch):
    monkeypatch.setenv(vllm.DEVICES, "4,5,6,7")
    monkeypatch.setattr(vllm, "_own_devices_taken", [0])
    seen = []
    for gpus in (1, 2, 0):
        with vllm._own_devices(gpus):
            seen.append(os.environ[vllm.DEVICES])
    assert seen == ["4", "5,6", "4,5,6,7"]
    assert os.environ[vllm.DEVICES] == "4,5,6,7"


OUTPUT = """
import subprocess, sys
from sfq_ray.judge.backends.vllm import _output_to
print("before", flush=True)
with open(sys.argv[1], "w") as log, _output_to(log.fileno()):
    subprocess.run([sys.executable, "-c", "print('of a child')"])
print("after", flush=True)
"""


def test_what_the_engine_prints_goes_to_its_log(tmp_path):
    log = tmp_path / "log"
    result = subprocess.run([sys.executable, "-c", OUTPUT, log], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["before", "after"]
    assert log.read_text() == "of a child\n"


WATCHED = """
import subprocess, sys, time
from sfq_ray.judge.backends.vllm import _watch
engine = subprocess.Popen(["sleep", "60"])
watch = _watch([engine.pid])
print(engine.pid, flush=True)
time.sleep(60)
"""


def test_an_engine_does_not_outlive_an_actor_that_is_killed():
    actor = subprocess.Popen([sys.executable, "-c", WATCHED], stdout=subprocess.PIPE, text=True)
    engine = Path("/proc") / actor.stdout.readline().strip()
    assert engine.exists()
    actor.kill()
    actor.wait()
    begin = time.monotonic()
    while engine.exists() and "Z" not in (engine / "stat").read_text().split()[2]:
        assert time.monotonic() - begin < 20
        time.sleep(0.05)


def test_the_token_that_ends_a_reply_is_none_of_its_text():
    def place(text, logprob):
        return SimpleNamespace(decoded_token=text, logprob=logprob)

    answer = SimpleNamespace(
        text="a7", token_ids=[1, 7, 2],
        logprobs=[{1: place("a", -0.1)}, {7: place("7", -0.5), 8: place("8", -1.0)}, {2: place("<end>", 0.0)}],
    )  # fmt: skip
    tokens = vllm._tokens(answer)
    assert [token.text for token in tokens] == ["a", "7"]
    assert tokens[1].logprobs == {"7": -0.5, "8": -1.0}
    assert vllm._tokens(SimpleNamespace(text="a", token_ids=[1], logprobs=None)) == []


def test_a_server_lists_the_token_that_ends_the_reply_too():
    text = '{"VC":{"score":7'
    tokens = [Token('{"VC":{"score":', {}), Token("7", {"7": -0.1}), Token("<|im_end|>", {})]
    assert expected_scores(text, tokens) == {"VC": 7.0}
    assert expected_scores(text + "0", tokens) == {}


def test_an_engine_that_answers_nobody_is_as_good_as_dead(monkeypatch):
    monkeypatch.setattr(vllm, "HUNG_S", 0.3)
    monkeypatch.setattr(vllm, "LOOK_S", 0.05)
    backend = object.__new__(vllm.VLLMBackend)
    backend.record, backend.waiting, backend.answered_at = MODEL, 0, 0.0  # long ago: it was idle

    async def run():
        slow = asyncio.ensure_future(backend._unless_hung(asyncio.sleep(0.5, "slow")))
        for _ in range(6):  # while others are answered, one may take its time
            assert await backend._unless_hung(asyncio.sleep(0.1, "quick")) == "quick"
        assert await slow == "slow"
        with pytest.raises(CallError) as caught:
            await backend._unless_hung(asyncio.sleep(60))
        assert caught.value.kind == "engine_dead"

    begin = time.monotonic()
    asyncio.run(run())
    assert time.monotonic() - begin < 30
