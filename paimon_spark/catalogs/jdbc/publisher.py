"""What a JDBC catalog does when a table gets a snapshot or a schema: it holds its lock, and copies its options.

Java: SnapshotCommit under Lock.fromCatalog, JdbcCatalog.alterTableImpl.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from paimon_spark.catalogs.create import find_schema
from paimon_spark.catalogs.identifier import DATABASE_SUFFIX, Identifier
from paimon_spark.catalogs.jdbc.connection import JdbcConnection, read_connection
from paimon_spark.catalogs.jdbc.properties import table_properties
from paimon_spark.errors import CatalogUnavailable, OptionError
from paimon_spark.file_io import FileIO, NotCreated, absolute_location, create_locked, plain_location
from paimon_spark.format.schema import decode_schema
from paimon_spark.store.storage.publishers import KnownTable

_PATH = re.compile(
    rf"(?P<database>[^/]+){re.escape(DATABASE_SUFFIX)}/(?P<table>[^/]+)"
    r"(?:/branch/branch-(?P<branch>[^/]+))?/(?P<kind>snapshot|schema)/[^/]+"
)


def publisher(text: str) -> JdbcPublisher:
    """The publisher of a connection text, without its kind."""
    warehouse, connection = read_connection(text)
    return JdbcPublisher(plain_location(absolute_location(warehouse)), connection)


@dataclass(frozen=True)
class JdbcPublisher:
    """Publishes what is in a warehouse.

    Attributes:
        warehouse: the directory of the databases, without a scheme where it is local.
        connection: of the catalog.
    """

    warehouse: str
    connection: JdbcConnection

    def create_if_absent(self, store: FileIO, path: str, data: bytes) -> bool:
        """As FileIO.create_if_absent, for a snapshot or a schema.

        Raises:
            NotCreated: the lock could not be had; nothing was created.
            CatalogUnavailable: the schema is published, but the copy of its options in the database is not.
            As FileIO.create_if_absent.
        """
        plain = plain_location(path)
        found = _PATH.fullmatch(plain[len(self.warehouse) + 1 :]) if plain.startswith(f"{self.warehouse}/") else None
        if found is None:
            return store.create_if_absent(path, data)
        identifier, branch = Identifier(found["database"], found["table"]), found["branch"]
        copies = found["kind"] == "schema" and branch is None and self.connection.settings.syncs
        if copies:
            table_properties(decode_schema(data, path))  # refused before anything is published
        with self._locked(path, _locked_name(identifier, branch)):
            if self.connection.settings.locked:
                created = create_locked(store, path, data)
            else:
                created = store.create_if_absent(path, data)
            if created and copies:
                self._copy_options(store, path.rpartition("/schema/")[0], identifier)
            return created

    @property
    def partitions(self) -> None:
        """A relational database has none."""
        return

    def tables(self) -> list[KnownTable]:
        """All tables that have a row, by name."""
        rows = self.connection.rows
        names = ((database, table) for database in rows.databases() for table in rows.tables(database))
        return [KnownTable(*name, f"{self.warehouse}/{name[0]}{DATABASE_SUFFIX}/{name[1]}") for name in names]

    def place(self, database: str, table: str) -> str | None:
        """The directory of a table that has a row."""
        if not self.connection.rows.has_table(Identifier(database, table)):
            return None
        return f"{self.warehouse}/{database}{DATABASE_SUFFIX}/{table}"

    @contextmanager
    def _locked(self, path: str, identifier: Identifier) -> Iterator[None]:
        with ExitStack() as held:
            if self.connection.settings.locked:
                try:
                    held.enter_context(self.connection.lock(identifier))
                except (CatalogUnavailable, OptionError) as error:
                    raise NotCreated(f"publishing {path}: {error}") from error
            yield

    def _copy_options(self, store: FileIO, location: str, identifier: Identifier) -> None:
        """Copies the options of the latest schema, until there is no later one: others may have no lock."""
        copied = None
        schema = find_schema(store, location)
        try:
            while schema is not None and schema.id != copied and self.connection.rows.has_table(identifier):
                self.connection.rows.set_table_properties(identifier, table_properties(schema))
                copied, schema = schema.id, find_schema(store, location)
        except (CatalogUnavailable, OptionError) as error:
            raise CatalogUnavailable(
                f"{error}. The table {identifier} has its new schema; only the copy of its options in the "
                f"database is that of before, and CALL sys.repair('{identifier}') makes it"
            ) from error


def _locked_name(identifier: Identifier, branch: str | None) -> Identifier:
    """A branch has a lock of its own (Java: Identifier.getObjectName)."""
    return identifier if branch is None else Identifier(identifier.database, f"{identifier.table}$branch_{branch}")
