"""The databases of a JDBC catalog (Java: JdbcCatalog.createDatabaseImpl and what follows it)."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_spark.catalogs.catalog import NO_OPTIONS, Database
from paimon_spark.catalogs.identifier import SYSTEM_DATABASE, check_new_name, check_not_system_database
from paimon_spark.catalogs.jdbc.database import RowTaken
from paimon_spark.catalogs.jdbc.names import JdbcNames
from paimon_spark.catalogs.jdbc.properties import check_lengths
from paimon_spark.catalogs.jdbc.rows import EXISTS
from paimon_spark.errors import DatabaseAlreadyExists, OptionError, UnsupportedFeature
from paimon_spark.file_io import absolute_location

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
