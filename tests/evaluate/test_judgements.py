"""scores/ and ratings/ are joined by paper and index, and what does not join is counted."""

import json

import numpy as np
import pytest
from judged_made_up import Made, figure, rated, score, write
from ratings_made_up import WORKED_EXAMPLE

from sfq_ray.errors import FatalError
from sfq_ray.evaluate.judgements import read_judgements
from sfq_ray.store import Store

SEVEN = (7, 7, 7, 7, 7)


@pytest.fixture
def out(tmp_path):
    """Gold of two figures of paper p and one of q."""
    keys = [("p", 1), ("p", 2), ("q", 1)]
    write(tmp_path, "figures", [figure(*key) for key in keys])
    write(tmp_path, "ratings", [row for key in keys for row in rated(*key, WORKED_EXAMPLE)])
    return tmp_path


def test_a_run_is_aligned_to_the_gold(out):
    rows = [score("m-direct", "q", 1, (8, 8, 8, None, 8)), score("m-direct", "p", 2, None)]
    write(out, "scores", rows)
    found = read_judgements(out)
    (run,) = found.runs
    assert found.rated.figure_ids == ("p__fig0001", "p__fig0002", "q__fig0001")
    assert found.rated.gold.overall == pytest.approx([5.8] * 3)
    assert run.judged.status == ("missing", "failed", "scored")
    assert np.array_equal(run.judged.scores[2], [8, 8, 8, np.nan, 8], equal_nan=True)
    assert np.array_equal(run.judged.overall, [np.nan, np.nan, 8], equal_nan=True)
    assert run.configuration == ("direct", "openai", "m")
    assert run.expected is None
    assert found.left_out == {"figures of the gold that no run judged": 1}


def test_nothing_is_lost_without_a_word(out):
    more = [
        *rated("p", 1, [SEVEN]), *rated("z", 1, [(None,) * 5]),
        rated("p", 1, [SEVEN])[0] | {"source": "other"},
        rated("p", 1, [SEVEN])[0] | {"rater": None},
        rated("y", 1, [(None,) * 5])[0] | {"overall": 4.0},
    ]  # fmt: skip
    write(out, "ratings", more, "file-more")
    write(out, "figures", [figure("q", 1, dropped="solid")], "part-00000")
    write(out, "scores", [score("m-direct", "p", 1, SEVEN), score("m-direct", "p", 1, SEVEN)])
    other = [
        score("m-direct", "p", 1, SEVEN),
        score("m-direct", "elsewhere", 1, SEVEN),
        score("n-direct", "x", 1, SEVEN),
    ]
    write(out / "other", "scores", other)
    found = read_judgements(out, [out, out / "other"])
    assert [run.run_id for run in found.runs] == ["m-direct"]
    assert found.left_out == {
        "figures of the gold that are not in figures/": 2,
        "figures of the gold that cannot be judged: solid": 1,
        "figures of the gold that no run judged": 2,
        "rated figures without a score of any dimension": 1,
        "ratings that no human gave": 1,
        "ratings that the same rater gave again (the latest counts)": 1,
        "ratings without a rater's name": 1,
        "ratings without any score": 1,
        "runs that judged no figure of the gold: n-direct": 1,
        "scores of a run and figure that has one already (the first counts)": 2,
        "scores of figures without gold": 2,
    }


def test_a_split_restricts_the_gold(out, tmp_path):
    write(out, "scores", [score("m-direct", paper, 1, SEVEN) for paper in "pq"])
    split = tmp_path / "eval2.jsonl"
    lines = [{"paper_id": "0001_q", "fig_index": 1}, {"figure_id": "p__fig0002"}, {"paper_id": "q", "fig_index": 1}]
    split.write_text("\n".join(map(json.dumps, lines)))
    found = read_judgements(out, split=split)
    assert found.rated.figure_ids == ("p__fig0002", "q__fig0001")
    assert found.left_out == {
        "figures of the gold that no run judged": 1,
        "figures with gold outside the split": 1,
        "lines of the split that name a figure again": 1,
        "scores of figures outside the split": 1,
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"paper_id": "p", "fig_index": 1}\n{"paper_id": "p", "fig_index": 9}\n', "1 of its 2 figures .*p__fig0009"),
        ('{"paper_id": "p", "fig_index": 1}\n{"paper_id": "p"}\n', "line 2 names no figure"),
        ("no json\n", "line 1 names no figure"),
        ("", "import the dataset"),
    ],
)
def test_a_split_that_has_no_gold_is_refused(out, tmp_path, text, words):
    (tmp_path / "split.jsonl").write_text(text)
    with pytest.raises(FatalError, match=words):
        read_judgements(out, split=tmp_path / "split.jsonl")


