"""Statements in a thread of their own: the session starts while the user types, and Ctrl-C stops a statement.

Spark and Py4J answer in the thread that asked. A Ctrl-C in the middle of an answer would leave the connection to Java
in an unknown state, so the main thread, which gets it, waits only, and has Spark cancel the jobs of the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.format.quoting import quoted
from paimon_spark.spark.adapters.open_catalogs import add_catalog
from paimon_spark.spark.console.quiet_session import SPARK_ERRORS, in_our_words
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.statements.run import run_sql

_MOST_OF_LIMIT = 2**31 - 1  # of Spark; more rows than that cannot be collected
_AGAIN = 0.5  # seconds after which jobs are cancelled again that have begun since
_PLAIN = (
    t.NumericType, t.StringType, t.BinaryType, t.BooleanType, t.DateType, t.TimestampType, t.TimestampNTZType,
    t.NullType,
)  # fmt: skip


class Stopped(Exception):
    """Ctrl-C came while a statement ran.

    Attributes:
        is_done: whether the statement was done all the same.
        error: what it ended with; None: nothing.
    """

    def __init__(self, error: BaseException | None) -> None:
        super().__init__("stopped")
        self.is_done: bool = error is None
        self.error = error


class StatementThread:
    """Runs the statements of one catalog in one Spark session, one after the other."""

    def __init__(self, start: Callable[[], SparkSession], catalog: Catalog, database: str | None = None) -> None:
        """Lets a session start; nothing waits for it.

        Args:
            start: returns the session. It is called in the thread of the statements.
            database: the current one; None: the default database of the catalog, which need not be there.
        """
        self.catalog = catalog
        self._database = database
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="statements")
        self._session: Future[SqlSession] = self._pool.submit(copy_context().run, self._open, start)

    @property
    def database(self) -> str | None:
        """The current database."""
        if self._session.done() and self._session.exception() is None:
            return self._session.result().database
        return self._database or self.catalog.default_database

    @property
    def is_starting(self) -> bool:
        return not self._session.done()

    def run(self, text: str, args: Mapping[str, str] | None = None, limit: int | None = None) -> pa.Table:
        """Does one statement, and waits for it.

        Args:
            args: for the parameters ``:name``.
            limit: at most so many rows; None: all.

        Returns:
            Its rows. A statement that has none has no columns either.

        Raises:
            PaimonError: Spark does not start, or the statement cannot be done.
            Stopped: Ctrl-C was pressed.
        """
        return self._wait(self._pool.submit(copy_context().run, self._run, text, args or None, limit))

    def close(self, stop: bool) -> None:
        """Ends the thread. stop: the session too, if it has started."""
        if stop and self._session.cancel() is False and self._session.exception() is None:
            self._session.result().spark.stop()
        self._pool.shutdown(cancel_futures=True)

    def _open(self, start: Callable[[], SparkSession]) -> SqlSession:
        session = SqlSession(start(), self.catalog)
        add_catalog(session.spark, session.opened)
        if self._database is not None:
            session.use(self._database)
        return session

    def _run(self, text: str, args: Mapping[str, str] | None, limit: int | None) -> pa.Table:
        session = self._session.result()
        try:
            return arrow_rows(run_sql(session, text, args), limit)
        except SPARK_ERRORS as error:
            raise in_our_words(error) from error

    def _wait(self, running: Future[pa.Table]) -> pa.Table:
        try:
            return running.result()
        except KeyboardInterrupt:
            self._cancel(running)
        raise Stopped(CancelledError() if running.cancelled() else running.exception()) from None

    def _cancel(self, running: Future[pa.Table]) -> None:
        """Cancels jobs of Spark until the statement has ended: one may begin another job, or have none yet."""
        running.cancel()  # which it lets happen as long as the session starts
        while not running.done():
            with suppress(KeyboardInterrupt):  # it is being stopped already
                if self._session.done() and self._session.exception() is None:
                    self._session.result().spark.sparkContext.cancelAllJobs()
                wait([running], _AGAIN)


def arrow_rows(frame: DataFrame, limit: int | None) -> pa.Table:
    """Runs a query.

    What Arrow or the program has no form for, such as intervals and VARIANT, is the text that Spark casts it to. Of
    columns with the same name, the second is called ``<name>_2``, and so on.

    Args:
        limit: at most so many rows; None: all, which Spark collects in memory.
    """
    if not frame.columns:  # of a statement that is done already: Spark would run a job for nothing
        return pa.table({})
    names = unique_names(frame.columns)
    named = frame if names == frame.columns else frame.toDF(*names)
    columns = [
        f.col(quoted(name)) if is_plain(field.dataType) else f.col(quoted(name)).cast("string").alias(name)
        for name, field in zip(names, frame.schema.fields, strict=True)
    ]
    shown = named if all(is_plain(field.dataType) for field in frame.schema.fields) else named.select(*columns)
    return (shown if limit is None or limit > _MOST_OF_LIMIT else shown.limit(limit)).toArrow()


def unique_names(names: Sequence[str]) -> list[str]:
    """The names, with a number behind each that was there before."""
    found: list[str] = []
    for name in names:
        number, unique = 2, name
        while unique in found or (unique != name and unique in names):
            number, unique = number + 1, f"{name}_{number}"
        found.append(unique)
    return found


def is_plain(kind: t.DataType) -> bool:
    """True if values of a type of Spark are printed as they come in Arrow."""
    if isinstance(kind, t.ArrayType):
        return is_plain(kind.elementType)
    if isinstance(kind, t.MapType):
        return is_plain(kind.keyType) and is_plain(kind.valueType)
    if isinstance(kind, t.StructType):
        return all(is_plain(field.dataType) for field in kind.fields)
    return isinstance(kind, _PLAIN) or kind.typeName().startswith("time(")
