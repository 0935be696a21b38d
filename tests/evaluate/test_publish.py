"""The files of an evaluation."""

import json
import re

import pyarrow.parquet as pq
import pytest
from judged_made_up import Made, sheet

from sfq_ray.evaluate import latex, markdown
from sfq_ray.evaluate.escaping import escaped
from sfq_ray.evaluate.evaluation import evaluate
from sfq_ray.evaluate.judgements import read_judgements
from sfq_ray.evaluate.leaderboard import LEADERBOARD
from sfq_ray.evaluate.publish import csv_text, fingerprint, inputs_of, publish
from sfq_ray.evaluate.spending import read_calls, spending
from sfq_ray.rubric import DIMENSIONS

FILES = {
    "leaderboard.parquet", "leaderboard.csv", "leaderboard.md", "leaderboard.tex", "evaluation.json", "baselines.csv",
    "dimensions.csv", "contrasts.csv", "ceiling.csv", "raters.csv", "retest.csv", "adjudication.csv",
    "differences.csv", "published.csv", "calibration.csv", "limits.csv", "disputes.csv",
}  # fmt: skip
HOSTILE = r"a|b_c&100%$x^2~{}\end{table}#<b>*[1]"


@pytest.fixture
def made(tmp_path):
    made = Made(tmp_path / "out", rater_sd=2.0)
    for run_id, sd in (("a-direct", 1.0), ("a-direct+1", 1.0), ("a-agent", 0.5)):
        made.run(run_id, sd)
    made.run("b-direct", 1.0, fail=[0, 1], skip=[5])
    made.run("c-direct", 1.0, model=HOSTILE, **{f"{d}_expected": 6.25 for d in DIMENSIONS})
    return made


def published(out, to):
    judgements = read_judgements(out)
    calls = read_calls([out], {}, {})
    found = evaluate(judgements, {run.run_id: spending(run, calls) for run in judgements.runs}, "a-direct", 100)
    publish(found, inputs_of(out, (), None, None, None), to)
    return found


def test_two_runs_give_the_same_bytes(made, tmp_path):
    for name in ("first", "second"):
        published(made.out, tmp_path / name)
    assert {path.name for path in (tmp_path / "first").iterdir()} == FILES
    for name in FILES:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes(), name


def test_the_leaderboard_is_the_same_in_every_form(made, tmp_path):
    found = published(made.out, tmp_path)
    table = pq.read_table(tmp_path / "leaderboard.parquet")
    assert table.schema.equals(LEADERBOARD, check_metadata=True)
    assert all(field.metadata[b"doc"] for field in table.schema)
    rows = table.to_pylist()
    kinds = [row["kind"] for row in rows]
    assert kinds == ["complete"] * 3 + ["incomplete", "expected", "baseline", "baseline"]
    assert rows[0]["mae"] == found.complete[0].metrics.mae.value, "not rounded"
    assert (rows[3]["run_id"], rows[3]["rank"], rows[3]["n"], rows[3]["failed"]) == ("b-direct", None, 45, 2)
    record = json.loads((tmp_path / "evaluation.json").read_text())
    for row, of_csv, of_json in zip(rows, sheet(tmp_path / "leaderboard.csv"), record["leaderboard"], strict=True):
        assert list(of_csv) == LEADERBOARD.names
        for name, value in row.items():
            assert of_json.get(name) == value
            assert of_csv[name] == ("" if value is None else str(value))


def test_the_record_says_what_the_numbers_were_made_of(made, tmp_path):
    published(made.out, tmp_path)
    before = json.loads((tmp_path / "evaluation.json").read_text())
    assert before["settings"] | {"level": 0.95} == before["settings"]
    assert (before["settings"]["draws"], before["settings"]["reference"]) == (100, "a-direct")
    assert before["versions"].keys() >= {"sfq_ray", "numpy", "scipy", "krippendorff"}
    made.run("a-agent", 0.5)
    published(made.out, tmp_path)
    after = json.loads((tmp_path / "evaluation.json").read_text())
    changed = {name for name in before["inputs"] if before["inputs"][name] != after["inputs"][name]}
    assert changed == {"scores"}
    assert fingerprint(made.out, "scores")["parts"] == 5
    assert str(tmp_path) not in (tmp_path / "evaluation.json").read_text()


