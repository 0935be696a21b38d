"""Inputs: where they come from, what they are called, and which are copies."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfq_ray.errors import FatalError
from sfq_ray.inputs import collect, fingerprint


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in (
        ("a.pdf", b"A"),
        ("b/a.pdf", b"B"),
        ("b/copy.PDF", b"A"),
        ("b/notes.txt", b"T"),
        ("b/e 1.pdf", b""),
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    return tmp_path


def ids(inputs):
    return [item.paper_id for item in inputs]


def test_a_folder_is_searched_and_copies_are_marked(folder):
    found = collect(["."])
    assert [(item.source, item.duplicate_of) for item in found] == [
        ("a.pdf", None),
        ("b/a.pdf", None),
        ("b/copy.PDF", found[0].paper_id),
        ("b/e 1.pdf", None),
    ]
    assert len(set(ids(found))) == 4
    assert ids(found)[2:] == ["copy", "e_1"]


def test_files_globs_and_repeated_paths(folder):
    assert [item.source for item in collect(["b/*.pdf", "a.pdf", "a.pdf", "."])][:3] == [
        "b/a.pdf",
        "b/e 1.pdf",
        "a.pdf",
    ]
    assert len(collect(["a.pdf", ".", str(folder)])) == 4


def test_empty_files_are_not_copies_of_each_other(tmp_path):
    for name in ("x.pdf", "y.pdf"):
        (tmp_path / name).write_bytes(b"")
    assert [item.duplicate_of for item in collect([str(tmp_path)])] == [None, None]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_manifest_brings_ids_and_metadata(folder, kind):
    rows = [{"path": "a.pdf", "paper_id": "P1", "venue": "ACL", "year": 2021, "title": "T"}, {"path": "b/a.pdf"}]
    rows[1] |= dict.fromkeys(("paper_id", "venue", "title"), "") | {"year": None}
    manifest = folder / f"list.{kind}"
    if kind == "csv":
        manifest.write_text("path,paper_id,venue,year,title\na.pdf,P1,ACL,2021,T\nb/a.pdf,,,,\n")
    elif kind == "jsonl":
        manifest.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), manifest)
    first, second = collect([str(manifest)])
    assert (first.paper_id, first.venue, first.year, first.title) == ("P1", "ACL", 2021, "T")
    assert (second.paper_id, second.venue, second.year) == ("a", None, None)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("m.csv", "file\na.pdf\n", "no value in the column 'path'"),
        ("m.jsonl", "{broken\n", "cannot be read as a manifest"),
        ("m.jsonl", "[1]\n", "JSON object"),
        ("m.parquet", "no parquet", "cannot be read as a manifest"),
        ("m.csv", "path,year\na.pdf,soon\n", "year 'soon' is no number"),
    ],
)
def test_unusable_manifests_say_why(folder, name, content, words):
    (folder / name).write_text(content)
    with pytest.raises(FatalError, match=words):
        collect([name])


@pytest.mark.parametrize("path", ["nowhere", "no*thing.pdf"])
def test_nothing_there_is_an_error(folder, path):
    with pytest.raises(FatalError, match=r"no such file|at least one"):
        collect([path])


def test_a_listed_file_that_is_missing_is_kept_as_an_input(folder):
    (folder / "m.jsonl").write_text('{"path": "gone.pdf"}\n')
    (item,) = collect(["m.jsonl"])
    assert (item.paper_id, item.sha256) == ("gone", None)


def test_odd_names_give_safe_and_unique_ids(tmp_path):
    for name in ("a b.pdf", "a_b.pdf", 'q"<script>.pdf', "日本.pdf", ".pdf.pdf", "new\nline.pdf"):
        (tmp_path / name).write_bytes(name.encode())
    found = ids(collect([str(tmp_path)]))
    assert len(set(found)) == 6
    assert all(not set(paper_id) & set('<>"/\n ') for paper_id in found)


def test_the_fingerprint_depends_on_content_and_order_is_stable(folder):
    before = fingerprint(collect(["."]))
    assert fingerprint(collect(["."])) == before
    (folder / "a.pdf").write_bytes(b"changed")
    assert fingerprint(collect(["."])) != before
