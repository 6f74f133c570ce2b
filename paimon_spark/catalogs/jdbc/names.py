"""What all parts of a JDBC catalog have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from paimon_spark.catalogs.catalog_options import storage_options
from paimon_spark.catalogs.identifier import DATABASE_SUFFIX, SYSTEM_DATABASE, Identifier, check_addressable
from paimon_spark.catalogs.jdbc.connection import JdbcConnection, connection_text
from paimon_spark.catalogs.not_found import database_not_found
from paimon_spark.file_io import DirectoryIO
from paimon_spark.store.storage.publishers import CONNECTION

_SUFFIX = "$"


@dataclass(frozen=True)
class JdbcNames:
    """The names of a catalog, and where its files are.

    Attributes:
        warehouse: the directory of the directories of the databases, absolute, without a slash at its end.
        options: as given to open_catalog.
    """

    name: str
    warehouse: str
    file_io: DirectoryIO = field(repr=False)
    options: Mapping[str, str] = field(repr=False)
    connection: JdbcConnection = field(repr=False, compare=False)

    def list_databases(self) -> list[str]:
        return [name for name in self.connection.rows.databases() if name != SYSTEM_DATABASE]

    def check_database(self, name: str) -> None:
        """Raises DatabaseNotFound if there is no such database."""
        check_addressable(name, "database")
        if not self.connection.rows.has_database(name):
            raise database_not_found(self, name)

    def table_location(self, identifier: Identifier) -> str:
        check_addressable(identifier.database, "database")
        check_addressable(identifier.table, "table")
        return f"{self.database_location(identifier.database)}/{identifier.table}"

    def table_options(self, identifier: Identifier | None = None) -> Mapping[str, str]:
        return {**storage_options(self.options), CONNECTION: connection_text(self.options)}

    def has_table(self, identifier: Identifier) -> bool:
        """True if there is a row of the table; a branch or a system table has that of its table."""
        plain = Identifier(identifier.database, identifier.table.partition(_SUFFIX)[0])
        return self.connection.rows.has_table(plain) or (
            plain != identifier and self.connection.rows.has_table(identifier)
        )

    def database_location(self, name: str) -> str:
        """The directory of the tables of a database."""
        return f"{self.warehouse}/{name}{DATABASE_SUFFIX}"