def test_a_run_has_one_configuration(out):
    write(out, "scores", [score("m-direct", "p", 1, SEVEN), score("m-direct", "p", 2, SEVEN, model="other")])
    with pytest.raises(FatalError, match=r"run m-direct .*direct openai m; direct openai other"):
        read_judgements(out)


def test_a_run_made_in_another_way_in_another_directory_is_refused(out, tmp_path):
    """Other prompts or settings leave no trace in the rows themselves."""
    more = tmp_path / "more"
    for place, index in ((out, 1), (more, 2)):
        write(place, "scores", [score("m-direct", "p", index, SEVEN)])
        made = {"prompts": {"direct": "a"}, "settings": {"judge": {"calls_in_flight": index}}}
        Store(place).write_manifest({"judge": {"runs": {"m-direct": made}}})
    assert read_judgements(out, [out, more]).runs[0].judged.status == ("scored", "scored", "missing")
    Store(more).write_manifest({"judge": {"runs": {"m-direct": {"prompts": {"direct": "b"}}}}})
    with pytest.raises(FatalError, match=r"run m-direct .*more.*prompts\.direct"):
        read_judgements(out, [out, more])


def test_scores_of_raters_beyond_the_scale_are_told(out):
    write(out, "ratings", rated("q", 2, [(55, 7, 7, 7, 7), SEVEN]), "file-more")
    write(out, "scores", [score("m-direct", "p", 1, SEVEN)])
    (told,) = [count for name, count in read_judgements(out).left_out.items() if "outside 1..10" in name]
    assert told == 1


def test_without_scores_or_ratings_it_says_what_to_do(out, tmp_path):
    with pytest.raises(FatalError, match="sfq judge"):
        read_judgements(out)
    with pytest.raises(FatalError, match="sfq import"):
        read_judgements(tmp_path / "empty")
    (out / "scores").mkdir(exist_ok=True)
    (out / "scores" / "bad.parquet").write_bytes(b"no parquet")
    with pytest.raises(FatalError, match="cannot be read as the scores table"):
        read_judgements(out)


def test_no_judge_has_a_score_without_evidence(out):
    write(out, "figures", [figure("p", 1, caption=" ", contexts=[]), figure("p", 2), figure("q", 1, caption=None)])
    gated = score("m-direct", "p", 1, None, status="gated", failure=None)
    write(out, "scores", [gated, score("n-direct", "p", 1, SEVEN), score("n-direct", "p", 2, SEVEN)])
    found = read_judgements(out)
    assert found.must_gate.tolist() == [True, False, False]
    assert [run.judged.status[0] for run in found.runs] == ["gated", "gated"]
    assert np.isnan(found.runs[1].judged.overall[0])
    assert found.left_out["scores of figures with neither caption nor citing paragraph (gated here)"] == 1


def test_expected_scores_are_of_whole_figures_only(out):
    whole = dict(zip(["VC_expected", "SL_expected", "CC_expected", "MR_expected"], (6.5, 7.5, 8.5, 9.5), strict=True))
    part = {"VC_expected": 6.5}
    rows = [
        score("m-direct", "p", 1, (7, 7, 7, None, 7), **whole, CTX_expected=3.0),
        score("m-direct", "p", 2, (7, 7, 7, None, 7), **part), score("m-direct", "q", 1, None),
    ]  # fmt: skip
    write(out, "scores", rows)
    expected = read_judgements(out).runs[0].expected
    assert expected.status == ("scored", "missing", "failed")
    assert np.array_equal(expected.scores[0], [6.5, 7.5, 8.5, np.nan, 9.5], equal_nan=True)
    assert np.array_equal(expected.overall, [8.0, np.nan, np.nan], equal_nan=True)


def test_the_order_of_parts_and_rows_changes_nothing(tmp_path):
    made = Made(tmp_path, papers=3, per_paper=2)
    made.run("b-direct", 1.0)
    made.run("a-direct", 1.0, skip=[0])
    found = read_judgements(tmp_path)
    (tmp_path / "scores" / "a-direct.part-00000.parquet").rename(tmp_path / "scores" / "z.parquet")
    again = read_judgements(tmp_path)
    assert [run.run_id for run in again.runs] == [run.run_id for run in found.runs] == ["a-direct", "b-direct"]
    for first, second in zip(found.runs, again.runs, strict=True):
        assert np.array_equal(first.judged.scores, second.judged.scores, equal_nan=True)
        assert first.judged.status == second.judged.status
