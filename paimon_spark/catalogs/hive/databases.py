"""The databases of a Hive catalog (Java: HiveCatalog.createDatabaseImpl and what follows it)."""

from __future__ import annotations

from collections.abc import Mapping

from pymetastore.hive_metastore import ttypes

from paimon_spark.catalogs.catalog import NO_OPTIONS, Database
from paimon_spark.catalogs.hive.failures import Missing, Taken
from paimon_spark.catalogs.hive.names import HiveNames
from paimon_spark.catalogs.hive.places import place_of_database, put_database
from paimon_spark.catalogs.identifier import SYSTEM_DATABASE, check_new_name, check_not_system_database
from paimon_spark.catalogs.not_found import database_not_found
from paimon_spark.errors import DatabaseAlreadyExists, OptionError, UnsupportedFeature
from paimon_spark.file_io import absolute_location

_LOCATION, _COMMENT, _OWNER = "location", "comment", "owner"


class HiveDatabases(HiveNames):
    """The part of the catalog that is about databases; see Catalog."""

    def load_database(self, name: str) -> Database:
        if name == SYSTEM_DATABASE:
            return Database(name)
        found = self.hive_database(name)
        properties = dict(found.parameters or {})
        if found.ownerName is not None:
            properties[_OWNER] = found.ownerName
        return Database(name, place_of_database(found), found.description or None, properties)

    def create_database(
        self, name: str, properties: Mapping[str, str] = NO_OPTIONS, ignore_if_exists: bool = False
    ) -> None:
        check_not_system_database(name, "creating")
        check_new_name(name, "database")
        others = {k: text for k, text in properties.items() if k not in (_LOCATION, _COMMENT, _OWNER)}
        made = ttypes.Database(
            name=name,
            description=properties.get(_COMMENT),
            ownerName=properties.get(_OWNER),
            parameters=others,
        )
        place = absolute_location(properties.get(_LOCATION) or self.new_database_location(name))
        in_properties = self.metastore.settings.location_in_properties
        put_database(made, place, in_properties)
        if self.metastore.database(name) is None:
            if in_properties:  # else the metastore makes it
                self.file_io_of(place).make_directory(place)
            try:
                self.metastore.create_database(made)
                return
            except Taken:
                pass
        if not ignore_if_exists:
            raise DatabaseAlreadyExists(f"there is a database '{name}' already; use it, or choose another name")

    def alter_database(self, name: str, properties: Mapping[str, str], unset: tuple[str, ...] = ()) -> None:
        """As Catalog.alter_database. Java loses the comment and the owner of a database that it changes."""
        check_not_system_database(name, "changing")
        if _LOCATION in (*properties, *unset):
            raise OptionError(
                f"changing the database '{name}': its location cannot be changed; the tables stay where they are"
            )
        found = self.hive_database(name)
        dropped = {_OWNER, _COMMENT, *unset}
        found.parameters = {
            k: text for k, text in {**(found.parameters or {}), **properties}.items() if k not in dropped
        }
        if _COMMENT in (*properties, *unset):
            found.description = properties.get(_COMMENT)
        if _OWNER in (*properties, *unset):
            found.ownerName = properties.get(_OWNER)
        try:
            self.metastore.alter_database(name, found)
        except Missing:
            raise database_not_found(self, name) from None
        after = self.hive_database(name)
        if (after.description or None) != (found.description or None):
            raise UnsupportedFeature(
                f"changing the comment of the database '{name}': the metastore keeps the comment that a database was "
                "made with (Hive 2); the other properties are changed"
            )
