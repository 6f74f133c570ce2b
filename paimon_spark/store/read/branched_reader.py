"""Reads splits of two branches of a table that are read as one (see scan.branched_scan)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from paimon_spark.errors import DataError
from paimon_spark.store.read.split_files import BATCH_ROWS
from paimon_spark.store.read.split_reader import SplitReader
from paimon_spark.store.read.splits import PostponeSplit, ReadUnit, Split


@dataclass(frozen=True)
class BranchedReader:
    """Reads the splits of both branches; picklable.

    Attributes:
        own: reads the splits of the table's own branch.
        other: reads those that name another one.
    """

    own: SplitReader
    other: SplitReader

    @property
    def arrow_schema(self) -> pa.Schema:
        """What every batch has, exactly."""
        return self.own.arrow_schema

    def read(self, split: ReadUnit, batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The rows of a split of either branch; batches have at least one row and about batch_rows at most.

        Raises:
            CorruptFile: a data file or deletion vector is missing or damaged.
            SnapshotNotFound: a file is missing because the snapshot has expired since it was planned.
            TableChanged: a file has a newer schema, in which a wanted column was dropped or changed its type.
            DataError: a column that is NOT NULL in the table has a null in the other branch.
        """
        if _is_own(split):
            yield from self.own.read(split, batch_rows)
            return
        for batch in self.other.read(split, batch_rows):
            yield self._as_own(batch)

    def _as_own(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        own, other = self.own, self.other
        for column, field in zip(batch.columns, own.fields, strict=True):
            if column.null_count and not field.type.nullable:
                raise DataError(
                    f"reading {own.table.location} through the branch '{other.table.branch}': its column "
                    f"'{field.name}' holds NULL, which it must not in the branch '{own.table.branch}'; let both "
                    "allow NULL"
                )
        if not own.fields:
            return batch
        return pa.RecordBatch.from_arrays(batch.columns, schema=own.arrow_schema)


def _is_own(split: ReadUnit) -> bool:
    return not isinstance(split, (Split, PostponeSplit)) or split.branch is None
