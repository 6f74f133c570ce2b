"""The object that ``paimon_spark.catalog`` returns.

It also gives tables permanent names in Spark's own catalog. Spark keeps neither the path nor the options of a table
whose source is written in Python. It keeps the text of a view over such a table, though, and with it the options behind
WITH. So a published table is two entries of Spark's catalog: a table that only has the columns, and a view over it that
has the path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from paimon_spark.arguments.checks import checked_with, checks_arguments
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.factory import open_catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.cdc.batches.decoding import DecodingOptions, decoding_of
from paimon_spark.cdc.batches.routing import TableNames
from paimon_spark.errors import NameTaken, OptionError, SqlError, UnsupportedMethod
from paimon_spark.format.options.foreign_names import ForeignNames
from paimon_spark.format.options.other_systems import CATALOG_ADVICE
from paimon_spark.format.quoting import quoted
from paimon_spark.spark.adapters.open_catalogs import add_catalog, catalog_options
from paimon_spark.spark.adapters.options import PATH
from paimon_spark.spark.adapters.types import declared_type
from paimon_spark.spark.native.read_table import ReadExplanation
from paimon_spark.spark.queries.asking import Args
from paimon_spark.spark.queries.reading import read_statement
from paimon_spark.spark.queries.run_query import parse_view, plan_query, read_named
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.queries.temporary_views import create_temporary_view
from paimon_spark.spark.statements.run import run_sql
from paimon_spark.sql import statements as s
from paimon_spark.sql.queries.query import Query, Travel, Use
from paimon_spark.sql.statements import CreateView, Delete, Merge, Update
from paimon_spark.sql.text.cursor import read_parts
from paimon_spark.sql.text.literals import literal_text
from paimon_spark.sql.text.names import TableName
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.storage.publishers import CONNECTION
from paimon_spark.writes.write_job import WriteResult

if TYPE_CHECKING:
    from paimon_spark.spark.table.table_api import PaimonTable

NAME = "paimon"
_NO_OPTIONS: Mapping[str, str] = {}
_COLUMNS_SUFFIX = "__paimon_columns"
_SECRETS = ("secret", "password", "token", "access-key", "accesskey")


_ADVICE = {
    "catalog(name)": "options of the catalog are given in place of the warehouse, which is one of them: "
    "catalog(spark, {'warehouse': '/lake', ...})"
}


@checked_with(_ADVICE)
def catalog(spark: SparkSession, options: str | Mapping[str, str] | None = None, name: str = NAME) -> SessionCatalog:
    """The catalog of a warehouse, for a Spark session.

    ``PaimonTable.forName`` finds its tables from then on. Where a session has several catalogs, names begin there with
    that of the catalog; a name that may mean several tables is refused. The names are those of ``sql`` and ``table`` of
    the object: plain ``spark.sql`` and ``spark.table`` know them after ``paimon_spark.register_catalog``.

    Args:
        options: the warehouse, or Paimon's catalog options such as ``{"warehouse": "s3://lake", "s3.endpoint": ...}``.
            None: the settings ``spark.sql.catalog.<name>.<option>`` of the session. A relative warehouse begins where
            the session was started, on Spark Connect where this process is.
        name: the first part of the names of its tables in SQL: ``paimon.db.table``.

    Raises:
        OptionError: an option is unknown or missing.
        UnsupportedFeature: a metastore that this release does not have.
    """
    session = SqlSession(spark, open_catalog(catalog_options(spark, options, name), name))
    add_catalog(spark, session.opened)
    return SessionCatalog(session)


@checks_arguments
class SessionCatalog(ForeignNames):
    """The tables of a warehouse by name, in one Spark session.

    - Rows: ``sql``, ``table``, ``stream``, ``catalog["db.table"]`` (a PaimonTable), ``explain``
    - What is there: ``databases``, ``tables``, ``exists``
    - Change: ``create_database``, ``drop_database``, ``drop_table``, ``rename_table``, and all statements of ``sql``
    - Names for plain Spark: ``create_views``, ``publish``
    - Follow the tables of a database: ``sync_database``
    """

    _advice = CATALOG_ADVICE

    def __init__(self, session: SqlSession) -> None:
        """Use ``paimon_spark.catalog``."""
        self._session = session

    def __repr__(self) -> str:
        """The name and the warehouse, without other options, which may hold secrets."""
        return f"SessionCatalog({self._session.catalog!r})"

    @property
    def name(self) -> str:
        """The first part of the names of its tables in SQL."""
        return self._session.catalog.name

    @property
    def catalog(self) -> Catalog:
        """The catalog itself, which needs no Spark."""
        return self._session.catalog

    # ------------------------------------------------------------------------------------------------------------ rows

    def sql(self, text: str, args: Mapping[str, Any] | Sequence[Any] | None = None) -> DataFrame:
        """Runs one statement of SQL in this catalog: ``database.table`` and ``paimon.`<path>``` are its tables.

        Queries run in Spark, which reads the columns and rows it needs of each table. Statements that change something
        have been done when this returns. Temporary views of Spark come before tables with a name of one part, and
        Spark's own tables are ``spark_catalog.database.table``. What names no table goes to ``spark.sql`` as it is.

        Args:
            args: for the parameters ``:name`` or ``?`` of a query, as ``spark.sql`` takes them.

        Raises:
            SqlError: a table of this catalog is named, and the text is not understood.
            UnsupportedFeature: the statement is not in this release.
            PaimonError: the statement cannot be done.
        """
        return run_sql(self._session, text, args)

    def table(
        self,
        name: str,
        columns: str | Sequence[str] | None = None,
        where: str | Column | None = None,
        version: int | str | None = None,
        timestamp: str | None = None,
        options: Mapping[str, str] = _NO_OPTIONS,
        native: bool | None = None,
    ) -> DataFrame:
        """The rows of a table, as it is now.

        Args:
            name: ``table`` of the current database, ``database.table``, with ``$files`` and so on for a system table.
            columns: names of the columns to read, in order, or one text such as "id, total"; None means all.
            where: a condition, as for ``PaimonTable.toDF``.
            version: a snapshot id or a tag. timestamp: the state at a time, in the zone of the session.
            options: more options of the read.
            native: whether Spark reads the files that need no merge by itself; None: where it can.
        """
        if version is not None and timestamp is not None:
            raise OptionError(f"reading {name}: version and timestamp both choose a state; give one of them")
        travel = None if version is None else Travel("version", version)
        travel = travel if timestamp is None else Travel("timestamp", timestamp)
        self._session.begin()
        return read_named(self._session, self._name(name), columns, where, travel, options, native)

    def stream(
        self,
        name: str,
        columns: str | Sequence[str] | None = None,
        where: str | None = None,
        row_kinds: bool = False,
        options: Mapping[str, str] = _NO_OPTIONS,
    ) -> DataFrame:
        """The rows of a table as a stream: its state first, then every change as it is committed.

        Args:
            name: as for ``table``; of the system tables, ``$audit_log`` and ``$binlog`` can be streamed.
            columns: as for ``table``. where: a condition in SQL.
            row_kinds: True adds a column ``_row_kind``, as for ``PaimonTable.stream``.
            options: of the stream, as for ``PaimonTable.stream``.
        """
        self._session.begin()
        return self._session.streamed(self._name(name)).stream(columns, where, row_kinds, options)

    def __getitem__(self, name: str) -> PaimonTable:
        """The table of a name, to write to it and to look after it."""
        self._session.begin()
        return self._session.table(self._name(name))

    def __contains__(self, name: str) -> bool:
        """As ``exists``."""
        return self.exists(name)

    if not TYPE_CHECKING:  # a checker of types shall go on to see that it is not there

        def __iter__(self) -> NoReturn:
            raise UnsupportedMethod("'SessionCatalog' is no iterator: tables('<database>') names the tables")

    def explain(self, text: str, args: Mapping[str, Any] | Sequence[Any] | None = None) -> str:
        """How the tables of a query are read: snapshot, files that Spark reads, splits that are merged, and why.

        Args:
            args: for the parameters of the query, as for ``sql``.
        """
        self._session.begin()
        return explain_text(self._session, text, args)

    # ------------------------------------------------------------------------------------------------------- databases

    def use(self, database: str | None) -> None:
        """Chooses the database of names that have none, first the default one; None: short names are Spark's."""
        self._session.use(database)

    def databases(self) -> list[str]:
        """The names of the databases."""
        return self._session.catalog.list_databases()

    def tables(self, database: str | None = None) -> list[str]:
        """The names of the tables of a database; None: of the current or the default one."""
        return self._session.catalog.list_tables(database or self._database())

    def exists(self, name: str) -> bool:
        """True if there is a table of that name."""
        return self._session.catalog.find_table(self._identifier(name)) is not None

    def create_database(self, name: str, ignore_if_exists: bool = False) -> None:
        """Creates a database."""
        self._session.catalog.create_database(name, ignore_if_exists=ignore_if_exists)

    def drop_database(self, name: str, ignore_if_not_exists: bool = False, cascade: bool = False) -> None:
        """Drops a database; with cascade also its tables."""
        self._session.catalog.drop_database(name, ignore_if_not_exists=ignore_if_not_exists, cascade=cascade)

    def drop_table(self, name: str, ignore_if_not_exists: bool = False) -> None:
        """Drops a table with all its files."""
        self._session.catalog.drop_table(self._identifier(name), ignore_if_not_exists=ignore_if_not_exists)

    def rename_table(self, name: str, new_name: str) -> None:
        """Gives a table another name."""
        self._session.catalog.rename_table(self._identifier(name), self._identifier(new_name))

    # ----------------------------------------------------------------------------------------------------------- names

    def create_views(self, database: str | None = None, prefix: str = "") -> list[str]:
        """Gives each table of a database a temporary view of its name, for plain ``spark.sql``.

        In ``sql`` the views show new rows; for plain ``spark.sql`` they have the rows that ``sql`` has seen last.

        Args:
            database: None: the current or the default one.
            prefix: stands before each name.

        Returns:
            The names of the views.
        """
        self._session.begin()
        names, place = [], database or self._database()
        for table in self.tables(database):
            names.append(f"{prefix}{table}")
            query = parse_view(self._session, place, f"SELECT * FROM {quoted(place)}.{quoted(table)}")
            create_temporary_view(self._session, CreateView(names[-1], query, replace=True))
        return names

    def publish(self, name: str, as_: str) -> None:
        """Gives a table a permanent name in Spark's own catalog, for ``spark.sql``, ``spark.table`` and BI tools.

        Queries over it see the newest rows, with the columns that the table has now: publish again after a change of
        the columns. It is a view, and can be read only. A table of Spark beside it, ``<name>__paimon_columns``, holds
        the columns, for Spark keeps no path of a table whose source is written in Python; lists of tables show both.

        Args:
            name: of the table, as for ``table``.
            as_: ``database.name`` of Spark; what was published under that name is replaced.

        Raises:
            OptionError: the options of the catalog hold secrets.
            NameTaken: Spark has something else of that name.
        """
        publish(self._session, self._name(name), as_)

    # ---------------------------------------------------------------------------------------------------------- changes

    def sync_database(
        self,
        messages: DataFrame,
        format: str,
        database: str | None = None,
        *,
        tables: TableNames | None = None,
        primary_keys: Mapping[str, Sequence[str]] | Sequence[str] = (),
        partition_keys: Sequence[str] = (),
        table_options: Mapping[str, str] = _NO_OPTIONS,
        options: Mapping[str, str] = _NO_OPTIONS,
        dead_letters: str | None = None,
        checkpoint: str | None = None,
        once: tuple[str, int] | None = None,
        **decoding: Unpack[DecodingOptions],
    ) -> dict[str, WriteResult] | DataStreamWriter:
        """Makes tables of one database what those of a source have become, of one stream of change messages.

        A table that is not there is made of what its messages tell. Columns follow as by ``PaimonTable.sync``.

        Args:
            messages: as for ``paimon_spark.cdc.decode``.
            format: of the messages.
            database: where the tables are; it is made if it is missing. None: the current or the default one.
            tables: which tables are taken, and their names here: ``TableNames(including="order.*", prefix="ods_")`` of
                ``paimon_spark.cdc``. None: all, under their own names; shards of one name are one table.
            primary_keys: of new tables: columns by the name of the table, or one list for all. Else what the messages
                tell; a table for which nothing tells a key is an error.
            partition_keys: of each new table that has all these columns.
            table_options: stored with each new table, such as ``{"bucket": "4"}``.
            options: of the writes.
            dead_letters: the path of a table for malformed messages, as for ``PaimonTable.sync``.
            checkpoint: of a stream, the directory of its option checkpointLocation.
            once: for a batch that is written in one's own foreachBatch: a name and the number of the batch.
            decoding: arguments of ``decode``, as for ``PaimonTable.sync``.

        Returns:
            For a batch what was written, by the name of the table; for a stream Spark's writer, to be started.

        Raises:
            PaimonError: a message is malformed or of no known table, or changes do not fit a table.
        """
        from paimon_spark.spark.catalog.database_messages import DatabasePlan, NewTables, keys_by_table, sync_messages

        plan = DatabasePlan(
            decoding_of(format, decoding, self._session.time_zone() or "UTC"),
            TableNames() if tables is None else tables,
            NewTables(keys_by_table(primary_keys), partition_keys, table_options),
            options,
        )
        return sync_messages(self.catalog, messages, database or self._database(), plan, dead_letters, checkpoint, once)

    def _database(self) -> str:
        return self._session.database or self._session.catalog.default_database

    def _name(self, name: str) -> TableName:
        return self._session.table_name(name)

    def _identifier(self, name: str) -> Identifier:
        return self._session.identifier(self._name(name))


