"""The page of one run: its numbers, calibration, limits of agreement, gates, and where it is farthest from the gold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfq_ray.evaluate.display import OVERALL, number, shown
from sfq_ray.evaluate.evaluation import Evaluation, Standing
from sfq_ray.evaluate.leaderboard import measures
from sfq_ray.evaluate.page import plots
from sfq_ray.evaluate.page.evidence import Evidence
from sfq_ray.evaluate.page.figures import figure_card, folded, thumb_file
from sfq_ray.evaluate.page.markup import Child, Markup, card, said, tag
from sfq_ray.evaluate.page.shell import page, run_file, table
from sfq_ray.rubric import DIMENSIONS, NAMES

GATES = ("dimension", "on in both", "on in gold only", "on in judge only", "off in both", "MAE where on in both", "n")


def run_page(
    evaluation: Evaluation, place: int, reach: float, evidence: Mapping[str, Evidence], thumbs: Mapping[str, int],
    differences: Sequence[Sequence[float | str]], report: str | None,
) -> str:  # fmt: skip
    """`place` in evaluation.runs; `differences` are the run's rows of sheets.differences."""
    standing = evaluation.runs[place]
    judged = standing.judged
    cards = [
        figure_card(
            evaluation, standing, str(figure_id), evidence[str(figure_id)], thumb_file(thumbs, str(figure_id), ""),
            report, tag("p", f"judge - gold: {shown('bias', float(difference))}"),
        )
        for _, figure_id, _, _, difference in differences
    ]  # fmt: skip
    return page(
        f"Run {judged.run_id}", "", _menu(evaluation, place),
        card("numbers", "Agreement with the gold", tag("p", _who(standing), class_="quiet"), _numbers(standing)),
        tag("div",
            card("calibration", "Calibration", _curve(standing)),
            card("bland-altman", "Limits of agreement", _limits(evaluation, standing, reach)), class_="columns"),
        card("gates", "Gates and errors by dimension", tag("p", GATES_ABOUT, class_="quiet"), _gates(standing)),
        card("differences", "Farthest from the gold", tag("p", FARTHEST, class_="quiet"),
             folded(cards) if cards else tag("p", "No figure was scored.", class_="quiet")),
    )  # fmt: skip


GATES_ABOUT = "Figures by whether the dimension is on; failed and missing figures are in none of the four."
FARTHEST = "By the distance of the overall; all are in differences.csv."


def run_links(evaluation: Evaluation, folder: str) -> Mapping[str, str]:
    """The address of each run's page, by run id."""
    return {s.judged.run_id: folder + run_file(place) for place, s in enumerate(evaluation.runs)}


def _menu(evaluation: Evaluation, place: int) -> Markup:
    """The selector: the page before, the page after, and the list of all runs."""
    runs = evaluation.runs
    around = [
        (name, rel, place + step) for name, rel, step in (("← before", "prev", -1), ("after →", "next", 1))
    ]  # fmt: skip
    steps = [
        tag("a", name, rel=rel, href=run_file(to), class_="button")
        if 0 <= to < len(runs) else tag("span", name, class_="button off")
        for name, rel, to in around
    ]  # fmt: skip
    every = [
        tag(
            "li",
            tag("a", said(s.judged.run_id), href=run_file(number), aria_current="page" if number == place else None),
        )
        for number, s in enumerate(runs)
    ]
    return tag(
        "nav", tag("a", "All runs", href="../index.html", class_="button"), steps,
        tag("details", tag("summary", f"Choose one of {len(runs)} runs"), tag("ul", every)),
        class_="runs-menu", aria_label="Runs",
    )  # fmt: skip


def _who(standing: Standing) -> Child:
    m = standing.metrics
    rank = f"rank {standing.rank}, " if standing.rank is not None else "not ranked, "
    statuses = ", ".join(f"{count:,} {status}" for status, count in m.statuses.items())
    backend = (", ", said(standing.backend)) if standing.backend else None
    return f"{standing.kind}, {rank}", said(m.protocol), ", ", said(m.model), backend, f"; {statuses}"


def _numbers(standing: Standing) -> Markup:
    found = measures(standing)
    rows = []
    for name, heading in OVERALL.items():
        measure, ends = found[name]
        interval = f"{shown(name, ends.low)} to {shown(name, ends.high)}"
        rows.append([heading, shown(name, measure.value), interval, ends.method, f"{measure.n:,}"])
    return table(("measure", "value", "interval", "how", "n"), rows)


def _curve(standing: Standing) -> Child:
    about = (
        "Mean gold by the judge's overall, to the nearest score, with the number of figures. On the dashed line both "
        "are equal."
    )
    rows = [[str(b.score), f"{b.n:,}", f"{b.judge:.3f}", f"{b.gold:.3f}"] for b in standing.calibration]
    return (
        tag("p", about, class_="quiet"), plots.calibration(standing.calibration),
        tag("details", tag("summary", "As a table"), table(("score", "n", "mean of judge", "mean of gold"), rows)),
    )  # fmt: skip


def _limits(evaluation: Evaluation, standing: Standing, reach: float) -> Child:
    found = standing.limits
    words = (
        f"Bias {shown('bias', found.bias.value)}, sd {number(found.sd)}, limits of agreement "
        f"{shown('bias', found.low)} to {shown('bias', found.high)}, n {found.bias.n:,}. All runs have the same axes."
    )
    return tag("p", words, class_="quiet"), plots.bland_altman(evaluation.gold, standing, reach)


def _gates(standing: Standing) -> Markup:
    rows = []
    for d in DIMENSIONS:
        found = standing.metrics.dimensions[d]
        gates = found.gates
        counts = (gates.both_on, gates.gold_only, gates.judge_only, gates.both_off)
        rows.append([f"{d} {NAMES[d]}", *(f"{n:,}" for n in counts), number(found.mae.value), f"{found.mae.n:,}"])
    return table(GATES, rows)
