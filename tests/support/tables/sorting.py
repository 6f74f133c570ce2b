"""Tables whose rows are in no order, and sorts of them in small parts."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_spark.format.manifest import EMPTY_ROW
from paimon_spark.store.clustering.local import cluster_here
from paimon_spark.store.clustering.work import ClusterWork, GroupResult
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.commit.vector_files import find_vector_files, vector_changes
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from support.tables.compacting import file_rows, live_files, make, write

COLUMNS = pa.schema([("k", pa.int32()), ("v", pa.string()), ("x", pa.float64())])
PLAIN: Mapping[str, str] = {"bucket": "-1", "file.compression": "none"}
Rows = list[tuple[Any, ...]]


def unordered(path: Path, files: int = 6, rows: int = 400, options: Mapping[str, str] = PLAIN) -> tuple[Table, Rows]:
    """A table of COLUMNS with so many files of so many rows: with nulls, NaN, texts that begin alike; and its rows."""
    draw = random.Random(files)
    table, given = make(path, COLUMNS, [], options), []
    for _ in range(files):
        part = [
            (
                draw.choice([None, draw.randrange(500), draw.randrange(500)]),
                draw.choice([None, f"https://example.org/{draw.randrange(300)}"]),
                draw.choice([None, float("nan"), -0.0, draw.random(), draw.random()]),
            )
            for _ in range(rows)
        ]
        write(table, part)
        given += part
    return table, given


def delete_rows(table: Table, is_gone: Callable[[tuple[Any, ...]], bool]) -> None:
    """As a DELETE does, of rows of a table without partitions."""
    before = table.snapshots.latest()
    assert before is not None
    gone = {}
    for file in live_files(table):
        rows = file_rows(table, f"{bucket_directory(table, EMPTY_ROW, 0)}/{file.file_name}", table.schema.fields)
        gone[file.file_name] = np.flatnonzero([is_gone(row) for row in rows])
    made = vector_changes(table, find_vector_files(table, before), EMPTY_ROW, 0, (), gone)
    message = CommitMessage(EMPTY_ROW, 0, -1, index_entries=made.entries)
    TableCommit(table, f"delete-{before.id}", before.id).append([message])


@dataclass
class SmallParts:
    """Sorts here, in ranges of few rows.

    Attributes:
        range_bytes, group_bytes: the sizes.
        before, after: what happens before and after the n-th sort; afterwards nothing.
        results: what the last sort has written.
    """

    range_bytes: int = 3000
    group_bytes: int = 9000
    before: list[Callable[[], object]] = field(default_factory=list)
    after: list[Callable[[], object]] = field(default_factory=list)
    results: list[GroupResult] = field(default_factory=list)
    work: ClusterWork | None = None

    def __call__(self, work: ClusterWork) -> Sequence[GroupResult]:
        if self.before:
            self.before.pop(0)()
        self.work = replace(work, range_bytes=self.range_bytes, group_bytes=self.group_bytes)
        self.results = sorted(cluster_here(self.work), key=lambda result: result.group)
        if self.after:
            self.after.pop(0)()
        return self.results

    def rows(self, unit: int = 0) -> Rows:
        """What the last sort has written of a unit, in order."""
        assert self.work is not None
        table, of = self.work.table, self.work.units[unit]
        directory = bucket_directory(table, of.partition, of.bucket)
        mine = [result for result in self.results if self.work.unit_of(result.group) == unit]
        paths = [f"{directory}/{file.file_name}" for result in mine for file in result.files]
        return [row for path in paths for row in file_rows(table, path, table.schema.fields)]


def same(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """True if the rows are the same, in any order."""
    return sorted(map(repr, left)) == sorted(map(repr, right))
