"""Data files of the row format of release 2.0 (Java: RowFormatWriter, RowFormatReader): rows in compressed blocks.

A file is blocks of about 64 kB of rows, each compressed with zstd; an index of their sizes and of the number of their
first rows; and a footer of 32 bytes. It does not tell its columns: whoever reads it knows them. Some rows are read
without the blocks of the others.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.conform import batch_of, conform
from paimon_spark.arrow.formats.file_access import (
    RowGroup,
    RowRange,
    WriteSettings,
    clipped,
    damaged,
    groups_with,
    reading,
)
from paimon_spark.arrow.formats.row_encoding import encode_rows
from paimon_spark.arrow.formats.row_values import Bytes, Longs, decode_rows
from paimon_spark.arrow.statistics.column_stats import ColumnStats, StatsCollector
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.format.types import DataField

MAGIC, VERSION, FOOTER = 0x524F5753, 1, struct.Struct("<qiqib3xi")
BLOCK_BYTES = 65536
_MOST_BLOCK = 2**31 - 1
_GROWTH = 20_000
"""Bytes of a block for each compressed one, at most: zstd makes no more of them (a block of 128 kB takes ten)."""


class RowReader:
    """One file (see ``file_access.FileReader``). Each block is a row group without statistics."""

    def __init__(self, source: Any, where: str, fields: Sequence[DataField]) -> None:
        """
        Args:
            source: a pyarrow NativeFile or a binary file object with random access; the reader closes it.
            where: the path, for messages.
            fields: the columns of the file, in their order.

        Raises:
            CorruptFile: the bytes are not a file of this format.
        """
        self._source, self._where = source, where
        self._fields = tuple(fields)
        with reading(where), damaged(where):
            size = source.seek(0, 2)
            if size < FOOTER.size:
                raise ValueError("it ends before its footer")
            rows, blocks, start, length, version, magic = FOOTER.unpack(self._bytes(size - FOOTER.size, FOOTER.size))
            if magic != MAGIC or version != VERSION:
                raise ValueError(f"its footer has the mark {magic:#x} and the version {version}")
            if start < 0 or length < 0 or start + length + FOOTER.size != size or rows < 0:
                raise ValueError("its footer does not fit its size")
            self._packed, self._sizes, self._firsts = _index(self._bytes(start, length))
            self._check(rows, blocks, start)
        self._rows = rows
        self._starts = np.cumsum(self._packed) - self._packed

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self._fields)

    @property
    def row_count(self) -> int:
        return int(self._rows)

    @property
    def row_groups(self) -> Sequence[RowGroup]:
        counts = np.diff(np.append(self._firsts, self._rows)).tolist()
        return [RowGroup(first, count) for first, count in zip(self._firsts.tolist(), counts, strict=True)]

    def read(
        self,
        columns: Sequence[DataField],
        batch_rows: int,
        row_groups: Sequence[int] | None = None,
        rows: Sequence[RowRange] | None = None,
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        groups, schema = self.row_groups, arrow_schema(columns)
        pending: list[pa.RecordBatch] = []
        first = waiting = 0
        for number in groups_with(groups, row_groups, rows):
            parts = [groups[number].rows] if rows is None else clipped(rows, groups[number].rows)
            for start, batch in self._block(number, parts, columns, schema):
                if pending and (first + waiting != start or waiting + batch.num_rows > batch_rows):
                    yield first, pa.concat_batches(pending)
                    pending, waiting = [], 0
                first = first if pending else start
                pending, waiting = [*pending, batch], waiting + batch.num_rows
                while waiting > batch_rows:
                    whole = pa.concat_batches(pending)
                    yield first, whole.slice(0, batch_rows)
                    first, waiting = first + batch_rows, waiting - batch_rows
                    pending = [whole.slice(batch_rows)]
        if pending:
            yield first, pa.concat_batches(pending)

    def close(self) -> None:
        self._source.close()

    def _check(self, rows: int, blocks: int, start: int) -> None:
        packed, sizes, firsts = self._packed, self._sizes, self._firsts
        if not len(packed) == len(sizes) == len(firsts) == blocks or int(packed.sum()) != start:
            raise ValueError("its index does not fit its blocks")
        steps = np.diff(np.append(firsts, rows))
        if blocks and (firsts[0] != 0 or int(steps.min()) < 1 or int(packed.min()) < 1):
            raise ValueError("a block of its index has no rows")
        if (not blocks and rows) or (sizes > np.minimum(packed * _GROWTH, _MOST_BLOCK)).any() or (sizes < 4).any():
            raise ValueError("a block of its index has an impossible size")

    def _block(
        self, number: int, parts: Sequence[RowRange], columns: Sequence[DataField], schema: pa.Schema
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Some rows of a block, each range of neighbours as a batch."""
        first = int(self._firsts[number])
        with reading(self._where), damaged(self._where):
            packed = self._bytes(int(self._starts[number]), int(self._packed[number]))
            data = _unpacked(packed, int(self._sizes[number]))
            starts = _row_starts(data, self.row_groups[number].row_count)
        wanted = {column.name for column in columns}
        for start, end in parts:
            with reading(self._where), damaged(self._where):
                found = decode_rows(data, starts[start - first : end - first], self._fields, wanted)
                arrays = [
                    conform(found[field.name], field.type) if field.name in found else pa.nulls(end - start, field.type)
                    for field in schema
                ]
                for array in arrays:
                    array.validate(full=True)
                batch = batch_of(arrays, schema, end - start)
            yield start, batch

    def _bytes(self, start: int, length: int) -> bytes:
        self._source.seek(start)
        found = bytes(self._source.read(length))
        if len(found) != length:
            raise ValueError("it ends early")
        return found


