"""The catalog whose tables are files: all that does not depend on where names are stored (Java: AbstractCatalog).

A table is created files first and name second, and dropped name first and files second, as by Java. What a crash leaves
between the steps is no table for anybody, or files that ``CALL sys.repair`` makes a table again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.arrow.zones import TimeZone
from paimon_spark.catalogs.catalog import NO_OPTIONS, OpensByName
from paimon_spark.catalogs.catalog_options import (
    DEFAULT_DATABASE,
    OPTIONS_TABLE,
    bool_option,
    storage_options,
    table_defaults,
)
from paimon_spark.catalogs.create import check_creatable, create_table, find_schema, same_schema
from paimon_spark.catalogs.drops import drop_files
from paimon_spark.catalogs.functions import NoFunctions
from paimon_spark.catalogs.identifier import (
    DATABASE_SUFFIX,
    SYSTEM_DATABASE,
    Database,
    Identifier,
    Missing,
    Refused,
    Taken,
    check_addressable,
    check_new_name,
    check_not_system,
    check_not_system_database,
)
from paimon_spark.catalogs.names import HiveTables, Names, Place, ViewNames, not_stored
from paimon_spark.catalogs.not_found import database_not_empty, known_names, no_table, no_tables_of_hive, view_not_found
from paimon_spark.catalogs.repairs import LOOK_SECONDS, LOOKS, check_movable, repair, without_files, without_name
from paimon_spark.catalogs.views import View, ViewChange
from paimon_spark.catalogs.warehouse import FIELDS
from paimon_spark.errors import (
    DatabaseAlreadyExists,
    TableAlreadyExists,
    TableNotFound,
    UnsupportedFeature,
    ViewAlreadyExists,
)
from paimon_spark.file_io import FileIO, plain_location
from paimon_spark.format.options.engines import TableKind
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.rules.blobs import has_packs
from paimon_spark.format.schema import TableSchema
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.open import OpenTable, find_stored_table, open_any_table
from paimon_spark.store.storage.served import is_served

_SUFFIX = "$"
_TRIES = 100  # others create tables concurrently


@checks_arguments
@dataclass(frozen=True)
class FileCatalog(OpensByName, NoFunctions):
    """A catalog over files; see Catalog. Picklable.

    Attributes:
        names: which databases and tables there are.
    """

    names: Names

    @property
    def name(self) -> str:
        return self.names.name

    @property
    def warehouse(self) -> str:
        """The directory of the directories of new databases."""
        return self.names.warehouse

    @property
    def options(self) -> Mapping[str, str]:
        return self.names.options

    @property
    def default_database(self) -> str:
        return self.options.get(DEFAULT_DATABASE, "default")

    @property
    def case_sensitive(self) -> bool:
        return self.names.case_sensitive

    @property
    def can_rename_tables(self) -> bool:
        return self.names.file_io_of(self.warehouse).moves_directories

    def refresh(self, identifier: Identifier | None = None) -> None:
        """Does nothing: nothing is cached."""

    def list_databases(self) -> list[str]:
        return self.names.list_databases()

    def load_database(self, name: str) -> Database:
        if name == SYSTEM_DATABASE:
            return Database(name)
        self._check_database(name)
        return self.names.load_database(name)

    def create_database(
        self, name: str, properties: Mapping[str, str] = NO_OPTIONS, ignore_if_exists: bool = False
    ) -> None:
        check_not_system_database(name, "creating")
        check_new_name(name, "database")
        if not self.names.create_database(name, properties) and not ignore_if_exists:
            raise DatabaseAlreadyExists(
                f"there is a database '{name}' already, at {self.names.database_location(name)}; use it, or choose "
                "another name"
            )

    def drop_database(self, name: str, ignore_if_not_exists: bool = False, cascade: bool = False) -> None:
        """As Catalog.drop_database.

        Without cascade, Java's catalog in files deletes files of no table, and its Hive catalog drops views and tables
        of Hive. With cascade, its JDBC catalog leaves the files of tables. Here each goes with cascade, and only then.
        """
        check_not_system_database(name, "dropping")
        check_addressable(name, "database")
        try:
            if not self.names.has_database(name):
                raise Missing
            self._drop_database(name, cascade)
        except Missing:
            if not ignore_if_not_exists:
                raise self.names.no_database(name) from None

    def _drop_database(self, name: str, cascade: bool) -> None:
        for left in range(_TRIES, 0, -1):
            tables = self.names.list_tables(name)
            if not cascade:
                others = self.names.others(name)
                if tables or any(others.values()):
                    raise database_not_empty(self.name, name, {"tables": tables, **others})
            for table in tables:
                self.drop_table(Identifier(name, table), ignore_if_not_exists=True)
            failure = self.names.remove_database(name, cascade)
            if failure is None:
                return
            if left == 1:
                raise failure

    def alter_database(self, name: str, properties: Mapping[str, str], unset: tuple[str, ...] = ()) -> None:
        check_not_system_database(name, "changing")
        self._check_database(name)
        try:
            self.names.alter_database(name, properties, unset)
        except Missing:
            raise self.names.no_database(name) from None

    def _check_database(self, name: str) -> None:
        check_addressable(name, "database")
        if not self.names.has_database(name):
            raise self.names.no_database(name)

    def list_tables(self, database: str) -> list[str]:
        if database == SYSTEM_DATABASE:
            return system_tables(self.options)
        self._check_database(database)
        return self.names.list_tables(database)

    def check_table(self, identifier: Identifier) -> None:
        """Raises TableNotFound if the table has no name. Where there is none beside the files, it does nothing."""
        if identifier.database != SYSTEM_DATABASE and not self._may_exist(identifier):
            raise no_table(self, identifier)

    def table_location(self, identifier: Identifier) -> str:
        _check_path(identifier)
        if identifier.database == SYSTEM_DATABASE:
            return f"{self.warehouse}/{SYSTEM_DATABASE}{DATABASE_SUFFIX}/{identifier.table}"
        return self.names.table_location(identifier)

    def table_options(self, identifier: Identifier | None = None) -> Mapping[str, str]:
        return self.names.table_options()

    def find_table(self, identifier: Identifier) -> TableSchema | None:
        if identifier.database == SYSTEM_DATABASE or not self._may_exist(identifier):
            return None
        location = self.table_location(identifier)
        if is_served(location):
            found = find_stored_table(location, self.table_options())
            return None if found is None else found.schema
        schema = find_schema(self.names.file_io_of(location), location)
        if schema is None and _SUFFIX in identifier.table:
            branch = find_stored_table(location, self.table_options())
            schema = None if branch is None else branch.schema
        if schema is None and self._is_stored(identifier):
            raise without_files(self.names, identifier, location)
        return schema

    def load_any_table(
        self, identifier: Identifier, options: Mapping[str, str] = NO_OPTIONS, time_zone: TimeZone | None = None
    ) -> OpenTable:
        if identifier.database == SYSTEM_DATABASE:
            raise open_system_table(identifier, self.table_location(identifier))
        if not self._may_exist(identifier):
            raise no_table(self, identifier)
        location = self.table_location(identifier)
        try:
            return open_any_table(location, {**self.table_options(), **options}, time_zone=time_zone)
        except TableNotFound:
            if _SUFFIX in identifier.table:
                raise  # the message knows the names of system tables
            if self._is_stored(identifier):
                raise without_files(self.names, identifier, location) from None
            raise no_table(self, identifier) from None

    def create_table(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool = False) -> TableSchema:
        """As Catalog.create_table. With the option `path` the table is external, and may be there already."""
        check_not_system(identifier, "creating")
        check_new_name(identifier.table, "table")
        self._check_creatable(identifier, schema)
        self._check_database(identifier.database)
        with self.names.lock(identifier):
            found = self._existing(identifier, ignore_if_exists)
            if found is not None:
                return found
            complete = replace(schema, options={**table_defaults(self.options), **schema.options})
            self._check_creatable(identifier, complete)
            if TableSettings(complete.options).table_type == TableKind.FORMAT_TABLE:
                return self._create_format_table(identifier, complete, ignore_if_exists)
            return self._create(identifier, complete, ignore_if_exists)

    def _check_creatable(self, identifier: Identifier, schema: TableSchema) -> None:
        has_object_tables = not self.names.files_decide  # Java: FileSystemCatalog has no createObjectTable
        check_creatable(
            identifier, schema, self.names.has_external_tables, has_object_tables, self.names.has_format_tables
        )

    def drop_table(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        """As Catalog.drop_table. The files of an external table stay."""
        check_not_system(identifier, "dropping")
        _check_path(identifier)
        with self.names.lock(identifier):
            place = self.names.remove_table(identifier)
            had_files = place is not None and self._delete_files(identifier, place)
        if (place is None or (self.names.files_decide and not had_files)) and not ignore_if_not_exists:
            raise no_table(self, identifier)

    def rename_table(self, identifier: Identifier, to: Identifier, ignore_if_not_exists: bool = False) -> None:
        """As Catalog.rename_table. Java creates a missing database of the new name in files; here that is an error."""
        check_not_system(identifier, "renaming")
        check_not_system(to, "renaming a table to")
        check_new_name(to.table, "table")
        _check_path(identifier)
        with self.names.lock(identifier, to):
            place = self.names.find_place(identifier)
            if place is None:
                if ignore_if_not_exists:
                    return
                raise no_table(self, identifier)
            self._check_database(to.database)
            kind = "a table or a view" if self.has_views else "a table"
            taken = TableAlreadyExists(f"renaming {identifier}: there is {kind} {to} already; choose another name")
            if to == identifier or self.names.has_name(to):
                raise taken
            target = f"{self.names.database_location(to.database)}/{to.table}"
            is_moved = not place.is_external and not is_served(self.table_location(identifier))
            if is_moved:
                check_movable(self.names, identifier, to, (place.location, target))
                _check_no_packs(self.names.file_io_of(place.location), identifier, place.location)
            try:
                self.names.rename_table(identifier, to, place, target)
            except Missing:
                raise no_table(self, identifier) from None
            except Taken:
                raise taken from None

    def _create(self, identifier: Identifier, schema: TableSchema, ignore_if_exists: bool) -> TableSchema:
        """Files first, then the name. Of several clients one makes the files, and only that one the name."""
        place = self.names.new_place(identifier, schema)
        file_io = self.names.file_io_of(place.location)
        for left in range(LOOKS, -1, -1):
            there = find_schema(file_io, place.location) if place.is_external else None
            try:
                if there is not None:
                    made = same_schema(identifier, schema, there, place.location)
                else:
                    made = create_table(place.location, schema, file_io, locked=self.names.has_locks)
                break
            except TableAlreadyExists:  # files without a name, of a call that is at work, or of an interrupted one
                found = self._existing(identifier, ignore_if_exists)
                if found is not None:
                    return found
                if left == 0:
                    raise without_name(self.names, identifier, place.location) from None
                time.sleep(LOOK_SECONDS)
        try:
            self.names.add_table(identifier, made, place)
        except Taken:  # by another client, which has found the files of this call, or has made a table of another place
            self._delete_files(identifier, place)
            found = self._existing(identifier, ignore_if_exists)
            if found is None:
                raise TableNotFound(
                    f"creating {identifier}: another client has created it, and dropped it already"
                ) from None
            return found
        except Missing:
            self._delete_files(identifier, place)
            raise self.names.no_database(identifier.database) from None
        except Refused as error:
            if error.is_certain:
                self._delete_files(identifier, place)
            raise
        return made

    def _create_format_table(self, identifier: Identifier, schema: TableSchema, ignore: bool) -> TableSchema:
        """One step: its name and its schema. Files need not be there."""
        try:
            self.names.add_table(identifier, schema, self.names.new_place(identifier, schema))
        except Taken:
            pass
        except Missing:
            raise self.names.no_database(identifier.database) from None
        else:
            ignore = True
        found = self._existing(identifier, ignore)
        if found is None:
            raise TableNotFound(f"creating {identifier}: another client has dropped it already")
        return found

    def _existing(self, identifier: Identifier, ignore_if_exists: bool) -> TableSchema | None:
        """The table that is there already, if a new one is not to replace it."""
        if self.find_view(identifier) is not None:
            raise TableAlreadyExists(f"there is a view {identifier} already; choose another name for the table")
        found = self.find_table(identifier)
        if found is not None and not ignore_if_exists:
            raise TableAlreadyExists(f"there is a table {identifier} already; write to it, or choose another name")
        return found

    def _may_exist(self, identifier: Identifier) -> bool:
        """False: there is no such table. True: it has a name, or its files say whether it is there."""
        return self.names.files_decide or self._is_stored(identifier)

    def _is_stored(self, identifier: Identifier) -> bool:
        """True if a table has a name beside its files."""
        return not self.names.files_decide and self.names.find_place(identifier) is not None

    def _delete_files(self, identifier: Identifier, place: Place) -> bool:
        """Deletes the files of a table that has no name any more, or got none, unless it has one there by now.

        Returns:
            False: there was no table there, or it stays.
        """
        if place.is_external or self._is_at(identifier, place.location):
            return False
        parent, file_io = place.location.rpartition("/")[0], self.names.file_io_of(place.location)
        return drop_files(file_io, parent, place.location, storage_options(self.options))

    def _is_at(self, identifier: Identifier, location: str) -> bool:
        if self.names.files_decide:
            return False
        try:
            now = self.names.find_place(identifier)
        except UnsupportedFeature:  # a table of another kind has the name by now
            return False
        return now is not None and plain_location(now.location) == plain_location(location)

    def repair(self, database: str | None = None, table: str | None = None) -> None:
        repair(self, self.names, database, table)

    @property
    def has_views(self) -> bool:
        return self.names.views is not None

    def list_views(self, database: str) -> list[str]:
        views = self._views(f"listing the views of '{database}'")
        if database == SYSTEM_DATABASE:
            return []
        self._check_database(database)
        return views.list_views(database)

    def find_view(self, identifier: Identifier) -> View | None:
        return None if self.names.views is None else self.names.views.find(identifier)

    def load_view(self, identifier: Identifier) -> View:
        found = self._views(f"reading the view {identifier}").find(identifier)
        if found is None:
            raise view_not_found(self, identifier)
        return found

    def create_view(self, identifier: Identifier, view: View, ignore_if_exists: bool = False) -> None:
        doing = f"creating the view {identifier}"
        views = self._views(doing)
        check_not_system(identifier, "creating")
        check_new_name(identifier.table, "view")
        self._check_database(identifier.database)
        try:
            views.add(identifier, view)
        except Taken:
            if not ignore_if_exists:
                raise _view_taken(doing, identifier) from None
        except Missing:
            raise self.names.no_database(identifier.database) from None

    def alter_view(
        self, identifier: Identifier, changes: Sequence[ViewChange], ignore_if_not_exists: bool = False
    ) -> None:
        views = self._views(f"changing the view {identifier}")
        try:
            views.change(identifier, changes)
        except Missing:
            if not ignore_if_not_exists:
                raise view_not_found(self, identifier) from None

    def rename_view(self, identifier: Identifier, to: Identifier, ignore_if_not_exists: bool = False) -> None:
        doing = f"renaming the view {identifier}"
        views = self._views(doing)
        check_new_name(to.table, "view")
        try:
            if views.find(identifier) is None:
                raise Missing
            self._check_database(to.database)
            views.rename(identifier, to)
        except Missing:
            if not ignore_if_not_exists:
                raise view_not_found(self, identifier) from None
        except Taken:
            raise _view_taken(doing, to) from None

    def drop_view(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        views = self._views(f"dropping the view {identifier}")
        try:
            views.remove(identifier)
        except Missing:
            if not ignore_if_not_exists:
                raise view_not_found(self, identifier) from None

    def _views(self, doing: str) -> ViewNames:
        if self.names.views is None:
            raise not_stored(doing, "views")
        return self.names.views

    def tables_of_hive(self, database: str) -> list[str]:
        tables = self._hive_tables(f"looking for tables of Hive in '{database}'")
        self._check_database(database)
        return tables.list_tables(database)

    def migrate_table(
        self,
        source: Identifier,
        target: Identifier | None = None,
        options: Mapping[str, str] | None = None,
        drop_source: bool = True,
    ) -> None:
        self._hive_tables(f"migrating {source}").migrate(self, source, target, options or {}, drop_source)

    def _hive_tables(self, doing: str) -> HiveTables:
        if self.names.hive_tables is None:
            raise no_tables_of_hive(doing)
        return self.names.hive_tables


def _check_no_packs(file_io: FileIO, identifier: Identifier, location: str) -> None:
    """Checks that no data file of a table names the whole paths of packs, which a move would change.

    Java moves such a table, of which no BLOB can be read then.

    Raises:
        UnsupportedFeature: it has rows, and BLOB columns whose bytes are in packs.
    """
    schema = find_schema(file_io, location)
    if schema is None or not has_packs(schema, TableSettings(schema.options)):
        return
    if SnapshotStore(file_io, location).latest() is not None:
        raise UnsupportedFeature(
            f"renaming {identifier}: its rows refer to bytes of BLOB columns by the whole paths of files in "
            f"{location}, which a rename changes, so that none could be read; create the new table, and append the rows"
        )


def _check_path(identifier: Identifier) -> None:
    check_addressable(identifier.database, "database")
    check_addressable(identifier.table, "table")


def _view_taken(doing: str, identifier: Identifier) -> ViewAlreadyExists:
    return ViewAlreadyExists(f"{doing}: there is a view or a table {identifier} already; choose another name")


_CATALOG_OPTIONS = "catalog_options"


def system_tables(options: Mapping[str, str]) -> list[str]:
    """The names of the tables of `sys`, sorted, by the options of the catalog."""
    hidden = () if bool_option(options, False, OPTIONS_TABLE) else (_CATALOG_OPTIONS,)
    return sorted(name for name in FIELDS if name not in hidden)


def open_system_table(identifier: Identifier, location: str) -> TableNotFound:
    """The error for opening one as a table with rows of its own, or one that there is not."""
    if identifier.table not in FIELDS:
        return TableNotFound(
            f"there is no table {identifier}: {known_names(identifier.table, sorted(FIELDS), 'table')}"
        )
    return TableNotFound(
        f"{identifier} is no table with rows of its own, but a system table of the whole warehouse: read {location}"
    )
