"""Data as JavaScript files: a page opened from disk may load scripts but may not fetch files."""

from __future__ import annotations

import json
import math
from typing import Any


def data_script(name: str, value: Any) -> bytes:
    """A script that hands `value` to the page under `name`, in ASCII.

    Texts of papers are hostile: no character of theirs can end the script, start a tag or break a line. They must not
    be the keys of an object either, as "__proto__" means something to JavaScript; records are arrays or have our keys.
    Raises ValueError for NaN and infinity.
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return f"sfqData({json.dumps(name)},{text});\n".encode("ascii")


def number(value: float | None) -> float | int | None:
    """A number for display: six significant digits take off the noise of float32; NaN and infinity are null."""
    if value is None or isinstance(value, int):
        return value
    return float(f"{value:.6g}") if math.isfinite(value) else None
