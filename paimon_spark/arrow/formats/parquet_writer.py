"""Writing parquet data files that every Java release since 0.9 reads (format section 7.3)."""

from __future__ import annotations

import base64
import io
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types as pt

from paimon_spark.arrow.conform import INT96, conform_batch
from paimon_spark.arrow.formats.file_access import WriteSettings
from paimon_spark.arrow.formats.physical_schema import leaves, parquet_schema
from paimon_spark.arrow.formats.shared_maps import SharedColumns
from paimon_spark.arrow.hidden_nulls import has_required_field, without_hidden_nulls
from paimon_spark.arrow.parquet.footer_rewrites import fixed_to_int96
from paimon_spark.arrow.parquet.footer_stats import FooterStats
from paimon_spark.arrow.raw_values import from_numpy, to_numpy
from paimon_spark.arrow.statistics.column_stats import ColumnStats
from paimon_spark.errors import DataError, OptionError
from paimon_spark.format.types import DataField, DataType

_DEFAULT_BLOCK_SIZE = 128 * 2**20
_SAMPLE_ROWS = 4096
_DICTIONARY_BYTES = 2**20  # a longer one is given up halfway by Arrow, as by Java
_REPEATS = 4
"""Rows for each distinct value, from which on a dictionary pays: with 4 of 8 bytes a column is a third smaller under
zstd and written in three quarters of the time, with 2 it is as large and takes longer."""
_MAGIC = b"PAR1"
_CODECS = {"none": "NONE", "uncompressed": "NONE", "zstd": "ZSTD", "snappy": "SNAPPY", "gzip": "GZIP", "lz4": "LZ4",
           "lz4_raw": "LZ4", "brotli": "BROTLI"}  # fmt: skip


