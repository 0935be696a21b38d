"""The extraction worker: rows that add up, failures tried again, and papers that kill the worker."""

import os
import subprocess
import sys
from pathlib import Path

from sfq_ray.config import load
from sfq_ray.deaths import Deaths
from sfq_ray.extract.worker import ExtractWorker
from sfq_ray.inputs import collect

EXAMPLES = Path(__file__).parents[2] / "examples"
SETTINGS = load(None, {"features.ocr": "none"})


def unit(*paths):
    return {"part": "part-00000", "inputs": [item.as_dict() for item in collect([str(path) for path in paths])]}


def test_counts_add_up_for_every_paper(store, tmp_path):
    (tmp_path / "bad.pdf").write_bytes(b"")
    summary = ExtractWorker(store.root, SETTINGS, "job")(unit(EXAMPLES / "one-column.pdf", tmp_path / "bad.pdf"))
    good, bad = store.read("papers", "part-00000").to_pylist()
    figures = store.read("figures", "part-00000").to_pylist()
    assert summary["papers"] == 2
    assert (good["outcome"], bad["outcome"], bad["error"]) == ("kept", "failed", "empty_file")
    assert good["figures_found"] == good["figures_kept"] == len(figures) == 4
    assert [figure["figure_id"] for figure in figures] == [f"one-column__fig{i:04d}" for i in range(1, 5)]
    assert all(figure["image"][:4] == b"\x89PNG" for figure in figures)


def test_a_failure_that_may_pass_is_tried_again_and_the_rest_is_kept(store, tmp_path):
    late = tmp_path / "late.pdf"
    late.write_bytes(b"%PDF-")  # there when the inputs are collected, gone when it is read
    work = unit(EXAMPLES / "one-column.pdf", late)
    late.unlink()
    ExtractWorker(store.root, SETTINGS, "job")(work)
    before = store.read("papers", "part-00000").to_pylist()
    assert before[1]["error"] == "unreadable"
    late.write_bytes((EXAMPLES / "fig-style.pdf").read_bytes())
    ExtractWorker(store.root, SETTINGS, "job")(work)
    after = store.read("papers", "part-00000").to_pylist()
    assert after[0] == before[0]
    assert after[1]["outcome"] == "kept"


def test_a_paper_that_kills_its_worker_is_bounded(store, tmp_path):
    """The process dies in the features of one paper, as native code can; a new one goes on, twice, then gives it up."""
    script = """
import os, sys
from pathlib import Path
from sfq_ray.config import load
from sfq_ray.extract import worker
from sfq_ray.inputs import collect
open_figure = worker.open_figure
def deadly(png, words, *rest):
    if any("token queue" in (w["text"] or "").lower() for w in words):
        os._exit(1)
    return open_figure(png, words, *rest)
worker.open_figure = deadly
inputs = [item.as_dict() for item in collect(sys.argv[2:])]
worker.ExtractWorker(Path(sys.argv[1]), load(None, {"features.ocr": "none"}), "job")({"part": "part-00000", "inputs": inputs})
"""
    command = [
        sys.executable, "-c", script, str(store.root), str(EXAMPLES / "fig-style.pdf"), str(EXAMPLES / "one-column.pdf")
    ]  # fmt: skip
    codes = [subprocess.run(command, env=dict(os.environ), timeout=120).returncode for _ in range(3)]
    assert codes == [1, 1, 0]
    deadly, harmless = store.read("papers", "part-00000").to_pylist()
    assert (deadly["outcome"], deadly["error"]) == ("failed", "crashed")
    assert "died 2 times" in deadly["message"]
    assert harmless["outcome"] == "kept"


def test_deaths_of_another_job_do_not_count(tmp_path):
    path = tmp_path / "part.json"
    for _ in range(3):
        Deaths(path, "first").enter("paper")
        path_text = path.read_text()
        assert '"first"' in path_text
        path.write_text(path_text.replace('"first"', '"killed"'))
    Deaths(path, "first").enter("paper")
