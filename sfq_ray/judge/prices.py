"""What calls cost, from their token counts and a dated price list; applied afterwards, never while judging.

prices.yaml ships without prices: they change, and differ by contract. A user's own file fills them in.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path

from pydantic import Field

from sfq_ray.config import Section
from sfq_ray.judge.backends import Usage
from sfq_ray.judge.records import load_records

SHIPPED = "prices.yaml"
MILLION = 1_000_000


class Price(Section):
    """What a million tokens of a model of models.yaml cost; null means unknown, 0 means free."""

    name: str = Field(description="Name of the model; the key of the record.")
    currency: str = Field("USD", pattern="^[A-Z]{3}$")
    input: float | None = Field(None, ge=0, allow_inf_nan=False)
    cached_input: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="Input read from the provider's cache."
    )
    output: float | None = Field(None, ge=0, allow_inf_nan=False, description="Thinking included.")
    checked: date | None = Field(None, description="Day of the price list.")


def load_prices(path: Path | None = None) -> dict[str, Price]:
    """The shipped price list by model, with that of the YAML file `path` on top, field by field.

    Raises ConfigError naming the file, record, key and reason.
    """
    return load_records(Price, SHIPPED, path)


def usd(usage: Usage | None, model: str, prices: Mapping[str, Price]) -> float | None:
    """The cost of a call in USD; None too where its price is in another currency."""
    price = prices.get(model)
    return cost(usage, model, prices) if price is not None and price.currency == "USD" else None


def cost(usage: Usage | None, model: str, prices: Mapping[str, Price]) -> float | None:
    """The cost of a call in the currency of its price; None where a price or a count that it needs is unknown.

    `usage` counts cached tokens within the input and thinking within the output. A provider that does not say how many
    tokens were cached costs an unknown sum, unless cached input has the price of any other. Surcharges for writing to
    a cache and reductions for batches are not in it.
    """
    price = prices.get(model)
    if usage is None or price is None or price.input is None or price.output is None:
        return None
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    cached = 0 if price.cached_input == price.input else usage.cached_tokens
    if cached is None or not 0 <= cached <= usage.input_tokens or (cached and price.cached_input is None):
        return None
    fresh = usage.input_tokens - cached
    return (fresh * price.input + cached * (price.cached_input or 0.0) + usage.output_tokens * price.output) / MILLION
