"""INSERT INTO and INSERT OVERWRITE (features 2.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from pyspark.sql import DataFrame

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.rules.missing_columns import DEFAULT
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.aligned_values import Naming
from paimon_spark.spark.adapters.dataframes import FewRows
from paimon_spark.spark.adapters.session_options import is_case_sensitive
from paimon_spark.spark.queries.asking import Args
from paimon_spark.spark.queries.run_query import run_query
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.statements.inserted_columns import (
    InsertTarget,
    insert_errors,
    insert_frame,
    inserted_columns,
    with_fixed_values,
)
from paimon_spark.spark.statements.partition_specs import dynamic_columns, fixed_values
from paimon_spark.sql.queries.query import Query, lists_rows
from paimon_spark.sql.statements import Insert, InsertSeveral
from paimon_spark.sql.text.default_texts import default_expression
from paimon_spark.sql.text.lexer import Token, tokenize
from paimon_spark.sql.text.literals import Value, partition_condition
from paimon_spark.store.file_tables.format_table import FormatScan, FormatTable
from paimon_spark.store.open import ReadableTable, with_snapshots
from paimon_spark.writes.options import DYNAMIC_OVERWRITE, MERGE_OPTIONS, MERGE_SCHEMA, WRITE_MISSING_COLUMNS
from paimon_spark.writes.write_job import WriteResult


def run_insert(session: SqlSession, insert: Insert, args: Args = None) -> DataFrame:
    """Adds rows to a table, or replaces all rows, those of some partitions, or those of the partitions of the rows.

    Returns:
        No rows, as Spark does.

    Raises:
        SqlError: columns or partitions do not fit the table.
        DataError: values do not fit their columns.
        PaimonError: as PaimonTable.append and overwrite say.
    """
    write = _prepared(session, insert, args)
    write()
    return session.no_rows


def write_insert(session: SqlSession, insert: Insert) -> WriteResult:
    """As run_insert; what was written.

    Raises:
        As run_insert.
    """
    return cast(WriteResult, _prepared(session, insert, None)())


def run_inserts(session: SqlSession, several: InsertSeveral, args: Args = None) -> DataFrame:
    """INSERTs behind one FROM: all queries are planned first, then the rows are written, each INSERT in its own commit.

    Raises:
        UnsupportedFeature: parameters without names, which the queries share.
        PaimonError: as of run_insert. What an INSERT before has written stays.
    """
    if args is not None and not isinstance(args, Mapping):
        raise UnsupportedFeature("SQL: several INSERTs behind FROM take parameters with names, such as :id")
    writes = [_prepared(session, insert, args) for insert in several.inserts]
    for write in writes:
        write()
    return session.no_rows


def _prepared(session: SqlSession, insert: Insert, args: Args) -> Callable[[], object]:
    """Plans the query of an INSERT and checks that it fits the table. What is returned writes the rows."""
    stored = _target(session, insert)
    naming = Naming(is_case_sensitive(session.spark))
    partition_fields = stored.schema.partition_fields
    fixed = fixed_values(session.spark, str(insert.table), partition_fields, insert.partition, naming)
    if insert.if_not_exists and _has_partition(session, insert, fixed):
        return lambda: None
    options = {WRITE_MISSING_COLUMNS.key: DEFAULT, **insert.options}
    is_hive_style = session.said_of(insert.table).hive_style_partition
    dynamic = dynamic_columns(partition_fields, insert.partition, naming) if is_hive_style else ()
    target = InsertTarget(
        str(insert.table), stored.schema.fields, insert.columns, insert.by_name, fixed, naming, dynamic
    )
    rows = run_query(session, insert.query, args) if insert.by_name else _positional_rows(session, insert, target, args)
    asked = rows
    if insert.by_name and _merges_schema(session, insert):
        rows = with_fixed_values(rows, target)
    else:
        options |= dict.fromkeys(MERGE_OPTIONS, "false")  # values by their positions say nothing of new columns
        rows = insert_frame(session.spark, rows, target)
    write = _write(session, insert, FewRows(rows) if lists_rows(insert.query) else rows, options, fixed)

    def run() -> object:
        with insert_errors(target, asked, rows):
            return write()

    return run


def _target(session: SqlSession, insert: Insert) -> ReadableTable | FormatTable:
    """The table that an INSERT writes to: one with snapshots, or a format table."""
    found = session.open_any(insert.table)
    return found if isinstance(found, FormatTable) else with_snapshots(found)


def _write(
    session: SqlSession,
    insert: Insert,
    given: DataFrame | FewRows,
    options: Mapping[str, str],
    fixed: Mapping[str, Value],
) -> Callable[[], object]:
    table = session.known_table(insert.table)
    if insert.replace_where is not None:
        return partial(table.overwrite, given, insert.replace_where, options)
    if not insert.overwrite:
        return partial(table.append, given, options)
    names_all = len(fixed) == len(_target(session, insert).schema.partition_keys)  # then no row chooses a partition
    if fixed and (names_all or not _is_dynamic(session, options)):
        return partial(table.overwrite, given, partition_condition(fixed), options)
    return partial(table.overwrite, given, options=options)


def _positional_rows(session: SqlSession, insert: Insert, target: InsertTarget, args: Args) -> DataFrame:
    """The rows of a query whose columns have no names that count, with the default values of the columns they go to."""
    columns = inserted_columns(target)
    query = with_defaults(insert.query, columns)
    rows = run_query(session, query, args)
    named = inserted_columns(target, rows.columns)
    if query is insert.query or named == columns:
        return rows
    # only the query tells its names, and they say which columns its values, and so its defaults, belong to
    return run_query(session, with_defaults(insert.query, named), args)


def _merges_schema(session: SqlSession, insert: Insert) -> bool:
    """True if the statement or the session lets rows add columns to the table."""
    said = {**session.said_of(insert.table).of_writes, **insert.options}
    return any(key.lower() == MERGE_SCHEMA and value.lower() == "true" for key, value in said.items())


def _has_partition(session: SqlSession, insert: Insert, fixed: Mapping[str, Value]) -> bool:
    """True if there are rows in the partition that INSERT OVERWRITE ... IF NOT EXISTS names."""
    scan = _target(session, insert).scan(where=partition_condition(fixed))
    return bool(scan.tasks() if isinstance(scan, FormatScan) else scan.plan().splits)


def _is_dynamic(session: SqlSession, options: Mapping[str, str]) -> bool:
    """True if only the partitions of the rows are replaced, also where PARTITION (...) names some."""
    if DYNAMIC_OVERWRITE in options:
        return options[DYNAMIC_OVERWRITE].lower() == "true"
    mode = session.spark.conf.get("spark.sql.sources.partitionOverwriteMode", "static") or "static"
    return mode.lower() == "dynamic"


def with_defaults(query: Query, columns: Sequence[DataField]) -> Query:
    """A query whose VALUES have the default expressions of the columns in the place of DEFAULT.

    Args:
        query: of an INSERT.
        columns: where the values of a row go, in their order.
    """
    tokens = tokenize(query.text)
    if query.uses or not tokens or tokens[0].upper != "VALUES":
        return query
    text = query.text
    for token, position in reversed(_defaults(tokens)):
        if position < len(columns):
            text = f"{text[: token.start]}{default_expression(columns[position])}{text[token.end :]}"
    return replace(query, text=text)


def _defaults(tokens: Sequence[Token]) -> list[tuple[Token, int]]:
    """The words DEFAULT that are whole items of a row, each with the position of the item."""
    found = []
    depth = position = 0
    for before, token, after in zip(tokens, tokens[1:], [*tokens[2:], None], strict=False):
        if token.upper == "(":
            depth += 1
            position = 0 if depth == 1 else position
        elif token.upper == ")":
            depth -= 1
        elif token.upper == "," and depth == 1:
            position += 1
        ends = after is not None and after.upper in (",", ")")
        if token.upper == "DEFAULT" and depth == 1 and before.upper in ("(", ",") and ends:
            found.append((token, position))
    return found
