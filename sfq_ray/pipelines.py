"""One function per job, its stages in order. Read this first.

    PDFs --extract--> papers/ + figures/ --judge--> calls/ + scores/ --report--> report/

Every job continues where an earlier run of it stopped, and refuses a directory that was made with other settings.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sfq_ray import inputs as given
from sfq_ray import raydata
from sfq_ray.config import Settings
from sfq_ray.errors import RETRYABLE, FatalError
from sfq_ray.extract.layout_worker import LayoutWorker
from sfq_ray.extract.layouts import EMBEDDED, LAYOUTS
from sfq_ray.extract.shards import Shard, shards
from sfq_ray.extract.worker import ExtractWorker
from sfq_ray.features import OCR
from sfq_ray.judge.backends import BACKENDS, load_backend
from sfq_ray.judge.matrix import own_runs
from sfq_ray.judge.rendering import prompt_hashes
from sfq_ray.judge.worker import JudgeWorker, score_part
from sfq_ray.progress import Progress
from sfq_ray.registry import check
from sfq_ray.report import write_report
from sfq_ray.store import Store

MIN_PARTS, MAX_PAPERS_PER_PART = 64, 32  # small jobs: one paper a part; large ones: some hundred large files
MIN_PAPERS_FOR_RATE = 50  # so many papers before the error rate can stop a job
LIBRARIES = ("pymupdf", "opencv-python-headless", "imagehash", "rapidocr", "onnxruntime", "pyarrow", "numpy", "pillow")
# settings that change how a job runs, not what comes out for an input that succeeds
FREE_SETTINGS = frozenset(
    {"extract.limits.seconds_per_paper", "extract.limits.memory_mb", "extract.limits.papers_per_child",
     "extract.detector.device", "extract.detector.gpus", "extract.detector.batch_pages", "judge.calls_in_flight"}
)  # fmt: skip


@dataclass(frozen=True)
class Totals:
    """What a job's tables hold now."""

    papers: Counter[str]
    figures: Counter[str]
    scores: Counter[str]
    pages: int
    shards: list[Shard]


def run(paths: Sequence[str], out: Path, settings: Settings, workers: int | None = None) -> Totals:
    """The whole chain: extract, judge, report."""
    check(BACKENDS, settings.judge.backend, "judge.backend")  # before hours of extraction
    with raydata.session(workers):
        extract(paths, out, settings, workers)
        judge(out, settings, workers)
    report(out)
    return totals(out)


def extract(paths: Sequence[str], out: Path, settings: Settings, workers: int | None = None) -> None:
    """PDFs -> papers/ and figures/."""
    check(LAYOUTS, settings.extract.layout, "extract.layout")
    check(OCR, settings.features.ocr, "features.ocr")
    found = given.collect(paths)
    store = Store(out)
    store.prepare()
    _claim(
        store, "extract", settings, ("extract", "features"),
        {"inputs": {"count": len(found), "fingerprint": given.fingerprint(found)}},
    )  # fmt: skip
    parts = _parts(found)
    units = [unit for unit in parts if _to_do(store, unit)]
    if settings.extract.layout != EMBEDDED:
        _see(parts, store, settings, workers)
    done = len(found) - sum(len(unit["inputs"]) for unit in units)
    progress = Progress("extract", "papers", len(found))
    progress.add(done, {"done before": done})
    build = partial(ExtractWorker, str(out), settings, uuid.uuid4().hex)
    with raydata.session(workers) as pool:
        for summary in raydata.run_units(units, build, pool):
            progress.add(
                summary["papers"],
                {
                    "failed": summary.get("failed", 0), "dropped": summary.get("dropped", 0),
                    "figures kept": summary["figures_kept"], "figures dropped": summary["figures_dropped"],
                    "figures failed": summary["figures_failed"],
                },
            )  # fmt: skip
            _check_rate(progress.counts["failed"], progress.done - done, settings)
    progress.close()
    counted = sum(totals(out).papers.values())
    if counted != len(found):
        raise FatalError(f"{out}: {len(found)} inputs but {counted} rows in papers/; please report this")


def _see(parts: Sequence[dict[str, Any]], store: Store, settings: Settings, workers: int | None) -> None:
    """PDFs -> layouts/: what a layout detector sees on the pages, for extraction to use."""
    units = [unit for unit in parts if not store.has("layouts", unit["part"])]
    inputs = sum(len(unit["inputs"]) for unit in parts)
    progress = Progress("layout", "papers", inputs)
    progress.add(inputs - sum(len(unit["inputs"]) for unit in units), {})
    build = partial(LayoutWorker, str(store.root), settings)
    with raydata.session(workers) as pool:
        for summary in raydata.run_units(units, build, pool, settings.extract.detector.gpus):
            progress.add(summary["papers"], {"pages seen": summary["pages"], "failed": summary["failed"]})
    progress.close()


