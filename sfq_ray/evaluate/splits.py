"""`sfq split`: a fixed test split by the rule of eval1200 (arXiv 2607.27084, release), for any size and quotas.

All rated figures of a paper come together; a figure has at least MIN_RATERS human raters; each venue has its quota of
figures; the mix of figure kinds is near that of all rated figures; exactly n figures; nothing is random. Papers are
taken in the order of a hash of their id, which favours no year and no venue's numbering.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfq_ray.errors import FatalError
from sfq_ray.evaluate.gold import by_figure
from sfq_ray.evaluate.importing import split_row, write_jsonl
from sfq_ray.evaluate.ratings import Key, read_ratings
from sfq_ray.store import Store
from sfq_ray.tables import figure_state

MIN_RATERS = 3
AHEAD = 8  # papers that are weighed against each other at a time
NEAR = 40  # reachable totals of a venue, nearest to its share, that are tried
KINDS = (
    (
        "diagram",
        re.compile(
            r"\b(?:overview|architecture|framework|pipeline|workflow|illustrat\w*|schematic|diagram|flow ?chart)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "example",
        re.compile(
            r"\b(?:examples?|qualitative|visuali[sz]\w*|samples?|case stud\w+|attention maps?|heat ?maps?)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "result",
        re.compile(
            r"\b(?:results?|performance|accuracy|loss|error|scores?|compar\w+|ablation|curves?|distribution|versus|vs)\b",
            re.IGNORECASE,
        ),
    ),
)


@dataclass(frozen=True)
class Paper:
    """A paper's rated figures: their rows, and how many there are of each kind."""

    paper_id: str
    venue: str
    figures: tuple[Mapping[str, Any], ...]
    kinds: Counter[str]

    @property
    def size(self) -> int:
        return len(self.figures)


def write_split(out: Path, n: int, quotas: Mapping[str, int] | None = None) -> tuple[Path, dict[str, Any]]:
    """splits/eval<n>.jsonl of `out`, and the balance of the split. Raises FatalError where there is no such split."""
    columns = ["figure_id", "paper_id", "fig_index", "venue", "year", "caption", "dropped", "error"]
    figures = [row for row in Store(out).rows("figures", columns) if figure_state(row) == "kept"]
    papers = rated_papers(figures, read_ratings(out))
    chosen = split(papers, n, quotas)
    path = out / "splits" / f"eval{n}.jsonl"
    rows = [figure for paper in chosen for figure in paper.figures]
    write_jsonl(path, [split_row(Key(row["paper_id"], row["fig_index"]), row) for row in rows])
    return path, balance(papers, chosen)


def parse_quotas(text: str | None) -> dict[str, int] | None:
    """Figures by venue of a text such as "ACL=300,ICML=900". Raises FatalError."""
    if text is None:
        return None
    pairs = [item.rpartition("=") for item in text.split(",")]
    if not all(venue.strip() and count.strip().isdecimal() for venue, _, count in pairs):
        raise FatalError(f"--quotas {text}: give venues and numbers of figures, as ACL=300,ICML=900")
    quotas = {venue.strip(): int(count) for venue, _, count in pairs}
    if len(quotas) < len(pairs):
        raise FatalError(f"--quotas {text}: a venue stands twice; give each one number of figures")
    return quotas


def rated_papers(figures: Iterable[Mapping[str, Any]], ratings: Iterable[Mapping[str, Any]]) -> list[Paper]:
    """The papers with figures that enough different humans rated, and these figures, by id."""
    raters = {figure_id: {row["rater"] for row in own} for figure_id, own in by_figure(ratings).items()}
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in figures:
        if len(raters.get(row["figure_id"], ())) >= MIN_RATERS:
            groups.setdefault(row["paper_id"], []).append(row)
    papers = []
    for paper_id, rows in sorted(groups.items()):
        ordered = tuple(sorted(rows, key=lambda row: row["fig_index"]))
        kinds = Counter(figure_kind(row["caption"]) for row in rows)
        papers.append(Paper(paper_id, ordered[0]["venue"] or "unknown", ordered, kinds))
    return papers


def figure_kind(caption: str | None) -> str:
    """diagram, example, result or other, by the first word of the caption that tells."""
    found = [(match.start(), kind) for kind, pattern in KINDS if (match := pattern.search(caption or ""))]
    return min(found)[1] if found else "other"


def split(papers: Sequence[Paper], n: int, quotas: Mapping[str, int] | None = None) -> list[Paper]:
    """Papers that have exactly `n` figures together, by id. Depends on nothing but its arguments.

    `quotas` are figures by venue and are met exactly; without them each venue has its share of the rated figures,
    as near to it as whole papers allow. Raises FatalError where no choice of whole papers fits.
    """
    by_venue: dict[str, list[Paper]] = {}
    for paper in sorted(papers, key=lambda paper: (hashlib.sha256(paper.paper_id.encode()).digest(), paper.paper_id)):
        by_venue.setdefault(paper.venue, []).append(paper)
    available = sum(paper.size for paper in papers)
    if not 0 < n <= available:
        raise FatalError(f"cannot choose {n} figures: {available} have {MIN_RATERS} raters or more")
    targets = _given(by_venue, n, quotas) if quotas is not None else _shares(by_venue, n, available)
    everything = sum((paper.kinds for paper in papers), Counter[str]())
    mix = {kind: count / available for kind, count in sorted(everything.items())}
    chosen: list[Paper] = []
    counts = Counter[str]()
    for venue, target in sorted(targets.items()):
        own = _choose(by_venue.get(venue, []), target, mix, counts)
        counts = sum((paper.kinds for paper in own), counts)
        chosen.extend(own)
    return sorted(chosen, key=lambda paper: paper.paper_id)


