"""The catalog that is nothing but files: ``<warehouse>/<database>.db/<table>`` (Java: FileSystemCatalog).

A database is its directory, and a table is a directory with a schema file. So every client sees at once what another
has done, and nothing is cached: a lookup costs one listing and one small read.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.arrow.zones import TimeZone
from paimon_spark.catalogs.catalog import NO_OPTIONS, Database
from paimon_spark.catalogs.catalog_options import (
    CASE_SENSITIVE,
    DEFAULT_DATABASE,
    bool_option,
    storage_options,
    table_defaults,
)
from paimon_spark.catalogs.create import create_table, find_schema
from paimon_spark.catalogs.drops import (
    IS_DROPPED,
    drop_files,
    drop_whole_database,
    remove_empty_database,
)
from paimon_spark.catalogs.identifier import (
    DATABASE_SUFFIX,
    SYSTEM_DATABASE,
    Identifier,
    check_addressable,
    check_new_name,
    check_not_system,
    check_not_system_database,
)
from paimon_spark.catalogs.moves import is_table, move_table
from paimon_spark.catalogs.not_found import database_not_found, table_not_found
from paimon_spark.catalogs.system_database import open_system_table, system_tables
from paimon_spark.catalogs.tables_only import TablesOnly, check_creatable, not_stored
from paimon_spark.errors import (
    DatabaseAlreadyExists,
    DatabaseNotEmpty,
    DatabaseNotFound,
    OptionError,
    SchemaError,
    TableAlreadyExists,
    TableNotFound,
    UnsupportedFeature,
)
from paimon_spark.file_io import DirectoryIO
from paimon_spark.format.schema import TableSchema
from paimon_spark.store.open import ReadableTable, find_stored_table, open_table
from paimon_spark.store.storage.parallel import map_parallel

_LOCATION = "location"
_log = logging.getLogger(__name__)

_SUFFIX = "$"
_SHOWN = 5
_NO_WAREHOUSE = "check the path, or create a database, which makes it"


@checks_arguments
@dataclass(frozen=True)
class FileSystemCatalog(TablesOnly):
    """A catalog in the files of a warehouse; see Catalog. Picklable.

    Attributes:
        warehouse: the directory of the databases, absolute, without a slash at its end.
        options: as given to open_catalog.
    """

    name: str
    warehouse: str
    file_io: DirectoryIO = field(repr=False)
    options: Mapping[str, str] = field(repr=False)

    @property
    def default_database(self) -> str:
        return self.options.get(DEFAULT_DATABASE, "default")

    @property
    def case_sensitive(self) -> bool:
        return bool_option(self.options, True, CASE_SENSITIVE, "allow-upper-case")

    @property
    def can_rename_tables(self) -> bool:
        return self.file_io.moves_directories

    def list_databases(self) -> list[str]:
        """As Catalog.list_databases.

        Raises:
            DatabaseNotFound: the warehouse does not exist. An object store has no directories, so that a warehouse
                without databases does not exist there either: the log tells of it.
            OptionError: the warehouse is a table, or a directory of tables.
        """
        names = [status.name for status in self.file_io.list(self.warehouse) if status.is_directory]
        if not names and not self.has_warehouse():
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

    def load_database(self, name: str) -> Database:
        if name == SYSTEM_DATABASE:
            return Database(name)
        self._check_database(name)
        return Database(name, self._database_location(name))

    def create_database(
        self, name: str, properties: Mapping[str, str] = NO_OPTIONS, ignore_if_exists: bool = False
    ) -> None:
        """As Catalog.create_database. A database is a directory, which keeps no comment and no properties: they are
        dropped, as in Java, and a location is refused."""
        check_not_system_database(name, "creating")
        check_new_name(name, "database")
        if _LOCATION in properties and not (ignore_if_exists and self._has_database(name)):
            raise UnsupportedFeature(
                f"creating the database '{name}' with a location: a catalog in files stores a database as a directory "
                "of the warehouse; leave the location out"
            )
        if properties:
            _log.warning(
                "creating the database '%s': a catalog in files keeps no %s of a database", name, ", ".join(properties)
            )
        if not self.file_io.make_directory(self._database_location(name)) and not ignore_if_exists:
            raise DatabaseAlreadyExists(
                f"there is a database '{name}' already, at {self._database_location(name)}; use it, or choose another "
                "name"
            )

    def drop_database(self, name: str, ignore_if_not_exists: bool = False, cascade: bool = False) -> None:
        """As Catalog.drop_database. Without cascade, Java deletes files that belong to no table; here they are kept."""
        check_not_system_database(name, "dropping")
        check_addressable(name, "database")
        if not self._has_database(name):
            if ignore_if_not_exists:
                return
            raise self._no_database(name)
        location, tables = self._database_location(name), self.list_tables(name)
        if cascade:
            for table in tables:
                self.drop_table(Identifier(name, table), ignore_if_not_exists=True)
            drop_whole_database(self.file_io, self.warehouse, location)
            return
        if tables:
            shown = ", ".join(tables[:_SHOWN]) + (", ..." if len(tables) > _SHOWN else "")
            raise DatabaseNotEmpty(
                f"dropping the database '{name}': it holds {len(tables)} tables ({shown}); drop them first, or ask for "
                "them to be dropped too (cascade)"
            )
        remove_empty_database(self.file_io, location)

    def alter_database(self, name: str, properties: Mapping[str, str], unset: tuple[str, ...] = ()) -> None:
        """Always refused, as Java's catalog in files does."""
        self._check_database(name)
        raise not_stored(f"changing the database '{name}'", "properties of databases")

    def list_tables(self, database: str) -> list[str]:
        if database == SYSTEM_DATABASE:
            return system_tables(self.options)
        self._check_database(database)
        location = self._database_location(database)
        names = sorted(status.name for status in self.file_io.list(location) if status.is_directory)
        found = map_parallel(lambda name: is_table(self.file_io, f"{location}/{name}"), names)
        return [name for name, there in zip(names, found, strict=True) if there]

    def table_location(self, identifier: Identifier) -> str:
        check_addressable(identifier.database, "database")
        check_addressable(identifier.table, "table")
        return f"{self._database_location(identifier.database)}/{identifier.table}"

    def table_options(self, identifier: Identifier | None = None) -> Mapping[str, str]:
        return storage_options(self.options)

    def find_table(self, identifier: Identifier) -> TableSchema | None:
        if identifier.database == SYSTEM_DATABASE:
            return None
        location = self.table_location(identifier)
        schema = find_schema(self.file_io, location)
        if schema is not None or _SUFFIX not in identifier.table:
            return schema
        branch = find_stored_table(location, self.table_options())
        return None if branch is None else branch.schema

    def load_table(
        self, identifier: Identifier, options: Mapping[str, str] = NO_OPTIONS, time_zone: TimeZone | None = None
    ) -> ReadableTable:
        if identifier.database == SYSTEM_DATABASE:
            raise open_system_table(identifier, self.table_location(identifier))
        location = self.table_location(identifier)
        try:
            return open_table(location, {**self.table_options(), **options}, time_zone=time_zone)
        except TableNotFound:
            if _SUFFIX in identifier.table:
                raise  # the message knows the names of system tables
            raise table_not_found(self, identifier) from None

    def create_table(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool = False) -> TableSchema:
        check_not_system(identifier, "creating")
        check_new_name(identifier.table, "table")
        check_creatable(identifier, schema.options)
        self._check_database(identifier.database)
        location = self.table_location(identifier)
        existing = find_schema(self.file_io, location)
        if existing is None:
            if self.file_io.exists(f"{location}/{IS_DROPPED}"):
                raise SchemaError(
                    f"creating {identifier}: the table that was there is being dropped, or its drop was interrupted; "
                    "drop it once more to finish, then create it"
                )
            complete = replace(schema, options={**table_defaults(self.options), **schema.options})
            check_creatable(identifier, complete.options)
            try:
                return create_table(location, complete, self.file_io, ignore_if_exists)
            except TableAlreadyExists:
                pass
        elif ignore_if_exists:
            return existing
        raise TableAlreadyExists(f"there is a table {identifier} already; write to it, or choose another name")

    def drop_table(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        check_not_system(identifier, "dropping")
        location = self.table_location(identifier)
        if not drop_files(self.file_io, self._database_location(identifier.database), location, self.table_options()):
            if ignore_if_not_exists:
                return
            raise table_not_found(self, identifier)

    def rename_table(self, identifier: Identifier, to: Identifier, ignore_if_not_exists: bool = False) -> None:
        """As Catalog.rename_table. Java creates a missing database of the new name; here that is an error."""
        check_not_system(identifier, "renaming")
        check_not_system(to, "renaming a table to")
        check_new_name(to.table, "table")
        if not self.can_rename_tables:
            raise UnsupportedFeature(
                f"renaming {identifier} to {to}: {self.warehouse} is an object store, which cannot move a directory in "
                "one step; rows that others write meanwhile would be lost. Create the new table and copy the rows"
            )
        source, target = self.table_location(identifier), self.table_location(to)
        if not is_table(self.file_io, source):
            if ignore_if_not_exists:
                return
            raise table_not_found(self, identifier)
        self._check_database(to.database)
        if source == target or not move_table(self.file_io, source, target):
            raise TableAlreadyExists(f"renaming {identifier}: there is a table {to} already; choose another name")

    def _database_location(self, name: str) -> str:
        return f"{self.warehouse}/{name}{DATABASE_SUFFIX}"

    def _has_database(self, name: str) -> bool:
        return self.file_io.exists(self._database_location(name))

    def _check_database(self, name: str) -> None:
        check_addressable(name, "database")
        if not self._has_database(name):
            raise self._no_database(name)

    def _no_database(self, name: str) -> DatabaseNotFound:
        if self.has_warehouse():
            return database_not_found(self, name)
        return DatabaseNotFound(
            f"there is no database '{name}' in the catalog '{self.name}': its warehouse {self.warehouse} does not "
            f"exist; {_NO_WAREHOUSE}"
        )

    def has_warehouse(self) -> bool:
        """True if there is the directory of the databases. The first database makes it (Java: the first client)."""
        return self.file_io.exists(self.warehouse)
