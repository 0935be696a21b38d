"""What a job asks of the cluster, on a real local Ray in a process of its own."""

import subprocess
import sys

SCRIPT = """
from sfq_ray import raydata
from sfq_ray.errors import FatalError
with raydata.session(1) as pool:
    try:
        list(raydata.run_units([{"part": "p"}], lambda: None, raydata.Actors(1, 1, 1.0, "extract.detector.gpus")))
    except FatalError as error:
        print(error)
"""


def test_gpus_that_are_not_there_are_one_clear_message():
    result = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120)
    assert "extract.detector.gpus: 1 GPUs are asked for each actor, but Ray knows of 0" in result.stdout, result.stderr
