"""What the command says when it cannot do what was asked."""

import os
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from sfq_ray.cli import app
from sfq_ray.config import load

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


def test_without_arguments_it_says_how_to_start():
    result = run()
    assert "sfq run PDFS --out DIR" in " ".join(result.output.split())


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["run"],
        ["extract"],
        ["judge"],
        ["report"],
        ["settings"],
        ["import"],
        ["gold", "audit"],
        ["split"],
        ["release"],
        ["evaluate"],
        ["fit"],
    ],
)
def test_help_everywhere(command):
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "nowhere.pdf", "--out", "o"], "nowhere.pdf: no such file or folder"),
        (["run", "no*where.pdf", "--out", "o"], "at least one file"),
        (["run", "empty", "--out", "o"], "no PDF found"),
        (["judge", "empty"], "run `sfq extract"),
        (["report", "empty"], "run `sfq extract"),
        (["import", "empty", "--out", "o"], "figures.jsonl"),
        (["import", "nowhere.csv", "--out", "o"], "nowhere.csv: cannot be read"),
        (["gold", "audit", "empty"], "run `sfq import"),
        (["split", "empty"], "run `sfq import"),
        (["release", "empty", "--out", "o"], "no kept figure here"),
        (["evaluate", "empty"], "run `sfq import"),
        (["fit", "empty", "--out", "o"], "run `sfq import"),
        (["run", "a.pdf", "--out", "a.pdf"], "another --out"),
        (["run", "a.pdf", "--out", "o", "--config", "missing.yaml"], "missing.yaml: cannot be read"),
        (["run", "a.pdf", "--out", "o", "--config", "wrong.yaml"], "extract.dp: Extra inputs are not permitted"),
        (["run", "a.pdf", "--out", "o", "--protocols", "telepathy"], "judge.protocols"),
        (["extract", "bad.csv", "--out", "o"], "no value in the column 'path'"),
        (["doctor", "--runs", "D1"], "--runs: chooses from a matrix"),
    ],
)
def test_each_mistake_has_one_clear_line(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("a.pdf").write_bytes(b"%PDF-1.4")
    Path("wrong.yaml").write_text("extract: {dp: 200}")
    Path("bad.csv").write_text("file\na.pdf\n")
    result = run(*arguments)
    assert result.exit_code == 1
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["extract", "a.pdf", "--out", "ftp://host/out"], "use a folder, s3:// or gs://"),
        (["judge", "ftp://host/out"], "use a folder, s3:// or gs://"),
        (["evaluate", "o", "--scores", "ftp://host/out"], "use a folder, s3:// or gs://"),
        (["report", "o", "--out", "s3://bucket/o"], "needs a local folder"),
        (["import", "data", "--out", "s3://bucket/o"], "needs a local folder"),
        (["gold", "audit", "s3://bucket/o"], "needs a local folder"),
        (["split", "s3://bucket/o"], "needs a local folder"),
        (["fit", "s3://bucket/o", "--out", "f"], "needs a local folder"),
        (["release", "o", "--out", "s3://bucket/o"], "needs a local folder"),
        (["evaluate", "o", "--out", "s3://bucket/o"], "needs a local folder"),
    ],
)
def test_a_place_that_a_command_cannot_use_is_a_wrong_option(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.replace("│", " ").split())
    assert not list(tmp_path.iterdir()), "no folder of that name was made"


@pytest.mark.parametrize("option", [["--ocr", "telescope"], ["--backend", "oracle"]])
def test_an_unknown_backend_names_the_known_ones(tmp_path, option):
    """Found before any work is done."""
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4")
    result = run("run", tmp_path / "a.pdf", "--out", tmp_path / "o", *option)
    assert result.exit_code == 1
    assert "known: " in result.stderr
    assert not (tmp_path / "o" / "papers").exists()


@pytest.mark.skipif(
    os.geteuid() == 0 and not Path("/proc/version").exists(), reason="needs a place nobody can write to"
)
def test_an_unwritable_output_says_so(tmp_path):
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4")
    result = run("run", tmp_path / "a.pdf", "--out", "/proc/sfq")
    assert result.exit_code == 1
    assert "cannot be written to" in result.stderr


def test_settings_are_yaml_that_can_be_given_back(tmp_path):
    result = run("settings")
    assert result.exit_code == 0
    path = tmp_path / "settings.yaml"
    path.write_text(result.output)
    assert load(path) == load()
    assert yaml.safe_load(result.output)["extract"]["dpi"] == 300
