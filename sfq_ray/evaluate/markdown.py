"""The leaderboard as Markdown: what `sfq evaluate` prints and leaderboard.md holds."""

from __future__ import annotations

from collections.abc import Iterator

from sfq_ray.evaluate.escaping import escaped
from sfq_ray.evaluate.evaluation import Evaluation
from sfq_ray.evaluate.sections import Row, Said, Section, sections


def markdown(evaluation: Evaluation) -> str:
    """All sections that have something to say."""
    return "\n\n".join("\n".join(_lines(section)) for section in sections(evaluation)) + "\n"


def _lines(section: Section) -> Iterator[str]:
    yield from (f"## {section.title}", "")
    if section.about:
        yield from (section.about, "")
    if not section.header:
        yield from (f"- {': '.join(_cells(row))}" for row in section.rows)
        return
    yield "| " + " | ".join(section.header) + " |"
    yield "|" + "---|" * len(section.header)
    yield from ("| " + " | ".join(_cells(row)) + " |" for row in section.rows)


def _cells(row: Row) -> list[str]:
    return [escaped(cell) if isinstance(cell, Said) else cell for cell in row]
