"""Queries: each table of ours becomes a DataFrame with the columns and rows that the query needs; Spark runs the rest.

The user's own characters go to ``spark.sql``, with ``{paimon_0}`` in the place of the first table, and so on.

So go the values of functions that we know: ``sys.max_pt`` (features 8.3; Java: MaxPtFunction), current names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyspark.sql.types as st
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from paimon_spark.catalogs.views import SPARK, View
from paimon_spark.errors import OptionError, SqlError, UnsupportedFeature
from paimon_spark.format.blob_file import view_head
from paimon_spark.format.options.column_names import given_columns
from paimon_spark.format.paths import partition_text
from paimon_spark.format.quoting import quoted
from paimon_spark.format.schema import METADATA_COLUMNS, ROW_ID, SEARCH_SCORE, SEQUENCE_NUMBER
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import DataField, Root
from paimon_spark.spark.native.read_table import ReadExplanation, ReadRequest, read_found, read_table, read_when_needed
from paimon_spark.spark.queries.aggregate_pushdown import Answer, exchanged, finished, metadata_answer
from paimon_spark.spark.queries.asking import Args, ask_spark
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.queries.stored_functions import with_stored_functions
from paimon_spark.spark.queries.table_use import plan_read, plan_use
from paimon_spark.spark.queries.view_columns import as_stored
from paimon_spark.sql.parse import parse
from paimon_spark.sql.queries.blob_functions import EXPRESSIONS, blob_view, reference_to
from paimon_spark.sql.queries.functions import (
    BlobCall,
    Call,
    MaxPartition,
    ViewCall,
    catalog_calls,
    current_names,
    with_values,
)
from paimon_spark.sql.queries.parameters import argument_literal, question_marks, with_literals
from paimon_spark.sql.queries.query import Conjunct, Query, Search, TextSearch, Travel, Use, fold
from paimon_spark.sql.statements import Untouched
from paimon_spark.sql.text.cursor import column_path
from paimon_spark.sql.text.literals import literal_text
from paimon_spark.sql.text.names import Names, TableName
from paimon_spark.store.scan.read_spec import find_fields
from paimon_spark.store.scan.row_limits import check_unlimited
from paimon_spark.store.scan.table_scan import Scan
from paimon_spark.store.system_tables.totals import largest_partition_value

DEFAULT = "__paimon_default"
"""The key of the default value of a column, in its metadata."""
_FRAME = "paimon_{}"
UNKNOWN_NAME = re.compile("UNRESOLVED_(?:COLUMN|USING|MAP_KEY)|CANNOT_RESOLVE_STAR")
"""Conditions of Spark's errors about names that are not there."""
_DEEPEST = 100  # as Spark's spark.sql.view.maxNestedViewDepth


@dataclass(frozen=True)
class QueryFrames:
    """A query with the DataFrames of its tables.

    Attributes:
        text: for ``spark.sql(text, **frames)``.
        frames: by their names in the text.
        explanations: of each table that was exchanged, how it is read.
    """

    text: str
    frames: Mapping[str, DataFrame]
    explanations: tuple[tuple[Use, ReadExplanation], ...]


def run_query(session: SqlSession, query: Query, args: Args = None, before: str = "") -> DataFrame:
    """The result of a query, as a DataFrame.

    Args:
        args: for the parameters of the query, as ``spark.sql`` takes them.
        before: words before the query, such as EXPLAIN.

    Raises:
        TableNotFound: a table of ours is not there.
        PaimonError: a table of ours cannot be read as the query asks.
        AnalysisException: Spark does not understand the rest.
    """
    return run_planned(session, query, args, before)[0]


def run_planned(
    session: SqlSession, query: Query, args: Args = None, before: str = ""
) -> tuple[DataFrame, QueryFrames]:
    """As run_query, and how the tables of the query are read."""
    try:
        return _asked(session, query, args, before)
    except AnalysisException as error:
        if not UNKNOWN_NAME.search(error.getCondition() or ""):
            raise
    # of all columns Spark names those that are like the one it does not know
    return _asked(session, query.with_all_columns(), args, before)


