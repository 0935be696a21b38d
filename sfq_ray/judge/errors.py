"""Why a model call gave no judgement. The class name of a failure is what stands in calls/ and scores/."""

from __future__ import annotations

FAILURES: dict[str, bool] = {
    # class: True where it is permanent, so that the same request is not paid for again
    "empty": True,
    "truncated": True,
    "whitespace_loop": True,
    "refusal": True,
    "invalid_json": True,
    "schema_violation": True,
    "image_rejected": True,
    "bad_request": True,
    "rate_limited": False,
    "timeout": False,
    "unavailable": False,
    "engine_dead": False,
    "auth": False,
}
RETRIED = frozenset({"rate_limited", "timeout", "unavailable"})
"""Classes for which the same request is sent again after a while."""


class CallError(Exception):
    """A call failed with a class of FAILURES; the text says what the provider or the check said, without secrets.

    `retry_after_s`: how long the provider asked to wait, where it did. `maybe_paid`: it may have done the work, since
    no refusal came back.
    """

    def __init__(self, kind: str, message: str, retry_after_s: float | None = None, maybe_paid: bool = False) -> None:
        if kind not in FAILURES:
            raise KeyError(f"{kind!r} is no failure class")
        super().__init__(message)
        self.kind = kind
        self.retry_after_s = retry_after_s
        self.maybe_paid = maybe_paid

    @property
    def permanent(self) -> bool:
        return FAILURES[self.kind]