def test_the_other_tables(made, tmp_path):
    found = published(made.out, tmp_path)
    dimensions = sheet(tmp_path / "dimensions.csv")
    assert len(dimensions) == 5 * 7
    gates = ("both_on", "gold_only", "judge_only", "both_off")
    of_b = [row for row in dimensions if row["run_id"] == "b-direct"]
    assert {sum(int(row[gate]) for gate in gates) for row in of_b} == {45}
    assert [row["dimension"] for row in sheet(tmp_path / "raters.csv")] == [*DIMENSIONS, "overall"]
    assert [row["rater"] for row in sheet(tmp_path / "ceiling.csv")] == ["ann", "ben", "cat"]
    assert {row["run_id"] for row in sheet(tmp_path / "retest.csv")} == {"a-direct"}
    assert [row["run_id"] for row in sheet(tmp_path / "baselines.csv")] == ["gold-median", "dimension-means"]
    contrasts = sheet(tmp_path / "contrasts.csv")
    assert [(row["first"], row["second"]) for row in contrasts] == [
        ("a-agent", "a-direct"), ("b-direct", "a-direct"), ("c-direct", "a-direct"),
    ]  # fmt: skip
    gaps = sheet(tmp_path / "adjudication.csv")
    assert len(gaps) == 3 * len(found.adjudication) > 0
    differences = [row for row in sheet(tmp_path / "differences.csv") if row["run_id"] == "a-direct"]
    sizes = [abs(float(row["difference"])) for row in differences]
    assert (sizes == sorted(sizes, reverse=True), len(sizes)) == (True, 20)
    own = next(s.judged for s in found.complete if s.judged.run_id == "a-direct").overall - found.gold.overall
    assert sizes[0] == abs(own).max()
    for row in differences:
        assert float(row["judge"]) - float(row["gold"]) == float(row["difference"])


def test_numbers_of_others_stand_apart_and_say_whose_they_are(made, tmp_path):
    published(made.out, tmp_path)
    rows = sheet(tmp_path / "published.csv")
    assert [row["run_id"] for row in rows] == ["D10", "S2", "F3"]
    assert all("arXiv 2607.27084" in row["source"] and "not measured" in row["source"] for row in rows)
    text = (tmp_path / "leaderboard.md").read_text()
    section = text.index("## Published by the authors of the benchmark")
    assert "F3" not in text[:section]
    assert "F3" in text[section:]
    assert "GPT-5.6" not in (tmp_path / "leaderboard.tex").read_text() + (tmp_path / "leaderboard.csv").read_text()


def test_latex_prints_any_name_as_it_stands(made, tmp_path):
    published(made.out, tmp_path)
    text = (tmp_path / "leaderboard.tex").read_text()
    name = r"a\textbar{}b\_c\&100\%\$x\textasciicircum{}2\textasciitilde{}\{\}\textbackslash{}end\{table\}\#"
    assert name + r"\textless{}b\textgreater{}{*}{[}1]" in text
    assert text.count(r"\end{table*}") == text.count(r"\begin{table*}") == 1
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")].splitlines()
    rows = [line for line in body if re.search(r"(?<!\\)&", line)]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in rows} == {10}
    assert all(line.endswith(r"\\") for line in rows)
    assert text.count("{") == text.count("}")
    complete, incomplete = text.index("Complete runs"), text.index("Incomplete runs")
    assert complete < text.index("a-agent & agent & a & 48 &") < incomplete < text.index("b-direct & direct & b & 45 &")


def test_markdown_keeps_every_name_in_its_cell(made, tmp_path):
    found = published(made.out, tmp_path)
    text = (tmp_path / "leaderboard.md").read_text()
    assert text == markdown.markdown(found)
    assert escaped(HOSTILE) in text
    for block in text.split("\n\n"):
        cells = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines() if line.startswith("|")}
        assert len(cells) <= 1
    assert "| b-direct | direct | b | 45 of 48 | 2 failed, 1 missing |" in text
    assert "- repeats that stand in test-retest only: a-direct+1: 1" in text


def test_line_breaks_control_characters_and_blanks_in_names():
    assert latex.escaped("a\n\x1b b\u202e") == escaped("a\n\x1b b\u202e") == "a b"
    assert escaped(" ") == "–"


def test_latex_joins_no_marks_of_a_name():
    assert latex.escaped("a-b---c ''d`` ?`") == "a-b-{}-{}-c '{}'d`{}` ?{}`"


def test_no_name_is_markup():
    assert escaped("_a_b_ ~~c~~ $d$ &lt;") == r"\_a_b\_ \~\~c\~\~ \$d\$ \&lt;"


def test_no_name_is_a_formula_in_a_spreadsheet():
    sheet = [("rater", "bias", "n"), ("=HYPERLINK(1)", -0.5, 3), ("@b", None, 1), ("a-b", 0.25, 2)]
    assert csv_text(sheet) == "rater,bias,n\n'=HYPERLINK(1),-0.5,3\n'@b,,1\na-b,0.25,2\n"
