"""Writes the report: a page, its style and program, data as scripts, and images.

    report/index.html  report.css  report.js
           data/index.js          totals and one short entry per paper and figure
           data/details-0000.js   everything else about DETAILS_PER_FILE figures, loaded when one is opened
           data/failures.js       messages by failure class, loaded with the list of failures
           thumbs/000000.webp     small pictures, by the figure's number
           images/000000.png      the stored images, unchanged

The number of a figure is its place by paper, index and id, so file names hold nothing that came from a paper.
Equal tables give equal bytes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from itertools import islice
from pathlib import Path

from sfq_ray.folders import check_replaceable, replace_folder
from sfq_ray.places import Place
from sfq_ray.report.entries import FEATURES, PAPER_COLUMNS, figure_detail, figure_entry, paper_entry
from sfq_ray.report.images import Picture, picture
from sfq_ray.report.read import Row, Tables, read_tables, stream
from sfq_ray.report.script import data_script
from sfq_ray.report.totals import failures, summary
from sfq_ray.rubric import NAMES

DETAILS_PER_FILE = 50
SHELL = ("report.js", "report.css", "index.html")
FOLDERS = ("data", "thumbs", "images")
REPORT = (*SHELL, *FOLDERS)
"""What a report's folder holds; the first tells that it is one."""


def write_report(out: Place, target: Path, scores_in: Place | None = None) -> Path:
    """Writes the folder `target` from out/papers, out/figures and the scores/ of `scores_in`, else of `out`.

    Returns `target`. A former report is replaced only when the new one is complete. Raises FatalError when the tables
    cannot be read, or when `target` holds something else, which would be lost.
    """
    check_replaceable(target, REPORT, "report")
    tables = read_tables(out, scores_in)
    partial = target.with_name(f".{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # of a run that was interrupted
    try:
        for folder in FOLDERS:
            (partial / folder).mkdir(parents=True)
        suffixes = _write_images(out, tables, partial)
        _write_data(tables, suffixes, partial / "data")
        for name in SHELL:
            (partial / name).write_bytes(files("sfq_ray.report").joinpath(name).read_bytes())
        replace_folder(partial, target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return target


def _write_images(out: Place, tables: Tables, folder: Path) -> dict[int, str]:
    """Images and thumbnails; returns the file ending by number of every figure whose image can be shown."""
    numbers = {figure["figure_id"]: number for number, figure in enumerate(tables.figures)}
    suffixes: dict[int, str] = {}
    workers = os.cpu_count() or 1
    rows = stream(out, "figures", ["figure_id", "image"])
    with ThreadPoolExecutor(workers) as pool:  # decoding and scaling run outside the interpreter lock
        for batch in _batches(rows, 4 * workers):
            for row, shown in zip(batch, pool.map(_picture_of, batch), strict=True):
                number = numbers.pop(row["figure_id"], None)  # the first row of an id, as in the tables
                if number is None or shown is None:
                    continue
                suffixes[number] = shown.suffix
                (folder / "images" / f"{number:06}.{shown.suffix}").write_bytes(row["image"])
                (folder / "thumbs" / f"{number:06}.webp").write_bytes(shown.thumbnail)
    return suffixes


def _write_data(tables: Tables, suffixes: dict[int, str], folder: Path) -> None:
    runs = tables.scores
    index = {
        "dimensions": [[dimension, name] for dimension, name in NAMES.items()],
        "features": FEATURES,
        "detailsPerFile": DETAILS_PER_FILE,
        "paperColumns": PAPER_COLUMNS,
        "summary": summary(tables),
        "papers": [paper_entry(paper) for paper in tables.papers],
        "figures": [
            figure_entry(figure, suffixes.get(number), (rows.get(figure["figure_id"]) for rows in runs.values()))
            for number, figure in enumerate(tables.figures)
        ],
    }
    (folder / "index.js").write_bytes(data_script("index", index))
    (folder / "failures.js").write_bytes(data_script("failures", failures(tables)))
    for part, batch in enumerate(_batches(iter(tables.figures), DETAILS_PER_FILE)):
        details = []
        for figure in batch:
            figure_id = figure["figure_id"]
            scores = [rows[figure_id] for rows in runs.values() if figure_id in rows]
            details.append(figure_detail(figure, scores))
        name = f"details-{part:04}"
        (folder / f"{name}.js").write_bytes(data_script(name, details))


def _picture_of(row: Row) -> Picture | None:
    return picture(row["image"])


def _batches(rows: Iterator[Row], size: int) -> Iterator[list[Row]]:
    while batch := list(islice(rows, size)):
        yield batch
