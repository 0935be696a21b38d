"""HTML and SVG as text. Every string that is not Markup is escaped, so no text of others becomes a tag."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

VOID = frozenset({"img", "link", "meta", "br"})


class Markup(str):
    """Text that is markup already."""


Child = str | None | Iterable["Child"]


def tag(name: str, /, *children: Child, **attributes: str | float | None) -> Markup:
    """An element. Attributes: class_ is class, stroke_width is stroke-width; None leaves one out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{given}>" if name in VOID else f"<{name}{given}>{join(children)}</{name}>")


def join(child: Child) -> Markup:
    """Children one after the other; None is nothing."""
    if child is None:
        return Markup()
    if isinstance(child, str):
        return child if isinstance(child, Markup) else Markup(escape(child))
    return Markup("".join(map(join, child)))


def said(text: str, name: str = "span", class_: str = "said") -> Markup:
    """Text of others: set apart, so that its writing direction cannot reorder what stands around it."""
    return tag(name, text, class_=class_, dir="auto")


def card(key: str, title: str, *children: Child) -> Markup:
    return tag("section", tag("h2", title), children, class_="card", id=key)


def _text(value: str | float) -> str:
    """Lengths with a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
