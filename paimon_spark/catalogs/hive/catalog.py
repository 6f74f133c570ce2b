"""The catalog whose names are in a Hive metastore (Java: HiveCatalog)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.catalogs.catalog_options import CASE_SENSITIVE, DEFAULT_DATABASE, bool_option
from paimon_spark.catalogs.create import find_schema
from paimon_spark.catalogs.drops import drop_whole_database, remove_empty_database
from paimon_spark.catalogs.hive.databases import HiveDatabases
from paimon_spark.catalogs.hive.failures import Missing, Refused
from paimon_spark.catalogs.hive.hive_tables import altered_table, asks_external, new_table
from paimon_spark.catalogs.hive.metastore import Metastore
from paimon_spark.catalogs.hive.migrations import migrate
from paimon_spark.catalogs.hive.places import HiveTable, is_external, is_paimon, is_view, place_of_database
from paimon_spark.catalogs.hive.publisher import copy_schema
from paimon_spark.catalogs.hive.settings import read_settings
from paimon_spark.catalogs.hive.tables_part import HiveTables
from paimon_spark.catalogs.identifier import (
    DATABASE_SUFFIX,
    SYSTEM_DATABASE,
    Identifier,
    check_not_system,
    check_not_system_database,
)
from paimon_spark.catalogs.moves import is_table
from paimon_spark.catalogs.not_found import database_not_found
from paimon_spark.catalogs.tables_only import NoFunctions, OpensByName
from paimon_spark.errors import (
    DatabaseNotEmpty,
    DatabaseNotFound,
    PaimonError,
    StorageError,
    TableAlreadyExists,
    TableNotFound,
)
from paimon_spark.file_io import DirectoryIO, absolute_location
from paimon_spark.store.clean.live_partitions import live_partitions
from paimon_spark.store.commit.partition_registration import keeper_of, register_partitions
from paimon_spark.store.open import open_table

_SHOWN = 5
_TRIES = 3


def open_hive_catalog(name: str, options: Mapping[str, str]) -> HiveCatalog:
    """The catalog of these options; its metastore is asked at the first use.

    Raises:
        OptionError: an option is unknown, missing or has a bad value.
        UnsupportedFeature: an option asks for what this catalog does not have.
    """
    settings = read_settings(options)
    return HiveCatalog(name, absolute_location(settings.warehouse), options, Metastore(settings))


@checks_arguments
@dataclass(frozen=True)
class HiveCatalog(HiveDatabases, HiveTables, OpensByName, NoFunctions):
    """A catalog in a Hive metastore; see Catalog. Picklable. Names are found in any letter case."""

    @property
    def default_database(self) -> str:
        return self.options.get(DEFAULT_DATABASE, "default")

    @property
    def case_sensitive(self) -> bool:
        return bool_option(self.options, False, CASE_SENSITIVE, "allow-upper-case")

    def drop_database(self, name: str, ignore_if_not_exists: bool = False, cascade: bool = False) -> None:
        """As Catalog.drop_database. Without cascade, Java drops views and tables of Hive too; here they are kept.

        Files that belong to no table stay without cascade. Java lets the metastore delete the directory, which it does
        after others may have made the database anew, with their tables in it. Here it goes while it is empty, or while
        there is no such database.
        """
        check_not_system_database(name, "dropping")
        found = self.metastore.database(name)
        try:
            if found is None:
                raise Missing
            self._drop_names(name, cascade)
        except Missing:
            if ignore_if_not_exists:
                return
            raise database_not_found(self, name) from None
        self._drop_directory(name, place_of_database(found) or self.new_database_location(name), cascade)

    def _drop_names(self, name: str, cascade: bool) -> None:
        """Drops a database in the metastore, with the tables that it holds if it may. Raises Missing: others did it."""
        deletes_data = self.metastore.settings.location_in_properties  # from a place that no table lies in
        for left in range(_TRIES, 0, -1):
            held = self.metastore.tables(name)
            if held and not cascade:
                raise _not_empty(name, [str(table.tableName) for table in held])
            self._drop_tables(name, held)
            try:
                self.metastore.drop_database(name, deletes_data)
                return
            except Refused as error:  # it also fails somewhere in Hive where another client drops the database too
                if self.metastore.database(name) is None:
                    raise Missing(str(error)) from None
                if not cascade and self.metastore.tables(name):  # created concurrently
                    continue
                if left == 1 or (error.is_certain and not cascade):
                    raise
                if error.is_certain and not self.metastore.tables(name):  # functions of Hive
                    self.metastore.drop_database(name, deletes_data, cascade=True)
                    return

    def _drop_tables(self, name: str, tables: Sequence[HiveTable]) -> None:
        for table in tables:
            identifier = Identifier(name, str(table.tableName))
            if is_paimon(table):
                self.drop_table(identifier, ignore_if_not_exists=True)
            else:
                self._drop_other(identifier, not is_external(table) and not is_view(table))

    def _drop_directory(self, name: str, location: str, cascade: bool) -> None:
        """Deletes the directory of a dropped database, unless it has files of others."""
        file_io = self.file_io_of(location)
        try:
            try:
                remove_empty_database(file_io, location)
            except DatabaseNotEmpty:
                if cascade and self.metastore.database(name) is None:
                    drop_whole_database(file_io, location.rpartition("/")[0], location)
        except (PaimonError, OSError) as error:
            raise StorageError(
                f"dropping the database '{name}': it is dropped, but its directory {location} is not deleted: {error}. "
                "Delete it if nothing needs its files"
            ) from error

    def _drop_other(self, identifier: Identifier, deletes_data: bool) -> None:
        try:
            self.metastore.drop_table(identifier, deletes_data)
        except Missing:
            return  # another client has dropped it

    def repair(self, database: str | None = None, table: str | None = None) -> None:
        """As Catalog.repair: registers tables whose files are there, and copies their columns and options."""
        if database is None:
            for name in _directories(self.file_io_of(self.warehouse), self.warehouse):
                if name.endswith(DATABASE_SUFFIX) and name.removesuffix(DATABASE_SUFFIX) not in ("", SYSTEM_DATABASE):
                    self.repair(name.removesuffix(DATABASE_SUFFIX))
        elif table is None:
            check_not_system_database(database, "repairing")
            if self.metastore.database(database) is None:
                location = self.new_database_location(database)
                if not self.file_io_of(location).exists(location):
                    raise DatabaseNotFound(f"repairing the database '{database}': there is no directory {location}")
                self.create_database(database, ignore_if_exists=True)
            location = self.database_location(database)
            for name in _directories(self.file_io_of(location), location):
                if is_table(self.file_io_of(location), f"{location}/{name}"):
                    self._repair_table(Identifier(database, name))
        else:
            self._repair_table(Identifier(database, table))

    def _repair_table(self, identifier: Identifier) -> None:
        check_not_system(identifier, "repairing")
        location = self.table_location(identifier)
        schema = find_schema(self.file_io_of(location), location)
        if schema is None:
            raise TableNotFound(f"repairing {identifier}: there are no files of a table at {location}")
        self.create_database(identifier.database, ignore_if_exists=True)
        found = self.hive_table(identifier)
        if found is None:
            external = asks_external(schema, self.metastore.settings.is_external)
            self.metastore.create_table(new_table(self.metastore, identifier, schema, location, external))
        elif not is_paimon(found):
            raise TableAlreadyExists(
                f"repairing {identifier}: the metastore has a view or a table of Hive of that name; rename it first"
            )
        else:
            after = altered_table(self.metastore, found, schema, location)
            if (after.sd.cols, after.parameters) != (found.sd.cols, found.parameters):
                copy_schema(self.metastore, identifier, after)
        opened = open_table(location, self.table_options())
        if keeper_of(opened) is not None:
            register_partitions(opened, live_partitions(opened))

    def tables_of_hive(self, database: str) -> list[str]:
        self.hive_database(database)
        found = self.metastore.tables(database)
        return [str(one.tableName) for one in found if not is_paimon(one) and not is_view(one)]

    def migrate_table(
        self,
        source: Identifier,
        target: Identifier | None = None,
        options: Mapping[str, str] | None = None,
        drop_source: bool = True,
    ) -> None:
        migrate(self, self, source, target, options or {}, drop_source)

    def refresh(self, identifier: Identifier | None = None) -> None:
        """Does nothing: nothing is cached."""


def _directories(file_io: DirectoryIO, path: str) -> list[str]:
    return sorted(status.name for status in file_io.list(path) if status.is_directory)


def _not_empty(name: str, names: Sequence[str]) -> DatabaseNotEmpty:
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    return DatabaseNotEmpty(
        f"dropping the database '{name}': it holds {len(names)} tables and views ({shown}); drop them first, or ask "
        "for them to be dropped too (cascade)"
    )
