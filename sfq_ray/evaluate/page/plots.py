"""The plots of an evaluation, each as one drawing with the numbers under the pointer. They compute no number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt

import numpy as np

from sfq_ray.evaluate.agreement import Gold, Metrics
from sfq_ray.evaluate.curves import Bin
from sfq_ray.evaluate.display import number, shown
from sfq_ray.evaluate.evaluation import Evaluation, Standing
from sfq_ray.evaluate.page.axes import WIDTH, Scale, hover, plot, shortened, spanning, text, x_axis, y_axis
from sfq_ray.evaluate.page.markup import Markup, tag
from sfq_ray.rubric import SCORE_MAX, SCORE_MIN

ROW = 18.0  # height of a run in the forest plot
SCORES = range(SCORE_MIN, SCORE_MAX + 1)
SHAPES = {"complete": "filled", "incomplete": "hollow", "fitted": "diamond"}  # not by colour alone
BASELINE_DASHES = ("dash-1", "dash-2")


def forest(evaluation: Evaluation) -> Markup:
    """MAE of every run with its interval; baselines as dashed lines, the raters against each other as a band."""
    runs = [s for s in evaluation.runs if s.metrics.mae.value is not None]
    raters = [m.mae.value for m in evaluation.ceiling if m.mae.value is not None]
    lines = [s.metrics.mae.value for s in evaluation.baselines if s.metrics.mae.value is not None]
    ends = [end for s in runs for end in (s.metrics.mae.value, s.intervals["mae"].low, s.intervals["mae"].high)]
    scale = spanning([v for v in (*ends, *raters, *lines) if v is not None], 118.0, WIDTH - 44.0)
    top, bottom = 6.0, 6.0 + ROW * len(runs) + 4
    band = [
        tag("rect", hover(f"raters: MAE {ceiling_of(evaluation.ceiling)}"), class_="ceiling",
            x=scale(min(raters)), y=top, width=max(scale(max(raters)) - scale(min(raters)), 1.0), height=bottom - top)
    ] if raters else []  # fmt: skip
    baselines = [
        tag("line", hover(f"{s.judged.run_id}: MAE {number(s.metrics.mae.value)}"), class_=f"baseline {dash}",
            x1=scale(s.metrics.mae.value or 0), x2=scale(s.metrics.mae.value or 0), y1=top, y2=bottom)
        for s, dash in zip(evaluation.baselines, BASELINE_DASHES, strict=False)
    ]  # fmt: skip
    rows = [_forest_row(s, scale, top + ROW * (place + 0.5)) for place, s in enumerate(runs)]
    axis = x_axis(scale, bottom, top, "MAE, points; less is closer to the gold")
    desc = f"{len(runs)} runs, complete ones by rank, then incomplete and fitted ones. The tables hold the numbers."
    return plot("forest", bottom + 34, "MAE of the overall score with intervals", desc, axis, band, baselines, rows)


def _forest_row(standing: Standing, scale: Scale, y: float) -> Markup:
    mae, interval, name = standing.metrics.mae, standing.intervals["mae"], standing.judged.run_id
    ends = ""
    bar = None
    if interval.low is not None and interval.high is not None:
        ends = f" [{interval.low:.3f}, {interval.high:.3f}] ({interval.method})"
        left, right = scale(interval.low), scale(interval.high)
        path = f"M{left:.1f} {y - 3.5:.1f}v7M{left:.1f} {y:.1f}H{right:.1f}M{right:.1f} {y - 3.5:.1f}v7"
        bar = tag("path", class_="interval", d=path)  # with feet, as it may be hardly longer than the mark is wide
    value = mae.value or 0.0
    return tag(
        "g", hover(f"{name}, {standing.kind}: MAE {value:.3f}{ends}, n {mae.n:,}"),
        tag("rect", class_="hit", x=0, y=y - ROW / 2, width=WIDTH, height=ROW),
        text(shortened(name, 17), 112, y + 3.5, "end", "label"), bar,
        mark(SHAPES[standing.kind], scale(value), y), text(number(value), WIDTH, y + 3.5, "end", "value"),
    )  # fmt: skip


def calibration(bins: Sequence[Bin]) -> Markup:
    """Mean gold against the judge's score; the area of a point grows with its figures, which stand beside it."""
    x, y = Scale(0.5, 10.5, 34.0, WIDTH - 10.0), Scale(0.5, 10.5, 300.0, 24.0)
    most = max((b.n for b in bins), default=1)
    identity = tag("line", class_="identity", x1=x(1), y1=y(1), x2=x(10), y2=y(10))
    path = tag("polyline", points=" ".join(f"{x(b.judge):.1f},{y(b.gold):.1f}" for b in bins), class_="curve")
    points = [
        tag("g",
            hover(f"judge about {b.score}: n {b.n:,}, mean of judge {b.judge:.2f}, mean of gold {b.gold:.2f}"),
            tag("circle", class_="point", cx=x(b.judge), cy=y(b.gold), r=2.5 + 6.5 * sqrt(b.n / most)),
            text(f"{b.n:,}", x(b.judge), y(b.gold) + (21 if b.gold < b.judge else -13), "middle", "count"))
        for b in bins
    ]  # fmt: skip
    return plot(
        "calibration", 334, "Calibration: mean gold by the judge's score",
        "One point for each score of the judge with the number of its figures; on the dashed line both are equal.",
        x_axis(x, 300, 24, "judge's overall, mean of the bin", list(SCORES)),
        y_axis(y, 34, WIDTH - 10, "gold, mean of the bin", list(SCORES)), identity, path, points,
    )  # fmt: skip


