"""The arguments of SQL ``CALL`` become a procedure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NoReturn

from paimon_spark.errors import OptionError
from paimon_spark.procedures.catalogue import PROCEDURES
from paimon_spark.procedures.kinds import Kind
from paimon_spark.procedures.procedure import OPTIONS, TABLE, Declared, Procedure, arguments_of, name_of

_FLAGS = {"true": True, "false": False}
_NOTHING: Mapping[str, object] = {}


@dataclass(frozen=True)
class Call:
    """A procedure that is asked for.

    Attributes:
        table: the name of the table, as it was given.
        options: table options of this call.
        procedure: with its arguments.
    """

    table: str
    options: Mapping[str, str]
    procedure: Procedure[Any]


def bind(name: str, positional: Sequence[object] = (), named: Mapping[str, object] = _NOTHING) -> Call:
    """The procedure of a name, with arguments as SQL has them. SQL CALL is to use this; in this release nothing does.

    Names are compared without regard to letter case. None, the NULL of SQL, is an argument that is not given.

    Args:
        name: of the procedure, without ``sys.``.
        positional: the first arguments, in the order of the official procedure; others are given by name only.
        named: the other arguments by their names in SQL.

    Raises:
        OptionError: there is no such procedure or argument, one is missing or given twice, or a value does not fit.
    """
    procedure = PROCEDURES.get(name.lower())
    if procedure is None:
        raise OptionError(f"there is no procedure '{name}'{_meant(name, PROCEDURES)}")
    return _Binding(procedure).bound(positional, named)


class _Binding:
    """The arguments of one procedure by their names in SQL."""

    def __init__(self, procedure: type[Procedure[Any]]) -> None:
        declared = [item for item in arguments_of(procedure).values() if not item.argument.only_python]
        self._procedure = procedure
        self._declared = {item.sql: item for item in declared}
        self._order = procedure.official or (TABLE, *self._declared)
        self._table = self._order[0]
        self._takes_options = OPTIONS in self._order and OPTIONS not in self._declared
        common = (self._table, *([OPTIONS] if self._takes_options else []))
        self._known = {known.lower(): known for known in (*common, *self._declared)}

    def bound(self, positional: Sequence[object], named: Mapping[str, object]) -> Call:
        given = self._by_name(positional, named)
        required = (self._table, *(item.sql for item in self._declared.values() if item.is_required))
        missing = [f"'{wanted}'" for wanted in required if wanted not in given]
        if missing:
            raise self._error(f"needs {' and '.join(missing)}")
        table = self._value(self._table, given.pop(self._table), Kind.TEXT)
        options = self._value(OPTIONS, given.pop(OPTIONS, {}), Kind.OPTIONS) if self._takes_options else {}
        defaults = {item.name: item.argument.sql_default for item in self._declared.values()}
        chosen: dict[str, Any] = {name: default for name, default in defaults.items() if default is not None}
        chosen |= {self._declared[sql].name: self._argument(self._declared[sql], given[sql]) for sql in given}
        return Call(table, options, self._procedure(**chosen))

    def _by_name(self, positional: Sequence[object], named: Mapping[str, object]) -> dict[str, object]:
        """All arguments that are given by their names in SQL."""
        if len(positional) > len(self._order):
            raise self._error(f"takes at most {len(self._order)} arguments without names, found {len(positional)}")
        given: dict[str, object] = {}
        for told, value in (*zip(self._order, positional, strict=False), *named.items()):
            if value is None and self._is_official(told):
                continue  # one that this release does not have may be NULL
            sql = self._known_name(told)
            if sql in given:
                raise self._error(f"has got '{sql}' twice")
            given[sql] = value
        return {sql: value for sql, value in given.items() if value is not None}

    def _known_name(self, told: str) -> str:
        known = self._known.get(told.lower())
        if known is not None:
            return known
        if self._is_official(told):
            raise self._error(f"does not have the argument '{told}' in this release: leave it out")
        by_field = [item.sql for item in self._declared.values() if item.name == told.lower()]
        meant = f": did you mean '{by_field[0]}'?" if by_field else _meant(told, self._known.values())
        raise self._error(f"has no argument '{told}'{meant}")

    def _is_official(self, told: str) -> bool:
        """Whether the official procedure has an argument that this one does not have."""
        return told.lower() in {name.lower() for name in self._order} - self._known.keys()

    def _argument(self, declared: Declared, value: object) -> object:
        argument = declared.argument
        if argument.words:
            if isinstance(value, str) and value.lower() in argument.words:
                return argument.words[value.lower()]
            self._refuse(declared.sql, " or ".join(f"'{word}'" for word in argument.words), value)
        found = self._value(declared.sql, value, declared.kind)
        if argument.at_least is not None and found < argument.at_least:
            self._refuse(declared.sql, f"at least {argument.at_least}", value)
        return found

    def _value(self, sql: str, value: object, kind: Kind) -> Any:
        """The value as the field has it."""
        found = _READ[kind](value)
        if found is None:
            self._refuse(sql, kind.sql, value)
        return found

    def _refuse(self, sql: str, wanted: str, value: object) -> NoReturn:
        shown = "true" if value is True else "false" if value is False else repr(value)
        raise self._error(f"wants {wanted} for '{sql}', found {shown}")

    def _error(self, said: str) -> OptionError:
        return OptionError(f"the procedure {name_of(self._procedure)} {said}")


def _meant(name: str, known: Iterable[str]) -> str:
    """What the user may have meant, or all that there is."""
    originals = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), originals, 1)
    return f": did you mean '{originals[close[0]]}'?" if close else f"; there are {', '.join(originals.values())}"


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
