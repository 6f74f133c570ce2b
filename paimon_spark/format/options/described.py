"""The options as the documentation lists them: type, default, and how this release treats each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from paimon_spark.format.options.catalogue import CATALOGUE, OptionEntry, Status
from paimon_spark.format.options.option import Option
from paimon_spark.format.options.table_settings import TABLE_OPTIONS
from paimon_spark.format.options.value_texts import Choice

_TYPES = {
    "parse_bool": "boolean",
    "parse_int": "integer",
    "parse_int32": "integer",
    "parse_ratio": "number",
    "parse_text": "text",
    "parse_list": "list",
    "parse_memory": "memory size",
    "parse_duration": "duration",
    "parse_level_map": "map from level",
}
_SIZES = (("TB", 2**40), ("GB", 2**30), ("MB", 2**20), ("KB", 2**10))
_TIMES = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000))
_UNLIMITED = (2**31 - 1, 2**63 - 1)


@dataclass(frozen=True)
class DescribedOption:
    """One option.

    Attributes:
        key: its name; ``<column>`` in it stands for a column.
        status: how this release treats it.
        type: such as "integer" or "one of a, b"; empty where no type is known.
        default: as a user would write it; empty where there is none.
        meaning: what it does. For a refused option: what is not supported, and what to do. For one without effect: why.
    """

    key: str
    status: Status
    type: str
    default: str
    meaning: str


def described_options() -> Iterator[DescribedOption]:
    """All options that the official system knows, by key."""
    for key in sorted(CATALOGUE):
        option = TABLE_OPTIONS.get(key)
        kind = "" if option is None else option_type(option)
        default = "" if option is None else default_text(option, kind)
        yield DescribedOption(key, CATALOGUE[key].status, kind, default, _meaning(CATALOGUE[key]))


def _meaning(entry: OptionEntry) -> str:
    if entry.status is Status.HONOURED:
        return TABLE_OPTIONS[entry.key].meaning
    if entry.status is Status.NO_EFFECT:
        return f"No effect: {entry.reason}."
    refusal = entry.refusals[0]
    advice = refusal.advice[:1].upper() + refusal.advice[1:]
    return f"This release does not support {refusal.what}. {advice}."


def option_type(option: Option[Any]) -> str:
    """The type of its values in words."""
    choices = choices_of(option)
    return "one of " + ", ".join(choices) if choices else _TYPES.get(option.parse.__name__, "text")


def choices_of(option: Option[Any]) -> tuple[str, ...]:
    """The values that it may have; empty where it may have others."""
    return option.parse.words if isinstance(option.parse, Choice) else ()


def default_text(option: Option[Any], kind: str) -> str:
    """Its default as a user would write it; empty where there is none. kind: from option_type."""
    value = option.default
    if value is None or value in ((), {}, ""):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if kind == "memory size":
        return _scaled(value, _SIZES, "bytes")
    if kind == "duration":
        return _scaled(value, _TIMES, "ms")
    if value in _UNLIMITED:
        return "no limit"
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _scaled(value: int, units: tuple[tuple[str, int], ...], smallest: str) -> str:
    for name, size in units:
        if value and value % size == 0:
            return f"{value // size} {name}"
    return f"{value} {smallest}"
