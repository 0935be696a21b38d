"""What an output directory was made with: kept in its manifest, so that nothing else is mixed into it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

from sfq_ray.config import Settings
from sfq_ray.errors import FatalError
from sfq_ray.store import Store

LIBRARIES = ("pymupdf", "opencv-python-headless", "imagehash", "rapidocr", "onnxruntime", "pyarrow", "numpy", "pillow")
# settings that change how a job runs, not what comes out for an input that succeeds
FREE_SETTINGS = frozenset(
    {"extract.limits.seconds_per_paper", "extract.limits.memory_mb", "extract.limits.papers_per_child",
     "extract.detector.device", "extract.detector.gpus", "extract.detector.batch_pages", "features.ocr_models.device",
     "features.ocr_gpus", "features.ocr_batch_mp", "features.ocr_server.url", "features.ocr_server.key_env",
     "features.ocr_server.in_flight", "features.ocr_server.deadline_s", "judge.calls_in_flight",
     "judge.deadline_s", "judge.max_failure_rate"}
)  # fmt: skip


def claimed(
    store: Store, job: str, settings: Settings, sections: Iterable[str], more: Mapping[str, Any], again: bool = False
) -> dict[str, Any]:
    """The run manifest to write, with what this job is made with. Raises FatalError that refuses to mix it.

    Runs of a judging job are added to those that are there. With `again` what is said now of the job's runs replaces
    what was said; the figures that other runs rest on stay the same.
    """
    manifest = store.manifest() or {"format": 1}
    dumped = settings.model_dump(mode="json")
    mine = {
        "sfq_ray": version("sfq_ray"),
        "versions": {name: version(name) for name in LIBRARIES},
        "settings": {name: dumped[name] for name in sections},
        **more,
    }
    before = manifest.get(job)
    if before is not None:
        known, own = before.get("runs", {}), mine.get("runs", {})
        if "runs" in mine:
            mine["runs"] = known | own
        free = {f"runs.{run_id}." for run_id in (own if again else own.keys() - known.keys())}
        if again:
            free |= {"sfq_ray", "versions."} if known.keys() - own.keys() else {""}
        _refuse_to_mix(store, before, mine, tuple(free), ", or --again to score anew" if known and not again else "")
    return manifest | {job: mine}


def _refuse_to_mix(
    store: Store, before: Mapping[str, Any], mine: Mapping[str, Any], free: tuple[str, ...], way_out: str
) -> None:
    """Raises FatalError that names the keys that differ, but for those that begin as `free` do."""
    changed = [key for key in differing(before, mine) if not key.startswith(free)]
    if changed:
        old, new = _flat(before), _flat(mine)
        listed = "; ".join(f"{key}: {old.get(key)!r} -> {new.get(key)!r}" for key in changed)
        raise FatalError(
            f"{store.root} was made with another configuration ({listed}). "
            f"Use the old one, or another --out for a new run{way_out}."
        )


def differing(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Keys of what two jobs say of themselves that differ and make a difference to what comes out."""
    old, new = _flat(before), _flat(now)
    return sorted(
        key for key in old.keys() | new.keys()
        if old.get(key) != new.get(key) and key.rpartition("settings.")[2] not in FREE_SETTINGS
        and not key.endswith(".thinking_note")
    )  # fmt: skip


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
