"""What a judging job will do: its runs, the models they need, prices, and how a worker loads a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfq_ray.config import ConfigError, Judge
from sfq_ray.errors import FatalError
from sfq_ray.judge.backends import Backend, Reply, load_backend
from sfq_ray.judge.backends.provider import decoding
from sfq_ray.judge.budget import Purse
from sfq_ray.judge.calls import Request
from sfq_ray.judge.capabilities import EMBEDDED, Model, load_models
from sfq_ray.judge.limits import Gate
from sfq_ray.judge.matrix import SAFE, Run, choose, groups, load_matrix, models_of, own_runs, repeated
from sfq_ray.judge.prices import Price, load_prices
from sfq_ray.judge.rendering import prompt_hashes
from sfq_ray.judge.sending import Sender
from sfq_ray.judge.thinking import thinking_of


@dataclass(frozen=True)
class Choice:
    """What the command line says about a judging job."""

    matrix: Path | None = None
    runs: str | None = None
    models: Path | None = None
    prices: Path | None = None
    repeat: int = 1
    repeat_share: float = 1.0  # of the figures
    max_usd: float | None = None
    offline: bool = False
    again: bool = False


@dataclass(frozen=True)
class Plan:
    runs: tuple[Run, ...]
    models: Mapping[str, Model]  # of these runs
    prices: Mapping[str, Price]
    choice: Choice

    def accounts(self) -> dict[str, list[Model]]:
        """Models by the account that pays for them."""
        found: dict[str, list[Model]] = {}
        for model in self.models.values():
            if not model.local:
                found.setdefault(account_of(model), []).append(model)
        return found

    def thinking_notes(self, settings: Judge) -> list[str]:
        """A line for each model that cannot think just as the settings ask."""
        return [
            f"thinking {settings.thinking}: {model.name}: {note}"
            for model in self.models.values()
            if model.backend != EMBEDDED.backend and (note := thinking_of(model, settings).note)
        ]

    def pools(self) -> list[list[Run]]:
        """Runs by what their workers need: all without an engine of their own, then those of one engine after another.

        Runs that share an engine, directly or over other runs, are together, so that it is started once for all.
        """
        light: list[Run] = []
        heavy: list[list[Run]] = []
        for group in groups(self.runs):
            if self.choice.offline or not self.engines(group):
                light += group
            else:
                heavy.append(group)
        return ([light] if light else []) + heavy

    def engines(self, runs: Sequence[Run]) -> list[Model]:
        """The models of the runs that a worker loads itself and that take GPUs or hours to load."""
        return [self.models[name] for name in models_of(runs) if self.models[name].backend == "vllm"]

    def lineage(self, settings: Judge) -> dict[str, Any]:
        """By run id what it was made with, for the manifest."""
        made = {name: _lineage(model, settings) for name, model in self.models.items()}
        how = settings.model_dump(mode="json", exclude={"backend", "protocols"})
        return {
            run.id: {"protocol": run.protocol, "repeat": run.repeat, "vision": made[run.vision],
                     "language": made[run.language], "settings": {"judge": how}, "prompts": prompt_hashes(),
                     **({"share": run.share} if run.share < 1 else {})}
            for run in self.runs
        }  # fmt: skip


def make_plan(settings: Judge, choice: Choice) -> Plan:
    """Raises ConfigError for unknown runs and models, a share of no repeats, a budget of unknown prices."""
    if choice.repeat_share < 1 and choice.repeat == 1:
        raise ConfigError("--repeat-share: is the share of the figures that repeats judge; give --repeat 2 or more too")
    if choice.repeat_share == 0:
        raise ConfigError(
            "--repeat-share 0: the repeats would judge no figure; leave both out, or give a share above 0"
        )
    if choice.matrix is None:
        runs = choose(own_runs(settings.backend, settings.protocols), choice.runs)
    else:
        runs = choose(load_matrix(choice.matrix), choice.runs)
    known = {EMBEDDED.name: EMBEDDED} | load_models(choice.models)
    names = models_of(runs)
    for name in names:
        if name not in known:
            raise ConfigError(
                f"model {name!r} has no record; known: {', '.join(sorted(known))}. Give one with --models"
            )
        if not set(name) <= SAFE | {"."}:
            raise ConfigError(f"model {name!r}: a name of letters, digits, '.', '_', '-' and '+', since it names files")
    blind = [run.id for run in runs if known[run.vision].max_images == 0]
    if blind:
        raise ConfigError(f"{', '.join(blind)}: the record of the model that is to see says max_images: 0")
    prices = load_prices(choice.prices)
    if choice.max_usd is not None:
        paid = [name for name in names if not known[name].local]
        unknown = [name for name in paid if not _priced(prices.get(name))]
        if unknown:
            raise ConfigError(f"--max-usd: no USD price is known for {', '.join(unknown)}; give them with --prices")
    return Plan(
        tuple(repeated(runs, choice.repeat, choice.repeat_share)), {name: known[name] for name in names}, prices, choice
    )


def _priced(price: Price | None) -> bool:
    return price is not None and price.currency == "USD" and None not in (price.input, price.output)


def account_of(model: Model) -> str:
    """The place and key that a model's calls go to; limits hold for it."""
    return f"{model.backend} {model.base_url or 'own'} {model.key_env or 'no key'}"


def _lineage(model: Model, settings: Judge) -> dict[str, Any]:
    place = {"name": model.name, "backend": model.backend, "model": model.model}
    if model.backend == EMBEDDED.backend:
        return place
    note = thinking_of(model, settings).note
    return place | decoding(model, settings) | ({"thinking_note": note} if note else {})


@dataclass(frozen=True)
class Loader:
    """Loads a model in the worker: the backend itself, or a sender in front of it that obeys the account's limits."""

    plan: Plan
    settings: Judge
    gates: Mapping[str, Gate] = field(default_factory=dict)  # by account
    purse: Purse | None = None

    def __call__(self, name: str) -> Backend:
        model = self.plan.models[name]
        if self.plan.choice.offline:
            return unreached(model, self.settings)
        backend = load_backend(model, self.settings)
        if model.local:
            return backend
        return Sender(
            backend, self.gates[account_of(model)], self.settings.deadline_s, self.purse, self.plan.prices.get(name),
            int(backend.params["max_output_tokens"]),
        )  # fmt: skip


@dataclass(frozen=True)
class Absent:
    """Stands for a backend that is not reached: whoever has the requests finds its replies in the ledger."""

    name: str
    model: str
    params: Mapping[str, Any]
    reads_measurements: bool = False

    async def complete(self, request: Request) -> Reply:
        raise FatalError(f"--offline: the ledger holds no reply of {self.model} for {request.figure_id}")


def unreached(model: Model, settings: Judge) -> Backend:
    """The model's backend as far as request ids need it: without its package and key."""
    if model.backend == EMBEDDED.backend:
        return load_backend(model, settings)
    return Absent(model.backend, model.model, decoding(model, settings))


def limits_of(models: Sequence[Model]) -> dict[str, float | None]:
    """The tightest limits that the records of an account's models state."""
    return {
        name: min((v for m in models if (v := getattr(m, name)) is not None), default=None)
        for name in ("requests_per_minute", "tokens_per_minute")
    }