def explain_text(session: SqlSession, text: str, args: Args = None) -> str:
    """Plans the reads of the tables of a statement, and tells of each what it is. It reads metadata, and small tables.

    Raises:
        SqlError: the statement has no query over tables of this catalog.
    """
    statement = read_statement(session, text)
    query = statement if isinstance(statement, Query) else getattr(statement, "query", None)
    if isinstance(statement, s.Explain) and isinstance(statement.inner, Query):
        query = statement.inner
    if isinstance(statement, Delete | Update | Merge):
        where = " WHERE <condition>" if not isinstance(statement, Merge) else ""
        raise SqlError(
            f"SQL: this explains how a query reads its tables, and {type(statement).__name__.upper()} is none; explain "
            f"the query of the same rows: SELECT * FROM {statement.table}{where}"
        )
    if not isinstance(query, Query) or not query.uses:
        raise SqlError(f"SQL: no table of the catalog {session.catalog.name} is read here; {session.names.how_to}")
    return "\n".join(_explained(use, read) for use, read in plan_query(session, query, args).explanations)


def _explained(use: Use, read: ReadExplanation) -> str:
    columns = (
        f"all, because {use.why_all}" if read.columns is None else ", ".join(read.columns) or "none, rows are counted"
    )
    merged = "none" if not read.merged_splits else f"{read.merged_splits} splits of {read.merged_files} files"
    readers = [f"  read by Spark: {read.native_files} files", f"  read and merged by paimon_spark: {merged}"]
    if read.local_rows:
        readers = ["  read by the driver: all, for the rows are few"]
    if read.from_metadata is not None:
        readers = []
    lines = [
        str(use.name),
        f"  snapshot: {'none' if read.snapshot is None else read.snapshot.id}",
        f"  columns: {columns}",
        f"  condition: {read.where or 'none'}",
        *_by_metadata(read),
        *readers,
        *(["  aggregated in part by the tasks"] if read.in_part else ()),
        *(f"    because {reason}" for reason in read.reasons),
        *([f"  left out by file indexes: {read.skipped_by_index} files"] if read.skipped_by_index else ()),
        *([f"  left out by the order and its limit: {read.skipped_by_order} files"] if read.skipped_by_order else ()),
    ]
    return "\n".join(lines)


