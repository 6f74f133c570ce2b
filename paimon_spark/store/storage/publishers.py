"""The part that a catalog has in the commits of its tables: it publishes their snapshots and schemas.

A catalog gives its tables the option CONNECTION, ``<kind>:<what the kind needs>``. It travels with the storage options
to each process that opens the table; only a process that commits makes the publisher of it. The catalogs stand above
the store, so their modules are named here as texts, and are imported at the first commit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Protocol

from paimon_spark.errors import OptionError
from paimon_spark.file_io import ConfinedFileIO, FileIO, Publisher

CONNECTION = "catalog.connection"
"""The option, among the storage options. It holds no password."""
WAREHOUSE = "catalog.warehouse"
"""The option, among the storage options, with the directory of the databases of a catalog that is only directories."""
_MODULES = {"jdbc": "paimon_spark.catalogs.jdbc.publisher", "hive": "paimon_spark.catalogs.hive.publisher"}
_PUBLISHED = re.compile(r"/(?:snapshot/snapshot|schema/schema)-\d+$")


@dataclass(frozen=True)
class KnownTable:
    """A table of a catalog, by its name, and its directory."""

    database: str
    table: str
    location: str


class PartitionKeeper(Protocol):
    """What keeps the partitions of tables beside their files: a metastore. Tables are meant by their directory.

    A partition is its values by column, in the order of the partition columns, as in the paths of its files. All calls
    do nothing for tables that it does not know, and raise CatalogUnavailable if it does not answer.
    """

    def add(self, root: str, partitions: Sequence[Mapping[str, str]]) -> None:
        """Adds those that it does not have yet."""
        ...

    def drop(self, root: str, partitions: Sequence[Mapping[str, str]]) -> None:
        """Drops those that it has."""
        ...

    def report(self, root: str, partition: Mapping[str, str], statistics: Mapping[str, str], seconds: int) -> None:
        """Sets properties of a partition that it has. seconds: when it was changed, since the epoch."""
        ...

    def mark_done(self, root: str, partition: Mapping[str, str]) -> None:
        """Marks it with the event that its rows are complete."""
        ...

    def is_done(self, root: str, partition: Mapping[str, str]) -> bool:
        """True if it has that mark."""
        ...


class KnowingPublisher(Publisher, Protocol):
    """The publisher of a catalog, which also knows what tables there are."""

    @property
    def partitions(self) -> PartitionKeeper | None:
        """What keeps their partitions; None: their files alone."""
        ...

    def tables(self) -> list[KnownTable]:
        """All tables, by name."""
        ...

    def place(self, database: str, table: str) -> str | None:
        """The directory of a table; None: there is none of that name."""
        ...


@dataclass(frozen=True)
class CatalogPublisher:
    """Publishes snapshots and schemas of a table through its catalog, and other files directly. Picklable.

    Attributes:
        connection: the value of CONNECTION.
    """

    connection: str

    def create_if_absent(self, store: FileIO, path: str, data: bytes) -> bool:
        """As FileIO.create_if_absent, with the path of a snapshot, a schema or another file of a table."""
        if _PUBLISHED.search(path) is None:
            return store.create_if_absent(path, data)
        return self._of_catalog.create_if_absent(store, path, data)

    def tables(self) -> list[KnownTable]:
        """All tables that the catalog knows, by name."""
        return self._of_catalog.tables()

    def place(self, database: str, table: str) -> str | None:
        """The directory of a table of the catalog; None: it knows none of that name."""
        return self._of_catalog.place(database, table)

    @property
    def partitions(self) -> PartitionKeeper | None:
        """What keeps the partitions of the tables of the catalog; None: their files alone."""
        return self._of_catalog.partitions

    @cached_property
    def _of_catalog(self) -> KnowingPublisher:
        kind, _, text = self.connection.partition(":")
        if kind not in _MODULES:
            raise OptionError(f"the option '{CONNECTION}' begins with '{kind}': expected {' or '.join(_MODULES)}")
        make: Callable[[str], KnowingPublisher] = import_module(_MODULES[kind]).publisher
        return make(text)

    def __getstate__(self) -> dict[str, str]:
        """Without what holds connections of this process."""
        return {"connection": self.connection}


def publisher_of(storage: Mapping[str, str]) -> CatalogPublisher | None:
    """What publishes the snapshots and schemas of tables that are opened with these storage options; None: the storage.

    Args:
        storage: storage options.
    """
    text = next((value for key, value in storage.items() if key.lower() == CONNECTION), None)
    return None if text is None else CatalogPublisher(text)


def partition_keeper(file_io: FileIO) -> PartitionKeeper | None:
    """What keeps the partitions of a table beside its files; None: nothing.

    Args:
        file_io: of the table.
    """
    publisher = file_io.publisher if isinstance(file_io, ConfinedFileIO) else None
    return publisher.partitions if isinstance(publisher, CatalogPublisher) else None