def _asked(session: SqlSession, query: Query, args: Args, before: str) -> tuple[DataFrame, QueryFrames]:
    planned = plan_query(session, query, args)
    try:
        return ask_spark(session, f"{before}{planned.text}", args, planned.frames, query.text), planned
    except AnalysisException as error:
        name = _unknown_metadata(error)
        if name is None:
            raise
        raise SqlError(
            f"SQL: there is no column {name} where it stands: metadata columns are those of a table in the FROM of the "
            "same SELECT; a sub-query, a common table expression or a view has them if its own select list names them, "
            f"and system tables have none. {ROW_ID} and {SEQUENCE_NUMBER} belong to tables with 'row-tracking.enabled'"
        ) from None


def _unknown_metadata(error: AnalysisException) -> str | None:
    """The metadata column that Spark does not find; None: the error is another one."""
    if not (error.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
        return None
    name = (error.getMessageParameters() or {}).get("objectName", "").strip("`").rpartition("`.`")[2]
    return name if fold(name) in set(map(fold, METADATA_COLUMNS)) else None


def run_untouched(session: SqlSession, statement: Untouched, args: Args = None) -> DataFrame:
    """What Spark makes of a statement that names nothing of ours."""
    return ask_spark(session, statement.text, args)


def plan_query(session: SqlSession, query: Query, args: Args = None, depth: int = 0) -> QueryFrames:
    """The DataFrames of the tables and views of a query. Equal uses of a table share one, planned once.

    Args:
        session: the session.
        query: the query.
        args: values of its parameters.
        depth: in how many views the query stands.
    """
    named = args if isinstance(args, Mapping) else {}
    frames: dict[str, DataFrame] = {}
    views: dict[str, DataFrame] = {}
    made: dict[ReadRequest, str] = {}
    in_part: set[ReadRequest] = set()
    names: list[str | None] = []
    explanations: list[tuple[Use, ReadExplanation]] = []
    uses = list(query.uses)
    for at, use in enumerate(query.uses):
        if depth == 0 and session.reads_temporary_view(use):
            names.append(None)
            continue
        view = session.find_view(use.name)
        if view is not None:
            frame = _FRAME.format(f"view_{len(views)}")
            views[frame] = _view_frame(session, use, view, explanations, depth)
            names.append(frame)
            continue
        if use.search is not None:
            frame = _FRAME.format(f"found_{at}")
            frames[frame], uses[at] = search_frame(session, use, use.search, named)
            names.append(frame)
            continue
        used = plan_use(session, use, named)
        uses[at] = replace(use, hidden=used.hidden)
        answer = Answer() if used.hidden else metadata_answer(session, use, used.opened, used.where)
        if answer.frame is not None:
            frame = _FRAME.format(f"known_{at}")
            frames[frame] = answer.frame.frame
            explanations.append((use, answer.frame.explanation))
            names.append(frame)
            uses[at] = exchanged(use)
            continue
        if used not in made:
            made[used] = _FRAME.format(len(made))
            found = read_table(session.spark, used)
            frames[made[used]] = with_defaults(found.frame, used) if query.tells_defaults else found.frame
            explanations.append((use, replace(found.explanation, needs_rows=answer.reasons)))
            if found.explanation.in_part:
                in_part.add(used)
        if used in in_part and used.partials is not None:
            uses[at] = finished(uses[at], used.partials)
        names.append(made[used])
    return QueryFrames(replace(query, uses=tuple(uses)).render(names), {**frames, **views}, tuple(explanations))


def search_frame(
    session: SqlSession, use: Use, search: Search | TextSearch, args: Mapping[str, Any]
) -> tuple[DataFrame, Use]:
    """The rows that are found, the nearest or best first, and the use of the table with the hidden columns of the rows.

    Conditions of the WHERE on columns of the table say which rows are searched.

    Args:
        args: the values of the named parameters of the query.

    Raises:
        UnsupportedFeature: the query cannot have the score, or its conditions have parameters that are not known here.
        SqlError: a parameter of a condition has no argument.
        PaimonError: as of plan_use, and of Scan.vector_search or Scan.full_text_search.
    """
    if use.metadata and use.metadata_refusal:
        raise UnsupportedFeature(
            f"SQL: {use.metadata[0]} of {use.name} cannot be read in this query, because {use.metadata_refusal}"
        )
    whole = (part if isinstance(part, Conjunct) else part.whole for part in use.conjuncts)
    known = (_with_arguments(use.name, part, args) for part in whole if part is not None)
    asked = replace(use, conjuncts=tuple(known))
    request = plan_use(session, asked, args)
    score = (SEARCH_SCORE,) if SEARCH_SCORE in use.metadata else ()
    frame = read_found(
        session.spark,
        request,
        partial(_searched, search),
        [st.StructField(name, st.FloatType()) for name in score],
    )
    return frame, replace(use, hidden=(*request.hidden, *score))


def _with_arguments(table: TableName, part: Conjunct, args: Mapping[str, Any]) -> Conjunct:
    """A condition that says which rows are searched: without its parameters others would be found."""

    def literal(shown: str, value: Any) -> str:
        made = argument_literal(value)
        if made is None:
            raise UnsupportedFeature(
                f"SQL: the value of the parameter {shown}, in a condition on a search in {table}, is a "
                f"{type(value).__name__}; give a number, text, date or time, or write it into the text"
            )
        return made

    if question_marks(part.text):
        raise UnsupportedFeature(
            f"SQL: the condition {part.text} on a search in {table} has a parameter without a name, which cannot say "
            "which rows are searched; name it, as :name, and give the arguments as a dict"
        )
    return replace(part, text=with_literals(part.text, args, iter(()), literal))


def _searched(search: Search | TextSearch, scan: Scan) -> pa.Table:
    if isinstance(search, TextSearch):
        return scan.full_text_search(search.column, search.query, search.count)
    return scan.vector_search(search.column, search.vector, search.count, search.options)


def with_defaults(frame: DataFrame, used: ReadRequest) -> DataFrame:
    """The rows of a table, with the default values of its columns in their metadata, as far as it has some."""
    defaults = {} if used.opened is None else {field.name: field.default_value for field in used.opened.schema.fields}
    columns = [
        F.col(quoted(field.name))
        if defaults.get(field.name) is None
        else F.col(quoted(field.name)).alias(field.name, metadata={**field.metadata, DEFAULT: defaults[field.name]})
        for field in frame.schema.fields
    ]
    return frame.select(*columns) if any(defaults.values()) else frame


def run_view(session: SqlSession, name: TableName, view: View) -> DataFrame:
    """The rows of a view, with the columns and types that it was stored with.

    Raises:
        SqlError: the query gives other columns than the view was stored with.
        PaimonError: as of run_query.
    """
    return _view_frame(session, Use(name, 0, 0), view, [], 0)


def read_named(
    session: SqlSession,
    name: TableName,
    columns: str | Sequence[str] | None,
    where: str | Column | None,
    travel: Travel | None,
    options: Mapping[str, str],
    native: bool | None,
) -> DataFrame:
    """The rows of a table; see SessionCatalog.table."""
    names = given_columns(columns)
    text = where if isinstance(where, str) else None
    view = session.find_view(name)
    if view is not None:
        if columns is not None or where is not None or travel is not None or options or native is not None:
            raise OptionError(f"reading {name}: it is a view, so choose columns and rows of the DataFrame")
        return run_view(session, name, view)
    frame = read_when_needed(session.spark, plan_read(session, name, travel, options, names, text, native))
    return frame if where is None or isinstance(where, str) else frame.where(where)


def _view_frame(
    session: SqlSession, use: Use, view: View, explanations: list[tuple[Use, ReadExplanation]], depth: int
) -> DataFrame:
    """The rows of a view. Names without a database are of the database of the view, not of the current one."""
    if depth >= _DEEPEST:
        raise SqlError(f"SQL: the view {use.name} is made of {_DEEPEST} views one in the other, or of itself")
    if use.travel is not None or use.increment is not None or use.search is not None or use.options:
        raise UnsupportedFeature(
            f"SQL: {use.name} is a view, which has neither states nor changes nor options; ask its tables for them"
        )
    assert use.name.database is not None
    inner = parse_view(session, use.name.database, view.query_for(SPARK))
    planned = plan_query(session, inner, None, depth + 1)
    explanations += planned.explanations
    return as_stored(session.spark.sql(planned.text, None, **planned.frames), str(use.name), view.fields)


def parse_view(session: SqlSession, database: str, text: str) -> Query:
    """The query of a view of that database.

    Raises:
        SqlError: it is no query.
    """
    return _inner_query(with_functions(session, text, database), Names(session.catalog.name, database), "a view")


def _inner_query(text: str, names: Names, of: str) -> Query:
    found = parse(text, names)
    if isinstance(found, Untouched):
        return Query(found.text)
    if not isinstance(found, Query):
        raise SqlError(f"SQL: the text of {of} is no query")
    return found


def plan_body(session: SqlSession, database: str | None, text: str) -> QueryFrames:
    """The query of the body of a function that the catalog stores. Like Java's, it calls no other stored function.

    Args:
        database: of names without one; None: they are those of Spark's own catalog.
    """
    query = _inner_query(text, Names(session.catalog.name, database), "a function")
    return plan_query(session, query, None, 1)


def with_functions(session: SqlSession, text: str, database: str | None = None) -> str:
    """The text with the values of ``sys.max_pt('db.t')`` as literals, and those of ``current_catalog()`` and
    ``current_schema()`` while our catalog is the current one; a text without them as it is. Functions of references to
    blobs become expressions, and functions that the catalog stores temporary functions of the session.

    Args:
        database: of the tables and functions in it that are named without one; None: the current one.

    Raises:
        SqlError: the argument is not one string, or the table has no partition columns or no partition with rows; or
            there is no such BLOB column.
        TableNotFound: there is no such table.
        FunctionNotFound: a function of the catalog is named that is not there.
        UnsupportedFeature: another function of ``sys`` is called, or one that this package cannot run.
    """
    names = session.names if database is None else replace(session.names, database=database)
    calls = catalog_calls(text, names)
    while inner := next((call for call in reversed(calls) if isinstance(call, BlobCall | ViewCall)), None):
        if isinstance(inner, ViewCall):
            made = blob_view(_view_head(session, names, inner), inner.argument)
        else:
            made = EXPRESSIONS[inner.name](inner.argument) if inner.path is None else reference_to(inner.path)
        text = with_values(text, {inner: made})
        calls = catalog_calls(text, names)
    partitions = [call for call in calls if isinstance(call, MaxPartition)]
    largest = {name: _largest(session, names, name) for name in {call.table for call in partitions}}
    literals: dict[Call, str] = {call: largest[call.table] for call in partitions}
    if session.database is not None:
        for called in current_names(text):
            value = literal_text(session.catalog.name if called.is_catalog else session.database)
            literals[called] = value + (f" AS {quoted(called.alias)}" if called.alias else "")
    return with_stored_functions(session, with_values(text, literals), plan_body, names)


def _view_head(session: SqlSession, names: Names, call: ViewCall) -> bytes:
    """What a view of a column of a table begins with, as ``sys.blob_view`` names them."""
    begin = f"sys.blob_view('{call.table}', '{call.column}', ...)"
    name = _table_name(session, names, call.table)
    table = session.open(name)
    if name.database is None:
        raise SqlError(f"{begin}: a view names a table by its database and its name, and this is a path")
    (field,) = find_fields(table.schema, (call.column,))
    if field.type.root is not Root.BLOB:
        raise SqlError(f"{begin}: the column is {type_sql(field.type)}, and views lead to BLOB columns")
    if not table.schema.tracking_fields:
        raise SqlError(f"{begin}: the rows of the table have no ids ('row-tracking.enabled'), which views need")
    return view_head(f"{name.database}.{name.table}{name.suffixes}", field.id)


def _table_name(session: SqlSession, names: Names, text: str) -> TableName:
    """The table that the argument of a function names, in a statement or, by the names of a view, in a view."""
    is_of_call = names.is_alone and names == session.names
    return session.table_name(text) if is_of_call else names.load_table(column_path(text))


def _largest(session: SqlSession, names: Names, name: str) -> str:
    table = session.open(_table_name(session, names, name))
    if not table.schema.partition_fields:
        raise SqlError(f"sys.max_pt('{name}'): the table has no partition columns")
    check_unlimited(table, "finding the largest partition")
    value = largest_partition_value(table)
    if value is None:
        raise SqlError(f"sys.max_pt('{name}'): the table has no partitions, or none of them has rows")
    return _as_text(value, table.schema.partition_fields[0])


def _as_text(value: Any, field: DataField) -> str:
    """What Spark's cast of the value to a string is, in SQL. An instant is shown in the zone of the session."""
    root = field.type.root
    if root is Root.TIME:
        return literal_text(str(value))  # for Spark it is an INT: the milliseconds of the day
    text = partition_text(value, field.type, legacy=False)
    if root is Root.TIMESTAMP:
        return f"CAST(TIMESTAMP_NTZ {literal_text(text)} AS STRING)"
    if root is Root.TIMESTAMP_LTZ:
        return f"CAST(TIMESTAMP_LTZ {literal_text(f'{text} UTC')} AS STRING)"
    return literal_text(text)
