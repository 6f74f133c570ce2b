"""Joins the columns of rows that lie in several files, and neighbouring files, of a table with data evolution.

Java: DataEvolutionNormalCompactTask, DataEvolutionCompactDeletionVectorRewriter (release 2.0). Rows keep their ids, so
deleted ones stay in the new file, and its deletion vector has those of the old files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow.predicates.predicate import AlwaysTrue
from paimon_spark.format.manifest import FileSource
from paimon_spark.format.rules.blobs import AS_REFERENCES, own_file_columns
from paimon_spark.format.types import DataField
from paimon_spark.merge.keys.row_ids import anchor_of, column_files, first_id, sections_by_row_id
from paimon_spark.store.compact.bucket_rows import Progress
from paimon_spark.store.compact.output import CompactOutput
from paimon_spark.store.compact.task import AppendTask, CompactTaskResult
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.column_merge import ColumnMerge
from paimon_spark.store.read.deletion_files import read_deleted_positions
from paimon_spark.store.read.split_files import SplitFiles
from paimon_spark.store.read.split_reader import SplitReader
from paimon_spark.store.read.splits import Split
from paimon_spark.store.write.file_layout import column_layout, file_layout

BATCH_ROWS = 65536


def join_columns(table: Table, task: AppendTask, progress: Progress | None = None) -> CompactTaskResult:
    """Writes one file with all columns of the rows of a task, but those that have files of their own.

    Nothing is visible before somebody commits the result.

    Args:
        table: with the schema that the new file gets.
        task: all files that have such columns of rows whose ids have no gap.
        progress: gets how many rows have been read since its last call.

    Raises:
        CorruptFile: a file or a deletion vector is missing or damaged.
        StorageError: the storage failed. After any error what was written is deleted.
    """
    apart = own_file_columns(table.schema.fields, table.settings)
    fields = [field for field in table.schema.fields if field not in apart]
    names = [field.name for field in fields]
    layout = column_layout(table.schema, table.settings, names)
    with CompactOutput(table, task, FileSource.APPEND, layout) as output:
        for batch in read_columns(table, task, fields):
            if progress is not None:
                progress(batch.num_rows)
            output.write(batch.select(names))
        output.end_files()
        (file,), _ = output.wait()
        deleted = _deleted_rows(table, task)
    after = file._replace(
        first_row_id=min(map(first_id, task.files)),
        min_sequence_number=min(old.min_sequence_number for old in task.files),
        max_sequence_number=max(old.max_sequence_number for old in task.files),
    )
    return CompactTaskResult(
        partition=task.partition,
        bucket=task.bucket,
        total_buckets=task.total_buckets,
        before=task.files,
        after=(after,),
        superseded={file.file_name: deleted.astype("<i8").tobytes()} if len(deleted) else {},
        created=tuple(output.created),
        rows_read=output.rows_written,
        rows_written=output.rows_written,
    )


def leave_out_deleted(table: Table, task: AppendTask, progress: Progress | None = None) -> CompactTaskResult:
    """Writes the rows of a task that are not deleted to new files, as new rows, which get new ids at the commit.

    Java: DataEvolutionMaterializeDeletionCompactTask (release 2.0). Bytes of BLOB columns are copied in pieces.

    Args:
        table: with the schema that the new files get.
        task: all files that have columns of rows whose ids have no gap.
        progress: gets how many rows have been read since its last call.

    Raises:
        CorruptFile: a file or a deletion vector is missing or damaged.
        StorageError: the storage failed. After any error what was written is deleted.
    """
    settings = table.settings.merged(AS_REFERENCES)
    reader = SplitReader(replace(table, settings=settings), table.schema.fields, AlwaysTrue())
    sections = tuple(sections_by_row_id(task.files))
    directory = bucket_directory(table, task.partition, task.bucket)
    split = Split(task.partition, task.bucket, directory, (), sections, task.deletions)
    read = 0
    with CompactOutput(table, task, FileSource.APPEND, file_layout(table.schema, table.settings)) as output:
        for batch in reader.read(split, BATCH_ROWS):
            if progress is not None:
                progress(batch.num_rows)
            read += batch.num_rows
            output.write(batch)
        output.end_files()
        files, _ = output.wait()
    return CompactTaskResult(
        partition=task.partition,
        bucket=task.bucket,
        total_buckets=task.total_buckets,
        before=task.files,
        after=tuple(file._replace(min_sequence_number=0, max_sequence_number=0) for file in files),
        created=tuple(output.created),
        rows_read=read,
        rows_written=output.rows_written,
        gives_new_ids=True,
    )


def read_columns(table: Table, task: AppendTask, fields: Sequence[DataField]) -> Iterator[pa.RecordBatch]:
    """Some columns of all rows of a task, deleted ones too, by their ids; then the column POSITION: the number of a row
    among those whose columns lie in the same files.

    Args:
        task: the files of some sections of row ids.

    Raises:
        CorruptFile: a file is missing or damaged.
    """
    merge = ColumnMerge(SplitFiles(table), tuple(fields), AlwaysTrue(), positions=True)
    directory = bucket_directory(table, task.partition, task.bucket)
    split = Split(task.partition, task.bucket, directory, ())
    for section in sections_by_row_id(task.files):
        yield from merge.section(split, section, BATCH_ROWS)


def _deleted_rows(table: Table, task: AppendTask) -> npt.NDArray[np.int64]:
    """The numbers of the deleted rows in the new file."""
    first = min(map(first_id, task.files))
    parts = [np.empty(0, np.int64)]
    for section in sections_by_row_id(task.files):
        group = column_files(section)
        deletion = task.deletions.get(anchor_of(group).file_name)
        if deletion is not None:
            parts.append(read_deleted_positions(table.file_io, deletion) + (group.first_row_id - first))
    return np.concatenate(parts)
