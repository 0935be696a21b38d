"""Whole matrices on a real local Ray against servers that speak the providers' protocols."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from servers import FAULTS, KEYS, ProtocolServer, faulty

sys.path.insert(0, str(Path(__file__).parent / "judge"))
from hosted import ENVIRONMENT, models_file, served

ROOT = Path(__file__).parents[1]
MATRIX = ROOT / "jobs" / "eval1200.yaml"
EXAMPLES = ("clean-two-column.pdf", "one-column.pdf")
FIGURES = 9  # of these papers
CALLS = {"direct": 1, "sidecar": 1, "agent": 3}


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module")
def extracted(tmp_path_factory):
    out = tmp_path_factory.mktemp("extracted") / "out"
    sfq("extract", *(ROOT / "examples" / name for name in EXAMPLES), "--out", out, "--ocr", "none")
    return out


def command(*arguments):
    return [sys.executable, "-m", "sfq_ray.cli", *map(str, arguments)]


def sfq(*arguments, check=True):
    result = subprocess.run(command(*arguments), capture_output=True, text=True, cwd=ROOT, timeout=280)
    if check:
        assert result.returncode == 0, result.stderr
    return result


def judge(extracted, out, server, *options, check=True):
    models = models_file(out.parent / f"{out.name}-models.yaml", server.url)
    return sfq("judge", extracted, "--out", out, "--matrix", MATRIX, "--models", models, *options, check=check)


def ask(out, sql):
    return duckdb.sql(sql.format(scores=f"'{out}/scores/*.parquet'", calls=f"'{out}/calls/*.parquet'")).fetchall()


def digests(out, table="scores"):
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted((out / table).glob("*.parquet"))
    }


@pytest.fixture(scope="module")
def whole(extracted, tmp_path_factory):
    """All 29 runs, once."""
    out = tmp_path_factory.mktemp("whole") / "out"
    os.environ |= ENVIRONMENT
    with ProtocolServer(models=served()) as server:
        result = judge(extracted, out, server)
        return out, server, result


def test_all_29_runs_add_up(whole):
    out, server, result = whole
    assert f"scores: {29 * FIGURES} = {29 * FIGURES} scored + 0 gated + 0 failed" in result.stdout
    rows = ask(out, "select run_id, any_value(protocol), count(*), count(overall) from {scores} group by 1")
    assert len(rows) == 29
    assert all(count == scored == FIGURES for _, _, count, scored in rows)
    assert sum(CALLS[protocol] * FIGURES for _, protocol, _, _ in rows) == sum(server.accepted.values())
    assert server.answered(200) == len(server.requests)
    counts = json.loads((out / "manifest.json").read_text())["scores"]
    assert len(counts) == 29
    assert all(count == {"expected": FIGURES, "scored": FIGURES} for count in counts.values())
    ledger = ask(out, "select count(*), count(distinct request_id) from {calls}")
    assert ledger == [(len(server.requests), len(server.requests))]


def test_all_29_runs_over_real_figures_add_up(shared, tmp_path):
    """Those of all examples and of a real paper, which has figures without citing paragraphs."""
    figures, out = tmp_path / "figures", tmp_path / "out"
    papers = [*sorted((ROOT / "examples").glob("*.pdf")), shared / "corpus" / "bkv-aaai2023.pdf"]
    sfq("extract", *papers, "--out", figures, "--ocr", "none")
    kept = duckdb.sql(f"select count(*) from '{figures}/figures/*.parquet' where dropped is null").fetchall()[0][0]
    with ProtocolServer(models=served()) as server:
        judge(figures, out, server)
    by_status = dict(ask(out, "select status, count(*) from {scores} group by 1"))
    assert sum(by_status.values()) == 29 * kept
    assert by_status.get("failed", 0) == 0
    assert ask(
        out,
        "select count(*) from (select run_id from {scores} group by 1 having count(*) <> {kept})".replace(
            "{kept}", str(kept)
        ),
    ) == [(0,)]


def test_a_mixed_agent_asks_the_language_model_for_language_and_fusion(whole):
    out, _, _ = whole
    ids = ask(out, "select unnest(request_ids) from {scores} where run_id = 'F5'")
    stages = ask(out, "select model, stage, count(*) from {calls} where request_id in ({ids}) group by all order by 1, 2".replace(
        "{ids}", ",".join(f"'{request_id}'" for (request_id,) in ids)))  # fmt: skip
    assert stages == [
        ("qwen-plus", "fusion", FIGURES),
        ("qwen-plus", "language", FIGURES),
        ("qwen-vl-max", "vision", FIGURES),
    ]


def test_a_further_run_makes_no_call_and_offline_rebuilds_the_same_bytes(whole, extracted, tmp_path):
    out, _, _ = whole
    before = digests(out)
    with ProtocolServer(models=served()) as idle:
        judge(extracted, out, idle)
        assert not idle.requests
        for path in (out / "scores").glob("*.parquet"):
            path.unlink()
        judge(extracted, out, idle, "--offline", "--workers", 1)
        assert digests(out) == before
        for path in (out / "scores").glob("*.parquet"):
            path.unlink()
        judge(extracted, out, idle, "--offline", "--workers", 4)
        assert digests(out) == before
        assert not idle.requests
        dry = judge(extracted, out, idle, "--dry-run")
    assert dry.stdout.count(" 0.00") >= 29
    manifest = json.loads((out / "manifest.json").read_text())
    assert set(manifest["judge"]["runs"]) == {run_id for (run_id,) in ask(out, "select distinct run_id from {scores}")}


def test_no_key_is_written_anywhere(whole):
    out, _, result = whole
    secret = ENVIRONMENT["AWS_SECRET_ACCESS_KEY"].encode()
    texts = [path.read_bytes() for path in out.rglob("*") if path.is_file()]
    texts += [result.stdout.encode(), result.stderr.encode()]
    assert not any(secret in text or KEYS[0].encode() in text for text in texts)


def test_faulty_calls_end_scored_or_classed(extracted, tmp_path):
    """Three calls in ten go wrong in every way; nothing vanishes or hangs, and no fault becomes a score."""
    config = tmp_path / "config.yaml"
    config.write_text("judge: {max_failure_rate: 1.0, deadline_s: 6}")
    with ProtocolServer(models=served(), script=faulty(0.3, 3, FAULTS)) as server:
        out = tmp_path / "out"
        judge(extracted, out, server, "--runs", "D2,D4,D5,D9,D10,S1,F3,F5", "--config", config)
    rows = ask(out, "select status, failure, count(*) from {scores} group by all")
    assert sum(count for _, _, count in rows) == 8 * FIGURES
    assert {status for status, _, _ in rows} <= {"scored", "failed"}
    assert all((failure is None) == (status == "scored") for status, failure, _ in rows)
    assert ask(
        out,
        "select count(*) from {scores} where status = 'failed' and coalesce(overall, VC, SL, CC, CTX, MR) is not null",
    ) == [(0,)]
    assert ask(out, "select count(*) from {scores} where status = 'scored' and (VC is null or MR is null)") == [(0,)]
    assert sum(r.fault is not None for r in server.requests) > 0.15 * len(server.requests)


@pytest.mark.timeout(600)
def test_killed_again_and_again_it_pays_for_calls_in_flight_at_most(extracted, tmp_path):
    chance = random.Random(5)
    out, kills = tmp_path / "out", 20
    runs = "D2,S1,F3,F5,F8"
    config = tmp_path / "config.yaml"
    config.write_text("judge: {calls_in_flight: 1}")  # of a model: slow enough to be killed so often
    with ProtocolServer(models=served(), latency_s=0.5) as server:
        models = models_file(tmp_path / "models.yaml", server.url)
        line = command(
            "judge", extracted, "--out", out, "--matrix", MATRIX, "--models", models, "--runs", runs, "--workers", 1,
            "--config", config,
        )  # fmt: skip
        for _ in range(kills):
            seen = sum(server.accepted.values())
            job = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            begin = time.monotonic()
            while job.poll() is None and sum(server.accepted.values()) == seen and time.monotonic() - begin < 30:
                time.sleep(0.02)
            time.sleep(chance.uniform(0, 0.3))
            os.killpg(job.pid, signal.SIGKILL)
            assert job.wait() == -signal.SIGKILL, "it must not be done before the last kill"
            subprocess.run(["pkill", "-9", "-f", str(out)], check=False)
            time.sleep(0.1)
        result = sfq(*line[3:])
        paid = sum(server.accepted.values())
        requests = len(server.requests)
        sfq(*line[3:])
        assert len(server.requests) == requests, "a further run calls nobody"
    assert f"= {5 * FIGURES} scored + 0 gated + 0 failed" in result.stdout
    (distinct,) = ask(out, "select count(distinct request_id) from {calls}")[0]
    assert distinct == (1 + 1 + 3 * 3) * FIGURES
    assert paid <= distinct + kills * server.in_flight_peak


def test_a_bad_key_stops_at_once_and_says_which(extracted, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")
    with ProtocolServer(models=served()) as server:
        result = judge(extracted, tmp_path / "out", server, "--runs", "D2", check=False)
    assert result.returncode == 1
    assert "OPENAI_API_KEY" in result.stderr
    assert "planted" not in result.stderr
    assert len(server.requests) <= 2 * FIGURES
    assert not server.accepted


def test_a_budget_stops_before_it_is_spent_and_unknown_prices_are_named(extracted, tmp_path):
    prices = tmp_path / "prices.yaml"
    prices.write_text("gpt-5.6-sol: {input: 10, cached_input: 10, output: 10}\n")
    config = tmp_path / "config.yaml"
    config.write_text("judge: {max_output_tokens: 1000}\n")
    options = ("--runs", "D2", "--prices", prices, "--config", config)
    with ProtocolServer(models=served()) as server:
        stopped = judge(extracted, tmp_path / "out", server, *options, "--max-usd", "0.10", check=False)
        assert stopped.returncode == 1
        assert "--max-usd" in stopped.stderr
        paid = sum(r.usage.prompt + r.usage.completion for r in server.requests if r.status == 200) * 10 / 1e6
        assert 0 < len(server.accepted) < FIGURES
        assert paid <= 0.10
        unknown = judge(extracted, tmp_path / "out", server, "--runs", "D1", "--max-usd", "5", check=False)
    assert "no USD price is known for gemini-3.5-flash" in unknown.stderr


def test_repeats_are_calls_of_their_own(extracted, tmp_path):
    with ProtocolServer(models=served()) as server:
        judge(extracted, tmp_path / "out", server, "--runs", "D2", "--repeat", "3")
    assert Counter(run for (run,) in ask(tmp_path / "out", "select run_id from {scores}")) == {
        "D2": FIGURES, "D2+1": FIGURES, "D2+2": FIGURES,
    }  # fmt: skip
    assert sum(server.accepted.values()) == 3 * FIGURES


def test_repeats_of_a_share_judge_the_same_figures(extracted, tmp_path):
    with ProtocolServer(models=served()) as server:
        dry = judge(
            extracted, tmp_path / "out", server, "--runs", "D2", "--repeat", "3", "--repeat-share", "0.4", "--dry-run"
        )
        judge(extracted, tmp_path / "out", server, "--runs", "D2", "--repeat", "3", "--repeat-share", "0.4")
        made = sum(server.accepted.values())
        other = judge(extracted, tmp_path / "out", server, "--runs", "D2", "--repeat", "2", check=False)
    figures = dict(ask(tmp_path / "out", "select run_id, list_sort(list(figure_id)) from {scores} group by 1"))
    assert figures["D2+1"] == figures["D2+2"]
    assert len(figures["D2"]) == FIGURES > len(figures["D2+1"]) > 0
    assert made == sum(map(len, figures.values()))
    assert [int(line.split()[2]) for line in dry.stdout.splitlines() if line.startswith("D2")] == [
        len(figures[name]) for name in ("D2", "D2+1", "D2+2")
    ]
    assert other.returncode == 1
    assert "share" in other.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_pays_for_nothing_twice(extracted, tmp_path, number):
    out = tmp_path / "out"
    config = tmp_path / "config.yaml"
    config.write_text("judge: {calls_in_flight: 3}")
    with ProtocolServer(models=served(), latency_s=0.6) as server:
        models = models_file(tmp_path / "models.yaml", server.url)
        line = command("judge", extracted, "--out", out, "--matrix", MATRIX, "--models", models, "--runs", "D2,F3,F8",
                       "--config", config)  # fmt: skip
        job = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        begin = time.monotonic()
        while not server.accepted and time.monotonic() - begin < 60:
            time.sleep(0.02)
        time.sleep(0.5)
        job.send_signal(number)
        _, said = job.communicate(timeout=120)
        assert job.returncode == 130, said
        assert "finishing the calls in flight" in said
        assert "run the same command again" in said
        stopped_at = sum(server.accepted.values())
        sfq(*line[3:])
    (distinct,) = ask(out, "select count(distinct request_id) from {calls}")[0]
    assert stopped_at < distinct == sum(server.accepted.values())
