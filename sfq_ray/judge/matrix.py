"""Runs: which protocol with which models. The 29 runs of the benchmark stand in jobs/eval1200.yaml.

    runs:
      - {id: D1, protocol: direct, model: gemini-3.5-flash}
      - {id: F5, protocol: agent, vision: qwen-vl-max, language: qwen-plus}

The matrix that the benchmark released is read too: `phase` (or `protocol` baseline, with_features, agent), `provider`
and `model`, or `vlm` and `llm` with these two keys each.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from sfq_ray.config import ConfigError
from sfq_ray.judge.protocols import PROTOCOLS

RELEASED_PROTOCOLS = {"baseline": "direct", "with_features": "sidecar"}
KEYS = frozenset(
    {"id", "protocol", "phase", "model", "vision", "language", "provider", "vlm", "llm", "api_calls_per_fig"}
)
REPEAT = re.compile(r"(?P<id>.+)\+(?P<number>[1-9][0-9]*)")
SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+")


@dataclass(frozen=True)
class Run:
    """One judge configuration. `vision` sees the image; `language` reads caption and context and fuses (agent only)."""

    id: str
    protocol: str
    vision: str  # names of model records
    language: str
    repeat: int = 0  # the how-manieth judging of the same figures; another number is other calls
    share: float = 1.0  # of the figures

    @property
    def models(self) -> tuple[str, ...]:
        return (self.vision,) if self.vision == self.language else (self.vision, self.language)

    def judges(self, figure_id: str) -> bool:
        """Whether the figure is of its share: always the same ones, whatever other figures there are."""
        place = int.from_bytes(hashlib.sha256(figure_id.encode()).digest()[:8]) / 2**64
        return self.share >= 1 or place < self.share


def load_matrix(path: Path) -> list[Run]:
    """The runs of a matrix file, in its order. Raises ConfigError naming file, run and key."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: cannot be read as YAML: {error}") from error
    entries = data.get("runs") if isinstance(data, dict) else None
    if not isinstance(entries, list) or not entries:
        raise ConfigError(f"{path}: must have a list `runs:` with at least one run")
    runs = [_run(entry, f"{path}: run {number}") for number, entry in enumerate(entries, 1)]
    seen: set[str] = set()
    for run in runs:
        if run.id in seen:
            raise ConfigError(f"{path}: the run id {run.id!r} stands twice")
        seen.add(run.id)
    return runs


def _run(entry: Any, where: str) -> Run:
    if not isinstance(entry, dict) or not isinstance(entry.get("id"), str) or not entry["id"]:
        raise ConfigError(f"{where}: must be a mapping with an `id`")
    where = f"{where} ({entry['id']})"
    unknown = sorted(set(map(str, entry)) - KEYS)
    if unknown:
        raise ConfigError(f"{where}: unknown keys: {', '.join(unknown)}")
    if not set(entry["id"]) <= SAFE:
        raise ConfigError(f"{where}: an id consists of letters, digits, '_', '-' and '+', since it names files")
    word = str(entry.get("protocol") or entry.get("phase"))
    protocol = RELEASED_PROTOCOLS.get(word, word)
    if protocol not in PROTOCOLS:
        raise ConfigError(f"{where}: protocol {word!r} is unknown; known: {', '.join(PROTOCOLS)}")
    model, vision, language = entry.get("model"), *(_model(entry, *names) for names in ROLES)
    if (model is None) == (vision is None and language is None) or (vision is None) != (language is None):
        raise ConfigError(f"{where}: give either `model`, or both `vision` and `language`")
    if protocol != "agent" and vision is not None:
        raise ConfigError(f"{where}: {protocol} has one call; give `model`")
    return Run(entry["id"], protocol, str(model or vision), str(model or language))


ROLES = (("vision", "vlm"), ("language", "llm"))


def _model(entry: Mapping[str, Any], name: str, released: str) -> str | None:
    """The model of a role: a name, or the released form {provider, model}."""
    value = entry.get(name, entry.get(released))
    return value.get("model") if isinstance(value, dict) else value


def choose(runs: Sequence[Run], patterns: str | None) -> list[Run]:
    """The runs that a list such as "D1,S*,F3" names, in the matrix's order; all without one.

    Raises ConfigError for a pattern that names no run, and for a list of none.
    """
    if patterns is None:
        return list(runs)
    wanted = [pattern.strip() for pattern in patterns.split(",") if pattern.strip()]
    if not wanted:
        raise ConfigError(f"--runs: {patterns!r} names no run; there are {', '.join(run.id for run in runs)}")
    for pattern in wanted:
        if not any(fnmatchcase(run.id, pattern) for run in runs):
            raise ConfigError(f"--runs: {pattern!r} names no run; there are {', '.join(run.id for run in runs)}")
    return [run for run in runs if any(fnmatchcase(run.id, pattern) for pattern in wanted)]


def own_runs(backend: str, protocols: Sequence[str]) -> list[Run]:
    """One run for each protocol with one model, as without a matrix: rules-direct."""
    return [Run(f"{backend}-{protocol}", protocol, backend, backend) for protocol in protocols]


def models_of(runs: Iterable[Run]) -> list[str]:
    """Names of the models that the runs need, each once, in the order of the runs."""
    return list(dict.fromkeys(name for run in runs for name in run.models))


def groups(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs that share a model, directly or over other runs: whoever judges a group loads each of its models once."""
    result: list[list[Run]] = []
    for run in runs:
        mine = [group for group in result if any(set(run.models) & set(other.models) for other in group)]
        merged = [other for group in mine for other in group] + [run]
        result = [group for group in result if group not in mine] + [merged]
    return result


def repeated(runs: Sequence[Run], times: int, share: float = 1.0) -> list[Run]:
    """Every run `times` times, for test-retest: F3, and F3+1, F3+2 on a share of the figures.

    Raises ConfigError where a run has that id already.
    """
    result = [
        run if number == 0 else replace(run, id=f"{run.id}+{number}", repeat=number, share=share)
        for run in runs
        for number in range(times)
    ]
    twice = [run_id for run_id, count in Counter(run.id for run in result).items() if count > 1]
    if twice:
        raise ConfigError(f"--repeat: {', '.join(twice)} would stand for two runs; give those of the matrix other ids")
    return result


def repeat_of(run_id: str) -> tuple[str, int]:
    """(run, how-manieth repeat of it) as `repeated` names them: F3+2 is ("F3", 2), and F3 is ("F3", 0)."""
    match = REPEAT.fullmatch(run_id)
    return (run_id, 0) if match is None else (match["id"], int(match["number"]))
