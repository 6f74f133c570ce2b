"""What a value must be for an annotation, in words and as a check.

A type stands for its own values, but for these: a flag is True or False alone, a whole number may be one of NumPy,
a text may be a path of ``pathlib``, a sequence any iterable but a text, and options may have flags and numbers, which
become their texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from operator import index
from os import PathLike, fspath
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from paimon_spark.errors import wrong_in_utf8

_MOST_BITS = 3322  # of a number of 1000 digits


class Misfit(Exception):
    """A value is of another kind.

    Attributes:
        found: what was found, as the end of "the argument ..."; empty: the value as a whole does not fit.
        wanted: what was expected instead of it; empty: what the kind says.
    """

    def __init__(self, found: str = "", wanted: str = "") -> None:
        super().__init__(found)
        self.found = found
        self.wanted = wanted


@dataclass(frozen=True)
class Kind:
    """The values that an annotation allows.

    Attributes:
        words: what a value is, as the end of "expected ...".
        take: returns the value as the call gets it, or raises Misfit.
        several: what several such values are.
    """

    words: str
    take: Callable[[Any], Any]
    several: str = ""


def kind_of(annotation: Any) -> Kind | None:
    """The kind of the values of a type; None: any value is right, or only the call itself can tell."""
    origin = get_origin(annotation)
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if origin in (Union, UnionType):
        members = [kind_of(member) for member in get_args(annotation)]
        return _one_of([member for member in members if member]) if all(members) else None
    if origin in (Sequence, Iterable) or (origin is tuple and Ellipsis in get_args(annotation)):
        return _several(kind_of(get_args(annotation)[0]))
    if origin is Mapping:
        return _mapping(*get_args(annotation))
    if origin is Callable:
        return Kind("a function", _function)
    if origin is tuple:
        return _tuple([kind_of(member) for member in get_args(annotation)])
    cls = origin or annotation
    if not isinstance(cls, type) or cls is object or getattr(cls, "_is_protocol", False):
        return None
    name = f"pyarrow.{cls.__name__}" if cls.__module__.startswith("pyarrow.") else cls.__name__
    return Kind(f"{'an' if name[0] in 'AEIOU' else 'a'} {name}", partial(_instance, cls))


def _none(value: Any) -> Any:
    if value is not None:
        raise Misfit
    return value


def _flag(value: Any) -> bool:
    if type(value).__name__ in ("bool_", "bool") and type(value).__module__ == "numpy":
        return bool(value)
    if not isinstance(value, bool):
        raise Misfit
    return value


def _whole_number(value: Any) -> int:
    if isinstance(value, bool):
        raise Misfit
    try:
        return _of_few_digits(index(value))
    except TypeError:
        raise Misfit from None


def _number(value: Any) -> float:
    if isinstance(value, bool | str | bytes):
        raise Misfit
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise Misfit from None


def _of_few_digits(number: int) -> int:
    """The number, which messages can show: Python makes no text of one with more than 4300 digits."""
    if number.bit_length() > _MOST_BITS:
        raise Misfit("is a number of more than 1000 digits")
    return number


def _text(value: Any) -> str:
    found = fspath(value) if isinstance(value, PathLike) else value
    if isinstance(found, datetime):
        raise Misfit(wanted="a text, such as '2026-11-01 12:00:00'")
    if isinstance(found, tuple) and len(found) > 1 and all(isinstance(part, str) for part in found):
        raise Misfit(wanted=f"one text, such as '{'.'.join(found)}'")
    if not isinstance(found, str):
        raise Misfit
    return _in_utf8(found)


def _in_utf8(text: str, shown: str = "") -> str:
    """The text; raises Misfit if UTF-8 does not have it. shown: in the place of a text that may be a secret."""
    wrong = wrong_in_utf8(text)
    if wrong:
        raise Misfit(f"{shown or f'is {text!r:.60}, which'} {wrong}", "a text in UTF-8")
    return text


def _function(value: Any) -> Any:
    if not callable(value):
        raise Misfit
    return value


def _instance(cls: type, value: Any) -> Any:
    """Spark Connect has classes of its own, which have the names of Spark's but not always their types."""
    same = ((c.__name__, c.__module__.partition(".")[0]) for c in type(value).__mro__)
    if not isinstance(value, cls) and (cls.__name__, "pyspark") not in same:
        if cls.__name__ == "Identifier" and isinstance(value, str):
            found = f"catalog['{value}'] opens the table of a text, and new_table('{value}', ...) makes it"
            raise Misfit(wanted=f"an Identifier('<database>', '<table>'); {found}")
        if cls.__name__ == "Table" and isinstance(value, str | PathLike):
            raise Misfit(wanted=f"what open_table('{fspath(value)}') returns")
        if cls.__name__ == "DataFrame" and isinstance(value, str):
            raise Misfit(wanted=f"a DataFrame, such as spark.table('{value}')")
        raise Misfit
    return value


