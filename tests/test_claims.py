"""The manifest keeps apart what was made with different things, whatever a run is made again with."""

import pytest

from sfq_ray.claims import claimed
from sfq_ray.config import Settings, load
from sfq_ray.errors import FatalError


def judge(store, figures, again=False, settings=None, **extra):
    """Claims runs, each with its model's `extra`, over the figures of that name."""
    runs = {
        name: {"vision": {"extra": value}, "settings": {"judge": (settings or Settings()).judge.model_dump(mode="json")}}
        for name, value in extra.items()
    }  # fmt: skip
    manifest = claimed(store, "judge", settings or Settings(), (), {"figures": figures, "runs": runs}, again)
    store.write_manifest(manifest)
    return manifest["judge"]


def test_runs_are_added_and_the_same_is_said_again(store):
    judge(store, "f", A={})
    assert set(judge(store, "f", B={"seed": 1})["runs"]) == {"A", "B"}
    assert set(judge(store, "f", A={})["runs"]) == {"A", "B"}


def test_another_extra_is_refused_by_name_with_the_ways_out(store):
    judge(store, "f", A={})
    with pytest.raises(FatalError, match=r"runs\.A\.vision\.extra\.seed: None -> 1.*another --out.*or --again"):
        judge(store, "f", A={"seed": 1})
    assert judge(store, "f", again=True, A={"seed": 1})["runs"]["A"]["vision"] == {"extra": {"seed": 1}}


def test_how_a_job_runs_may_change(store):
    judge(store, "f", A={})
    judge(store, "f", A={}, settings=load(None, {"judge.calls_in_flight": 3, "judge.deadline_s": 9.0}))


def test_what_is_made_again_does_not_move_the_figures_under_the_other_runs(store):
    judge(store, "f", A={}, B={})
    with pytest.raises(FatalError, match="figures: 'f' -> 'g'"):
        judge(store, "g", again=True, A={})
    assert store.manifest()["judge"]["figures"] == "f"
    assert judge(store, "g", again=True, A={}, B={})["figures"] == "g"
