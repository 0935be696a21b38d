"""Run matrices: ours and the released form, the choice of runs, and what is loaded together."""

from pathlib import Path

import pytest
import yaml

from sfq_ray.config import ConfigError
from sfq_ray.judge.matrix import Run, choose, groups, load_matrix, own_runs, repeat_of, repeated

EVAL = Path(__file__).parents[2] / "jobs" / "eval1200.yaml"


def matrix(tmp_path, *entries):
    path = tmp_path / "matrix.yaml"
    path.write_text(yaml.safe_dump({"runs": list(entries)}))
    return path


def test_the_benchmark_has_29_runs():
    runs = load_matrix(EVAL)
    assert [run.id for run in runs] == [
        *(f"D{i}" for i in range(1, 12)), *(f"S{i}" for i in range(1, 10)), *(f"F{i}" for i in range(1, 10)),
    ]  # fmt: skip
    assert {run.id: run.protocol for run in runs}["S4"] == "sidecar"
    assert [run.id for run in runs if len(run.models) == 2] == ["F5"]


def test_the_released_form_is_read(tmp_path):
    path = matrix(
        tmp_path,
        {"id": "D1", "phase": "direct", "protocol": "baseline", "provider": "google", "model": "m1"},
        {"id": "S1", "phase": "sidecar", "protocol": "with_features", "provider": "google", "model": "m1"},
        {"id": "F5", "phase": "agent", "protocol": "agent", "vlm": {"provider": "q", "model": "m2"},
         "llm": {"provider": "q", "model": "m3"}, "api_calls_per_fig": 3},
    )  # fmt: skip
    assert load_matrix(path) == [
        Run("D1", "direct", "m1", "m1"), Run("S1", "sidecar", "m1", "m1"), Run("F5", "agent", "m2", "m3"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"id": "X", "protocol": "oracle", "model": "m"}, r"\(X\): protocol 'oracle' is unknown"),
        ({"id": "X", "protocol": "direct"}, "either `model`, or both"),
        ({"id": "X", "protocol": "agent", "vision": "m"}, "either `model`, or both"),
        ({"id": "X", "protocol": "agent", "model": "m", "vision": "n", "language": "n"}, "either `model`, or both"),
        ({"id": "X", "protocol": "direct", "vision": "m", "language": "m"}, "has one call"),
        ({"id": "X", "protocol": "direct", "model": "m", "temperature": 0}, "unknown keys: temperature"),
        ({"id": "../X", "protocol": "direct", "model": "m"}, "letters, digits"),
        ({"protocol": "direct", "model": "m"}, "with an `id`"),
        ("D1", "with an `id`"),
    ],
)
def test_what_is_wrong_with_a_run_is_said(tmp_path, entry, said):
    with pytest.raises(ConfigError, match=said):
        load_matrix(matrix(tmp_path, entry))


def test_no_runs_and_double_ids(tmp_path):
    with pytest.raises(ConfigError, match="at least one run"):
        load_matrix(matrix(tmp_path))
    with pytest.raises(ConfigError, match="'D1' stands twice"):
        load_matrix(matrix(tmp_path, *[{"id": "D1", "protocol": "direct", "model": "m"}] * 2))
    with pytest.raises(ConfigError, match="cannot be read"):
        load_matrix(tmp_path / "none.yaml")


def test_runs_are_chosen_by_patterns_in_the_order_of_the_matrix():
    runs = load_matrix(EVAL)
    assert [run.id for run in choose(runs, "F3, S*,D1")] == ["D1", *(f"S{i}" for i in range(1, 10)), "F3"]
    assert choose(runs, None) == runs
    with pytest.raises(ConfigError, match="'X1' names no run"):
        choose(runs, "D1,X1")


def test_runs_that_share_a_model_are_judged_together():
    found = {tuple(run.id for run in group) for group in groups(load_matrix(EVAL))}
    assert ("D7", "S6", "F7") in found
    assert ("D11", "S9") in found
    assert ("D4", "S3", "F5") in found
    assert sum(map(len, found)) == 29


def test_repeats_are_runs_of_their_own():
    runs = repeated([Run("F3", "agent", "m", "m")], 3)
    assert [(run.id, run.repeat) for run in runs] == [("F3", 0), ("F3+1", 1), ("F3+2", 2)]


def test_a_repeat_that_another_run_is_called_by_is_refused():
    runs = [Run("F3", "agent", "m", "m"), Run("F3+1", "agent", "n", "n")]
    assert repeated(runs, 1) == runs
    with pytest.raises(ConfigError, match=r"F3\+1 would stand for two runs"):
        repeated(runs, 2)


@pytest.mark.parametrize("patterns", ["", " , "])
def test_a_choice_of_nothing_is_refused(patterns):
    with pytest.raises(ConfigError, match="names no run; there are"):
        choose(load_matrix(EVAL), patterns)


def test_a_repeat_names_its_run():
    share = repeated([Run("F3", "agent", "m", "m")], 2, 0.25)[1]
    ids = [f"p{number}__fig0001" for number in range(2000)]
    chosen = [name for name in ids if share.judges(name)]
    assert 400 < len(chosen) < 600
    assert all(repeated([Run("F3", "agent", "m", "m")], 3, 0.5)[2].judges(name) for name in chosen), "the same ones"
    names = [run.id for run in repeated(own_runs("rules", ["direct"]), 3)]
    assert [repeat_of(name) for name in names] == [("rules-direct", 0), ("rules-direct", 1), ("rules-direct", 2)]
    assert [repeat_of(name) for name in ("a+0", "a+b", "+1", "a+b+12")] == [
        ("a+0", 0),
        ("a+b", 0),
        ("+1", 0),
        ("a+b", 12),
    ]
