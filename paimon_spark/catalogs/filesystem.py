"""Names that are nothing but directories: ``<warehouse>/<database>.db/<table>`` (Java: FileSystemCatalog).

A database is its directory, and a table is a directory with a schema file. So every client sees at once what another
has done, and nothing is cached: a lookup costs one listing and one small read.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import ClassVar

from paimon_spark.catalogs.catalog_options import CASE_SENSITIVE, bool_option, storage_options
from paimon_spark.catalogs.create import find_schema
from paimon_spark.catalogs.drops import IS_DROPPED, drop_whole_database, remove_empty_database
from paimon_spark.catalogs.identifier import DATABASE_SUFFIX, SYSTEM_DATABASE, Database, Identifier, Taken
from paimon_spark.catalogs.moves import is_table, move_table
from paimon_spark.catalogs.names import HiveTables, Place, ViewNames, not_stored
from paimon_spark.catalogs.not_found import database_not_found
from paimon_spark.errors import DatabaseNotFound, OptionError, PaimonError, SchemaError, UnsupportedFeature
from paimon_spark.file_io import DirectoryIO
from paimon_spark.format.schema import TableSchema
from paimon_spark.store.storage.parallel import map_parallel
from paimon_spark.store.storage.publishers import WAREHOUSE

_LOCATION = "location"
_log = logging.getLogger(__name__)

_SHOWN = 5
_NO_WAREHOUSE = "check the path, or create a database, which makes it"


@dataclass(frozen=True)
class DirectoryNames:
    """The directories of a warehouse; see Names."""

    title: ClassVar[str] = "the warehouse"
    files_decide: ClassVar[bool] = True
    has_locks: ClassVar[bool] = False
    has_external_tables: ClassVar[bool] = False
    has_format_tables: ClassVar[bool] = False
    views: ClassVar[ViewNames | None] = None
    hive_tables: ClassVar[HiveTables | None] = None

    name: str
    warehouse: str
    file_io: DirectoryIO = field(repr=False)
    options: Mapping[str, str] = field(repr=False)

    @property
    def case_sensitive(self) -> bool:
        return bool_option(self.options, True, CASE_SENSITIVE, "allow-upper-case")

    def file_io_of(self, location: str) -> DirectoryIO:
        return self.file_io

    def table_options(self) -> Mapping[str, str]:
        return {**storage_options(self.options), WAREHOUSE: self.warehouse}

    def lock(self, *identifiers: Identifier) -> AbstractContextManager[None]:
        """Holds nothing: each change is one step of the storage."""
        return nullcontext()

    def list_databases(self) -> list[str]:
        """As Names.list_databases.

        Raises:
            DatabaseNotFound: the warehouse does not exist. An object store has no directories, so that a warehouse
                without databases does not exist there either: the log tells of it.
            OptionError: the warehouse is a table, or a directory of tables.
        """
        names = [status.name for status in self.file_io.list(self.warehouse) if status.is_directory]
        if not names and not self._has_warehouse():
            message = f"the warehouse {self.warehouse} of the catalog '{self.name}' does not exist: {_NO_WAREHOUSE}"
            if self.file_io.moves_directories:
                raise DatabaseNotFound(message)
            _log.warning("%s", message)
        found = (name.removesuffix(DATABASE_SUFFIX) for name in names if name.endswith(DATABASE_SUFFIX))
        databases = sorted(name for name in found if name not in ("", SYSTEM_DATABASE))
        if names and not databases:
            self._check_is_above_tables(names)
        return databases

    def _check_is_above_tables(self, names: Sequence[str]) -> None:
        """Refuses the directory of a table or of a database as warehouse: it would seem to be empty."""
        begin = f"the warehouse {self.warehouse} of the catalog '{self.name}'"
        if is_table(self.file_io, self.warehouse):
            raise OptionError(f"{begin} is a table: give the directory above that of its database as warehouse")
        tables = [name for name in names[:_SHOWN] if is_table(self.file_io, f"{self.warehouse}/{name}")]
        if tables:
            raise OptionError(
                f"{begin} holds tables ({', '.join(tables)}) and no database (<name>{DATABASE_SUFFIX}): it is the "
                "directory of a database; give the directory above it as warehouse"
            )

    def has_database(self, name: str) -> bool:
        return self.file_io.exists(self.database_location(name))

    def load_database(self, name: str) -> Database:
        return Database(name, self.database_location(name))

    def no_database(self, name: str) -> DatabaseNotFound:
        if self._has_warehouse():
            return database_not_found(self, name)
        return DatabaseNotFound(
            f"there is no database '{name}' in the catalog '{self.name}': its warehouse {self.warehouse} does not "
            f"exist; {_NO_WAREHOUSE}"
        )

    def _has_warehouse(self) -> bool:
        """True if there is the directory of the databases. The first database makes it (Java: the first client)."""
        return self.file_io.exists(self.warehouse)

    def database_location(self, name: str) -> str:
        return f"{self.warehouse}/{name}{DATABASE_SUFFIX}"

    def create_database(self, name: str, properties: Mapping[str, str]) -> bool:
        """As Names.create_database. A directory keeps no comment and no properties: they are dropped, as in Java, and a
        location is refused."""
        if _LOCATION in properties and self.has_database(name):
            return False
        if _LOCATION in properties:
            raise UnsupportedFeature(
                f"creating the database '{name}' with a location: a catalog in files stores a database as a directory "
                "of the warehouse; leave the location out"
            )
        if properties:
            _log.warning(
                "creating the database '%s': a catalog in files keeps no %s of a database", name, ", ".join(properties)
            )
        return self.file_io.make_directory(self.database_location(name))

    def alter_database(self, name: str, properties: Mapping[str, str], unset: Sequence[str]) -> None:
        """Always refused, as by Java."""
        raise not_stored(f"changing the database '{name}'", "properties of databases")

    def others(self, database: str) -> Mapping[str, Sequence[str]]:
        return {}

    def remove_database(self, name: str, cascade: bool) -> PaimonError | None:
        """As Names.remove_database. Without cascade, Java deletes files that belong to no table; here they are kept."""
        if cascade:
            drop_whole_database(self.file_io, self.warehouse, self.database_location(name))
        else:
            remove_empty_database(self.file_io, self.database_location(name))
        return None

    def list_tables(self, database: str) -> list[str]:
        location = self.database_location(database)
        names = sorted(status.name for status in self.file_io.list(location) if status.is_directory)
        found = map_parallel(lambda name: is_table(self.file_io, f"{location}/{name}"), names)
        return [name for name, there in zip(names, found, strict=True) if there]

    def has_name(self, identifier: Identifier) -> bool:
        return is_table(self.file_io, self.table_location(identifier))

    def find_place(self, identifier: Identifier) -> Place | None:
        return Place(self.table_location(identifier)) if self.has_name(identifier) else None

    def table_location(self, identifier: Identifier) -> str:
        return f"{self.database_location(identifier.database)}/{identifier.table}"

    def new_place(self, identifier: Identifier, schema: TableSchema) -> Place:
        """As Names.new_place.

        Raises:
            SchemaError: a table that was there is not deleted yet.
        """
        location = self.table_location(identifier)
        if self.file_io.exists(f"{location}/{IS_DROPPED}") and find_schema(self.file_io, location) is None:
            raise SchemaError(
                f"creating {identifier}: the table that was there is being dropped, or its drop was interrupted; "
                "drop it once more to finish, then create it"
            )
        return Place(location)

    def add_table(self, identifier: Identifier, schema: TableSchema, place: Place) -> None:
        """Does nothing: the files are the table."""

    def put_table(self, identifier: Identifier, schema: TableSchema, location: str) -> None:
        """Does nothing: the files are the table."""

    def remove_table(self, identifier: Identifier) -> Place | None:
        """Does nothing: the table is gone when its files are. It may be what an interrupted drop has left."""
        return Place(self.table_location(identifier))

    def rename_table(self, identifier: Identifier, to: Identifier, place: Place, target: str) -> None:
        if not move_table(self.file_io, place.location, target):
            raise Taken
