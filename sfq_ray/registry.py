"""Extension points are plain dicts name -> "module:attribute"; this is the one way to look a name up."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any

from sfq_ray.config import ConfigError


def check(registry: Collection[str], name: str, key: str) -> None:
    """Raises ConfigError naming the configuration key and the known names where `name` is not registered."""
    if name not in registry:
        raise ConfigError(f"{key}: {name!r} is unknown; known: {', '.join(sorted(registry))}")


def lookup(registry: Mapping[str, str], name: str, key: str) -> Any:
    """The registered class or function, imported now. Raises ConfigError like `check`."""
    check(registry, name, key)
    module, _, attribute = registry[name].partition(":")
    return getattr(import_module(module), attribute)
