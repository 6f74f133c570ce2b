"""The Spark sessions that use a registered catalog: each has settings of its own, and a current database.

An object of Python for which the JVM holds a proxy lives as long as that proxy, and an object of the JVM as long as
Python holds it. A proxy that a session of the JVM holds would keep that session for ever if its object of Python held
the session too. So what Python knows of a JVM's catalogs belongs to the SparkContext, and proxies refer to it weakly.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from weakref import ReferenceType, WeakValueDictionary

from pyspark.sql import SparkSession

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import SYSTEM_DATABASE
from paimon_spark.catalogs.warehouse import WarehouseTable, find_warehouse_table
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.spark_catalog.jvm_objects import Java, JvmObjects
from paimon_spark.spark.spark_catalog.spark_internals import put_catalog
from paimon_spark.sql.text.names import TableName
from paimon_spark.store.file_tables.format_table import FormatTable
from paimon_spark.store.file_tables.object_table import ObjectTable
from paimon_spark.store.open import OpenTable, ReadableTable, with_snapshots
from paimon_spark.store.system_tables.table import SystemTable, system_table
from paimon_spark.writes.options import LOCAL, NATIVE


@dataclass(frozen=True)
class NamedTable:
    """A table that Spark asks for.

    Attributes:
        sessions: the catalog in all sessions.
        asks: the catalog in the session that asks.
        name: of the table, one of its branches, or a system table.
    """

    sessions: CatalogSessions
    asks: ReferenceType[SqlSession]
    name: TableName

    @property
    def session(self) -> SqlSession:
        """The catalog in the session that asks; if that is no longer remembered, in the one that is active now."""
        return self.asks() or self.sessions.current()

    @property
    def objects(self) -> JvmObjects:
        return self.sessions.objects

    @property
    def full_name(self) -> str:
        return f"{self.session.catalog.name}.{self.name.database}.{self.name.table}{self.name.suffixes}"

    @property
    def description(self) -> str:
        """For EXPLAIN."""
        return f"paimon {self.full_name}"

    def open(self, options: Mapping[str, str]) -> ReadableTable:
        """The table, or that of the system table; as open_any.

        Raises:
            UnsupportedFeature: it is a table of another kind.
        """
        return with_snapshots(self.open_any(options))

    def open_any(self, options: Mapping[str, str]) -> OpenTable:
        """The table, of any kind, or that of the system table.

        Args:
            options: of a read; those that say who reads are no options of a table.

        Raises:
            TableNotFound: there is none.
        """
        return self.session.open_any(replace(self.name, system=None), _of_tables(options))

    def listed(self, options: Mapping[str, str]) -> SystemTable | WarehouseTable | ObjectTable | FormatTable:
        """The system table, that of the database ``sys``, or a table of files.

        Raises:
            TableNotFound: there is none.
        """
        if self.name.system is not None:
            return system_table(self.open(options), self.name.system)
        if self.name.database != SYSTEM_DATABASE:
            opened = self.open_any(options)
            assert not isinstance(opened, ReadableTable)  # Spark was given such a table
            return opened
        session = self.session
        given = {**session.storage_options, **_of_tables(options)}
        found = find_warehouse_table(session.location(self.name), given, time_zone=session.time_zone())
        assert found is not None  # the location is one in the database sys
        return found


def _of_tables(options: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in options.items() if key.lower() not in (NATIVE, LOCAL)}


_MOST_SESSIONS = 64
"""That are remembered. One that is forgotten is made again when it asks next: it holds nothing of its own."""


class CatalogSessions:
    """A catalog in the sessions of one JVM.

    Attributes:
        datasets: the rows of scans that are in use, by the session and what the scan reads.
    """

    def __init__(self, spark: SparkSession, objects: JvmObjects, catalog: Catalog) -> None:
        self.catalog: Catalog = catalog
        self.objects = objects
        self._first = spark
        self._first_id = str(spark._jsparkSession.sessionUUID())
        self._known: OrderedDict[str, SqlSession] = OrderedDict()
        self._lock = Lock()
        self.datasets: WeakValueDictionary[tuple[str, str], Java] = WeakValueDictionary()

    def renew(self, catalog: Catalog) -> None:
        """Takes the same catalog with other secrets; what has been made of it before goes on with them."""
        with self._lock:
            self.catalog = catalog
            self._known.clear()
            self.datasets.clear()

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
        found = self._known.get(key)
        if found is None:
            spark = self._first if key == self._first_id else SparkSession(self._first.sparkContext, session)
            found = SqlSession(spark, self.catalog, is_alone=False)
        with self._lock:  # threads that share a session share this too
            found = self._known.setdefault(key, found)
            self._known.move_to_end(key)
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


@dataclass
class RegisteredCatalogs:
    """The catalogs that are registered in one JVM.

    Attributes:
        objects: makes objects of the JVM.
        catalogs: by their names: the catalog, and the object that Spark has of it.
        version: another one after each registration.
        strategy: of the planners of sessions.
    """

    objects: JvmObjects
    strategy: Java
    catalogs: dict[str, tuple[CatalogSessions, Java]] = field(default_factory=dict)
    version: int = 0

    @property
    def sessions(self) -> list[CatalogSessions]:
        return [sessions for sessions, _ in self.catalogs.values()]

    def enter(self, session: Java) -> None:
        """Makes the catalogs known to a session of the JVM."""
        for name, (_, made) in list(self.catalogs.items()):
            put_catalog(session, name, made)
