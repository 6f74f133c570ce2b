"""The arguments of SQL ``CALL`` become a procedure.

Official procedures that this release does not have (features 7) are refused, each with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from paimon_spark.arguments import kinds
from paimon_spark.errors import OptionError, similar_names
from paimon_spark.procedures.catalogue import DATABASE_PROCEDURES, PROCEDURES
from paimon_spark.procedures.procedure import (
    OPTIONS,
    Declaration,
    Declared,
    Kind,
    Procedure,
    arguments_of,
    common_arguments,
    name_of,
)

if TYPE_CHECKING:
    from paimon_spark.procedures.databases import DatabaseProcedure

_ORPHANS = "remove_orphan_files"
_ALL_TABLES = ".*"  # behind the name of a database
_NOTHING: Mapping[str, object] = {}
OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "rewrite_data_files": "compact",
        "rewrite_manifests": "compact_manifest",
        "rollback_to_snapshot": "rollback",
        "set_current_snapshot": "rollback",
        "remove_orphans": "remove_orphan_files",
        "vacuum": "expire_snapshots",
        "optimize": "compact",
    }
)
"""The procedure here, by its name in another system."""


@dataclass(frozen=True)
class Call:
    """A procedure of one table that is asked for.

    Attributes:
        table: the name of the table, as it was given: ``t``, ``db.t`` or ``catalog.db.t``.
        options: table options of this call.
        procedure: with its arguments. Some of them may be names of further tables, see ``located``.
    """

    table: str
    options: Mapping[str, str]
    procedure: Procedure[Any]

    def located(self, locate: Callable[[str], str]) -> Call:
        """The call with directories in place of the names of further tables, such as the target of a copy.

        Args:
            locate: the directory of a table, which need not exist, by its name as it was given.
        """
        declared = arguments_of(type(self.procedure)).values()
        names = [item.name for item in declared if item.argument.names_table]
        places = {name: locate(getattr(self.procedure, name)) for name in names}
        return replace(self, procedure=replace(self.procedure, **places)) if places else self


@dataclass(frozen=True)
class DatabaseCall:
    """A procedure of many tables that is asked for: it names databases itself, and table options of the call."""

    procedure: DatabaseProcedure[Any]


AnyCall: TypeAlias = Call | DatabaseCall


def bind(name: str, positional: Sequence[object] = (), named: Mapping[str, object] = _NOTHING) -> AnyCall:
    """The procedure of a name, with arguments as SQL has them.

    Names are compared without regard to letter case. None, the NULL of SQL, is an argument that is not given.

    Args:
        name: of the procedure, without ``sys.``.
        positional: the first arguments, in the order of the official procedure; others are given by name only.
        named: the other arguments by their names in SQL.

    Returns:
        A call of one table; or of many, as ``compact_database``, and ``remove_orphan_files`` of ``db.*``.

    Raises:
        OptionError: there is no such procedure or argument, one is missing or given twice, or a value does not fit.
    """
    wanted = name.lower()
    if wanted in OTHER_NAMES:
        raise OptionError(f"there is no procedure '{name}'; what it does is CALL sys.{OTHER_NAMES[wanted]}")
    if wanted in DATABASE_PROCEDURES:
        of_databases = DATABASE_PROCEDURES[wanted]
        return DatabaseCall(of_databases(**_Binding(of_databases).bound(positional, named).fields))
    if wanted not in PROCEDURES:
        raise OptionError(f"there is no procedure '{name}'{_meant(name, (*PROCEDURES, *DATABASE_PROCEDURES))}")
    of_table = PROCEDURES[wanted]
    arguments = _Binding(of_table).bound(positional, named)
    if wanted == _ORPHANS and arguments.table.endswith(_ALL_TABLES):
        return _orphans_of_database(arguments)
    return Call(arguments.table, arguments.options, of_table(**arguments.fields))


def _orphans_of_database(arguments: _Arguments) -> DatabaseCall:
    from paimon_spark.procedures.databases import RemoveDatabaseOrphanFiles
    from paimon_spark.procedures.orphan_files import RemoveOrphanFiles

    database = arguments.table.removesuffix(_ALL_TABLES)
    return DatabaseCall(RemoveDatabaseOrphanFiles(database, RemoveOrphanFiles(**arguments.fields), arguments.options))


@dataclass(frozen=True)
class _Arguments:
    """The arguments of one call: those that are fields of the procedure, and the others."""

    table: str
    options: Mapping[str, str]
    fields: Mapping[str, Any]


class _Binding:
    """The arguments of one procedure by their names in SQL."""

    def __init__(self, procedure: type[Declaration]) -> None:
        declared = [item for item in arguments_of(procedure).values() if not item.argument.only_python]
        self._procedure = procedure
        self._declared = {item.sql: item for item in declared}
        self._common = common_arguments(procedure)
        self._order = procedure.official or (*self._common, *self._declared)
        self._table = self._common[0] if self._common else None
        self._known = {known.lower(): known for known in (*self._common, *self._declared)}

    def bound(self, positional: Sequence[object], named: Mapping[str, object]) -> _Arguments:
        given = self._by_name(positional, named)
        of_table = [] if self._table is None else [self._table]
        required = (*of_table, *(item.sql for item in self._declared.values() if item.is_required))
        missing = [f"'{wanted}'" for wanted in required if wanted not in given]
        if missing:
            raise self._error(f"needs {' and '.join(missing)}")
        common = {known: given.pop(known) for known in self._common if known in given}
        table = "" if self._table is None else self._value(self._table, common[self._table], Kind.TEXT)
        options = self._value(OPTIONS, common[OPTIONS], Kind.OPTIONS) if OPTIONS in common else {}
        defaults = {item.name: item.argument.sql_default for item in self._declared.values()}
        chosen: dict[str, Any] = {name: default for name, default in defaults.items() if default is not None}
        chosen |= {self._declared[sql].name: self._argument(self._declared[sql], given[sql]) for sql in given}
        return _Arguments(table, options, chosen)

    def _by_name(self, positional: Sequence[object], named: Mapping[str, object]) -> dict[str, object]:
        """All arguments that are given by their names in SQL."""
        if len(positional) > len(self._order):
            raise self._error(f"takes at most {len(self._order)} arguments without names, found {len(positional)}")
        given: dict[str, object] = {}
        for name, value in (*zip(self._order, positional, strict=False), *named.items()):
            if self._may_be_left_out(name, value):
                continue
            sql = self._known_name(name)
            if sql in given:
                raise self._error(f"has got '{sql}' twice")
            given[sql] = value
        return {sql: value for sql, value in given.items() if value is not None}

    def _known_name(self, name: str) -> str:
        known = self._known.get(name.lower())
        if known is not None:
            return known
        absent = self._procedure.absent.get(name.lower())
        if absent is not None:
            if absent.is_speed:
                raise self._error(f"wants a number of at least 1 for '{name}', or none, for {absent.why}")
            raise self._error(f"does not have the argument '{name}' in this release: {absent.why}; leave it out")
        by_field = [item.sql for item in self._declared.values() if item.name == name.lower()]
        meant = f": did you mean '{by_field[0]}'?" if by_field else _meant(name, self._known.values())
        raise self._error(f"has no argument '{name}'{meant}")

    def _may_be_left_out(self, name: str, value: object) -> bool:
        """True if an argument that this release does not have asks for what is done anyway, or just for speed."""
        absent = self._procedure.absent.get(name.lower())
        if absent is None:
            return False
        if absent.is_speed and type(value) is int and value > 0:
            return True
        return value is None or (value.lower() if isinstance(value, str) else value) == absent.default

    def _argument(self, declared: Declared, value: object) -> object:
        argument = declared.argument
        if argument.words:
            if isinstance(value, str) and value.lower() in argument.words:
                return argument.words[value.lower()]
            self._refuse(declared.sql, declared.sql_values, value)
        found = self._value(declared.sql, value, declared.kind)
        if argument.at_least is not None and found < argument.at_least:
            self._refuse(declared.sql, f"at least {argument.at_least}", value)
        return found

    def _value(self, sql: str, value: object, kind: Kind) -> Any:
        """The value as the field has it."""
        found = read_value(kind, value)
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
    known = dict.fromkeys(known)
    near = similar_names(name, known)
    return f": did you mean '{near[0]}'?" if near else f"; there are {', '.join(known)}"


_FLAGS = {"true": True, "false": False}


def read_value(kind: Kind, value: object) -> Any:
    """The value as the field has it; None: it is of another kind."""
    given, check = _FROM_TEXT[kind](value) if kind in _FROM_TEXT else value, kinds.kind_of(kind.type)
    try:
        found = given if check is None else check.take(given)
    except kinds.Misfit:
        return None
    return tuple(found) if isinstance(found, list) else found


def _flag(value: object) -> object:
    return _FLAGS.get(value.lower()) if isinstance(value, str) else value


def _options(value: object) -> object:
    """Of a map only texts are taken: 1 and true would be other texts in SQL than in Python."""
    if isinstance(value, str):
        pairs = [pair.partition("=") for pair in value.split(",") if pair.strip()]
        return {key.strip(): text.strip() for key, _, text in pairs} if all(equals for _, equals, _ in pairs) else None
    is_text = isinstance(value, Mapping) and all(isinstance(text, str) for text in value.values())
    return value if is_text else None


_FROM_TEXT: Mapping[Kind, Callable[[object], object]] = {Kind.FLAG: _flag, Kind.OPTIONS: _options}
"""What makes a value of the kind from the text that SQL may give instead."""
