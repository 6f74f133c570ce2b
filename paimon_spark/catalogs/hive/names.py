"""What all parts of a Hive catalog have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from paimon_spark.catalogs.catalog_options import storage_options
from paimon_spark.catalogs.hive.metastore import Metastore
from paimon_spark.catalogs.hive.places import (
    HiveDatabase,
    HiveTable,
    is_paimon,
    is_view,
    place_of_database,
    place_of_table,
)
from paimon_spark.catalogs.hive.travel import connection_text
from paimon_spark.catalogs.identifier import DATABASE_SUFFIX, SYSTEM_DATABASE, Identifier, check_addressable
from paimon_spark.catalogs.not_found import database_not_found
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.file_io import DirectoryIO, file_io_for
from paimon_spark.store.storage.publishers import CONNECTION

_SUFFIX = "$"


@dataclass(frozen=True)
class HiveNames:
    """The names of a catalog, and where its files are.

    Attributes:
        warehouse: the directory of the directories of new databases, absolute, without a slash at its end.
        options: as given to open_catalog.
        metastore: has the names.
    """

    name: str
    warehouse: str
    options: Mapping[str, str] = field(repr=False)
    metastore: Metastore = field(repr=False, compare=False)

    def list_databases(self) -> list[str]:
        return [name for name in self.metastore.databases() if name != SYSTEM_DATABASE]

    def hive_database(self, name: str) -> HiveDatabase:
        """What the metastore has of a database. Raises DatabaseNotFound if it has none."""
        check_addressable(name, "database")
        found = self.metastore.database(name)
        if found is None:
            raise database_not_found(self, name)
        return found

    def hive_table(self, identifier: Identifier) -> HiveTable | None:
        """What the metastore has of a table or a view, also by the name of a branch or a system table."""
        found = self.metastore.table(Identifier(identifier.database, identifier.table.partition(_SUFFIX)[0]))
        if found is None and _SUFFIX in identifier.table:
            found = self.metastore.table(identifier)
        return found

    def paimon_table(self, identifier: Identifier) -> HiveTable | None:
        """As hive_table, for tables of Paimon; None: there is none.

        Raises:
            UnsupportedFeature: there is a table, which is one of Hive.
        """
        found = self.hive_table(identifier)
        if found is None or is_paimon(found):
            return found
        if is_view(found):
            return None
        raise UnsupportedFeature(
            f"{identifier} is a table of Hive without snapshots (which Java takes for a format table), and this "
            "release has none; read it with Spark"
        )

    def table_location(self, identifier: Identifier) -> str:
        """Of a table that is there, or, where there is none, the one that a new table would get."""
        check_addressable(identifier.database, "database")
        check_addressable(identifier.table, "table")
        if identifier.database == SYSTEM_DATABASE:
            return f"{self.new_database_location(SYSTEM_DATABASE)}/{identifier.table}"
        suffix = identifier.table.partition(_SUFFIX)[2]
        found = self.hive_table(identifier)
        place = None if found is None else place_of_table(found)
        if place is None:
            return f"{self.database_location(identifier.database)}/{identifier.table}"
        is_whole = found is not None and str(found.tableName).lower() == identifier.table.lower()
        return place if is_whole or not suffix else f"{place}{_SUFFIX}{suffix}"

    def table_options(self, identifier: Identifier | None = None) -> Mapping[str, str]:
        return {**storage_options(self.options), CONNECTION: connection_text(self.options)}

    def database_location(self, name: str) -> str:
        """The directory of new tables of a database."""
        found = self.metastore.database(name)
        place = None if found is None else place_of_database(found)
        return place or self.new_database_location(name)

    def new_database_location(self, name: str) -> str:
        """The directory of a new database."""
        return f"{self.warehouse}/{name}{DATABASE_SUFFIX}"

    def file_io_of(self, location: str) -> DirectoryIO:
        """The store of a location, which need not be that of the warehouse."""
        return file_io_for(location, storage_options(self.options))
