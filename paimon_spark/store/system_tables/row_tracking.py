"""$row_tracking: the rows of a table with the id and the sequence number of each (format section 10)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import CorruptFile, UnsupportedFeature
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.paths import data_file_path
from paimon_spark.format.schema import POSITION, SEQUENCE_NUMBER, SEQUENCE_NUMBER_ID
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.read.file_rows import FileRequest
from paimon_spark.store.read.split_reader import SplitReader
from paimon_spark.store.read.splits import ReadUnit, Split

ROW_ID = "_ROW_ID"
TRACKING_FIELDS = (
    DataField(2**31 - 6, ROW_ID, DataType(Root.BIGINT, False)),
    DataField(SEQUENCE_NUMBER_ID, SEQUENCE_NUMBER, DataType(Root.BIGINT, False)),
)
_IN_FILES = tuple(DataField(f.id, f.name, DataType(Root.BIGINT)) for f in TRACKING_FIELDS)


@dataclass(frozen=True)
class TrackedReader:
    """Reads splits of an append table; picklable.

    Attributes:
        reader: the reader of the table.
        fields: the columns of the result: columns of the table and TRACKING_FIELDS.
    """

    reader: SplitReader
    fields: tuple[DataField, ...]

    def read(self, split: ReadUnit) -> Iterator[pa.RecordBatch]:
        """The rows of a split.

        Raises:
            CorruptFile: a data file or deletion vector is missing or damaged.
            SnapshotNotFound: a file is missing because the snapshot has expired since it was planned.
            TableChanged: a file has a newer schema, in which a wanted column was dropped or changed its type.
            UnsupportedFeature: the split is not of a state but of a change.
        """
        if not isinstance(split, Split) or split.sections:
            raise UnsupportedFeature("reading $row_tracking: it shows a state of an append table, not a change")
        for file in split.raw_files:
            yield from self._file(split, file)

    def _file(self, split: Split, file: DataFileMeta) -> Iterator[pa.RecordBatch]:
        path = data_file_path(split.bucket_path, file)
        written = file.write_cols or ()
        system = tuple(field for field in _IN_FILES if field.name in written)
        fields = tuple(field for field in self.fields if field not in TRACKING_FIELDS)
        for batch in self.reader.files.rows(split, file, FileRequest(fields, system, positions=True)):
            columns = [_column(batch, field, file, path) for field in self.fields]
            yield pa.RecordBatch.from_arrays(columns, schema=arrow_schema(self.fields))


def _column(batch: pa.RecordBatch, field: DataField, file: DataFileMeta, path: str) -> pa.Array:
    """Row ids or sequence numbers: those in the file, or else derived from the metadata that the commit stored."""
    place = batch.schema.get_field_index(field.name)
    if field not in TRACKING_FIELDS:
        return batch.column(place)
    held = None if place < 0 else batch.column(place)
    if held is not None and not held.null_count:
        return held
    if field.name == SEQUENCE_NUMBER:
        noted = pa.array(np.full(len(batch), file.max_sequence_number, np.int64))
    elif file.first_row_id is None:
        raise CorruptFile(
            f"reading the data file {path}: neither its manifest nor the file itself says which row ids it has; it was "
            "written before 'row-tracking.enabled' was set, or the table is damaged"
        )
    else:
        noted = pa.array(batch.column(POSITION).to_numpy() + file.first_row_id)
    return noted if held is None else pc.coalesce(held, noted)
