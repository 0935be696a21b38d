"""The schemas: documented, strict, and readable by others."""

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest

from sfq_ray.rubric import DIMENSIONS
from sfq_ray.tables import FIGURES, SCORES, TABLES, table_from_rows


@pytest.mark.parametrize("name", list(TABLES))
def test_every_column_is_documented(name):
    for field in TABLES[name]:
        assert len(field.metadata[b"doc"]) > 5, field.name


def test_unknown_columns_and_missing_keys_are_refused():
    with pytest.raises(KeyError, match="no column"):
        table_from_rows([{"figure_id": "f", "colour": 1}], FIGURES)
    with pytest.raises(ValueError, match="must not be null"):
        table_from_rows([{"figure_id": "f"}], FIGURES)


def test_null_scores_stay_null_in_other_readers(tmp_path):
    row = {
        "run_id": "r", "figure_id": "f", "paper_id": "p", "fig_index": 1, "protocol": "direct", "backend": "b",
        "model": "m", "status": "scored", "VC": 7, "overall": 7.0,
    }  # fmt: skip
    pq.write_table(table_from_rows([row], SCORES), tmp_path / "s.parquet")
    (found,) = duckdb.sql(f"select VC, CTX, coalesce(CTX, -1) from '{tmp_path}/s.parquet'").fetchall()
    assert found == (7, None, -1)
    frame = pd.read_parquet(tmp_path / "s.parquet")
    assert frame["CTX"].isna().all()
    assert frame["VC"].tolist() == [7]


def test_nested_columns_open_elsewhere(tmp_path):
    context = {
        "section": None, "page": 1, "text": "see Figure 1", "spans": [{"start": 4, "end": 12}], "panels": ["a"],
        "cue": "pointer", "weight": 0.25, "evidence": "text", "place": "body",
    }  # fmt: skip
    row = {"figure_id": "f", "paper_id": "p", "fig_index": 1, "contexts": [context], "bbox": [1.0, 2.0, 3.0, 4.0]}
    pq.write_table(table_from_rows([row], FIGURES), tmp_path / "f.parquet")
    (found,) = duckdb.sql(f"select contexts[1].spans[1].start, bbox[4] from '{tmp_path}/f.parquet'").fetchall()
    assert found == (4, 4.0)
    assert pd.read_parquet(tmp_path / "f.parquet")["contexts"][0][0]["text"] == "see Figure 1"


def test_scores_have_the_five_dimensions_by_their_codes():
    for suffix in ("", "_reason", "_confidence", "_owner", "_proposed"):
        assert {f"{d}{suffix}" for d in DIMENSIONS} <= set(SCORES.names)
