"""The tables of a JDBC catalog: their rows, and their files (Java: JdbcCatalog.createTable and what follows it)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from paimon_spark.arrow.zones import TimeZone
from paimon_spark.catalogs.catalog import NO_OPTIONS
from paimon_spark.catalogs.catalog_options import storage_options, table_defaults
from paimon_spark.catalogs.create import create_table, find_schema
from paimon_spark.catalogs.drops import drop_files
from paimon_spark.catalogs.identifier import SYSTEM_DATABASE, Identifier, check_new_name, check_not_system
from paimon_spark.catalogs.jdbc.database import RowTaken
from paimon_spark.catalogs.jdbc.properties import table_properties
from paimon_spark.catalogs.jdbc.views_part import JdbcViews
from paimon_spark.catalogs.moves import is_table, move_table
from paimon_spark.catalogs.not_found import table_not_found
from paimon_spark.catalogs.system_database import open_system_table, system_tables
from paimon_spark.catalogs.tables_only import check_creatable
from paimon_spark.errors import PaimonError, SchemaError, TableAlreadyExists, TableNotFound, UnsupportedFeature
from paimon_spark.format.schema import TableSchema
from paimon_spark.store.open import ReadableTable, find_stored_table, open_table

_SUFFIX = "$"
_LOOKS = 10
_LOOK_SECONDS = 0.1


class JdbcTables(JdbcViews):
    """The part of the catalog that is about tables; see Catalog."""

    @property
    def can_rename_tables(self) -> bool:
        return self.file_io.moves_directories

    def list_tables(self, database: str) -> list[str]:
        if database == SYSTEM_DATABASE:
            return system_tables(self.options)
        self.check_database(database)
        return self.connection.rows.tables(database)

    def check_table(self, identifier: Identifier) -> None:
        """Raises TableNotFound if there is no row of the table."""
        if identifier.database != SYSTEM_DATABASE and not self.has_table(identifier):
            raise self.no_table(identifier)

    def no_table(self, identifier: Identifier) -> TableNotFound:
        """The error for a table that is not there, or is a view."""
        if self.find_view(identifier) is not None:
            return TableNotFound(f"{identifier} is a view and no table: it can be read by a query only")
        return table_not_found(self, identifier)

    def find_table(self, identifier: Identifier) -> TableSchema | None:
        if identifier.database == SYSTEM_DATABASE or not self.has_table(identifier):
            return None
        location = self.table_location(identifier)
        schema = find_schema(self.file_io, location)
        if schema is None and _SUFFIX in identifier.table:
            branch = find_stored_table(location, self.table_options())
            schema = None if branch is None else branch.schema
        if schema is None and self.has_table(identifier):
            raise self.without_files(identifier)
        return schema

    def load_table(
        self, identifier: Identifier, options: Mapping[str, str] = NO_OPTIONS, time_zone: TimeZone | None = None
    ) -> ReadableTable:
        if identifier.database == SYSTEM_DATABASE:
            raise open_system_table(identifier, self.table_location(identifier))
        if not self.has_table(identifier):
            raise self.no_table(identifier)
        try:
            return open_table(self.table_location(identifier), {**self.table_options(), **options}, time_zone=time_zone)
        except TableNotFound:
            if _SUFFIX in identifier.table:
                raise
            raise (
                self.without_files(identifier) if self.has_table(identifier) else self.no_table(identifier)
            ) from None

    def create_table(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool = False) -> TableSchema:
        check_not_system(identifier, "creating")
        check_new_name(identifier.table, "table")
        check_creatable(identifier, schema.options)
        self.check_database(identifier.database)
        complete = replace(schema, options={**table_defaults(self.options), **schema.options})
        check_creatable(identifier, complete.options)
        with self.connection.lock(identifier):
            found = self._existing(identifier, ignore_if_exists)
            return self._create(identifier, complete, ignore_if_exists) if found is None else found

    def drop_table(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        check_not_system(identifier, "dropping")
        location = self.table_location(identifier)
        with self.connection.lock(identifier):
            if not self.has_table(identifier) or not self.connection.rows.remove_table(identifier):
                if ignore_if_not_exists:
                    return
                raise self.no_table(identifier)
            own = self.database_location(identifier.database)
            drop_files(self.file_io, own, location, storage_options(self.options))

    def rename_table(self, identifier: Identifier, to: Identifier, ignore_if_not_exists: bool = False) -> None:
        check_not_system(identifier, "renaming")
        check_not_system(to, "renaming a table to")
        check_new_name(to.table, "table")
        if not self.can_rename_tables:
            raise UnsupportedFeature(
                f"renaming {identifier} to {to}: {self.warehouse} is an object store, which cannot move a directory in "
                "one step; rows that others write meanwhile would be lost. Create the new table and copy the rows"
            )
        with self.connection.lock(identifier, to):
            if self.find_table(identifier) is None:
                if ignore_if_not_exists:
                    return
                raise self.no_table(identifier)
            self.check_database(to.database)
            taken = TableAlreadyExists(
                f"renaming {identifier}: there is a table or a view {to} already; choose another name"
            )
            if self.has_table(to) or self.find_view(to) is not None:
                raise taken
            self._rename(identifier, to, taken)

    def _create(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool) -> TableSchema:
        """Files first, then the row, as Java. Of several processes one makes the files, and only that one the row."""
        location, properties = self.table_location(identifier), self._properties(schema)
        for left in range(_LOOKS, -1, -1):
            try:
                made = create_table(location, schema, self.file_io)
                break
            except TableAlreadyExists:  # files without a row, of a call that is at work, or of one that was interrupted
                found = self._existing(identifier, ignore_if_exists)
                if found is not None:
                    return found
                if left == 0:
                    raise self._without_row(identifier) from None
                time.sleep(_LOOK_SECONDS)
        try:
            self.connection.rows.add_table(identifier, properties)
        except RowTaken:  # another client has repaired the table in between, or has a name that MySQL takes for equal
            if not self.has_table(identifier):
                raise SchemaError(
                    f"creating {identifier}: the database has a table whose name differs in the letter case alone; the "
                    f"files at {location} are no table: delete that directory, and choose another name"
                ) from None
            self.connection.rows.set_table_properties(identifier, properties)
        return made

    def _without_row(self, identifier: Identifier) -> SchemaError:
        return SchemaError(
            f"creating {identifier}: the files of a table are at {self.table_location(identifier)}, and the database "
            f"of the catalog does not know it: its creation, its drop or its rename was interrupted, or it was made "
            f"without the catalog. CALL sys.repair('{identifier}') makes it a table again; else delete the directory"
        )

    def _check_no_files(self, identifier: Identifier, to: Identifier) -> None:
        """The new name of a table must have no files, or those of a call that is at work there."""
        target = self.table_location(to)
        for _ in range(_LOOKS):
            if not is_table(self.file_io, target) or self.has_table(to):
                return
            time.sleep(_LOOK_SECONDS)
        raise SchemaError(
            f"renaming {identifier}: the files of a table are at {target}, and the database of the catalog does not "
            "know it; repair that table, or delete the directory"
        )

    def _existing(self, identifier: Identifier, ignore_if_exists: bool) -> TableSchema | None:
        if self.find_view(identifier) is not None:
            raise TableAlreadyExists(f"there is a view {identifier} already; choose another name for the table")
        found = self.find_table(identifier)
        if found is not None and not ignore_if_exists:
            raise TableAlreadyExists(f"there is a table {identifier} already; write to it, or choose another name")
        return found

    def _rename(self, identifier: Identifier, to: Identifier, taken: PaimonError) -> None:
        """The row first, then the files, as Java. Where the files stay, the row gets its old name back."""
        self._check_no_files(identifier, to)
        try:
            if not self.connection.rows.rename_table(identifier, to):
                raise self.no_table(identifier)
        except RowTaken:
            raise taken from None
        self.file_io.make_directory(self.database_location(to.database))  # a database has none before its first table
        source, target = self.table_location(identifier), self.table_location(to)
        try:
            moved = move_table(self.file_io, source, target)
        except Exception:  # of whatever kind: what counts is where the files are
            if is_table(self.file_io, source):
                self._give_back(identifier, to)
            raise
        if not moved:
            self._give_back(identifier, to)
            raise taken

    def _give_back(self, identifier: Identifier, to: Identifier) -> None:
        """Gives a table that has not moved its row again.

        Without a lock another process may have created `to` concurrently: its row was there, so it is that table's now.
        """
        rows, created = self.connection.rows, find_schema(self.file_io, self.table_location(to))
        if created is None:
            rows.rename_table(to, identifier)
            return
        stays = find_schema(self.file_io, self.table_location(identifier))
        with suppress(RowTaken):  # it has a row: a repair was faster
            rows.add_table(identifier, {} if stays is None else self._properties(stays))
        rows.set_table_properties(to, self._properties(created))

    def _properties(self, schema: TableSchema) -> dict[str, str]:
        return table_properties(schema) if self.connection.settings.syncs else {}

    def without_files(self, identifier: Identifier) -> SchemaError:
        return SchemaError(
            f"the database of the catalog has a table {identifier}, and there are no files of it at "
            f"{self.table_location(identifier)}: a rename of it was interrupted, or the files were deleted. Drop it; "
            "if the files are in a directory of another name, CALL sys.repair with that name makes them a table again"
        )
