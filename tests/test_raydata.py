"""What a job asks of the cluster, on a real local Ray in a process of its own."""

import subprocess
import sys

SCRIPT = """
from sfq_ray import raydata
from sfq_ray.errors import FatalError
with raydata.session(1) as pool:
    try:
        list(raydata.run_units([{"part": "p"}], lambda: None, pool, gpus=1.0))
    except FatalError as error:
        print(error)
"""


def test_a_cluster_that_is_not_there_is_one_clear_message():
    script = (
        "\n".join(SCRIPT.splitlines()[:3])
        + """
import os
os.environ["RAY_ADDRESS"] = "127.0.0.1:9"
try:
    with raydata.session(1):
        pass
except FatalError as error:
    print(error)
"""
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert "RAY_ADDRESS=127.0.0.1:9: no Ray answers there" in result.stdout, result.stderr


def test_gpus_that_are_not_there_are_one_clear_message():
    result = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120)
    assert "extract.detector.gpus: 1 GPUs are asked for each actor, but Ray knows of 0" in result.stdout, result.stderr
