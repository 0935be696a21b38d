"""What an evaluation says, as tables of text: leaderboard.md and the page show the same ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sfq_ray.evaluate.agreement import Metrics
from sfq_ray.evaluate.bootstrap import FEW_PAPERS
from sfq_ray.evaluate.display import HEADINGS, OVERALL, SHOWN, Cell, cells, difference, number, shown
from sfq_ray.evaluate.evaluation import Evaluation, Standing
from sfq_ray.evaluate.gold import MAX_GAP
from sfq_ray.evaluate.published import PUBLISHED, SOURCE


class Said(str):
    """Text of others: names of runs, models and raters."""


Row = Sequence[str]  # what is not Said is ours
Table = tuple[Sequence[str], Sequence[Row]]  # header and rows


@dataclass(frozen=True)
class Section:
    """A table, or a list where it has no header. `key` names it for the page."""

    key: str
    title: str
    about: str
    header: tuple[str, ...]
    rows: tuple[Row, ...]


def sections(evaluation: Evaluation) -> tuple[Section, ...]:
    """Those that have something to say, in order."""
    found = [
        ("leaderboard", "Leaderboard", _about(evaluation), _complete(evaluation)),
        ("incomplete", "Incomplete runs, not ranked", INCOMPLETE, _incomplete(evaluation)),
        ("fitted", "Fitted runs, not ranked", FITTED, _unranked(evaluation.fitted)),
        ("expected", "Expected scores, not ranked", EXPECTED, _unranked(evaluation.expected)),
        ("baselines", "Constant baselines", BASELINES, _unranked(evaluation.baselines)),
        ("ceiling", "Human ceiling", CEILINGS, _ceiling(evaluation.ceiling)),
        ("contrasts", "Contrasts", CONTRASTS, _contrasts(evaluation)),
        ("raters", "Raters", RATERS, _raters(evaluation)),
        ("retest", "Test-retest", RETEST, _retest(evaluation)),
        ("spending", "Calls, tokens and money", SPENDING, _spending(evaluation)),
        ("published", "Published by the authors of the benchmark", f"From {SOURCE}.", _published()),
        ("left_out", "Left out", "", _left_out(evaluation)),
    ]
    return tuple(
        Section(key, title, about, tuple(header), tuple(rows)) for key, title, about, (header, rows) in found if rows
    )


INCOMPLETE = (
    "These did not score every figure of the gold. Their numbers stand on n figures; best and worst are the MAE over "
    "all figures if those without a score had no error, or the largest one possible."
)
FITTED = "These have seen the human ratings of the other papers, as no judge has; every score is out of fold."
EXPECTED = "Runs whose model tells its probabilities: proposed scores as means under these, before the Runner."
BASELINES = "Judges that look at no figure. They know the gold that they are measured against."
CEILINGS = "Each rater against the gold of the others, which rests on one rater less than the gold above."
CONTRASTS = (
    "MAE of the first minus MAE of the second, on the figures that both scored; p by sign flips of whole papers, and "
    "corrected for all contrasts of this table (max-T)."
)
RATERS = (
    "Spread is the largest minus the smallest score of a figure; W-1 the share of pairs of raters within 1 point. "
    "Alpha is Krippendorff's (interval), kappa has quadratic weights."
)
RETEST = "sd is within a figure, in points; flips the share of pairs of repeats that differ."
SPENDING = "A call that runs share counts for each of them. – is unknown."


def _about(evaluation: Evaluation) -> str:
    gold = evaluation.gold
    papers = len(set(gold.papers.tolist()))
    gated = (
        f" {evaluation.must_gate:,} of them have neither caption nor citing paragraph." if evaluation.must_gate else ""
    )
    wild = f" With fewer than {FEW_PAPERS} papers those of means are wild bootstrap-t." if papers < FEW_PAPERS else ""
    return (
        f"{len(gold.figure_ids):,} figures of {papers:,} papers, {len(evaluation.raters):,} raters.{gated} In brackets "
        f"{100 * evaluation.level:g} % intervals from {evaluation.draws:,} resamples of papers, the same for all."
        f"{wild} {', '.join(SHOWN)}: MAE of the dimension, (n) where it is on in both."
    )


def _complete(evaluation: Evaluation) -> Table:
    if not evaluation.complete:
        return (), [["No run scored every figure of the gold."]]
    rows = []
    for s in evaluation.complete:
        rank = str(s.rank) if s.ranks is None else f"{s.rank} [{s.ranks[0]}, {s.ranks[1]}]"
        rows.append([rank, *_who(s), number(s.metrics.mae.n), *_numbers(s)])
    return (["rank", "run", "protocol", "model", "n", *HEADINGS.values()], rows)


def _incomplete(evaluation: Evaluation) -> Table:
    rows = [
        [*_who(s), f"{s.metrics.mae.n:,} of {s.metrics.figures:,}", _statuses(s.metrics), *_numbers(s),
         number(s.metrics.mae_best), number(s.metrics.mae_worst)]
        for s in evaluation.incomplete
    ]  # fmt: skip
    header = ["run", "protocol", "model", "n", "without a score", *HEADINGS.values(), "best", "worst"]
    return (header, rows)


def _statuses(metrics: Metrics) -> str:
    return ", ".join(f"{count:,} {status}" for status, count in metrics.statuses.items() if status != "scored")


def _unranked(judges: Iterable[Standing]) -> Table:
    rows = [[*_who(s), number(s.metrics.mae.n), *_numbers(s)] for s in judges]
    return (["run", "protocol", "model", "n", *HEADINGS.values()], rows)


def _ceiling(ceiling: Sequence[Metrics]) -> Table:
    rows = [
        [Said(m.run_id), number(m.mae.n), *(shown(name, getattr(m, name).value) for name in OVERALL)]
        + [_text(Cell(number(m.dimensions[d].mae.value), None, m.dimensions[d].mae.n)) for d in SHOWN]
        for m in ceiling
    ]
    return (["rater", "n", *OVERALL.values(), *SHOWN], rows)


def _contrasts(evaluation: Evaluation) -> Table:
    rows = [
        [Said(f"{c.first} - {c.second}"), _text(difference(c)), number(c.figures), number(c.papers),
         f"{c.p:.4f}", f"{c.p_family:.4f}"]
        for c in evaluation.contrasts
    ]  # fmt: skip
    return (["runs", "difference", "figures", "papers", "p", "p corrected"], rows)


def _raters(evaluation: Evaluation) -> Table:
    rows = []
    for name, found in evaluation.reliability.items():
        d, ends = found.dispersion, found.alpha_interval
        alpha = f"{number(found.alpha.value)} [{number(ends.low)}, {number(ends.high)}]"
        within = shown("within_1", d.within_1)
        rows.append([name, number(d.mean_spread), number(d.median_spread), within, number(d.n), alpha,
                     f"{number(found.kappa.value)} ({found.kappa.n:,})"])  # fmt: skip
    return (["dimension", "mean spread", "median", "W-1 %", "n", "alpha", "kappa (n)"], rows)


def _retest(evaluation: Evaluation) -> Table:
    rows = [
        [Said(of_run.run_id), str(of_run.repeats), name, number(noise.sd), number(noise.flip_rate), number(noise.n)]
        for of_run in evaluation.retests
        for name, noise in of_run.noise.items()
    ]
    return (["run", "repeats", "dimension", "sd", "flips", "n"], rows)


def _spending(evaluation: Evaluation) -> Table:
    rows = []
    for standing in evaluation.runs:
        spent = standing.spending
        if spent is not None:
            money = number(spent.cost, 2) + (f" {spent.currency}" if spent.currency and spent.cost is not None else "")
            tokens = [number(spent.input_tokens), number(spent.output_tokens)]
            rows.append([Said(standing.judged.run_id), number(spent.calls), *tokens, money])
    return (["run", "calls", "input tokens", "output tokens", "cost"], rows)


def _published() -> Table:
    rows = [
        [row.run_id, row.protocol, row.model, *(shown(name, getattr(row, name)) for name in OVERALL)]
        + [number(getattr(row, d.value)) for d in SHOWN]
        for row in PUBLISHED
    ]
    return (["run", "protocol", "model", *OVERALL.values(), *SHOWN], rows)


def _left_out(evaluation: Evaluation) -> Table:
    rows: list[Row] = [[Said(name), f"{count:,}"] for name, count in evaluation.left_out.items()] or [["nothing"]]
    if evaluation.adjudication:
        gap = f"not left out, but to be adjudicated: figures whose raters are over {MAX_GAP:g} points apart"
        rows.append([gap, f"{len(evaluation.adjudication):,}"])
    return (), rows


def _who(standing: Standing) -> list[str]:
    m = standing.metrics
    return [Said(m.run_id), Said(m.protocol), Said(m.model)]


def _numbers(standing: Standing) -> list[str]:
    return [_text(cell) for cell in cells(standing).values()]


def _text(cell: Cell) -> str:
    interval = f" [{cell.interval[0]}, {cell.interval[1]}]" if cell.interval is not None else ""
    return f"{cell.value}{interval}" + (f" ({cell.n:,})" if cell.n is not None else "")
