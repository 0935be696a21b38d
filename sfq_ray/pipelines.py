"""One function per job, its stages in order. Read this first.

    PDFs --extract--> papers/ + figures/ --judge--> calls/ + scores/ --report--> report/

Every job continues where an earlier run of it stopped, and refuses a directory that was made with other settings.
"""

from __future__ import annotations

import sys
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sfq_ray import inputs as given
from sfq_ray import raydata
from sfq_ray.claims import claimed
from sfq_ray.config import Settings
from sfq_ray.errors import RETRYABLE, FatalError
from sfq_ray.extract.layout_worker import LayoutWorker
from sfq_ray.extract.layouts import EMBEDDED, LAYOUTS
from sfq_ray.extract.shards import Shard, shards
from sfq_ray.extract.worker import ExtractWorker
from sfq_ray.features import OCR
from sfq_ray.folders import check_replaceable
from sfq_ray.judge.capabilities import Model
from sfq_ray.judge.estimate import Estimate, estimates, spent_usd
from sfq_ray.judge.plan import Choice, Loader, Plan, limits_of, make_plan
from sfq_ray.judge.tally import Tally, forget_passing_failures, units
from sfq_ray.judge.worker import JudgeWorker, score_part
from sfq_ray.places import Place
from sfq_ray.progress import Progress
from sfq_ray.raydata import Actors, Halt
from sfq_ray.registry import check
from sfq_ray.report import REPORT, write_report
from sfq_ray.store import Store
from sfq_ray.tables import figure_state

DEFAULT = Choice()
LEASE_MARGIN_S = 30.0
MIN_PARTS, MAX_PAPERS_PER_PART = 64, 32  # small jobs: one paper a part; large ones: some hundred large files
MIN_PAPERS_FOR_RATE = 50  # so many papers before the error rate can stop a job


@dataclass(frozen=True)
class Totals:
    """What a job's tables hold now."""

    papers: Counter[str]
    figures: Counter[str]
    scores: Counter[str]
    pages: int
    shards: list[Shard]
    failed: list[tuple[str, str]]  # papers, with their messages


def run(paths: Sequence[str], out: Place, settings: Settings, workers: int | None = None) -> Totals:
    """The whole chain: extract, judge, report. Raises FatalError first where the report could not be written."""
    target = _report_folder(out, None)
    make_plan(settings.judge, DEFAULT)  # what is wrong with it is said before hours of extraction
    with raydata.session(workers):
        extract(paths, out, settings, workers)
        judge(out, settings, workers)
    report(out, target)
    return totals(out)


def extract(paths: Sequence[str], out: Place, settings: Settings, workers: int | None = None) -> None:
    """PDFs -> papers/ and figures/."""
    check(LAYOUTS, settings.extract.layout, "extract.layout")
    check(OCR, settings.features.ocr, "features.ocr")
    found = given.collect(paths)
    store = Store(out)
    store.prepare()
    with store.locked():
        inputs = {"inputs": {"count": len(found), "fingerprint": given.fingerprint(found)}}
        store.write_manifest(claimed(store, "extract", settings, ("extract", "features"), inputs))
        try:
            _extract(found, store, settings, workers)
        except FatalError:
            if not store.parts("papers"):  # nothing was made with this configuration, so another one may be tried
                store.forget("extract")
            raise


def _extract(found: Sequence[given.Input], store: Store, settings: Settings, workers: int | None) -> None:
    """What is still to do of the inputs."""
    parts = _parts(found)
    done_parts = _done(store)
    units = [unit for unit in parts if unit["part"] not in done_parts]
    if settings.extract.layout != EMBEDDED:
        _see(parts, store, settings, workers)
    done = len(found) - sum(len(unit["inputs"]) for unit in units)
    progress = Progress("extract", "papers", len(found))
    progress.add(done, {"done before": done})
    build = partial(ExtractWorker, store.root, settings, uuid.uuid4().hex)
    with raydata.session(workers) as pool:
        actors = Actors(pool, pool, settings.features.ocr_gpus, "features.ocr_gpus")
        for summary in raydata.run_units(units, build, actors):
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
    counted = sum(rows.num_rows for _, rows in store.narrow("papers", ["paper_id"]))
    if counted != len(found):
        raise FatalError(f"{store.root}: {len(found)} inputs but {counted} rows in papers/; please report this")


