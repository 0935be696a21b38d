"""What the runs took: calls, tokens and money, from calls/ and a dated price list.

A call that several runs share was paid once and counts in full for each of them: a run's cost is what it would cost
alone. What the ledger or the price list does not say is None, for one call as for the sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfq_ray.evaluate.judgements import Run
from sfq_ray.judge.backends import Usage
from sfq_ray.judge.capabilities import EMBEDDED, Model
from sfq_ray.judge.prices import Price, cost
from sfq_ray.places import Place
from sfq_ray.store import Store

COLUMNS = ["request_id", "backend", "model", "usage"]


@dataclass(frozen=True)
class Call:
    """One record of calls/; None is unknown. The embedded judge needs no tokens and no money."""

    input_tokens: int | None
    output_tokens: int | None  # thinking included
    cost: float | None
    currency: str | None


@dataclass(frozen=True)
class Spending:
    """Of one run. A sum is None where one of its calls is unknown, or where currencies differ."""

    calls: int
    calls_counted: int  # with known tokens
    calls_priced: int  # with a known cost
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    currency: str | None


def read_calls(places: Sequence[Place], models: Mapping[str, Model], prices: Mapping[str, Price]) -> dict[str, Call]:
    """calls/ of the directories, by request id.

    A part of a judging job is named after the record that answered: several records may stand for one model.
    """
    names: dict[tuple[str, str], str] = {(model.backend, model.model): name for name, model in models.items()}
    found: dict[str, Call] = {}
    for place in places:
        for part, rows in Store(place).narrow("calls", COLUMNS):
            record = part.rpartition(".")[0]
            for row in rows.to_pylist():
                name = record if record in models else names.get((row["backend"], row["model"]), "")
                found.setdefault(row["request_id"], _call(row, name, prices))
    return found


def _call(row: Mapping[str, Any], name: str, prices: Mapping[str, Price]) -> Call:
    if row["backend"] == EMBEDDED.backend:
        return Call(0, 0, 0.0, None)
    usage = Usage(**row["usage"]) if row["usage"] is not None else Usage()
    price = prices.get(name)
    return Call(usage.input_tokens, usage.output_tokens, cost(usage, name, prices), price.currency if price else None)


def spending(run: Run, calls: Mapping[str, Call]) -> Spending:
    """What the calls behind the run's scores took; a call that is not in the ledger is unknown."""
    unknown = Call(None, None, None, None)
    own = [calls.get(key, unknown) for key in sorted(run.request_ids)]
    currencies = {call.currency for call in own if call.currency is not None}
    return Spending(
        calls=len(own),
        calls_counted=sum(None not in (call.input_tokens, call.output_tokens) for call in own),
        calls_priced=sum(call.cost is not None for call in own),
        input_tokens=_total(call.input_tokens for call in own),
        output_tokens=_total(call.output_tokens for call in own),
        cost=_total(call.cost for call in own) if len(currencies) <= 1 else None,
        currency=currencies.pop() if len(currencies) == 1 else None,
    )


def _total(values: Iterable[float | None]) -> Any:
    """The sum; None where one is unknown or there is none."""
    known = list(values)
    return None if not known or None in known else sum(value for value in known if value is not None)