def judge(out: Path, settings: Settings, workers: int | None = None) -> None:
    """figures/ -> calls/ and scores/."""
    check(BACKENDS, settings.judge.backend, "judge.backend")
    store = Store(out)
    parts = store.parts("figures")
    if not parts:
        raise FatalError(f"{out}: no figures/ here; run `sfq extract PDFS --out {out}` first")
    store.prepare()
    _claim(store, "judge", settings, ("judge",), {"prompts": prompt_hashes()})
    runs = own_runs(settings.judge.backend, settings.judge.protocols)
    todo = {part: [r.id for r in runs if not store.has("scores", score_part(r.id, part))] for part in parts}
    units = [{"todo": {part: run_ids}} for part, run_ids in todo.items() if run_ids]
    kept = totals(out).figures["kept"]
    expected = kept * len(runs)
    before = sum(totals(out).scores.values())
    progress = Progress("judge", "scores", expected)
    progress.add(before, {"done before": before})
    with raydata.session(workers) as pool:
        build = partial(JudgeWorker, str(out), settings, runs, load_backend)
        for summary in raydata.run_units(units, build, pool):
            progress.add(summary["rows"], {name: summary.get(name, 0) for name in ("scored", "gated", "failed")})
    progress.close()
    counted = sum(totals(out).scores.values())
    if counted != expected:
        raise FatalError(f"{out}: {expected} scores expected but {counted} rows in scores/; please report this")


def report(out: Path) -> Path:
    """papers/, figures/ and scores/ -> report/index.html."""
    if not Store(out).parts("papers"):
        raise FatalError(f"{out}: no papers/ here; run `sfq extract PDFS --out {out}` first")
    return write_report(out)


def totals(out: Path) -> Totals:
    """Counts from the tables themselves, without reading images."""
    store = Store(out)
    columns = ["outcome", "pages", "venue", "year", "figures_kept", "figures_uncited"]
    parts = [(part, row) for part in store.parts("papers") for row in store.read("papers", part, columns).to_pylist()]
    papers = [row for _, row in parts]
    figures = Counter(
        "failed" if row["error"] else "dropped" if row["dropped"] else "kept"
        for row in store.rows("figures", ["dropped", "error"])
    )
    scores = Counter(row["status"] for row in store.rows("scores", ["status"]))
    outcomes = Counter(row["outcome"] for row in papers)
    return Totals(outcomes, figures, scores, sum(row["pages"] or 0 for row in papers), shards(parts))


def _parts(found: Sequence[given.Input]) -> list[dict[str, Any]]:
    """Inputs cut into parts by their number alone, so that equal inputs give equal files."""
    size = max(1, min(MAX_PAPERS_PER_PART, -(-len(found) // MIN_PARTS)))
    return [
        {"part": f"part-{start // size:05d}", "inputs": [item.as_dict() for item in found[start : start + size]]}
        for start in range(0, len(found), size)
    ]


def _to_do(store: Store, unit: Mapping[str, Any]) -> bool:
    """A part that is missing, or in which a paper failed for a reason that may have gone."""
    if not store.has("papers", unit["part"]):
        return True
    return any(row["error"] in RETRYABLE for row in store.read("papers", unit["part"], ["error"]).to_pylist())


def _check_rate(failed: int, done: int, settings: Settings) -> None:
    if done >= MIN_PAPERS_FOR_RATE and failed > settings.max_error_rate * done:
        raise FatalError(
            f"{failed} of {done} papers failed, more than max_error_rate={settings.max_error_rate:g} allows. "
            "Look at the column `message` in papers/, then run the same command again; it continues."
        )


def _claim(store: Store, job: str, settings: Settings, sections: Iterable[str], more: Mapping[str, Any]) -> None:
    """Writes what this job is made with into the run manifest, or refuses to mix it with something else."""
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
        old, new = _flat(before), _flat(mine)
        changed = sorted(
            key for key in old.keys() | new.keys()
            if old.get(key) != new.get(key) and key.removeprefix("settings.") not in FREE_SETTINGS
        )  # fmt: skip
        if changed:
            listed = "; ".join(f"{key}: {old.get(key)!r} -> {new.get(key)!r}" for key in changed)
            raise FatalError(
                f"{store.root} was made with another configuration ({listed}). "
                "Use the old one, or another --out for a new run."
            )
    store.write_manifest(manifest | {job: mine})


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
