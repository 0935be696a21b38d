"""The types of a release's figures.jsonl, and the front matter that tells them to the Hugging Face hub.

Without them the library `datasets` guesses each type from the first 10 MB and fails where a key is null until later,
as the context scores of a venue without citing paragraphs are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import yaml

from sfq_ray.evaluate.released import FEATURES, MEANS
from sfq_ray.rubric import LONG_NAMES
from sfq_ray.tables import CONTEXT, FIGURES

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
DETAILS = pa.struct([field for field in CONTEXT if field.name != "text"])
"""How a citing paragraph was bound: all of tables.CONTEXT but its text."""


def _texts(*names: str) -> list[pa.Field]:
    return [pa.field(name, pa.string()) for name in names]


def _columns(*names: str) -> list[pa.Field]:
    return [pa.field(name, FIGURES.field(name).type) for name in names]


ANNOTATION = pa.struct(
    [
        *_texts("source_type", "source_name"),
        *[pa.field(long, pa.float64()) for long in LONG_NAMES.values()],
        pa.field("overall_score", pa.float64()),
        *_texts("summary", "suggestion", *(f"{long}_reason" for long in LONG_NAMES.values()), "annotated_at"),
    ]
)
RELEASED = pa.schema(
    [
        *_texts("figure_id", "paper_id", "paper_id_norm"),
        *_columns("fig_index", "venue", "year", "title", "caption", "caption_label", "label"),
        *_texts("section"),
        pa.field("context_texts", pa.list_(pa.string())),
        pa.field("context_count", pa.int32()),
        pa.field("context_details", pa.list_(DETAILS)),
        *_texts("domain_l1", "domain_l2"),
        *_columns("width", "height"),
        *_texts("image"),
        pa.field("features", pa.struct(_columns(*FEATURES))),
        pa.field("annotator_count", pa.int32()),
        *[pa.field(keys[0], pa.float64()) for keys in MEANS.values()],
        pa.field("annotations", pa.list_(ANNOTATION)),
    ]
)
"""One line of figures.jsonl, its keys in this order."""


def front_matter(name: str, licence: str, figures: int, splits: Iterable[str]) -> str:
    """YAML: licence, name, size, one configuration for the figures and for each split, the types of the figures."""
    paths = {"default": "figures.jsonl"} | {split: f"splits/{split}.jsonl" for split in splits}
    configs = [
        {"config_name": config, "data_files": [{"split": "full", "path": f"datasets/full/{path}"}]}
        for config, path in paths.items()
    ]
    size = next((word for limit, word in SIZES if figures < limit), "n>1M")
    info = {"config_name": "default", "features": [_feature(field.name, field.type) for field in RELEASED]}
    top: Mapping[str, Any] = {
        "license": licence, "pretty_name": name, "size_categories": [size], "configs": configs, "dataset_info": [info],
    }  # fmt: skip
    return yaml.safe_dump(top, sort_keys=False, allow_unicode=True)


def _feature(name: str, kind: pa.DataType) -> dict[str, Any]:
    """A type as the hub spells it, for old and new versions of `datasets`."""
    if pa.types.is_struct(kind):
        return {"name": name, "struct": [_feature(field.name, field.type) for field in kind]}
    if pa.types.is_list(kind):
        inner = _feature(name, kind.value_type)
        return (
            {"name": name, "list": inner["struct"]} if "struct" in inner else {"name": name, "sequence": inner["dtype"]}
        )
    names = {"double": "float64", "float": "float32"}
    return {"name": name, "dtype": names.get(str(kind), str(kind))}
