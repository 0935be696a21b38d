"""Whether this release is whole and loads. In its folder: `pip install pandas pillow pytest && pytest test_loading.py`.

The library `datasets` is tried where it is installed.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parent
FULL = ROOT / "datasets" / "full"
SPLITS = sorted(FULL.glob("splits/*.jsonl"))
MEANS = [
    f"human_{name}"
    for name in (
        *("visual_clarity", "structure_layout", "caption_consistency", "context_consistency", "misleading_risk"),
        "overall_score",
    )
]


def read(path: Path) -> pd.DataFrame:
    return pd.read_json(path, lines=True, dtype=False)


def lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_every_file_is_as_it_was_released() -> None:
    listed = [line.split("  ", 1) for line in (ROOT / "SHA256SUMS").read_text(encoding="utf-8").splitlines()]
    assert {name for _, name in listed} >= {"README.md", "datasets/full/figures.jsonl"}
    for digest, name in listed:
        assert hashlib.sha256((ROOT / name).read_bytes()).hexdigest() == digest, name


def test_the_figures_load_with_pandas() -> None:
    rows, frame = lines(FULL / "figures.jsonl"), read(FULL / "figures.jsonl")
    assert len(frame) == len(rows)
    assert frame["figure_id"].tolist() == [row["figure_id"] for row in rows]
    assert frame["figure_id"].is_unique
    for row in rows:
        assert row["annotator_count"] == len(row["annotations"])
        assert row["context_count"] == len(row["context_texts"])


def test_every_image_decodes_and_none_is_left_over() -> None:
    frame = read(FULL / "figures.jsonl")
    assert {f"images/{path.name}" for path in FULL.glob("images/*")} == set(frame["image"])
    for name, width, height in zip(frame["image"], frame["width"], frame["height"], strict=True):
        with Image.open(FULL / name) as image:
            image.load()
            assert image.size == (width, height), name


def test_the_means_are_those_of_the_figures() -> None:
    rows = lines(FULL / "figures.jsonl")
    if not any(row["annotations"] for row in rows):
        pytest.skip("no figure is rated, so there are no means")
    means = pd.read_csv(FULL / "human_means.csv", dtype={"figure_id": str}, keep_default_na=False, na_values=[""])
    assert means["figure_id"].tolist() == [row["figure_id"] for row in rows]
    expected = pd.DataFrame([{name: row[name] for name in MEANS} for row in rows], dtype=float)
    pd.testing.assert_frame_equal(means[MEANS].astype(float), expected)


@pytest.mark.parametrize("path", SPLITS, ids=lambda path: path.stem)
def test_the_figures_of_a_split_are_there(path: Path) -> None:
    frame, members = read(FULL / "figures.jsonl"), lines(path)
    assert len(members) > 0
    assert {row["figure_id"] for row in members} <= set(frame["figure_id"])


def test_the_figures_load_with_datasets() -> None:
    datasets = pytest.importorskip("datasets", reason="the library datasets is not installed")
    if not hasattr(datasets, "load_dataset"):
        pytest.skip("the library datasets is not installed: this is the folder of that name")
    loaded = datasets.load_dataset(str(ROOT), "default", split="full")
    assert loaded["figure_id"][:] == [row["figure_id"] for row in lines(FULL / "figures.jsonl")]
