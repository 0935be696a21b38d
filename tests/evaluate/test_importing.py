"""The released layout, with the faults that it is known to have."""

import json
from datetime import datetime

import pytest
from dataset_made_up import annotation, record
from judged_made_up import write
from typer.testing import CliRunner

from sfq_ray.cli import app
from sfq_ray.config import Judge
from sfq_ray.errors import FatalError
from sfq_ray.evaluate.gold import gold
from sfq_ray.evaluate.importing import import_ratings
from sfq_ray.evaluate.ratings import Key, figure_key
from sfq_ray.evaluate.released import bound_before, caption_parts, contexts, picture, split_caption
from sfq_ray.judge.calls import figure_of
from sfq_ray.rubric import DIMENSIONS, LONG_NAMES
from sfq_ray.store import Store


def test_a_row_becomes_a_figure_and_its_ratings(dataset, tmp_path):
    report = import_ratings(
        dataset(record("p.1", 3, blur_laplacian_var=12.5, ocr_mean_confidence=None)), tmp_path / "o"
    )
    (figure,) = Store(tmp_path / "o").rows("figures")
    assert (figure["figure_id"], figure["paper_id"], figure["label"]) == ("p.1__fig0003", "p.1", "3")
    assert (figure["caption"], figure["caption_label"]) == ("*Loss* by step.", "Figure 3:")
    assert (figure["width"], figure["height"], len(figure["phash"])) == (60, 40, 16)
    assert (figure["blur_laplacian_var"], figure["ocr_mean_confidence"], figure["edge_density"]) == (12.5, None, None)
    assert (figure["dpi"], figure["page"], figure["error"], figure["dropped"]) == (None, None, None, None)
    best, neighbour = figure["contexts"]
    assert best["text"][best["spans"][0]["start"] : best["spans"][0]["end"]].startswith("Figure 3")
    assert (best["panels"], best["cue"], best["evidence"]) == (["b"], "comparative", "imported")
    assert (neighbour["spans"], neighbour["cue"], neighbour["weight"], neighbour["evidence"]) == (
        [],
        None,
        None,
        "imported",
    )
    ratings = list(Store(tmp_path / "o").rows("ratings"))
    assert [row["rater"] for row in ratings] == ["a", "b", "c"]
    assert ratings[0]["overall"] == 7.199999809265137
    assert ratings[0]["annotated_at"] == datetime(2026, 3, 2, 9, 0, 0, 123)
    assert {row["row"] for row in ratings} == {1}
    assert gold(ratings)[0]["overall"] == pytest.approx(5.8)
    assert report["raters per figure"] == {"3": 1}
    assert report["means that differ from those of the annotations"]["count"] == 0
    assert json.loads((tmp_path / "o" / "import.json").read_text())["DATA"] == report


def test_what_is_wrong_with_the_data_is_counted(dataset, tmp_path):
    good = record("p", 1)
    source = dataset(
        good, record("p", 2, image="images/no.png"), record("p", 1, caption="again"), "{broken", json.dumps({"title": "?"}),
        record("q", 1, image=None, caption=None, context_texts=None, annotations=None, colour="red", venue="ICML"),
        record("q", 2, annotations=[annotation("a", (5, 5, None, None, 5), visual_clarity="x", mood="fine", annotated_at="soon")], human_overall_score=9),
        means=[
            {"paper_id": "p", "fig_index": 1, "human_visual_clarity": 6.3333, "human_overall_score": 5.9},
            {"paper_id": "z", "fig_index": 1, "human_visual_clarity": 6, "human_overall_score": 5},
        ],
        split=[{"paper_id": "0001_p", "fig_index": 1, "venue": "ACL", "year": 2021}, {"paper_id": "z", "fig_index": 9}],
    )  # fmt: skip
    report = import_ratings(source, tmp_path / "o")
    assert report["counts"].items() >= {
        "rows read": 7, "figures kept": 2, "figures with missing_image": 2, "duplicate figures": 1, "unreadable rows": 1,
        "rows that name no figure": 1, "unknown key: colour": 1, "unknown key in annotations: mood": 1,
        "unreadable scores": 1, "unreadable timestamps": 1, "context_count differs": 1, "annotator_count differs": 2,
    }.items()  # fmt: skip
    assert report["raters per figure"] == {"0": 1, "1": 1, "3": 2}
    assert report["means in CSV that differ"] == {"count": 1, "examples": ["p__fig0001 overall: 5.8 or 5.9"]}
    assert report["figures in one of CSV and JSONL only"] == 4
    assert report["shards without citing paragraphs"] == ["ICML 2021"]
    assert report["splits"] == {"eval1200": {"rows": 2, "found": 1}}
    assert json.loads((tmp_path / "o/splits/eval1200.jsonl").read_text())["figure_id"] == "p__fig0001"
    figures = {row["figure_id"]: row for row in Store(tmp_path / "o").rows("figures")}
    assert figures["p__fig0001"]["caption"] == "*Loss* by step."
    assert figures["q__fig0001"]["contexts"] == []
    assert (figures["p__fig0002"]["width"], figures["p__fig0002"]["image"]) == (60, None)


