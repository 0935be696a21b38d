"""What is still to do, and when a job of failures stops."""

import pytest

from sfq_ray.errors import FatalError
from sfq_ray.judge.matrix import Run
from sfq_ray.judge.tally import PARTS_PER_UNIT, Tally, units
from sfq_ray.store import Store

RUNS = [Run("a", "direct", "m", "m"), Run("b", "direct", "m", "m")]


def parts(count):
    return [f"part-{number:05d}" for number in range(count)]


@pytest.mark.parametrize(("count", "workers", "units_made"), [(64, 16, 16), (500, 4, 63), (3, 8, 3), (0, 2, 0)])
def test_no_worker_idles_while_another_has_parts_to_spare(count, workers, units_made):
    found = units((), parts(count), RUNS, workers)
    assert len(found) == units_made
    assert [part for unit in found for part in unit["todo"]] == parts(count)
    assert all(len(unit["todo"]) <= PARTS_PER_UNIT for unit in found)


def test_what_is_done_is_not_done_again():
    done = {"a.part-00000", "b.part-00000", "b.part-00001", "old.part-00002"}
    assert units(done, parts(3), RUNS, 1) == [{"todo": {"part-00001": ["a"], "part-00002": ["a", "b"]}}]


def test_a_run_of_failures_stops_the_job_and_others_do_not(tmp_path):
    store = Store(tmp_path)
    store.prepare()
    tally = Tally(store, RUNS, max_failure_rate=0.5)
    tally.add({"a": {"failed": 49}, "b": {"scored": 30, "failed": 30}})
    with pytest.raises(FatalError, match="run a: 50 of 50 scores failed"):
        tally.add({"a": {"failed": 1}})
