"""Temporary views over tables of ours, which show new rows where a statement of a catalog names them.

Spark keeps the plan of such a view, and with it the state that each table had then. So the view is planned anew before
a statement that reads it. Plain ``spark.sql`` shows what the last of these statements has seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias
from weakref import WeakKeyDictionary

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.errors import SqlError
from paimon_spark.format.quoting import quoted
from paimon_spark.spark.native.read_table import ReadExplanation
from paimon_spark.spark.queries.asking import Args, ask_spark
from paimon_spark.spark.queries.run_query import QueryFrames, plan_query, run_planned
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.queries.view_columns import as_created
from paimon_spark.sql.queries.query import Query
from paimon_spark.sql.queries.references import names_read
from paimon_spark.sql.statements import CacheQuery, CreateView
from paimon_spark.sql.text.lexer import tokenize
from paimon_spark.sql.text.literals import literal_text

_GLOBAL = "global_temp"
Key: TypeAlias = tuple[str, ...]
"""The name of a view in small letters, behind that of the database of global ones."""


@dataclass(frozen=True)
class _View:
    """A view that this package has made.

    Attributes:
        made: the statement that made it.
        catalog: whose tables its query reads.
        args: for the parameters of the query.
        columns: of the query, when the view was made.
        plan: the hash of what Spark shows by the name; another one, and somebody else has made a view of that name.
        reads: how its tables are read; None: this does not tell all that its rows depend on.
    """

    made: CreateView | CacheQuery
    catalog: Catalog
    args: Args
    columns: StructType
    plan: int | None
    reads: tuple[ReadExplanation, ...] | None


_VIEWS: WeakKeyDictionary[SparkSession, dict[Key, _View]] = WeakKeyDictionary()


def create_temporary_view(session: SqlSession, made: CreateView | CacheQuery, args: Args = None) -> None:
    """Gives a query a name in the Spark session, or in all of them, and has Spark keep its rows if that is asked for.

    Raises:
        SqlError: the view reads itself, or names another number of columns than its query has.
        PaimonError, AnalysisException: as of run_query; there is a view of that name.
    """
    spark, views, key = session.spark, _VIEWS.setdefault(session.spark, {}), _key(made)
    made = replace(made, query=_settled(session, made.query))
    if _reads(views, made.query, key):
        raise SqlError(f"CREATE VIEW {made.name}: its query reads the view itself; give the view another name")
    frame, planned = run_planned(session, made.query, args)
    rows = _named(frame, made)
    if isinstance(made, CacheQuery):
        rows.createTempView(quoted(made.name))
        pairs = ", ".join(f"{literal_text(key)} = {literal_text(value)}" for key, value in made.options.items())
        options = f" OPTIONS ({pairs})" if pairs else ""
        spark.sql(f"CACHE {'LAZY ' if made.is_lazy else ''}TABLE {quoted(made.name)}{options}")
    elif made.replace:
        _show(rows, key, made.name)
    elif made.is_global:
        rows.createGlobalTempView(quoted(made.name))
    else:
        rows.createTempView(quoted(made.name))
    views[key] = _View(made, session.catalog, args, frame.schema, _plan(spark, key), _known_reads(made.query, planned))


def refresh_temporary_views(session: SqlSession, text: str) -> None:
    """Lets the views that a statement reads show their tables as they are now.

    Raises:
        TableNotFound: a table of a view is not there any more.
        SqlError: a column of a view is not there any more, or has another type.
        PaimonError, AnalysisException: as of run_query.
    """
    views = _VIEWS.get(session.spark)
    if not views:
        return
    try:
        names = names_read(tokenize(text))
    except SqlError:  # which the reader of statements tells, or Spark
        return
    _refresh(session.spark, views, names, frozenset())


def rename_temporary_view(session: SqlSession, old: str, new: str) -> None:
    """ALTER VIEW ... RENAME TO of a temporary view.

    Raises:
        AnalysisException: there is a view of the new name.
    """
    session.spark.sql(f"ALTER VIEW {quoted(old)} RENAME TO {quoted(new)}")
    views = _VIEWS.get(session.spark, {})
    view = views.pop((old.lower(),), None)
    if view is not None:
        views[(new.lower(),)] = replace(view, made=replace(view.made, name=new))


def _key(made: CreateView | CacheQuery) -> Key:
    is_global = isinstance(made, CreateView) and made.is_global
    return (_GLOBAL, made.name.lower()) if is_global else (made.name.lower(),)


def _settled(session: SqlSession, query: Query) -> Query:
    """The query, in which temporary views are names that Spark knows, and all others mean tables, now and later."""
    tables = (use for use in query.uses if not session.reads_temporary_view(use))
    return replace(query, uses=tuple(replace(use, name=replace(use.name, is_bare=False)) for use in tables))


def _inner(query: Query) -> frozenset[Key]:
    """The temporary views that a query reads, and perhaps names of other things."""
    tables = {(use.name.parts[0].lower(),) for use in query.uses if len(use.name.parts) == 1}
    return frozenset(name for name in names_read(tokenize(query.text)) - tables if _may_be_temporary(name))


def _may_be_temporary(name: Key) -> bool:
    return len(name) == 1 or (len(name) == 2 and name[0] == _GLOBAL)


def _reads(views: dict[Key, _View], query: Query, key: Key) -> bool:
    """True if a query reads a view, itself or through other views."""
    inner = _inner(query)
    return key in inner or any(_reads(views, views[name].made.query, key) for name in inner & views.keys())


def _refresh(spark: SparkSession, views: dict[Key, _View], names: frozenset[Key], done: frozenset[Key]) -> None:
    for key in sorted(names & views.keys() - done):
        view = views[key]
        if _plan(spark, key) != view.plan:
            del views[key]  # it is dropped, or of somebody else
            continue
        _refresh(spark, views, _inner(view.made.query), done | {key})
        planned = plan_query(SqlSession(spark, view.catalog), view.made.query, view.args)
        reads = _known_reads(view.made.query, planned)
        if reads is None or reads != view.reads:
            _show_again(spark, key, view, planned)
            views[key] = replace(view, plan=_plan(spark, key), reads=reads)


def _show_again(spark: SparkSession, key: Key, view: _View, planned: QueryFrames) -> None:
    query = view.made.query
    frame = ask_spark(SqlSession(spark, view.catalog), planned.text, view.args, planned.frames, query.text)
    rows = _named(as_created(frame, view.made.name, view.columns), view.made)
    name = ".".join(map(quoted, key))
    is_cached = spark.catalog.isCached(name)
    _show(rows, key, view.made.name)
    if is_cached:
        spark.catalog.cacheTable(name)


def _show(rows: DataFrame, key: Key, name: str) -> None:
    if key[0] == _GLOBAL and len(key) > 1:
        rows.createOrReplaceGlobalTempView(quoted(name))
    else:
        rows.createOrReplaceTempView(quoted(name))


def _named(rows: DataFrame, made: CreateView | CacheQuery) -> DataFrame:
    """The rows with the names and comments of the view for their columns."""
    columns = made.columns if isinstance(made, CreateView) else ()
    if not columns:
        return rows
    if len(columns) != len(rows.columns):
        raise SqlError(f"CREATE VIEW {made.name}: {len(columns)} columns are named, the query has {len(rows.columns)}")
    renamed = rows.toDF(*(column.name for column in columns))
    if all(column.comment is None for column in columns):
        return renamed
    metadata = [
        field.metadata if column.comment is None else {**field.metadata, "comment": column.comment}
        for field, column in zip(rows.schema.fields, columns, strict=True)
    ]
    pairs = zip(columns, metadata, strict=True)
    return renamed.select(*(F.col(quoted(column.name)).alias(column.name, metadata=said) for column, said in pairs))


def _known_reads(query: Query, planned: QueryFrames) -> tuple[ReadExplanation, ...] | None:
    """How the tables of a view are read, if its rows depend on nothing else; None: they may."""
    is_plain = not _inner(query) and all(use.name.system is None for use in query.uses)
    reads = tuple(read for _, read in planned.explanations)
    if not is_plain or len(reads) != len(query.uses) or any(read.snapshot is None for read in reads):
        return None
    return reads


def _plan(spark: SparkSession, key: Key) -> int | None:
    """The hash of what Spark shows by a name; None: there is nothing of it."""
    try:
        return spark.table(".".join(map(quoted, key))).semanticHash()
    except AnalysisException:
        return None
