"""Procedures are declared once: the methods of PaimonTable, and the official system, have the same names."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from typing import Any, get_type_hints

import pytest
from pyspark.sql import SparkSession
from support.official_procedures import official_procedures

from paimon_spark import PaimonTable, procedures
from paimon_spark.procedures.call.results import SHAPES
from paimon_spark.procedures.catalogue import DATABASE_PROCEDURES, GROUPS, PROCEDURES
from paimon_spark.procedures.databases import DatabaseProcedure, RemoveDatabaseOrphanFiles
from paimon_spark.procedures.procedure import (
    Argument,
    Declaration,
    Kind,
    Procedure,
    arguments_of,
    docstring,
    kind_of,
    name_of,
    sql_signature,
)
from paimon_spark.spark.table.table_api import TableOptimizer
from paimon_spark.store.reporting.result import Result
from paimon_spark.tables.stream_write import StreamWriteResult

ELSEWHERE: dict[str, Callable[..., object]] = {"compact": TableOptimizer.compact}
"""Methods that are not called on the table itself."""
NO_SESSION: SparkSession = None  # type: ignore[assignment]  # nothing here asks for it


TIMES = ("expiration_time", "timestamp_formatter", "timestamp_pattern", "expire_strategy")


def method_of(name: str) -> Callable[..., object]:
    return ELSEWHERE[name] if name in ELSEWHERE else getattr(PaimonTable, name)


@pytest.mark.parametrize("name", PROCEDURES)
def test_a_method_has_the_arguments_of_its_procedure(name: str) -> None:
    method, declared = method_of(name), arguments_of(PROCEDURES[name])
    hints = get_type_hints(method)
    taken = {n: p for n, p in inspect.signature(method).parameters.items() if n != "self"}
    assert list(taken) == list(declared)
    assert {n: hints[n] for n in taken} == {n: argument.annotation for n, argument in declared.items()}
    for parameter, argument in zip(taken.values(), declared.values(), strict=True):
        assert (parameter.default is parameter.empty) == argument.is_required
        assert argument.is_required or parameter.default == argument.default
    assert hints["return"] == get_type_hints(PROCEDURES[name].perform)["return"]


class Noted(PaimonTable):
    """A table that notes the procedures that its methods would run."""

    def __init__(self) -> None:
        super().__init__(NO_SESSION, "/table")
        self.ran: list[Procedure[Any]] = []

    def _run(self, procedure: Procedure[Any]) -> Any:
        self.ran.append(procedure)


@pytest.mark.parametrize("name", PROCEDURES)
def test_a_method_gives_each_argument_to_its_procedure(name: str) -> None:
    values: dict[str, Any] = {argument: [argument] for argument in arguments_of(PROCEDURES[name])}
    if name == "copy":  # which adds the options of the table, and completes a relative target
        values |= {"options": {"some": "option"}, "target": "/target"}
    noted = Noted()
    table = TableOptimizer(noted._run) if name == "compact" else noted
    inspect.unwrap(method_of(name))(table, *values.values())  # without the check of types, which these would not pass
    assert noted.ran == [PROCEDURES[name](**values)]


@pytest.mark.parametrize("name", PROCEDURES)
def test_a_method_is_documented_by_its_procedure(name: str) -> None:
    doc = inspect.getdoc(method_of(name))
    assert doc == docstring(PROCEDURES[name])
    assert doc is not None
    assert PROCEDURES[name].__doc__ is not None
    assert doc.startswith(PROCEDURES[name].__doc__.partition("\n")[0])
    assert max(map(len, doc.splitlines())) <= 120
    named = re.findall(r"^    (\w+): ", doc.partition("Args:\n")[2].partition("\n\nRaises:")[0], re.MULTILINE)
    assert named == list(arguments_of(PROCEDURES[name]))


COMPACT = (
    "table", "partitions", "compact_strategy", "order_strategy", "order_by", "where", "options", "partition_idle_time",
)  # fmt: skip


@pytest.mark.parametrize("name", PROCEDURES)
def test_every_argument_is_described(name: str) -> None:
    docs = [declared.argument.doc for declared in arguments_of(PROCEDURES[name]).values()]
    assert [doc for doc in docs if not re.fullmatch(r"[a-z'].*[^.]\.", doc)] == []


@pytest.mark.parametrize(
    ("name", "ordered", "named"),
    [
        ("expire_tags", ("table", "older_than"), ("dry_run",)),
        ("expire_partitions", ("table", *TIMES, "max_expires", "options"), ("dry_run",)),
        ("compact", COMPACT, ()),
        ("compact_database", ("including_databases", "including_tables", "excluding_tables", "options"), ()),
        ("remove_orphan_files", ("table", "older_than", "dry_run"), ("mode",)),
        ("create_branch", ("table", "branch", "tag", "ignoreIfExists"), ("snapshot",)),
        ("copy", ("source_table", "target_table", "where"), ("options", "distributed")),
        ("truncate", ("table",), ()),
        ("analyze", ("table", "columns"), ()),
    ],
)
def test_the_order_in_sql_ends_before_an_argument_that_is_not_here(
    name: str, ordered: tuple[str, ...], named: tuple[str, ...]
) -> None:
    known: dict[str, type[Declaration]] = {**PROCEDURES, **DATABASE_PROCEDURES}
    assert sql_signature(known[name]) == (ordered, named)


def test_others_are_ours_alone() -> None:
    ours = {"analyze", "drop_partitions", "expire_changelogs", "rollback_to_as_latest", "truncate"}
    assert PROCEDURES.keys() - official_procedures().keys() == ours
    assert {name for name, procedure in PROCEDURES.items() if not procedure.official} == ours


def test_a_result_is_called_by_what_was_done() -> None:
    """Some procedures share one; what is no procedure is named in the same way by its function."""
    told = {get_type_hints(procedure.perform)["return"] for procedure in PROCEDURES.values()} - {type(None)}
    known = {f"{procedure.__name__}Result" for procedure in PROCEDURES.values()}
    assert {result.__name__ for result in told} <= known
    known |= {f"{procedure.__name__}Result" for procedure in DatabaseProcedure.__subclasses__()}
    others = {result.__name__ for result in Result.__subclasses__() if not result.__module__.startswith("test")} - known
    of_functions = {"AlterResult", "CheckResult", "CommitResult", "CompactPostponedResult"}
    assert others == {*of_functions, "RowChangeResult", "WriteResult", StreamWriteResult.__name__}


@pytest.mark.parametrize("name", PROCEDURES)
def test_no_two_arguments_have_one_name_in_sql(name: str) -> None:
    names = [declared.sql.lower() for declared in arguments_of(PROCEDURES[name]).values()]
    assert len(set(names)) == len(names)
    assert "table" not in names


def test_every_procedure_is_in_the_catalogue() -> None:
    for module in pkgutil.iter_modules(procedures.__path__, f"{procedures.__name__}."):
        importlib.import_module(module.name)
    assert set(Procedure.__subclasses__()) == set(PROCEDURES.values())
    others = {RemoveDatabaseOrphanFiles}  # which is called by the name of the procedure of one table
    assert set(DatabaseProcedure.__subclasses__()) - others == set(DATABASE_PROCEDURES.values())
    known: dict[str, type[Declaration]] = {**PROCEDURES, **DATABASE_PROCEDURES}
    assert {name: name_of(procedure) for name, procedure in known.items()} == {name: name for name in known}
    assert [name for names in GROUPS.values() for name in names] == list(PROCEDURES)


def test_each_shape_of_rows_is_of_a_procedure() -> None:
    of_databases = {name_of(RemoveDatabaseOrphanFiles)}
    assert SHAPES.keys() - PROCEDURES.keys() - DATABASE_PROCEDURES.keys() == of_databases


def test_a_type_that_sql_cannot_give_is_refused_when_it_is_declared() -> None:
    with pytest.raises(TypeError, match="an argument of a procedure cannot have the type <class 'float'>"):
        kind_of(float)
    assert kind_of(int | None) is Kind.NUMBER
    assert Argument("a number.") == Argument("a number.")


def test_procedures_are_values() -> None:
    example: Any = PROCEDURES["create_tag"]
    assert example("a", 1) == example("a", snapshot=1)
    with pytest.raises(AttributeError):
        example("a").name = "b"


def test_what_a_value_is_in_sql() -> None:
    arguments = arguments_of(PROCEDURES["compact"])
    assert arguments["full"].sql_values == "'full' or 'minor'"
    assert arguments["where"].sql_values == "text"