def test_importing_again_replaces_and_never_mixes_with_extracted_figures(dataset, tmp_path):
    source = dataset(record("p", 1))
    import_ratings(source, tmp_path / "o")
    before = (tmp_path / "o/figures/part-00000.parquet").read_bytes()
    import_ratings(source, tmp_path / "o")
    assert (tmp_path / "o/figures/part-00000.parquet").read_bytes() == before
    assert len(list(Store(tmp_path / "o").rows("ratings"))) == 3
    with pytest.raises(FatalError, match=r"figures\.jsonl"):
        import_ratings(tmp_path / "o", tmp_path / "new")


def test_extracted_figures_are_never_replaced_not_even_after_annotations_of_them(dataset, tmp_path):
    source, store = dataset(record("p", 1)), Store(tmp_path / "o")
    write(store.root, "figures", [{"figure_id": "p__fig0001", "paper_id": "p", "fig_index": 1}])
    store.write_manifest({"extract": {}})
    (tmp_path / "own.csv").write_text("paper_id,fig_index,rater,VC\np,1,ann,7\n")
    import_ratings(tmp_path / "own.csv", tmp_path / "o")
    before = store.path("figures", "part-00000").read_bytes()
    with pytest.raises(FatalError, match="another --out"):
        import_ratings(source, tmp_path / "o")
    assert store.path("figures", "part-00000").read_bytes() == before


