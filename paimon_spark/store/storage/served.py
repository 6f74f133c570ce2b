"""Tables that are opened by their names, because a server knows more of them than their files.

Snapshots and schemas of a table of a REST catalog are published by its server (Java: SnapshotCommit, SnapshotLoader).
The schema of a format table is kept by the server, or by the metastore of a Hive catalog, alone.

The files of such a table are where its location says, and are read as those of any other. But the server says which
snapshot is the latest one, and it alone creates snapshots and schemas: it compares the snapshot that a commit was built
on with the latest one, and publishes the new one or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.file_io import FileIO
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.snapshot import Snapshot

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

SERVED = "rest://"
"""How the location of a table begins that is opened by its name: ``rest://<catalog>/<database>/<table>``."""
SERVED_BY_HIVE = "hive-table://"
"""How that of a format table in a Hive metastore begins."""
_OPENERS = {SERVED: "paimon_spark.catalogs.rest.served", SERVED_BY_HIVE: "paimon_spark.catalogs.hive.served"}
"""Above the store: each is imported when the first such table is opened."""


@dataclass(frozen=True)
class PartitionChange:
    """What a commit changes in one partition (Java: PartitionStatistics).

    Attributes:
        spec: its values by column, as in the paths of its files.
        rows, bytes, files: how many more; negative: fewer.
        last_file_millis: when its newest file was made, epoch millis.
        total_buckets: how many buckets it has.
    """

    spec: Mapping[str, str]
    rows: int
    bytes: int
    files: int
    last_file_millis: int
    total_buckets: int


class TableServer(Protocol):
    """What publishes the snapshots and schemas of one table. Picklable; its repr shows no credentials.

    Every call raises StorageError if the server gives no answer, AccessDenied if it does not permit the call, and
    TableNotFound if it has no such table any more.
    """

    @property
    def name(self) -> str:
        """``<database>.<table>``, for messages."""
        ...

    def check_still_there(self) -> None:
        """Checks that the table of the name is the one that was opened.

        Raises:
            TableChanged: it is another one, which was made since.
        """
        ...

    def partitions(self) -> Sequence[Mapping[str, str]]:
        """The partitions of a format table that it keeps: values by column, as in the names of directories."""
        ...

    def add_partitions(self, partitions: Sequence[Mapping[str, str]]) -> None:
        """Adds those that it does not have yet."""
        ...

    def drop_partitions(self, partitions: Sequence[Mapping[str, str]]) -> None:
        """Forgets those that it has; their files are left."""
        ...

    def latest(self, branch: str) -> Snapshot | None:
        """The latest snapshot of a branch; None: it has none."""
        ...

    def publish(
        self, branch: str, base: Snapshot | None, snapshot: Snapshot, changes: Sequence[PartitionChange]
    ) -> bool:
        """Makes a snapshot the latest one if base is it now. False: another one is, and nothing was changed.

        Raises:
            NotCreated: the server has refused the snapshot, and will not publish it.
            StorageError: any other; the outcome is unknown.
        """
        ...

    def change_schema(self, branch: str, before: TableSchema, after: TableSchema) -> None:
        """Makes the changes that lead from one schema to another, to the schema that the table has now.

        Raises:
            SchemaError: they do not fit it; nothing was changed.
            UnsupportedFeature: the server does not take such a change.
        """
        ...

    def replace_schema(self, schema: TableSchema) -> None:
        """Gives the table other columns, and no rows."""
        ...

    def roll_back(self, branch: str, snapshot_id: int | None, tag: str | None) -> None:
        """Takes back what came after a snapshot, or after the one of a tag.

        Raises:
            SnapshotNotFound: there is no such snapshot or tag.
        """
        ...

    def create_branch(self, branch: str, tag: str | None) -> None:
        """Makes a branch of a tag; None: one without rows.

        Raises:
            NameTaken: there is a branch of that name.
            SnapshotNotFound: there is no such tag.
        """
        ...

    def drop_branch(self, branch: str) -> None:
        """Drops a branch.

        Raises:
            SnapshotNotFound: there is none.
        """
        ...

    def fast_forward(self, branch: str) -> None:
        """Gives the table the state of a branch.

        Raises:
            SnapshotNotFound: there is none.
        """
        ...


class QueryAuth(Protocol):
    """What tells which rows and values of one table a user may read (Java: TableQueryAuth). Picklable.

    Its repr shows no credentials.
    """

    @property
    def name(self) -> str:
        """``<database>.<table>``, for messages."""
        ...

    def ask(self, columns: Sequence[str]) -> tuple[Sequence[str], Mapping[str, str]]:
        """What a read of some columns must keep, in JSON: conditions on rows, and what is read in place of columns.

        Args:
            columns: all that the caller wants to see or to compare.

        Raises:
            AccessDenied: the user must not read one of the columns, or the table.
            StorageError: the server does not answer.
        """
        ...


@dataclass(frozen=True)
class ServedTable:
    """What a server tells of a table.

    Attributes:
        location: the directory of its files.
        file_io: their store.
        server: publishes its snapshots, or keeps the partitions of a format table; None: they are files, or
            directories, like those of a table without a server (Java: an external table).
        options: those that the server tells, which may be more than the schema file has.
        schema: of a table of files, which the server alone knows; None: a file has it.
        auth: tells what a user may read; None: all that the storage gives.
    """

    location: str
    file_io: FileIO
    server: TableServer | None
    options: Mapping[str, str]
    schema: TableSchema | None = None
    auth: QueryAuth | None = None


class ViewLookup(Protocol):
    """Follows the views of one read; it asks for each table once."""

    @property
    def stores(self) -> Sequence[tuple[FileIO, str]]:
        """Where bytes lie to which views lead: the store of a table, and its location."""
        ...

    def follow(self, values: pa.Array, where: str) -> tuple[pa.Array, npt.NDArray[np.int64]]:
        """References to the bytes to which views lead; and of each value the place of its store among ``stores``, -1
        of one that was NULL.

        Args:
            values: views; NULL stays NULL.
            where: what holds them, for messages.

        Raises:
            CorruptFile: a value is no view.
            MissingRow: a table, its column or its row is not there.
            UnsupportedFeature: a table has no row ids, or views lead in a circle.
            PaimonError: a table cannot be read.
        """
        ...


class BlobViews(Protocol):
    """Makes what follows the views of a table. Picklable."""

    def lookup(self) -> ViewLookup:
        """A lookup for one read, for which the tables are as they are when it first asks."""
        ...


class _Opener(Protocol):
    def open_served(self, location: str, storage: Mapping[str, str]) -> ServedTable | None: ...


def is_served(location: str) -> bool:
    """True if a location is the name of a table with a server."""
    return location.startswith((SERVED, SERVED_BY_HIVE))


def find_served(location: str, storage: Mapping[str, str]) -> ServedTable | None:
    """The table of a location that is_served; None: the server has none.

    Args:
        location: with no suffix of a branch or system table.
        storage: the storage options, the server and the credentials among them.
    """
    opener: _Opener = import_module(next(_OPENERS[begin] for begin in _OPENERS if location.startswith(begin)))
    return opener.open_served(location, storage)


def refuse_served(server: TableServer | None, doing: str, instead: str) -> None:
    """Refuses what would change snapshots or schemas behind the back of the server.

    Raises:
        UnsupportedFeature: the table has a server.
    """
    if server is not None:
        raise UnsupportedFeature(
            f"{doing} {server.name}: the server of the REST catalog publishes its snapshots and schemas, and has no "
            f"such call; {instead}"
        )
