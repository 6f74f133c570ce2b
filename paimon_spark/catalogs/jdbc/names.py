"""Names that are rows of a database (Java: JdbcCatalog)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

from paimon_spark.catalogs.catalog_options import METASTORE, WAREHOUSE, storage_options
from paimon_spark.catalogs.create import find_schema
from paimon_spark.catalogs.identifier import DATABASE_SUFFIX, SYSTEM_DATABASE, Database, Identifier, Missing, Taken
from paimon_spark.catalogs.jdbc.connection import JdbcConnection, connection_text
from paimon_spark.catalogs.jdbc.database import RowTaken
from paimon_spark.catalogs.jdbc.databases_and_tables import EXISTS
from paimon_spark.catalogs.jdbc.properties import check_lengths, table_properties
from paimon_spark.catalogs.jdbc.settings import PROPERTY, URI, read_settings
from paimon_spark.catalogs.jdbc.views import JdbcViews
from paimon_spark.catalogs.moves import is_table, move_table
from paimon_spark.catalogs.names import HiveTables, Place
from paimon_spark.catalogs.not_found import database_not_found
from paimon_spark.catalogs.secret_files import read_secrets
from paimon_spark.errors import (
    DatabaseAlreadyExists,
    DatabaseNotEmpty,
    DatabaseNotFound,
    OptionError,
    PaimonError,
    SchemaError,
    UnsupportedFeature,
)
from paimon_spark.file_io import DirectoryIO, absolute_location, file_io_for
from paimon_spark.format.schema import TableSchema
from paimon_spark.store.storage.publishers import CONNECTION

_LOCATION = "location"
_COMMENT = "comment"
_SUFFIX = "$"


def jdbc_names(name: str, options: Mapping[str, str]) -> JdbcNames:
    """The names of the catalog of these options; its database is asked at the first use.

    Raises:
        OptionError: an option is unknown, missing or has a bad value.
    """
    settings = read_settings(options)
    warehouse = absolute_location(options[WAREHOUSE].strip())
    connection = JdbcConnection(settings)
    return JdbcNames(name, warehouse, file_io_for(warehouse, storage_options(options)), options, connection)


@dataclass(frozen=True)
class JdbcNames:
    """The rows of a catalog; see Names. Pickled, it has no password (see ``connection``)."""

    title: ClassVar[str] = "the database of the catalog"
    files_decide: ClassVar[bool] = False
    has_external_tables: ClassVar[bool] = False
    has_format_tables: ClassVar[bool] = False
    hive_tables: ClassVar[HiveTables | None] = None

    name: str
    warehouse: str
    file_io: DirectoryIO = field(repr=False)
    options: Mapping[str, str] = field(repr=False)
    connection: JdbcConnection = field(repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        own = {k: v for k, v in self.options.items() if not k.startswith(PROPERTY) and k != URI}
        return _reopened, (self.name, own, connection_text(self.options).partition(":")[2])

    @property
    def case_sensitive(self) -> bool:
        """Never, as in Java, whatever the option says: names of some databases differ by more than their case."""
        return False

    @property
    def has_locks(self) -> bool:
        return self.connection.settings.locked

    @property
    def views(self) -> JdbcViews:
        return JdbcViews(self.name, self.connection)

    def file_io_of(self, location: str) -> DirectoryIO:
        return self.file_io

    def table_options(self) -> Mapping[str, str]:
        return {**storage_options(self.options), CONNECTION: connection_text(self.options)}

    def lock(self, *identifiers: Identifier) -> AbstractContextManager[None]:
        return self.connection.lock(*identifiers)

    def list_databases(self) -> list[str]:
        return [name for name in self.connection.rows.databases() if name != SYSTEM_DATABASE]

    def has_database(self, name: str) -> bool:
        return self.connection.rows.has_database(name)

    def load_database(self, name: str) -> Database:
        stored = self.connection.rows.database_properties(name)
        others = {key: text for key, text in stored.items() if key not in (EXISTS, _LOCATION, _COMMENT)}
        return Database(name, stored.get(_LOCATION, self.database_location(name)), stored.get(_COMMENT), others)

    def no_database(self, name: str) -> DatabaseNotFound:
        return database_not_found(self, name)

    def database_location(self, name: str) -> str:
        return f"{self.warehouse}/{name}{DATABASE_SUFFIX}"

    def create_database(self, name: str, properties: Mapping[str, str]) -> bool:
        """As Names.create_database.

        Raises:
            DatabaseAlreadyExists: there is one whose name the database takes for equal.
        """
        self.connection.make_ready()
        if self.has_database(name):
            return False
        stored = {EXISTS: "true", _LOCATION: self.database_location(name), **properties}
        self._check_properties(name, stored)
        try:
            self.connection.rows.add_database(name, stored)
        except RowTaken:
            if not self.has_database(name):
                raise DatabaseAlreadyExists(
                    f"there is a database '{name}' already; use it, or choose another name"
                ) from None
            return False
        return True

    def alter_database(self, name: str, properties: Mapping[str, str], unset: Sequence[str]) -> None:
        if EXISTS in (*properties, *unset) or _LOCATION in unset:
            raise OptionError(
                f"changing the database '{name}': the properties '{EXISTS}' and '{_LOCATION}' belong to the catalog"
            )
        self._check_properties(name, dict(properties))
        self.connection.rows.set_database_properties(name, properties, unset)

    def _check_properties(self, name: str, properties: dict[str, str]) -> None:
        check_lengths(f"the database '{name}'", properties)
        location = self.database_location(name)
        if absolute_location(properties.get(_LOCATION, location)) != location:
            raise UnsupportedFeature(
                f"the database '{name}' with a location of its own: a jdbc catalog, Java's too, has the tables of a "
                f"database in {location}, whatever the property says; leave the location out"
            )

    def others(self, database: str) -> Mapping[str, Sequence[str]]:
        return {"views": self.views.list_views(database)}

    def remove_database(self, name: str, cascade: bool) -> PaimonError | None:
        """As Names.remove_database. Its directory stays, as by Java."""
        rows = self.connection.rows
        if rows.remove_database(name) if cascade else rows.remove_empty_database(name):
            return None
        return DatabaseNotEmpty(
            f"dropping the database '{name}': it held a table or a view a moment ago; run this again"
        )

    def list_tables(self, database: str) -> list[str]:
        return self.connection.rows.tables(database)

    def has_name(self, identifier: Identifier) -> bool:
        return self.connection.rows.has_table(identifier) or self.views.has(identifier)

    def find_place(self, identifier: Identifier) -> Place | None:
        plain = Identifier(identifier.database, identifier.table.partition(_SUFFIX)[0])
        has_row = self.connection.rows.has_table(plain) or (
            plain != identifier and self.connection.rows.has_table(identifier)
        )
        return Place(self.table_location(identifier)) if has_row else None

    def table_location(self, identifier: Identifier) -> str:
        return f"{self.database_location(identifier.database)}/{identifier.table}"

    def new_place(self, identifier: Identifier, schema: TableSchema) -> Place:
        """As Names.new_place.

        Raises:
            OptionError: a property of the table is too long.
        """
        self._properties(schema)
        return Place(self.table_location(identifier))

    def add_table(self, identifier: Identifier, schema: TableSchema, place: Place) -> None:
        properties = self._properties(schema)
        try:
            self.connection.rows.add_table(identifier, properties)
        except RowTaken:  # another client has repaired the table in between, or has a name that MySQL takes for equal
            if not self.connection.rows.has_table(identifier):
                raise SchemaError(
                    f"creating {identifier}: the database has a table whose name differs in the letter case alone; the "
                    f"files at {place.location} are no table: delete that directory, and choose another name"
                ) from None
            self.connection.rows.set_table_properties(identifier, properties)

    def put_table(self, identifier: Identifier, schema: TableSchema, location: str) -> None:
        properties = self._properties(schema)
        if self.views.has(identifier):
            raise Taken
        if not self.connection.rows.has_table(identifier):
            try:
                self.connection.rows.add_table(identifier, properties)
                return
            except RowTaken:
                pass
        self.connection.rows.set_table_properties(identifier, properties)

    def remove_table(self, identifier: Identifier) -> Place | None:
        place = self.find_place(identifier)
        return place if place is not None and self.connection.rows.remove_table(identifier) else None

    def rename_table(self, identifier: Identifier, to: Identifier, place: Place, target: str) -> None:
        """The row first, then the files, as Java. Where the files stay, the row gets its old name back."""
        if not self.connection.rows.rename_table(identifier, to):
            raise Missing
        self.file_io.make_directory(self.database_location(to.database))  # a database has none before its first table
        try:
            moved = move_table(self.file_io, place.location, target)
        except Exception:  # of whatever kind: what counts is where the files are
            if is_table(self.file_io, place.location):
                self._give_back(identifier, to)
            raise
        if not moved:
            self._give_back(identifier, to)
            raise Taken

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


def _reopened(name: str, own: Mapping[str, str], text: str) -> JdbcNames:
    decoded = json.loads(text)
    secrets = read_secrets(decoded["secrets"]) if "secrets" in decoded else {}
    return jdbc_names(name, {METASTORE: "jdbc", **own, **decoded["options"], **secrets})
