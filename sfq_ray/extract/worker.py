"""Extraction of one part: some papers of the input, in order, to one part of papers/ and one of figures/."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sfq_ray.config import Settings
from sfq_ray.deaths import ALL, MAX_DEATHS, Deaths
from sfq_ray.errors import RETRYABLE, ExtractError
from sfq_ray.extract import curate
from sfq_ray.extract.child import PaperReader
from sfq_ray.extract.layout_worker import seen_pages
from sfq_ray.extract.layouts import NOTHING_SEEN, SeenPages
from sfq_ray.features import OcrBatch, OpenFigure, features_of, load_ocr, open_figure
from sfq_ray.features.ocr import Found
from sfq_ray.inputs import Input
from sfq_ray.places import Place, patient
from sfq_ray.store import Store
from sfq_ray.tables import FIGURES, PAPERS, figure_state, table_from_rows

EXTRACTOR = f"sfq_ray {version('sfq_ray')}"


class ExtractWorker:
    """Holds one child process for parsing and one OCR backend; called with a unit {"part", "inputs"}."""

    def __init__(self, out: Place, settings: Settings, job: str) -> None:
        self.store = Store(patient(out))
        self.presence = self.store.join()
        self.settings = settings
        self.job = job
        self.reader = PaperReader(settings.extract)
        self.ocr = load_ocr(settings.features.ocr, settings.features)

    def __call__(self, unit: dict[str, Any]) -> dict[str, Any]:
        part = unit["part"]
        inputs = [Input(**item) for item in unit["inputs"]]
        finished = self._finished(part)
        seen = seen_pages(self.store, part)
        deaths = Deaths(self.store.root / ".work" / f"{part}.json", self.job)
        # one figure at a time where the process has died on this part, to find the paper that kills it
        batch = OcrBatch(self.ocr, 0.0 if deaths.counts else self.settings.features.ocr_batch_mp * 1e6)
        papers: list[dict[str, Any]] = []
        figures: list[dict[str, Any]] = []
        read = [
            finished.get(item.paper_id) or self._paper(item, seen.get(item.paper_id, NOTHING_SEEN), deaths, batch)
            for item in inputs
        ]
        deaths.enter(ALL)
        batch.flush()
        deaths.leave()
        for item, (paper, own) in zip(inputs, read, strict=True):
            if item.paper_id not in finished:
                paper = self._closed(paper, own)
            papers.append(paper)
            figures.extend(own)
        self.store.remove("scores", f"*.{part}")  # they would belong to other figures
        self.store.write("figures", part, table_from_rows(figures, FIGURES))
        self.store.write("papers", part, table_from_rows(papers, PAPERS))  # last: it marks the part as done
        deaths.forget()
        return summary(papers, figures)

    def _finished(self, part: str) -> dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]:
        """Papers of an earlier run of this part that need not be tried again."""
        if not self.store.has("papers", part):
            return {}
        figures: dict[str, list[dict[str, Any]]] = {}
        for figure in self.store.read("figures", part).to_pylist():
            figures.setdefault(figure["paper_id"], []).append(figure)
        return {
            paper["paper_id"]: (paper, figures.get(paper["paper_id"], []))
            for paper in self.store.read("papers", part).to_pylist()
            if paper["error"] not in RETRYABLE
        }

    def _paper(
        self, item: Input, seen: SeenPages, deaths: Deaths, batch: OcrBatch
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """The paper's row without its outcome, and its figures' rows, which are complete once `batch` is flushed."""
        paper: dict[str, Any] = {
            "paper_id": item.paper_id, "venue": item.venue, "year": item.year, "title": item.title,
            "source": item.source, "sha256": item.sha256, "size_bytes": item.size_bytes, "extractor": EXTRACTOR,
            "warnings": [],
        }  # fmt: skip
        if item.duplicate_of is not None:
            reason = {"dropped": "duplicate", "duplicate_of": item.duplicate_of}
            return paper | reason | {"message": f"the same bytes as {item.duplicate_of}"}, []
        try:
            if deaths.too_many(item.paper_id):
                raise ExtractError("crashed", f"the worker process died {MAX_DEATHS} times on this paper")
            deaths.enter(item.paper_id)
            facts, figures = self.reader.read(Path(item.source), seen)
        except ExtractError as error:
            return paper | {"error": error.kind, "message": str(error)}, []
        paper |= {"pages": facts["pages"], "warnings": facts["warnings"], "title": item.title or facts["title"]}
        rows = [self._figure(paper, figure, batch) for figure in figures]
        deaths.leave()
        return paper, rows

    def _figure(self, paper: Mapping[str, Any], found: dict[str, Any], batch: OcrBatch) -> dict[str, Any]:
        """The figure's row; features and soft marks are added when OCR has read it.

        A failure of OCR is the figure's error, not the paper's.
        """
        boxes, dpis = found.pop("image_boxes") or [], found.pop("image_dpis") or []
        row = found | {name: paper[name] for name in ("paper_id", "venue", "year", "title")}
        row["figure_id"] = f"{paper['paper_id']}__fig{found['fig_index']:04d}"
        if row["image"] is not None:
            figure = open_figure(row["image"], row["words"], boxes, row["dpi"], row["caption"], dpis)
            batch.add(figure, partial(self._measured, row))
        return row

    def _measured(self, row: dict[str, Any], figure: OpenFigure, found: Found) -> None:
        """Completes the row with features and soft marks, or with the error of OCR."""
        limits = self.settings.extract
        try:
            row |= features_of(figure, found, self.ocr.name, self.settings.features)
        except ExtractError as error:
            row |= {"error": error.kind, "message": str(error)}
            return
        row["flags"] = row["flags"] + curate.soft_marks(row, limits.dpi, limits.curation)

    def _closed(self, paper: dict[str, Any], figures: list[dict[str, Any]]) -> dict[str, Any]:
        """The paper's row with its outcome and counts, after the rules on the paper as a whole."""
        if not paper.get("error") and not paper.get("dropped"):
            rule = curate.drop_paper(figures, self.settings.extract.curation)
            if rule is not None:
                paper |= {"dropped": rule, "message": PAPER_RULES[rule]}
                for row in figures:
                    if figure_state(row) == "kept":
                        row |= {"dropped_stage": "S5", "dropped": rule, "message": PAPER_RULES[rule]}
        kept = [f for f in figures if figure_state(f) == "kept"]
        drops = Counter((f["dropped_stage"], f["dropped"]) for f in figures if f["dropped"] is not None)
        flags = Counter(tuple(flag.split(":", 1)) for f in figures for flag in f["flags"])
        return paper | {
            "outcome": "failed" if paper.get("error") else "dropped" if paper.get("dropped") else "kept",
            "figures_found": len(figures),
            "figures_failed": sum(1 for f in figures if f["error"] is not None),
            "figures_kept": len(kept),
            "figures_uncited": sum(1 for f in kept if not f["contexts"]),
            "drops": _counts(drops),
            "flags": _counts(flags),
        }


PAPER_RULES = {
    "duplicate": "the same bytes as another input",
    "no_figures": "no figure caption was found",
    "too_many_unusable": "too many of its figures are unusable (curation.max_hard_drop_ratio)",
    "missing_indices": "too many figure numbers are missing between the first and the last",
}


def _counts(counter: Mapping[Any, int]) -> list[dict[str, Any]]:
    return [{"stage": key[0], "rule": key[1], "count": counter[key]} for key in sorted(counter)]


def summary(papers: Sequence[Mapping[str, Any]], figures: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Counts of a part for the progress display."""
    outcomes = Counter(paper["outcome"] for paper in papers)
    return {
        "papers": len(papers), "pages": sum(paper.get("pages") or 0 for paper in papers), **outcomes,
        "figures_kept": sum(1 for f in figures if figure_state(f) == "kept"),
        "figures_dropped": sum(1 for f in figures if f["dropped"] is not None),
        "figures_failed": sum(1 for f in figures if f["error"] is not None),
    }  # fmt: skip
