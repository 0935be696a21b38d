"""What a judging job will do, and what is refused before it begins."""

import pytest
import yaml

from sfq_ray.config import ConfigError, Judge
from sfq_ray.judge.plan import Choice, account_of, limits_of, make_plan

RECORD = {"backend": "openai", "model": "m", "key_env": "A_KEY", "dialect": "prompt_only", "source": "user"}


def choice(tmp_path, model="mine", record=None, **more):
    (tmp_path / "models.yaml").write_text(yaml.safe_dump({model: RECORD | (record or {})}))
    (tmp_path / "matrix.yaml").write_text(yaml.safe_dump({"runs": [{"id": "R", "protocol": "agent", "model": model}]}))
    return Choice(matrix=tmp_path / "matrix.yaml", models=tmp_path / "models.yaml", **more)


def test_without_a_matrix_there_is_one_run_for_each_protocol():
    plan = make_plan(Judge(), Choice())
    assert [run.id for run in plan.runs] == ["rules-direct", "rules-sidecar", "rules-agent"]
    assert plan.accounts() == {}


def test_an_engine_gets_workers_of_its_own_for_all_runs_that_use_it(tmp_path):
    runs = [
        {"id": "A", "protocol": "direct", "model": "gpt-5.6-sol"},
        {"id": "B", "protocol": "direct", "model": "llama-4-maverick"},
        {"id": "C", "protocol": "direct", "model": "internvl3-78b"},
        {"id": "D", "protocol": "agent", "vision": "llama-4-maverick", "language": "qwen-plus"},
        {"id": "E", "protocol": "agent", "model": "rules"},
    ]
    (tmp_path / "matrix.yaml").write_text(yaml.safe_dump({"runs": runs}))
    plan = make_plan(Judge(), Choice(matrix=tmp_path / "matrix.yaml"))
    assert [[run.id for run in pool] for pool in plan.pools()] == [["A", "E"], ["C"], ["B", "D"]]
    assert [model.name for model in plan.engines(plan.pools()[2])] == ["llama-4-maverick"]
    assert [model.name for models in plan.accounts().values() for model in models] == ["gpt-5.6-sol", "qwen-plus"]
    offline = make_plan(Judge(), Choice(matrix=tmp_path / "matrix.yaml", offline=True))
    assert len(offline.pools()) == 1


def test_open_weights_cost_no_money_that_a_budget_could_bound(tmp_path):
    plan = make_plan(Judge(), choice(tmp_path, record={"backend": "vllm", "base_url": None}, max_usd=1.0))
    assert plan.accounts() == {}


def test_a_model_that_takes_no_image_is_not_asked_to_see(tmp_path):
    with pytest.raises(ConfigError, match="R: the record of the model that is to see"):
        make_plan(Judge(), choice(tmp_path, record={"max_images": 0}))


@pytest.mark.parametrize("name", ["org/model", "a model"])
def test_a_model_whose_name_cannot_name_a_file_is_refused(tmp_path, name):
    with pytest.raises(ConfigError, match="since it names files"):
        make_plan(Judge(), choice(tmp_path, model=name))


def test_a_model_without_a_record_is_named(tmp_path):
    (tmp_path / "matrix.yaml").write_text(
        yaml.safe_dump({"runs": [{"id": "R", "protocol": "direct", "model": "none"}]})
    )
    with pytest.raises(ConfigError, match="model 'none' has no record"):
        make_plan(Judge(), Choice(matrix=tmp_path / "matrix.yaml"))


@pytest.mark.parametrize(("repeat", "share"), [(1, 0.1), (1, 0.0), (3, 0.0)])
def test_a_share_of_no_repeats_is_refused(tmp_path, repeat, share):
    with pytest.raises(ConfigError, match="--repeat-share"):
        make_plan(Judge(), choice(tmp_path, repeat=repeat, repeat_share=share))


def test_a_budget_needs_prices(tmp_path):
    with pytest.raises(ConfigError, match="no USD price is known for mine"):
        make_plan(Judge(), choice(tmp_path, max_usd=1.0))


def test_models_of_one_key_share_its_tightest_limit(tmp_path):
    plan = make_plan(Judge(), choice(tmp_path, record={"requests_per_minute": 60.0}))
    model = plan.models["mine"]
    other = model.model_copy(update={"name": "other", "requests_per_minute": 30.0, "tokens_per_minute": 9.0})
    assert account_of(model) == account_of(other)
    assert limits_of([model, other]) == {"requests_per_minute": 30.0, "tokens_per_minute": 9.0}


def test_the_lineage_of_a_run_says_what_determines_its_replies(tmp_path):
    lineage = make_plan(Judge(max_snippets=1), choice(tmp_path)).lineage(Judge(max_snippets=1))["R"]
    assert lineage["settings"]["judge"]["max_snippets"] == 1
    assert lineage["vision"]["dialect"] == "prompt_only"
    assert set(lineage["prompts"]) == {"direct", "sidecar", "vision", "language", "fusion"}
