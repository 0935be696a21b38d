"""Whole extraction jobs on a real local Ray with OCR by a server (a stand-in): workers, GPUs and a server that is gone."""

import subprocess
import sys

import pytest
import yaml
from servers.paddleocr_vl import OcrServer

from sfq_ray.store import Store


def planted(image):
    height, width = image.shape[:2]
    x, y = width * 0.5, height * 0.2
    return [(f"width{width}", ((1, 1), (x, 1), (x, y), (1, y)))]


@pytest.fixture
def paper(make_pdf):
    def draw(sheet):
        sheet.column(72, 72, 468, 100)
        sheet.picture(180, 200, 240, 130, 40)
        sheet.text(150, 354, "Figure 1: A picture with its caption below it.")
        sheet.column(72, 400, 468, 250)

    return make_pdf(draw)


@pytest.fixture
def extract(tmp_path, paper):
    def run(out, workers, url, **features):
        config = tmp_path / f"{out}.yaml"
        config.write_text(yaml.safe_dump({"features": {"ocr": "paddleocr-vl", "ocr_server": {"url": url}} | features}))
        command = ["extract", paper, "--out", tmp_path / out, "--workers", workers, "--config", config]
        return subprocess.run(
            [sys.executable, "-m", "sfq_ray.cli", *map(str, command)], capture_output=True, text=True, timeout=200
        )

    return run


def test_a_job_reads_by_the_server_and_one_that_finds_none_says_so_and_can_be_run_again(extract, tmp_path):
    with OcrServer(reader=planted) as server:
        url = f"{server.url}/v1"
        port = int(server.url.rsplit(":", 1)[1])
    result = extract("out", 1, url)
    assert result.returncode == 1
    assert f"features.ocr_server.url: no list of models from {url}" in result.stderr
    with OcrServer(reader=planted, port=port) as server:
        result = extract("out", 2, url)
        assert result.returncode == 0, result.stderr
        (figure,) = Store(tmp_path / "out").rows("figures", ["words", "ocr_backend", "error"])
        assert len(server.sent) == 1
    assert (figure["ocr_backend"], figure["error"]) == ("paddleocr-vl", None)
    assert figure["words"][0]["text"].startswith("width")


def test_gpus_that_ocr_asks_for_and_that_are_not_there_are_named(extract):
    result = extract("out", 1, "http://127.0.0.1:9/v1", ocr_gpus=1)
    assert result.returncode == 1
    assert "features.ocr_gpus: 1 GPUs are asked for each actor, but Ray knows of 0" in result.stderr
