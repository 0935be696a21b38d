"""The inputs of an extraction: files, folders, globs or a manifest -> an ordered list with ids and fingerprints."""

from __future__ import annotations

import csv
import glob
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from sfq_ray.errors import FatalError

MANIFEST_SUFFIXES = (".parquet", ".csv", ".jsonl")
HASH_THREADS = 8
UNSAFE = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class Input:
    """One PDF as given. `sha256` is None where the file could not be read."""

    paper_id: str
    source: str
    venue: str | None = None
    year: int | None = None
    title: str | None = None
    sha256: str | None = None
    size_bytes: int | None = None
    duplicate_of: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def collect(paths: Sequence[str], progress: Callable[[int, int], None] = lambda done, total: None) -> list[Input]:
    """Every input of `paths` in a stable order, with unique ids, hashes and exact duplicates marked.

    A path is a PDF, a folder (searched for *.pdf), a glob, or a manifest (Parquet, CSV or JSONL with a column `path`
    and optionally venue, year, title, paper_id). Raises FatalError where nothing is found or a manifest is unusable.
    """
    found = [item for path in paths for item in _expand(path)]
    if not found:
        raise FatalError(f"no PDF found in: {', '.join(paths)}. Give PDF files, folders that hold some, or a manifest.")
    found = _unique_ids(_once(found))
    hashed: list[Input] = []
    with ThreadPoolExecutor(HASH_THREADS) as pool:
        for item in pool.map(_fingerprint, found):
            hashed.append(item)
            progress(len(hashed), len(found))
    return _mark_duplicates(hashed)


def fingerprint(inputs: Iterable[Input]) -> str:
    """SHA-256 over ids and content of all inputs, for the run manifest."""
    digest = hashlib.sha256()
    for item in inputs:
        digest.update(f"{item.paper_id}\t{item.sha256}\n".encode())
    return digest.hexdigest()


def _expand(path: str) -> list[Input]:
    target = Path(path)
    if target.is_dir():
        files = sorted(p for p in target.rglob("*") if p.suffix.lower() == ".pdf" and not p.is_dir())
        return [Input("", str(p)) for p in files]
    if target.exists():
        return _manifest(target) if target.suffix.lower() in MANIFEST_SUFFIXES else [Input("", path)]
    matches = sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else []
    if not matches:
        raise FatalError(f"{path}: no such file or folder; check the path (a glob must match at least one file)")
    return [item for match in matches for item in _expand(match)]


def _manifest(path: Path) -> list[Input]:
    try:
        records = _records(path)
    except (OSError, ValueError, KeyError) as error:
        raise FatalError(f"{path}: cannot be read as a manifest: {error}") from error
    inputs = []
    for number, record in enumerate(records, 1):
        source = record.get("path")
        if not source or not isinstance(source, str):
            raise FatalError(f"{path}: row {number} has no value in the column 'path', or one that is no text")
        absolute = Path(source) if Path(source).is_absolute() else path.parent / source
        year = record.get("year")
        try:
            number_of_year = None if year in (None, "") else int(float(year))
        except ValueError:
            raise FatalError(f"{path}: row {number}: year {year!r} is no number") from None
        paper_id = str(record.get("paper_id") or "")
        inputs.append(
            Input(paper_id, str(absolute), record.get("venue") or None, number_of_year, record.get("title") or None)
        )
    return inputs


def _records(path: Path) -> list[dict[str, Any]]:
    if path.suffix.lower() == ".parquet":
        return pq.read_table(path).to_pylist()
    with path.open(encoding="utf-8", newline="") as file:
        if path.suffix.lower() == ".csv":
            return list(csv.DictReader(file))
        records = [json.loads(line) for line in file if line.strip()]
    if not all(isinstance(record, dict) for record in records):
        raise ValueError("every line must be a JSON object")
    return records


def _once(inputs: Iterable[Input]) -> list[Input]:
    """The same path given twice (a folder and a file in it) is one input."""
    by_path: dict[str, Input] = {}
    for item in inputs:
        by_path.setdefault(str(Path(item.source).absolute()), item)
    return list(by_path.values())


def _unique_ids(inputs: Sequence[Input]) -> list[Input]:
    """Ids from the manifest or the file name; equal names are told apart by their folder."""
    named = [replace(item, paper_id=item.paper_id or _safe(Path(item.source).stem)) for item in inputs]
    counts = Counter(item.paper_id for item in named)
    result: list[Input] = []
    used: set[str] = set()
    for item in named:
        paper_id = item.paper_id
        if counts[paper_id] > 1:
            paper_id = f"{_safe(Path(item.source).absolute().parent.name)}__{paper_id}"
        number = 1
        unique = paper_id
        while unique in used:
            number += 1
            unique = f"{paper_id}-{number}"
        used.add(unique)
        result.append(replace(item, paper_id=unique))
    return result


def _safe(name: str) -> str:
    return UNSAFE.sub("_", name).strip("._") or "paper"


def _fingerprint(item: Input) -> Input:
    digest = hashlib.sha256()
    size = 0
    try:
        with open(item.source, "rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
                size += len(chunk)
    except OSError:
        return item
    return replace(item, sha256=digest.hexdigest(), size_bytes=size)


def _mark_duplicates(inputs: Sequence[Input]) -> list[Input]:
    """Exact duplicates point at the first input with the same bytes. Empty files are no duplicates of each other."""
    first: dict[str, str] = {}
    result = []
    for item in inputs:
        original = first.setdefault(item.sha256, item.paper_id) if item.sha256 and item.size_bytes else item.paper_id
        result.append(item if original == item.paper_id else replace(item, duplicate_of=original))
    return result
