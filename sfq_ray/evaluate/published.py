"""Numbers that the authors of the benchmark published (arXiv 2607.27084): theirs, not measured by this program.

They are shown in a table of their own and never among measured rows. What the paper does not say is None.
"""

from __future__ import annotations

from dataclasses import dataclass

SOURCE = "arXiv 2607.27084, on its eval1200; published by its authors, not measured by sfq_ray"


@dataclass(frozen=True)
class Published:
    """One row of the paper: its best run of each protocol. Points; within_1 as a share."""

    run_id: str
    protocol: str
    model: str
    mae: float
    within_1: float | None = None
    spearman: float | None = None
    bias: float | None = None
    CC: float | None = None
    CTX: float | None = None
    MR: float | None = None


PUBLISHED = (
    Published("D10", "direct", "Claude-Opus-4.8", 0.443),
    Published("S2", "sidecar", "GPT-5.6-Sol", 0.436),
    Published("F3", "agent", "GPT-5.6-Sol", 0.418, 0.934, 0.598, 0.012, 0.892, 0.896, 0.678),
)
