"""Costs: exact where everything is known, unknown where anything is, and never zero for want of a price."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfq_ray.config import ConfigError
from sfq_ray.judge.backends import Usage
from sfq_ray.judge.capabilities import load_models
from sfq_ray.judge.prices import Price, cost, load_prices

PRICES = {
    "m": Price(name="m", input=4.0, cached_input=0.4, output=20.0),
    "flat": Price(name="flat", input=2.0, cached_input=2.0, output=6.0),
    "no-cache": Price(name="no-cache", input=2.0, output=6.0),
    "free": Price(name="free", input=0.0, cached_input=0.0, output=0.0),
    "half": Price(name="half", input=2.0, cached_input=2.0),
    "none": Price(name="none"),
}


def test_the_shipped_list_names_every_model_and_no_price():
    prices = load_prices()
    assert set(prices) == set(load_models())
    assert all(p.input is p.cached_input is p.output is p.checked is None for p in prices.values())


@pytest.mark.parametrize(
    ("usage", "model", "expected"),
    [
        (Usage(1_000_000, 1_000_000, 0), "m", 24.0),
        (Usage(1_000_000, 0, 500_000), "m", 2.2),
        (Usage(3000, 500, 2000, reasoning_tokens=400), "m", 0.0148),
        (Usage(1_000_000, 1_000_000), "flat", 8.0),
        (Usage(1_000_000, 1_000_000, 7), "flat", 8.0),
        (Usage(1_000_000, 1_000_000, 0), "no-cache", 8.0),
        (Usage(10, 10), "free", 0.0),
        (Usage(0, 0, 0), "m", 0.0),
    ],
)
def test_known_costs(usage, model, expected):
    assert cost(usage, model, PRICES) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("usage", "model"),
    [
        (None, "m"),
        (Usage(), "m"),
        (Usage(10, None, 0), "m"),
        (Usage(None, 10, 0), "m"),
        (Usage(10, 10), "m"),  # how many were cached is unknown, and it matters
        (Usage(10, 10, 11), "m"),  # counts that contradict each other
        (Usage(10, 10, -1), "m"),
        (Usage(10, 10, 5), "no-cache"),
        (Usage(10, 10), "no-cache"),
        (Usage(10, 10, 0), "half"),
        (Usage(10, 0, 0), "half"),
        (Usage(10, 10, 0), "none"),
        (Usage(0, 0, 0), "none"),
        (Usage(10, 10, 0), "nobody"),
    ],
)
def test_what_is_unknown_costs_an_unknown_sum(usage, model):
    assert cost(usage, model, PRICES) is None


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.none() | st.integers(0, 10**7))
def test_no_shipped_price_ever_gives_a_number(tokens_in, tokens_out, cached):
    shipped = load_prices()
    assert {cost(Usage(tokens_in, tokens_out, cached), model, shipped) for model in shipped} == {None}


def test_prices_of_ones_own(tmp_path):
    path = tmp_path / "prices.yaml"
    path.write_text("qwen-plus: {currency: CNY, input: 0.8, output: 2, checked: 2026-11-30}\nmine: {input: 1}\n")
    prices = load_prices(path)
    assert (prices["qwen-plus"].currency, prices["qwen-plus"].cached_input) == ("CNY", None)
    assert cost(Usage(1_000_000, 1_000_000, 0), "qwen-plus", prices) == pytest.approx(2.8)
    assert cost(Usage(1, 1, 0), "mine", prices) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m: {cached: 1}", "m.cached: Extra inputs are not permitted"),
        ("m: {input: -1}", "m.input: "),
        ("m: {output: .nan}", "m.output: "),
        ("m: {output: .inf}", "m.output: "),
        ("m: {currency: dollars}", "m.currency: "),
    ],
)
def test_a_bad_price_is_named(tmp_path, text, message):
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_prices(path)
    assert message in str(caught.value)
