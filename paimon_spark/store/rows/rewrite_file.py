"""Writes a data file of an append table again, with some of its rows replaced or left out (copy on write).

Java: DeleteFromPaimonTableCommand, UpdatePaimonTableCommand. Rows that stay are read and written as they lie in the
file: they pass through no engine, and keep their order. New files take over the sequence numbers of the old one, so
that the files of a bucket keep their order too. In a table with row tracking every row keeps its id, and rows that are
not replaced keep their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.format.manifest import FileSource
from paimon_spark.format.schema import POSITION, TRACKING_FIELDS
from paimon_spark.store.compact.bucket_rows import BucketRows
from paimon_spark.store.compact.output import CompactOutput
from paimon_spark.store.compact.task import AppendTask
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.file_rows import FileRequest
from paimon_spark.store.write.row_rules import row_rules

BATCH_ROWS = 65536


@dataclass(frozen=True)
class RowChanges:
    """Changes of rows of one file.

    Attributes:
        positions: ascending row numbers in the file, each once.
        stays: for each of them, whether the row is replaced; else it is left out.
        rows: the new rows of those that stay, in order: all columns of the table.
    """

    positions: npt.NDArray[np.int64]
    stays: npt.NDArray[np.bool_]
    rows: pa.RecordBatch


def rewrite_file(table: Table, task: AppendTask, changes: Iterator[RowChanges]) -> CommitMessage:
    """Writes one data file again; nothing is visible before the message is committed.

    Args:
        table: an append table, with the schema that the new file gets.
        task: with one file, and its deletion vector if it has one.
        changes: in ascending order of positions, within and across.

    Returns:
        A message that replaces the file; without new files if no row is left.

    Raises:
        CorruptFile: the file or its deletion vector is missing or damaged.
        DataError: a new row does not fit the table.
        StorageError: the storage failed. After any error what was written is deleted.
    """
    (file,) = task.files
    pending = _Pending(table, changes)
    request = FileRequest(table.schema.fields, positions=True, tracking=table.schema.tracking_fields)
    with CompactOutput(table, task, FileSource.APPEND) as output:
        for batch in BucketRows(table, task).read(file, request, BATCH_ROWS):
            for rows in pending.applied(batch):
                output.write(rows)
        output.end_files()
        after, _ = output.wait()
    return CommitMessage(
        task.partition, task.bucket, task.total_buckets, new_files=tuple(after), deleted_files=task.files
    )


class PendingChanges:
    """The changes of rows that are still to be made."""

    def __init__(self, changes: Iterator[RowChanges]) -> None:
        self._changes = changes
        self._next: RowChanges | None = next(changes, None)

    def up_to(self, last: int) -> Iterator[RowChanges]:
        """The changes of rows up to a row number; a part that ends behind it is cut."""
        while self._next is not None:
            change = self._next
            count = int(np.searchsorted(change.positions, last, side="right"))
            if not count:
                return
            if count == len(change.positions):
                self._next = next(self._changes, None)
                yield change
                continue
            new_rows = int(change.stays[:count].sum())
            self._next = RowChanges(change.positions[count:], change.stays[count:], change.rows.slice(new_rows))
            yield RowChanges(change.positions[:count], change.stays[:count], change.rows.slice(0, new_rows))
            return


class _Pending:
    """Makes the changes of the rows of one file."""

    def __init__(self, table: Table, changes: Iterator[RowChanges]) -> None:
        self._names = table.schema.with_tracking.names
        self._tracks = bool(table.schema.tracking_fields)
        self._rules = replace(row_rules(table.location, table.schema, table.settings), kind_column=None, dropped=())
        self._pending = PendingChanges(changes)

    def applied(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The rows of a batch of the file, changed."""
        positions = batch.column(POSITION).to_numpy()
        rows = batch.select(self._names)
        found = list(self._pending.up_to(int(positions[-1]))) if len(positions) else []
        if not found:
            if rows.num_rows:
                yield rows
            return
        touched = np.concatenate([change.positions for change in found])
        kept = ~np.isin(positions, touched)
        parts = [rows.filter(pa.array(kept)), *(self._prepared(change, batch, positions) for change in found)]
        places = [positions[kept], *(change.positions[change.stays] for change in found)]
        order = np.argsort(np.concatenate(places), kind="stable")
        joined = pa.concat_batches([pa.RecordBatch.from_arrays(p.columns, schema=rows.schema) for p in parts])
        if len(order):
            yield joined.take(pa.array(order))

    def _prepared(self, change: RowChanges, batch: pa.RecordBatch, positions: npt.NDArray[np.int64]) -> pa.RecordBatch:
        rows = self._rules.prepare(change.rows, None)[0]
        if not self._tracks:
            return rows
        row_id, number = TRACKING_FIELDS
        places = np.searchsorted(positions, change.positions[change.stays])
        ids, no_numbers = batch.column(row_id.name).take(pa.array(places)), pa.nulls(len(places), pa.int64())
        tracking = arrow_schema(TRACKING_FIELDS)
        return rows.append_column(tracking.field(row_id.name), ids).append_column(
            tracking.field(number.name), no_numbers
        )