def balance(papers: Sequence[Paper], chosen: Sequence[Paper]) -> dict[str, dict[str, tuple[int, int]]]:
    """(in the split, among all rated figures) for papers, figures, and figures by venue, year, kind and paper size."""
    report: dict[str, dict[str, tuple[int, int]]] = {}
    both = [_tables(chosen), _tables(papers)]
    for name in both[1]:
        values = sorted(both[1][name])
        report[name] = {value: (both[0][name][value], both[1][name][value]) for value in values}
    return report


def balance_lines(report: Mapping[str, Mapping[str, tuple[int, int]]]) -> Iterator[str]:
    """The balance as lines of text."""
    for name, values in report.items():
        for value, (ours, everything) in values.items():
            yield f"{f'{name} {value}':28}{ours:8,} of {everything:,}"


def _tables(papers: Sequence[Paper]) -> dict[str, Counter[str]]:
    figures = [(paper, figure) for paper in papers for figure in paper.figures]
    return {
        "total": Counter({"papers": len(papers), "figures": len(figures)}),
        "venue": Counter(paper.venue for paper, _ in figures),
        "year": Counter(str(figure["year"]) for _, figure in figures),
        "kind": sum((paper.kinds for paper in papers), Counter[str]()),
        "figures in the paper": Counter(
            f"{min(paper.size, 10):2}{'+' if paper.size >= 10 else ''}" for paper, _ in figures
        ),
    }


# ---- how many figures of each venue


def _reachable(sizes: Iterable[int]) -> int:
    """Bit k is set where some of these sizes sum to k."""
    bits = 1
    for size in sizes:
        bits |= bits << size
    return bits


def _totals(papers: Sequence[Paper]) -> list[int]:
    bits = _reachable(paper.size for paper in papers)
    return [k for k in range(bits.bit_length()) if bits >> k & 1]


def _given(by_venue: Mapping[str, Sequence[Paper]], n: int, quotas: Mapping[str, int]) -> Mapping[str, int]:
    """The quotas, if whole papers can meet them."""
    if sum(quotas.values()) != n:
        raise FatalError(f"the quotas sum to {sum(quotas.values())}, not to {n}; change them or the size")
    for venue, quota in quotas.items():
        totals = _totals(by_venue.get(venue, ()))
        if quota not in totals:
            near = min(totals, key=lambda total: (abs(total - quota), total))
            raise FatalError(f"{venue}: whole papers cannot make {quota} figures of {totals[-1]}; {near} would do")
    return quotas


def _shares(by_venue: Mapping[str, Sequence[Paper]], n: int, available: int) -> dict[str, int]:
    """Totals by venue that sum to n, with the least sum of squared distances to the venues' shares of n."""
    best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
    for _, papers in sorted(by_venue.items()):
        share = n * sum(paper.size for paper in papers) / available
        near = sorted(_totals(papers), key=lambda total: (abs(total - share), total))[:NEAR]
        longer: dict[int, tuple[float, tuple[int, ...]]] = {}
        for done, (cost, picks) in best.items():
            for total in near:
                offer = (cost + (total - share) ** 2, (*picks, total))
                if done + total <= n and (done + total not in longer or offer < longer[done + total]):
                    longer[done + total] = offer
        best = longer
    if n not in best:
        near_n = min(best, key=lambda total: (abs(total - n), total), default=0)
        raise FatalError(f"whole papers cannot make {n} figures near the venues' shares; {near_n} would do")
    return dict(zip(sorted(by_venue), best[n][1], strict=True))


# ---- which papers of a venue


def _choose(papers: Sequence[Paper], target: int, mix: Mapping[str, float], before: Counter[str]) -> list[Paper]:
    """Papers with `target` figures: of the next few, always the one that brings the kinds nearest to `mix`.

    A paper is only taken where the rest can still complete the sum, so the end is never missed.
    """
    left, chosen, counts = list(papers), list[Paper](), before.copy()
    while target:
        fitting: list[int] = []
        completes: dict[int, bool] = {}
        for index, paper in enumerate(left):
            if paper.size not in completes:
                rest = _reachable(other.size for place, other in enumerate(left) if place != index)
                completes[paper.size] = paper.size <= target and bool(rest >> (target - paper.size) & 1)
            if completes[paper.size]:
                fitting.append(index)
            if len(fitting) == AHEAD:
                break
        index = min(fitting, key=lambda place: (_distance(counts + left[place].kinds, mix), place))
        counts += left[index].kinds
        target -= left[index].size
        chosen.append(left.pop(index))
    return chosen


def _distance(counts: Counter[str], mix: Mapping[str, float]) -> float:
    total = counts.total()
    return sum(abs(counts[kind] / total - share) for kind, share in mix.items())
