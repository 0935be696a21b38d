"""What a job would take, and what the ledger says was spent: money is USD of the record that made the call."""

from dataclasses import replace

import pytest
import yaml
from scripted import Scripted, figures

from sfq_ray.config import load
from sfq_ray.judge.backends import Usage
from sfq_ray.judge.backends.provider import decoding
from sfq_ray.judge.estimate import estimates, spent_usd
from sfq_ray.judge.plan import Choice, make_plan
from sfq_ray.judge.worker import JudgeWorker
from sfq_ray.store import Store

PART = "part-00000"
RECORD = {
    "backend": "openai", "model": "same", "dialect": "prompt_only", "source": "user", "thinking": "switch",
}  # fmt: skip
RUNS = [
    {"id": "D", "protocol": "direct", "model": "eyes"},
    {"id": "S", "protocol": "sidecar", "model": "eyes"},
    {"id": "A", "protocol": "agent", "model": "eyes"},
    {"id": "M", "protocol": "agent", "vision": "eyes", "language": "words"},
]
DOLLAR = {"input": 0, "cached_input": 0, "output": 1_000_000 / 600}  # one for the reply that an estimate assumes


class Paid(Scripted):
    """A scripted backend under the name and settings of a record; counts tokens."""

    def __init__(self, record, settings):
        super().__init__()
        self.name, self.model, self.params = record.backend, record.model, decoding(record, settings)

    async def complete(self, request):
        return replace(await super().complete(request), usage=Usage(10, 600, 0))


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "out")
    store.prepare()
    store.write("figures", PART, figures({}, {"image": None}, {"caption": None, "contexts": []}, {}))
    return store


def plan_of(tmp_path, prices, settings, runs=None):
    files = {"models": {"eyes": RECORD, "words": RECORD}, "matrix": {"runs": RUNS}, "prices": prices}
    for name, content in files.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(content))
    paths = {name: tmp_path / f"{name}.yaml" for name in files}
    return make_plan(settings.judge, Choice(runs=runs, **paths))


def judge(store, plan, settings):
    """The requests that were really made."""
    backends = {name: Paid(record, settings.judge) for name, record in plan.models.items()}
    worker = JudgeWorker(store.root, store.root, settings, plan.runs, backends.__getitem__, "job")
    worker({"todo": {PART: [run.id for run in plan.runs]}})
    return [request for backend in backends.values() for request in backend.requests]


@pytest.mark.parametrize("thinking", [None, "off", "high"])
def test_a_dry_run_counts_what_is_then_paid(store, tmp_path, thinking):
    settings = load(None, {"judge.thinking": thinking})
    prices = {"eyes": DOLLAR, "words": DOLLAR}
    for runs in ("D", "A", None):  # into an empty ledger, and twice into one that holds some of it
        plan = plan_of(tmp_path, prices, settings, runs)
        foreseen = estimates(store, store, [PART], plan, settings.judge)
        made = judge(store, plan, settings)
        assert sum(run.usd for run in foreseen) == pytest.approx(len(made))
    for run in estimates(store, store, [PART], plan, settings.judge):
        assert (run.calls, run.usd) == (run.in_ledger, 0)
    assert spent_usd(store, plan) == pytest.approx(2 * (1 + 1 + 3 + 2)), "two figures; M shares vision with A"


def test_spent_is_what_the_record_that_made_the_call_costs(store, tmp_path):
    settings = load()
    judge(store, plan_of(tmp_path, {}, settings, "D"), settings)
    spent = {
        name: spent_usd(store, plan_of(tmp_path, {name: DOLLAR}, settings, "D")) for name in ("eyes", "words")
    }  # fmt: skip
    assert spent == {"eyes": pytest.approx(2), "words": 0}


def test_another_currency_is_no_usd(store, tmp_path):
    settings = load()
    plan = plan_of(tmp_path, {"eyes": DOLLAR | {"currency": "CNY"}}, settings, "D")
    assert [run.usd for run in estimates(store, store, [PART], plan, settings.judge)] == [None]
    judge(store, plan, settings)
    assert spent_usd(store, plan) == 0


def test_an_engine_of_ones_own_sends_no_bill(store, tmp_path):
    (tmp_path / "matrix.yaml").write_text(
        yaml.safe_dump({"runs": [{"id": "D", "protocol": "direct", "model": "internvl3-78b"}]})
    )
    settings = load()
    plan = make_plan(settings.judge, Choice(matrix=tmp_path / "matrix.yaml"))
    (found,) = estimates(store, store, [PART], plan, settings.judge)
    assert found.calls > 0
    assert found.usd == 0
