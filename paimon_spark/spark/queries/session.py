"""What all statements of one catalog in one Spark session share: the catalog, the current database, the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException, UnsupportedOperationException
from pyspark.sql import DataFrame, SparkSession

from paimon_spark.arrow.predicates.dialect import Dialect
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.views import View
from paimon_spark.errors import SqlError
from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.live_session import LiveSession
from paimon_spark.spark.adapters.open_catalogs import OpenCatalog, of_another_catalog
from paimon_spark.spark.adapters.options import SESSION_ZONE, path_in_session
from paimon_spark.spark.adapters.session_options import SessionOptions, chosen_options, paimon_settings, sql_dialect
from paimon_spark.sql.queries.query import Use
from paimon_spark.sql.text.cursor import column_path, read_table_name
from paimon_spark.sql.text.names import Names, TableName
from paimon_spark.store.open import OpenTable, ReadableTable, open_any_table, with_snapshots
from paimon_spark.store.system_tables.table import system_table

if TYPE_CHECKING:
    from paimon_spark.spark.table.table_api import PaimonTable

_NO_OPTIONS: Mapping[str, str] = {}


class SqlSession:
    """A catalog in a Spark session.

    Attributes:
        spark: the session.
        opened: the catalog with its current database, as names outside of SQL are read in it.
        catalog: the catalog; its name is the first part of full names of its tables.
        database: the current database, in which names without a database are looked up; a session starts in the default
            one, which need not be there. None: Spark's own catalog is current, and names without ours are Spark's.
    """

    spark = LiveSession("this catalog", "open the catalog, such as paimon_spark.catalog(spark, '<warehouse>'),")

    def __init__(self, spark: SparkSession, catalog: Catalog, is_alone: bool = True) -> None:
        """
        Args:
            is_alone: as of ``Names``.
        """
        self.spark = spark
        self._is_alone = is_alone
        self.catalog = catalog
        self.opened: OpenCatalog = OpenCatalog(catalog, catalog.default_database)
        self._settings: dict[str, str] | None = None
        self._dialect: Dialect | None = None
        self._times: dict[str, int] = {}

    @property
    def database(self) -> str | None:
        return self.opened.database

    @property
    def names(self) -> Names:
        first = self.catalog.default_database
        return Names(self.catalog.name, self.database, first_database=first, is_alone=self._is_alone)

    @cached_property
    def storage_options(self) -> Mapping[str, str]:
        return self.catalog.table_options()

    @cached_property
    def no_rows(self) -> DataFrame:
        """What a statement returns that has nothing to show: no rows and no columns, as in Spark.

        Spark finds out that there is no row when it plans, so that to collect them is no job. It plans once for all
        statements of the session.
        """
        return self.spark.sql("SELECT 1 WHERE false").select()

    def use(self, database: str | None) -> None:
        """Chooses the current database; None: Spark's own catalog.

        Raises:
            DatabaseNotFound: there is none. The default database is made if it is missing, as by the JVM connector.
        """
        if database is not None:
            self.make_default(database)
            self.catalog.load_database(database)
        self.opened.database = database

    def make_default(self, database: str) -> None:
        """Makes the database if it is the default one and is missing."""
        if database == self.catalog.default_database:
            self.catalog.create_database(database, ignore_if_exists=True)

    def time_zone(self) -> str | None:
        """The zone of the Spark session, in which conditions and times are read."""
        return self.spark.conf.get(SESSION_ZONE)

    def table_name(self, text: str) -> TableName:
        """What a name means outside of SQL: without a database it is in the current or the default one.

        Raises:
            SqlError: it is no name of a table.
        """
        refusal = of_another_catalog(self.spark, column_path(text), self.catalog.name)
        if refusal is not None:
            raise SqlError(refusal)
        return read_table_name(text, self.opened.names)

    def identifier(self, name: TableName) -> Identifier:
        """The table of a name in the catalog.

        Raises:
            SqlError: the name is a path, or that of a branch or a system table.
        """
        if name.database is None or name.branch is not None or name.system is not None:
            found = "a path" if name.database is None else "a branch" if name.system is None else "a system table"
            raise SqlError(f"{name} names {found}, and a table of the catalog {self.catalog.name} is needed here")
        return Identifier(name.database, name.table)

    def location(self, name: TableName) -> str:
        """The path of a table, with the suffixes of a branch and of a system table."""
        if name.database is None:
            root = path_in_session(self.spark, name.table)
        else:
            root = self.catalog.table_location(Identifier(name.database, name.table))
        return f"{root}{name.suffixes}"

    def check_table(self, name: TableName) -> None:
        """Checks that the catalog knows a table that is to be opened by its location.

        Raises:
            TableNotFound: it does not.
        """
        if name.database is not None:
            self.catalog.check_table(Identifier(name.database, name.table))

    def find_view(self, name: TableName) -> View | None:
        """The view of the catalog that a name means; None: it is none."""
        if not self.catalog.has_views or name.database is None or name.suffixes:
            return None
        return self.catalog.find_view(Identifier(name.database, name.table))

    @cached_property
    def system_functions(self) -> tuple[str, ...]:
        """The names of Spark's own functions, in small letters."""
        return tuple(str(row[0]).lower() for row in self.spark.sql("SHOW SYSTEM FUNCTIONS").collect())

    def has_function(self, name: str) -> bool:
        """True if Spark has a function of a name of one part, which comes before one that the catalog stores."""
        return name.lower() in self.system_functions or self.spark.catalog.functionExists(quoted(name))

    def is_temporary_view(self, name: TableName) -> bool:
        """True if Spark has a temporary view of a name of one part, which comes before a table of the database."""
        if not name.is_bare:
            return False
        try:  # most names are of none, and to ask for these makes no error
            return self.spark.catalog.tableExists(quoted(name.table)) and bool(
                self.spark.catalog.getTable(quoted(name.table)).isTemporary
            )
        except (AnalysisException, UnsupportedOperationException):  # a registered catalog is current, and has a view
            return False

    def reads_temporary_view(self, use: Use) -> bool:
        """True if what a query reads is a temporary view of Spark. The functions of ours name tables alone."""
        return use.search is None and use.increment is None and self.is_temporary_view(use.name)

    def begin(self) -> None:
        """A statement begins: the settings of the Spark session are asked for again, once."""
        self._settings = None
        self._dialect = None
        self._times = {}

    def time_of(self, expression: str, args: Mapping[str, Any]) -> int:
        """What Spark makes of the expression of a time, in milliseconds since 1970; the same in all of a statement.

        Args:
            args: the values of the named parameters of the statement.

        Raises:
            SqlError: it is no time.
            AnalysisException: Spark does not understand it.
        """
        if expression not in self._times:
            text = f"SELECT unix_millis(TRY_CAST(({expression}) AS TIMESTAMP))"
            millis = self.spark.sql(text, dict(args)).collect()[0][0]
            if millis is None:
                raise SqlError(f"SQL: TIMESTAMP AS OF {expression} is no time")
            self._times[expression] = int(millis)
        return self._times[expression]

    def dialect(self) -> Dialect:
        """By which rules the Spark session reads the conditions of this statement."""
        dialect = self._dialect  # threads may share the session, and another may begin a statement
        if dialect is None:
            dialect = self._dialect = sql_dialect(self.spark)
        return dialect

    def said_of(self, name: TableName) -> SessionOptions:
        """What the settings of the Spark session say of a table."""
        settings = self._settings
        if settings is None:
            settings = self._settings = paimon_settings(self.spark)
        if name.database is None:
            return chosen_options(settings)
        return chosen_options(settings, self.catalog.name, name.database, name.table)

    def open(self, name: TableName, options: Mapping[str, str] = _NO_OPTIONS) -> ReadableTable:
        """A table with snapshots, with options of this use on top; conditions are read in the zone of the session.

        Raises:
            TableNotFound: there is none; the message tells which are there.
            UnsupportedFeature: it is a table of another kind.
            SqlError: it is a system table, which has only rows to read.
        """
        return with_snapshots(self.open_any(name, options))

    def open_any(self, name: TableName, options: Mapping[str, str] = _NO_OPTIONS) -> OpenTable:
        """A table of any kind that can be read; as ``open``."""
        if name.system is not None:
            raise SqlError(f"{name} is a system table, which can be read only; name the table itself")
        given = {**self.storage_options, **options}
        if name.database is None or name.branch is not None:
            self.check_table(name)
            return open_any_table(self.location(name), given, time_zone=self.time_zone())
        found = Identifier(name.database, name.table)
        return self.catalog.load_any_table(found, options, time_zone=self.time_zone())

    def fields(self, name: TableName) -> tuple[DataField, ...]:
        """The columns of a table or of a system table.

        Raises:
            TableNotFound: there is none; the message tells which are there.
        """
        table = self.open_any(replace(name, system=None))
        if name.system is None:
            return table.schema.fields
        return system_table(with_snapshots(table), name.system).schema.fields

    def table(self, name: TableName) -> PaimonTable:
        """A table as object, with the options that the session sets for writes.

        Raises:
            TableNotFound: there is none; the message tells which are there.
            SqlError: it is a system table.
        """
        self.open_any(name)
        return self.known_table(name)

    def known_table(self, name: TableName) -> PaimonTable:
        """As ``table``, for a caller that has opened it before: the storage is not asked whether it is there."""
        return self._as_object(name, self.said_of(name).of_writes)

    def streamed(self, name: TableName) -> PaimonTable:
        """A table, one of its branches or a system table as object, with the options that the session sets for streams.

        Raises:
            TableNotFound: there is none; the message tells which are there.
        """
        self.open(replace(name, system=None))
        return self._as_object(name, self.said_of(name).of_streams)

    def _as_object(self, name: TableName, said: Mapping[str, str]) -> PaimonTable:
        """A table as object; a session that only reads does not wait for what such an object can do."""
        from paimon_spark.spark.table.table_api import PaimonTable

        return PaimonTable(self.spark, self.location(name), {**self.storage_options, **said})
