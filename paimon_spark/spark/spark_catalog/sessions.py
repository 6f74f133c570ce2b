"""The Spark sessions that use a registered catalog: each has settings of its own, and a current database."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.spark.adapters.options import LOCAL, NATIVE
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.spark_catalog.jvm_objects import Java, JvmObjects
from paimon_spark.sql.text.names import TableName
from paimon_spark.store.open import ReadableTable


@dataclass(frozen=True)
class NamedTable:
    """A table that Spark asks for.

    Attributes:
        session: the catalog in the session that asks.
        objects: makes objects of its JVM.
        name: of the table, one of its branches, or a system table.
    """

    session: SqlSession
    objects: JvmObjects
    name: TableName

    @property
    def full_name(self) -> str:
        return f"{self.session.catalog.name}.{self.name.database}.{self.name.table}{self.name.suffixes}"

    @property
    def description(self) -> str:
        """For EXPLAIN."""
        return f"paimon {self.full_name}"

    def open(self, options: Mapping[str, str]) -> ReadableTable:
        """The table, or that of the system table.

        Args:
            options: of a read; those that say who reads are no options of a table.

        Raises:
            TableNotFound: there is none.
        """
        given = {key: value for key, value in options.items() if key.lower() not in (NATIVE, LOCAL)}
        return self.session.open(replace(self.name, system=None), given)


_MOST_SESSIONS = 64
"""That are remembered. One that is forgotten is made again when it asks next: it holds nothing of its own."""


class CatalogSessions:
    """A catalog in the sessions of one JVM."""

    def __init__(self, spark: SparkSession, objects: JvmObjects, catalog: Catalog) -> None:
        self.catalog = catalog
        self.objects = objects
        self._first = spark
        self._first_id = str(spark._jsparkSession.sessionUUID())
        self._known: OrderedDict[str, SqlSession] = OrderedDict()

    def current(self) -> SqlSession:
        """The session whose query or statement has made the JVM call; the one of the registration if none is active."""
        return self.of(self._active())

    def current_with_names(self) -> SqlSession:
        """The same, with the database that is current there now."""
        return self.with_current_names(self._active())

    def _active(self) -> Java:
        active = SparkSession._get_j_spark_session_class(self._first._jvm).getActiveSession()
        return active.get() if active.isDefined() else self._first._jsparkSession

    def of(self, session: Java) -> SqlSession:
        """The catalog in a session of the JVM."""
        key = str(session.sessionUUID())
        found = self._known.pop(key, None)
        if found is None:
            spark = self._first if key == self._first_id else SparkSession(self._first.sparkContext, session)
            found = SqlSession(spark, self.catalog)
        self._known[key] = found
        while len(self._known) > _MOST_SESSIONS:
            self._known.popitem(last=False)
        found.begin()
        return found

    def with_current_names(self, session: Java) -> SqlSession:
        """The catalog in a session of the JVM, with the database that is current there now."""
        found, manager = self.of(session), session.sessionState().catalogManager()
        is_current = manager.currentCatalog().name() == self.catalog.name
        namespace = list(manager.currentNamespace()) if is_current else []
        found.opened.database = namespace[0] if namespace else None
        return found
