"""Judging of a part: one row per run and figure, every one accounted for."""

import asyncio
import json

import pytest
from scripted import Scripted, figures, good

from sfq_ray.config import ConfigError, Judge
from sfq_ray.errors import FatalError
from sfq_ray.judge.backends import Reply, load_backend
from sfq_ray.judge.capabilities import EMBEDDED
from sfq_ray.judge.errors import CallError
from sfq_ray.judge.judging import Judging, instances, score_table
from sfq_ray.judge.ledger import Ledger
from sfq_ray.judge.matrix import own_runs
from sfq_ray.judge.protocols import PROTOCOLS
from sfq_ray.rubric import DIMENSIONS

ALL = ["VC", "SL", "CC", "CTX", "MR"]
CALLS_OF = {"direct": 1, "sidecar": 1, "agent": 3}


def judge(tmp_path, backend, *rows, **settings):
    (tmp_path / "calls").mkdir(parents=True, exist_ok=True)
    ledger = Ledger(tmp_path / "calls", "part-00000")
    judge = Judge(**settings)
    judging = Judging(judge, {backend.name: backend})
    runs = own_runs(backend.name, judge.protocols)
    scores = asyncio.run(judging.judge(instances(figures(*rows), judge), runs, {backend.name: ledger}))
    ledger.close()
    return [row for own in scores.values() for row in score_table(own).to_pylist()]


@pytest.mark.parametrize("protocol", list(PROTOCOLS))
def test_each_protocol_scores_every_kept_figure(tmp_path, protocol):
    backend = Scripted()
    rows = judge(
        tmp_path,
        backend,
        {},
        {},
        {"dropped": "tiny", "dropped_stage": "S1"},
        {"error": "ocr_failed"},
        protocols=(protocol,),
    )
    assert [(row["run_id"], row["status"], row["fig_index"]) for row in rows] == [
        (f"scripted-{protocol}", "scored", 1),
        (f"scripted-{protocol}", "scored", 2),
    ]
    assert len(backend.requests) == 2 * CALLS_OF[protocol]
    for row in rows:
        assert all(row[d] == 8 for d in DIMENSIONS)
        assert row["overall"] == 8.0
        assert all(row[f"{d}_reason"] for d in DIMENSIONS)
        assert len(row["request_ids"]) == CALLS_OF[protocol]


@pytest.mark.parametrize("protocol", list(PROTOCOLS))
def test_gates_hold_in_every_protocol(tmp_path, protocol):
    rows = judge(
        tmp_path,
        Scripted(),
        {"contexts": []},
        {"caption": None},
        {"contexts": [], "caption": None},
        protocols=(protocol,),
    )
    no_context, no_caption, neither = rows
    assert no_context["CTX"] is None
    assert no_context["overall"] == 8.0
    assert no_caption["CC"] is None
    assert no_caption["CTX"] == 8
    assert neither["status"] == "gated"
    assert all(neither[d] is None for d in DIMENSIONS)
    assert neither["overall"] is None


def test_a_failing_call_is_a_classed_row_and_the_others_go_on(tmp_path):
    def script(request):
        if request.figure_id.endswith("2") and request.stage in ("direct", "language"):
            raise CallError("timeout", "no reply in 60 s")

    rows = judge(tmp_path, Scripted(script), {}, {}, {})
    failed = [(row["run_id"], row["fig_index"], row["failure"]) for row in rows if row["status"] == "failed"]
    assert failed == [("scripted-direct", 2, "timeout"), ("scripted-agent", 2, "timeout")]
    assert len(rows) == 9
    assert all(row[d] is None for row in rows if row["status"] == "failed" for d in (*DIMENSIONS, "overall"))


def test_an_invalid_reply_is_asked_again_once_with_the_problem(tmp_path):
    def script(request):
        return Reply("{}", "stop") if request.attempt == 0 else None

    backend = Scripted(script)
    (row,) = judge(tmp_path, backend, {}, protocols=("direct",))
    assert row["status"] == "scored"
    assert [request.attempt for request in backend.requests] == [0, 1]
    assert "could not be used" in backend.requests[1].user
    assert len(row["request_ids"]) == 2


def test_asking_again_can_be_switched_off_and_ends_after_one(tmp_path):
    broken = Scripted(lambda request: Reply("prose", "stop"))
    (row,) = judge(tmp_path / "a", broken, {}, protocols=("direct",), reask=False)
    assert (row["failure"], len(broken.requests)) == ("invalid_json", 1)
    broken = Scripted(lambda request: Reply("prose", "stop"))
    (row,) = judge(tmp_path / "b", broken, {}, protocols=("direct",))
    assert (row["failure"], len(broken.requests)) == ("invalid_json", 2)


def test_a_refusal_is_not_asked_again(tmp_path):
    backend = Scripted(lambda request: Reply("No.", "refusal"))
    (row,) = judge(tmp_path, backend, {}, protocols=("direct",))
    assert (row["failure"], len(backend.requests)) == ("refusal", 1)


def test_language_and_fusion_see_neither_pixels_nor_features(tmp_path):
    backend = Scripted()
    judge(tmp_path, backend, {"text_size_min_pt": 3.14159}, protocols=("agent",))
    for request in backend.requests:
        if request.stage in ("language", "fusion"):
            assert request.image is None
            assert request.measured is None
            assert "3.14159" not in request.system + request.user + json.dumps(request.evidence)
            assert "text_size_min_pt" not in json.dumps(request.evidence)
        if request.stage == "vision":
            assert "Accuracy of A and B" not in request.user
            assert "beats B" not in request.user


def test_a_backend_with_eyes_gets_no_measurements_in_direct(tmp_path):
    backend = Scripted()
    judge(tmp_path, backend, {"text_size_min_pt": 3.14159}, protocols=("direct", "sidecar"))
    direct, sidecar = sorted(backend.requests, key=lambda request: request.stage)
    assert "text_size_min_pt" not in direct.user
    assert "text_size_min_pt: 3.142" in sidecar.user
    assert direct.measured is None


def test_the_runner_caps_and_the_vision_scores_reach_the_row(tmp_path):
    def script(request):
        reply = good(request.stage, ALL)
        if request.stage == "language":
            reply |= {"caption_score_cap": 6, "text_severity": "moderate"}
        if request.stage == "vision":
            reply["VC"]["score"] = 3
        return Reply(json.dumps(reply), "stop")

    (row,) = judge(tmp_path, Scripted(script), {}, protocols=("agent",))
    assert (row["VC"], row["CC"], row["MR"]) == (3, 6, 6)
    assert row["caps"] == ["CC <= 6"]
    assert (row["CC_proposed"], row["CC_owner"], row["MR_owner"]) == (8, "runner", "runner")


def test_scores_are_the_same_however_fast_the_replies_come(tmp_path):
    first = judge(tmp_path / "a", Scripted(), {}, {}, {}, calls_in_flight=1)
    second = judge(tmp_path / "b", Scripted(delay_s=0.01), {}, {}, {}, calls_in_flight=50)
    assert first == second


def test_a_bad_key_stops_the_part(tmp_path):
    def script(request):
        raise CallError("auth", "401 unauthorized")

    with pytest.raises(FatalError, match="check the key"):
        judge(tmp_path, Scripted(script), {}, {})


def test_an_unknown_backend_names_the_known_ones():
    with pytest.raises(ConfigError, match=r"known: .*rules"):
        load_backend(EMBEDDED.model_copy(update={"backend": "oracle"}), Judge())
