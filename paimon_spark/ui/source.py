"""What the page shows: the tables of a catalog, or one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import DatabaseNotFound, TableNotFound


@dataclass(frozen=True)
class Place:
    """Where a table is.

    Attributes:
        location: its directory, a local path or a URI.
        options: those with which it is opened, of its storage above all; they may hold credentials.
    """

    location: str
    options: Mapping[str, str] = field(repr=False)


class Source(Protocol):
    """Tables by their names."""

    @property
    def title(self) -> str:
        """What the user named."""
        ...

    def tables(self) -> dict[str, list[str]]:
        """The names of the tables of each database; those of a single table have the database ''."""
        ...

    def place(self, name: str) -> Place:
        """Where a table is.

        Args:
            name: one of ``tables``, behind its database and a dot if it has one.

        Raises:
            TableNotFound: there is no such table.
        """
        ...


@dataclass(frozen=True)
class OneTable:
    """The table at a location."""

    only: Place

    @property
    def title(self) -> str:
        return self.only.location

    def tables(self) -> dict[str, list[str]]:
        return {"": [self._name]}

    def place(self, name: str) -> Place:
        if name != self._name:
            raise TableNotFound(f"the page shows the table '{self._name}' alone; '{name}' is not there")
        return self.only

    @property
    def _name(self) -> str:
        return self.only.location.rstrip("/").rpartition("/")[2]


@dataclass(frozen=True)
class CatalogTables:
    """The tables of a catalog. The first dot of a name is that behind the database."""

    catalog: Catalog
    title: str

    def tables(self) -> dict[str, list[str]]:
        found = {}
        for database in self.catalog.list_databases():
            try:
                found[database] = self.catalog.list_tables(database)
            except DatabaseNotFound:  # dropped since
                continue
        return found

    def place(self, name: str) -> Place:
        database, _, table = name.partition(".")
        identifier = Identifier(database, table)
        self.catalog.check_table(identifier)
        options = {**self.catalog.table_options(), **self.catalog.table_options(identifier)}
        return Place(self.catalog.table_location(identifier), options)
