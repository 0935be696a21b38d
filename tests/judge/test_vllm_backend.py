"""The vllm backend in the real engine, on tiny models with random weights, inside Ray Data's actors.

Needs vLLM; tools/vllm_cpu_env.sh makes an environment that has it, without a GPU.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from urllib.request import urlopen

import duckdb
import pytest
import yaml

if find_spec("vllm") is None:  # an import of it takes ten seconds and half a gigabyte
    pytest.skip("vllm is an extra", allow_module_level=True)
sys.path.insert(0, str(Path(__file__).parent))
from tiny import (
    ROOT,
    command,
    engines_started,
    environment,
    make_models,
    models_file,
    record,
    sfq,
)

pytestmark = pytest.mark.timeout(900)
MATRIX = ROOT / "jobs" / "eval1200.yaml"
EXAMPLES = ("clean-two-column.pdf", "one-column.pdf")
FIGURES = 9  # of these papers
MODELS = {"internvl": ("internvl3-78b", "D11,S9"), "llama4": ("llama-4-maverick", "D7,S6,F7")}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_models(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def extracted(tmp_path_factory):
    out = tmp_path_factory.mktemp("extracted") / "out"
    sfq(
        "extract", *(ROOT / "examples" / name for name in EXAMPLES), "--out", out, "--ocr", "none",
        temporary=out.parent,
    )  # fmt: skip
    return out


def config_file(folder, **judge):
    """Replies so short that one which does not end costs seconds."""
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump({"judge": {"max_output_tokens": 1000, **judge}}))
    return path


def ask(out, sql):
    return duckdb.sql(sql.format(scores=f"'{out}/scores/*.parquet'", calls=f"'{out}/calls/*.parquet'")).fetchall()


@pytest.fixture(scope="module", params=MODELS)
def judged(request, tiny, extracted, tmp_path_factory):
    """The runs of the benchmark with this model, as one job, and what it printed."""
    place = tmp_path_factory.mktemp(request.param)
    name, runs = MODELS[request.param]
    models = models_file(place / "models.yaml", **{name: record(tiny / request.param)})
    line = ("judge", extracted, "--out", place / "out", "--matrix", MATRIX, "--models", models, "--runs", runs,
            "--config", config_file(place))  # fmt: skip
    return place, line, sfq(*line, temporary=place / "tmp"), runs.split(",")


def test_every_figure_is_scored_in_every_run_by_one_engine(judged):
    place, _, result, runs = judged
    assert f"scores: {len(runs) * FIGURES} = {len(runs) * FIGURES} scored + 0 gated + 0 failed" in result.stdout
    assert engines_started(place / "tmp") == 1
    stages = dict(ask(place / "out", "select stage, count(*) from {calls} group by 1"))
    fused = stages.pop("fusion", 0)  # of equal reports, which a model of noise gives, only once
    assert stages == dict.fromkeys(("direct", "sidecar", "vision", "language")[: 2 * len(runs) - 2], FIGURES)
    assert (0 < fused <= FIGURES) == (len(runs) == 3)
    assert ask(place / "out", "select count(*) from {calls} where attempt > 0 or finish_reason != 'stop'") == [(0,)]
    (least,) = ask(place / "out", "select min(usage.input_tokens) from {calls} where usage.output_tokens > 20")[0]
    assert least > 1000


def test_scores_come_with_what_the_model_would_have_said_on_average(judged):
    place, _, _, _ = judged
    for name in ("VC", "SL", "CC", "CTX", "MR"):
        wrong = f"({name}_expected is null) != ({name}_proposed is null) or {name}_expected not between 1 and 10"
        assert ask(place / "out", "select count(*) from {scores} where " + wrong) == [(0,)]


def test_the_rubric_is_read_once(judged):
    place, _, _, _ = judged
    hits, calls = ask(place / "out", "select count(*) filter (usage.cached_tokens > 1000), count(*) from {calls}")[0]
    assert hits > 0.6 * calls  # all but those that came before the first was through


def test_a_further_run_makes_no_call_and_starts_no_engine(judged):
    place, line, _, _ = judged
    before = {path.name: path.read_bytes() for path in (place / "out").glob("*/*.parquet")}
    for path in (place / "out" / "scores").glob("*.parquet"):
        path.unlink()
    sfq(*line, temporary=place / "again")
    assert engines_started(place / "again") == 0
    assert {path.name: path.read_bytes() for path in (place / "out").glob("*/*.parquet")} == before
    for path in (place / "out" / "scores").glob("*.parquet"):
        path.unlink()
    sfq(*line, "--offline", temporary=place / "again")
    assert {path.name: path.read_bytes() for path in (place / "out").glob("*/*.parquet")} == before


def processes_with(variable: str) -> list[int]:
    """Process ids of engine cores whose environment has this entry."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            named = b"EngineCore" in (entry / "cmdline").read_bytes()
            if named and variable.encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def answered(out: Path) -> int:
    lines = [line for path in (out / "calls" / "_open").glob("*.jsonl") for line in path.read_bytes().splitlines()]
    return sum(b'"finish_reason"' in line for line in lines)