def _see(parts: Sequence[dict[str, Any]], store: Store, settings: Settings, workers: int | None) -> None:
    """PDFs -> layouts/: what a layout detector sees on the pages, for extraction to use."""
    seen = set(store.parts("layouts"))
    units = [unit for unit in parts if unit["part"] not in seen]
    inputs = sum(len(unit["inputs"]) for unit in parts)
    progress = Progress("layout", "papers", inputs)
    progress.add(inputs - sum(len(unit["inputs"]) for unit in units), {})
    build = partial(LayoutWorker, store.root, settings)
    with raydata.session(workers) as pool:
        actors = Actors(pool, pool, settings.extract.detector.gpus, "extract.detector.gpus")
        for summary in raydata.run_units(units, build, actors):
            progress.add(summary["papers"], {"pages seen": summary["pages"], "failed": summary["failed"]})
    progress.close()


def judge(
    figures: Place, settings: Settings, workers: int | None = None, out: Place | None = None, choice: Choice = DEFAULT
) -> None:
    """figures/ -> calls/ and scores/ (in `out`, if that is another directory), for every run of the choice."""
    plan = make_plan(settings.judge, choice)
    parts = _figure_parts(figures)
    for note in plan.thinking_notes(settings.judge):
        sys.stderr.write(f"{note}\n")
    store = Store(out or figures)
    store.prepare()
    with store.locked():
        made_with = {"figures": _inputs_of(figures), "runs": plan.lineage(settings.judge)}
        manifest = claimed(store, "judge", settings, (), made_with, again=choice.again)
        if choice.again:  # first: were it stopped in between, no old score would be taken for a new one
            for run in plan.runs:
                store.remove("scores", score_part(run.id, "*"))
        store.write_manifest(manifest)
        if not choice.offline:
            forget_passing_failures(store, plan.runs)
        _judge(figures, parts, store, plan, settings, workers)


def _judge(
    figures: Place, parts: Sequence[str], store: Store, plan: Plan, settings: Settings, workers: int | None
) -> None:
    """What is still to do of the plan's runs."""
    kept = _kept_figures(figures)
    expected = {run.id: sum(map(run.judges, kept)) for run in plan.runs}
    tally = Tally(store, plan.runs, settings.judge.max_failure_rate)
    progress = Progress("judge", "scores", sum(expected.values()))
    progress.add(tally.total(), {"done before": tally.total()})
    with raydata.session(workers) as pool:
        loader, halt = _loader(plan, settings, store)
        build = partial(JudgeWorker, figures, store.root, settings, plan.runs, loader, uuid.uuid4().hex,
                        plan.choice.offline)  # fmt: skip
        for runs in plan.pools():
            actors = _actors(plan.engines(runs), pool)
            for summary in raydata.run_units(units(tally.done, parts, runs, actors.most), build, actors, halt):
                lost = Counter({"calls perhaps lost in flight before": summary["interrupted"]})
                progress.add(summary["rows"], tally.add(summary["runs"]) | lost)
    progress.close()
    counts = {run_id: {"expected": expected[run_id], **count} for run_id, count in tally.runs.items()}
    manifest = store.manifest() or {}
    store.write_manifest(manifest | {"scores": manifest.get("scores", {}) | counts})
    for run_id, count in tally.runs.items():
        if count.total() != expected[run_id]:
            raise FatalError(
                f"{store.root}: {run_id}: {expected[run_id]} scores expected but {count.total()} are there"
            )


def _actors(engines: Sequence[Model], pool: int) -> Actors:
    """Workers of runs with these engines: each holds all of them, so that both models of an agent are at hand."""
    if not engines:
        return Actors(pool, pool)
    fewest, most = (max(model.replicas[end] for model in engines) for end in (0, 1))
    asked_by = ", ".join(f"engine or gpus of model {model.name}" for model in engines)
    gpus = sum(model.gpus_needed for model in engines)
    if not any(model.spans_nodes for model in engines):
        return Actors(fewest, most, gpus, asked_by)
    if len(engines) > 1:
        raise FatalError(
            f"{', '.join(model.name for model in engines)} are needed by one worker, and an engine that spans nodes "
            "takes a worker for itself; let a vLLM server serve the other and give it `backend: openai`"
        )
    return Actors(fewest, most, 0.0, asked_by, ({"CPU": 1.0}, *[{"GPU": 1.0}] * int(gpus)))


def estimate(figures: Place, settings: Settings, out: Place | None = None, choice: Choice = DEFAULT) -> list[Estimate]:
    """What judging would take, by run: calls, those the ledger already holds, tokens and money. Sends nothing."""
    plan = make_plan(settings.judge, choice)
    return estimates(Store(figures), Store(out or figures), _figure_parts(figures), plan, settings.judge)


def _inputs_of(figures: Place) -> str | None:
    """The fingerprint of the PDFs that the figures come from, or of the dataset that they were imported from."""
    manifest = Store(figures).manifest() or {}
    imported = manifest.get("import", {}).get("figures")
    fingerprint = manifest.get("extract", {}).get("inputs", {}).get("fingerprint", imported)
    return fingerprint if isinstance(fingerprint, str) else None


