"""The kinds of values that arguments of procedures have."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin


class Kind(Enum):
    """A kind of value.

    Attributes:
        sql: what a value is in SQL, as the end of "must be ...".
        python: what a value may be in Python, as a sentence; empty: the type says it.
    """

    FLAG = ("true or false", "")
    NUMBER = ("a whole number", "")
    TEXT = ("text", "")
    VERSION = ("text or a whole number", "")
    MOMENT = (
        "a time, such as '2026-11-01 12:30:00', or epoch milliseconds",
        'A datetime, text such as "2026-11-01 12:30:00" in the local zone, or epoch milliseconds.',
    )
    DURATION = ("a length of time, such as '7 d'", 'Text such as "7 d", or a timedelta.')
    NAMES = ("text with commas between names, or an array of names", "A list, or one text with commas.")
    PARTITIONS = ("text such as 'dt=2026-11-01,hour=10;dt=2026-11-02,hour=0', or an array of maps", "")
    OPTIONS = ("text such as 'key=value,key=value', or a map", "")
    FUNCTION = ("a function of Python", "")

    def __init__(self, sql: str, python: str) -> None:
        self.sql = sql
        self.python = python


_KINDS: Mapping[frozenset[Any], Kind] = {
    frozenset({bool}): Kind.FLAG,
    frozenset({int}): Kind.NUMBER,
    frozenset({str}): Kind.TEXT,
    frozenset({str, int}): Kind.VERSION,
    frozenset({dt.datetime, str, int}): Kind.MOMENT,
    frozenset({dt.timedelta, str}): Kind.DURATION,
    frozenset({str, Iterable[str]}): Kind.NAMES,
    frozenset({str, Sequence[str]}): Kind.NAMES,
    frozenset({str, Iterable[Mapping[str, Any]]}): Kind.PARTITIONS,
    frozenset({Mapping[str, str]}): Kind.OPTIONS,
}


def kind_of(annotation: Any) -> Kind:
    """The kind of the values of a type; whether it may be None makes no difference.

    Raises:
        TypeError: no argument may have this type.
    """
    is_union = get_origin(annotation) in (Union, UnionType)
    members = frozenset(get_args(annotation) if is_union else (annotation,)) - {NoneType}
    if any(get_origin(member) is Callable for member in members):
        return Kind.FUNCTION
    if members not in _KINDS:
        raise TypeError(f"an argument of a procedure cannot have the type {annotation}")
    return _KINDS[members]
