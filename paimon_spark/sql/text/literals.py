"""Literals of Spark SQL: what their characters stand for, and values, names and conditions written as SQL text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import TypeAlias

from paimon_spark.format.quoting import quoted

Value: TypeAlias = "str | int | float | Decimal | bool | bytes | tuple[Value, ...] | Mapping[Value, Value] | None"
"""A literal. An ARRAY is a tuple, a MAP a mapping; a DATE or TIMESTAMP literal is the text that stands in it."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
_MARKS = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_INTEGER = re.compile(r"(\d+)([LlSsYy]?)")


def string_value(text: str) -> str | bytes:
    """What a string literal stands for, from its characters with quotes; bytes for ``X'..'``.

    Raises:
        ValueError: ``X'..'`` holds something else than hexadecimal digits.
    """
    if text[0] in "rR":
        return text[2:-1]
    if text[0] in "xX":
        digits = text[2:-1]
        return bytes.fromhex(digits.zfill(len(digits) + len(digits) % 2))
    quote = text[0]
    parts = re.split(r"(\\u[0-9a-fA-F]{4}|\\.)", text[1:-1], flags=re.DOTALL)
    plain = "".join(part if part.startswith("\\") else part.replace(quote * 2, quote) for part in parts)
    value = _ESCAPE.sub(_unescape, plain)
    if value.isascii():
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # two halves are one character


def _unescape(escape: re.Match[str]) -> str:
    unicode, long, octal, mark = escape.groups()
    if unicode or long:
        return chr(min(int(unicode or long, 16), 0x10FFFF))
    return chr(int(octal, 8)) if octal else _MARKS.get(mark, mark)


def number_value(text: str) -> int | float | Decimal:
    """What a number stands for: with an exponent or the suffix D or F a float, with a point or BD a Decimal."""
    whole = _INTEGER.fullmatch(text)
    if whole:
        return int(whole[1])
    upper = text.upper()
    if upper.endswith("BD"):
        return Decimal(text[:-2])
    if upper[-1] in "DF":
        return float(text[:-1])
    return float(text) if "E" in upper else Decimal(text)


def partition_condition(values: Mapping[str, Value]) -> str:
    """``dt = '2026-11-01' AND hour IS NULL``, in the SQL of conditions."""
    return " AND ".join(f"{quoted(name)} {_is_value(value)}" for name, value in values.items())


def literal_text(value: Value) -> str:
    """A literal as SQL text."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case bytes():
            return f"X'{value.hex()}'"
    return str(value)


def _is_value(value: Value) -> str:
    return "IS NULL" if value is None else f"= {literal_text(value)}"
