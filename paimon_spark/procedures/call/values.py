"""The values of SQL become those of the fields of a procedure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

from paimon_spark.procedures.kinds import Kind

_FLAGS = {"true": True, "false": False}


def read_value(kind: Kind, value: object) -> Any:
    """The value as the field has it; None: it is of another kind."""
    return _READ[kind](value)


def _flag(value: object) -> bool | None:
    if isinstance(value, str):
        return _FLAGS.get(value.lower())
    return value if isinstance(value, bool) else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _version(value: object) -> int | str | None:
    return value if isinstance(value, str) else _number(value)


def _moment(value: object) -> dt.datetime | int | str | None:
    return value if isinstance(value, dt.datetime) else _version(value)


def _duration(value: object) -> dt.timedelta | str | None:
    return value if isinstance(value, dt.timedelta) else _text(value)


def _names(value: object) -> str | tuple[str, ...] | None:
    if isinstance(value, list | tuple) and all(isinstance(name, str) for name in value):
        return tuple(value)
    return _text(value)


def _partitions(value: object) -> str | tuple[Mapping[str, Any], ...] | None:
    if isinstance(value, list | tuple) and all(isinstance(partition, Mapping) for partition in value):
        return tuple(value)
    return _text(value)


def _options(value: object) -> dict[str, str] | None:
    if isinstance(value, str):
        pairs = [pair.partition("=") for pair in value.split(",") if pair.strip()]
        return {key.strip(): text.strip() for key, _, text in pairs} if all(equals for _, equals, _ in pairs) else None
    if isinstance(value, Mapping) and all(isinstance(part, str) for pair in value.items() for part in pair):
        return dict(value)
    return None


_READ: Mapping[Kind, Callable[[object], Any]] = {
    Kind.FLAG: _flag,
    Kind.NUMBER: _number,
    Kind.TEXT: _text,
    Kind.VERSION: _version,
    Kind.MOMENT: _moment,
    Kind.DURATION: _duration,
    Kind.NAMES: _names,
    Kind.PARTITIONS: _partitions,
    Kind.OPTIONS: _options,
}