_PLAIN: Mapping[Any, Kind | None] = {
    Any: None,
    None: Kind("None", _none),
    NoneType: Kind("None", _none),
    bool: Kind("True or False", _flag),
    int: Kind("a whole number", _whole_number),
    float: Kind("a number", _number),
    str: Kind("a text", _text, "texts"),
}


def _one_of(members: Sequence[Kind]) -> Kind:
    def take(value: Any) -> Any:
        inner = Misfit()
        for member in members:
            try:
                return member.take(value)
            except Misfit as misfit:
                inner = misfit if (misfit.found or misfit.wanted) and not inner.found else inner
        raise inner

    words = [member.words for member in members]
    return Kind(f"{', '.join(words[:-1])} or {words[-1]}", take)


def _several(member: Kind | None) -> Kind:
    def take(value: Any) -> Any:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            raise Misfit
        items = []
        try:
            each = iter(value)  # a Column of Spark has the method, which raises
        except TypeError:
            raise Misfit from None
        for item in each:
            try:
                items.append(item if member is None else member.take(item))
            except Misfit as misfit:
                raise Misfit(misfit.found or f"holds {described(item)}", misfit.wanted) from None
        return items if isinstance(value, list) else tuple(items)  # of parameters of a query, Spark takes lists alone

    what = "values" if member is None else member.several or f"values that are each {member.words}"
    return Kind(f"a list of {what}", take)


def _tuple(members: Sequence[Kind | None]) -> Kind | None:
    known = [member for member in members if member]
    if len(known) < len(members):
        return None

    def take(value: Any) -> Any:
        if not isinstance(value, tuple | list) or len(value) != len(known):
            raise Misfit
        return tuple(member.take(item) for member, item in zip(known, value, strict=True))

    return Kind(f"a tuple of {' and '.join(member.words for member in known)}", take)


def _mapping(key: Any, value: Any) -> Kind:
    """Values are not shown, and neither is what is no mapping: options hold secrets."""
    member = Kind("a text", _option, "texts") if value is str else kind_of(value)

    def take(given: Any) -> Any:
        if not isinstance(given, Mapping):
            raise Misfit(f"has the type {type(given).__name__}")
        taken = {}
        for name, item in given.items():
            if key is str and not isinstance(name, str):
                raise Misfit(f"has the key {described(name)}", "a text")
            if isinstance(name, str):
                _in_utf8(name, f"has the key {name!r:.60}, which")
            try:
                taken[name] = item if member is None else member.take(item)
                if value is str:
                    _in_utf8(taken[name], f"has a value for the key '{name}' that")
            except Misfit as misfit:
                if value is str and misfit.wanted:
                    raise
                wanted = "" if member is None else member.words
                wanted += ", such as lit(5)" if "a Column" in wanted else ""
                raise Misfit(f"has a value of the type {type(item).__name__} for the key '{name}'", wanted) from None
        return taken

    return Kind(f"a mapping from names to {'values' if member is None else member.several or 'values'}", take)


def _option(value: Any) -> str:
    """The text of an option that is given as Python's value."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float | PathLike):
        raise Misfit
    return str(_of_few_digits(value) if isinstance(value, int) else value)


_LIBRARIES = ("pandas", "polars", "pyarrow", "pyspark")


def described(value: Any) -> str:
    """A value in a message: its kind, and what it is where that is short; a class may say it as ``_described``."""
    if value is None or isinstance(value, bool | int | float):
        is_long = isinstance(value, int) and value.bit_length() > _MOST_BITS
        return "a number of more than 1000 digits" if is_long else repr(value)
    if isinstance(value, str):
        return f"the text {value!r:.60}"
    if isinstance(value, list | tuple) and all(isinstance(item, bool | int | float | str) for item in value):
        return f"{value!r:.60}"
    named = getattr(type(value), "_described", None)
    library = type(value).__module__.partition(".")[0]  # several have a DataFrame
    name = f"{library}.{type(value).__name__}" if library in _LIBRARIES else type(value).__name__
    return str(named) if named else f"an object of the type {name}"