def _figure_parts(figures: Place) -> list[str]:
    parts = Store(figures).parts("figures")
    if not parts:
        raise FatalError(f"{figures}: no figures/ here; run `sfq extract PDFS --out {figures}` first")
    return parts


def _kept_figures(figures: Place) -> list[str]:
    """Their ids."""
    parts = Store(figures).narrow("figures", ["figure_id", "dropped", "error"])
    rows = (row for _, part in parts for row in part.to_pylist())
    return [row["figure_id"] for row in rows if figure_state(row) == "kept"]


def _loader(plan: Plan, settings: Settings, store: Store) -> tuple[Loader, Halt | None]:
    """How workers load models; where any is hosted, behind the gates that all of them share, and what shuts these."""
    accounts = plan.accounts()
    if not accounts or plan.choice.offline:
        return Loader(plan, settings.judge), None
    lease_s = settings.judge.deadline_s + LEASE_MARGIN_S
    limits = {
        name: {
            "max_in_flight": settings.judge.calls_in_flight * len(models), "lease_s": lease_s, **limits_of(models),
        }
        for name, models in accounts.items()
    }  # fmt: skip
    most = plan.choice.max_usd
    budget = None if most is None else {"max_usd": most, "spent_usd": spent_usd(store, plan), "lease_s": lease_s}
    gates, purse, halt = raydata.shared(limits, budget)
    return Loader(plan, settings.judge, gates, purse), halt


def report(out: Place, target: Path | None = None, scores_in: Place | None = None) -> Path:
    """papers/, figures/ and scores/ (of `scores_in`, if they are elsewhere) -> report/, or `target`; its index.html.

    An imported directory has no papers/, which the report says.
    """
    store = Store(out)
    if not store.parts("papers") and not store.parts("figures"):
        raise FatalError(
            f"{out}: neither papers/ nor figures/ here; run `sfq extract PDFS --out {out}` or `sfq import DATASET "
            f"--out {out}` first (scores elsewhere: --scores)"
        )
    if scores_in is not None and not Store(scores_in).parts("scores"):
        raise FatalError(f"{scores_in}: no scores/ here; run `sfq judge {out} --out {scores_in}` first")
    return write_report(out, _report_folder(out, target), scores_in) / "index.html"


def _report_folder(out: Place, target: Path | None) -> Path:
    """Where the page with its thousands of small files goes, which a browser opens from a local folder."""
    if target is None:
        if not isinstance(out, Path):
            raise FatalError(
                f"{out}: a report is written to a local folder; run `sfq extract` and `sfq judge` there, "
                f"then `sfq report {out} --out FOLDER`"
            )
        target = out / "report"
    check_replaceable(target, REPORT, "report")
    return target


def totals(out: Place) -> Totals:
    """Counts from the tables themselves, without reading images."""
    store = Store(out)
    columns = ["paper_id", "outcome", "message", "pages", "venue", "year", "figures_kept", "figures_uncited"]
    parts = [(part, row) for part, rows in store.narrow("papers", columns) for row in rows.to_pylist()]
    papers = [row for _, row in parts]
    figures: Counter[str] = Counter()
    for _, rows in store.narrow("figures", ["dropped", "error"]):
        figures.update(map(figure_state, rows.to_pylist()))
    scores: Counter[str] = Counter()
    for _, rows in store.narrow("scores", ["status"]):
        scores.update(rows["status"].to_pylist())
    outcomes = Counter(row["outcome"] for row in papers)
    failed = [(row["paper_id"], row["message"] or "") for row in papers if row["outcome"] == "failed"]
    return Totals(outcomes, figures, scores, sum(row["pages"] or 0 for row in papers), shards(parts), failed)


def _parts(found: Sequence[given.Input]) -> list[dict[str, Any]]:
    """Inputs cut into parts by their number alone, so that equal inputs give equal files."""
    size = max(1, min(MAX_PAPERS_PER_PART, -(-len(found) // MIN_PARTS)))
    return [
        {"part": f"part-{start // size:05d}", "inputs": [item.as_dict() for item in found[start : start + size]]}
        for start in range(0, len(found), size)
    ]


def _done(store: Store) -> set[str]:
    """Parts that are there, but for those in which a paper failed for a reason that may have gone."""
    return {part for part, rows in store.narrow("papers", ["error"]) if RETRYABLE.isdisjoint(rows["error"].to_pylist())}


def _check_rate(failed: int, done: int, settings: Settings) -> None:
    if done >= MIN_PAPERS_FOR_RATE and failed > settings.max_error_rate * done:
        raise FatalError(
            f"{failed} of {done} papers failed, more than max_error_rate={settings.max_error_rate:g} allows. "
            "Look at the column `message` in papers/, then run the same command again; it continues."
        )
