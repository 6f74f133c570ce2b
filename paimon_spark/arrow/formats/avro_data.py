"""Avro data files (format section 4.6): rows of fastavro between Arrow batches and bytes, block by block.

Avro stores rows, so this is slower than the columnar formats. A file is held compressed in memory, with one block of
rows decoded at a time.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import fastavro
import pyarrow as pa
from fastavro.schema import SchemaParseException, UnknownType

from paimon_spark.arrow.conform import batch_of
from paimon_spark.arrow.formats.avro_columns import avro_schema, from_avro, record_of, to_avro
from paimon_spark.arrow.formats.file_access import (
    RowGroup,
    RowRange,
    WriteSettings,
    damaged,
    groups_with,
    positioned,
    reading,
)
from paimon_spark.arrow.statistics.column_stats import ColumnStats, StatsCollector
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import CorruptFile, DataError
from paimon_spark.format.avro.container import SYNC_SIZE, codec_name, scan_container
from paimon_spark.format.avro.file import without_logical_types
from paimon_spark.format.avro.limits import checked_growth
from paimon_spark.format.types import DataField

_BLOCK_BYTES = 64_000
_DECODE_ERRORS = (EOFError, ValueError, LookupError, TypeError, AttributeError, OverflowError, struct.error)


class AvroReader:
    """One Avro file (see ``file_access.FileReader``). All of its rows are one row group without statistics."""

    def __init__(self, source: Any, where: str) -> None:
        self._where = where
        self._source = source
        with reading(where):
            self._packed = scan_container(bytes(source.read()), where)
        with damaged(where):
            checked_growth(self._packed.schema)
            self._record = record_of(self._packed.schema)
        self._fields = {field["name"]: field["type"] for field in self._record["fields"]}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._fields)

    @property
    def row_count(self) -> int:
        return sum(count for count, _, _ in self._packed.blocks)

    @property
    def row_groups(self) -> Sequence[RowGroup]:
        return [RowGroup(0, self.row_count)]

    def read(
        self,
        columns: Sequence[DataField],
        batch_rows: int,
        row_groups: Sequence[int] | None = None,
        rows: Sequence[RowRange] | None = None,
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        if groups_with(self.row_groups, row_groups, rows):
            yield from positioned(self._batches(columns, batch_rows), 0, self.row_count, self._where)

    def close(self) -> None:
        self._source.close()

    def _batches(self, columns: Sequence[DataField], batch_rows: int) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(columns)
        pending: list[dict[str, Any]] = []
        for records in self._decoded(columns):
            pending += records
            while len(pending) >= batch_rows:
                yield self._batch(pending[:batch_rows], columns, schema)
                pending = pending[batch_rows:]
        if pending:
            yield self._batch(pending, columns, schema)

    def _decoded(self, columns: Sequence[DataField]) -> Iterator[list[dict[str, Any]]]:
        """The records of one block after the other, with the wanted fields only."""
        with damaged(self._where):
            try:
                writer = fastavro.parse_schema(_array_of(self._packed.schema))
                reader = fastavro.parse_schema(_array_of(self._narrowed({column.name for column in columns})))
            except (SchemaParseException, UnknownType) as error:
                raise ValueError(f"its schema is not valid: {error}") from error
        blocks = self._packed.unpack()
        while True:
            with damaged(self._where):
                block = next(blocks, None)
                if block is None:
                    return
                records = _read_block(*block, writer, reader)
            yield records

    def _narrowed(self, wanted: Collection[str]) -> Any:
        """The schema with fewer fields; with all where a type is defined in one field and named in another."""
        schema = self._packed.schema
        if self._record != (schema[-1] if isinstance(schema, list) else schema):
            return schema
        narrow = {**self._record, "fields": [f for f in self._record["fields"] if f["name"] in wanted]}
        return ["null", narrow] if isinstance(schema, list) else narrow

    def _batch(self, records: list[dict[str, Any]], columns: Sequence[DataField], schema: pa.Schema) -> pa.RecordBatch:
        arrays = []
        for column, field in zip(columns, schema, strict=True):
            if column.name not in self._fields:
                arrays.append(pa.nulls(len(records), field.type))
                continue
            try:
                values = [record[column.name] for record in records]
                arrays.append(from_avro(values, self._fields[column.name], column.type))
            except pa.ArrowMemoryError:
                raise
            except (*_DECODE_ERRORS, pa.ArrowException, DataError) as error:
                raise CorruptFile(
                    f"reading column '{column.name}' of data file {self._where}: its values are not {field.type} "
                    f"({error})"
                ) from error
        return batch_of(arrays, schema, len(records))


def _array_of(schema: Any) -> Any:
    """The schema of an array of records: a block is decoded as one array, with one call instead of one per record."""
    return {"type": "array", "items": without_logical_types(schema)}


def _read_block(count: int, raw: bytes, writer: Any, reader: Any) -> list[dict[str, Any]]:
    """The records of a decompressed block.

    Raises:
        ValueError: the bytes are not that many records.
    """
    head = bytearray()
    _put_long(head, count)
    data = io.BytesIO(bytes(head) + raw + b"\0")
    try:
        records: Any = fastavro.schemaless_reader(data, writer, reader)
    except _DECODE_ERRORS as error:
        raise ValueError(f"a block does not decode: {error!r}") from error
    if data.tell() != len(head) + len(raw) + 1 or not all(isinstance(record, dict) for record in records):
        raise ValueError(f"a block of {len(raw)} bytes does not hold {count} records")
    return list(records)


def _put_long(out: bytearray, value: int) -> None:
    value <<= 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


class AvroWriter:
    """One Avro file being written (see ``file_access.FileWriter``). Each batch becomes blocks of its own."""

    def __init__(self, sink: Any, fields: Sequence[DataField], settings: WriteSettings) -> None:
        self._sink = sink
        self._fields = tuple(fields)
        self._names = tuple(field.name for field in fields)
        self._collector = StatsCollector(fields)
        self._codec = codec_name(settings.compression)
        self._level = settings.zstd_level if self._codec == "zstandard" else None
        self._sync = os.urandom(SYNC_SIZE)
        self._schema = fastavro.parse_schema(avro_schema(fields))
        header = self._container([])
        self._header_size = len(header)
        sink.write(header)

    @property
    def bytes_estimate(self) -> int:
        return int(self._sink.tell())

    def write(self, batch: pa.RecordBatch) -> None:
        self._collector.add(batch)
        columns = [to_avro(array, field.type) for array, field in zip(batch.columns, self._fields, strict=True)]
        rows = zip(*columns, strict=True)
        blocks = self._container(dict(zip(self._names, row, strict=True)) for row in rows)
        self._sink.write(blocks[self._header_size :])

    def close(self) -> None:
        """Every batch is written already."""

    def stats(self) -> Mapping[str, ColumnStats]:
        return self._collector.result()

    def _container(self, records: Iterable[dict[str, Any]]) -> bytes:
        """A whole file of the records; all files have the same header."""
        out = io.BytesIO()
        fastavro.writer(
            out, self._schema, records, self._codec, _BLOCK_BYTES, sync_marker=self._sync,
            codec_compression_level=self._level, disable_tuple_notation=True,
        )  # fmt: skip
        return out.getvalue()
