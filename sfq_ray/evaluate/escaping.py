"""Names and texts of others inside our own documents: one line, and no markup."""

from __future__ import annotations

import re

NONE = "–"
MARKS = re.compile(r"[\\`*\[\]<>|~&$]|(?<!\w)_|_(?!\w)")
"""What Markdown, as GitHub reads it, may take for markup; "_" inside a word is none."""


def one_line(text: str) -> str:
    """Line breaks, control characters and what turns the direction of writing are blanks, many blanks one."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def escaped(text: str) -> str:
    """Markdown that shows the text and stays inside its cell; a dash for an empty one."""
    return MARKS.sub(lambda match: f"\\{match[0]}", one_line(text)) or NONE
