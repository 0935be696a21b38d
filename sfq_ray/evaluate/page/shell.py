"""The frame of every page, tables of sections, and links. Pages run no script and load nothing but their own folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

from sfq_ray.evaluate.page.markup import Child, Markup, card, join, said, tag
from sfq_ray.evaluate.sections import Said, Section

POLICY = "default-src 'none'; style-src 'self' file:; img-src 'self' file:; base-uri 'none'; form-action 'none'"
FOLDER = "page"  # everything but index.html
STYLES = {"report.css": "sfq_ray.report", "evaluation.css": "sfq_ray.evaluate.page"}  # and the packages they lie in
WITH_ENDS = re.compile(r"(?P<value>\S+) (?P<ends>\[.*\])(?P<n> \(.*\))?")
NUMBER = re.compile(r"[-+–\d]\S*|\S+ (\[.*\]|\(.*\))(| \(.*\))|[\d,]+ of [\d,]+|[\d.,]+ [A-Z]{3}|\S+ to \S+")


def page(title: str, folder: str, nav: Child, *content: Child) -> str:
    """A whole page; `folder` leads from it into FOLDER: "page/", or "" for the pages there."""
    head = tag(
        "head", tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"), tag("meta", name="color-scheme", content="light dark"),
        tag("title", title), [tag("link", rel="stylesheet", href=folder + name) for name in STYLES],
    )  # fmt: skip
    top = tag("header", tag("div", tag("h1", said(title)), nav, class_="bar"))
    foot = tag(
        "footer", "Scores run from 1 to 10, higher is better in all five dimensions (Misleading Risk: higher is lower "
        "risk). Values under the pointer; the same numbers at full precision stand in the CSV files beside this page.",
    )  # fmt: skip
    body = tag("body", top, tag("main", content), foot)
    return "<!doctype html>\n" + tag("html", head, body, lang="en") + "\n"


def run_file(number: int) -> str:
    """Names of files hold numbers only."""
    return f"run-{number:04}.html"


def figure_href(report: str | None, address: str | None) -> str | None:
    """Where the report shows a figure; None without one."""
    return None if report is None or address is None else f"{report}#figure={quote(address, safe='')}"


def link(href: str | None, *children: Child) -> Markup:
    """Without an address, the children alone."""
    return join(children) if href is None else tag("a", children, href=href)


def section_card(section: Section, links: Mapping[str, str], *more: Child) -> Markup:
    """A section as the other forms of the leaderboard have it; `links` by run id."""
    about = tag("p", section.about, class_="quiet") if section.about else None
    if not section.header:
        body = tag("ul", [tag("li", _items(row)) for row in section.rows])
    else:
        body = table(section.header, section.rows, links)
    return card(section.key.replace("_", "-"), section.title, about, more, body)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], links: Mapping[str, str] | None = None) -> Markup:
    """A table that scrolls by itself where it is too wide. The first text of others in a row heads it."""
    shown = [list(row) for row in rows]
    numeric = [
        all(not isinstance(row[place], Said) and NUMBER.fullmatch(row[place]) for row in shown)
        for place in range(len(header))
    ]
    head = [
        tag("th", name, scope="col", class_="number" if n else None) for name, n in zip(header, numeric, strict=True)
    ]
    body = [tag("tr", _row(row, numeric, links or {})) for row in shown]
    inner = tag("table", tag("thead", tag("tr", head)), tag("tbody", body), class_="list")
    return scrolling(inner, ", ".join(header))


def scrolling(inner: Child, name: str) -> Markup:
    """What scrolls by itself where it is too wide, by keys too; `name` is read aloud."""
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label=name)


def _row(row: Sequence[str], numeric: Sequence[bool], links: Mapping[str, str]) -> Iterable[Markup]:
    named = next((place for place, cell in enumerate(row) if isinstance(cell, Said)), 0)
    for place, (cell, is_number) in enumerate(zip(row, numeric, strict=True)):
        content = link(links.get(cell) if place == named else None, _cell(cell))
        class_ = "number" if is_number else None
        yield tag("th", content, scope="row") if place == named else tag("td", content, class_=class_)


def _cell(cell: str) -> Markup:
    if isinstance(cell, Said):
        return said(cell)
    match = WITH_ENDS.fullmatch(cell)
    if match is None:
        return join(cell)
    n = match["n"] or ""
    return join((match["value"], n, " ", tag("span", match["ends"], class_="ends")))


def _items(row: Sequence[str]) -> Markup:
    return join([(": " if place else "", _cell(cell)) for place, cell in enumerate(row)])
