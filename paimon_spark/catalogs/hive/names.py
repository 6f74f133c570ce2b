"""Names in a Hive metastore (Java: HiveCatalog)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from typing import ClassVar

from pymetastore.hive_metastore import ttypes

from paimon_spark.catalogs.catalog_options import CASE_SENSITIVE, bool_option, storage_options
from paimon_spark.catalogs.create import find_schema
from paimon_spark.catalogs.drops import drop_whole_database, remove_empty_database
from paimon_spark.catalogs.hive.format_tables import is_format_table, new_format_table
from paimon_spark.catalogs.hive.hive_tables import altered_table, asks_external, hive_keys, new_table
from paimon_spark.catalogs.hive.locks import table_lock
from paimon_spark.catalogs.hive.metastore import Metastore
from paimon_spark.catalogs.hive.migrations import HiveMigrations
from paimon_spark.catalogs.hive.places import (
    HiveDatabase,
    HiveTable,
    is_external,
    is_paimon,
    is_view,
    place_of_database,
    place_of_table,
    put_database,
    put_table,
)
from paimon_spark.catalogs.hive.publisher import copy_schema
from paimon_spark.catalogs.hive.served import served_location
from paimon_spark.catalogs.hive.settings import read_settings
from paimon_spark.catalogs.hive.travel import connection_text
from paimon_spark.catalogs.hive.views import HiveViews
from paimon_spark.catalogs.identifier import (
    DATABASE_SUFFIX,
    SYSTEM_DATABASE,
    Database,
    Identifier,
    Missing,
    Refused,
    Taken,
)
from paimon_spark.catalogs.moves import is_table, move_table
from paimon_spark.catalogs.names import HiveTables, Place, ViewNames
from paimon_spark.catalogs.not_found import database_not_found
from paimon_spark.errors import (
    DatabaseNotEmpty,
    DatabaseNotFound,
    OptionError,
    PaimonError,
    SchemaError,
    StorageError,
    TableNotFound,
    UnsupportedFeature,
)
from paimon_spark.file_io import DirectoryIO, absolute_location, file_io_for, plain_location
from paimon_spark.format.options.engines import TableKind
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.store.commit.attempt import live_partitions
from paimon_spark.store.commit.partition_registration import keeper_of, register_partitions
from paimon_spark.store.metadata.table_options import PATH
from paimon_spark.store.open import open_data_table
from paimon_spark.store.storage.publishers import CONNECTION

_LOCATION, _COMMENT, _OWNER = "location", "comment", "owner"
_SUFFIX = "$"
_TRIES = 3
_FORMAT_TABLES = "format-table.enabled"


def hive_names(name: str, options: Mapping[str, str]) -> HiveNames:
    """The names of the catalog of these options; its metastore is asked at the first use.

    Raises:
        OptionError: an option is unknown, missing or has a bad value.
        UnsupportedFeature: an option asks for what this catalog does not have.
    """
    settings = read_settings(options)
    return HiveNames(name, absolute_location(settings.warehouse), options, Metastore(settings))


@dataclass(frozen=True)
class HiveNames:
    """The names of a metastore; see Names. They are found in any letter case."""

    title: ClassVar[str] = "the metastore"
    files_decide: ClassVar[bool] = False
    has_external_tables: ClassVar[bool] = True
    has_format_tables: ClassVar[bool] = True

    name: str
    warehouse: str
    options: Mapping[str, str] = field(repr=False)
    metastore: Metastore = field(repr=False, compare=False)

    @property
    def case_sensitive(self) -> bool:
        return bool_option(self.options, False, CASE_SENSITIVE, "allow-upper-case")

    @property
    def has_locks(self) -> bool:
        return self.metastore.settings.locked

    @property
    def views(self) -> ViewNames | None:
        return HiveViews(self.metastore)

    @property
    def hive_tables(self) -> HiveTables | None:
        return HiveMigrations(self.metastore, storage_options(self.options))

    def file_io_of(self, location: str) -> DirectoryIO:
        return file_io_for(location, storage_options(self.options))

    def table_options(self) -> Mapping[str, str]:
        return {**storage_options(self.options), CONNECTION: connection_text(self.options)}

    @contextmanager
    def lock(self, *identifiers: Identifier) -> Iterator[None]:
        with ExitStack() as held:
            for identifier in sorted(set(identifiers), key=str):
                held.enter_context(table_lock(self.metastore, identifier))
            yield

    def list_databases(self) -> list[str]:
        return [name for name in self.metastore.databases() if name != SYSTEM_DATABASE]

    def has_database(self, name: str) -> bool:
        return self.metastore.database(name) is not None

    def load_database(self, name: str) -> Database:
        found = self._hive_database(name)
        properties = dict(found.parameters or {})
        if found.ownerName is not None:
            properties[_OWNER] = found.ownerName
        return Database(name, place_of_database(found), found.description or None, properties)

    def no_database(self, name: str) -> DatabaseNotFound:
        return database_not_found(self, name)

    def database_location(self, name: str) -> str:
        found = self.metastore.database(name)
        place = None if found is None else place_of_database(found)
        return place or self._new_database_location(name)

    def create_database(self, name: str, properties: Mapping[str, str]) -> bool:
        others = {k: text for k, text in properties.items() if k not in (_LOCATION, _COMMENT, _OWNER)}
        made = ttypes.Database(
            name=name,
            description=properties.get(_COMMENT),
            ownerName=properties.get(_OWNER),
            parameters=others,
        )
        place = absolute_location(properties.get(_LOCATION) or self._new_database_location(name))
        in_properties = self.metastore.settings.location_in_properties
        put_database(made, place, in_properties)
        if self.metastore.database(name) is not None:
            return False
        if in_properties:  # else the metastore makes it
            self.file_io_of(place).make_directory(place)
        try:
            self.metastore.create_database(made)
        except Taken:
            return False
        return True

    def alter_database(self, name: str, properties: Mapping[str, str], unset: Sequence[str]) -> None:
        """As Names.alter_database. Java loses the comment and the owner of a database that it changes."""
        if _LOCATION in (*properties, *unset):
            raise OptionError(
                f"changing the database '{name}': its location cannot be changed; the tables stay where they are"
            )
        found = self._hive_database(name)
        dropped = {_OWNER, _COMMENT, *unset}
        found.parameters = {
            k: text for k, text in {**(found.parameters or {}), **properties}.items() if k not in dropped
        }
        if _COMMENT in (*properties, *unset):
            found.description = properties.get(_COMMENT)
        if _OWNER in (*properties, *unset):
            found.ownerName = properties.get(_OWNER)
        self.metastore.alter_database(name, found)
        if (self._hive_database(name).description or None) != (found.description or None):
            raise UnsupportedFeature(
                f"changing the comment of the database '{name}': the metastore keeps the comment that a database was "
                "made with (Hive 2); the other properties are changed"
            )

    def others(self, database: str) -> Mapping[str, Sequence[str]]:
        found = [table for table in self.metastore.tables(database) if not self._is_listed(table)]
        return {
            "views": [str(table.tableName) for table in found if is_view(table)],
            "tables of Hive": [str(table.tableName) for table in found if not is_view(table)],
        }

    def remove_database(self, name: str, cascade: bool) -> PaimonError | None:
        """As Names.remove_database. Without cascade, Java drops views and tables of Hive too; here they are kept.

        Files that belong to no table stay without cascade. Java lets the metastore delete the directory, which it does
        after others may have made the database anew, with their tables in it. Here it goes while it is empty, or while
        there is no such database.
        """
        location = self.database_location(name)
        if cascade:
            for table in self.metastore.tables(name):
                if not self._is_listed(table):
                    with suppress(Missing):  # another client has dropped it
                        deletes_data = not is_external(table) and not is_view(table)
                        self.metastore.drop_table(Identifier(name, str(table.tableName)), deletes_data)
        failure = self._drop_name(name, cascade)
        if failure is None:
            self._drop_directory(name, location, cascade)
        return failure

    def _drop_name(self, name: str, cascade: bool) -> PaimonError | None:
        """Drops a database in the metastore. Raises Missing: others did it."""
        deletes_data = self.metastore.settings.location_in_properties  # from a place that no table lies in
        for left in range(_TRIES, 0, -1):
            try:
                self.metastore.drop_database(name, deletes_data)
                return None
            except Refused as error:  # it also fails somewhere in Hive where another client drops the database too
                if self.metastore.database(name) is None:
                    raise Missing(str(error)) from None
                if self.metastore.tables(name):  # created concurrently
                    return error
                if left == 1 or (error.is_certain and not cascade):
                    raise
                if error.is_certain:  # functions of Hive
                    self.metastore.drop_database(name, deletes_data, cascade=True)
                    return None
        raise AssertionError("the last try raises")

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

    def list_tables(self, database: str) -> list[str]:
        """As Names.list_tables, with those tables of Hive that are format tables."""
        return [str(table.tableName) for table in self.metastore.tables(database) if self._is_listed(table)]

    def has_name(self, identifier: Identifier) -> bool:
        return self.metastore.table(identifier) is not None

    def find_place(self, identifier: Identifier) -> Place | None:
        found = self._listed_table(identifier)
        if found is None:
            return None
        return Place(place_of_table(found) or self.table_location(identifier), is_external(found))

    def table_location(self, identifier: Identifier) -> str:
        suffix = identifier.table.partition(_SUFFIX)[2]
        found = self.hive_table(identifier)
        if found is not None and not is_paimon(found) and self._is_listed(found):
            named = Identifier(identifier.database, str(found.tableName))
            return f"{served_location(self.name, named)}{identifier.table[len(named.table) :]}"
        place = None if found is None else place_of_table(found)
        if place is None:
            return f"{self.database_location(identifier.database)}/{identifier.table}"
        is_whole = found is not None and str(found.tableName).lower() == identifier.table.lower()
        return place if is_whole or not suffix else f"{place}{_SUFFIX}{suffix}"

    def new_place(self, identifier: Identifier, schema: TableSchema) -> Place:
        """As Names.new_place.

        Raises:
            SchemaError: the metastore cannot have its partitions.
        """
        if not is_of_files(schema):
            hive_keys(identifier, schema)
        path = schema.options.get(PATH)
        location = absolute_location(path) if path else self.table_location(identifier)
        return Place(location, path is not None or asks_external(schema, self.metastore.settings.is_external))

    def add_table(self, identifier: Identifier, schema: TableSchema, place: Place) -> None:
        """As Names.add_table.

        Raises:
            TableNotFound: its database was dropped with its directory, and made anew; the name is removed again.
        """
        if is_of_files(schema):
            made = new_format_table(self.metastore, identifier, schema, place.location, place.is_external)
            self.metastore.create_table(made)
            return
        self.metastore.create_table(new_table(self.metastore, identifier, schema, place.location, place.is_external))
        if find_schema(self.file_io_of(place.location), place.location) is None:
            with suppress(Missing):
                self.metastore.drop_table(identifier)
            raise TableNotFound(f"creating {identifier}: another client has dropped it already, or its database")

    def put_table(self, identifier: Identifier, schema: TableSchema, location: str) -> None:
        found = self.hive_table(identifier)
        if found is None:
            external = asks_external(schema, self.metastore.settings.is_external)
            self.metastore.create_table(new_table(self.metastore, identifier, schema, location, external))
        elif not is_paimon(found):
            raise Taken
        else:
            after = altered_table(self.metastore, found, schema, location)
            if (after.sd.cols, after.parameters) != (found.sd.cols, found.parameters):
                copy_schema(self.metastore, identifier, after)
        opened = open_data_table(location, self.table_options())
        if keeper_of(opened) is not None:
            register_partitions(opened, live_partitions(opened))

    def remove_table(self, identifier: Identifier) -> Place | None:
        """As Names.remove_table.

        A metastore may answer two drops of one table that run at once as if both had done it. Under the lock only one
        of them finds the table.
        """
        found = self._listed_table(identifier)
        if found is None:
            return None
        place = Place(place_of_table(found) or self.table_location(identifier), is_external(found))
        try:
            self.metastore.drop_table(identifier, deletes_data=not is_paimon(found) and not place.is_external)
        except Missing:
            return None
        return place

    def rename_table(self, identifier: Identifier, to: Identifier, place: Place, target: str) -> None:
        """One call of the metastore, which moves the directory too, or the directory after it."""
        found = self._listed_table(identifier)
        if found is None:
            raise Missing
        file_io = self.file_io_of(place.location)
        renamed(self.metastore, file_io, identifier, to, found, (place.location, target))

    def hive_table(self, identifier: Identifier) -> HiveTable | None:
        """What the metastore has of a table or a view, also by the name of a branch or a system table."""
        found = self.metastore.table(Identifier(identifier.database, identifier.table.partition(_SUFFIX)[0]))
        if found is None and _SUFFIX in identifier.table:
            found = self.metastore.table(identifier)
        return found

    def _listed_table(self, identifier: Identifier) -> HiveTable | None:
        """As hive_table, for tables of Paimon and format tables; None: there is none.

        Raises:
            UnsupportedFeature: there is a table, which is another one of Hive.
        """
        found = self.hive_table(identifier)
        if found is None or is_view(found):
            return None
        if self._is_listed(found):
            return found
        why = "its files are in none of the formats of format tables"
        if is_format_table(found):
            why = f"'{_FORMAT_TABLES}' is false"
        raise UnsupportedFeature(
            f"{identifier} is a table of Hive without snapshots, and {why}; read it with Hive, or with Spark"
        )

    def _is_listed(self, table: HiveTable) -> bool:
        """True for tables of Paimon, and for format tables unless the options hide them."""
        return is_paimon(table) or (bool_option(self.options, True, _FORMAT_TABLES) and is_format_table(table))

    def _hive_database(self, name: str) -> HiveDatabase:
        """What the metastore has of a database. Raises DatabaseNotFound if it has none."""
        found = self.metastore.database(name)
        if found is None:
            raise database_not_found(self, name)
        return found

    def _new_database_location(self, name: str) -> str:
        return f"{self.warehouse}/{name}{DATABASE_SUFFIX}"


def is_of_files(schema: TableSchema) -> bool:
    """True if the schema is one of a format table."""
    return TableSettings(schema.options).table_type == TableKind.FORMAT_TABLE


def renamed(
    metastore: Metastore,
    file_io: DirectoryIO,
    identifier: Identifier,
    to: Identifier,
    table: HiveTable,
    places: tuple[str, str],
) -> None:
    """Does it.

    Args:
        metastore: has the table.
        file_io: reaches both places.
        identifier: its name.
        to: the new one, which is free.
        table: what the metastore has of it.
        places: where it is, and where a table of the new name would be.

    Raises:
        Missing: there is no such table any more.
        Taken: the new name was taken concurrently.
        SchemaError: the directory at the new place cannot be replaced.
    """
    source, target = places
    changed = deepcopy(table)
    changed.dbName, changed.tableName = to.database, to.table
    try:
        metastore.alter_table(identifier, changed, {})
    except Refused as error:
        if metastore.table(identifier) is None:
            raise Missing(f"there is no table {identifier} any more") from error
        if metastore.table(to) is not None:
            raise Taken from None
        raise
    if is_external(table) or not is_table(file_io, source) or plain_location(source) == plain_location(target):
        return
    if not move_table(file_io, source, target):
        raise SchemaError(
            f"renaming {identifier}: the metastore has the table under its new name {to}, and its files are still at "
            f"{source}, because there is a table at {target}; it can be used as it is"
        )
    now = metastore.table(to)
    if now is not None and plain_location(place_of_table(now) or source) == plain_location(source):
        put_table(now, target, metastore.settings.location_in_properties)
        metastore.alter_table(to, now, {})
