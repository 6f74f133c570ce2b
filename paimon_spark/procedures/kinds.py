"""The kinds of values that arguments of procedures have: what they are in Python, in SQL and on the command line."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin


class Kind(Enum):
    """A kind of value.

    Attributes:
        type: what a value is.
        sql: what a value is in SQL, as the end of "must be ...".
        python: what a value may be in Python, as a sentence; empty: the type says it.
        option: the type of an option of a command; None: no command has one.
        metavar: what its value is called in the help.
        example: what the help says of it, after the documentation of the argument.
    """

    FLAG = (bool, "true or false", "", bool)
    NUMBER = (int, "a whole number", "", int, "N")
    TEXT = (str, "text", "", str, "TEXT")
    VERSION = (str | int, "text or a whole number")
    MOMENT = (
        dt.datetime | int | str,
        "a time, such as '2026-11-01 12:30:00', or epoch milliseconds",
        'A datetime, text such as "2026-11-01 12:30:00" in the local zone, or epoch milliseconds.',
        *(str, "TIME", " A time such as '2026-11-01 12:30' (see --time-zone), or an age such as '7 d'."),
    )
    DURATION = (
        dt.timedelta | str,
        "a length of time, such as '7 d'",
        'Text such as "7 d", or a timedelta.',
        *(str, "SPAN"),
    )
    NAMES = (
        str | Iterable[str],
        "text with commas between names, or an array of names",
        "A list, or one text with commas.",
        *(list[str], "NAME"),
    )
    PARTITIONS = (
        str | Iterable[Mapping[str, Any]],
        "text such as 'dt=2026-11-01,hour=10;dt=2026-11-02,hour=0', or an array of maps",
    )
    OPTIONS = (Mapping[str, str], "text such as 'key=value,key=value', or a map")
    FUNCTION = (Callable[..., Any], "a function of Python")

    def __init__(
        self, type: Any, sql: str, python: str = "", option: Any = None, metavar: str | None = None, example: str = ""
    ) -> None:
        self.type = type
        self.sql = sql
        self.python = python
        self.option = option
        self.metavar = metavar
        self.example = example


def kind_of(annotation: Any) -> Kind:
    """The kind of the values of a type; whether it may be None makes no difference.

    Raises:
        TypeError: no argument may have this type.
    """
    wanted = _members(annotation)
    if any(get_origin(member) is Callable for member in wanted):
        return Kind.FUNCTION
    if wanted not in _KINDS:
        raise TypeError(f"an argument of a procedure cannot have the type {annotation}")
    return _KINDS[wanted]


def _members(annotation: Any) -> frozenset[Any]:
    """The types of a union without None; a Sequence counts as an Iterable."""
    is_union = get_origin(annotation) in (Union, UnionType)
    members = get_args(annotation) if is_union else (annotation,)
    iterable: Any = Iterable
    return frozenset(iterable[get_args(one)] if get_origin(one) is Sequence else one for one in members) - {NoneType}


_KINDS: Mapping[frozenset[Any], Kind] = {_members(kind.type): kind for kind in Kind}