def bland_altman(gold: Gold, standing: Standing, reach: float) -> Markup:
    """Difference against mean of judge and gold, one dot a figure; `reach` in points is that of the vertical axis."""
    judged, found = standing.judged, standing.limits
    x, y = Scale(0.5, 10.5, 34.0, WIDTH - 10.0), Scale(-reach, reach, 300.0, 24.0)
    dots = []
    for place in np.flatnonzero(~np.isnan(judged.overall)).tolist():
        of_gold, of_judge = float(gold.overall[place]), float(judged.overall[place])
        told = hover(f"{gold.figure_ids[place]}: gold {of_gold:.2f}, judge {of_judge:.2f}")
        dots.append(tag("circle", told, cx=x((of_gold + of_judge) / 2), cy=y(of_judge - of_gold), r=2.2))
    lines = [
        (found.bias.value, "bias", f"bias: {shown('bias', found.bias.value)}"),
        (found.low, "limit", f"-1.96 sd: {shown('bias', found.low)}"),
        (found.high, "limit", f"+1.96 sd: {shown('bias', found.high)}"),
    ]
    drawn = [
        tag("g", tag("line", class_=name, x1=34, x2=WIDTH - 10, y1=y(value), y2=y(value)),
            text(words, WIDTH - 12, y(value) + (13 if value < 0 else -4), "end", "value halo"))
        for value, name, words in lines if value is not None
    ]  # fmt: skip
    zero = tag("line", class_="identity", x1=34, x2=WIDTH - 10, y1=y(0), y2=y(0))
    return plot(
        "bland-altman", 334, "Bland-Altman: difference against mean",
        "One dot a figure. Lines: the bias, and the bias less and plus 1.96 standard deviations.",
        x_axis(x, 300, 24, "mean of judge and gold", list(SCORES)),
        y_axis(y, 34, WIDTH - 10, "judge - gold, points"), zero, tag("g", dots, class_="dots"), drawn,
    )  # fmt: skip


def cost_error(standings: Sequence[Standing], currency: str) -> Markup:
    """MAE with its interval against what the run cost; runs that cost nothing stand left of the axis."""
    both = [(s, paid(s), s.metrics.mae.value) for s in standings]
    priced = [(s, cost, mae) for s, cost, mae in both if cost is not None and mae is not None]
    costs = [cost for _, cost, _ in priced if cost > 0]
    free = any(cost == 0 for _, cost, _ in priced)
    start, end = (74.0 if free else 40.0), WIDTH - 14.0
    log = bool(costs) and max(costs) > 8 * min(costs)
    x = Scale(min(costs) / 1.5, max(costs) * 1.5, start, end, log=True) if log else Scale(
        0.0, 1.15 * max(costs, default=1.0), start, end)  # fmt: skip
    y = spanning([end for s, _, _ in priced for end in _ends(s)], 270.0, 24.0)
    places = [(x(cost) if cost > 0 or not free else 54.0, y(mae)) for _, cost, mae in priced]
    taken = [
        (at[0] - 3.5, min(at[1] - 4, y(_ends(s)[-1])), at[0] + 3.5, max(at[1] + 4, y(_ends(s)[0])))
        for (s, _, _), at in zip(priced, places, strict=True)
    ]  # by the marks themselves, so that no name covers one
    points = []
    for (s, cost, mae), at in zip(priced, places, strict=True):
        low, high = _ends(s)[0], _ends(s)[-1]
        points.append(
            tag("g", hover(f"{s.judged.run_id}, {s.kind}: {cost:.2f} {currency}, MAE {mae:.3f}, n {s.metrics.mae.n:,}"),
                tag("line", class_="interval thin", x1=at[0], x2=at[0], y1=y(low), y2=y(high)),
                mark(SHAPES[s.kind], *at), _label(s.judged.run_id, at, taken))
        )  # fmt: skip
    nothing = text("0", 54, 283, "middle") if free else None
    return plot(
        f"cost-{currency}", 304, f"Cost against error, {currency}", "One mark for each run whose money is known.",
        x_axis(x, 270, 24, f"cost of the run, {currency}"), y_axis(y, 40, end, "MAE, points"), nothing, points,
    )  # fmt: skip


