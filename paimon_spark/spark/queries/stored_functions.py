"""Functions that a catalog stores become temporary functions of the Spark session when a statement calls them.

Spark then does all that a call needs: types, defaults, named arguments, the place of the body in the plan. Tables in a
body become temporary views (Java: SQLFunctionConverter, FileFunctionConverter).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Protocol, TypeAlias
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, SparkSession

from paimon_spark.catalogs.functions import Function
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.types import declared_type
from paimon_spark.sql.queries.functions import Call, with_values
from paimon_spark.sql.queries.read_query import QUERY_VERBS
from paimon_spark.sql.queries.stored_calls import stored_calls
from paimon_spark.sql.text.lexer import tokenize
from paimon_spark.sql.text.literals import literal_text
from paimon_spark.sql.text.names import Names

if TYPE_CHECKING:
    from paimon_spark.spark.queries.session import SqlSession

DIALECT = "spark"
"""The name of the definition that Spark can call."""
IS_QUERY, DETERMINISTIC, CONTAINS_SQL = (
    f"spark.sql-function.{name}" for name in ("is-query", "deterministic", "contains-sql")
)
OF_SESSION = "sqlConfig."
"""Before the settings of the Spark session in which the function was made, which hold in its body."""
NAMESPACE = "catalogAndNamespace."
"""Before the current catalog and database in which the function was made, where names in its body are looked up."""
SPARK_CATALOG = "spark_catalog"
_SELECT = "SELECT "
_SETTINGS, _NAMING = Lock(), Lock()
_NAMES: WeakKeyDictionary[SparkSession, dict[str, list[str]]] = WeakKeyDictionary()
"""Of each session the names of stored functions that it has called, by the name in small letters."""


class BodyFrames(Protocol):
    """A query of a body with the DataFrames of its tables."""

    @property
    def text(self) -> str:
        """For ``spark.sql(text, **frames)``."""
        ...

    @property
    def frames(self) -> Mapping[str, DataFrame]:
        """By their names in the text."""
        ...


PlanBody: TypeAlias = "Callable[[SqlSession, str | None, str], BodyFrames]"
"""Plans the query of a body: session, database of names without one (None: they are Spark's), text."""


def with_stored_functions(session: SqlSession, text: str, plan_body: PlanBody, names: Names) -> str:
    """The text with the names of temporary functions in the places of functions that the catalog stores.

    A function is looked up as Spark looks one up: its own first, then those of the session, then the catalog.

    Args:
        names: how the text names functions; those of a view are in the database of the view.

    Raises:
        FunctionNotFound: a name that begins with the catalog means no function.
        UnsupportedFeature: it has no definition that Spark can call.
        PaimonError: a table in its body cannot be read.
    """
    if not session.catalog.has_functions:
        return text
    made: dict[Identifier, str] = {}
    called: dict[Call, str] = {}
    for call in stored_calls(text, names):
        identifier = Identifier(call.database, call.function)
        if call.is_bare and session.has_function(call.function):
            continue
        if identifier not in made:
            load = session.catalog.load_function if call.is_certain else session.catalog.find_function
            function = load(identifier)
            if function is None:
                continue
            made[identifier] = _temporary_name(session, identifier)
            make_temporary(session, made[identifier], identifier, function, plan_body)
        called[call] = quoted(made[identifier])
    return with_values(text, called) if called else text


def _temporary_name(session: SqlSession, identifier: Identifier) -> str:
    """The name of the temporary function of a stored one, the same in all of a Spark session.

    Spark takes names that differ in the case of letters alone for one, and the catalog does not: all but the first of
    them get a number.
    """
    name = f"{session.catalog.name}.{identifier}"
    with _NAMING:
        alike = _NAMES.setdefault(session.spark, {}).setdefault(name.lower(), [])
        if name not in alike:
            alike.append(name)
        at = alike.index(name)
    return f"{name} ({at + 1})" if at else name


def make_temporary(
    session: SqlSession, name: str, identifier: Identifier, function: Function, plan_body: PlanBody
) -> None:
    """Makes the temporary function of a stored one.

    Raises:
        UnsupportedFeature: it has no definition that Spark can call.
        PaimonError: a table in its body cannot be read.
        AnalysisException, ParseException: Spark does not understand the definition.
    """
    definition = function.definitions.get(DIALECT) or {}
    head = f"CREATE OR REPLACE TEMPORARY FUNCTION {quoted(name)} "
    match definition.get("type"):
        case "file":
            files = (
                f"{one.get('resourceType', 'jar').upper()} {literal_text(str(one['uri']))}"
                for one in definition.get("fileResources") or ()
            )
            using = ", ".join(files)
            text = f"{head}AS {literal_text(str(definition.get('className')))}" + (f" USING {using}" if using else "")
            session.spark.sql(text)
        case "sql":
            body = _rendered(session, name, identifier, function, str(definition["definition"]), plan_body)
            with _settings(session.spark, function):
                session.spark.sql(f"{head}{_signature(function)} RETURN {body}")
        case _:
            raise UnsupportedFeature(
                f"calling the function {identifier}: it has no definition '{DIALECT}' in SQL or of a class in a file, "
                "and this package runs no Java code of a definition; CREATE OR REPLACE FUNCTION ... RETURN stores one"
            )


def _signature(function: Function) -> str:
    parameters = ", ".join(map(_parameter, function.input_params or ()))
    returns = [f" RETURNS {declared_type(one.type)}" for one in (function.return_params or ())[:1]]
    said = function.options.get(DETERMINISTIC, "").lower()
    words = {"true": " DETERMINISTIC", "false": " NOT DETERMINISTIC"}.get(said, "")  # else Spark tells it of the body
    return f"({parameters}){''.join(returns)}{words}"


def _parameter(field: DataField) -> str:
    default = "" if field.default_value is None else f" DEFAULT {field.default_value}"
    return f"{quoted(field.name)} {declared_type(field.type)}{default}"


def _rendered(
    session: SqlSession, name: str, identifier: Identifier, function: Function, body: str, plan_body: PlanBody
) -> str:
    """The body with temporary views in the places of tables of the catalog."""
    is_query = function.options.get(IS_QUERY, "").lower()
    first = tokenize(body)[:1]
    of_words = bool(first) and first[0].upper in QUERY_VERBS and first[0].upper != "("
    before = "" if is_query == "true" or (not is_query and of_words) else _SELECT
    planned = plan_body(session, _database(function, identifier), before + body)
    views = {}
    for number, (key, frame) in enumerate(planned.frames.items()):
        view = _view_name(name, number)
        frame.createOrReplaceTempView(quoted(view))
        views[key] = quoted(view)
    text = planned.text.format(**views) if views else planned.text
    return text.removeprefix(before)


def _view_name(name: str, number: int) -> str:
    return f"{name} {number}"


def drop_views(session: SqlSession, name: str) -> None:
    """Drops the temporary views in the body of a temporary function, which has gone."""
    number = 0
    while session.spark.catalog.dropTempView(_view_name(name, number)):
        number += 1


def _database(function: Function, identifier: Identifier) -> str | None:
    """The database of the names without one in a body; None: they are those of Spark's own catalog."""
    parts = [function.options.get(f"{NAMESPACE}part.{at}") for at in range(2)]
    if parts[0] == SPARK_CATALOG:
        return None
    return parts[1] or identifier.database


@contextmanager
def _settings(spark: SparkSession, function: Function) -> Iterator[None]:
    """The settings that hold in the body, which Spark keeps with the function when it is made."""
    asked = {
        key.removeprefix(OF_SESSION): value for key, value in function.options.items() if key.startswith(OF_SESSION)
    }
    with _SETTINGS:
        had = {key: spark.conf.get(key, None) for key in asked}
        changed = {key: value for key, value in asked.items() if had[key] != value and spark.conf.isModifiable(key)}
        try:
            for key, value in changed.items():
                spark.conf.set(key, value)
            yield
        finally:
            for key in changed:
                old = had[key]
                if old is None:
                    spark.conf.unset(key)
                else:
                    spark.conf.set(key, old)
