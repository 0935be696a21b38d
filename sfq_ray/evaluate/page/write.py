"""Writes the page: static files that need no network and no script.

    evaluation/index.html
               page/run-0000.html ...      one for each run, by its place in the leaderboard
                    thumbs/000000.webp     pictures of the figures that are shown
                    report.css  evaluation.css

Names of files hold numbers only. The same evaluation, tables and place of the report give the same bytes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sfq_ray.evaluate.evaluation import Evaluation
from sfq_ray.evaluate.page.evidence import Evidence
from sfq_ray.evaluate.page.index import index_page
from sfq_ray.evaluate.page.plots import reach_of
from sfq_ray.evaluate.page.run import run_page
from sfq_ray.evaluate.page.shell import FOLDER, STYLES, run_file
from sfq_ray.evaluate.sheets import differences
from sfq_ray.folders import check_replaceable, replace_folder
from sfq_ray.store import disk_error

PAGE = ("evaluation.css", "report.css", "thumbs", "run-*.html")  # what the folder holds; the first tells that it is one


def shown_figures(evaluation: Evaluation) -> dict[str, set[str]]:
    """The figures that the page shows, each with the runs whose reasons stand there."""
    wanted: dict[str, set[str]] = {}
    for run_id, figure_id, *_ in differences(evaluation)[1:]:
        wanted.setdefault(figure_id, set()).add(run_id)
    for row in evaluation.disputes:
        wanted.setdefault(row.figure_id, set()).add(row.farthest)
    return wanted


def write_page(
    evaluation: Evaluation, record: Mapping[str, Any], evidence: Mapping[str, Evidence], out: Path, report: Path
) -> Path:
    """index.html and page/ into `out`; figures lead to the folder `report` if there is one. Raises FatalError.

    `record` is publish.record's, `evidence` that of `shown_figures`. A former page stays until the new one is whole.
    """
    check_replaceable(out / FOLDER, PAGE, "page of an evaluation")
    pictures = [figure_id for figure_id in sorted(evidence) if evidence[figure_id].thumbnail is not None]
    thumbs = {figure_id: number for number, figure_id in enumerate(pictures)}
    partial = out / f".{FOLDER}.partial"
    shutil.rmtree(partial, ignore_errors=True)  # of a run that was interrupted
    try:
        (partial / "thumbs").mkdir(parents=True)
        for figure_id, number in thumbs.items():
            (partial / "thumbs" / f"{number:06}.webp").write_bytes(evidence[figure_id].thumbnail or b"")
        for name, package in STYLES.items():
            (partial / name).write_bytes(files(package).joinpath(name).read_bytes())
        _write_runs(evaluation, evidence, thumbs, _address(report, out / FOLDER), partial)
        index = index_page(evaluation, record, evidence, thumbs, _address(report, out))
        replace_folder(partial, out / FOLDER)
        (out / "index.html").write_text(index, encoding="utf-8", newline="")
    except OSError as error:
        raise disk_error(out, error) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return out / "index.html"


def _write_runs(
    evaluation: Evaluation, evidence: Mapping[str, Evidence], thumbs: Mapping[str, int], report: str | None, to: Path
) -> None:
    own: dict[str, list[Any]] = {s.judged.run_id: [] for s in evaluation.runs}
    for row in differences(evaluation)[1:]:
        own[row[0]].append(row)
    reach = reach_of(evaluation.runs, evaluation.gold)
    for place, standing in enumerate(evaluation.runs):
        rows = own[standing.judged.run_id]
        text = run_page(evaluation, place, reach, evidence, thumbs, rows, report)
        (to / run_file(place)).write_text(text, encoding="utf-8", newline="")


def _address(report: Path, folder: Path) -> str | None:
    """The way from a folder to the report's page."""
    page = report / "index.html"
    return quote(Path(os.path.relpath(page, folder)).as_posix()) if page.exists() else None
