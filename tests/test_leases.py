"""The lock of a job in an object store, over a real S3 protocol."""

import subprocess
import sys
import time

import pytest

from sfq_ray import leases
from sfq_ray.errors import FatalError
from sfq_ray.leases import leased
from sfq_ray.store import Store

HOLDER = """
import sys
from sfq_ray import leases
from sfq_ray.places import place
leases.RENEW_S, leases.SETTLE_S = 0.2, 0.1
with leases.leased(place(sys.argv[1]) / ".lock"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    for name, seconds in (("RENEW_S", 0.2), ("WATCH_S", 2.0), ("SETTLE_S", 0.1)):
        monkeypatch.setattr(leases, name, seconds)


def holder(bucket):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(bucket)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_job_in_the_same_bucket_is_refused_until_the_first_is_over(bucket):
    first = holder(bucket)
    with pytest.raises(FatalError, match=r"corpus/out: another job is at work here"), Store(bucket).locked():
        pass
    first.communicate()
    assert first.returncode == 0
    assert not (bucket / ".lock").exists()
    begin = time.monotonic()
    with leased(bucket / ".lock"):
        assert time.monotonic() - begin < leases.WATCH_S
    assert not (bucket / ".lock").exists()


def test_the_lock_of_a_job_that_was_killed_is_taken_after_a_while(bucket):
    first = holder(bucket)
    first.kill()
    first.communicate()
    begin = time.monotonic()
    with leased(bucket / ".lock"):
        assert time.monotonic() - begin > leases.WATCH_S


def test_a_holder_that_was_taken_for_gone_does_not_take_the_lock_back(bucket):
    with leased(bucket / ".lock"):
        (bucket / ".lock").write_text("another 0")
        time.sleep(5 * leases.RENEW_S)
    assert (bucket / ".lock").read_text() == "another 0"
