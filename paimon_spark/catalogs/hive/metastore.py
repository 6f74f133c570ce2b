"""The calls of a Hive metastore that the catalog needs, by what they do. Databases and tables are Hive's own objects.

Names are found in any letter case, and come back in lower case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeVar

from pymetastore.hive_metastore import ttypes
from thrift.Thrift import TException

from paimon_spark.catalogs.hive.connections import Connections, connections_of
from paimon_spark.catalogs.hive.places import VIEW, HiveDatabase, HivePartition, HiveTable, is_paimon
from paimon_spark.catalogs.hive.settings import HiveSettings
from paimon_spark.catalogs.hive.transports import user_of
from paimon_spark.catalogs.identifier import Identifier, Missing, Refused, Taken
from paimon_spark.errors import CatalogUnavailable

R = TypeVar("R")
_BATCH = 300
_ALL = 32767


@dataclass(frozen=True)
class Metastore:
    """The metastore of some settings. Picklable: connections are those of the process.

    All calls raise CatalogUnavailable if it gives no answer, and Refused if it does not do what is asked.
    """

    settings: HiveSettings

    @property
    def _connections(self) -> Connections:
        return connections_of(self.settings)

    @property
    def user(self) -> str:
        """Who asks, as Hadoop says it: the owner of what is made."""
        return user_of(self.settings.security)

    def _read(self, doing: str, call: Callable[[Any], R]) -> R:
        with refusals(doing):
            return self._connections.read(doing, call)

    def _change(self, doing: str, call: Callable[[Any], R]) -> R:
        with refusals(doing):
            return self._connections.change(doing, call)

    def databases(self) -> list[str]:
        """The names, sorted."""
        return sorted(self._read("listing the databases", lambda c: c.get_all_databases()))

    def database(self, name: str) -> HiveDatabase | None:
        """None: there is none."""
        try:
            return self._read(f"reading the database '{name}'", lambda c: c.get_database(name))
        except Missing:
            return None

    def create_database(self, database: HiveDatabase) -> None:
        """Raises Taken if there is one."""
        self._change(f"creating the database '{database.name}'", lambda c: c.create_database(database))

    def alter_database(self, name: str, database: HiveDatabase) -> None:
        """Raises Missing if there is none."""
        self._change(f"changing the database '{name}'", lambda c: c.alter_database(name, database))

    def drop_database(self, name: str, deletes_data: bool, cascade: bool = False) -> None:
        """Drops a database.

        Args:
            name: of the database.
            deletes_data: whether the metastore deletes the directory that it has for it, with all files.
            cascade: whether it also drops tables and functions.

        Raises:
            Missing: there is none.
            Refused: it holds tables or functions, and cascade is false.
        """
        self._change(f"dropping the database '{name}'", lambda c: c.drop_database(name, deletes_data, cascade))

    def table(self, identifier: Identifier) -> HiveTable | None:
        """A table or view; None: there is none."""
        database, name = identifier.database, identifier.table
        try:
            return self._read(f"reading {identifier}", lambda c: c.get_table(database, name))
        except Missing:
            return None

    def names(self, database: str) -> list[str]:
        """The names of all tables and views of a database, sorted."""
        return sorted(self._read(f"listing '{database}'", lambda c: c.get_all_tables(database)))

    def tables(self, database: str) -> list[HiveTable]:
        """All tables and views of a database, by name; none if it is dropped concurrently."""
        names, found = self.names(database), []
        try:
            for start in range(0, len(names), _BATCH):
                found += self.some_tables(database, names[start : start + _BATCH])
        except Missing:
            return []
        return sorted(found, key=lambda table: str(table.tableName))

    def some_tables(self, database: str, names: Sequence[str]) -> list[HiveTable]:
        """Those of some names that are there, in any order. Raises Missing if there is no such database."""
        request = ttypes.GetTablesRequest(dbName=database, tblNames=list(names))
        return list(self._read(f"listing '{database}'", lambda c: c.get_table_objects_by_name_req(request)).tables)

    def paimon_names(self, database: str) -> list[str]:
        """The names of the tables of Paimon in a database, sorted."""
        return [str(table.tableName) for table in self.tables(database) if is_paimon(table)]

    def views(self, database: str) -> list[str]:
        """The names of the views of a database, sorted."""
        return sorted(self._read(f"listing '{database}'", lambda c: c.get_tables_by_type(database, "*", VIEW)))

    def create_table(self, table: HiveTable) -> None:
        """Creates a table or view.

        Raises:
            Taken: there is one.
            Missing: there is no such database.
        """
        try:
            self._change(f"creating {table.dbName}.{table.tableName}", lambda c: c.create_table(table))
        except Refused as error:
            if error.is_certain and (error.words == table.dbName or self.database(table.dbName) is None):
                raise Missing(str(error)) from None  # Hive 2.3 says the name of the database, and nothing more
            raise

    def alter_table(self, identifier: Identifier, table: HiveTable, said: Mapping[str, str]) -> None:
        """Replaces what the metastore has of a table; another name renames it, and moves its directory.

        Args:
            identifier: the name that it has.
            table: what it becomes.
            said: how, by the keys of Hive's EnvironmentContext.

        Raises:
            Missing: there is none.
        """
        context = ttypes.EnvironmentContext(properties=dict(said))
        database, name = identifier.database, identifier.table
        self._change(
            f"changing {identifier}",
            lambda c: c.alter_table_with_environment_context(database, name, table, context),
        )

    def drop_table(self, identifier: Identifier, deletes_data: bool = False) -> None:
        """Drops a table or view. Raises Missing if there is none.

        Args:
            identifier: its name.
            deletes_data: whether the metastore deletes its files.
        """
        database, name = identifier.database, identifier.table
        self._change(f"dropping {identifier}", lambda c: c.drop_table(database, name, deletes_data))

    def has_local_zoned(self) -> bool:
        """True if it knows the type of instants, which Hive 3 has."""
        return _is_hive_3(self)

    def partitions(self, identifier: Identifier) -> list[HivePartition]:
        """All partitions of a table."""
        database, name = identifier.database, identifier.table
        doing = f"listing the partitions of {identifier}"
        return list(self._read(doing, lambda c: c.get_partitions(database, name, _ALL)))

    def partition(self, identifier: Identifier, values: Sequence[str]) -> HivePartition:
        """A partition. Raises Missing if there is none."""
        database, name = identifier.database, identifier.table
        doing = f"reading a partition of {identifier}"
        return self._read(doing, lambda c: c.get_partition(database, name, list(values)))

    def add_partitions(self, identifier: Identifier, partitions: Sequence[HivePartition]) -> None:
        """Adds those that are not there yet, in batches."""
        for start in range(0, len(partitions), _BATCH):
            request = ttypes.AddPartitionsRequest(
                dbName=identifier.database,
                tblName=identifier.table,
                parts=list(partitions[start : start + _BATCH]),
                ifNotExists=True,
                needResult=False,
            )
            self._change(f"adding partitions to {identifier}", partial(_add_partitions, request))

    def alter_partition(self, identifier: Identifier, partition: HivePartition) -> None:
        """Replaces what it has of a partition. Raises Missing if there is none."""
        database, name = identifier.database, identifier.table
        doing = f"changing a partition of {identifier}"
        self._change(doing, lambda c: c.alter_partition(database, name, partition))

    def drop_partition(self, identifier: Identifier, values: Sequence[str]) -> None:
        """Drops a partition; its files stay. Raises Missing if there is none."""
        database, name = identifier.database, identifier.table
        doing = f"dropping a partition of {identifier}"
        self._change(doing, lambda c: c.drop_partition(database, name, list(values), False))

    def mark_done(self, identifier: Identifier, partition: Mapping[str, str]) -> None:
        """Marks a partition with the event LOAD_DONE."""
        database, name, event = identifier.database, identifier.table, ttypes.PartitionEventType.LOAD_DONE
        doing = f"marking a partition of {identifier}"
        self._change(doing, lambda c: c.markPartitionForEvent(database, name, dict(partition), event))

    def is_done(self, identifier: Identifier, partition: Mapping[str, str]) -> bool:
        """True if a partition is marked with the event LOAD_DONE."""
        database, name, event = identifier.database, identifier.table, ttypes.PartitionEventType.LOAD_DONE
        doing = f"reading the mark of a partition of {identifier}"
        return bool(self._read(doing, lambda c: c.isPartitionMarkedForEvent(database, name, dict(partition), event)))

    def has_primary_key(self, identifier: Identifier) -> bool:
        """True if a table of Hive has a primary key, which older metastores do not know."""
        request = ttypes.PrimaryKeysRequest(db_name=identifier.database, tbl_name=identifier.table)
        try:
            found = self._read(f"reading the keys of {identifier}", lambda c: c.get_primary_keys(request))
        except (CatalogUnavailable, Missing):
            return False
        return bool(found.primaryKeys)

    def null_partition(self) -> str:
        """What stands for NULL in the partitions of Hive."""
        asked = ("hive.exec.default.partition.name", "__HIVE_DEFAULT_PARTITION__")
        return str(self._read("reading a setting of the metastore", lambda c: c.get_config_value(*asked)))

    def lock(self, identifier: Identifier, user: str, host: str) -> tuple[int, bool]:
        """Asks for the exclusive lock of a table. (number of the request, whether it is granted already)."""
        part = ttypes.LockComponent(
            type=ttypes.LockType.EXCLUSIVE,
            level=ttypes.LockLevel.TABLE,
            dbname=identifier.database,
            tablename=identifier.table,
            operationType=None,
        )
        request = ttypes.LockRequest(component=[part], user=user, hostname=host)
        return _granted(self._change(f"locking {identifier}", lambda c: c.lock(request)))

    def check_lock(self, number: int) -> bool:
        """True if a request is granted by now."""
        request = ttypes.CheckLockRequest(lockid=number)
        return _granted(self._change(f"waiting for the lock {number}", lambda c: c.check_lock(request)))[1]

    def unlock(self, number: int) -> None:
        """Gives a lock back, or takes a request back."""
        request = ttypes.UnlockRequest(lockid=number)
        self._change(f"giving back the lock {number}", lambda c: c.unlock(request))


def _add_partitions(request: Any, client: Any) -> None:
    client.add_partitions_req(request)


def _granted(response: Any) -> tuple[int, bool]:
    if response.state not in (ttypes.LockState.ACQUIRED, ttypes.LockState.WAITING):
        raise CatalogUnavailable(
            f"the Hive metastore has ended the request {response.lockid} for a lock; run this again"
        )
    return response.lockid, response.state == ttypes.LockState.ACQUIRED


@lru_cache
def _is_hive_3(metastore: Metastore) -> bool:
    try:
        metastore._read("asking for the catalogs", lambda c: c.get_catalogs())
    except CatalogUnavailable:  # the call is unknown
        return False
    return True


_MISSING = (ttypes.NoSuchObjectException, ttypes.UnknownDBException, ttypes.UnknownTableException)
_NOT_DONE = (ttypes.InvalidOperationException, ttypes.InvalidObjectException, ttypes.InvalidInputException)


@contextmanager
def refusals(doing: str) -> Iterator[None]:
    """Makes errors of the port of those of Hive's Thrift definition. doing: as for Connections.read.

    Raises:
        Missing, Taken, Refused: see there.
    """
    try:
        yield
    except _MISSING as error:
        raise Missing(_words(error)) from None
    except ttypes.AlreadyExistsException as error:
        raise Taken(_words(error)) from None
    except TException as error:
        refused = Refused(f"{doing}: the Hive metastore refuses it: {_words(error)}")
        refused.is_certain = isinstance(error, _NOT_DONE)
        refused.words = _words(error)
        raise refused from None


def _words(error: TException) -> str:
    return " ".join(str(getattr(error, "message", None) or error).split()) or type(error).__name__
