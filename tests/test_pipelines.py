"""Whole jobs on a real local Ray: the same tables whatever the workers, the interruptions and the order."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pandas as pd
import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
TABLES = ("papers", "figures", "calls", "scores")


def sfq(*arguments, check=True):
    result = subprocess.run(
        [sys.executable, "-m", "sfq_ray.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=240,
    )
    if check:
        assert result.returncode == 0, result.stderr
    return result


def digests(out):
    """SHA-256 of every file of the four tables."""
    return {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
        for table in TABLES
        for path in sorted((out / table).rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def pdfs(tmp_path_factory):
    """Two example papers, a copy of one, and files that are no papers."""
    folder = tmp_path_factory.mktemp("pdfs")
    for name in ("clean-two-column", "defective-two-column"):
        (folder / f"{name}.pdf").write_bytes((EXAMPLES / f"{name}.pdf").read_bytes())
    (folder / "twin.pdf").write_bytes((EXAMPLES / "clean-two-column.pdf").read_bytes())
    (folder / "empty.pdf").write_bytes(b"")
    (folder / "page.pdf").write_bytes(b"<!DOCTYPE html><html>404</html>")
    (folder / "cut.pdf").write_bytes((EXAMPLES / "fig-style.pdf").read_bytes()[:4000])
    return folder


@pytest.fixture(scope="module")
def reference(pdfs, tmp_path_factory):
    out = tmp_path_factory.mktemp("reference") / "out"
    result = sfq("run", pdfs, "--out", out, "--workers", 2)
    return out, result


def query(out, sql):
    return duckdb.sql(sql.format(**{table: f"'{out}/{table}/*.parquet'" for table in TABLES})).fetchall()


def test_every_input_is_one_row_with_its_reason(reference):
    out, result = reference
    rows = query(out, "select paper_id, outcome, coalesce(dropped, error) from {papers} order by paper_id")
    assert rows == [
        ("clean-two-column", "kept", None),
        ("cut", "failed", "damaged"),
        ("defective-two-column", "kept", None),
        ("empty", "failed", "empty_file"),
        ("page", "failed", "not_pdf"),
        ("twin", "dropped", "duplicate"),
    ]
    assert "papers: 6 = 2 kept + 1 dropped + 3 failed" in result.stdout
    assert "figures: 10 = 10 kept + 0 dropped + 0 failed" in result.stdout
    assert "scores: 30 = 30 scored + 0 gated + 0 failed" in result.stdout


def test_the_log_is_quiet(reference):
    _, result = reference
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert all(line.startswith(("extract: ", "judge: ", "failed: ")) for line in lines), result.stderr


def test_tables_open_with_duckdb_and_pandas(reference):
    out, _ = reference
    assert query(out, "select count(*) from {scores} where overall between 1 and 10") == [(30,)]
    assert query(out, "select sum(len(contexts)) > 10, min(octet_length(image)) > 1000 from {figures}") == [
        (True, True)
    ]
    frame = pd.read_parquet(out / "figures")
    assert len(frame) == 10
    assert frame["contexts"].map(len).max() >= 3


def test_the_report_is_there(reference):
    out, result = reference
    assert (out / "report" / "index.html").is_file()
    assert f"report: {out / 'report' / 'index.html'}" in result.stdout


def test_one_worker_gives_the_same_bytes(reference, pdfs, tmp_path):
    sfq("run", pdfs, "--out", tmp_path / "out", "--workers", 1)
    assert digests(tmp_path / "out") == digests(reference[0])


def test_running_again_changes_nothing(reference, pdfs):
    out, _ = reference
    before = digests(out)
    stamps = {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")}
    sfq("run", pdfs, "--out", out, "--workers", 2)
    assert digests(out) == before
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.parquet")} == stamps


def test_killed_at_random_moments_and_run_again_the_tables_are_the_same(reference, pdfs, tmp_path):
    out = tmp_path / "out"
    moments = random.Random(7)
    command = [sys.executable, "-m", "sfq_ray.cli", "run", str(pdfs), "--out", str(out), "--workers", "2"]
    for _ in range(3):
        job = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, cwd=ROOT
        )
        time.sleep(moments.uniform(6, 20))
        os.killpg(job.pid, signal.SIGKILL)  # the driver and, with it, its Ray processes
        job.wait()
        # Ray's own daemons run in sessions of their own; they end when they miss the driver
    sfq("run", pdfs, "--out", out, "--workers", 2)
    assert digests(out) == digests(reference[0])
    assert not list(out.rglob("*.tmp"))


def test_another_configuration_is_refused_by_name(reference, pdfs):
    out, _ = reference
    before = digests(out)
    result = sfq("run", pdfs, "--out", out, "--ocr", "none", check=False)
    assert result.returncode == 1
    assert "settings.features.ocr: 'rapidocr' -> 'none'" in result.stderr
    assert "another --out" in result.stderr
    config = pdfs.parent / "other.yaml"
    config.write_text("judge: {max_snippets: 1}")
    result = sfq("judge", out, "--config", config, check=False)
    assert result.returncode == 1
    assert "runs.rules-direct.settings.judge.max_snippets: 2 -> 1" in result.stderr
    assert digests(out) == before
    sfq("judge", out, "--protocols", "direct")  # some of the runs are no other configuration
    assert digests(out) == before


def test_other_inputs_are_refused(reference, pdfs):
    out, _ = reference
    result = sfq("run", pdfs / "cut.pdf", "--out", out, check=False)
    assert result.returncode == 1
    assert "inputs.count: 6 -> 1" in result.stderr


def test_the_manifest_says_what_the_tables_were_made_with(reference):
    out, _ = reference
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["extract"]["settings"]["extract"]["dpi"] == 300
    assert manifest["extract"]["inputs"]["count"] == 6
    made = manifest["judge"]["runs"]
    assert set(made) == {"rules-direct", "rules-sidecar", "rules-agent"}
    assert set(made["rules-agent"]["prompts"]) == {"direct", "sidecar", "vision", "language", "fusion"}
    assert manifest["extract"]["versions"]["pymupdf"]


def test_planted_defects_score_lower_in_the_right_dimension(reference):
    """The twin of the clean paper differs from it by one defect per figure (examples/expected.json)."""
    out, _ = reference
    expected = json.loads((EXAMPLES / "expected.json").read_text())["papers"]["defective-two-column"]["defects"]
    assert len(expected) == 5
    for defect in expected:
        rows = query(
            out,
            "select s.protocol, s.paper_id, s." + defect["dimension"] + " from {scores} s join {figures} f "
            f"using (figure_id) where f.label = '{defect['figure']}' order by all",
        )
        for clean, defective in zip(rows[0::2], rows[1::2], strict=True):
            assert (clean[0], clean[1], defective[1]) == (defective[0], "clean-two-column", "defective-two-column")
            assert defective[2] < clean[2], (defect, clean, defective)
