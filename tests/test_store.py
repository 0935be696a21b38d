"""The output directory: parts appear whole or not at all, and a full or closed disk says so."""

import os
import subprocess
import sys
import threading
import time

import pyarrow as pa
import pytest

from sfq_ray.errors import FatalError
from sfq_ray.store import Store, write_text
from sfq_ray.tables import PAPERS, table_from_rows


def papers(*ids):
    return table_from_rows(
        [{"paper_id": i, "source": f"{i}.pdf", "outcome": "kept", "extractor": "test"} for i in ids], PAPERS
    )


def test_what_was_written_is_read_in_order(store):
    store.write("papers", "part-00001", papers("c"))
    store.write("papers", "part-00000", papers("a", "b"))
    assert store.parts("papers") == ["part-00000", "part-00001"]
    assert [row["paper_id"] for row in store.rows("papers")] == ["a", "b", "c"]
    assert store.has("papers", "part-00000")
    store.remove("papers", "part-00000")
    assert not store.has("papers", "part-00000")


def test_narrow_columns_come_part_by_part_in_order(store, monkeypatch):
    monkeypatch.setattr("sfq_ray.store.READ_AHEAD", 2)
    for number in range(5):
        store.write("papers", f"part-{number:05d}", papers(f"p{number}", "x"))
    found = [(part, rows["paper_id"].to_pylist()) for part, rows in store.narrow("papers", ["paper_id"])]
    assert found == [(f"part-{number:05d}", [f"p{number}", "x"]) for number in range(5)]


def test_leftovers_of_a_killed_job_are_removed_but_not_what_a_job_at_work_is_writing(store):
    leftover = store.root / "papers" / ".part-00000.parquet.99.tmp"
    leftover.write_bytes(b"half")
    assert store.parts("papers") == []
    with store.locked():
        assert not leftover.exists()
        leftover.write_bytes(b"half")
        second = Store(store.root)
        second.prepare()
        with pytest.raises(FatalError, match="another job"), second.locked():
            pass
        assert leftover.exists()


def test_a_damaged_part_is_named(store):
    store.path("papers", "part-00000").write_bytes(b"PAR1 damaged")
    with pytest.raises(FatalError, match=r"papers/part-00000\.parquet: cannot be read as the papers table"):
        store.read("papers", "part-00000")


def test_a_part_that_cannot_be_read_is_named(store):
    with pytest.raises(FatalError, match=r"papers/part-00000\.parquet: cannot be read as"):
        store.read("papers", "part-00000")


def test_equal_rows_give_equal_bytes(store):
    store.write("papers", "a", papers("x"))
    store.write("papers", "b", papers("x"))
    assert store.path("papers", "a").read_bytes() == store.path("papers", "b").read_bytes()


def test_another_schema_does_not_get_in(store):
    with pytest.raises((ValueError, KeyError, pa.ArrowInvalid)):
        store.write("papers", "a", pa.table({"paper_id": ["x"]}))


def test_a_file_in_the_way_says_what_to_do(tmp_path):
    (tmp_path / "out").write_bytes(b"")
    with pytest.raises(FatalError, match="Choose another --out"):
        Store(tmp_path / "out").prepare()


def test_a_full_disk_leaves_no_half_part(store):
    """The kernel refuses to let a file grow, as it does on a full disk."""
    script = """
import resource, signal, sys
from pathlib import Path
sys.path.insert(0, "tests")
from test_store import papers
from sfq_ray.errors import FatalError
from sfq_ray.store import Store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
try:
    Store(Path(sys.argv[1])).write("papers", "part-00000", papers("a"))
except FatalError as error:
    print(error)
"""
    result = subprocess.run([sys.executable, "-c", script, str(store.root)], capture_output=True, text=True, timeout=60)
    assert "cannot be written" in result.stdout, result.stderr
    assert "run the same command again" in result.stdout
    assert list((store.root / "papers").iterdir()) == []


def test_a_damaged_manifest_is_not_overwritten(store):
    (store.root / "manifest.json").write_text("{half")
    with pytest.raises(FatalError, match="cannot be read"):
        store.manifest()


def test_the_manifest_comes_back(store):
    assert store.manifest() is None
    store.write_manifest({"format": 1, "ä": [1, None]})
    assert store.manifest() == {"format": 1, "ä": [1, None]}


def test_a_second_job_in_the_same_directory_is_refused(tmp_path):
    store = Store(tmp_path / "out")
    store.prepare()
    with (
        store.locked(),
        pytest.raises(FatalError, match="another job is at work here"),
        Store(tmp_path / "out").locked(),
    ):
        pass
    with store.locked():
        pass


def test_the_workers_of_a_killed_job_are_waited_for(tmp_path, monkeypatch):
    store = Store(tmp_path / "out")
    store.prepare()
    worker = Store(tmp_path / "out").join()
    with monkeypatch.context() as patch:
        patch.setattr("sfq_ray.store.ORPHANS_S", 0.2)
        with pytest.raises(FatalError, match="still at work here"), store.locked():
            pass
    begin = time.monotonic()
    threading.Timer(0.3, worker.close).start()
    with store.locked():
        assert time.monotonic() - begin > 0.25
        second = Store(tmp_path / "out").join()  # the job's own workers come after that
        second.close()


def test_a_text_is_replaced_as_a_whole(tmp_path):
    """A reader that has the old file open, or a command that is killed, never sees half of the new one."""
    write_text(tmp_path / "a/b.csv", "old\r\n")
    os.link(tmp_path / "a/b.csv", tmp_path / "reader")
    write_text(tmp_path / "a/b.csv", "new\n")
    assert (tmp_path / "reader").read_bytes() == b"old\r\n"
    assert (tmp_path / "a/b.csv").read_bytes() == b"new\n"
    with pytest.raises(FatalError, match="cannot be written"):
        write_text(tmp_path / "reader" / "c", "text")
