"""What a procedure is, how its arguments are declared, and the documentation that is made of a declaration."""

from __future__ import annotations

import datetime as dt
import inspect
import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import Enum
from functools import cache
from itertools import takewhile
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Concatenate,
    Generic,
    ParamSpec,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from paimon_spark.procedures.engine import Engine
from paimon_spark.store.metadata.table import Table

R = TypeVar("R", covariant=True)
TABLE = "table"
"""The name that the table itself has in SQL, unless the official system has another one."""
OPTIONS = "options"
"""The name in SQL of table options for one call."""
P = ParamSpec("P")
F = TypeVar("F", bound=Callable[..., object])
_RAISES = "Raises:"
_WIDTH = 110


@dataclass(frozen=True)
class Absent:
    """An argument of an official procedure that this release does not have.

    Attributes:
        why: what is done instead, as a part of a sentence.
        default: a value that asks for just that, and may be given; None: there is none.
        is_speed: whether it is a number that only changes how fast the work is done: one of at least 1 may be given,
            and has no effect.
    """

    why: str
    default: str | bool | None = None
    is_speed: bool = False


class Declaration(ABC):
    """Base of the frozen dataclasses that say what is to be done.

    The docstring of a class and the ``Argument`` of each field are the documentation of the operation, everywhere.

    Attributes:
        official: the arguments of the official procedure in their order, also those that this release does not have;
            empty: the official system has no such procedure, and SQL takes the fields in their order.
        absent: those of them that this release does not have, by their names in SQL.
    """

    official: ClassVar[tuple[str, ...]] = ()
    absent: ClassVar[Mapping[str, Absent]] = {}
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @abstractmethod
    def run(self, place: Any, engine: Engine, /) -> Any:
        """Does it, with a table or with the tables of a catalog."""


class Procedure(Declaration, Generic[R]):
    """An operation on one table; R: its result. The first official argument is the table."""

    def run(self, table: Table, engine: Engine) -> R:
        """Does it, if the table is still the one that was opened (protocol C11).

        Args:
            table: on its branch, with the options of the call; conditions are read in its time zone.
            engine: does what may be too big for one process.

        Raises:
            TableNotFound, TableChanged: it is not; nothing was changed.
        """
        table.check_still_there(doing=f"{name_of(type(self))} of")
        return self.perform(table, engine)

    @abstractmethod
    def perform(self, table: Table, engine: Engine) -> R:
        """Does it, and what has to follow it; see run."""


@dataclass(frozen=True)
class Argument:
    """What is said of an argument, as the metadata of the type of its field.

    Attributes:
        doc: what it means, in words that hold in Python, SQL and the command line. The first word is in lower case; the
            text ends with a full stop.
        sql: its name in SQL, where that is not the name of the field.
        only_python: whether SQL and the command line do not have it.
        words: texts that SQL takes, and what each stands for.
        sql_default: its default in SQL, where the official procedure has another one than the field; None: the same.
        at_least: the smallest number that makes sense.
        names_table: whether SQL gives the name of a table, in place of the directory that the field has.
    """

    doc: str
    sql: str | None = None
    only_python: bool = False
    words: Mapping[str, bool] = field(default_factory=dict, hash=False)
    sql_default: bool | None = None
    at_least: int | None = None
    names_table: bool = False


DryRun: TypeAlias = Annotated[bool, Argument("whether only to tell what would go.")]
"""An argument of procedures that delete."""
ChosenPartitions: TypeAlias = Annotated[
    str | Iterable[Mapping[str, Any]] | None,
    Argument(
        "instead of a condition: the values of some or all partition columns, as text such as "
        "'dt=2026-11-01,hour=10;dt=2026-11-02,hour=0' or as mappings from column to value."
    ),
]
"""An argument of procedures that work on whole partitions."""


@dataclass(frozen=True)
class Declared:
    """An argument of a procedure, with all that its field says.

    Attributes:
        name: of the field, and in Python.
        annotation: its type.
        kind: of its values.
        default: of the field; MISSING: it must be given.
        argument: what is said of it.
    """

    name: str
    annotation: Any
    kind: Kind
    default: Any
    argument: Argument

    @property
    def is_required(self) -> bool:
        return self.default is MISSING

    @property
    def sql(self) -> str:
        """Its name in SQL."""
        return self.argument.sql or self.name

    @property
    def sql_values(self) -> str:
        """What a value is in SQL, as the end of "must be ...": one of some words, or of a kind."""
        return " or ".join(f"'{word}'" for word in self.argument.words) or self.kind.sql