def paid(standing: Standing) -> float | None:
    return None if standing.spending is None else standing.spending.cost


def strip(key: str, gold: float, raters: Iterable[tuple[str, float]], judges: Iterable[tuple[str, float]]) -> Markup:
    """One figure: the gold as a diamond, raters as strokes above it, judges as dots below it."""
    x = Scale(1.0, 10.0, 50.0, WIDTH - 12.0)
    given = sorted(judges, key=lambda pair: (pair[1], pair[0]))
    stacked: dict[int, int] = {}
    dots = []
    for name, score in given:
        at = x(score)
        level = stacked[round(at / 5)] = stacked.get(round(at / 5), -1) + 1  # dots must not cover each other
        dots.append(tag("circle", hover(f"{name}: {score:.2f}"), class_="point", cx=at, cy=42.0 + 6 * level, r=2.6))
    bottom = 42.0 + 6 * max(stacked.values(), default=0) + 7
    strokes = [
        tag("line", hover(f"{name}: {score:.2f}"), class_="rater", x1=x(score), x2=x(score), y1=4, y2=16)
        for name, score in raters
    ]
    names = [text(name, 44, y, "end") for name, y in (("raters", 14), ("gold", 30), ("judges", 45))]
    centre = tag("g", hover(f"gold: {gold:.2f}"), mark("gold", x(gold), 26.0))
    return plot(
        key, bottom + 18, "Overall scores of this figure", "Raters as strokes, the gold as a diamond, judges as dots.",
        x_axis(x, bottom, 2, "", list(SCORES)), names, strokes, centre, dots,
    )  # fmt: skip


def mark(shape: str, x: float, y: float) -> Markup:
    """A filled or hollow disc, or a diamond."""
    if shape in ("diamond", "gold"):
        return tag("path", d=f"M{x:.1f} {y - 4:.1f}l4 4l-4 4l-4 -4z", class_=f"mark {shape}")
    return tag("circle", class_=f"mark {shape}", cx=x, cy=y, r=2.8)


def reach_of(standings: Iterable[Standing], gold: Gold) -> float:
    """Points that the vertical axes of all Bland-Altman plots reach, so that they can be compared."""
    found = [1.0]
    for s in standings:
        differences = np.abs(s.judged.overall - gold.overall)
        found += differences[~np.isnan(differences)].tolist()
        found += [abs(end) for end in (s.limits.low, s.limits.high) if end is not None]
    return float(np.ceil(max(found)))


def ceiling_of(ceiling: Sequence[Metrics]) -> str:
    """The raters' MAE in words; empty where there are none."""
    maes = [m.mae.value for m in ceiling if m.mae.value is not None]
    return f"{min(maes):.3f} to {max(maes):.3f}" if maes else ""


def _ends(standing: Standing) -> list[float]:
    interval = standing.intervals["mae"]
    found = [value for value in (interval.low, standing.metrics.mae.value, interval.high) if value is not None]
    return sorted(found)


def _label(name: str, at: tuple[float, float], taken: list[tuple[float, float, float, float]]) -> Markup | None:
    """The name beside its mark where it covers nothing that is drawn already; else it is under the pointer only."""
    name = shortened(name, 16)
    width, (x, y) = 5.6 * len(name), at
    for left, base, anchor in ((x + 8, y + 3.5, "start"), (x - 8, y + 3.5, "end"), (x + 6, y - 7, "start"),
                               (x + 6, y + 14, "start")):  # fmt: skip
        from_x = left if anchor == "start" else left - width
        box = (from_x, base - 9, from_x + width, base + 2)
        inside = box[0] >= 40 and box[2] <= WIDTH
        if inside and not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken):
            taken.append(box)
            return text(name, left, base, anchor, "label halo")
    return None