def _unpacked(packed: bytes, size: int) -> Bytes:
    data = pa.Codec("zstd").decompress(packed, decompressed_size=size)
    return np.frombuffer(data, np.uint8)


def _row_starts(data: Bytes, rows: int) -> Longs:
    count = int(np.frombuffer(data, "<i4", 1, len(data) - 4)[0])
    if count != rows or len(data) < 4 * (rows + 1):
        raise ValueError(f"a block has {count} rows, and the index says {rows}")
    return np.frombuffer(data, "<i4", rows, len(data) - 4 * (rows + 1)).astype(np.int64)


def _index(data: bytes) -> tuple[Longs, Longs, Longs]:
    """Sizes of the blocks, compressed and not, and the numbers of their first rows."""
    place, found = 0, []
    for _ in range(3):
        length, shift = 0, 0
        while True:
            byte = data[place]
            place, length, shift = place + 1, length | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                break
            if shift > 28:
                raise ValueError("a length of its index is no number")
        if length > len(data) - place:
            raise ValueError("its index ends early")
        found.append(_deltas(np.frombuffer(data, np.uint8, length, place)))
        place += length
    if place != len(data):
        raise ValueError("its index has more than three parts")
    return found[0], found[1], found[2]


def _deltas(data: Bytes) -> Longs:
    """Numbers of which each is told by its distance from the one before (Java: DeltaVarintCompressor)."""
    if not len(data):
        return np.empty(0, np.int64)
    ends = np.flatnonzero(data < 0x80)
    if not len(ends) or int(ends[-1]) != len(data) - 1:
        raise ValueError("a number of its index breaks off")
    starts = np.concatenate([[0], ends[:-1] + 1])
    if int((ends - starts).max()) > 9:
        raise ValueError("a number of its index is too long")
    number = np.arange(len(data)) - np.repeat(starts, ends - starts + 1)
    parts = (data.astype(np.uint64) & np.uint64(0x7F)) << (number.astype(np.uint64) * np.uint64(7))
    zigzag = np.bitwise_or.reduceat(parts, starts)
    deltas = (zigzag >> np.uint64(1)).astype(np.int64) ^ -(zigzag & np.uint64(1)).astype(np.int64)
    return np.cumsum(deltas)


def _delta_bytes(numbers: Sequence[int]) -> bytes:
    out, before = bytearray(), 0
    for number in numbers:
        delta, before = number - before, number
        zigzag = (delta << 1 ^ delta >> 63) & (1 << 64) - 1
        while zigzag > 0x7F:
            out.append(zigzag & 0x7F | 0x80)
            zigzag >>= 7
        out.append(zigzag)
    return bytes(out)


def _with_length(data: bytes) -> bytes:
    out, length = bytearray(), len(data)
    while length > 0x7F:
        out.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([*out, length]) + data


class RowWriter:
    """One file being written (see ``file_access.FileWriter``)."""

    def __init__(self, sink: Any, fields: Sequence[DataField], settings: WriteSettings) -> None:
        self._sink, self._fields = sink, tuple(fields)
        self._codec = pa.Codec("zstd", compression_level=settings.zstd_level)
        self._block_size = settings.block_size or BLOCK_BYTES
        self._collector = StatsCollector(fields)
        self._waiting: list[tuple[Bytes, Longs]] = []
        self._size = self._rows = 0
        self._blocks: list[tuple[int, int, int]] = []

    @property
    def bytes_estimate(self) -> int:
        return int(self._sink.tell()) + self._size // 2

    def write(self, batch: pa.RecordBatch) -> None:
        self._collector.add(batch)
        found = encode_rows(batch, self._fields)
        sizes = np.cumsum(found.lengths + 4)
        start, begun = 0, 0
        while start < len(sizes):  # a block ends with the row that makes it large enough, as in Java
            full = self._block_size - 4 - self._size
            end = min(max(int(np.searchsorted(sizes, begun + full)), start) + 1, len(sizes))
            lengths = found.lengths[start:end]
            first = int(sizes[start - 1] - 4 * start) if start else 0
            self._waiting.append((found.data[first : first + int(lengths.sum())], lengths))
            self._size += int(sizes[end - 1]) - begun
            start, begun = end, int(sizes[end - 1])
            if self._size + 4 >= self._block_size:
                self._flush()

    def close(self) -> None:
        self._flush()
        start = self._sink.tell()
        parts = zip(*self._blocks, strict=True) if self._blocks else ((), (), ())
        index = b"".join(_with_length(_delta_bytes(part)) for part in parts)
        self._sink.write(index)
        self._sink.write(FOOTER.pack(self._rows, len(self._blocks), start, len(index), VERSION, MAGIC))

    def stats(self) -> Mapping[str, ColumnStats]:
        return self._collector.result()

    def _flush(self) -> None:
        if not self._waiting:
            return
        data = np.concatenate([part for part, _ in self._waiting])
        lengths = np.concatenate([part for _, part in self._waiting])
        starts = (np.cumsum(lengths) - lengths).astype("<i4")
        block = data.tobytes() + starts.tobytes() + struct.pack("<i", len(lengths))
        packed = self._codec.compress(block, asbytes=True)
        self._sink.write(packed)
        self._blocks.append((len(packed), len(block), self._rows))
        self._rows += len(lengths)
        self._waiting, self._size = [], 0
