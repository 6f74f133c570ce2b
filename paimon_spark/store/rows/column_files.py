"""Writes some columns of rows that are there, for a table with data evolution (format section 10).

Java: DataEvolutionPaimonWriter, DataEvolutionTableDataWrite (release 2.0). A file with some columns has a value for
each row of the other files of these rows, so the values of rows that do not change are read and written again. Only the
files of BLOB columns have a mark for a row that keeps its value. The ids
of its rows are those of the other files; its number, which is that of its snapshot, makes it the newest of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow.types import arrow_type
from paimon_spark.format.manifest import FileSource
from paimon_spark.format.rules.blobs import blob_file_columns
from paimon_spark.format.schema import POSITION
from paimon_spark.format.types import DataField
from paimon_spark.merge.keys.row_ids import ColumnFiles, column_files, end_id, first_id, sections_by_row_id
from paimon_spark.store.compact.blobs import BlobOutput, numbered
from paimon_spark.store.compact.columns import read_columns
from paimon_spark.store.compact.output import CompactOutput
from paimon_spark.store.compact.task import AppendTask
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.file_statistics import ids_of_file
from paimon_spark.store.rows.rewrite_file import PendingChanges, RowChanges
from paimon_spark.store.write.file_layout import column_layout, vector_layout
from paimon_spark.store.write.row_rules import row_rules

Ints: TypeAlias = npt.NDArray[np.int64]


def write_columns(
    table: Table, task: AppendTask, fields: Sequence[DataField], changes: Iterator[RowChanges]
) -> CommitMessage:
    """Writes one file with columns of the rows of a task, and those of BLOB columns beside it.

    Nothing is visible before the message is committed. The files of a BLOB column have no values of rows that keep
    theirs: older files have them.

    Args:
        table: the table, with the schema that the new file gets.
        task: all files that have columns of the rows.
        fields: the columns that are written, in the order of the table.
        changes: the rows that get new values, each of which stays: the values of these columns.

    Returns:
        A message that adds the files.

    Raises:
        CorruptFile: a file is missing or damaged.
        DataError: a new value does not fit the table.
        StorageError: the storage failed. After any error what was written is deleted.
    """
    (section,) = sections_by_row_id(task.files)
    group = column_files(section)
    names = [field.name for field in fields]
    apart = [field.name for field in blob_file_columns(fields, table.settings)]
    whole = [field for field in fields if field.name not in apart]
    vectors = vector_layout(table.schema, table.settings, names)
    plain = [field.name for field in whole if vectors is None or field.name not in vectors.arrow.names]
    rules = row_rules(table.location, table.schema, table.settings).of_columns(names)
    pending = PendingChanges(changes)
    known = {name: _known(table, group, name) for name in apart}
    layouts = [column_layout(table.schema, table.settings, plain)] * bool(plain)
    layouts += [] if vectors is None else [vectors]
    with ExitStack() as made:
        blobs = made.enter_context(BlobOutput(table, task, apart))
        outputs = [
            (layout.arrow.names, made.enter_context(CompactOutput(table, task, FileSource.APPEND, layout)))
            for layout in layouts
        ]
        for rows in read_columns(table, task, whole):
            positions = rows.column(POSITION).to_numpy()
            found = list(pending.up_to(int(positions[-1])))
            new = [rules.prepare(change.rows, None)[0] for change in found]
            places = _places(positions, found)
            for name in apart:
                old = pa.nulls(len(positions), arrow_type(table.schema.by_name[name].type))
                values = _chosen([old, *(part.column(name) for part in new)], places)
                blobs.write(name, values, (places < len(positions)) & known[name][positions])
            for columns, output in outputs:
                output.write(_replaced(rows.select(columns), places, new))
        files = blobs.finish(group.first_row_id)
        for _, output in outputs:
            output.end_files()
            files += numbered(output.wait()[0], group.first_row_id)
    return CommitMessage(task.partition, task.bucket, task.total_buckets, new_files=tuple(files))


def _known(table: Table, group: ColumnFiles, name: str) -> npt.NDArray[np.bool_]:
    """Which rows have files of a BLOB column.

    A row without one is NULL there. Java does not read a mark that the row keeps its value where no file has one.
    """
    found = np.zeros(group.row_count, np.bool_)
    for file in group.parts:
        if table.schema.by_name[name].id in ids_of_file(file, table.schema, table.schemas.load):
            found[first_id(file) - group.first_row_id : end_id(file) - group.first_row_id] = True
    return found


def _places(positions: Ints, changes: Sequence[RowChanges]) -> Ints:
    """Where the value of each row is, among those of the rows and then the new ones of the changes."""
    places = np.arange(len(positions))
    if changes:
        touched = np.concatenate([change.positions for change in changes])
        places[np.searchsorted(positions, touched)] = len(positions) + np.arange(len(touched))
    return places


def _replaced(rows: pa.RecordBatch, places: Ints, new: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Rows with new values in the place of some of them."""
    if not new:
        return rows
    columns = [_chosen([rows.column(name), *(part.column(name) for part in new)], places) for name in rows.schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema)


def _chosen(values: Sequence[pa.Array], places: Ints) -> pa.Array:
    return pa.concat_arrays(values).take(pa.array(places)) if len(values) > 1 else values[0]