def name_of(procedure: type[Declaration]) -> str:
    """The name of a procedure in SQL: expire_snapshots."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", procedure.__name__).lower()


def sql_signature(procedure: type[Declaration]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the arguments in SQL: those in order, and those that are given by name.

    An argument is given by name if the official procedure does not have it, or has one before it that is not here.
    """
    names = tuple(declared.sql for declared in arguments_of(procedure).values() if not declared.argument.only_python)
    common = common_arguments(procedure)
    official = procedure.official or (*common, *names)
    ordered = tuple(takewhile(lambda name: name in (*common, *names), official))
    return ordered, tuple(name for name in (*names, *common) if name not in ordered)


def common_arguments(procedure: type[Declaration]) -> tuple[str, ...]:
    """The names in SQL of what is no field of the procedure: its table first, and the table options of the call."""
    if not issubclass(procedure, Procedure):
        return ()
    fields_in_sql = {declared.sql for declared in arguments_of(procedure).values()}
    table = procedure.official[0] if procedure.official else TABLE
    return (table, OPTIONS) if OPTIONS in procedure.official and OPTIONS not in fields_in_sql else (table,)


@cache
def arguments_of(procedure: type[Declaration]) -> Mapping[str, Declared]:
    """The arguments of a procedure by their names in Python, in order."""
    plain = get_type_hints(procedure)
    marked = get_type_hints(procedure, include_extras=True)
    found = {}
    for item in fields(procedure):
        annotation = plain[item.name]
        [argument] = marked[item.name].__metadata__
        default = item.default if item.default_factory is MISSING else item.default_factory()
        found[item.name] = Declared(item.name, annotation, kind_of(annotation), default, argument)
    return found


def documented(procedure: type[Procedure[Any]]) -> Callable[[F], F]:
    """Gives a method the documentation of the procedure that it runs."""

    def document(method: F) -> F:
        method.__doc__ = docstring(procedure)
        return method

    return document


def method_of(procedure: Callable[P, Procedure[R]]) -> Callable[Concatenate[Any, P], R]:
    """A method that runs the procedure of its arguments by the ``_run`` of its object, and is documented by it."""
    declared = cast(type[Procedure[R]], procedure)

    @documented(declared)
    def method(self: Any, /, *args: P.args, **named: P.kwargs) -> R:
        result: R = self._run(procedure(*args, **named))
        return result

    taken = [
        inspect.Parameter(
            one.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=one.annotation,
            default=inspect.Parameter.empty if one.is_required else one.default,
        )
        for one in arguments_of(declared).values()
    ]  # fmt: skip
    method.__name__ = method.__qualname__ = name_of(declared)
    result_type = inspect.signature(declared.perform, eval_str=True).return_annotation
    method.__annotations__ = {**{one.name: one.annotation for one in taken}, "return": result_type}
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([itself, *taken], return_annotation=result_type)
    method.__signature__ = signature  # type: ignore[attr-defined]  # inspect shows it
    return method


def docstring(procedure: type[Procedure[Any]]) -> str:
    """What the class says, with its arguments before the errors."""
    said, raises, errors = inspect.cleandoc(procedure.__doc__ or "").partition(_RAISES)
    arguments = "\n".join(_lines(procedure))
    parts = (said.rstrip(), f"Args:\n{arguments}" if arguments else "", f"{raises}{errors}".rstrip())
    return "\n\n".join(part for part in parts if part)


def description(procedure: type[Procedure[Any]]) -> str:
    """What the class says, without the errors."""
    return inspect.cleandoc(procedure.__doc__ or "").partition(_RAISES)[0].rstrip()


def sentence(declared: Declared) -> str:
    """What is said of an argument, as it begins a line."""
    return declared.argument.doc[:1].upper() + declared.argument.doc[1:]


def _lines(procedure: type[Procedure[Any]]) -> Iterator[str]:
    for declared in arguments_of(procedure).values():
        paragraph = f"{declared.name}: {declared.argument.doc} {declared.kind.python}".rstrip()
        yield textwrap.fill(
            paragraph, _WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8, break_long_words=False,
            break_on_hyphens=False,
        )  # fmt: skip


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
