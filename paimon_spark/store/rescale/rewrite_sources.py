"""The sources of a rewrite: rows of a table, in parts that one task reads each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from paimon_spark.arrow.predicates.predicate import AlwaysTrue
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.row_kind import Kinds
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.split_reader import SplitReader
from paimon_spark.store.read.splits import Split
from paimon_spark.store.rescale.postpone_placement import postponed_rows

Rows: TypeAlias = Iterator[tuple[pa.RecordBatch, Kinds | None]]


@dataclass(frozen=True)
class PostponedSource:
    """Postponed or staged files of one partition, oldest first."""

    partition: bytes
    files: tuple[DataFileMeta, ...]

    def rows(self, table: Table) -> Rows:
        """All columns of the table, in write order; and the kind of each row."""
        return postponed_rows(table, self.partition, self.files)


@dataclass(frozen=True)
class SplitSource:
    """A split: its merged rows."""

    split: Split

    @property
    def partition(self) -> bytes:
        return self.split.partition

    def rows(self, table: Table) -> Rows:
        """All columns of the table; all rows are inserts."""
        reader = SplitReader(table, table.schema.fields, AlwaysTrue())
        return ((batch, None) for batch in reader.read(self.split))


RowSource: TypeAlias = PostponedSource | SplitSource
