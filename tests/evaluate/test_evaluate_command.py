"""`sfq evaluate` as people run it, and the way to it: import, judge, evaluate."""

import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dataset_made_up import record
from judged_made_up import Made, sheet
from typer.testing import CliRunner

from sfq_ray.cli import app


def evaluate(*arguments):
    return CliRunner().invoke(app, ["evaluate", *map(str, arguments)])


def test_the_command_prints_what_it_writes(tmp_path):
    made = Made(tmp_path / "out")
    made.run("a-direct", 1.0)
    made.out = tmp_path / "more"
    made.run("a-agent", 0.5, skip=[0])
    split = tmp_path / "split.jsonl"
    split.write_text("".join(json.dumps({"paper_id": p, "fig_index": i}) + "\n" for p, i in made.keys[1:]))
    result = evaluate(
        tmp_path / "out", "--scores", tmp_path / "out", "--scores", made.out, "--split", split, "--reference", "a-direct",
        "--out", tmp_path / "to", "--draws", "100",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert result.output.startswith((tmp_path / "to" / "leaderboard.md").read_text())
    assert f"evaluation: {tmp_path / 'to'}" in result.output
    assert f"page: {tmp_path / 'to' / 'index.html'}" in result.output
    assert (tmp_path / "to" / "page" / "run-0001.html").is_file()
    assert "- figures with gold outside the split: 1" in result.output
    assert "- scores of figures outside the split: 1" in result.output
    assert "| a-agent - a-direct |" in result.output
    rows = pq.read_table(tmp_path / "to" / "leaderboard.parquet").to_pylist()
    assert [(row["run_id"], row["rank"]) for row in rows[:2]] == [("a-agent", 1), ("a-direct", 2)]
    assert not (tmp_path / "out" / "evaluation").exists()


def test_prices_of_the_user_give_money(tmp_path):
    made = Made(tmp_path, papers=2)
    made.run("a-direct", 1.0)
    (tmp_path / "prices.yaml").write_text("nobody: {input: 1.0, output: 1.0}\n")
    result = evaluate(tmp_path, "--draws", "100", "--prices", tmp_path / "prices.yaml")
    assert result.exit_code == 0, result.output
    assert "| a-direct | 8 | – | – | – |" in result.output, "its calls are not in the ledger"


def test_mistakes_have_one_clear_line(tmp_path):
    made = Made(tmp_path, papers=2)
    made.run("a-direct", 1.0)
    for arguments, words in (
        (["--reference", "z"], "--reference z: no such run"),
        (["--split", tmp_path / "none.jsonl"], "none.jsonl: cannot be read"),
        (["--scores", tmp_path / "none"], "no scores/ here"),
        (["--prices", tmp_path / "none.yaml"], "none.yaml: cannot be read"),
    ):
        result = evaluate(tmp_path, "--draws", "100", *arguments)
        assert result.exit_code == 1
        assert words in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("table", ["ratings", "figures", "scores", "calls"])
@pytest.mark.parametrize("damage", ["cut off", "of another table"])
def test_a_damaged_table_is_one_clear_line(table, damage, tmp_path):
    made = Made(tmp_path, papers=2)
    made.run("a-direct", 1.0)
    path = tmp_path / table / "part-00009.parquet"
    if damage == "cut off":
        path.write_bytes((tmp_path / "ratings/part-00000.parquet").read_bytes()[:500])
    else:
        pq.write_table(pa.table({"color": ["red"]}), path)
    result = evaluate(tmp_path, "--draws", "100")
    assert result.exit_code == 1
    assert f"part-00009.parquet: cannot be read as the {table} table" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_from_a_dataset_to_a_leaderboard(dataset, tmp_path):
    """Five figures of two papers, the last with neither caption nor citing paragraph; real import, judging, evaluation."""
    records = [record(paper, index) for paper in "pq" for index in (1, 2)]
    records.append(record("q", 3, caption=None, context_texts=[], context_count=0))
    split = [{"paper_id": row["paper_id"], "fig_index": row["fig_index"]} for row in records[1:]]
    source, out = dataset(*records, split=split), tmp_path / "out"
    printed = ""
    for command in (
        ["import", source, "--out", out],
        ["judge", out, "--backend", "rules"],
        ["report", out],
        ["evaluate", out, "--split", out / "splits" / "eval1200.jsonl", "--draws", "200"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "sfq_ray.cli", *map(str, command)], capture_output=True, text=True, timeout=200
        )
        assert done.returncode == 0, done.stderr
        printed = done.stdout
    rows = pq.read_table(out / "evaluation" / "leaderboard.parquet").to_pylist()
    complete = [row for row in rows if row["kind"] == "complete"]
    assert {row["run_id"] for row in complete} == {"rules-direct", "rules-sidecar", "rules-agent"}
    scores = [s for s in pq.read_table(out / "scores").to_pylist() if (s["paper_id"], s["fig_index"]) != ("p", 1)]
    for row in complete:
        assert (row["figures"], row["n"], row["gated"], row["cost"], row["papers"]) == (4, 3, 1, 0.0, 2)
        own = [s["overall"] for s in scores if s["run_id"] == row["run_id"] and s["overall"] is not None]
        assert row["mae"] == pytest.approx(sum(abs(overall - 5.8) for overall in own) / 3)
    assert "1 of them have neither caption nor citing paragraph" in printed
    page = (out / "evaluation" / "index.html").read_text()
    assert 'href="../report/index.html#figure=p__fig0002"' in page
    assert "The runs whose money is known cost nothing" in page
    assert (out / "evaluation" / "page" / "thumbs" / "000000.webp").is_file()
    contrasts = sheet(out / "evaluation" / "contrasts.csv")
    assert {row["first"] for row in contrasts} == {"rules-sidecar", "rules-agent"}
    (source / "datasets" / "full" / "figures.jsonl").write_text(json.dumps(records[0] | {"caption": "Another."}) + "\n")
    assert CliRunner().invoke(app, ["import", str(source), "--out", str(out)]).exit_code == 0
    refused = CliRunner().invoke(app, ["judge", str(out), "--backend", "rules"])
    assert refused.exit_code == 1, "scores of other figures are there"
    assert "made with another configuration (figures: " in refused.output


def test_scores_in_an_object_store_give_the_same_leaderboard(tmp_path, bucket):
    made = Made(tmp_path / "out")
    made.run("a-direct", 1.0)
    for path in (tmp_path / "out" / "scores").glob("*.parquet"):
        (bucket / "scores" / path.name).write_bytes(path.read_bytes())
    for place, to in ((tmp_path / "out", "local"), (bucket, "far")):
        result = evaluate(tmp_path / "out", "--scores", place, "--out", tmp_path / to, "--draws", "100")
        assert result.exit_code == 0, result.output
    names = ("leaderboard.csv", "leaderboard.md", "leaderboard.parquet", "evaluation.json")
    local, far = ([(tmp_path / to / name).read_bytes() for name in names] for to in ("local", "far"))
    assert local == far
