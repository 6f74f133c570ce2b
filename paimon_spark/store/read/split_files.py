"""The rows of the data files of splits, each file by itself, without those that deletion vectors delete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa

from paimon_spark.arrow.types import from_internal
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.file_index.row_sets import decode_rows
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.paths import data_file_path
from paimon_spark.store.holds.expired import translate_missing_files
from paimon_spark.store.metadata.schemas import schema_of_file
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.deletion_files import read_deleted_positions
from paimon_spark.store.read.file_rows import FileRequest, Positions, StoredFile, read_file, snapshot_sequence
from paimon_spark.store.read.lenient_read import STRICT, Tolerance, tolerate
from paimon_spark.store.read.splits import Split

BATCH_ROWS = 65536


@dataclass(frozen=True)
class SplitFiles:
    """Reads files of splits; picklable, holds no open file between calls.

    Attributes:
        table: the table, with the options of the read.
        tolerance: which bad files are passed over; none by default, whatever the options of the table say.
        branches: the other branches of a chain table, by their names, whose files its splits have.
    """

    table: Table
    tolerance: Tolerance = STRICT
    branches: Mapping[str, Table] = field(default_factory=dict)

    def rows(
        self,
        split: Split,
        file: DataFileMeta,
        request: FileRequest,
        batch_rows: int = BATCH_ROWS,
        selected: Positions | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of one file, in the columns of the request.

        Args:
            split: has the file.
            file: the file.
            request: the columns and filters.
            batch_rows: the most rows of a batch.
            selected: ascending row numbers; other rows are left out. None: all rows are read.

        Raises:
            CorruptFile: the file or its deletion vector is missing or damaged.
            SnapshotNotFound: a file is missing because the snapshot has expired since it was planned.
            TableChanged: the file has a newer schema, in which a wanted column was dropped or changed its type.
        """
        with translate_missing_files(self.table, split.snapshot_id):
            stored = self.stored(split, file, request, selected)
            read = tolerate(read_file(self.table.file_io, stored, request, batch_rows), stored.path, self.tolerance)
            yield from read if file.file_name not in split.origins else map(partial(self._placed, split), read)

    def _placed(self, split: Split, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows of a file of another partition as rows of the partition of the split."""
        values = self.partition(split)
        for place, name in enumerate(rows.schema.names):
            if name in values:
                constant = from_internal([values[name]], self.table.schema.by_name[name].type)[0]
                rows = rows.set_column(place, rows.schema.field(place), pa.repeat(constant, rows.num_rows))
        return rows

    def stored(
        self, split: Split, file: DataFileMeta, request: FileRequest, selected: Positions | None = None
    ) -> StoredFile:
        """A file with its deleted rows. For arguments and errors see ``rows``."""
        origin = split.origins.get(file.file_name)
        of = self.table if origin is None else self.branches.get(origin.branch, self.table)
        schema = schema_of_file(of.schema, of.schemas, file.schema_id, request.fields)
        deletion = split.deletions.get(file.file_name)
        deleted = None if deletion is None else read_deleted_positions(self.table.file_io, deletion)
        path = data_file_path(split.bucket_path if origin is None else origin.bucket_path, file)
        legacy_ltz = self.table.settings.files.orc_legacy_ltz
        number = snapshot_sequence(self.table.settings, path, file)
        return StoredFile(path, file, schema, self.partition(split), deleted, legacy_ltz, number, selected)

    def partition(self, split: Split) -> dict[str, Any]:
        """The internal values of the partition columns of a split."""
        types = self.table.schema.partition_types
        return dict(zip(self.table.schema.partition_keys, decode_arity_row(split.partition, types), strict=True))


def selected_rows(split: Split, file: DataFileMeta) -> Positions | None:
    """The rows of a file that its index leaves; None: all."""
    selection = split.selections.get(file.file_name)
    return None if selection is None else decode_rows(selection)
