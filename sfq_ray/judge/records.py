"""Dated records that ship as YAML, name -> fields, under a user's own file that changes or adds some."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from sfq_ray.config import ConfigError

Record = TypeVar("Record", bound=BaseModel)


def load_records(
    kind: type[Record], shipped: str, path: Path | None, changed: dict[str, Any] | None = None
) -> dict[str, Record]:
    """Records of sfq_ray/judge/<shipped>, with those of the YAML file `path` on top, field by field.

    `changed` holds what is true of any record that the user's file touches, unless the file says otherwise. Raises
    ConfigError naming the file, the record, the key and the reason, without the values.
    """
    text = files("sfq_ray.judge").joinpath(shipped).read_text(encoding="utf-8")
    records = _mapping(text, shipped)
    own: dict[str, dict[str, Any]] = {}
    if path is not None:
        try:
            own = _mapping(path.read_text(encoding="utf-8"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: cannot be read: {error}") from error
    for name, fields in own.items():
        records[name] = records.get(name, {}) | (changed or {}) | fields
    return {
        name: _record(kind, name, fields, str(path) if name in own else shipped) for name, fields in records.items()
    }


def _mapping(text: str, source: str) -> dict[str, dict[str, Any]]:
    try:
        data = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ConfigError(f"{source}: cannot be read as YAML: {error}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{source}: must be a mapping of names to records")
    for name, fields in data.items():
        if not isinstance(name, str) or not isinstance(fields, dict) or "name" in fields:
            raise ConfigError(f"{source}: {name}: must be a name with a mapping of fields, of which name is none")
    return data


def _record(kind: type[Record], name: str, fields: Mapping[str, Any], source: str) -> Record:
    try:
        return kind.model_validate({"name": name, **fields})
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, (name, *e['loc'])))}: {e['msg']}" for e in error.errors(include_input=False)]
        raise ConfigError(f"{source}: {'; '.join(lines)}") from None
