"""The tables of a Hive catalog: their names, and their files (Java: HiveCatalog.createTableImpl, ...)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace

from paimon_spark.arrow.zones import TimeZone
from paimon_spark.catalogs.catalog import NO_OPTIONS
from paimon_spark.catalogs.catalog_options import storage_options, table_defaults
from paimon_spark.catalogs.create import create_table, find_schema
from paimon_spark.catalogs.drops import drop_files
from paimon_spark.catalogs.hive.failures import Missing, Refused, Taken
from paimon_spark.catalogs.hive.hive_tables import asks_external, hive_keys, new_table
from paimon_spark.catalogs.hive.locks import table_lock
from paimon_spark.catalogs.hive.moves import renamed
from paimon_spark.catalogs.hive.places import HiveTable, is_external, is_view, place_of_table
from paimon_spark.catalogs.hive.views_part import HiveViews
from paimon_spark.catalogs.identifier import SYSTEM_DATABASE, Identifier, check_new_name, check_not_system
from paimon_spark.catalogs.moves import is_table
from paimon_spark.catalogs.not_found import database_not_found, table_not_found
from paimon_spark.catalogs.system_database import open_system_table, system_tables
from paimon_spark.catalogs.tables_only import check_creatable
from paimon_spark.errors import SchemaError, TableAlreadyExists, TableNotFound, UnsupportedFeature
from paimon_spark.file_io import absolute_location
from paimon_spark.format.schema import TableSchema
from paimon_spark.store.metadata.table_options import PATH
from paimon_spark.store.open import ReadableTable, find_stored_table, open_table

_SUFFIX = "$"


class HiveTables(HiveViews):
    """The part of the catalog that is about tables; see Catalog."""

    @property
    def can_rename_tables(self) -> bool:
        return self.file_io_of(self.warehouse).moves_directories

    def list_tables(self, database: str) -> list[str]:
        """As Catalog.list_tables. Java also lists tables of Hive, as format tables."""
        if database == SYSTEM_DATABASE:
            return system_tables(self.options)
        self.hive_database(database)
        return self.metastore.paimon_names(database)

    def check_table(self, identifier: Identifier) -> None:
        """Raises TableNotFound if the metastore has no table of Paimon of that name."""
        if identifier.database != SYSTEM_DATABASE and self.paimon_table(identifier) is None:
            raise self.no_table(identifier)

    def no_table(self, identifier: Identifier) -> TableNotFound:
        """The error for a table that is not there, or is a view."""
        if is_view(self.hive_table(identifier)):
            return TableNotFound(f"{identifier} is a view and no table: it can be read by a query only")
        return table_not_found(self, identifier)

    def find_table(self, identifier: Identifier) -> TableSchema | None:
        if identifier.database == SYSTEM_DATABASE or self.paimon_table(identifier) is None:
            return None
        location = self.table_location(identifier)
        schema = find_schema(self.file_io_of(location), location)
        if schema is None and _SUFFIX in identifier.table:
            branch = find_stored_table(location, self.table_options())
            schema = None if branch is None else branch.schema
        if schema is None and self.paimon_table(identifier) is not None:
            raise self.without_files(identifier, location)
        return schema

    def load_table(
        self, identifier: Identifier, options: Mapping[str, str] = NO_OPTIONS, time_zone: TimeZone | None = None
    ) -> ReadableTable:
        if identifier.database == SYSTEM_DATABASE:
            raise open_system_table(identifier, self.table_location(identifier))
        if self.paimon_table(identifier) is None:
            raise self.no_table(identifier)
        location = self.table_location(identifier)
        try:
            return open_table(location, {**self.table_options(), **options}, time_zone=time_zone)
        except TableNotFound:
            if _SUFFIX in identifier.table:
                raise
            if self.paimon_table(identifier) is None:
                raise self.no_table(identifier) from None
            raise self.without_files(identifier, location) from None

    def create_table(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool = False) -> TableSchema:
        """As Catalog.create_table. With the option `path` the table is external, and may be there already."""
        check_not_system(identifier, "creating")
        check_new_name(identifier.table, "table")
        self.hive_database(identifier.database)
        complete = replace(schema, options={**table_defaults(self.options), **schema.options})
        check_creatable(identifier, {k: text for k, text in complete.options.items() if k != PATH})
        found = self._existing(identifier, ignore_if_exists)
        if found is not None:
            return found
        hive_keys(identifier, complete)  # refused before anything is made
        path = complete.options.get(PATH)
        location = absolute_location(path) if path else self.table_location(identifier)
        external = path is not None or asks_external(complete, self.metastore.settings.is_external)
        made = self._make_files(identifier, complete, location, external)
        registered = new_table(self.metastore, identifier, made, location, external)
        try:
            self.metastore.create_table(registered)
        except Taken:  # by another client, which has found the files of this call, or has made a table of another place
            there = self.hive_table(identifier)
            if there is None or place_of_table(there) != place_of_table(registered):
                self._unmake(identifier, location, external)
            return self._existing_now(identifier, ignore_if_exists)
        except Missing:
            self._unmake(identifier, location, external)
            raise database_not_found(self, identifier.database) from None
        except Refused as error:
            if error.is_certain:
                self._unmake(identifier, location, external)
            raise
        self._check_made(identifier, location)
        return made

    def drop_table(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        """As Catalog.drop_table. The files of an external table stay.

        A metastore may answer two drops of one table that run at once as if both had done it. Under the lock only one
        of them finds the table. Without locks the files of a table that was made anew concurrently are left alone.
        """
        check_not_system(identifier, "dropping")
        with table_lock(self.metastore, identifier):
            found = self.paimon_table(identifier)
            try:
                if found is not None:
                    self.metastore.drop_table(identifier)
            except Missing:
                found = None
            if found is not None:
                location = place_of_table(found) or self.table_location(identifier)
                self._unmake(identifier, location, is_external(found))
        if found is None and not ignore_if_not_exists:
            raise self.no_table(identifier)

    def rename_table(self, identifier: Identifier, to: Identifier, ignore_if_not_exists: bool = False) -> None:
        check_not_system(identifier, "renaming")
        check_not_system(to, "renaming a table to")
        check_new_name(to.table, "table")
        with ExitStack() as held:
            for name in sorted({identifier, to}, key=str):  # an order that all clients keep
                held.enter_context(table_lock(self.metastore, name))
            self._rename(identifier, to, ignore_if_not_exists)

    def _rename(self, identifier: Identifier, to: Identifier, ignore_if_not_exists: bool) -> None:
        found = self.paimon_table(identifier)
        if found is None:
            if ignore_if_not_exists:
                return
            raise self.no_table(identifier)
        self.hive_database(to.database)
        if self.hive_table(to) is not None:
            raise TableAlreadyExists(
                f"renaming {identifier}: there is a table or a view {to} already; choose another name"
            )
        location = place_of_table(found) or self.table_location(identifier)
        file_io = self.file_io_of(location)
        if not is_external(found) and not file_io.moves_directories:
            raise UnsupportedFeature(
                f"renaming {identifier} to {to}: {location} is in an object store, which cannot move a directory in "
                "one step; rows that others write meanwhile would be lost. Create the new table and copy the rows"
            )
        target = f"{self.database_location(to.database)}/{to.table}"
        if not is_external(found) and is_table(file_io, target):
            raise SchemaError(
                f"renaming {identifier}: the files of a table are at {target}, and the metastore does not know it; "
                "repair that table, or delete the directory"
            )
        try:
            renamed(self.metastore, file_io, identifier, to, found, (location, target))
        except Missing:
            raise self.no_table(identifier) from None

    def without_files(self, identifier: Identifier, location: str) -> SchemaError:
        return SchemaError(
            f"the metastore has a table {identifier}, and there are no files of it at {location}: they were deleted, "
            "or moved. Drop it; if the files are in a directory of another name, CALL sys.repair with that name makes "
            "them a table again"
        )

    def _make_files(self, identifier: Identifier, schema: TableSchema, location: str, external: bool) -> TableSchema:
        file_io = self.file_io_of(location)
        there = find_schema(file_io, location)
        if there is not None and external:
            return _same(identifier, schema, there, location)
        try:
            with table_lock(self.metastore, identifier):
                return create_table(location, schema, file_io)
        except TableAlreadyExists:
            found = self._existing(identifier, ignore_if_exists=False)
            assert found is None, "it raises if there is one"
            raise SchemaError(
                f"creating {identifier}: the files of a table are at {location}, and the metastore does not know it: "
                f"its creation or its drop was interrupted, or is at work, or it was made without the catalog. CALL "
                f"sys.repair('{identifier}') makes it a table again; else delete the directory"
            ) from None

    def _unmake(self, identifier: Identifier, location: str, external: bool) -> None:
        """Deletes the files of a table that the metastore has not taken, or has dropped, unless it has it now."""
        found: HiveTable | None = self.hive_table(identifier)
        if not external and (found is None or place_of_table(found) != location):
            self._drop_files(location)

    def _check_made(self, identifier: Identifier, location: str) -> None:
        """Forgets a new table without files: its database was dropped with its directory, and made anew."""
        if find_schema(self.file_io_of(location), location) is None:
            with suppress(Missing):
                self.metastore.drop_table(identifier)
            raise TableNotFound(f"creating {identifier}: another client has dropped it already, or its database")

    def _drop_files(self, location: str) -> None:
        drop_files(self.file_io_of(location), location.rpartition("/")[0], location, storage_options(self.options))

    def _existing(self, identifier: Identifier, ignore_if_exists: bool) -> TableSchema | None:
        there = self.hive_table(identifier)
        if there is None:
            return None
        if is_view(there):
            raise TableAlreadyExists(f"there is a view {identifier} already; choose another name for the table")
        found = self.find_table(identifier)
        if found is not None and not ignore_if_exists:
            raise TableAlreadyExists(f"there is a table {identifier} already; write to it, or choose another name")
        return found

    def _existing_now(self, identifier: Identifier, ignore_if_exists: bool) -> TableSchema:
        found = self._existing(identifier, ignore_if_exists)
        if found is None:
            raise TableNotFound(f"creating {identifier}: another client has created it, and dropped it already")
        return found


def _same(identifier: Identifier, schema: TableSchema, there: TableSchema, location: str) -> TableSchema:
    """The schema of the table that is at the place of an external one (Java: checkSchemaForExternalTable)."""
    differs = [
        *(["columns"] if [(f.name, f.type) for f in schema.fields] != [(f.name, f.type) for f in there.fields] else []),
        *(["partition columns"] if schema.partition_keys not in ((), there.partition_keys) else []),
        *(["primary key"] if schema.primary_keys not in ((), there.primary_keys) else []),
        *(k for k, v in schema.options.items() if k not in (PATH, "owner") and there.options.get(k) != v),
    ]
    if differs:
        raise SchemaError(
            f"creating {identifier}: the table at {location} differs in {', '.join(differs)}; give the same, or "
            "another path"
        )
    return there
