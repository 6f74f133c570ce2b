"""Texts of options as values; an error says what was expected."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

T = TypeVar("T")
M = TypeVar("M", bound=StrEnum)

_INT32, _INT64 = range(-(2**31), 2**31), range(-(2**63), 2**63)


def parse_bool(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    raise ValueError("expected true or false")


def parse_int(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]+", text.strip()):
        raise ValueError("expected a whole number such as 4")
    value = _number(int, text, "a whole number such as 4")
    if value not in _INT64:
        raise ValueError("expected a whole number of 64 bits")
    return value


def parse_int32(text: str) -> int:
    value = parse_int(text)
    if value not in _INT32:
        raise ValueError("expected a whole number of 32 bits")
    return value


def parse_ratio(text: str) -> float:
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text.strip()):
        raise ValueError("expected a number such as 0.7")
    return float(text)


def _number(convert: Callable[[str], T], text: str, what: str) -> T:
    """The number in a text. Replaces Python's error message, which would not help a user."""
    try:
        return convert(text.strip())
    except ValueError:
        raise ValueError(f"expected {what}") from None


def parse_text(text: str) -> str:
    return text.strip()


def parse_word(text: str) -> str:
    return text.strip().lower()


def parse_list(text: str) -> tuple[str, ...]:
    """A comma list; blanks around the items are dropped, empty items too."""
    return tuple(item.strip() for item in text.split(",") if item.strip())


def parse_weights(text: str) -> tuple[int, ...]:
    """A comma list of positive whole numbers."""
    numbers = tuple(map(parse_int, parse_list(text)))
    if not numbers or min(numbers) <= 0:
        raise ValueError("expected positive whole numbers with commas between, such as 10,5,15")
    return numbers


_MEMORY_UNITS = {"": 1, "b": 1, "bytes": 1, "k": 2**10, "kb": 2**10, "kibibytes": 2**10, "m": 2**20, "mb": 2**20,
                 "mebibytes": 2**20, "g": 2**30, "gb": 2**30, "gibibytes": 2**30, "t": 2**40, "tb": 2**40,
                 "tebibytes": 2**40}  # fmt: skip
_DURATION_UNITS = {"": 1, "ms": 1, "milli": 1, "millis": 1, "millisecond": 1, "milliseconds": 1,
                   "s": 1000, "sec": 1000, "secs": 1000, "second": 1000, "seconds": 1000,
                   "m": 60_000, "min": 60_000, "minute": 60_000, "minutes": 60_000,
                   "h": 3_600_000, "hour": 3_600_000, "hours": 3_600_000,
                   "d": 86_400_000, "day": 86_400_000, "days": 86_400_000}  # fmt: skip


def _parse_quantity(text: str, units: Mapping[str, int], what: str) -> int:
    match = re.fullmatch(r"([0-9]+)\s*([a-z]*)", text.strip().lower())
    if match is None or match[2] not in units:
        raise ValueError(f"expected {what}")
    quantity = _number(int, match[1], what) * units[match[2]]
    if quantity not in _INT64:
        raise ValueError(f"expected {what}, of 64 bits")
    return quantity


def parse_memory(text: str) -> int:
    """Bytes of a memory size such as "128 mb" (Java: MemorySize.parse)."""
    return _parse_quantity(text, _MEMORY_UNITS, "a memory size such as 128 mb")


def parse_duration(text: str) -> int:
    """Milliseconds of a duration such as "10 s" (Java: TimeUtils.parseDuration)."""
    return _parse_quantity(text, _DURATION_UNITS, "a duration such as 10 s")


def format_duration(millis: int) -> str:
    """The text of a duration in the largest unit that divides it, such as "10 d", as options take it."""
    units = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000))
    return next((f"{millis // size} {unit}" for unit, size in units if millis and not millis % size), f"{millis} ms")


@dataclass(frozen=True)
class Choice(Generic[T]):
    """Parses one of some words; letter case does not count, and `_` equals `-`.

    Attributes:
        words: as they are written here.
        make: makes the value of a word.
    """

    words: tuple[str, ...]
    make: Callable[[str], T]

    def __call__(self, text: str) -> T:
        wanted = text.strip().lower().replace("_", "-")
        for word in self.words:
            if word.lower().replace("_", "-") == wanted:
                return self.make(word)
        raise ValueError("expected one of " + ", ".join(self.words))


def parse_choice(*words: str) -> Choice[str]:
    """One of the words; the result is the word as written here."""
    return Choice(words, str)


def parse_member(members: type[M]) -> Choice[M]:
    """One of the values of an enum."""
    return Choice(tuple(members), members)


def parse_json_object(text: str) -> dict[str, Any] | None:
    """An object of JSON."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict):
        return found
    raise ValueError("expected an object of JSON")


def parse_level_map(text: str) -> dict[int, str]:
    """A map such as "0:avro,3:parquet"."""
    levels = {}
    for item in parse_list(text):
        match = re.fullmatch(r"([0-9]+)\s*:\s*(.+)", item)
        if match is None:
            raise ValueError("expected a level and a value for each, such as 0:avro,3:parquet")
        levels[_number(int, match[1], "levels of few digits")] = match[2]
    return levels
