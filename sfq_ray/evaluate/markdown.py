"""The leaderboard as Markdown: what `sfq evaluate` prints and leaderboard.md holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sfq_ray.evaluate.agreement import Metrics
from sfq_ray.evaluate.bootstrap import FEW_PAPERS
from sfq_ray.evaluate.display import HEADINGS, SHOWN, Cell, cells, difference, number, shown
from sfq_ray.evaluate.evaluation import Evaluation, Standing
from sfq_ray.evaluate.gold import MAX_GAP
from sfq_ray.evaluate.markup import escaped
from sfq_ray.evaluate.published import PUBLISHED, SOURCE

CEILING = {"mae": "MAE", "within_1": "W-1 %", "spearman": "rho", "bias": "bias"}


def markdown(evaluation: Evaluation) -> str:
    """All sections that have something to say."""
    sections = [
        ("Leaderboard", _about(evaluation), _complete(evaluation)),
        ("Incomplete runs, not ranked", INCOMPLETE, _incomplete(evaluation)),
        ("Fitted runs, not ranked", FITTED, _unranked(evaluation.fitted)),
        ("Expected scores, not ranked", EXPECTED, _unranked(evaluation.expected)),
        ("Constant baselines", BASELINES, _unranked(evaluation.baselines)),
        ("Human ceiling", CEILINGS, _ceiling(evaluation.ceiling)),
        ("Contrasts", CONTRASTS, _contrasts(evaluation)),
        ("Raters", RATERS, _raters(evaluation)),
        ("Test-retest", RETEST, _retest(evaluation)),
        ("Calls, tokens and money", SPENDING, _spending(evaluation)),
        ("Published by the authors of the benchmark", f"From {SOURCE}.", _published()),
        ("Left out", "", _left_out(evaluation)),
    ]
    written = [
        "\n".join([f"## {title}", "", *([text, ""] if text else []), *lines])
        for title, text, found in sections
        if (lines := list(found))
    ]
    return "\n\n".join(written) + "\n"


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
    wild = f" With fewer than {FEW_PAPERS} papers those of errors are wild bootstrap-t." if papers < FEW_PAPERS else ""
    return (
        f"{len(gold.figure_ids):,} figures of {papers:,} papers, {len(evaluation.raters):,} raters.{gated} In brackets "
        f"{100 * evaluation.level:g} % intervals from {evaluation.draws:,} resamples of papers, the same for all."
        f"{wild} {', '.join(SHOWN)}: MAE of the dimension, (n) where it is on in both."
    )


def _complete(evaluation: Evaluation) -> Iterator[str]:
    if not evaluation.complete:
        yield "No run scored every figure of the gold."
        return
    rows = []
    for s in evaluation.complete:
        rank = str(s.rank) if s.ranks is None else f"{s.rank} [{s.ranks[0]}, {s.ranks[1]}]"
        rows.append([rank, *_who(s), number(s.metrics.mae.n), *_numbers(s)])
    yield from _table(["rank", "run", "protocol", "model", "n", *HEADINGS.values()], rows)


def _incomplete(evaluation: Evaluation) -> Iterator[str]:
    rows = [
        [*_who(s), f"{s.metrics.mae.n:,} of {s.metrics.figures:,}", _statuses(s.metrics), *_numbers(s),
         number(s.metrics.mae_best), number(s.metrics.mae_worst)]
        for s in evaluation.incomplete
    ]  # fmt: skip
    header = ["run", "protocol", "model", "n", "without a score", *HEADINGS.values(), "best", "worst"]
    yield from _table(header, rows)


def _statuses(metrics: Metrics) -> str:
    return ", ".join(f"{count:,} {status}" for status, count in metrics.statuses.items() if status != "scored")


def _unranked(judges: Iterable[Standing]) -> Iterator[str]:
    rows = [[*_who(s), number(s.metrics.mae.n), *_numbers(s)] for s in judges]
    yield from _table(["run", "protocol", "model", "n", *HEADINGS.values()], rows)


def _ceiling(ceiling: Sequence[Metrics]) -> Iterator[str]:
    rows = [
        [escaped(m.run_id), number(m.mae.n), *(shown(name, getattr(m, name).value) for name in CEILING)]
        + [_text(Cell(number(m.dimensions[d].mae.value), None, m.dimensions[d].mae.n)) for d in SHOWN]
        for m in ceiling
    ]
    yield from _table(["rater", "n", *CEILING.values(), *SHOWN], rows)


def _contrasts(evaluation: Evaluation) -> Iterator[str]:
    rows = [
        [f"{escaped(c.first)} - {escaped(c.second)}", _text(difference(c)), number(c.figures), number(c.papers),
         f"{c.p:.4f}", f"{c.p_family:.4f}"]
        for c in evaluation.contrasts
    ]  # fmt: skip
    yield from _table(["runs", "difference", "figures", "papers", "p", "p corrected"], rows)


def _raters(evaluation: Evaluation) -> Iterator[str]:
    rows = []
    for name, found in evaluation.reliability.items():
        d, ends = found.dispersion, found.alpha_interval
        alpha = f"{number(found.alpha.value)} [{number(ends.low)}, {number(ends.high)}]"
        within = shown("within_1", d.within_1)
        rows.append([name, number(d.mean_spread), number(d.median_spread), within, number(d.n), alpha,
                     f"{number(found.kappa.value)} ({found.kappa.n:,})"])  # fmt: skip
    yield from _table(["dimension", "mean spread", "median", "W-1 %", "n", "alpha", "kappa (n)"], rows)


def _retest(evaluation: Evaluation) -> Iterator[str]:
    rows = [
        [escaped(of_run.run_id), str(of_run.repeats), name, number(noise.sd), number(noise.flip_rate), number(noise.n)]
        for of_run in evaluation.retests
        for name, noise in of_run.noise.items()
    ]
    yield from _table(["run", "repeats", "dimension", "sd", "flips", "n"], rows)


def _spending(evaluation: Evaluation) -> Iterator[str]:
    rows = []
    for standing in evaluation.runs:
        spent = standing.spending
        if spent is not None:
            money = number(spent.cost, 2) + (f" {spent.currency}" if spent.currency and spent.cost is not None else "")
            tokens = [number(spent.input_tokens), number(spent.output_tokens)]
            rows.append([escaped(standing.judged.run_id), number(spent.calls), *tokens, money])
    yield from _table(["run", "calls", "input tokens", "output tokens", "cost"], rows)


def _published() -> Iterator[str]:
    rows = [
        [row.run_id, row.protocol, row.model, *(shown(name, getattr(row, name)) for name in CEILING)]
        + [number(getattr(row, d.value)) for d in SHOWN]
        for row in PUBLISHED
    ]
    yield from _table(["run", "protocol", "model", *CEILING.values(), *SHOWN], rows)


def _left_out(evaluation: Evaluation) -> Iterator[str]:
    if not evaluation.left_out:
        yield "- nothing"
    for name, count in evaluation.left_out.items():
        yield f"- {escaped(name)}: {count:,}"
    if evaluation.adjudication:
        count = len(evaluation.adjudication)
        yield f"- not left out, but to be adjudicated: {count:,} figures whose raters are over {MAX_GAP:g} points apart"


def _who(standing: Standing) -> list[str]:
    m = standing.metrics
    return [escaped(m.run_id), escaped(m.protocol), escaped(m.model)]


def _numbers(standing: Standing) -> list[str]:
    return [_text(cell) for cell in cells(standing).values()]


def _text(cell: Cell) -> str:
    interval = f" [{cell.interval[0]}, {cell.interval[1]}]" if cell.interval is not None else ""
    return f"{cell.value}{interval}" + (f" ({cell.n:,})" if cell.n is not None else "")


def _table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Nothing without rows."""
    if rows:
        yield "| " + " | ".join(header) + " |"
        yield "|" + "---|" * len(header)
        yield from ("| " + " | ".join(row) + " |" for row in rows)
