"""The declaration of a table option, and classes whose attributes are options (Java: ConfigOption, Options).

An option is declared once, as an attribute of a class of settings: key, default, parser, older names, meaning, and the
values that this release refuses. On the class the attribute is the declaration; on an object it is the value: the
parsed text, or the default. A text is parsed when its attribute is first read, and once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar, overload

from paimon_spark.errors import OptionError
from paimon_spark.format.options.value_texts import (
    parse_bool,
    parse_choice,
    parse_duration,
    parse_int,
    parse_int32,
    parse_level_map,
    parse_list,
    parse_memory,
    parse_ratio,
    parse_text,
    parse_weights,
    parse_word,
)

T = TypeVar("T")
I = TypeVar("I", int, None)  # noqa: E741
S = TypeVar("S", str, None)

MB = 2**20
COLUMN = "<column>"
"""Stands for the name of a column in the keys of options that columns have."""
OFFICIAL = "use the official system for it"
LEAVE_OUT = "leave it out of the call"
STORED = f"{LEAVE_OUT}; a table may have it, for writers that know it: PaimonTable.create(spark).property(...)"
DATA_FORMATS = ("parquet", "orc", "avro", "row")
VECTOR_FORMATS = ("parquet", "orc", "avro")


class Moment(StrEnum):
    """When an option is refused, in the words of messages. READ implies WRITE."""

    READ = "read"
    WRITE = "write to"
    CALL = "call"


@dataclass(frozen=True)
class Refused:
    """Values of an option that this release refuses: all but the accepted ones. The option may be absent.

    Attributes:
        moment: READ or WRITE: applies to stored options too; CALL: only to those given with a read or a write.
        accepted: values that ask for nothing, in any letter case; ("",): only an empty value.
        what: what is not supported; follows "this release does not support" in the message.
        advice: what the user can do instead.
    """

    moment: Moment
    accepted: tuple[str, ...]
    what: str
    advice: str = OFFICIAL


@dataclass(eq=False)
class Option(Generic[T]):
    """The declaration of one option.

    Attributes:
        key: the official one; ``<column>``, ``<type>`` and ``<x>`` in it stand for a name.
        default: the value where no text is set.
        parse: makes a value of a text; ValueError says what is expected.
        meaning: what the option does, for the reference; empty for an option that is none of tables.
        older: the keys that older releases have.
        refuses: which values are refused.
        name: of the attribute.
    """

    key: str
    default: T
    parse: Callable[[str], T]
    meaning: str = ""
    older: tuple[str, ...] = ()
    refuses: tuple[Refused, ...] = ()
    name: str = field(default="", init=False)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, settings: None, owner: type) -> Option[T]: ...
    @overload
    def __get__(self, settings: Settings, owner: type) -> T: ...
    def __get__(self, settings: Settings | None, owner: type) -> Option[T] | T:
        if settings is None:
            return self
        value = settings.__dict__[self.name] = self.read(settings)  # found there the next time
        return value

    def read(self, settings: Settings) -> T:
        """The value that the settings have, or the default.

        Raises:
            OptionError: the text does not parse; the message names the key, the text and what is expected.
        """
        text = settings.text(self)
        if text is None:
            return self.default
        try:
            return self.parse(text)
        except ValueError as error:
            raise OptionError(f"option '{settings.key(self)}' has the value '{text}': {error}") from None


class Settings:
    """What the texts of options say: each option of the class is an attribute. Immutable."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self.__dict__["texts"] = texts or {}

    texts: Mapping[str, str]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot set '{name}': settings do not change")

    def key(self, option: Option[Any]) -> str:
        """The key of an option."""
        return option.key

    def text(self, option: Option[Any]) -> str | None:
        """The text that is set under the key of an option or an older one; None: there is none."""
        for key in (self.key(option), *option.older):
            if key in self.texts:
                return self.texts[key]
        return None

    def is_set(self, option: Option[Any]) -> bool:
        return self.text(option) is not None

    def flag(self, key: str) -> bool:
        """True if an option that is not declared, because this release refuses it, is set to true."""
        return Option(key, False, parse_bool).read(self)

    @classmethod
    def declared(cls) -> Iterator[Option[Any]]:
        """The options of the class, in the order of their declarations."""
        yield from (found for found in vars(cls).values() if isinstance(found, Option))


def boolean(
    key: str, default: bool, meaning: str, *, older: tuple[str, ...] = (), refuses: tuple[Refused, ...] = ()
) -> Option[bool]:
    return Option(key, default, parse_bool, meaning, older, refuses)


def integer(
    key: str, default: I, meaning: str, *, older: tuple[str, ...] = (), refuses: tuple[Refused, ...] = ()
) -> Option[int | I]:
    return Option[int | I](key, default, parse_int32, meaning, older, refuses)


def long(
    key: str, default: I, meaning: str, *, older: tuple[str, ...] = (), refuses: tuple[Refused, ...] = ()
) -> Option[int | I]:
    return Option[int | I](key, default, parse_int, meaning, older, refuses)


def ratio(key: str, default: float, meaning: str) -> Option[float]:
    return Option(key, default, parse_ratio, meaning)


def memory(key: str, default: I, meaning: str) -> Option[int | I]:
    return Option[int | I](key, default, parse_memory, meaning)


def duration(key: str, default: I, meaning: str) -> Option[int | I]:
    return Option[int | I](key, default, parse_duration, meaning)


def text(key: str, default: S, meaning: str, *, refuses: tuple[Refused, ...] = ()) -> Option[str | S]:
    return Option[str | S](key, default, parse_text, meaning, (), refuses)


def verbatim(key: str, default: S, meaning: str) -> Option[str | S]:
    """A text with the blanks around it."""
    return Option[str | S](key, default, str, meaning)


def word(key: str, default: str, meaning: str, *, refuses: tuple[Refused, ...] = ()) -> Option[str]:
    return Option(key, default, parse_word, meaning, (), refuses)


def words(key: str, meaning: str, *, older: tuple[str, ...] = ()) -> Option[tuple[str, ...]]:
    return Option(key, (), parse_list, meaning, older)


def weights(key: str, meaning: str) -> Option[tuple[int, ...]]:
    return Option(key, (), parse_weights, meaning)


def choice(
    key: str, choices: tuple[str, ...], meaning: str, *, default: str = "", older: tuple[str, ...] = ()
) -> Option[str]:
    """One of some words. default: the first of them if it is left out."""
    return Option(key, default or choices[0], parse_choice(*choices), meaning, older)


def level_map(key: str, meaning: str) -> Option[dict[int, str]]:
    return Option(key, {}, parse_level_map, meaning)
