"""Reads the rows of the data files of one bucket for a compaction, in the columns of the current schema.

Rows that a deletion vector deletes, or that are older than ``record-level.expire-time``, are dropped before the merge
(Java: KeyValueFileReaderFactory, RecordLevelExpire).

Reads the rows above the output level of a compaction that its keys need (Java: LookupLevels). Java looks up every key
separately. Here the keys of the compaction and those above are both sorted, so one pass over the levels above finds
them all; files and row groups between two keys of the compaction are skipped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa

from paimon_spark.arrow.predicates.predicate import AlwaysTrue, Compare, Op, Predicate
from paimon_spark.arrow.types import to_internal
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.paths import data_file_path
from paimon_spark.format.schema import FILE_NUMBER, SEQUENCE_NUMBER, SEQUENCE_NUMBER_ID, VALUE_KIND, VALUE_KIND_ID
from paimon_spark.format.types import FLOATS, DataField, DataType, Root
from paimon_spark.merge.compaction.record_expiry import record_expiry, unexpired
from paimon_spark.merge.engines.lookup import with_level
from paimon_spark.merge.keys.key_order import SortKey, key_range_of, sort_key_of
from paimon_spark.store.compact.task import CompactTask
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.deletion_files import read_deleted_positions
from paimon_spark.store.read.file_rows import FileRequest, StoredFile, read_file, snapshot_sequence

SYSTEM_FIELDS = (
    DataField(SEQUENCE_NUMBER_ID, SEQUENCE_NUMBER, DataType(Root.BIGINT, False)),
    DataField(VALUE_KIND_ID, VALUE_KIND, DataType(Root.TINYINT, False)),
)
Progress: TypeAlias = Callable[[int], None]
_FILE_FIELD = pa.field(FILE_NUMBER, pa.int32(), nullable=False)


class BucketRows:
    """Reads the files of the bucket of a task.

    Attributes:
        rows_read: the rows read from files so far, including those dropped because of their age.
    """

    def __init__(self, table: Table, task: CompactTask, progress: Progress | None = None) -> None:
        """Opens no file yet.

        Args:
            table: the table, with the schema to read in.
            task: the task, with the bucket and its deletion vectors.
            progress: called for every batch with its number of rows.
        """
        self.rows_read: int = 0
        self._table = table
        self._deletions = task.deletions
        self._directory = bucket_directory(table, task.partition, task.bucket)
        types = table.schema.partition_types
        values = decode_arity_row(task.partition, types)
        self._partition = dict(zip(table.schema.partition_keys, values, strict=True))
        self._expiry = record_expiry(table.schema, table.settings) if table.schema.primary_keys else None
        self._now = int(time.time())
        self._progress = progress

    def read(
        self,
        file: DataFileMeta,
        request: FileRequest,
        batch_rows: int,
        still: Callable[[], Predicate] | None = None,
        expires: bool = True,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a file in file order: the columns of the request, and the time column if rows expire.

        Args:
            file: a file of the bucket.
            request, batch_rows, still: see ``read_file``.
            expires: whether rows that are too old are dropped.

        Raises:
            CorruptFile: the file or its deletion vector is missing or damaged.
        """
        expiry = self._expiry if expires else None
        if expiry is not None and expiry.field not in request.fields:
            request = replace(request, fields=(*request.fields, expiry.field))
        for batch in read_file(self._table.file_io, self._stored(file), request, batch_rows, still):
            self.rows_read += batch.num_rows
            if self._progress is not None:
                self._progress(batch.num_rows)
            if expiry is not None:
                stays = unexpired(batch.column(expiry.field.name), expiry, self._now)
                batch = batch if stays.true_count == len(stays) else batch.filter(stays)
            yield batch

    def _stored(self, file: DataFileMeta) -> StoredFile:
        table = self._table
        deletion = self._deletions.get(file.file_name)
        path = data_file_path(self._directory, file)
        return StoredFile(
            path=path,
            meta=file,
            schema=table.schema if file.schema_id == table.schema.id else table.schemas.load(file.schema_id),
            partition=self._partition,
            deleted=None if deletion is None else read_deleted_positions(table.file_io, deletion),
            orc_legacy_ltz=table.settings.files.orc_legacy_ltz,
            sequence=snapshot_sequence(table.settings, path, file),
        )


@dataclass(frozen=True)
class UpperFile:
    """A file above with its number in ``_FILE`` and its key range."""

    number: int
    file: DataFileMeta
    first: SortKey
    last: SortKey


def files_above(
    files: Sequence[DataFileMeta], inputs: Sequence[DataFileMeta], key_fields: Sequence[DataField]
) -> list[list[UpperFile]]:
    """The files by level, lowest first, in key order; without those that share no key with the inputs.

    Args:
        files: files on levels above 0; the number of a file is its position here.
        inputs: the files to compact, at least one.
        key_fields: the trimmed primary key.
    """
    key_range = key_range_of([field.type for field in key_fields])
    ranges = [key_range(file) for file in inputs]
    low, high = min(first for first, _ in ranges), max(last for _, last in ranges)
    levels: dict[int, list[UpperFile]] = {}
    for number, file in enumerate(files):
        upper = UpperFile(number, file, *key_range(file))
        if upper.first <= high and low <= upper.last:
            levels.setdefault(file.level, []).append(upper)
    return [sorted(levels[level], key=lambda upper: upper.first) for level in sorted(levels)]


class UpperLevel:
    """The rows of one level (``merge.compaction.merge.UpperRun``)."""

    def __init__(
        self,
        rows: BucketRows,
        files: Sequence[UpperFile],
        request: FileRequest,
        key_fields: Sequence[DataField],
        batch_rows: int,
        expires: bool,
    ) -> None:
        """Opens no file yet.

        Args:
            rows: the rows of the bucket.
            files: the files of one level, in key order.
            request: the columns, including the keys; with positions, batches have ``_FILE`` too.
            key_fields: the trimmed primary key.
            batch_rows: the most rows of a batch.
            expires: whether rows that are too old are dropped.
        """
        self._rows = rows
        self._files = list(reversed(files))
        self._request = request
        self._names = [field.name for field in key_fields]
        self._types = [field.type for field in key_fields]
        self._sort_key = sort_key_of(self._types)
        self._batch_rows = batch_rows
        self._expires = expires
        self._still: Predicate = AlwaysTrue()
        self._batches: Iterator[pa.RecordBatch] | None = None

    def next_from(self, key: pa.RecordBatch) -> pa.RecordBatch | None:
        """The next batch that may hold keys from this one on, or None; see ``UpperRun``."""
        values = [to_internal(key.column(name)[0]) for name in self._names]
        wanted = self._sort_key(values)
        if self._types[0].root not in FLOATS:  # statistics of files leave out NaN, the greatest key
            self._still = Compare((self._names[0],), Op.GE, values[0])
        while True:
            if self._batches is None:
                while self._files and self._files[-1].last < wanted:
                    self._files.pop()
                if not self._files:
                    return None
                self._batches = self._open(self._files.pop())
            batch = next(self._batches, None)
            if batch is not None:
                return batch
            self._batches = None

    def _open(self, upper: UpperFile) -> Iterator[pa.RecordBatch]:
        batches = self._rows.read(upper.file, self._request, self._batch_rows, lambda: self._still, self._expires)
        for batch in batches:
            placed = with_level(batch, upper.file.level)
            if self._request.positions:
                numbers = pa.repeat(pa.scalar(upper.number, pa.int32()), batch.num_rows)
                placed = placed.append_column(_FILE_FIELD, numbers)
            yield placed
