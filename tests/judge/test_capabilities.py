"""Capability records: all models of the benchmark, unknowns null, and a user's own file on top."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from sfq_ray.config import ConfigError, Judge
from sfq_ray.judge.backends.provider import decoding
from sfq_ray.judge.capabilities import load_models
from sfq_ray.judge.dialects import compile_schema
from sfq_ray.judge.schemas import REPLIES

RUNS = {
    "D1": "gemini-3.5-flash", "D2": "gpt-5.6-sol", "D3": "claude-sonnet-5", "D4": "qwen-vl-max", "D5": "glm-4.6v",
    "D6": "doubao-seed-2.0-pro", "D7": "llama-4-maverick", "D8": "pixtral-large", "D9": "nova-pro",
    "D10": "claude-opus-4.8", "D11": "internvl3-78b",
    "S1": "gemini-3.5-flash", "S2": "gpt-5.6-sol", "S3": "qwen-vl-max", "S4": "glm-4.6v", "S5": "doubao-seed-2.0-pro",
    "S6": "llama-4-maverick", "S7": "pixtral-large", "S8": "nova-pro", "S9": "internvl3-78b",
    "F1": "gemini-3.5-flash", "F2": "gemini-3.1-pro", "F3": "gpt-5.6-sol", "F4": "claude-sonnet-5",
    "F5": "qwen-vl-max qwen-plus", "F6": "glm-4.6v", "F7": "llama-4-maverick", "F8": "claude-opus-4.8",
    "F9": "nova-pro",
}  # fmt: skip
NEW = "mine: {backend: vllm, model: org/mine, dialect: vllm}"


def own(folder: Path, text: str) -> Path:
    path = folder / "models.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_model_of_the_29_runs_has_a_record():
    assert len(RUNS) == 29
    assert {name for names in RUNS.values() for name in names.split()} == set(load_models())


@pytest.mark.parametrize("model", load_models().values(), ids=lambda model: model.name)
def test_a_shipped_record_is_dated_and_its_dialect_compiles(model):
    assert model.checked is not None
    assert model.checked <= date(2026, 12, 1)
    assert model.source in ("notes", "documentation")
    for stage in REPLIES:
        compile_schema(model.dialect, stage)


def test_open_weights_need_no_key_and_apis_name_their_variable():
    models = load_models().values()
    assert {m.name for m in models if m.key_env is None} == {
        "llama-4-maverick", "pixtral-large", "internvl3-78b", "nova-pro"
    }  # fmt: skip
    assert {m.backend for m in models} == {"openai", "anthropic", "gemini", "bedrock", "vllm"}


def test_what_is_unknown_is_null():
    assert load_models()["gpt-5.6-sol"].max_image_bytes is None
    assert load_models()["glm-4.6v"].sampling is None


def test_a_file_of_ones_own_changes_single_fields(tmp_path):
    shipped = load_models()
    models = load_models(own(tmp_path, "pixtral-large: {base_url: 'http://gpu:8000/v1', max_images: 1}"))
    changed = models["pixtral-large"]
    assert (changed.base_url, changed.max_images, changed.model) == (
        "http://gpu:8000/v1", 1, shipped["pixtral-large"].model
    )  # fmt: skip
    assert (changed.source, changed.checked) == ("user", None)
    assert models | {"pixtral-large": None} == shipped | {"pixtral-large": None}


def test_a_file_of_ones_own_adds_models(tmp_path):
    text = f"{NEW}\nother: {{backend: openai, model: o, dialect: json_object, key_env: OTHER_KEY, checked: 2027-01-02}}"
    models = load_models(own(tmp_path, text))
    assert models["mine"].name == "mine"
    assert models["mine"].source == "user"
    assert models["other"].checked == date(2027, 1, 2)
    assert len(models) == len(load_models()) + 2


def test_an_empty_file_changes_nothing(tmp_path):
    assert load_models(own(tmp_path, "# nothing yet\n")) == load_models()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpt-5.6-sol: {temperature: 0}", "gpt-5.6-sol.temperature: Extra inputs are not permitted"),
        ("mine: {backend: vllm}", "mine.model: Field required; mine.dialect: Field required"),
        ("glm-4.6v: {backend: zhipu}", "glm-4.6v.backend: Input should be 'rules'"),
        ("glm-4.6v: {dialect: yaml}", "glm-4.6v.dialect: Value error, unknown; known: anthropic"),
        ("glm-4.6v: {thinking: a lot}", "glm-4.6v.thinking: Input should be 'none'"),
        ("glm-4.6v: {max_images: -1}", "glm-4.6v.max_images: "),
        ("glm-4.6v: {max_image_side_px: 0}", "glm-4.6v.max_image_side_px: "),
        ("glm-4.6v: {base_url: api.z.ai}", "glm-4.6v.base_url: "),
        ("glm-4.6v: {source: memory}", "glm-4.6v.source: "),
        ("glm-4.6v: {name: other}", "glm-4.6v: must be a name with a mapping of fields, of which name is none"),
        ("glm-4.6v: vllm", "glm-4.6v: must be a name with a mapping"),
        ("1: {backend: vllm}", "1: must be a name"),
        ("[a, b]", "must be a mapping of names to records"),
        ("a: [", "cannot be read as YAML"),
    ],
)
def test_a_bad_record_is_named_with_file_and_key(tmp_path, text, message):
    path = own(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_models(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_a_key_in_place_of_its_variable_is_refused_and_not_shown(tmp_path):
    with pytest.raises(ConfigError, match=r"gpt-5.6-sol.key_env: ") as caught:
        load_models(own(tmp_path, "gpt-5.6-sol: {key_env: sk-a1b2c3}"))
    assert "sk-a1b2c3" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read"):
        load_models(tmp_path / "none.yaml")


def test_the_records_of_open_weights_say_what_ray_is_to_reserve():
    models = load_models(Path(__file__).parents[2] / "jobs" / "open-weights.yaml")
    assert {name: model.gpus_needed for name, model in models.items() if model.gpus_needed} == {
        "internvl3-78b": 4, "llama-4-maverick": 8, "llama-4-maverick-bf16": 16, "pixtral-large": 8,
        "qwen2.5-vl-7b": 1, "internvl3-8b": 1,
    }  # fmt: skip
    assert [name for name, model in models.items() if model.spans_nodes] == ["llama-4-maverick-bf16"]
    assert models["pixtral-large"].answering == {
        "config_format": "mistral", "load_format": "mistral", "max_model_len": 16384, "tokenizer_mode": "mistral",
    }  # fmt: skip


def test_where_an_engine_runs_is_no_part_of_a_request(tmp_path):
    text = "mine: {{backend: vllm, model: org/mine, dialect: vllm, engine: {{{}}}}}"
    ids = [
        decoding(load_models(own(tmp_path, text.format(engine)))["mine"], Judge())
        for engine in ("dtype: bfloat16", "dtype: bfloat16, gpu_memory_utilization: 0.8", "dtype: float16")
    ]
    assert ids[0] == ids[1] != ids[2]


def test_replicas_are_the_fewest_and_the_most(tmp_path):
    with pytest.raises(ConfigError, match=r"mine\.replicas: Value error, the fewest and the most"):
        load_models(own(tmp_path, "mine: {backend: vllm, model: m, dialect: vllm, replicas: [2, 1]}"))
