"""What a Hive catalog does when a table gets a snapshot or a schema: it holds its lock, and copies its columns.

Java: SnapshotCommit under Lock.fromCatalog, HiveCatalog.alterTableImpl.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from paimon_spark.catalogs.hive.hive_tables import altered_table
from paimon_spark.catalogs.hive.known_places import named_table, tables_of
from paimon_spark.catalogs.hive.locks import table_lock
from paimon_spark.catalogs.hive.metastore import Metastore
from paimon_spark.catalogs.hive.partitions import HivePartitions
from paimon_spark.catalogs.hive.places import HiveTable, is_paimon, place_of_table
from paimon_spark.catalogs.hive.travel import read_connection
from paimon_spark.catalogs.identifier import Identifier, Missing, Refused
from paimon_spark.errors import CatalogUnavailable, PaimonError
from paimon_spark.file_io import FileIO, NotCreated, create_locked
from paimon_spark.format.schema import TableSchema, decode_schema
from paimon_spark.store.metadata.schemas import SchemaStore
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.storage.publishers import KnownTable, PartitionKeeper

_PATH = re.compile(
    r"(?P<root>.+?)(?:/branch/branch-(?P<branch>[^/]+))?/(?P<kind>snapshot|schema)/[^/]+-(?P<number>\d+)"
)


def publisher(text: str) -> HivePublisher:
    """The publisher of a connection text, without its kind."""
    return HivePublisher(Metastore(read_connection(text)))


def copy_schema(metastore: Metastore, identifier: Identifier, table: HiveTable) -> None:
    """Tells the metastore what a table is now.

    Raises:
        Missing: it has none of that name.
        CatalogUnavailable, Refused: it does not answer, or does not take it.
    """
    settings = metastore.settings
    said = {"DO_NOT_UPDATE_STATS": str(_skips(table) or settings.skips_statistics).lower()}
    metastore.alter_table(identifier, table, {**said, **({"CASCADE": "true"} if settings.cascades else {})})


def _skips(table: HiveTable) -> bool:
    return bool((table.parameters or {}).get("DO_NOT_UPDATE_STATS", "").lower() == "true")


@dataclass(frozen=True)
class HivePublisher:
    """Publishes what belongs to tables of a metastore. Other tables are left to their store."""

    metastore: Metastore

    def create_if_absent(self, store: FileIO, path: str, data: bytes) -> bool:
        """As FileIO.create_if_absent, for a snapshot or a schema.

        Raises:
            NotCreated: the lock could not be had; nothing was created.
            CatalogUnavailable: the schema is published, but the copy of its columns in the metastore is not.
            Refused: the metastore does not take the columns; the schema was taken back.
            As FileIO.create_if_absent.
        """
        found = _PATH.fullmatch(path)
        if found is None:
            return store.create_if_absent(path, data)
        copies = found["kind"] == "schema" and found["branch"] is None
        if not copies and not self.metastore.settings.locked:
            return store.create_if_absent(path, data)
        try:
            identifier = named_table(self.metastore, found["root"])
        except CatalogUnavailable as error:
            raise NotCreated(f"publishing {path}: {error}") from error
        if identifier is None:
            return store.create_if_absent(path, data)
        created = self._create_locked(store, path, data, _locked_name(identifier, found["branch"]))
        if created and copies:
            self._copy(store, found["root"], path, identifier, decode_schema(data, path))
        return created

    @property
    def partitions(self) -> PartitionKeeper:
        """What tells the metastore of partitions."""
        return HivePartitions(self.metastore)

    def tables(self) -> list[KnownTable]:
        """All tables, by name."""
        return [one for database in self.metastore.databases() for one in tables_of(self.metastore, database)]

    def place(self, database: str, table: str) -> str | None:
        """The directory of a table of Paimon."""
        found = self.metastore.table(Identifier(database, table))
        return place_of_table(found) if found is not None and is_paimon(found) else None

    def _create_locked(self, store: FileIO, path: str, data: bytes, identifier: Identifier) -> bool:
        holding = table_lock(self.metastore, identifier)
        try:
            holding.__enter__()
        except CatalogUnavailable as error:
            raise NotCreated(f"publishing {path}: {error}") from error
        try:
            if self.metastore.settings.locked:
                return create_locked(store, path, data)
            return store.create_if_absent(path, data)
        finally:
            holding.__exit__(None, None, None)

    def _copy(self, store: FileIO, root: str, path: str, identifier: Identifier, schema: TableSchema) -> None:
        try:
            found = self.metastore.table(identifier)
            if found is None:
                return
            removed = _removed_options(store, root, schema)
            copy_schema(self.metastore, identifier, altered_table(self.metastore, found, schema, root, removed))
        except Missing:
            return  # it was dropped or renamed concurrently
        except PaimonError as error:
            if isinstance(error, Refused) and error.is_certain and not _is_used(store, root, schema.id):
                store.delete(path)
                raise
            raise CatalogUnavailable(
                f"{error}. The table {identifier} has its new schema {schema.id}; only the copy of its columns and "
                f"options in the metastore is that of before, and CALL sys.repair('{identifier}') makes it"
            ) from error


def _removed_options(store: FileIO, root: str, schema: TableSchema) -> set[str]:
    schemas = SchemaStore(store, root)
    earlier = [number for number in schemas.ids() if number < schema.id]
    return set(schemas.load(earlier[-1]).options) - set(schema.options) if earlier else set()


def _is_used(store: FileIO, root: str, schema_id: int) -> bool:
    """True if there are rows of a schema already."""
    latest = SnapshotStore(store, root).latest()
    return latest is not None and latest.schema_id >= schema_id


def _locked_name(identifier: Identifier, branch: str | None) -> Identifier:
    """A branch has a lock of its own (Java: Identifier.getObjectName)."""
    return identifier if branch is None else Identifier(identifier.database, f"{identifier.table}$branch_{branch}")
