"""Reads the rows of the data files of one bucket for a compaction, in the columns of the current schema.

Rows that a deletion vector deletes, or that are older than ``record-level.expire-time``, are dropped before the merge
(Java: KeyValueFileReaderFactory, RecordLevelExpire).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

import pyarrow as pa

from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.paths import data_file_path
from paimon_spark.format.schema import (
    SEQUENCE_NUMBER,
    SEQUENCE_NUMBER_ID,
    VALUE_KIND,
    VALUE_KIND_ID,
)
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.merge.compaction.record_expiry import record_expiry, unexpired
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
        self.rows_read = 0
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
