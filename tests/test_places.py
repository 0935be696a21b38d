"""Output directories in an object store, over a real S3 protocol."""

import hashlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer
from object_store import environment
from servers import ProtocolServer

sys.path.insert(0, str(Path(__file__).parent / "judge"))
from hosted import ENVIRONMENT, models_file, served
from scripted import Scripted
from test_ledger import ask_all, requests

from sfq_ray.config import ConfigError
from sfq_ray.errors import FatalError
from sfq_ray.judge.ledger import Ledger
from sfq_ray.judge.segments import new_segment
from sfq_ray.places import Bucket, patient, place
from sfq_ray.report import write_report
from sfq_ray.store import Store

ROOT = Path(__file__).parents[1]
PAPER = ROOT / "examples" / "one-column.pdf"


def sfq(*arguments):
    command = [sys.executable, "-m", "sfq_ray.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=240)


def digests(root, table):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (root / table).glob("*.parquet")}


def test_a_local_path_stays_one():
    assert place("out/x") == Path("out/x")


@pytest.mark.parametrize("location", ["nosuch://x/y", "s3://"])
def test_an_address_that_is_none_says_so(location):
    with pytest.raises(ConfigError, match="no place for tables"):
        place(location)


def test_keys_in_an_address_are_refused_without_being_shown():
    with pytest.raises(ConfigError) as caught:
        place("s3://AKIAPLANTED:planted@bucket/out")
    assert "planted" not in str(caught.value).lower()


def test_objects_are_found_read_and_removed(bucket):
    folder = bucket / "table"
    assert list(folder.glob("*")) == []
    (folder / "a.parquet").write_bytes(b"one")
    (folder / "b.txt").write_text("zwei ü")
    (folder / "deep" / "c.parquet").write_bytes(b"")
    assert [path.name for path in folder.glob("*.parquet")] == ["a.parquet"]
    assert (folder / "b.txt").read_text() == "zwei ü"
    assert (folder / "a.parquet").exists()
    assert not (folder / "z").exists()
    assert pickle.loads(pickle.dumps(folder / "a.parquet")).read_bytes() == b"one"
    (folder / "a.parquet").unlink()
    (folder / "a.parquet").unlink(missing_ok=True)
    with pytest.raises(FileNotFoundError):
        (folder / "a.parquet").read_bytes()
    assert str((folder / "b.txt").parent) == str(folder)


def test_a_bucket_that_is_not_there_says_what_to_do(bucket):
    with pytest.raises(FatalError, match=r"s3://no-such-bucket/out/.*cannot be used.*NO_SUCH_BUCKET"):
        Store(Bucket("s3://no-such-bucket/out")).prepare()


@pytest.fixture
def outages(monkeypatch):
    """A bucket on a server that goes away and comes back: the bucket, stop() and start()."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    running = [server]

    def stop():
        running.pop().stop()

    def start():
        running.append(ThreadedMotoServer(ip_address=host, port=port, verbose=False))
        running[0].start()

    for name, value in environment(f"http://{host}:{port}").items():
        monkeypatch.setenv(name, value)
    name = f"tables-{uuid.uuid4().hex}"
    boto3.client("s3").create_bucket(Bucket=name)
    yield place(f"s3://{name}/out"), stop, start
    for left in running:
        left.stop()


def test_an_outage_is_waited_out_by_workers_and_named_by_others(outages):
    hasty, stop, start = outages
    stop()
    with pytest.raises(FatalError, match=r"/out/a: cannot be used .*NETWORK_CONNECTION") as caught:
        (hasty / "a").exists()
    assert "planted" not in str(caught.value)
    back = threading.Timer(1.0, start)
    back.start()
    (patient(hasty) / "a").write_bytes(b"kept")
    back.join()
    assert (hasty / "a").read_bytes() == b"kept"


def test_lines_that_an_outage_kept_from_a_bucket_go_with_the_next(outages):
    bucket, stop, start = outages
    segment = new_segment(bucket / "_open", "m.part-00000")
    segment.write(b"one\n")
    stop()
    with pytest.raises(FatalError):
        segment.sync()
    segment.write(b"two\n")
    start()
    segment.sync()
    (written,) = (bucket / "_open").glob("*.jsonl")
    assert written.read_bytes() == b"one\ntwo\n"


def test_the_chain_in_a_bucket_gives_the_bytes_of_the_chain_on_a_disk(bucket, tmp_path):
    local = tmp_path / "out"
    for out in (local, bucket):
        done = sfq("extract", PAPER, "--out", out, "--ocr", "none", "--workers", 1)
        assert done.returncode == 0, done.stderr
        done = sfq("judge", out, "--workers", 1)
        assert done.returncode == 0, done.stderr
        assert "0 failed" in done.stdout
    for table in ("papers", "figures", "calls", "scores"):
        assert digests(bucket, table) == digests(local, table) != {}
    assert not list((bucket / "calls" / "_open").glob("*"))
    assert not list((bucket / ".work").glob("*"))
    page = write_report(bucket, tmp_path / "report")
    assert (page / "index.html").exists()
    refused = sfq("run", PAPER, "--out", bucket)
    assert refused.returncode == 1
    assert "a report is written to a local folder" in refused.stderr


def test_replies_outlive_a_writer_in_a_bucket(bucket):
    backend = Scripted(delay_s=0.01)
    calls = requests(backend)
    ask_all(Ledger(bucket, "m.part-00000"), backend, calls)  # no close: the process was killed
    segments = [path.name for path in (bucket / "_open").glob("m.part-00000-*.jsonl")]
    assert 2 <= len(segments) <= 2 * len(calls), "intents before, outcomes after, those at the same time together"
    resumed = Ledger(bucket, "m.part-00000")
    ask_all(resumed, backend, calls)
    assert (resumed.made, resumed.interrupted) == (0, 0)
    resumed.close()
    assert not list((bucket / "_open").glob("*"))
    assert ask_all(Ledger(bucket, "m.part-00000", offline=True), backend, calls)


def test_a_job_killed_while_it_writes_to_a_bucket_pays_for_calls_in_flight_at_most(bucket, tmp_path, monkeypatch):
    figures = tmp_path / "figures"
    assert sfq("extract", PAPER, "--out", figures, "--ocr", "none", "--workers", 1).returncode == 0
    for name, value in ENVIRONMENT.items():
        if not name.startswith("AWS"):
            monkeypatch.setenv(name, value)
    with ProtocolServer(models=served(), latency_s=0.2) as server:
        options = ("judge", figures, "--out", bucket, "--matrix", ROOT / "jobs" / "eval1200.yaml", "--runs", "D2,F3,F8",
                   "--models", models_file(tmp_path / "models.yaml", server.url), "--workers", 1)  # fmt: skip
        command = [sys.executable, "-m", "sfq_ray.cli", *map(str, options)]
        job = subprocess.Popen(command, cwd=ROOT, start_new_session=True, stderr=subprocess.DEVNULL)
        begin = time.monotonic()
        while not server.accepted and time.monotonic() - begin < 60:
            time.sleep(0.02)
        time.sleep(0.3)
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
        subprocess.run(["pkill", "-9", "-f", str(bucket)], check=False)
        done = sfq(*options)
        assert done.returncode == 0, done.stderr
        paid = sum(server.accepted.values())
        before = len(server.requests)
        sfq(*options)
        assert len(server.requests) == before, "a further run calls nobody"
    rows = list(Store(bucket).rows("calls", ["request_id"]))
    assert len(rows) == len({row["request_id"] for row in rows})
    assert len(rows) <= paid <= len(rows) + server.in_flight_peak
