"""A clean gold passes; each planted fault is found by its own check and by no other."""

from datetime import timedelta

import pytest
from judged_made_up import write
from ratings_made_up import START, clean_gold
from typer.testing import CliRunner

from sfq_ray.cli import app
from sfq_ray.evaluate.audit import OF_RATIONALES, OF_ROWS, audit
from sfq_ray.evaluate.rationales import Rationale, quotes_features, repeated

LONG = "The axis labels of panel b are too small to be read in print"


def copied(rows):
    for row in rows[::3]:
        row["VC_reason"] = LONG.replace("panel b", f"panel {row['row']}")


def copied_by_all_raters_of_a_figure(rows):
    for index, row in enumerate(rows[:12]):
        row["MR_reason"] = f"{index // 3} {row['MR_reason'].split()[0]} {LONG} and figure {index // 3}"


def measured(rows):
    rows[4]["VC_reason"] = "Blur variance of 812.3 shows that the lines are sharp"


def unnamed(rows):
    rows[4]["rater"] = None


def spelled(rows):
    for row in rows[:30:3]:
        row["rater"] = "rater 1"


def twice(rows):
    rows[4]["rater"] = rows[3]["rater"]


def numbered(rows):
    for index, row in enumerate(rows):
        row["rater"] = f"person {index}"


def shared(rows):
    rows[30]["annotated_at"] = rows[29]["annotated_at"]


def hasty(rows):
    rows[3]["annotated_at"] = rows[0]["annotated_at"] + timedelta(seconds=4, microseconds=5)


def same_second(rows):
    for row in rows[:6:3]:
        row["annotated_at"] = START.replace(microsecond=0)


def constant(rows):
    for row in rows[1::3]:
        row["overall"] += (7 - row["CC"]) / 5
        row["CC"] = 7.0


def outside(rows):
    rows[7]["overall"] += (11 - rows[7]["SL"]) / 5
    rows[7]["SL"] = 11.0


def mistaken(rows):
    rows[7]["overall"] += 0.3


def silent(rows):
    rows[7]["MR_reason"] = None


def names(findings):
    return [finding.check for finding in findings if not finding.passed]


def test_a_clean_gold_passes():
    findings = audit(clean_gold())
    assert names(findings) == []
    assert [finding.check for finding in findings] == [name for name, _, _ in (*OF_RATIONALES, *OF_ROWS)]
    assert all(finding.count == 0 and finding.examples == [] for finding in findings)


@pytest.mark.parametrize(
    ("plant", "check"),
    [
        (copied, "repeated_rationales"), (copied_by_all_raters_of_a_figure, "repeated_rationales"),
        (measured, "machine_features"), (unnamed, "rater_ids"), (spelled, "rater_ids"), (twice, "rater_ids"),
        (numbered, "rater_ids"), (shared, "timestamps"), (hasty, "timestamps"), (same_second, "timestamps"),
        (constant, "constant_raters"), (outside, "out_of_range"), (mistaken, "wrong_overalls"),
        (silent, "missing_rationales"),
    ],
)  # fmt: skip
def test_a_planted_fault_is_found_by_its_check_alone(plant, check):
    rows = clean_gold()
    plant(rows)
    findings = audit(rows)
    assert names(findings) == [check]
    (failed,) = (finding for finding in findings if not finding.passed)
    assert 0 < len(failed.examples) <= failed.count


def test_model_rows_and_gated_dimensions_are_not_looked_at():
    rows = clean_gold()
    rows[0] |= {"CTX": None, "CTX_reason": None, "overall": sum(rows[0][d] for d in ("VC", "SL", "CC", "MR")) / 4}
    findings = audit([*rows, rows[1] | {"source": "other", "VC": 99.0, "overall": 99.0}])
    assert names(findings) == []


def test_float32_noise_and_one_decimal_are_no_faults():
    rows = clean_gold()
    for row in rows:
        row["overall"] = round(row["overall"], 1) + 1.9e-7
    assert names(audit(rows)) == []


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("ocr_mean_confidence is high", True), ("OCR confidence 0.93", True), ("an overlap ratio near 0.2", True),
        ("blur_laplacian_var=240", True), ("the Laplacian variance", True), ("OCR reads 0.91", True),
        ("whitespace ratio too high", True), ("token overlap with the caption", True),
        ("labels overlap in panel (b)", False), ("the lines are blurred", False), ("accuracy of 0.93 is not shown", False),
        ("low text contrast", False), ("bars overlap at 0.5", False), ("a confidence band is missing", False),
    ],
)  # fmt: skip
def test_quotes(text, quoted):
    assert (quotes_features(text) is not None) == quoted


def test_repeats_count_between_figures_or_raters_only():
    def found(*where):
        return len(list(repeated([Rationale(figure, rater, "VC", LONG) for figure, rater in where])))

    assert found(("f", "a"), ("f", "a")) == 0
    assert found(("f", "a"), ("f", "b")) == found(("f", "a"), ("g", "a")) == 1
    assert found(("f", "a"), ("f", "a"), ("g", "a"), ("h", "b")) == 2
    assert list(repeated([Rationale(figure, "a", "VC", "labels too small") for figure in "fg"])) == []


def test_the_command_fails_where_a_check_does(tmp_path):
    assert CliRunner().invoke(app, ["gold", "audit", str(tmp_path)]).exit_code == 1
    rows = clean_gold()
    write(tmp_path, "ratings", rows)
    result = CliRunner().invoke(app, ["gold", "audit", str(tmp_path)])
    assert result.exit_code == 0, result.output
    write(tmp_path, "ratings", [row | {"source": "other"} for row in rows])
    result = CliRunner().invoke(app, ["gold", "audit", str(tmp_path)])
    assert (result.exit_code, "no human rating" in result.stderr) == (1, True), "nothing looked at is nothing passed"
    silent(rows)
    write(tmp_path, "ratings", rows)
    result = CliRunner().invoke(app, ["gold", "audit", str(tmp_path)])
    assert result.exit_code == 1
    assert "FAILED missing_rationales" in result.output
    assert "p__fig0003 by Rater_02: MR" in result.output
