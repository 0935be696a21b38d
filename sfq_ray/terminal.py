"""What commands share: options and how they are read, errors of one line, and silence of native code."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from sfq_ray.config import ConfigError
from sfq_ray.errors import FatalError
from sfq_ray.places import Place, place

NATIVE_LOG_BYTES = 4000  # shown of what native code said before an unexpected failure


def anywhere(location: str) -> Place:
    """A folder or a prefix of an object store, as an option gives it. Raises typer.BadParameter."""
    try:
        return place(location)
    except ConfigError as error:
        raise typer.BadParameter(str(error)) from None


def local(location: str) -> Path:
    """A folder, as an option gives it. Raises typer.BadParameter for an object store, which is no name of a folder."""
    if "://" in location:
        raise typer.BadParameter(f"{location}: this command needs a local folder here, not an object store")
    return Path(location)


Scores = Annotated[
    Any, typer.Option("--scores", parser=anywhere, metavar="PLACE", help="Where `sfq judge --out` led. Default: DIR.")
]
Models = Annotated[Path | None, typer.Option("--models", help="YAML of model records, over those shipped.")]
Prices = Annotated[Path | None, typer.Option("--prices", help="YAML of prices, over those shipped.")]


@contextmanager
def clear_errors() -> Iterator[None]:
    """An error that the user can mend is one line on stderr; an interrupted job says how to go on."""
    try:
        yield
    except (FatalError, ConfigError) as error:
        typer.echo(f"sfq: {error}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo("\nsfq: stopped; run the same command again to continue", err=True)
        raise typer.Exit(130) from None


@contextmanager
def quiet() -> Iterator[None]:
    """Native code of this process (Ray, OpenCV) writes to file descriptor 2, which no logging setting reaches.

    For the time of the job that descriptor leads to a file, whose end is shown when the job breaks; what the command
    itself has to say still goes to the terminal.
    """
    terminal, kept = sys.stderr, os.dup(2)
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 2)
        sys.stderr = os.fdopen(kept, "w", buffering=1)
        try:
            yield
        except (FatalError, ConfigError, KeyboardInterrupt):
            raise
        except BaseException:
            log.seek(max(0, log.tell() - NATIVE_LOG_BYTES))
            sys.stderr.write(log.read().decode("utf-8", "replace"))
            raise
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            sys.stderr.close()
            sys.stderr = terminal
