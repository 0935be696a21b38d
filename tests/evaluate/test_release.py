"""A release gives the same figures and ratings when it is imported, and the same bytes when it is made again."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from released_made_up import ODD, directory, figure, odd_figures, odd_ratings, png
from typer.testing import CliRunner

from sfq_ray.cli import app
from sfq_ray.errors import FatalError
from sfq_ray.evaluate.gold import gold
from sfq_ray.evaluate.hub import RELEASED
from sfq_ray.evaluate.importing import import_ratings
from sfq_ray.evaluate.release import CARRIED, image_name, release
from sfq_ray.store import Store

KEPT = ["0001_q/ü__fig0001", "2020.10__fig0012", "p__fig0001", "p__fig0002", "p__fig0003"]


@pytest.fixture
def source(tmp_path):
    return directory(tmp_path / "source", odd_figures(), odd_ratings())


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def figures_of(out):
    rows = {}
    for row in Store(out).rows("figures"):
        rows.setdefault(row["figure_id"], row)  # the first of two rows with one id is released
    return {figure_id: {name: row[name] for name in CARRIED} for figure_id, row in rows.items()}


def ratings_of(out):
    return [{name: value for name, value in row.items() if name != "row"} for row in Store(out).rows("ratings")]


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def card_of(rel):
    _, top, body = (rel / "README.md").read_text().split("---\n", 2)
    return yaml.safe_load(top), body


def test_what_was_released_comes_back(source, tmp_path):
    release(source, tmp_path / "rel")
    report = import_ratings(tmp_path / "rel", tmp_path / "back")
    there, back = figures_of(source), figures_of(tmp_path / "back")
    assert sorted(back) == KEPT
    for figure_id in KEPT:
        expected = there[figure_id] | {"contexts": there[figure_id]["contexts"] or []}
        assert back[figure_id] == expected
    released = [row for row in ratings_of(source) if row["figure_id"] in KEPT]
    assert sorted(ratings_of(tmp_path / "back"), key=repr) == sorted(released, key=repr)
    assert report["means that differ from those of the annotations"]["count"] == 0
    assert report["means in CSV that differ"]["count"] == report["figures in one of CSV and JSONL only"] == 0
    assert report["counts"] == {"rows read": 5, "figures kept": 5}


def test_means_are_the_gold(source, tmp_path):
    release(source, tmp_path / "rel")
    rows = {row["figure_id"]: row for row in lines(tmp_path / "rel/datasets/full/figures.jsonl")}
    for own in gold(row for row in Store(source).rows("ratings") if row["figure_id"] in KEPT):
        assert rows[own["figure_id"]]["human_overall_score"] == pytest.approx(own["overall"], abs=5e-5)
        assert rows[own["figure_id"]]["human_context_consistency"] == pytest.approx(own["CTX"], abs=5e-5)
    assert rows["2020.10__fig0012"]["human_overall_score"] is None


def test_every_line_has_the_keys_and_types_that_the_card_states(source, tmp_path):
    release(source, tmp_path / "rel")
    rows = lines(tmp_path / "rel/datasets/full/figures.jsonl")
    assert {tuple(row) for row in rows} == {tuple(RELEASED.names)}
    assert pa.Table.from_pylist(rows, RELEASED).to_pylist()[2]["figure_id"] == "p__fig0001"
    assert [row["figure_id"] for row in rows] == KEPT
    top, _ = card_of(tmp_path / "rel")
    assert [feature["name"] for feature in top["dataset_info"][0]["features"]] == RELEASED.names


def test_the_same_bytes_again_and_after_an_import(source, tmp_path):
    (source / "splits").mkdir()
    rows = [{"figure_id": "p__fig0003", "paper_id": "p", "fig_index": 3, "venue": "ACL", "year": 2021}]
    (source / "splits/small.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    release(source, tmp_path / "rel")
    before = contents(tmp_path / "rel")
    release(source, tmp_path / "rel")
    assert contents(tmp_path / "rel") == before
    import_ratings(tmp_path / "rel", tmp_path / "back")
    release(tmp_path / "back", tmp_path / "rel2", name="source")
    after = contents(tmp_path / "rel2")
    assert {name for name in before if before[name] != after[name]} == {"README.md", "SHA256SUMS"}
    assert "imported from another dataset" in after["README.md"].decode()


def test_what_is_left_out_is_counted(source, tmp_path):
    (tmp_path / "split.csv").write_text("paper_id,fig_index\np,1\np,2\nr,1\n")
    done = release(source, tmp_path / "rel", split=tmp_path / "split.csv")
    assert (done.figures, done.ratings, done.splits) == (5, 12, {"split": 2})
    assert done.left_out == {
        "figures dropped by a rule": 1, "figures that failed": 1, "figures without an image": 1,
        "figures whose image cannot be decoded": 1, "figures whose id is not that of their paper and index": 1,
        "figures whose id is there already": 1, "ratings of figures that are not released": 1,
        "rows of split split whose figure is not released": 1,
    }  # fmt: skip
    _, body = card_of(tmp_path / "rel")
    assert "- 1 figures that failed" in body
    assert [row["fig_index"] for row in lines(tmp_path / "rel/datasets/full/splits/split.jsonl")] == [1, 2]


def shipped_test(rel):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_loading.py"]
    return subprocess.run(command, cwd=rel, capture_output=True, text=True, env={"PYTHONDONTWRITEBYTECODE": "1"})


def test_the_release_brings_a_test_that_passes_and_can_fail(source, tmp_path):
    rel = tmp_path / "rel"
    release(source, rel)
    result = shipped_test(rel)
    assert result.returncode == 0, result.stdout
    assert "4 passed" in result.stdout
    image = rel / "datasets/full/images" / image_name(KEPT[0])
    assert image.name == "0001_q%2Fü__fig0001.png"
    image.write_bytes(png()[:90])
    result = shipped_test(rel)
    assert result.returncode == 1
    assert "2 failed" in result.stdout


def test_without_ratings_there_are_no_means(tmp_path):
    release(directory(tmp_path / "s", [figure("p", 1)]), tmp_path / "rel")
    assert not (tmp_path / "rel/datasets/full/human_means.csv").exists()
    (row,) = lines(tmp_path / "rel/datasets/full/figures.jsonl")
    assert (row["human_overall_score"], row["annotations"], row["annotator_count"]) == (None, [], 0)
    import_ratings(tmp_path / "rel", tmp_path / "back")
    assert figures_of(tmp_path / "back") == figures_of(tmp_path / "s")
    assert shipped_test(tmp_path / "rel").returncode == 0


def test_the_card(source, tmp_path):
    manifest = {
        "extract": {"sfq_ray": "9", "versions": {"pymupdf": "2.0"}, "settings": {"extract": {"layout": "pymupdf"}}}
    }
    Store(source).write_manifest(manifest)
    release(source, tmp_path / "rel", name="My: figures", licence="cc-by-4.0")
    top, body = card_of(tmp_path / "rel")
    assert (top["license"], top["pretty_name"], top["size_categories"]) == ("cc-by-4.0", "My: figures", ["n<1K"])
    for line in (
        "| ACL | 2021 | 1 | 3 |", "| I\\|C | 2021 | 1 | 1 |", "| unknown | unknown | 1 | 1 |", "- caption only: 2",
        "| Context Consistency | `context_consistency` | 2 |", "| Rater_01 | human | 3 |", "| a model | other | 1 |",
        "| rater_ids | **failed** |", "| out_of_range | **failed** | 1 | 11 |", "with sfq_ray 9", "- 5 images at 300 dpi",
        "known for 5 figures: `page`",
    ):  # fmt: skip
        assert line in body
    assert "`image`" in body
    assert ODD not in body
    release(source, tmp_path / "rel")
    assert card_of(tmp_path / "rel")[0]["license"] == "unknown"


def test_a_former_release_is_replaced_and_nothing_else(tmp_path):
    rel = tmp_path / "rel"
    release(directory(tmp_path / "a", [figure("p", 1), figure("p", 2)], odd_ratings()), rel)
    (rel / ".git").mkdir()
    (rel / ".git/config").write_text("mine")
    release(directory(tmp_path / "b", [figure("p", 2)]), rel)
    assert [path.name for path in (rel / "datasets/full/images").iterdir()] == ["p__fig0002.png"]
    assert not (rel / "datasets/full/human_means.csv").exists()
    assert (rel / ".git/config").read_text() == "mine"


def test_other_places_are_refused_and_left_as_they_are(source, tmp_path):
    for name, content in (("README.md", "mine"), ("SHA256SUMS", "00  ../source\n")):
        other = tmp_path / name.lower()
        other.mkdir()
        (other / name).write_text(content)
        with pytest.raises(FatalError, match="is not a release"):
            release(source, other)
        assert contents(other) == {name: content.encode()}
    with pytest.raises(FatalError, match="is a file"):
        release(source, tmp_path / "readme.md/README.md")
    with pytest.raises(FatalError, match="no kept figure"):
        release(tmp_path / "nothing", tmp_path / "rel")
    (tmp_path / "s.jsonl").write_text('{"paper_id": "z", "fig_index": 1}\n')
    with pytest.raises(FatalError, match="no row names a released figure"):
        release(source, tmp_path / "rel", split=tmp_path / "s.jsonl")
    assert contents(tmp_path / "rel") == {}


def test_the_command(source, tmp_path):
    result = CliRunner().invoke(app, ["release", str(source), "--out", str(tmp_path / "rel"), "--name", "n"])
    assert result.exit_code == 0, result.output
    assert "released: 5 figures, 12 ratings" in result.output
    assert "left out: 1 figures without an image" in result.output
    assert Path(tmp_path / "rel/SHA256SUMS").exists()
