"""The judging worker: a figure that ends its process is bounded, and the prompts decide what is bought again."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from scripted import Scripted, figures

from sfq_ray.config import load
from sfq_ray.errors import FatalError
from sfq_ray.judge import rendering
from sfq_ray.judge.ledger import read_part
from sfq_ray.judge.matrix import Run, own_runs
from sfq_ray.judge.worker import JudgeWorker
from sfq_ray.store import Store

HERE = Path(__file__).parent
PART = "part-00000"


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "out")
    store.prepare()
    store.write("figures", PART, figures({}, {}, {}))
    return store


def worker(store, backend, *protocols):
    settings = load(None, {"judge.protocols": list(protocols)})
    return JudgeWorker(store.root, store.root, settings, own_runs("scripted", protocols), lambda name: backend, "job")


def todo(*protocols):
    return {"todo": {PART: [f"scripted-{protocol}" for protocol in protocols]}}


def test_a_figure_that_ends_the_process_is_a_classed_failure(store):
    script = """
import os, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from scripted import Scripted
from test_judge_worker import PART, todo, worker
from sfq_ray.store import Store
def deadly(request):
    if request.figure_id.endswith("2"):
        os._exit(1)
summary = worker(Store(Path(sys.argv[1])), Scripted(deadly), "direct")(todo("direct"))
assert summary["rows"] == 3
"""
    command = [sys.executable, "-c", script, str(store.root), str(HERE)]
    codes = [subprocess.run(command, env=dict(os.environ), timeout=120).returncode for _ in range(4)]
    assert codes == [1, 1, 1, 0]  # all at once, then twice on the figure alone
    rows = store.read("scores", f"scripted-direct.{PART}").to_pylist()
    assert [(row["fig_index"], row["status"], row["failure"]) for row in rows] == [
        (1, "scored", None), (2, "failed", "engine_dead"), (3, "scored", None),
    ]  # fmt: skip
    assert not list((store.root / ".work").iterdir())


def test_a_figure_without_an_image_is_never_asked_about(store):
    store.write("figures", PART, figures({"image": None}, {}))
    backend = Scripted()
    summary = worker(store, backend, "direct", "sidecar", "agent")(todo("direct", "sidecar", "agent"))
    assert summary["runs"] == {f"scripted-{p}": {"failed": 1, "scored": 1} for p in ("direct", "sidecar", "agent")}
    row = store.read("scores", f"scripted-agent.{PART}").to_pylist()[0]
    assert (row["failure"], row["message"], row["request_ids"]) == ("image_rejected", "the figure has no image", [])
    assert {request.figure_id for request in backend.requests} == {"p__fig0002"}


def test_a_disk_that_is_full_before_a_part_begins_says_so(store):
    (store.root / ".work").write_bytes(b"")  # in the way of the folder
    with pytest.raises(FatalError, match=r"\.work/.*cannot be written"):
        worker(store, Scripted(), "direct")(todo("direct"))


def test_another_fusion_prompt_buys_fusion_calls_alone(store, monkeypatch):
    worker(store, Scripted(), "direct", "agent")(todo("direct", "agent"))
    texts = rendering.prompt
    monkeypatch.setattr(rendering, "prompt", lambda name: texts(name) + (" Think twice." if name == "fusion" else ""))
    rendering.prompt_hash.cache_clear()
    backend = Scripted()
    worker(store, backend, "direct", "agent")(todo("direct", "agent"))
    rendering.prompt_hash.cache_clear()
    assert [request.stage for request in backend.requests] == ["fusion"] * 3


def test_parts_of_which_each_lacks_another_model_are_gone_on_with(store):
    store.write("figures", "part-00001", figures({}, {}))
    runs = [Run("a", "direct", "first", "first"), Run("b", "direct", "second", "second")]
    judging = JudgeWorker(store.root, store.root, load(), runs, lambda name: Scripted(), "job")
    summary = judging({"todo": {PART: ["a"], "part-00001": ["b"]}})
    assert summary["runs"] == {"a": {"scored": 3}, "b": {"scored": 2}}
    assert store.parts("scores") == [f"a.{PART}", "b.part-00001"]


class Failing(Scripted):
    """Ends the job after `fails_s` by its first call, while the others take `delay_s`."""

    def __init__(self, fails_s, delay_s):
        super().__init__(delay_s=delay_s)
        self.fails_s, self.called = fails_s, 0

    async def complete(self, request):
        self.called += 1
        if self.called == 1:
            await asyncio.sleep(self.fails_s)
            raise FatalError("no more")
        return await super().complete(request)


def test_calls_in_flight_are_waited_for_though_another_model_ends_the_job_meanwhile(store):
    backends = {"first": Failing(0.05, 0.8), "second": Failing(0.3, 0.0)}
    runs = [Run(name[0], "direct", name, name) for name in backends]
    with pytest.raises(FatalError, match="no more"):
        JudgeWorker(store.root, store.root, load(), runs, backends.__getitem__, "job")({"todo": {PART: ["f", "s"]}})
    found = read_part(store.root / "calls", f"first.{PART}")
    assert len(found.records) == 2, "the two calls that were under way are paid for and kept"
    assert found.interrupted == 0
