"""Writes some columns of rows that are there, for a table with data evolution (format section 10).

Java: DataEvolutionPaimonWriter, DataEvolutionTableDataWrite (release 2.0). A file with some columns has a value for
each row of the other files of these rows, so the values of rows that do not change are read and written again. The ids
of its rows are those of the other files; its number, which is that of its snapshot, makes it the newest of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from paimon_spark.format.manifest import FileSource
from paimon_spark.format.schema import POSITION
from paimon_spark.format.types import DataField
from paimon_spark.merge.keys.row_ids import column_files, sections_by_row_id
from paimon_spark.store.compact.columns import read_columns
from paimon_spark.store.compact.output import CompactOutput
from paimon_spark.store.compact.task import AppendTask
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rows.rewrite_file import PendingChanges, RowChanges
from paimon_spark.store.write.file_layout import column_layout
from paimon_spark.store.write.row_rules import row_rules


def write_columns(
    table: Table, task: AppendTask, fields: Sequence[DataField], changes: Iterator[RowChanges]
) -> CommitMessage:
    """Writes one file with columns of the rows of a task; nothing is visible before the message is committed.

    Args:
        table: the table, with the schema that the new file gets.
        task: all files that have columns of the rows.
        fields: the columns that are written, in the order of the table.
        changes: the rows that get new values, each of which stays: the values of these columns.

    Returns:
        A message that adds the file.

    Raises:
        CorruptFile: a file is missing or damaged.
        DataError: a new value does not fit the table.
        StorageError: the storage failed. After any error what was written is deleted.
    """
    (section,) = sections_by_row_id(task.files)
    first = column_files(section).first_row_id
    names = [field.name for field in fields]
    rules = row_rules(table.location, table.schema, table.settings).of_columns(names)
    pending = PendingChanges(changes)
    with CompactOutput(table, task, FileSource.APPEND, column_layout(table.schema, table.settings, names)) as output:
        for rows in read_columns(table, task, fields):
            positions = rows.column(POSITION).to_numpy()
            found = list(pending.up_to(int(positions[-1])))
            rows = rows.select(names)
            new = [rules.prepare(change.rows, None)[0] for change in found]
            output.write(_replaced(rows, positions, found, new) if found else rows)
        output.end_files()
        (file,), _ = output.wait()
    new_file = replace(file, first_row_id=first)
    return CommitMessage(task.partition, task.bucket, task.total_buckets, new_files=(new_file,))


def _replaced(
    rows: pa.RecordBatch, positions: np.ndarray[tuple[int], np.dtype[np.int64]], changes: Sequence[RowChanges],
    new: Sequence[pa.RecordBatch],
) -> pa.RecordBatch:  # fmt: skip
    """Rows with new values in the place of some of them."""
    joined = pa.concat_batches([rows, *(pa.RecordBatch.from_arrays(part.columns, schema=rows.schema) for part in new)])
    places = np.arange(len(positions))
    touched = np.concatenate([change.positions for change in changes])
    places[np.searchsorted(positions, touched)] = len(positions) + np.arange(len(touched))
    return joined.take(pa.array(places))
