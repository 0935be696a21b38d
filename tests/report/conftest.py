"""A made-up output directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_up_tables import figure_rows, paper, score_rows, write


@pytest.fixture
def out(tmp_path: Path) -> Path:
    figures = figure_rows()
    papers = [
        paper("a", figures_found=3, figures_kept=1, figures_failed=1, warnings=["page 3: too many objects"]),
        paper("b", figures_found=2, figures_kept=2, figures_failed=0),
        paper("a/../<odd>&id", figures_found=1, figures_kept=1, figures_failed=0),
        paper("c", "dropped", dropped="duplicate", duplicate_of="a", message="Same bytes as a."),
        paper("d", "failed", error="damaged", message="Not a PDF <i>at all</i>."),
    ]
    for name, rows in (("papers", papers), ("figures", figures), ("scores", score_rows(figures))):
        write(tmp_path, name, rows)
    return tmp_path
