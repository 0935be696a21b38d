"""The layout stage of a part: pages rendered in the child process, seen by a detector, written to layouts/."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from sfq_ray.config import Settings
from sfq_ray.errors import ExtractError
from sfq_ray.extract.child import PaperReader
from sfq_ray.extract.layouts import LayoutFailed, Region, SeenPages, load_detector
from sfq_ray.geometry import Box
from sfq_ray.inputs import Input
from sfq_ray.places import Place, patient
from sfq_ray.store import Store
from sfq_ray.tables import LAYOUTS, table_from_rows


@dataclass(frozen=True)
class _Page:
    paper_id: str
    number: int  # 0-based
    box: Box  # pt
    image: np.ndarray


class LayoutWorker:
    """Holds one detector and one child process; called with a unit {"part", "inputs"}.

    While the detector looks at the pages of one paper, the child renders the next.
    """

    def __init__(self, out: Place, settings: Settings) -> None:
        self.store = Store(patient(out))
        self.presence = self.store.join()
        self.settings = settings.extract
        self.detector = load_detector(settings.extract.layout, settings.extract.detector)
        self.reader = PaperReader(settings.extract)

    def __call__(self, unit: dict[str, Any]) -> dict[str, Any]:
        inputs = [Input(**item) for item in unit["inputs"]]
        failed: list[dict[str, Any]] = []
        pages = chain.from_iterable(self._papers([i for i in inputs if i.duplicate_of is None], failed))
        rows: list[dict[str, Any]] = []
        while batch := list(islice(pages, self.settings.detector.batch_pages)):
            rows.extend(self._see(batch))
        rows.extend(failed)
        self.store.write("layouts", unit["part"], table_from_rows(rows, LAYOUTS))
        return {
            "papers": len(inputs), "pages": sum(row.get("page") is not None for row in rows),
            "failed": sum(row.get("error") is not None for row in rows),
        }  # fmt: skip

    def _papers(self, inputs: Sequence[Input], failed: list[dict[str, Any]]) -> Iterator[list[_Page]]:
        """Pages paper by paper, one paper ahead; a paper that cannot be rendered adds its row to `failed`."""
        with ThreadPoolExecutor(1) as ahead:
            waiting = ahead.submit(self._render, inputs[0]) if inputs else None
            for number, item in enumerate(inputs):
                assert waiting is not None
                result = waiting.result()
                if number + 1 < len(inputs):
                    waiting = ahead.submit(self._render, inputs[number + 1])
                if isinstance(result, ExtractError):
                    failed.append({"paper_id": item.paper_id, "error": result.kind, "message": str(result)})
                else:
                    yield result

    def _render(self, item: Input) -> list[_Page] | ExtractError:
        try:
            return [_Page(item.paper_id, *page) for page in self.reader.pages_to_see(Path(item.source))]
        except ExtractError as error:
            return error

    def _see(self, batch: Sequence[_Page]) -> list[dict[str, Any]]:
        """One row per page. Where the detector fails on the batch, its pages are tried alone."""
        try:
            found = self.detector.detect([page.image for page in batch])
        except LayoutFailed as error:
            if len(batch) > 1:
                return [row for page in batch for row in self._see([page])]
            page = batch[0]
            return [{"paper_id": page.paper_id, "page": page.number, "error": "layout_failed", "message": str(error)}]
        return [
            {"paper_id": page.paper_id, "page": page.number, "regions": [_row(region, page) for region in regions]}
            for page, regions in zip(batch, found, strict=True)
        ]


def _row(region: Region, page: _Page) -> dict[str, Any]:
    """The region with its box in pt of the page."""
    height, width = page.image.shape[:2]
    x, y = page.box.width / width, page.box.height / height
    box = region.bbox
    return {
        "label": region.label, "score": region.score, "bbox": [box.x0 * x, box.y0 * y, box.x1 * x, box.y1 * y],
    }  # fmt: skip


def seen_pages(store: Store, part: str) -> dict[str, SeenPages]:
    """What layouts/ holds of a part, by paper_id; empty where no detector was used."""
    if not store.has("layouts", part):
        return {}
    seen: dict[str, SeenPages] = {}
    for row in store.read("layouts", part).to_pylist():
        if row["page"] is None:
            continue
        paper = seen.setdefault(row["paper_id"], SeenPages())
        if row["error"] is not None:
            paper.failures[row["page"]] = row["message"]
        else:
            paper.regions[row["page"]] = [Region(r["label"], r["score"], Box(*r["bbox"])) for r in row["regions"]]
    return seen
