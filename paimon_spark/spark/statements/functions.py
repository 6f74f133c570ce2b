"""Functions that a catalog stores: CREATE and DESCRIBE FUNCTION, and their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame

from paimon_spark.catalogs.functions import Function
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import SqlError, UnsupportedFeature
from paimon_spark.format.quoting import quoted
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.dataframes import rows_frame
from paimon_spark.spark.queries.run_query import plan_body
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.queries.stored_functions import (
    CONTAINS_SQL,
    DETERMINISTIC,
    DIALECT,
    IS_QUERY,
    NAMESPACE,
    OF_SESSION,
    SPARK_CATALOG,
    drop_views,
    make_temporary,
)
from paimon_spark.spark.statements.alters import declared_columns, declared_type
from paimon_spark.sql import listings as q
from paimon_spark.sql import statements as s
from paimon_spark.sql.queries.stored_calls import stored_calls

_TITLE = len("Deterministic: ")
_IS_BUILT_IN = "is the name of a function of Spark, which comes first: choose another one"


def create_function(session: SqlSession, create: s.CreateFunction) -> DataFrame:
    """Stores a function, as the official connector stores it (Java: CreatePaimonSQLFunctionCommand).

    Spark makes a temporary function of it first, so that a body that it does not understand is not stored, and tells
    what the statement leaves out: the type of the value, and whether equal arguments have equal values.

    Raises:
        FunctionAlreadyExists: there is one of that name, and the statement does not replace it.
        SqlError: its name is that of a function of Spark, or a type is not one of Spark.
        UnsupportedFeature: the catalog stores no functions, or the body calls a temporary function.
        AnalysisException, ParseException: Spark does not understand the body.
    """
    name, catalog = Identifier(create.database, create.function), session.catalog
    if create.function.lower() in session.system_functions:
        raise SqlError(f"SQL: CREATE FUNCTION {name}: {create.function} {_IS_BUILT_IN}")
    if catalog.has_functions and create.if_not_exists and catalog.find_function(name) is not None:
        return session.no_rows
    function = _of_class(create) if create.class_name else _of_sql(session, name, create)
    if create.replaces:
        catalog.drop_function(name, ignore_if_not_exists=True)
    catalog.create_function(name, function, ignore_if_exists=create.if_not_exists)
    return session.no_rows


def _of_class(create: s.CreateFunction) -> Function:
    files = [{"resourceType": kind, "uri": uri} for kind, uri in create.resources]
    definition = {
        "type": "file",
        "fileResources": files,
        "language": "JAVA",
        "className": create.class_name,
        "functionName": create.function,
    }
    return Function(deterministic=True, definitions={DIALECT: definition})


def _of_sql(session: SqlSession, name: Identifier, create: s.CreateFunction) -> Function:
    plain = [replace(one, default=None) for one in create.parameters]
    inputs = tuple(
        replace(field, id=number, default_value=one.default)
        for number, (field, one) in enumerate(zip(declared_columns(plain), create.parameters, strict=True))
    )
    options = (
        {f"{NAMESPACE}part.0": SPARK_CATALOG}
        if session.database is None
        else {f"{NAMESPACE}part.0": session.catalog.name, f"{NAMESPACE}part.1": session.database}
    )
    options |= {f"{NAMESPACE}numParts": str(len(options)), IS_QUERY: str(create.is_query).lower()}
    if create.deterministic is not None:
        options[DETERMINISTIC] = str(create.deterministic).lower()
    returns = None if create.returns is None else declared_type(create.function, create.returns)
    function = Function(
        inputs,
        None if returns is None else (DataField(0, create.function, returns),),
        definitions={DIALECT: {"type": "sql", "definition": create.body}},
        comment=create.comment,
        options=options,
    )
    _check_body(session, name, create.body)
    described = _described_by_spark(session, name, function)
    deterministic = described["Deterministic:"][0]
    contains = described["Data Access:"] == ["CONTAINS SQL"] if create.contains_sql is None else create.contains_sql
    settings = (line.partition("=") for line in described.get("Configs:", ()))
    return replace(
        function,
        return_params=(
            DataField(0, create.function, declared_type(create.function, create.returns or described["Returns:"][0])),
        ),
        deterministic=deterministic == "true",
        options={
            **options,
            **{f"{OF_SESSION}{key}": value for key, _, value in settings},
            DETERMINISTIC: deterministic,
            CONTAINS_SQL: str(contains).lower(),
        },
    )


def _check_body(session: SqlSession, name: Identifier, body: str) -> None:
    """Checks that a body calls no function that other sessions lack.

    Raises:
        UnsupportedFeature: it does.
    """
    for call in stored_calls(f"SELECT {body}", replace(session.names, database=name.database)):
        if (
            call.is_bare
            and call.function.lower() not in session.system_functions
            and session.has_function(call.function)
        ):
            raise UnsupportedFeature(
                f"SQL: CREATE FUNCTION {name}: its body calls {call.function}, a function of this Spark session that "
                "others do not have; write what it does into the body"
            )


def _described_by_spark(session: SqlSession, name: Identifier, function: Function) -> dict[str, list[str]]:
    """What DESCRIBE FUNCTION EXTENDED tells of a function: the lines of each part by its title."""
    made = f"{session.catalog.name}.{name} to be created"
    make_temporary(session, made, name, function, plan_body)
    try:
        lines = session.spark.sql(f"DESCRIBE FUNCTION EXTENDED {quoted(made)}").collect()
    finally:
        session.spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {quoted(made)}")
        drop_views(session, made)
    described: dict[str, list[str]] = {}
    title = ""
    for (line,) in lines:
        title = line[:_TITLE].strip() or title
        described.setdefault(title, []).append(line[_TITLE:].strip())
    return described


def describe_function(session: SqlSession, described: q.DescribeFunction) -> DataFrame:
    """A function that a catalog stores, as the official connector shows it (Java: DescribePaimonV1FunctionCommand).

    Raises:
        FunctionNotFound: there is no such function.
        UnsupportedFeature: it has no definition for Spark, or one in Java code.
    """
    name = Identifier(described.database, described.function)
    function = session.catalog.load_function(name)
    definition = function.definitions.get(DIALECT) or {}
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
        contains = function.options.get(CONTAINS_SQL)
        if contains is not None:
            pairs.append(("Data Access:", "CONTAINS SQL" if contains.lower() == "true" else "READS SQL DATA"))
        settings = sorted(item for item in function.options.items() if item[0].startswith(OF_SESSION))
        texts = [f"{key.removeprefix(OF_SESSION)}={value}" for key, value in settings]
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
