"""What runs took, from calls/ and prices; what is unknown is None."""

from pathlib import Path

import pytest
from judged_made_up import Made, score, write

from sfq_ray.evaluate.judgements import read_judgements
from sfq_ray.evaluate.spending import Spending, read_calls, spending
from sfq_ray.judge.capabilities import load_models
from sfq_ray.judge.prices import load_prices

MODELS = "a: {backend: openai, model: a, dialect: prompt_only}\n"
PRICES = "a: {currency: EUR, input: 2.0, cached_input: 1.0, output: 10.0, checked: 2026-11-01}\n"
USAGE = {"input_tokens": 1000, "output_tokens": 100, "cached_tokens": 400, "reasoning_tokens": None}


def made(tmp_path: Path, usages, **more):
    out = Made(tmp_path, papers=1, per_paper=len(usages))
    rows = [
        score("a-direct", *key, (6,) * 5, request_ids=["shared", f"r{i}"], **more) for i, key in enumerate(out.keys)
    ]
    write(tmp_path, "scores", rows)
    calls = [out.call(row) | {"request_id": f"r{i}", "usage": usages[i]} for i, row in enumerate(rows)]
    write(tmp_path, "calls", [*calls, out.call(rows[0], usage=USAGE)])
    (tmp_path / "models.yaml").write_text(MODELS)
    (tmp_path / "prices.yaml").write_text(PRICES)
    (run,) = read_judgements(tmp_path).runs
    models, prices = load_models(tmp_path / "models.yaml"), load_prices(tmp_path / "prices.yaml")
    return run, read_calls([tmp_path], models, prices), read_calls([tmp_path], models, load_prices())


def test_a_shared_call_counts_once_for_a_run(tmp_path):
    run, priced, unpriced = made(tmp_path, [USAGE, USAGE])
    found = spending(run, priced)
    assert found == Spending(3, 3, 3, 3000, 300, pytest.approx(3 * (600 * 2 + 400 * 1 + 100 * 10) / 1e6), "EUR")
    assert spending(run, unpriced) == Spending(3, 3, 0, 3000, 300, None, None)


def test_one_unknown_call_makes_the_sum_unknown(tmp_path):
    run, priced, _ = made(tmp_path, [USAGE, None])
    assert spending(run, priced) == Spending(3, 2, 2, None, None, None, "EUR")
    assert spending(run, {}) == Spending(3, 0, 0, None, None, None, None)


def test_a_call_costs_what_the_record_that_made_it_costs(tmp_path):
    """Two records of one model, as for two places or two ways of thinking, of which one is free."""
    out = Made(tmp_path, papers=1, per_paper=1)
    row = score("a-direct", *out.keys[0], (6,) * 5, request_ids=["r"])
    write(tmp_path, "calls", [out.call(row, usage=USAGE)], "a.part-00000")
    (tmp_path / "models.yaml").write_text(MODELS + MODELS.replace("a:", "free:", 1))
    (tmp_path / "prices.yaml").write_text(PRICES + "free: {currency: EUR, input: 0, cached_input: 0, output: 0}\n")
    calls = read_calls([tmp_path], load_models(tmp_path / "models.yaml"), load_prices(tmp_path / "prices.yaml"))
    assert calls["r"].cost == pytest.approx((600 * 2 + 400 * 1 + 100 * 10) / 1e6)


def test_the_embedded_judge_is_free(tmp_path):
    run, priced, _ = made(tmp_path, [None, None], backend="rules")
    assert spending(run, priced) == Spending(3, 3, 3, 0, 0, 0.0, None)
