"""The tables a report needs, read in streaming batches and put in one order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from sfq_ray.errors import FatalError
from sfq_ray.places import Place, for_arrow
from sfq_ray.tables import TABLES

Row = dict[str, Any]

BATCH_ROWS = 32
"""Rows per batch: small, because a row of figures/ may carry megabytes of pixels."""

PARQUET = ds.ParquetFileFormat(
    default_fragment_scan_options=ds.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
)
"""Reads as it goes: the default would hold the images of whole files."""

NOT_IN_TEXT = frozenset({"image", "words", "color_histogram", "phash"})
"""Columns of figures/ that no text of the report shows."""


@dataclass(frozen=True)
class Tables:
    """The tables without pixels. A figure's position in `figures` is its number in the report."""

    papers: list[Row]
    """By paper_id."""
    figures: list[Row]
    """By paper_id, fig_index and figure_id."""
    scores: dict[str, dict[str, Row]]
    """run_id -> figure_id -> row, both in order."""
    repeated: dict[str, int]
    """Table -> rows left out because their key had already been read."""


def read_tables(out: Place, scores_in: Place | None = None) -> Tables:
    """papers/, figures/ and scores/ of `out`, or scores/ of another directory. Memory is that of their text.

    Raises FatalError when `out` holds neither papers nor figures, or when a file cannot be read.
    """
    if not any(_files(out, name) for name in ("papers", "figures")):
        raise FatalError(f"{out} holds no papers/*.parquet and no figures/*.parquet: run the extract job into it first")
    text_columns = [name for name in TABLES["figures"].names if name not in NOT_IN_TEXT]
    papers, papers_repeated = _unique(stream(out, "papers"), ("paper_id",))
    figures, figures_repeated = _unique(stream(out, "figures", text_columns), ("figure_id",))
    scores, scores_repeated = _unique(stream(scores_in or out, "scores"), ("run_id", "figure_id"))
    by_run: dict[str, dict[str, Row]] = {}
    for (run_id, figure_id), row in sorted(scores.items()):
        by_run.setdefault(run_id, {})[figure_id] = row
    return Tables(
        papers=[papers[key] for key in sorted(papers)],
        figures=sorted(figures.values(), key=lambda row: (row["paper_id"], row["fig_index"], row["figure_id"])),
        scores=by_run,
        repeated={"papers": papers_repeated, "figures": figures_repeated, "scores": scores_repeated},
    )


def stream(out: Place, name: str, columns: list[str] | None = None) -> Iterator[Row]:
    """Rows of one table, a batch in memory at a time; none when the table is absent."""
    files = _files(out, name)
    if not files:
        return
    sources = [for_arrow(path) for path in files]
    try:
        names, where = [name for name, _ in sources], sources[0][1]
        dataset = ds.dataset(names, format=PARQUET, schema=TABLES[name], filesystem=where)
        batches = dataset.to_batches(
            columns=columns, batch_size=BATCH_ROWS, batch_readahead=1, fragment_readahead=1, use_threads=False
        )
        for batch in batches:
            yield from batch.to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise FatalError(f"{out / name}: cannot be read as the {name} table: {error}") from error


def _files(out: Place, name: str) -> list[Place]:
    """Finished files only: names that start with a dot or an underscore are still being written."""
    return sorted(path for path in (out / name).glob("*.parquet") if path.name[0] not in "._")


def _unique(rows: Iterator[Row], key: tuple[str, ...]) -> tuple[dict[Any, Row], int]:
    """Rows by key, the first of each, and how many others there were."""
    found: dict[Any, Row] = {}
    repeated = 0
    for row in rows:
        value = tuple(row[name] for name in key) if len(key) > 1 else row[key[0]]
        if value in found:
            repeated += 1
        else:
            found[value] = row
    return found, repeated
