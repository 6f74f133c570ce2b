"""Files of BLOB columns of rows that are there: new ones for changed values, and one in the place of several.

Java: DataEvolutionBlobCompactTask, MultipleBlobFileWriter (release 2.0).
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.errors import CorruptFile
from paimon_spark.format.blob_file import BLOB, NULL, encode_index
from paimon_spark.format.manifest import DataFileMeta, FileSource
from paimon_spark.format.paths import data_file_name, data_file_path
from paimon_spark.merge.keys.row_ids import end_id, first_id, newest_first
from paimon_spark.store.compact.bucket_rows import Progress
from paimon_spark.store.compact.task import AppendTask, CompactTaskResult
from paimon_spark.store.metadata.file_paths import BucketPlaces, FilePlace, bucket_directory
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.blob_column import BlobColumn, BlobFile
from paimon_spark.store.storage.files import discard
from paimon_spark.store.storage.parallel import Background
from paimon_spark.store.storage.referenced import CHUNK
from paimon_spark.store.write.blob_writer import BlobWriter, blob_meta
from paimon_spark.store.write.file_layout import BlobLayout, blob_layouts


class BlobOutput:
    """Takes the values of BLOB columns of the rows of a task, in their order.

    As a context it keeps its files on success, and deletes them if an error is raised in it.
    """

    def __init__(self, table: Table, task: AppendTask, names: Sequence[str]) -> None:
        """Creates no file yet.

        Args:
            table: the table; the files have its schema and options.
            task: with the bucket of the files.
            names: the columns.
        """
        self._table = table
        self._places = BucketPlaces(table, task.partition, task.bucket)
        self._uuid = str(uuid.uuid4())
        self._closing = Background(limit=64)
        self._begun: list[str] = []
        self._writers = {
            layout.column: BlobWriter(table.file_io, table.location, layout, self._create, self._closing)
            for layout in blob_layouts(table.schema, table.settings, names)
        }

    def __enter__(self) -> BlobOutput:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.stop()
        if kind is not None:
            for writer in self._writers.values():
                writer.discard()
            discard(self._table.file_io, self._begun)

    def write(self, name: str, values: pa.Array, kept: npt.NDArray[np.bool_]) -> None:
        """Appends values of a column; for arguments and errors see BlobWriter.write."""
        self._writers[name].write(values, kept)

    def finish(self, first_row_id: int) -> list[DataFileMeta]:
        """The complete and durable files, whose first row has this id."""
        found = []
        for writer in self._writers.values():
            writer.end_file()
            found += numbered(writer.files, first_row_id)
        self._closing.wait()
        return found

    def _create(self) -> tuple[str, FilePlace]:
        name = data_file_name(self._table.settings.files.prefix, self._uuid, len(self._begun), BLOB)
        place = self._places.data_file(name)
        self._begun.append(place.path)
        return name, place


def numbered(files: Sequence[DataFileMeta], first_row_id: int) -> list[DataFileMeta]:
    """The files of one column of consecutive rows, with the ids of their rows."""
    ends = np.cumsum([file.row_count for file in files]).tolist()
    return [f._replace(first_row_id=first_row_id + end - f.row_count) for f, end in zip(files, ends, strict=True)]


def join_blobs(table: Table, task: AppendTask, progress: Progress | None = None) -> CompactTaskResult:
    """Writes one file with the values of one BLOB column; nothing is visible before somebody commits the result.

    Entries are copied as they are, in pieces.

    Args:
        table: with the schema that the new file gets.
        task: files of the column that have rows whose ids have no gap.
        progress: gets how many rows have been read since its last call.

    Raises:
        CorruptFile: a file is missing or damaged.
        StorageError: the storage failed. After any error what was written is deleted.
    """
    directory = bucket_directory(table, task.partition, task.bucket)
    first, end = min(map(first_id, task.files)), max(map(end_id, task.files))
    placed = [
        BlobFile(data_file_path(directory, file), file.file_size, first_id(file) - first, file.row_count)
        for file in newest_first(task.files)[::-1]
    ]
    name = data_file_name(table.settings.files.prefix, str(uuid.uuid4()), 0, BLOB)
    path, external_path = BucketPlaces(table, task.partition, task.bucket).data_file(name)
    with ExitStack() as closing, ExitStack() as undo:
        undo.callback(discard, table.file_io, [path])
        column = BlobColumn(table.file_io, placed, end - first, False, closing)
        size = _copy_entries(column, table, path)
        undo.pop_all()
    if progress is not None:
        progress(end - first)
    after = blob_meta(_layout(table, task.files[0]), name, size, end - first)._replace(
        file_source=FileSource.COMPACT,
        external_path=external_path,
        first_row_id=first,
        min_sequence_number=min(old.min_sequence_number for old in task.files),
        max_sequence_number=max(old.max_sequence_number for old in task.files),
    )
    return CompactTaskResult(
        partition=task.partition,
        bucket=task.bucket,
        total_buckets=task.total_buckets,
        before=task.files,
        after=(after,),
        created=(path,),
        rows_read=end - first,
        rows_written=end - first,
    )


def _layout(table: Table, file: DataFileMeta) -> BlobLayout:
    (field_id,) = [field.id for field in table.schemas.load(file.schema_id).columns_of_file(file.write_cols or ())]
    names = [field.name for field in table.schema.fields if field.id == field_id]
    found = blob_layouts(table.schema, table.settings, names)
    if not found:
        raise CorruptFile(f"compacting {file.file_name}: the table has no BLOB column any more whose values it has")
    return found[0]


def _copy_entries(column: BlobColumn, table: Table, path: str) -> int:
    """Writes a file with the entries of a column. Returns its size."""
    of_file, starts, lengths = column.places
    there = np.flatnonzero(of_file >= 0)
    files, begins, sizes = of_file[there], starts[there], lengths[there]
    breaks = (files[1:] != files[:-1]) | (begins[1:] != begins[:-1] + sizes[:-1])
    cuts = np.flatnonzero(np.concatenate([[True], breaks, [True]])) if len(there) else np.zeros(1, np.int64)
    with table.file_io.open_output(path) as stream:
        for start, stop in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):  # entries that are neighbours
            offset, left = int(begins[start]), int(sizes[start:stop].sum())
            while left:
                data = column.read(int(files[start]), offset, min(left, CHUNK))
                stream.write(data)
                offset, left = offset + len(data), left - len(data)
        stream.write(encode_index(np.where(of_file >= 0, lengths, NULL)))
        return stream.tell()
