"""The databases and tables of one catalog, and their properties, as rows of the relational database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.jdbc.database import Database, RowTaken
from paimon_spark.catalogs.jdbc.sql_schema import DATABASE_PROPERTIES, TABLE_PROPERTIES, TABLES, VIEWS
from paimon_spark.errors import CatalogUnavailable

_TRIES = 10
EXISTS = "exists"
"""The property that makes a database exist although it has no table (Java: DATABASE_EXISTS_PROPERTY)."""


class _NotEmpty(Exception):
    """Undoes the removal of a database."""


@dataclass(frozen=True)
class CatalogRows:
    """The rows of the catalog with that key. Each method is one transaction."""

    database: Database
    key: str

    def databases(self) -> list[str]:
        """The names, sorted."""

        def read(connection: sa.Connection) -> set[str]:
            return {
                name
                for table in (TABLES, DATABASE_PROPERTIES, VIEWS)
                for name in connection.scalars(
                    sa.select(table.c.database_name).distinct().where(table.c.catalog_key == self.key)
                )
            }

        return sorted(self.database.read(read))

    def has_database(self, name: str) -> bool:
        """True if there is a database of that name, in that letter case (MySQL finds others too)."""

        def read(connection: sa.Connection) -> bool:
            return any(
                connection.scalar(sa.select(table.c.database_name).where(*self._in(table, name)).limit(1)) == name
                for table in (DATABASE_PROPERTIES, TABLES, VIEWS)
            )

        return self.database.read(read)

    def database_properties(self, name: str) -> dict[str, str]:
        columns = (DATABASE_PROPERTIES.c.property_key, DATABASE_PROPERTIES.c.property_value)
        wanted = sa.select(*columns).where(*self._in(DATABASE_PROPERTIES, name))
        return self.database.read(lambda c: {key: value or "" for key, value in c.execute(wanted)})

    def set_database_properties(self, name: str, properties: Mapping[str, str], unset: Sequence[str] = ()) -> None:
        """Sets properties, whether they are there or not, and removes others."""
        gone = [*properties, *unset]
        rows = [
            {"catalog_key": self.key, "database_name": name, "property_key": key, "property_value": value}
            for key, value in properties.items()
        ]

        def write(connection: sa.Connection) -> None:
            where = (*self._in(DATABASE_PROPERTIES, name), DATABASE_PROPERTIES.c.property_key.in_(gone))
            connection.execute(sa.delete(DATABASE_PROPERTIES).where(*where))
            if rows:
                connection.execute(sa.insert(DATABASE_PROPERTIES), rows)

        if gone:
            self._replace(write)

    def add_database(self, name: str, properties: Mapping[str, str]) -> None:
        """Adds a database.

        Raises:
            RowTaken: there is one.
        """
        rows = [
            {"catalog_key": self.key, "database_name": name, "property_key": key, "property_value": value}
            for key, value in properties.items()
        ]
        self.database.change(lambda c: c.execute(sa.insert(DATABASE_PROPERTIES), rows))

    def remove_empty_database(self, name: str) -> bool:
        """Removes a database. False: it has tables or views, and nothing was removed.

        A table that is created at the same moment keeps its row, and with it the database is there again.
        """
        return self._remove(name, removed=(DATABASE_PROPERTIES,), must_be_empty=(TABLES, VIEWS))

    def remove_database(self, name: str) -> bool:
        """Removes a database with its views. False: it has tables, and nothing was removed.

        A table that is created at the same moment keeps its rows, as for `remove_empty_database`: they are removed
        before it is looked for.
        """
        return self._remove(name, removed=(DATABASE_PROPERTIES, TABLE_PROPERTIES, VIEWS), must_be_empty=(TABLES,))

    def _remove(self, name: str, removed: Sequence[sa.Table], must_be_empty: Sequence[sa.Table]) -> bool:
        """Removes the rows of a database, unless another table has some. False: it has, and nothing was removed."""

        def write(connection: sa.Connection) -> None:
            for table in removed:
                connection.execute(sa.delete(table).where(*self._in(table, name)))
            for table in must_be_empty:
                if connection.scalar(sa.select(table.c.database_name).where(*self._in(table, name)).limit(1)):
                    raise _NotEmpty

        try:
            self.database.change(write)
        except _NotEmpty:
            return False
        return True

    def tables(self, database: str) -> list[str]:
        """The names, sorted."""
        wanted = sa.select(TABLES.c.table_name).where(*self._in(TABLES, database))
        return sorted(self.database.read(lambda c: list(c.scalars(wanted))))

    def has_table(self, identifier: Identifier) -> bool:
        """True if there is a table of that name, in that letter case (MySQL finds others too)."""
        wanted = sa.select(TABLES.c.database_name, TABLES.c.table_name).where(*self._is(TABLES, identifier))
        named = (identifier.database, identifier.table)
        return self.database.read(lambda c: named in [tuple(row) for row in c.execute(wanted)])

    def add_table(self, identifier: Identifier, properties: Mapping[str, str]) -> None:
        """Adds a table with its properties.

        Raises:
            RowTaken: there is one.
        """

        def write(connection: sa.Connection) -> None:
            connection.execute(sa.insert(TABLES).values(self._named(identifier)))
            self._write_properties(connection, identifier, properties)

        self.database.change(write)

    def set_table_properties(self, identifier: Identifier, properties: Mapping[str, str]) -> None:
        """Replaces the properties of a table."""
        self._replace(lambda connection: self._write_properties(connection, identifier, properties))

    def remove_table(self, identifier: Identifier) -> bool:
        """Removes a table with its properties. False: there was none."""

        def write(connection: sa.Connection) -> int:
            removed = connection.execute(sa.delete(TABLES).where(*self._is(TABLES, identifier))).rowcount
            connection.execute(sa.delete(TABLE_PROPERTIES).where(*self._is(TABLE_PROPERTIES, identifier)))
            return removed

        return self.database.change(write) > 0

    def rename_table(self, identifier: Identifier, to: Identifier) -> bool:
        """Gives a table another name. False: there was none.

        Raises:
            RowTaken: the new name is that of a table.
        """
        named = {"database_name": to.database, "table_name": to.table}

        def write(connection: sa.Connection) -> int:
            renamed = connection.execute(sa.update(TABLES).where(*self._is(TABLES, identifier)).values(named)).rowcount
            if renamed:
                connection.execute(sa.delete(TABLE_PROPERTIES).where(*self._is(TABLE_PROPERTIES, to)))
                of_old = self._is(TABLE_PROPERTIES, identifier)
                connection.execute(sa.update(TABLE_PROPERTIES).where(*of_old).values(named))
            return renamed

        return self.database.change(write) > 0

    def _replace(self, work: Callable[[sa.Connection], None]) -> None:
        """Does work that deletes rows and writes them anew, while others may do the same.

        What they have written in between is not seen by the deletion (READ COMMITTED), and is by the insertion.
        """
        for _ in range(_TRIES):
            try:
                return self.database.change(work)
            except RowTaken:
                continue
        raise CatalogUnavailable("changing the jdbc catalog: others change the same rows all the time; run this again")

    def _write_properties(
        self, connection: sa.Connection, identifier: Identifier, properties: Mapping[str, str]
    ) -> None:
        connection.execute(sa.delete(TABLE_PROPERTIES).where(*self._is(TABLE_PROPERTIES, identifier)))
        named = self._named(identifier)
        rows = [{**named, "property_key": key, "property_value": value} for key, value in properties.items()]
        if rows:
            connection.execute(sa.insert(TABLE_PROPERTIES), rows)

    def _named(self, identifier: Identifier) -> dict[str, str]:
        return {"catalog_key": self.key, "database_name": identifier.database, "table_name": identifier.table}

    def _in(self, table: sa.Table, database: str) -> tuple[sa.ColumnElement[bool], ...]:
        return table.c.catalog_key == self.key, table.c.database_name == database

    def _is(self, table: sa.Table, identifier: Identifier) -> tuple[sa.ColumnElement[bool], ...]:
        return *self._in(table, identifier.database), table.c.table_name == identifier.table