@pytest.mark.parametrize("victim", ["engine", "actor"])
def test_a_killed_engine_costs_the_calls_in_flight_and_nothing_else(tiny, extracted, tmp_path, victim):
    models = models_file(tmp_path / "models.yaml", llama_4_maverick=record(tiny / "internvl"))
    out, temporary = tmp_path / "out", tmp_path / "tmp"
    line = command(
        "judge", extracted, "--out", out, "--matrix", MATRIX, "--models", models, "--runs", "D7,S6,F7",
        "--config", config_file(tmp_path, calls_in_flight=2),
    )  # fmt: skip
    job = subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment(temporary)
    )
    begin = time.monotonic()
    while answered(out) < 3:
        assert job.poll() is None, job.stdout.read()
        assert time.monotonic() - begin < 300
        time.sleep(0.02)
    (core,) = processes_with(f"TMPDIR={temporary}")
    parent = int(Path(f"/proc/{core}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(core if victim == "engine" else parent, signal.SIGKILL)
    said, _ = job.communicate(timeout=600)
    assert job.returncode == 0, said
    assert f"scores: {3 * FIGURES} = {3 * FIGURES} scored + 0 gated + 0 failed" in said
    assert engines_started(temporary) == 2
    assert processes_with(f"TMPDIR={temporary}") == []
    used = ask(out, "select count(distinct id) from (select unnest(request_ids) id from {scores})")
    assert used == ask(out, "select count(distinct request_id) from {calls}"), "nothing was asked twice in other words"
    (lost,) = [
        int(part.split()[0]) for part in said.replace("\r", ",").split(",") if "calls perhaps lost in flight" in part
    ][-1:]
    assert 1 <= lost <= 4  # twice as many requests are ready as may be in flight


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"engine": {"tensor_paralel_size": 2}}, "engine: vLLM has no argument tensor_paralel_size"),
        ({"model": "/no/such/weights"}, "set `model` to a folder that holds the weights"),
        ({"gpus": 8}, "8 GPUs are asked for each actor, but Ray knows of 0"),
        ({"extra": {"temprature": 1}}, "extra: .*temprature"),
    ],
    ids=["argument", "weights", "gpus", "sampling"],
)
def test_what_cannot_work_ends_the_job_and_says_what_to_change(tiny, extracted, tmp_path, fields, says):
    models = models_file(tmp_path / "models.yaml", internvl3_78b=record(tiny / "internvl", **fields))
    result = sfq(
        "judge", extracted, "--out", tmp_path / "out", "--matrix", MATRIX, "--models", models, "--runs", "D11",
        temporary=tmp_path / "tmp", check=False,
    )  # fmt: skip
    assert result.returncode == 1
    assert re.search(says, " ".join(result.stderr.split())), result.stderr


def test_the_same_runs_against_a_server_of_vllm(tiny, extracted, tmp_path):
    """Its own server, reached like any other endpoint of OpenAI's protocol."""
    pytest.importorskip("openai", reason="openai is an extra")
    model = tiny / "internvl"
    line = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model), "--port", "8931",
            "--host", "127.0.0.1", "--served-model-name", "tiny", "--enforce-eager", "--max-model-len", "16384",
            "--max-num-seqs", "16", "--max-num-batched-tokens", "2048", "--gpu-memory-utilization", "0.15",
            "--trust-remote-code", "--interleave-mm-strings", "--structured-outputs-config",
            '{"backend": "xgrammar", "disable_any_whitespace": true}']  # fmt: skip
    log = tmp_path / "server.log"
    with log.open("w") as out:
        server = subprocess.Popen(line, stdout=out, stderr=subprocess.STDOUT, env=environment(tmp_path / "tmp"))
    try:
        wait_for("http://127.0.0.1:8931/health", server, log)
        fields = record(model)
        served = fields | {"backend": "openai", "model": "tiny", "base_url": "http://127.0.0.1:8931/v1", "engine": {}}
        models = models_file(tmp_path / "models.yaml", llama_4_maverick=served)
        result = sfq(
            "judge", extracted, "--out", tmp_path / "out", "--matrix", MATRIX, "--models", models, "--runs", "D7,S6,F7",
            "--config", config_file(tmp_path), temporary=tmp_path / "tmp",
        )  # fmt: skip
    finally:
        server.terminate()
        server.wait(60)
    assert f"scores: {3 * FIGURES} = {3 * FIGURES} scored + 0 gated + 0 failed" in result.stdout
    assert ask(tmp_path / "out", "select count(VC_expected) > 0 from {scores}") == [(True,)]


def wait_for(url, server, log, seconds=300):
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        assert server.poll() is None, log.read_text()[-3000:]
        try:
            with urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(1)
    raise AssertionError(log.read_text()[-3000:])
