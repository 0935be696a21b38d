"""Failures that end up on a row, and those that end a job."""

from __future__ import annotations


class ExtractError(Exception):
    """A paper or figure failed. `kind` is the failure class of the row, the text says what was wrong and what to do.

    Classes: unreadable, empty_file, not_pdf, too_large, encrypted, damaged, no_pages, timeout, out_of_memory,
    crashed, internal; of a single figure: ocr_failed.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


RETRYABLE = frozenset({"unreadable", "timeout", "out_of_memory", "crashed", "internal"})
"""Classes that a later run tries again: the machine may be to blame, not the file."""


class FatalError(Exception):
    """The job cannot go on (bad configuration, output not writable, disk full). The text says what to do."""
