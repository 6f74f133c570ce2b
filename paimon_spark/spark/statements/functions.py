"""Functions that a catalog stores: their names, and DESCRIBE FUNCTION."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from paimon_spark.catalogs.functions import Function
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.dataframes import rows_frame
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.sql import listings as q

_OF_SESSION = "sqlConfig."


def stored_functions(session: SqlSession, database: str) -> list[str]:
    """The names of the functions that a catalog stores in a database; none of a catalog that stores none."""
    try:
        return session.catalog.list_functions(database)
    except UnsupportedFeature:
        return []


def describe_function(session: SqlSession, described: q.DescribeFunction) -> DataFrame:
    """A function that a catalog stores, as the official connector shows it (Java: DescribePaimonV1FunctionCommand).

    Raises:
        FunctionNotFound: there is no such function.
        UnsupportedFeature: it has no definition for Spark, or one in Java code.
    """
    name = Identifier(described.database, described.function)
    function = session.catalog.load_function(name)
    definition = function.definitions.get("spark") or {}
    lines: Sequence[str]
    if definition.get("type") == "file":
        uris = ", ".join(str(one.get("uri")) for one in definition.get("fileResources") or ())
        lines = [f"Function: {name}", f"Class: {definition.get('className')}"]
        lines = [*lines, f"File Resources: {uris}"] if described.extended else lines
    elif definition.get("type") == "sql":
        lines = sql_function_lines(str(name), function, str(definition.get("definition")), described.extended)
    else:
        raise UnsupportedFeature(
            f"describing the function {name}: it has no definition 'spark' of the type sql or file, and the official "
            "connector describes no other"
        )
    schema = pa.schema([pa.field("function_desc", pa.string(), nullable=False)])
    return rows_frame(session.spark, schema, [(line,) for line in lines])


def sql_function_lines(name: str, function: Function, body: str, extended: bool) -> list[str]:
    """What DESCRIBE FUNCTION tells of a function of SQL."""
    pairs = [("Function:", name), ("Type:", "SCALAR")]
    inputs = _parameters(function.input_params or (), extended) or ["()"]
    pairs += [("Input:" if number == 0 else "", text) for number, text in enumerate(inputs)]
    pairs += [("Returns:", type_sql(one.type)) for one in (function.return_params or ())[:1]]
    if extended:
        pairs += [] if function.comment is None else [("Comment:", function.comment)]
        pairs.append(("Deterministic:", "true" if function.deterministic else "false"))
        contains = function.options.get("spark.sql-function.contains-sql")
        if contains is not None:
            pairs.append(("Data Access:", "CONTAINS SQL" if contains.lower() == "true" else "READS SQL DATA"))
        settings = sorted(item for item in function.options.items() if item[0].startswith(_OF_SESSION))
        texts = [f"{key.removeprefix(_OF_SESSION)}={value}" for key, value in settings]
        pairs += [("Configs:" if number == 0 else "", text) for number, text in enumerate(texts)]
        pairs.append(("Body:", body))
    width = max(len(key) for key, _ in pairs)
    return [f"{key.ljust(width)} {value}" for key, value in pairs]


def _parameters(fields: Sequence[DataField], extended: bool) -> list[str]:
    names, types = max((len(f.name) for f in fields), default=0), [type_sql(f.type) for f in fields]
    width = max(map(len, types), default=0)
    found = []
    for one, kind in zip(fields, types, strict=True):
        default = f" DEFAULT {one.default_value}" if extended and one.default_value is not None else ""
        comment = f" '{one.description}'" if extended and one.description is not None else ""
        found.append(f"{one.name.ljust(names)} {kind.ljust(width)}{default}{comment}")
    return found