def _by_metadata(read: ReadExplanation) -> list[str]:
    if read.from_metadata is not None:
        return [f"  answered by metadata: {read.from_metadata} files, of which none is opened"]
    return [f"  not answered by metadata, because {reason}" for reason in read.needs_rows]


def publish(session: SqlSession, name: TableName, as_: str) -> None:
    """Makes the permanent view, or makes it anew; see SessionCatalog.publish.

    Raises:
        TableNotFound: there is no such table.
        SqlError: the name for Spark is none.
        OptionError: the options of the catalog hold secrets, which Spark would keep as plain text.
        NameTaken: Spark has a table of that name, or a view that was not published.
    """
    secrets = sorted(key for key in session.storage_options if any(word in key.lower() for word in _SECRETS))
    if secrets:
        raise OptionError(
            f"publishing {name}: the options {', '.join(secrets)} of the catalog would stand as plain text in Spark's "
            "catalog; give the credentials through the environment of the processes instead"
        )
    columns = ", ".join(f"{quoted(f.name)} {declared_type(f.type)}" for f in session.fields(name))
    parts = _parts(session, as_)
    view = ".".join(quoted(part) for part in parts)
    carrier = ".".join(quoted(part) for part in (*parts[:-1], f"{parts[-1]}{_COLUMNS_SUFFIX}"))
    _check_free(session, view, carrier)
    storage = dict(session.storage_options)
    table = None if name.system is not None else session.open_any(name)
    if not isinstance(table, ReadableTable) or table.views is None:
        storage.pop(CONNECTION, None)  # a view only reads, and finds other tables where its values name them
    options = {PATH: session.location(name), **storage}
    pairs = ", ".join(f"{literal_text(key)} = {literal_text(value)}" for key, value in options.items())
    session.spark.sql(f"DROP VIEW IF EXISTS {view}")
    session.spark.sql(f"DROP TABLE IF EXISTS {carrier}")
    session.spark.sql(f"CREATE TABLE {carrier} ({columns}) USING paimon")
    session.spark.sql(f"CREATE VIEW {view} AS SELECT * FROM {carrier} WITH ({pairs})")


def _parts(session: SqlSession, as_: str) -> tuple[str, ...]:
    parts = read_parts(as_, session.names)
    if session.names.is_certain(parts):
        raise SqlError(f"publishing as {as_}: this is a name of the catalog {session.catalog.name}, not one of Spark's")
    return parts


def _check_free(session: SqlSession, view: str, carrier: str) -> None:
    """Refuses a name that Spark has for something else than a table that was published."""
    if session.spark.catalog.tableExists(view) and not session.spark.catalog.tableExists(carrier):
        raise NameTaken(f"publishing as {view}: Spark's catalog has another table or view of that name; choose another")
