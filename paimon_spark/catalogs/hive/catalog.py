"""The catalog whose names are in a Hive metastore (Java: HiveCatalog)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.catalogs.catalog_options import CASE_SENSITIVE, DEFAULT_DATABASE, bool_option
from paimon_spark.catalogs.create import find_schema
from paimon_spark.catalogs.hive.databases import HiveDatabases
from paimon_spark.catalogs.hive.failures import Missing, Refused
from paimon_spark.catalogs.hive.hive_tables import altered_table, asks_external, new_table
from paimon_spark.catalogs.hive.metastore import Metastore
from paimon_spark.catalogs.hive.migrations import migrate
from paimon_spark.catalogs.hive.places import is_external, is_paimon, is_view
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
from paimon_spark.catalogs.tables_only import NoFunctions
from paimon_spark.errors import DatabaseNotEmpty, DatabaseNotFound, TableAlreadyExists, TableNotFound
from paimon_spark.file_io import DirectoryIO, absolute_location
from paimon_spark.store.clean.live_partitions import live_partitions
from paimon_spark.store.commit.told_partitions import keeper_of, tell_added
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
class HiveCatalog(HiveDatabases, HiveTables, NoFunctions):
    """A catalog in a Hive metastore; see Catalog. Picklable. Names are found in any letter case."""

    @property
    def default_database(self) -> str:
        return self.options.get(DEFAULT_DATABASE, "default")

    @property
    def case_sensitive(self) -> bool:
        return bool_option(self.options, False, CASE_SENSITIVE, "allow-upper-case")

    def drop_database(self, name: str, ignore_if_not_exists: bool = False, cascade: bool = False) -> None:
        """As Catalog.drop_database. Without cascade, Java drops views and tables of Hive too; here they are kept."""
        check_not_system_database(name, "dropping")
        if self.metastore.database(name) is None:
            if ignore_if_not_exists:
                return
            raise database_not_found(self, name)
        held = self.metastore.tables(name)
        if held and not cascade:
            names = [str(table.tableName) for table in held]
            shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
            raise DatabaseNotEmpty(
                f"dropping the database '{name}': it holds {len(names)} tables and views ({shown}); drop them first, "
                "or ask for them to be dropped too (cascade)"
            )
        for table in held:
            identifier = Identifier(name, str(table.tableName))
            if is_paimon(table):
                self.drop_table(identifier, ignore_if_not_exists=True)
            else:
                self._drop_other(identifier, not is_external(table) and not is_view(table))
        try:
            self._drop_empty(name, cascade)
        except Missing:
            if not ignore_if_not_exists:
                raise database_not_found(self, name) from None

    def _drop_empty(self, name: str, cascade: bool) -> None:
        """As Metastore.drop_database, which fails somewhere in Hive where another client drops the database too."""
        for left in range(_TRIES, 0, -1):
            try:
                self.metastore.drop_database(name, cascade)
                return
            except Refused as error:
                if self.metastore.database(name) is None:
                    raise Missing(str(error)) from None
                if error.is_certain or left == 1:
                    raise

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
            tell_added(opened, live_partitions(opened))

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