class ParquetWriter:
    """One parquet file being written (see ``file_access.FileWriter``).

    Rows are buffered until they fill a row group. The first row group decides which columns get dictionaries: these
    cost time on columns of many values and save space on the others.
    """

    def __init__(self, sink: Any, fields: Sequence[DataField], settings: WriteSettings) -> None:
        self._fields = tuple(fields)
        self._schema = parquet_schema(fields)
        self._settings = settings
        self._codec = _codec(settings.compression)
        self._sink = _HeldFooter(sink) if any(_has_int96(f.type) for f in self._schema) else sink
        shredding = settings.shredding
        self._shredding = shredding if shredding is not None and shredding.applies_to(self._fields) else None
        self._shapes: Mapping[tuple[int, ...], DataType] | None = None
        self._shares = {rules.column: rules for rules in settings.shared_maps}
        self._shared: dict[int, SharedColumns] = {}
        self._required_inside = [i for i, f in enumerate(self._schema) if has_required_field(f.type)]
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = self._pending_bytes = self._flushed_bytes = 0
        self._writer: _Writer | None = None
        self._metadata: list[pq.FileMetaData] = []
        self._nulls = [0] * len(self._fields)
        self._nan = [False] * len(self._fields)

    @property
    def bytes_estimate(self) -> int:
        written = int(self._sink.tell())
        ratio = written / self._flushed_bytes if self._flushed_bytes else 0.4
        return written + int(self._pending_bytes * min(ratio, 1.0))

    def write(self, batch: pa.RecordBatch) -> None:
        for part in _parts(batch, self._settings.row_group_rows):
            while self._pending_rows + part.num_rows >= self._settings.row_group_rows:
                head = part.slice(0, self._settings.row_group_rows - self._pending_rows)
                part = part.slice(head.num_rows)
                self._add(head)
                self._flush()
            self._add(part)
        if self._pending_bytes >= (self._settings.block_size or _DEFAULT_BLOCK_SIZE):
            self._flush()

    def close(self) -> None:
        self._flush()
        if self._shredding is not None:
            self._shape([])
            self._shredding.file_is_complete()
        self._share([])
        writer = self._writer or self._open([])
        if self._shared:
            writer.add_key_value_metadata({"ARROW:schema": self._described()})
        if isinstance(self._sink, _HeldFooter):
            self._sink.hold()
            writer.close()
            self._sink.release()
        else:
            writer.close()

    def stats(self) -> Mapping[str, ColumnStats]:
        """The statistics in the footer of the columns that are not nested, by name; available after ``close``."""
        whole = io.BytesIO()
        self._metadata[0].write_metadata_file(whole)
        return FooterStats(footer_of(whole.getvalue()), self._schema).columns(self._nulls, self._nan)

    def _add(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            self._pending.append(batch)
            self._pending_rows += batch.num_rows
            self._pending_bytes += batch.nbytes

    def _flush(self) -> None:
        if not self._pending:
            return
        self._shape(self._pending)
        self._share(self._pending)
        batches = [self._physical(batch) for batch in self._pending]
        table = pa.Table.from_batches(batches, self._schema)
        writer = self._writer or self._open(batches)
        writer.write_table(table, row_group_size=table.num_rows)
        for i, column in enumerate(table.columns):
            self._nulls[i] += column.null_count
            if pt.is_floating(column.type) and not self._nan[i]:
                self._nan[i] = bool(pc.any(pc.is_nan(column)).as_py())
        self._flushed_bytes += self._pending_bytes
        self._pending = []
        self._pending_rows = self._pending_bytes = 0

    def _shape(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Decides with the first rows which parts of VARIANT values get columns of their own."""
        if self._shredding is None or self._shapes is not None:
            return
        from paimon_spark.arrow.shredding.plans import shredded_fields

        self._shapes = self._shredding.shapes(self._fields, batches)
        self._schema = parquet_schema(shredded_fields(self._fields, self._shapes))
        self._required_inside = [i for i, f in enumerate(self._schema) if has_required_field(f.type)]

    def _share(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Decides with the first rows how many columns the keys of maps share."""
        if not self._shares or self._shared:
            return
        fields = list(self._fields)
        for i, field in enumerate(self._fields):
            if field.name in self._shares:
                maps = [batch.column(i) for batch in batches]
                shared = self._shared[i] = SharedColumns.of(self._shares[field.name], field.type, maps)
                fields[i] = replace(field, type=shared.stored_type.with_nullable(field.type.nullable))
        self._schema = parquet_schema(fields)
        self._required_inside = [i for i, f in enumerate(self._schema) if has_required_field(f.type)]

    def _described(self) -> str:
        """The schema with what columns of shared maps tell of their keys, as Arrow's message in Base64."""
        schema = self._schema
        for i, shared in self._shared.items():
            known = {key.decode(): value.decode() for key, value in (schema.field(i).metadata or {}).items()}
            described = known | shared.metadata(self._settings.compression.lower())
            schema = schema.set(i, schema.field(i).with_metadata(described))
        return base64.b64encode(schema.serialize()).decode()

    def _physical(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._shapes:
            from paimon_spark.arrow.shredding.plans import shredded_batch

            batch = shredded_batch(batch, self._shapes)
        if self._shared:
            columns = [
                self._shared[i].stored(column) if i in self._shared else column
                for i, column in enumerate(batch.columns)
            ]
            batch = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
        batch = conform_batch(batch, self._schema)
        for i in self._required_inside:
            name = self._schema.names[i]
            try:
                batch = batch.set_column(i, self._schema.field(i), without_hidden_nulls(batch.column(i)))
            except DataError as error:
                raise DataError(f"writing column '{name}': {error}") from None
        return batch

    def _open(self, batches: Sequence[pa.RecordBatch]) -> _Writer:
        with_stats = [path for path, leaf in _leaf_columns(self._schema) if leaf != INT96]
        self._writer = _Writer(
            self._sink,
            self._schema,
            compression=self._codec,
            compression_level=self._settings.zstd_level if self._codec == "ZSTD" else None,
            use_dictionary=_dictionary_columns(self._schema, batches, self._settings.dictionary),
            write_statistics=with_stats,
            store_decimal_as_integer=True,
            write_time_adjusted_to_utc=True,
            write_page_checksum=True,
            write_page_index=True,
            store_schema=False,
            metadata_collector=self._metadata,
        )
        return self._writer


class _Writer(pq.ParquetWriter):  # type: ignore[misc]  # pyarrow has no types
    """Arrow's writer, except that it does not write the footer of an abandoned file when it is garbage collected."""

    def __del__(self) -> None:
        """Nothing: only ``close`` ends a file."""


class _HeldFooter:
    """A sink that keeps back what is written after ``hold``, to declare INT96 in the footer (see ``encode_int96``)."""

    closed = False

    def __init__(self, sink: Any) -> None:
        self._sink = sink
        self._held: bytearray | None = None

    def write(self, data: Any) -> int:
        if self._held is None:
            self._sink.write(data)
        else:
            self._held += memoryview(data)
        return len(data)

    def tell(self) -> int:
        return int(self._sink.tell()) + len(self._held or b"")

    def flush(self) -> None:
        """Nothing is buffered here: the owner of the sink flushes it."""

    def close(self) -> None:
        """The owner of the sink closes it."""

    def hold(self) -> None:
        self._held = bytearray()

    def release(self) -> None:
        tail = bytes(self._held or b"")
        footer = fixed_to_int96(footer_of(tail))
        self._held = None
        self._sink.write(tail[: -8 - len(footer_of(tail))])
        self._sink.write(footer + struct.pack("<I", len(footer)) + _MAGIC)


def footer_of(file: bytes) -> bytes:
    """The Thrift footer at the end of a whole parquet file."""
    size = struct.unpack("<I", file[-8:-4])[0]
    return file[-8 - size : -8]


def _codec(name: str) -> str:
    codec = _CODECS.get(name.lower())
    if codec is None:
        raise OptionError(
            f"option 'file.compression' has the value '{name}', which parquet files cannot have here: "
            f"expected one of {', '.join(_CODECS)}"
        )
    return codec


def _parts(batch: pa.RecordBatch, rows: int) -> Iterator[pa.RecordBatch]:
    if batch.num_rows <= rows:
        yield batch
        return
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def _has_int96(arrow: pa.DataType) -> bool:
    return arrow == INT96 or any(_has_int96(arrow.field(i).type) for i in range(arrow.num_fields))


def _leaf_columns(schema: pa.Schema) -> Iterator[tuple[str, pa.DataType]]:
    for field in schema:
        for path, leaf in leaves(pa.nulls(0, field.type), field.name):
            yield path, leaf.type


def _dictionary_columns(schema: pa.Schema, batches: Sequence[pa.RecordBatch], wanted: bool | None) -> list[str]:
    """The leaf columns to write with a dictionary.

    Decimals of more than 18 digits and INT96 never get one: Java 0.9 fails on dictionaries of fixed-length bytes.
    """
    if wanted is False or not batches:
        return []
    chosen = []
    rows = sum(batch.num_rows for batch in batches)
    for i, field in enumerate(schema):
        sample = _sample(batches, i)
        share = len(sample) / rows
        for path, leaf in leaves(sample, field.name):
            fixed = leaf.type == INT96 or (pt.is_decimal(leaf.type) and leaf.type.precision > 18)
            if not fixed and not pt.is_boolean(leaf.type) and (wanted or _dictionary_pays(leaf, share)):
                chosen.append(path)
    return chosen


def _sample(batches: Sequence[pa.RecordBatch], column: int) -> pa.Array:
    """Some thousand rows of the column, spread evenly over the batches, so that sorted data does not look constant."""
    rows = sum(batch.num_rows for batch in batches)
    stride = max(1, rows // _SAMPLE_ROWS)
    picks = [batch.column(column).take(from_numpy(np.arange(0, batch.num_rows, stride))) for batch in batches]
    return picks[0] if len(picks) == 1 else pa.concat_arrays(picks)


def _dictionary_pays(leaf: pa.Array, share: float) -> bool:
    """True if a dictionary makes a column smaller and its writing faster.

    Args:
        leaf: some of its values.
        share: that of these among all values.
    """
    values = leaf.drop_null()
    if len(values) < 64:
        return False
    counts = to_numpy(values.value_counts().field("counts"))
    distinct = len(counts) if share == 1 else _distinct(counts)
    is_small = distinct * values.nbytes <= _DICTIONARY_BYTES * len(values)
    return is_small and distinct * _REPEATS * share <= len(values)


def _distinct(counts: npt.NDArray[np.int64]) -> float:
    """How many values there are, by how often each of a sample is there (the estimate of Chao, 1984).

    What is there twice tells how many more are like those that are there once.
    """
    once, twice = np.count_nonzero(counts == 1), np.count_nonzero(counts == 2)
    return len(counts) + once * (once - 1) / (2 * (twice + 1))
