"""Folders of a page that are made anew as a whole, in the place of the former one and of nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from sfq_ray.errors import FatalError

DESKTOP = ".DS_Store"  # left by a file manager that only looked


def check_replaceable(target: Path, names: Sequence[str], what: str) -> None:
    """Raises FatalError where `target`, which is to be replaced as a whole, holds anything but a former `what`.

    `names` are patterns of what one holds; the first of them must be there.
    """
    if not target.exists():
        return
    if not target.is_dir():
        raise FatalError(f"{target}: is a file; choose another --out")
    there = sorted(path.name for path in target.iterdir() if path.name != DESKTOP)
    foreign = [name for name in there if names[0] not in there or not any(fnmatchcase(name, each) for each in names)]
    if foreign:
        raise FatalError(f"{target}: holds {foreign[0]}, which is no part of a {what}; choose an empty or a new --out")


def replace_folder(partial: Path, target: Path) -> None:
    """Puts the finished folder in place of the former one, which stays whole until then."""
    former = target.with_name(f".{target.name}.former")
    shutil.rmtree(former, ignore_errors=True)
    if target.exists():
        target.rename(former)
    try:
        partial.rename(target)
    except BaseException:
        if former.exists():
            former.rename(target)
        raise
    shutil.rmtree(former, ignore_errors=True)