def test_an_import_that_was_killed_can_be_run_again(dataset, tmp_path):
    """What is there then: some parts, and no report."""
    source, out = dataset(record("p", 1), record("p", 2)), tmp_path / "o"
    import_ratings(source, out)
    whole = {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    (out / "import.json").unlink()
    (out / "ratings/part-00000.parquet").unlink()
    import_ratings(source, out)
    assert {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()} == whole


@pytest.mark.parametrize("rows", [b"", b"{}\n[1]\n", b'{"figure_id": "p__fig0001"}\n\xff\n'])
def test_a_dataset_of_nothing_does_not_replace_what_is_there(rows, dataset, tmp_path):
    source, out = dataset(record("p", 1)), tmp_path / "o"
    import_ratings(source, out)
    before = (out / "figures/part-00000.parquet").read_bytes()
    (source / "datasets/full/figures.jsonl").write_bytes(rows)
    with pytest.raises(FatalError, match=r"names a figure|cannot be read"):
        import_ratings(source, out)
    assert (out / "figures/part-00000.parquet").read_bytes() == before


def test_files_of_one_stem_do_not_replace_each_other(tmp_path):
    (tmp_path / "own.csv").write_text("paper_id,fig_index,rater,VC\np,1,ann,7\n")
    (tmp_path / "own.jsonl").write_text('{"paper_id": "p", "fig_index": 1, "rater": "bo", "VC": 4}\n')
    for name in ("own.csv", "own.jsonl", "own.csv"):
        import_ratings(tmp_path / name, tmp_path / "o")
    assert sorted(row["rater"] for row in Store(tmp_path / "o").rows("ratings")) == ["ann", "bo"]


def test_a_csv_row_with_more_cells_than_columns_is_not_read_askew(tmp_path):
    (tmp_path / "own.csv").write_text("paper_id,fig_index,VC_reason,VC,SL\np,1,small, 3 px,7,8\np,2,fine,7,8\n")
    report = import_ratings(tmp_path / "own.csv", tmp_path / "o")
    assert report["counts"]["unreadable rows"] == 1
    assert [row["fig_index"] for row in Store(tmp_path / "o").rows("ratings")] == [2]


@pytest.mark.parametrize(
    ("more", "left"),
    [
        ({"image": "images/no.png\0"}, "unreadable_image"),
        ({"image": "images/no.png" + "x" * 5000}, "unreadable_image"),
        ({"image": "images/no.png/../loop"}, "unreadable_image"),
        ({"context_texts": ["Figure 1"], "context_details": [{"page": 2**70}]}, None),
        ({"annotations": [annotation("R", (5,) * 5, annotated_at="0001-01-01T00:00:00+14:00")]}, None),
        ({"caption": "\ud800"}, "no row"),
        ({"annotations": [annotation("\udfff", (5,) * 5)]}, "no row"),
        ({"paper_id": "\ud800", "paper_id_norm": None}, "no row"),
    ],
)
def test_a_hostile_record_costs_no_other(more, left, dataset, tmp_path):
    source = dataset(record("p", 1) | more, record("q", 1))
    (source / "datasets/full/images/loop").symlink_to("loop")
    report = import_ratings(source, tmp_path / "o")
    found = {row["paper_id"]: row["error"] for row in Store(tmp_path / "o").rows("figures")}
    assert found["q"] is None
    assert report["counts"].get("unreadable rows", 0) == (left == "no row")
    assert found.get("p", "no row") == left


def test_own_annotations_by_short_or_long_names(dataset, tmp_path):
    out = tmp_path / "o"
    import_ratings(dataset(record("p", 1)), out)
    own = tmp_path / "own.csv"
    own.write_text(
        "paper_id,fig_index,rater,VC,SL,CC,CTX,MR\n0007_p,1,ann,7,6,,5,8.5\nz,2,ann,1,1,1,1,1\n,,ann,1,1,1,1,1\n"
    )
    report = import_ratings(own, out)
    assert report["counts"] == {
        "rows read": 3,
        "rows of figures that are not in figures/": 1,
        "rows that name no figure": 1,
    }
    lines = tmp_path / "more.jsonl"
    lines.write_text(json.dumps({"figure_id": "p__fig0001", "rater": "bo", **dict.fromkeys(LONG_NAMES.values(), 4)}))
    import_ratings(lines, out)
    stored = Store(out).rows("ratings")
    rows = sorted(
        (row for row in stored if len(row["rater"]) > 1 and row["paper_id"] == "p"), key=lambda row: row["rater"]
    )
    assert [[row[d] for d in DIMENSIONS] for row in rows] == [[7, 6, None, 5, 8.5], [4] * 5]
    assert [(row["source"], row["row"]) for row in rows] == [("human", 2), ("human", 1)]
    own.write_text("name\nx\n")
    with pytest.raises(FatalError, match="names a figure"):
        import_ratings(own, out)


def test_a_judge_can_be_given_what_was_imported(dataset, tmp_path):
    import_ratings(dataset(record("p", 1)), tmp_path / "o")
    (row,) = Store(tmp_path / "o").rows("figures")
    figure = figure_of(row, Judge())
    assert figure.gates == set(DIMENSIONS)


def test_the_command_prints_the_reconciliation(dataset, tmp_path):
    result = CliRunner().invoke(app, ["import", str(dataset(record("p", 1))), "--out", str(tmp_path / "o")])
    assert result.exit_code == 0, result.output
    assert "1  figures kept" in result.output
    assert 'raters per figure: {"3": 1}' in result.output


def test_keys():
    assert figure_key({"paper_id": "0001_2020.acl-main.1", "fig_index": 2.0}) == Key("2020.acl-main.1", 2)
    assert figure_key({"figure_id": "0001_a__fig0012"}) == Key("a", 12)
    assert figure_key({"figure_id": "0001_a__fig0012"}, {Key("0001_a", 12)}) == Key("0001_a", 12)
    for nothing in ({}, {"paper_id": "a"}, {"figure_id": "a"}, {"paper_id": "a", "fig_index": 1.5}, {"fig_index": 1}):
        assert figure_key(nothing) is None


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("Figure 3. The loss.", ("Figure 3.", "3", "The loss.")),
        ("**Figure 3**: The *loss*.", ("Figure 3:", "3", "The *loss*.")),
        ("Fig. A.1: Data", ("Fig. A.1:", "A.1", "Data")),
        ("Figure 3: *JLPC* wins", ("Figure 3:", "3", "*JLPC* wins")),
        ("Figure 3 shows it", (None, None, "Figure 3 shows it")),
        ("Figure 2:", ("Figure 2:", "2", None)),
        (None, (None, None, None)),
    ],
)
def test_the_label_is_taken_off_a_caption(caption, expected):
    assert split_caption(caption) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"caption": "Fig S2 Loss", "caption_label": "Fig S2", "label": "S2"}, ("Fig S2", "S2", "Loss")),
        ({"caption": "Figure 3: quoted", "caption_label": None}, (None, None, "Figure 3: quoted")),
        ({"caption": "Figure 3:", "caption_label": "Figure 3:", "label": "3"}, ("Figure 3:", "3", None)),
        ({"caption": None, "caption_label": None, "label": "3"}, (None, "3", None)),
    ],
)
def test_a_record_that_says_what_its_label_is_is_believed(given, expected):
    assert caption_parts(given) == expected


@pytest.mark.parametrize(
    "details", [None, "x", [], ["x"], [3], [{"spans": "x"}], [{"page": "first"}], [{"weight": []}]]
)
def test_details_of_paragraphs_that_do_not_fit_are_not_used(details, dataset, tmp_path):
    assert bound_before({"context_texts": ["Figure 1 shows it."], "context_details": details}) is None
    import_ratings(
        dataset(record("p", 1, context_texts=["Figure 1 shows it."], context_details=details)), tmp_path / "o"
    )
    (figure,) = Store(tmp_path / "o").rows("figures")
    assert [context["evidence"] for context in figure["contexts"]] == ["imported"]


def test_only_paragraphs_that_name_this_figure_have_spans():
    found = contexts(["See Figure 4.", None, " ", "Figures 2-4 rise, see Fig. 3a."], "3", {"2", "3", "4"})
    assert [len(context["spans"]) for context in found] == [2, 0]
    assert contexts(None, "3", ()) == contexts("text", "3", ()) == []


def test_images_stay_inside_the_dataset(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out.png").write_bytes(b"\x89PNG")
    (tmp_path / "in" / "bad.png").write_bytes(b"GIF89a")
    assert picture(tmp_path / "in", "../out.png")["error"] == "missing_image"
    assert picture(tmp_path / "in", "bad.png")["error"] == "unreadable_image"
