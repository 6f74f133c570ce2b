"""Tables with real rows for the tests of compactions, and runners that do what a test wants in between."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.file_io import LocalFileIO
from paimon_spark.file_io.local import NewFile
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact.live_buckets import live_buckets
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.compact.outcomes import Outcome
from paimon_spark.store.compact.task import CompactTask
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([pa.field("k", pa.int32(), False), ("a", pa.int64()), ("b", pa.string())])
Row = tuple[int, int | None, str | None]
NO_OPTIONS: Mapping[str, str] = {}


def new_table(path: Path, options: Mapping[str, str] = NO_OPTIONS, keys: Sequence[str] = ("k",)) -> Table:
    """A table of COLUMNS, in one bucket if the options do not say otherwise."""
    create_table(str(path), new_schema(COLUMNS, keys, (), {"bucket": "1", **options}))
    return open_table(str(path))


def batch(rows: Sequence[Row]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    arrays = [pa.array(list(column), type_) for column, type_ in zip(columns, COLUMNS.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=COLUMNS)


def append(table: Table, rows: Sequence[Row], kinds: Sequence[int] | None = None) -> list[CommitMessage]:
    """One commit of the rows; nothing is compacted."""
    user = str(uuid.uuid4())
    write = TableWrite(table, user)
    write.write(batch(rows), None if kinds is None else np.array(kinds, np.int8))
    messages = write.finish()
    TableCommit(table, user).append(messages)
    return messages


def rows_of(table: Table) -> list[Row]:
    """What a reader sees, in key order."""
    found = open_table(table.location).scan().to_arrow()
    return sorted(zip(*(found.column(name).to_pylist() for name in COLUMNS.names), strict=True))


def files_of(table: Table) -> list[DataFileMeta]:
    """The live data files."""
    return [file for bucket in live_buckets(table, table.snapshots.latest()) for file in bucket.files]


def levels(table: Table) -> list[int]:
    return sorted(file.level for file in files_of(table))


def stored_files(table: Table) -> set[str]:
    """The names of all files in bucket directories."""
    return {path.name for path in Path(table.location).glob("**/bucket-*/*")}


def live_names(table: Table) -> set[str]:
    return {file.file_name for file in files_of(table)}


@dataclass
class Interfering(LocalRunner):
    """Runs tasks in this process; before each round or after it something happens.

    Attributes:
        before, after: what happens in the n-th call; afterwards nothing.
    """

    before: list[Callable[[], object]] = field(default_factory=list)
    after: list[Callable[[], object]] = field(default_factory=list)
    calls: int = 0

    def __post_init__(self) -> None:
        super().__init__(max_processes=1)

    def run(self, table: Table, tasks: Sequence[CompactTask]) -> list[Outcome]:
        self.calls += 1
        if self.before:
            self.before.pop(0)()
        outcomes = super().run(table, tasks)
        if self.after:
            self.after.pop(0)()
        return outcomes


@dataclass(frozen=True)
class NotedFileIO(LocalFileIO):
    """Notes in a file which process opens which data file; picklable."""

    notes: str = ""

    def open_input(self, path: str, size: int | None = None) -> IO[bytes]:
        self.note("read", path)
        return super().open_input(path, size)

    def open_output(self, path: str) -> NewFile:
        self.note("write", path)
        return super().open_output(path)

    def processes(self, what: str) -> set[int]:
        """The processes that did this to data files."""
        lines = [line.split(" ", 2) for line in Path(self.notes).read_text().splitlines()]
        return {int(pid) for action, pid, path in lines if action == what and "/bucket-" in path}

    def note(self, action: str, path: str) -> None:
        with open(self.notes, "a") as notes:
            notes.write(f"{action} {os.getpid()} {path}\n")
