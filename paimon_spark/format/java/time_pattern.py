"""Patterns of times, such as ``yyyy-MM-dd HH:mm``, read as Java's DateTimeFormatter reads them.

The rules are those of java.time.format.DateTimeFormatterBuilder, parsing strictly, in no language (Locale.ROOT), with
the resolver style SMART that formatters made of a pattern have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from typing import TypeAlias

from paimon_spark.errors import OptionError
from paimon_spark.format.java.time_fields import Field, local_nanos

_MONTHS = {
    "Jan": 1, "Feb": 2, "Mar": 3, "Apr": 4, "May": 5, "Jun": 6,
    "Jul": 7, "Aug": 8, "Sep": 9, "Oct": 10, "Nov": 11, "Dec": 12,
}  # fmt: skip
_PLAIN: Mapping[Field, Callable[[datetime], int]] = {
    Field.YEAR: lambda time: time.year,
    Field.YEAR_OF_ERA: lambda time: time.year,
    Field.MONTH: lambda time: time.month,
    Field.DAY: lambda time: time.day,
    Field.HOUR: lambda time: time.hour,
    Field.MINUTE: lambda time: time.minute,
    Field.SECOND: lambda time: time.second,
}
_HALVES = {"AM": 0, "PM": 1}
_DIGITS = re.compile("[0-9]*")
_NOT_FOUND = -1
_MANY = 19


@dataclass(frozen=True)
class _Number:
    """A whole number.

    Attributes:
        low, high: the fewest and the most digits.
        signs: "": no sign is allowed; "-": a minus is; "+-": a plus is required with more than low digits.
        reserved: the number of digits right after it that belong to the next numbers.
        since: added to the number; 2000 for a year of two digits.
    """

    field: Field
    low: int
    high: int
    signs: str = ""
    reserved: int = 0
    since: int = 0

    @property
    def is_fixed(self) -> bool:
        return self.low == self.high and not self.signs

    def parse(self, text: str, at: int, found: dict[Field, int]) -> int:
        sign = text[at : at + 1] if text[at : at + 1] in ("+", "-") else ""
        start = at + len(sign)
        digits = _count_digits(text, start, self.high + self.reserved)
        if sign not in self.signs or digits < self.low:
            return _NOT_FOUND
        if self.reserved:
            digits = max(self.low, digits - self.reserved)
        value = int(text[start : start + digits])
        if (sign == "-" and not value) or (sign != "-" and "+" in self.signs and (digits > self.low) != (sign == "+")):
            return _NOT_FOUND
        return _put(found, self.field, self.since + (-value if sign == "-" else value), start + digits)


@dataclass(frozen=True)
class _Fraction:
    """Digits of a fraction of a second, with or without a decimal point before them."""

    low: int
    high: int
    has_point: bool

    @property
    def is_fixed(self) -> bool:
        return self.low == self.high and not self.has_point

    def parse(self, text: str, at: int, found: dict[Field, int]) -> int:
        start = at + 1 if self.has_point else at
        digits = _count_digits(text, start, self.high)
        if (self.has_point and text[at : at + 1] != ".") or digits < self.low:
            return _NOT_FOUND
        return _put(found, Field.NANO, int(text[start : start + digits].ljust(9, "0")), start + digits)


@dataclass(frozen=True)
class _Word:
    field: Field
    words: Mapping[str, int]

    def parse(self, text: str, at: int, found: dict[Field, int]) -> int:
        for word in sorted(self.words, key=len, reverse=True):
            if text.startswith(word, at):
                return _put(found, self.field, self.words[word], at + len(word))
        return _NOT_FOUND


@dataclass(frozen=True)
class _Literal:
    text: str

    def parse(self, text: str, at: int, found: dict[Field, int]) -> int:
        return at + len(self.text) if text.startswith(self.text, at) else _NOT_FOUND


@dataclass(frozen=True)
class _Optional:
    """An optional section: either all its parts match, or none is read."""

    parts: tuple[_Part, ...]

    def parse(self, text: str, at: int, found: dict[Field, int]) -> int:
        tried = dict(found)
        end = _parse_parts(self.parts, text, at, tried)
        if end == _NOT_FOUND:
            return at
        found.update(tried)
        return end


_Part: TypeAlias = _Number | _Fraction | _Word | _Literal | _Optional


@dataclass(frozen=True)
class TimePattern:
    """A parsed pattern; lenient: see local_nanos."""

    parts: tuple[_Part, ...]
    lenient: bool = False

    def parse(self, text: str) -> int:
        """Nanoseconds from 1970-01-01 00:00 to the local time in a text; a date alone means midnight.

        Raises:
            ValueError: the text does not match the pattern, or the time does not exist.
        """
        found: dict[Field, int] = {}
        if _parse_parts(self.parts, text, 0, found) != len(text):
            raise ValueError("it does not look as the pattern says")
        return local_nanos(found, self.lenient)

    def format(self, time: datetime) -> str:
        """The text of a time, for patterns of years, months, days, hours, minutes and seconds in digits.

        Raises:
            OptionError: the pattern has other parts.
        """
        return "".join(_formatted(part, time) for part in self.parts)


def _default_pattern() -> TimePattern:
    year = _Number(Field.YEAR, 1, 10, "-")
    month, day, hour, minute, second = (
        _Number(field, 1, 2, "-") for field in (Field.MONTH, Field.DAY, Field.HOUR, Field.MINUTE, Field.SECOND)
    )
    dash, colon = _Literal("-"), _Literal(":")
    time = (_Literal(" "), hour, colon, minute, colon, second, _Optional((_Fraction(1, 9, True),)))
    return TimePattern((year, dash, month, dash, day, _Optional(time)), lenient=True)


DEFAULT_PATTERN = _default_pattern()
"""``yyyy-MM-dd`` or ``yyyy-MM-dd HH:mm:ss``, with any number of digits (Java: PartitionTimeExtractor)."""


@lru_cache(maxsize=64)
def time_pattern(pattern: str, key: str) -> TimePattern:
    """The meaning of a pattern of Java's DateTimeFormatter.

    Args:
        pattern: with the letters u y M L d D a H k K h m s S n A N, texts between quotes, and optional parts in [].
        key: of the option it stands in, for errors.

    Raises:
        OptionError: it is not a pattern, or has letters of weeks, quarters, eras, days of the week or time zones.
    """
    open_parts: list[list[_Part]] = [[]]
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        if letter.isascii() and letter.isalpha():
            count = next(len(list(group)) for _, group in groupby(pattern[at:]))
            _append(open_parts[-1], _part_of(letter, count, pattern, key))
            at += count
        elif letter == "'":
            text, at = _quoted(pattern, at, key)
            open_parts[-1].append(_Literal(text))
        else:
            at += 1
            if letter == "[":
                open_parts.append([])
            elif letter == "]":
                _close(open_parts, pattern, key)
            elif letter in "{}#":
                raise _refused(pattern, key, f"'{letter}' is reserved; put it between quotes")
            else:
                open_parts[-1].append(_Literal(letter))
    while len(open_parts) > 1:
        _close(open_parts, pattern, key)
    return TimePattern(tuple(open_parts[0]))


def _part_of(letter: str, count: int, pattern: str, key: str) -> _Part:
    too_many = _refused(pattern, key, f"{count} letters '{letter}' are too many")
    if count > _MANY:
        raise too_many
    if letter in "uy":
        field = Field(letter)
        if count == 2:
            return _Number(field, 2, 2, since=2000)
        return _Number(field, count, _MANY, "-" if count < 4 else "+-")
    if letter in "ML":
        if count > 4:
            raise too_many
        return _Word(Field.MONTH, _MONTHS) if count > 2 else _plain(Field.MONTH, count)
    if letter == "S":
        if count > 9:
            raise too_many
        return _Fraction(count, count, False)
    if letter in "nAN":
        return _Number(Field(letter), count, _MANY)
    if letter not in "dDHkKhmsa":
        raise _refused(pattern, key, f"the letter '{letter}' is not supported")
    if count > (3 if letter == "D" else 1 if letter == "a" else 2):
        raise too_many
    if letter == "a":
        return _Word(Field.HALF, _HALVES)
    return _Number(Field.DAY_OF_YEAR, count, 3) if letter == "D" and count > 1 else _plain(Field(letter), count)


def _plain(field: Field, count: int) -> _Number:
    return _Number(field, 1, _MANY, "-") if count == 1 else _Number(field, count, count)


def _append(parts: list[_Part], part: _Part) -> None:
    """Numbers of fixed width right behind a number reserve their digits: ``yyyyMMdd`` reads 20261101."""
    parts.append(part)
    if not isinstance(part, _Number | _Fraction):
        return
    first = len(parts) - 1  # of the numbers that stand together, the one that leaves digits to the others
    while first and isinstance(parts[first - 1], _Number | _Fraction):
        first -= 1
        if not _is_fixed(parts[first]):
            break
    holder = parts[first]
    if first < len(parts) - 1 and isinstance(holder, _Number):
        parts[first] = replace(holder, reserved=holder.reserved + part.high if part.is_fixed else 0)


def _is_fixed(part: _Part) -> bool:
    return isinstance(part, _Number | _Fraction) and part.is_fixed


def _close(open_parts: list[list[_Part]], pattern: str, key: str) -> None:
    if len(open_parts) == 1:
        raise _refused(pattern, key, "']' has no '[' before it")
    parts = open_parts.pop()
    open_parts[-1].append(_Optional(tuple(parts)))


def _quoted(pattern: str, at: int, key: str) -> tuple[str, int]:
    """The text between quotes, where two quotes are one, and the place behind it."""
    match = re.compile("'((?:[^']|'')*)'(?!')").match(pattern, at)
    if match is None:
        raise _refused(pattern, key, "a quote is not closed")
    return match[1].replace("''", "'") or "'", match.end()


def _formatted(part: _Part, time: datetime) -> str:
    if isinstance(part, _Literal):
        return part.text
    if isinstance(part, _Number) and part.field in _PLAIN:
        value = _PLAIN[part.field](time) - part.since
        if part.since and not 0 <= value < 100:
            value %= 100
        return str(value).zfill(part.low)
    raise OptionError("a time can be written with years, months, days, hours, minutes and seconds in digits only")


def _parse_parts(parts: Sequence[_Part], text: str, at: int, found: dict[Field, int]) -> int:
    for part in parts:
        at = part.parse(text, at, found)
        if at == _NOT_FOUND:
            return _NOT_FOUND
    return at


def _count_digits(text: str, start: int, most: int) -> int:
    match = _DIGITS.match(text, start, start + most)
    return 0 if match is None else len(match[0])


def _put(found: dict[Field, int], field: Field, value: int, end: int) -> int:
    return end if found.setdefault(field, value) == value else _NOT_FOUND


def _refused(pattern: str, key: str, why: str) -> OptionError:
    return OptionError(f"'{key}' is '{pattern}', no pattern of times that can be read: {why}")
