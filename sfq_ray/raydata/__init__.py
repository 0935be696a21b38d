"""Ray at the edge: units of work go to a pool of actors, one after the other, and their summaries come back.

The only package besides judge.backends that imports ray. A unit (a part of the tables) is read and written by the
worker itself: neither pages nor images travel through the object store or the driver.
"""

from sfq_ray.raydata.accounts import Halt, shared
from sfq_ray.raydata.session import session
from sfq_ray.raydata.units import Actors, Worker, run_units

__all__ = ["Actors", "Halt", "Worker", "run_units", "session", "shared"]
