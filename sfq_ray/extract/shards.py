"""Figures without a citing paragraph, by shard: a venue and year, or a part of the tables where papers have none.

Figures that nobody cites are common (100 of 739 in papers whose LaTeX source is known). A shard with many more of them
has probably lost its citations: a caption style that is read as running text, a text layer that is broken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

USUAL_RATE = 100 / 739
MIN_FIGURES = 20  # a smaller shard says nothing
MAX_DEVIATION = 3.0  # standard deviations of a binomial count above the rate of the other shards


@dataclass(frozen=True)
class Shard:
    name: str
    figures: int  # kept
    uncited: int
    expected_rate: float  # of the other shards together

    @property
    def out_of_line(self) -> bool:
        spread = sqrt(self.expected_rate * (1 - self.expected_rate) / max(1, self.figures))
        return self.figures >= MIN_FIGURES and self.uncited / self.figures > self.expected_rate + MAX_DEVIATION * spread


def shards(papers: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Shard]:
    """Shards by name. `papers`: (part, papers/ row with venue, year, figures_kept and figures_uncited)."""
    kept: Counter[str] = Counter()
    uncited: Counter[str] = Counter()
    for part, paper in papers:
        name = " ".join(str(value) for value in (paper["venue"], paper["year"]) if value is not None)
        kept[name or part] += paper["figures_kept"] or 0
        uncited[name or part] += paper["figures_uncited"] or 0
    result = []
    for name in sorted(kept):
        others, lost = kept.total() - kept[name], uncited.total() - uncited[name]
        rate = (lost + MIN_FIGURES * USUAL_RATE) / (others + MIN_FIGURES)  # near the usual one where others are few
        result.append(Shard(name, kept[name], uncited[name], rate))
    return [shard for shard in result if shard.figures]
