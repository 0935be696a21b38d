"""Cards of figures on which gold and judges differ: picture, scores, reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sfq_ray.evaluate.agreement import Floats
from sfq_ray.evaluate.curves import Dispute
from sfq_ray.evaluate.escaping import NONE
from sfq_ray.evaluate.evaluation import Evaluation, Standing
from sfq_ray.evaluate.page import plots
from sfq_ray.evaluate.page.evidence import Evidence, Reasons
from sfq_ray.evaluate.page.markup import Child, Markup, card, said, tag
from sfq_ray.evaluate.page.shell import figure_href, link, scrolling
from sfq_ray.evaluate.reliability import COLUMNS, with_overall
from sfq_ray.rubric import DIMENSIONS, NAMES

OPEN = 5  # cards


def figure_card(
    evaluation: Evaluation, standing: Standing, figure_id: str, evidence: Evidence, thumb: str | None,
    report: str | None, *about: Child,
) -> Markup:  # fmt: skip
    """One figure of the gold with what raters and this run say of it; `report` leads to the report's page, if any."""
    place = evaluation.gold.figure_ids.index(figure_id)
    href = figure_href(report, evidence.address)
    drawn = tag("img", src=thumb, alt="", loading="lazy") if thumb else tag("span", "no image", class_="quiet")
    caption = (
        said(evidence.caption, "p", "said caption") if evidence.caption else tag("p", "no caption", class_="quiet")
    )
    judge = standing.judged
    rows = [("gold", evaluation.gold.scores[place], evaluation.gold.overall[place])]
    of_raters = with_overall(evaluation.ratings[place : place + 1])[0]
    rows += [
        (name, scores[:-1], scores[-1])
        for name, scores in zip(evaluation.raters, of_raters, strict=True)
        if not np.isnan(scores).all()
    ]
    rows.append((judge.run_id, judge.scores[place], judge.overall[place]))
    given: list[tuple[str, Floats, Reasons]] = [
        (name, scores, evidence.raters[name]) for name, scores, _ in rows[1:-1] if name in evidence.raters
    ]
    if judge.run_id in evidence.judges:
        given.append((judge.run_id, judge.scores[place], evidence.judges[judge.run_id]))
    return tag(
        "article", tag("div", link(href, tag("span", drawn, class_="thumb")), caption, class_="shown"),
        tag("div", tag("h3", link(href, said(figure_id))), about, _scores(rows), _reasons(given), class_="told"),
        class_="dispute",
    )  # fmt: skip


def disputes_card(
    evaluation: Evaluation, evidence: Mapping[str, Evidence], thumbs: Mapping[str, int], folder: str, report: str | None
) -> Markup | None:
    """Where judges as a group are far from the gold; nothing where no judge scored a figure."""
    judges = {s.judged.run_id: s for s in evaluation.complete + evaluation.incomplete}
    cards = [
        figure_card(
            evaluation, judges[row.farthest], row.figure_id, evidence[row.figure_id],
            thumb_file(thumbs, row.figure_id, folder), report, *_dispute(evaluation, row, f"strip-{number}"),
        )
        for number, row in enumerate(evaluation.disputes)
    ]  # fmt: skip
    if not cards:
        return None
    return card("disputes", DISPUTES, tag("p", ABOUT, class_="quiet"), None if report else NO_REPORT, folded(cards))


def folded(cards: Sequence[Markup]) -> Child:
    """The first cards, and the others when they are asked for."""
    first, rest = cards[:OPEN], cards[OPEN:]
    return first, tag("details", tag("summary", f"{len(rest)} more"), rest) if rest else None


DISPUTES = "Where humans and judges differ most"
ABOUT = (
    "By the mean distance of the judges' overalls from the gold; a run's own largest differences stand on its page. "
    "Scores and reasons are those of the raters and of the judge that is farthest."
)
NO_REPORT = tag(
    "p", "There is no report to look figures up in: sfq report writes one, then evaluate again.", class_="quiet"
)


def _dispute(evaluation: Evaluation, row: Dispute, key: str) -> tuple[Markup, Markup]:
    """The numbers of a dispute and every overall as a mark."""
    place = evaluation.gold.figure_ids.index(row.figure_id)
    overalls = with_overall(evaluation.ratings[place : place + 1])[0, :, -1].tolist()
    raters = [(name, value) for name, value in zip(evaluation.raters, overalls, strict=True) if not np.isnan(value)]
    judges = [
        (s.judged.run_id, float(s.judged.overall[place]))
        for s in evaluation.complete + evaluation.incomplete
        if not np.isnan(s.judged.overall[place])
    ]
    words = (
        f"{row.judges:,} {'judge' if row.judges == 1 else 'judges'}: mean |judge - gold| {row.distance:.3f}, "
        f"mean judge - gold {row.difference:+.3f}"
    )
    return tag("p", words), plots.strip(key, row.gold, raters, judges)


def thumb_file(thumbs: Mapping[str, int], figure_id: str, folder: str) -> str | None:
    """The address of a thumbnail from a page; `folder` as for `shell.page`."""
    number = thumbs.get(figure_id)
    return None if number is None else f"{folder}thumbs/{number:06}.webp"


def score(value: float) -> str:
    return NONE if np.isnan(value) else f"{value:.2f}".rstrip("0").rstrip(".")


def _scores(rows: Sequence[tuple[str, Floats, float]]) -> Markup:
    head = tag("tr", tag("th", "", scope="col"), [tag("th", name, scope="col", class_="number") for name in COLUMNS])
    body = [
        tag("tr", tag("th", said(name), scope="row"), [_chip(value) for value in (*scores.tolist(), float(overall))])
        for name, scores, overall in rows
    ]
    return scrolling(tag("table", tag("thead", head), tag("tbody", body), class_="list"), "Scores")


def _chip(value: float) -> Markup:
    """In the bands of the rubric, as the report has them."""
    band = "none" if np.isnan(value) else f"band{int(np.ceil(min(max(value, 1), 10) / 2))}"
    return tag("td", tag("span", score(value), class_=f"chip {band}"), class_="number")


def _reasons(given: Sequence[tuple[str, Floats, Reasons]]) -> Markup | None:
    parts = []
    for column, dimension in enumerate(DIMENSIONS):
        own = [(who, scores[column], reasons[column]) for who, scores, reasons in given if reasons[column] is not None]
        if own:
            parts.append(tag("h4", f"{dimension} {NAMES[dimension]}"))
            parts += [
                tag("p", said(who, "strong"), f" {score(value)}: ", said(reason or "")) for who, value, reason in own
            ]
    if not parts:
        return tag("p", "No reasons in the tables.", class_="quiet")
    return tag("details", tag("summary", "Reasons"), parts, class_="reasons")
