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


GROUPED = """
import ray
from ray.util import get_current_placement_group
from sfq_ray import raydata

class Worker:
    def __call__(self, unit):
        bundles = get_current_placement_group().bundle_specs
        return {"bundles": [dict(bundle) for bundle in bundles], "part": unit["part"]}

ray.init(num_cpus=2, resources={"card": 2}, include_dashboard=False, log_to_driver=False)
with raydata.session(2):
    actors = raydata.Actors(1, 2, bundles=({"CPU": 1.0}, {"card": 1.0}, {"card": 1.0}))
    print(sorted(summary["part"] for summary in raydata.run_units([{"part": p} for p in "ab"], Worker, actors)))
    print([summary["bundles"] for summary in raydata.run_units([{"part": "c"}], Worker, actors)])
"""


def test_an_engine_that_spans_nodes_lives_in_a_placement_group_that_ends_with_the_job():
    result = subprocess.run([sys.executable, "-c", GROUPED], capture_output=True, text=True, timeout=120)
    said = result.stdout.splitlines()
    assert said[:2] == ["['a', 'b']", "[[{'CPU': 1.0}, {'card': 1.0}, {'card': 1.0}]]"], result.stderr


DYING = """
import os
from sfq_ray import raydata
from sfq_ray.errors import FatalError
from sfq_ray.raydata import units
units.MAX_REBIRTHS = 3
class Worker:
    def __call__(self, unit):
        os._exit(1)
with raydata.session(1):
    try:
        list(raydata.run_units([{"part": "p"}], Worker, raydata.Actors(1, 1)))
    except FatalError as error:
        print(error)
"""


def test_workers_that_only_die_end_the_job():
    result = subprocess.run([sys.executable, "-c", DYING], capture_output=True, text=True, timeout=240)
    assert "worker processes were started" in result.stdout, result.stderr[-2000:]
