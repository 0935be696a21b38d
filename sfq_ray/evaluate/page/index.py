"""index.html: every section of the leaderboard with its plots, and the ways to runs and figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfq_ray.evaluate.agreement import Metrics
from sfq_ray.evaluate.display import number
from sfq_ray.evaluate.escaping import NONE
from sfq_ray.evaluate.evaluation import Evaluation, Standing
from sfq_ray.evaluate.page import plots
from sfq_ray.evaluate.page.evidence import Evidence
from sfq_ray.evaluate.page.figures import disputes_card
from sfq_ray.evaluate.page.markup import Child, Markup, card, join, said, tag
from sfq_ray.evaluate.page.run import run_links
from sfq_ray.evaluate.page.shell import FOLDER, figure_href, link, page, scrolling, section_card, table
from sfq_ray.evaluate.sections import Section, sections
from sfq_ray.rubric import DIMENSIONS, NAMES, Dimension

TITLE = "Judges against human gold"
NAV = (
    ("leaderboard", "Leaderboard"), ("forest", "Errors"), ("dimensions", "Dimensions"), ("gates", "Gates"),
    ("cost", "Cost"), ("disputes", "Figures"), ("contrasts", "Contrasts"), ("raters", "Raters"),
    ("published", "Published"), ("left-out", "Left out"), ("settings", "Settings"),
)  # fmt: skip
BANDS = 5
NO_PRICE = "No run has a known price; give --prices, and runs stand here by what they cost."
NO_ROOM = "Names that have no room are under the pointer; filled marks are complete runs."
FREE = "The runs whose money is known cost nothing, so there is nothing to draw."
PAPERS_OWN = "Numbers of the paper, on its own gold and runs; none of them was measured here."


def index_page(
    evaluation: Evaluation, record: Mapping[str, Any], evidence: Mapping[str, Evidence], thumbs: Mapping[str, int],
    report: str | None,
) -> str:  # fmt: skip
    """`record` is publish.record's; `report` the address of the report's page, None where there is none."""
    folder = FOLDER + "/"
    links = run_links(evaluation, folder)
    found = {section.key: section for section in sections(evaluation)}

    def of(key: str, *more: Child) -> Child:
        return section_card(found[key], links, *more) if key in found else None

    content = [
        of("leaderboard", tag("p", "A run's name leads to its calibration, limits of agreement and gates.")),
        _forest(evaluation), of("incomplete"), of("fitted"), of("expected"), of("baselines"), of("ceiling"),
        _dimensions(evaluation, links), _gates(evaluation, links), _cost(evaluation, found.get("spending"), links),
        disputes_card(evaluation, evidence, thumbs, folder, report), of("contrasts"), of("raters"), of("retest"),
        _adjudication(evaluation, report),
        of("published", tag("p", PAPERS_OWN, class_="note")),
        of("left_out"), _settings(record),
    ]  # fmt: skip
    there = "".join(join(content))
    nav = [tag("a", name, href=f"#{key}") for key, name in NAV if f'id="{key}"' in there]
    return page(TITLE, folder, tag("nav", nav, id="tabs", aria_label="Sections"), Markup(there))


def _forest(evaluation: Evaluation) -> Markup | None:
    if not any(s.metrics.mae.value is not None for s in evaluation.runs):
        return None
    keys: list[Child] = [_key("filled", "complete run")]
    keys += [_key("hollow", "incomplete run: its n figures only")] if evaluation.incomplete else []
    keys += [_key("diamond", "fitted run")] if evaluation.fitted else []
    for s, dash in zip(evaluation.baselines, plots.BASELINE_DASHES, strict=False):
        keys.append(_key(dash, f"{s.judged.run_id}, MAE {number(s.metrics.mae.value)}"))
    ceiling = plots.ceiling_of(evaluation.ceiling)
    keys += [_key("ceiling", f"human ceiling: raters against each other, MAE {ceiling}")] if ceiling else []
    about = f"With {100 * evaluation.level:g} % intervals; a run's line under the pointer has its numbers."
    return card("forest", "Errors of all runs", tag("p", about, class_="quiet"), tag("ul", keys, class_="keys"),
                plots.forest(evaluation))  # fmt: skip


def _key(shape: str, words: str) -> Markup:
    if shape == "ceiling":
        drawn = tag("rect", class_="ceiling", x=1, y=1, width=20, height=12)
    elif shape.startswith("dash"):
        drawn = tag("line", class_=f"baseline {shape}", x1=0, x2=22, y1=7, y2=7)
    else:
        drawn = plots.mark(shape, 11, 7)
    return tag("li", tag("svg", drawn, viewBox="0 0 22 14", class_="key", aria_hidden="true"), " ", said(words))


def _dimensions(evaluation: Evaluation, links: Mapping[str, str]) -> Markup:
    """A heat map whose cells say their number, so the colour adds nothing that is not there in words."""
    rows: list[tuple[str, str, Metrics]] = [
        (s.kind, s.judged.run_id, s.metrics) for s in (*evaluation.runs, *evaluation.baselines)
    ]
    rows += [("human ceiling", m.run_id, m) for m in evaluation.ceiling]
    maes = [m.dimensions[d].mae.value for _, _, m in rows for d in DIMENSIONS]
    known = [mae for mae in maes if mae is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    head = tag("tr", [tag("th", name, scope="col") for name in ("run", "kind")], [
        tag("th", hover_name(d.value, NAMES[d]), scope="col", class_="number") for d in DIMENSIONS])  # fmt: skip
    body = [
        tag("tr", tag("th", link(links.get(name), said(name)), scope="row"), tag("td", kind),
            [_heat(m.dimensions[d].mae.value, m.dimensions[d].mae.n, low, high) for d in DIMENSIONS])
        for kind, name, m in rows
    ]  # fmt: skip
    step = (high - low) / BANDS
    scale = [
        tag(
            "span",
            f"{low + step * (BANDS - band):.2f} to {low + step * (BANDS - band + 1):.2f}",
            class_=f"chip band{band}",
        )
        for band in range(BANDS, 0, -1)
    ]
    about = (
        "MAE in points where the dimension is on in both, and the number of these figures; less is closer to the gold."
    )
    inner = tag("table", tag("thead", head), tag("tbody", body), class_="list heat")
    return card("dimensions", "Agreement by dimension", tag("p", about, class_="quiet"),
                tag("p", scale, class_="chips"), scrolling(inner, "Agreement by dimension"))  # fmt: skip


def hover_name(short: str, long: str) -> Markup:
    return tag("abbr", short, title=long)


def _heat(mae: float | None, n: int, low: float, high: float) -> Markup:
    if mae is None:
        return tag("td", NONE, class_="number")
    band = BANDS - min(int(BANDS * (mae - low) / (high - low)), BANDS - 1) if high > low else BANDS
    chip = tag("span", f"{mae:.3f}", class_=f"chip band{band}")
    return tag("td", chip, " ", tag("span", f"({n:,})", class_="quiet"), class_="number")


def _gates(evaluation: Evaluation, links: Mapping[str, str]) -> Markup:
    """The four counts of each run and dimension."""

    def rows() -> Iterator[Markup]:
        for s in evaluation.runs:
            name = tag("th", link(links.get(s.judged.run_id), said(s.judged.run_id)), scope="row")
            yield tag("tr", name, [_four(s, d) for d in DIMENSIONS])

    head = tag("tr", tag("th", "run", scope="col"), [
        tag("th", hover_name(d.value, NAMES[d]), scope="col", class_="number") for d in DIMENSIONS])  # fmt: skip
    about = (
        "Figures on in both | on in gold only | on in judge only | off in both; those where gold and judge differ are "
        "bold. Failed and missing figures are in none."
    )
    inner = tag("table", tag("thead", head), tag("tbody", rows()), class_="list")
    return card("gates", "Gates by dimension", tag("p", about, class_="quiet"),
                scrolling(inner, "Gates by dimension"))  # fmt: skip


def _four(standing: Standing, dimension: Dimension) -> Markup:
    gates = standing.metrics.dimensions[dimension].gates
    differ = [tag("strong", f"{n:,}", class_="bad") if n else "0" for n in (gates.gold_only, gates.judge_only)]
    words = f"{gates.both_on:,} on in both, {gates.gold_only:,} in gold only, {gates.judge_only:,} in judge only, "
    counts = (f"{gates.both_on:,} | ", differ[0], " | ", differ[1], f" | {gates.both_off:,}")
    return tag("td", counts, class_="number", title=words + f"{gates.both_off:,} off in both")


def _cost(evaluation: Evaluation, spending: Section | None, links: Mapping[str, str]) -> Child:
    """A plot for each currency; runs that cost nothing have none and stand in all of them."""
    runs = [s for s in evaluation.runs if s.metrics.mae.value is not None]
    known = [s for s in runs if plots.paid(s) is not None]
    unknown = [s for s in runs if plots.paid(s) is None and s.kind != "fitted"]
    currencies = {s.spending.currency for s in known if s.spending is not None and s.spending.currency}
    drawn = [
        plots.cost_error(
            [s for s in known if s.spending is not None and s.spending.currency in (currency, None)], currency
        )
        for currency in sorted(currencies)
    ]
    if not drawn:
        drawn = [tag("p", FREE if known else NO_PRICE, class_="note")]
    names = [
        (", " if place else "", link(links.get(s.judged.run_id), said(s.judged.run_id)))
        for place, s in enumerate(unknown)
    ]
    lost = tag("p", "Money unknown: ", names, ".") if unknown else None
    money = table(spending.header, spending.rows, links) if spending is not None else None
    about = spending.about if spending is not None else None
    hint = tag("p", NO_ROOM, class_="quiet") if currencies else None
    return card("cost", "Cost against error", hint, drawn, lost, tag("h3", "Calls, tokens and money"),
                tag("p", about, class_="quiet"), money)  # fmt: skip


def _adjudication(evaluation: Evaluation, report: str | None) -> Child:
    if not evaluation.adjudication:
        return None
    rows = [
        tag("tr", tag("th", link(figure_href(report, row["figure_id"]), said(row["figure_id"])), scope="row"),
            tag("td", f"{row['gap']:.2f}", class_="number"),
            tag("td", [(", " if place else "", said(str(rater)), f" {value:.2f}")
                       for place, (rater, value) in enumerate(row["overalls"])]))
        for row in evaluation.adjudication
    ]  # fmt: skip
    head = tag("tr", [tag("th", name, scope="col") for name in ("figure", "gap, points", "overalls")])
    inner = tag("table", tag("thead", head), tag("tbody", rows), class_="list")
    summary = f"{len(rows):,} figures whose raters are far apart, the widest gap first"
    return card(
        "adjudication",
        "To be adjudicated",
        tag("details", tag("summary", summary), scrolling(inner, "To be adjudicated")),
    )


def _settings(record: Mapping[str, Any]) -> Markup:
    parts: list[Child] = []
    for title in ("settings", "versions", "inputs"):
        pairs = [(tag("dt", name), tag("dd", said(value))) for name, value in _flat(record[title])]
        parts += [tag("h3", title.capitalize()), tag("dl", pairs)]
    return card("settings", "Settings, seed and versions", parts)


def _flat(tree: Any, name: str = "") -> Iterator[tuple[str, str]]:
    pairs: Sequence[tuple[str, Any]] = ()
    if isinstance(tree, Mapping):
        pairs = [(f"{name} {key}".strip(), value) for key, value in tree.items()]
    elif isinstance(tree, list):
        pairs = [(f"{name} {place}", value) for place, value in enumerate(tree, 1)]
    else:
        yield name, "none" if tree is None else str(tree)
    for key, value in pairs:
        yield from _flat(value, key)
