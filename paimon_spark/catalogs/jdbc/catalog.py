"""The catalog whose names are rows of a database (Java: JdbcCatalog)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.catalogs.catalog import NO_OPTIONS, Database
from paimon_spark.catalogs.catalog_options import DEFAULT_DATABASE, METASTORE, WAREHOUSE, storage_options
from paimon_spark.catalogs.create import find_schema
from paimon_spark.catalogs.identifier import (
    DATABASE_SUFFIX,
    SYSTEM_DATABASE,
    Identifier,
    check_new_name,
    check_not_system,
    check_not_system_database,
)
from paimon_spark.catalogs.jdbc.connection import JdbcConnection, connection_text
from paimon_spark.catalogs.jdbc.database import RowTaken
from paimon_spark.catalogs.jdbc.names import JdbcNames
from paimon_spark.catalogs.jdbc.properties import check_lengths
from paimon_spark.catalogs.jdbc.rows import EXISTS
from paimon_spark.catalogs.jdbc.settings import PROPERTY, URI, read_settings
from paimon_spark.catalogs.jdbc.tables_part import JdbcTables
from paimon_spark.catalogs.moves import is_table
from paimon_spark.catalogs.not_found import database_not_found
from paimon_spark.catalogs.secret_files import read_secrets
from paimon_spark.catalogs.tables_only import NoFunctions, NoTablesOfHive, OpensByName
from paimon_spark.errors import (
    DatabaseAlreadyExists,
    DatabaseNotEmpty,
    DatabaseNotFound,
    OptionError,
    TableAlreadyExists,
    TableNotFound,
    UnsupportedFeature,
)
from paimon_spark.file_io import absolute_location, file_io_for

_SHOWN = 5


_LOCATION = "location"
_COMMENT = "comment"


class JdbcDatabases(JdbcNames):
    """The part of the catalog that is about databases; see Catalog."""

    def load_database(self, name: str) -> Database:
        if name == SYSTEM_DATABASE:
            return Database(name)
        self.check_database(name)
        stored = self.connection.rows.database_properties(name)
        others = {key: text for key, text in stored.items() if key not in (EXISTS, _LOCATION, _COMMENT)}
        return Database(name, stored.get(_LOCATION, self.database_location(name)), stored.get(_COMMENT), others)

    def create_database(
        self, name: str, properties: Mapping[str, str] = NO_OPTIONS, ignore_if_exists: bool = False
    ) -> None:
        check_not_system_database(name, "creating")
        check_new_name(name, "database")
        self.connection.make_ready()
        if self.connection.rows.has_database(name):
            if ignore_if_exists:
                return
            raise self._database_exists(name)
        stored = {EXISTS: "true", _LOCATION: self.database_location(name), **properties}
        self._check_properties(name, stored)
        try:
            self.connection.rows.add_database(name, stored)
        except RowTaken:
            if not ignore_if_exists or not self.connection.rows.has_database(name):
                raise self._database_exists(name) from None

    def alter_database(self, name: str, properties: Mapping[str, str], unset: tuple[str, ...] = ()) -> None:
        check_not_system_database(name, "changing")
        self.check_database(name)
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

    def _database_exists(self, name: str) -> DatabaseAlreadyExists:
        return DatabaseAlreadyExists(f"there is a database '{name}' already; use it, or choose another name")


def open_jdbc_catalog(name: str, options: Mapping[str, str]) -> JdbcCatalog:
    """The catalog of these options; its database is asked at the first use.

    Raises:
        OptionError: an option is unknown, missing or has a bad value.
    """
    settings = read_settings(options)
    warehouse = absolute_location(options[WAREHOUSE].strip())
    connection = JdbcConnection(settings)
    return JdbcCatalog(name, warehouse, file_io_for(warehouse, storage_options(options)), options, connection)


@checks_arguments
@dataclass(frozen=True)
class JdbcCatalog(JdbcDatabases, JdbcTables, OpensByName, NoFunctions, NoTablesOfHive):
    """A catalog in a database; see Catalog. Pickled, it has no password (see ``connection``)."""

    def __reduce__(self) -> tuple[Any, ...]:
        own = {k: v for k, v in self.options.items() if not k.startswith(PROPERTY) and k != URI}
        return _reopened, (self.name, own, connection_text(self.options).partition(":")[2])

    @property
    def default_database(self) -> str:
        return self.options.get(DEFAULT_DATABASE, "default")

    @property
    def case_sensitive(self) -> bool:
        """Never, as in Java, whatever the option says: names of some databases differ by more than their case."""
        return False

    def drop_database(self, name: str, ignore_if_not_exists: bool = False, cascade: bool = False) -> None:
        """As Catalog.drop_database. With cascade, Java leaves the files of the tables; here they are deleted too."""
        check_not_system_database(name, "dropping")
        if not self.connection.rows.has_database(name):
            if ignore_if_not_exists:
                return
            raise database_not_found(self, name)
        if cascade:
            self._drop_tables(name)
            while not self.connection.rows.remove_database(name):  # others have created a table concurrently
                self._drop_tables(name)
        elif not self.connection.rows.remove_empty_database(name):
            raise self._not_empty(name)

    def _drop_tables(self, database: str) -> None:
        for table in self.connection.rows.tables(database):
            self.drop_table(Identifier(database, table), ignore_if_not_exists=True)

    def _not_empty(self, name: str) -> DatabaseNotEmpty:
        tables, views = self.connection.rows.tables(name), self.list_views(name)
        names, held = [*tables, *views], f"{len(tables)} tables"
        if not names:  # the transaction has seen one
            return DatabaseNotEmpty(
                f"dropping the database '{name}': it held a table or a view a moment ago; run this again"
            )
        held += f" and {len(views)} views" if views else ""
        shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        return DatabaseNotEmpty(
            f"dropping the database '{name}': it holds {held} ({shown}); drop them "
            "first, or ask for them to be dropped too (cascade)"
        )

    def repair(self, database: str | None = None, table: str | None = None) -> None:
        """As Catalog.repair: registers tables whose files are there, and copies their options into the database."""
        if database is None:
            for name in self._directories(self.warehouse):
                if name.endswith(DATABASE_SUFFIX) and name.removesuffix(DATABASE_SUFFIX) not in ("", SYSTEM_DATABASE):
                    self.repair(name.removesuffix(DATABASE_SUFFIX))
        elif table is None:
            check_not_system_database(database, "repairing")
            location = self.database_location(database)
            if not self.file_io.exists(location):
                raise DatabaseNotFound(f"repairing the database '{database}': there is no directory {location}")
            self.create_database(database, ignore_if_exists=True)
            for name in self._directories(location):
                if is_table(self.file_io, f"{location}/{name}"):
                    self._repair_table(Identifier(database, name))
        else:
            self._repair_table(Identifier(database, table))

    def _directories(self, path: str) -> list[str]:
        return sorted(status.name for status in self.file_io.list(path) if status.is_directory)

    def _repair_table(self, identifier: Identifier) -> None:
        check_not_system(identifier, "repairing")
        location = self.table_location(identifier)
        self.connection.make_ready()
        with self.connection.lock(identifier):
            schema = find_schema(self.file_io, location)
            if schema is None:
                raise TableNotFound(f"repairing {identifier}: there are no files of a table at {location}")
            properties = self._properties(schema)
            self.create_database(identifier.database, ignore_if_exists=True)
            if self.find_view(identifier) is not None:
                raise TableAlreadyExists(f"repairing {identifier}: there is a view of that name; rename it first")
            if not self.has_table(identifier):
                try:
                    self.connection.rows.add_table(identifier, properties)
                    return
                except RowTaken:
                    pass
            self.connection.rows.set_table_properties(identifier, properties)

    def refresh(self, identifier: Identifier | None = None) -> None:
        """Does nothing: nothing is cached."""


def _reopened(name: str, own: Mapping[str, str], text: str) -> JdbcCatalog:
    decoded = json.loads(text)
    secrets = read_secrets(decoded["secrets"]) if "secrets" in decoded else {}
    return open_jdbc_catalog(name, {METASTORE: "jdbc", **own, **decoded["options"], **secrets})
