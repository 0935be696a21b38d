"""The report's files: complete, equal for equal tables, safe by name and content, replaced as a whole."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from digests import digests
from made_up_tables import HOSTILE, figure_rows, png, write
from PIL import Image

from sfq_ray import pipelines
from sfq_ray.errors import FatalError
from sfq_ray.report import write_report
from sfq_ray.report.images import THUMB_BYTES
from sfq_ray.tables import FIGURES


def read_data(report: Path, name: str) -> Any:
    text = (report / "data" / f"{name}.js").read_text("ascii")
    called = re.fullmatch(r'sfqData\("([a-z0-9-]+)",(.*)\);\n', text)
    assert called
    assert called[1] == name
    return json.loads(called[2])


def test_names_of_files_hold_numbers_only(out: Path) -> None:
    names = set(digests(write_report(out, out / "report")))
    assert names == {
        *("index.html", "report.css", "report.js", "data/index.js", "data/failures.js", "data/details-0000.js"),
        *(f"images/00000{n}.png" for n in (0, 1, 4, 5)),
        *(f"thumbs/00000{n}.webp" for n in (0, 1, 4, 5)),
    }


def test_figures_stand_in_the_order_of_their_papers(out: Path) -> None:
    entries = read_data(write_report(out, out / "report"), "index")["figures"]
    assert [entry[0] for entry in entries] == [
        *("a__fig0001", "a__fig0002", "a__fig0003", "a/../<odd>&id__fig0001", "b__fig0001", "b__fig0002"),
    ]
    assert [entry[5] for entry in entries] == ["kept", "dropped", "failed", "kept", "kept", "kept"]
    assert [entry[10] for entry in entries] == ["png", "png", None, None, "png", "png"]


def test_equal_tables_give_equal_bytes(out: Path) -> None:
    first = digests(write_report(out, out / "report"))
    assert digests(write_report(out, out / "report")) == first


def test_the_split_into_files_does_not_matter(out: Path, tmp_path: Path) -> None:
    first = digests(write_report(out, out / "report"))
    folder = out / "figures"
    table = pq.read_table(folder, schema=FIGURES)
    for path in folder.iterdir():
        path.unlink()
    pq.write_table(table.slice(4), folder / "x.parquet")
    pq.write_table(table.slice(0, 4), folder / "y.parquet")
    (folder / "_unfinished.parquet").write_bytes(b"PAR1")
    assert digests(write_report(out, out / "report")) == first


def test_hostile_text_cannot_end_a_script_and_comes_back_whole(out: Path) -> None:
    report = write_report(out, out / "report")
    for path in (report / "data").iterdir():
        assert not set("<>&\u2028\u2029") & set(path.read_text("utf-8"))
    details = read_data(report, "details-0000")
    assert details[4]["caption"] == HOSTILE
    assert details[4]["scores"][0]["summary"] == HOSTILE


def test_details_keep_nulls_and_what_the_runner_changed(out: Path) -> None:
    report = write_report(out, out / "report")
    details = read_data(report, "details-0000")
    agent, direct = details[4]["scores"]
    assert (agent["run"], direct["run"]) == ("rules-agent", "rules-direct")
    assert agent["dims"][2][:4] == [6, 7, "runner", 8.0]
    assert agent["caps"] == ["CC <= 6"]
    assert details[5]["scores"][1]["dims"][2] == [None] * 5
    assert details[5]["scores"][1]["failure"] == "truncated"
    features = dict(
        zip([name for name, _ in read_data(report, "index")["features"]], details[0]["features"], strict=True)
    )
    assert features["blur_laplacian_var"] == 812.25
    assert features["edge_density"] is None


def test_images_are_the_stored_bytes_and_thumbnails_are_small(out: Path) -> None:
    report = write_report(out, out / "report")
    assert (report / "images" / "000000.png").read_bytes() == png()
    thumb = (report / "thumbs" / "000000.webp").read_bytes()
    assert len(thumb) <= THUMB_BYTES
    with Image.open(io.BytesIO(thumb)) as image:
        assert (image.format, image.size) == ("WEBP", (384, 240))


def test_the_page_forbids_everything_but_its_own_files(out: Path) -> None:
    page = (write_report(out, out / "report") / "index.html").read_text("utf-8")
    assert "default-src 'none'" in page
    assert "unsafe" not in page
    assert re.findall(r'(?:src|href)="([^"]*)"', page) == ["report.css", "report.js", "data/index.js"]
    program = (out / "report" / "report.js").read_text("utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", program)


def test_a_report_needs_no_scores(out: Path) -> None:
    for path in (out / "scores").iterdir():
        path.unlink()
    assert read_data(write_report(out, out / "report"), "index")["summary"]["runs"] == []


def test_a_report_that_fails_leaves_the_former_one(out: Path) -> None:
    former = digests(write_report(out, out / "report"))
    (out / "figures" / "part-1.parquet").write_bytes(b"PAR1 broken")
    with pytest.raises(FatalError, match="figures: cannot be read as the figures table"):
        write_report(out, out / "report")
    assert digests(out / "report") == former
    assert not list(out.glob(".report*"))


def test_a_folder_that_holds_something_else_is_not_replaced(out: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    assert write_report(out, mine) == mine, "an empty one is free"
    (mine / ".DS_Store").write_bytes(b"")
    write_report(out, mine)
    (mine / "thesis.tex").write_text("x")
    before = digests(mine)
    with pytest.raises(FatalError, match=r"holds thesis\.tex, which is no part of a report"):
        write_report(out, mine)
    assert digests(mine) == before
    data = tmp_path / "dataset"
    (data / "images").mkdir(parents=True)
    for target in (data, mine / "thesis.tex", out):
        with pytest.raises(FatalError, match=r"(another|new) --out"):
            pipelines.report(out, target)


def test_scores_that_are_not_there_are_no_empty_report(out: Path, tmp_path: Path) -> None:
    with pytest.raises(FatalError, match="nowhere: no scores/ here; run `sfq judge"):
        pipelines.report(out, None, tmp_path / "nowhere")
    assert not (out / "report").exists()


def test_a_directory_without_tables_is_named(tmp_path: Path) -> None:
    with pytest.raises(FatalError, match="run the extract job into it first"):
        write_report(tmp_path, tmp_path / "report")
    with pytest.raises(FatalError, match="neither papers/ nor figures/ here"):
        pipelines.report(tmp_path)


def test_details_are_split_into_files(tmp_path: Path) -> None:
    plain = figure_rows()[2]
    rows = [{**plain, "figure_id": f"a__fig{n:04}", "fig_index": n, "image": None} for n in range(1, 121)]
    write(tmp_path, "figures", rows)
    report = write_report(tmp_path, tmp_path / "report")
    assert [len(read_data(report, f"details-000{n}")) for n in range(3)] == [50, 50, 20]
