"""Commits that are prepared before something else happens to the table."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.file_io import FileIO
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.table_write import TableWrite
from support.faults.faulty_store import FaultyFileIO
from support.tables.compacting import make, write

COLUMNS = pa.schema([("k", pa.int32()), ("v", pa.int64())])
NEW = (9, 9)


def life(path: Path, options: dict[str, str] | None = None) -> Table:
    """An append table whose snapshot n has the rows 1 to n; four of them."""
    table = make(path / "t", COLUMNS, [], {"bucket": "-1", **(options or {})})
    for number in range(1, 5):
        write(table, [(number, number)])
    return table


def planned(table: Table, row: tuple[int, int] = NEW) -> tuple[str, Any, int]:
    """What a job has written before it commits: its user, messages, and the latest snapshot then."""
    user, since = str(uuid.uuid4()), table.snapshots.latest_id() or 0
    task = TableWrite(table, user)
    columns = [
        pa.array([value], field.type) for value, field in zip(row, arrow_schema(table.schema.fields), strict=True)
    ]
    task.write(pa.RecordBatch.from_arrays(columns, schema=arrow_schema(table.schema.fields)))
    return user, task.finish(), since


def commit(table: Table, job: tuple[str, Any, int]) -> None:
    user, messages, since = job
    TableCommit(table, user, since).append(messages)


class After(FaultyFileIO):
    """A store where something happens as soon as a file of this name is published."""

    def __init__(self, inner: FileIO, name: str, happens: Callable[[], object]) -> None:
        super().__init__(inner)
        self._name, self._happens = name, happens

    def create_if_absent(self, path: str, data: bytes) -> bool:
        done = super().create_if_absent(path, data)
        if path.endswith(self._name):
            self._happens()
        return done
