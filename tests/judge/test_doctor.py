"""What is usable, what is missing, and which reply form works."""

from importlib.util import find_spec

import pytest
from hosted import models_file, served
from servers import Model as Served
from servers import ProtocolServer

from sfq_ray.config import Judge
from sfq_ray.judge.capabilities import load_models
from sfq_ray.judge.doctor import examine

SETTINGS = Judge(deadline_s=3.0)
pytestmark = pytest.mark.usefixtures("keys")


def test_a_missing_key_and_a_missing_package_are_said(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    models = load_models()
    found = {
        f.model: f
        for f in examine([models["gpt-5.6-sol"], models["internvl3-78b"], models["qwen-plus"]], SETTINGS, False)
    }
    assert not found["gpt-5.6-sol"].usable
    assert "OPENAI_API_KEY" in found["gpt-5.6-sol"].says
    if find_spec("vllm") is None:
        assert "pip install 'sfq_ray[vllm]'" in found["internvl3-78b"].says
    assert found["qwen-plus"].usable


def test_a_missing_region_is_said(monkeypatch):
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    (finding,) = examine([load_models()["nova-pro"]], SETTINGS, False)
    assert not finding.usable
    assert "AWS_REGION" in finding.says


def test_one_call_tells_that_a_model_answers_in_its_form(tmp_path):
    names = ("gpt-5.6-sol", "claude-opus-4.8", "gemini-3.5-flash", "nova-pro", "qwen-vl-max", "glm-4.6v")
    with ProtocolServer(models=served()) as server:
        models = load_models(models_file(tmp_path / "models.yaml", server.url))
        found = examine([models[name] for name in names], SETTINGS, True)
        assert sum(server.accepted.values()) == len(names)
    assert all(finding.usable for finding in found), found


def test_a_refused_form_is_told_with_one_that_works(tmp_path):
    knows = served() | {"gpt-5.6-sol": Served("ark", json_modes=())}
    with ProtocolServer(models=knows) as server:
        models = load_models(models_file(tmp_path / "models.yaml", server.url))
        (finding,) = examine([models["gpt-5.6-sol"]], SETTINGS, True)
    assert not finding.usable
    assert finding.says.startswith("openai_strict fails")
    assert "prompt_only works" in finding.says


def test_a_refused_key_is_said_without_the_key(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")
    with ProtocolServer(models=served()) as server:
        models = load_models(models_file(tmp_path / "models.yaml", server.url))
        (finding,) = examine([models["gpt-5.6-sol"]], SETTINGS, True)
    assert not finding.usable
    assert "OPENAI_API_KEY was refused" in finding.says
    assert "planted" not in finding.says


@pytest.mark.parametrize("name", ["gpt-5.6-sol", "nova-pro", "gemini-3.5-flash"])
def test_a_provider_that_never_answers_is_given_up(tmp_path, name):
    with ProtocolServer(models=served(), script=lambda asked, seen: "hang") as server:
        model = load_models(models_file(tmp_path / "models.yaml", server.url))[name]
        (finding,) = examine([model], Judge(deadline_s=0.5), probe=True)
    assert not finding.usable
    assert "timeout" in finding.says
