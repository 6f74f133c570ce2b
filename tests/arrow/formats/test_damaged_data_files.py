"""Data files cut short or with flipped bits: a CorruptFile that names the file, or right rows; never a hang."""

from __future__ import annotations

import io
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.draws.typed_batches import rows_of

from paimon_spark.arrow.formats.data_file import WriteSettings, open_reader, open_writer
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import CorruptFile
from paimon_spark.format.types import DataField, DataType, Root

FORMATS = ("parquet", "orc", "avro", "row")
WHERE = "/lake/t/bucket-0/data-1"
FIELDS = (
    DataField(0, "k", DataType(Root.BIGINT, False)),
    DataField(1, "s", DataType(Root.VARCHAR, length=99)),
    DataField(2, "t", DataType(Root.TIMESTAMP, precision=6)),
    DataField(3, "a", DataType(Root.ARRAY, element=DataType(Root.DOUBLE))),
)
ROWS = 600


def batch() -> pa.RecordBatch:
    numbers = np.random.default_rng(3).integers(0, 10**12, ROWS)
    arrays = [
        pa.array(numbers),
        pa.array([f"text {n % 1000}" if n % 7 else None for n in numbers]),
        pa.array(numbers, pa.timestamp("us")),
        pa.array([[float(n)] * (n % 3) for n in numbers.tolist()], pa.list_(pa.field("element", pa.float64()))),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(FIELDS))


def file_of(file_format: str, compression: str = "zstd") -> bytes:
    sink = io.BytesIO()
    writer = open_writer(sink, file_format, FIELDS, WriteSettings(compression=compression, row_group_rows=200))
    writer.write(batch())
    writer.close()
    return sink.getvalue()


def read_rows(data: Any, file_format: str) -> list[list[Any]]:
    reader = open_reader(data, file_format, WHERE, fields=lambda: FIELDS)
    count = reader.row_count
    for group in reader.row_groups:
        for name in reader.names:
            group.stats(name)
    table = pa.Table.from_batches([part for _, part in reader.read(FIELDS, 100)], arrow_schema(FIELDS))
    table.validate(full=True)
    assert table.num_rows == count
    return rows_of(table)


def rows_or_none(data: bytes, file_format: str) -> list[list[Any]] | None:
    """The rows, or None where they are refused as they should be; any other error is a failure."""
    try:
        return read_rows(pa.BufferReader(data), file_format)
    except CorruptFile as error:
        if WHERE not in str(error):
            raise
        return None


@pytest.mark.parametrize("file_format", FORMATS)
def test_truncated_files(file_format: str) -> None:
    """Avro has no end mark: cut at the end of a block it is a shorter file, which the manifest's row count shows."""
    whole = file_of(file_format)
    expected = rows_of(batch())
    for size in sorted({0, 1, 3, 4, 7, 8, 12, len(whole) - 1, *random.Random(1).sample(range(len(whole)), 40)}):
        rows = rows_or_none(whole[:size], file_format)
        if rows is not None:
            assert file_format == "avro"
            assert rows == expected[: len(rows)]


@pytest.mark.parametrize("compression", ["zstd", "none"])
@pytest.mark.parametrize("file_format", FORMATS)
def test_flipped_bits(file_format: str, compression: str) -> None:
    """Parquet has checksums of pages. ORC and Avro have none: there a bit of the data may only change a value.

    Of ORC only the tail is damaged: Arrow's reader can crash on damaged streams of a stripe.
    """
    whole = file_of(file_format, compression)
    expected = rows_of(batch())
    seed = random.Random(2)
    wrong = 0
    for at in seed.sample(range(len(whole) - 600 if file_format == "orc" else 0, len(whole)), 80):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << seed.randrange(8)
        wrong += rows_or_none(bytes(damaged), file_format) not in (None, expected)
    if file_format == "parquet":
        assert wrong <= 3  # bits of the footer that say something else of the columns


class FailingFile(io.BytesIO):
    """A file object whose storage fails after some reads."""

    reads, good = 0, 2

    def read(self, size: int | None = -1) -> bytes:
        self.reads += 1
        if self.reads > self.good:
            raise ConnectionResetError(104, "connection reset by the store")
        return super().read(size)


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_a_fault_of_the_storage_is_no_corrupt_file(file_format: str) -> None:
    with pytest.raises(OSError, match="connection reset by the store"):
        read_rows(FailingFile(file_of(file_format)), file_format)


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_fault_at_any_read_comes_as_it_is(file_format: str) -> None:
    """A file taken for corrupt is passed over with scan.ignore-corrupt-files, and its rows are missing."""
    whole, failed = file_of(file_format), 0
    for good in range(100):
        source = FailingFile(whole)
        source.good = good
        try:
            read_rows(source, file_format)
        except ConnectionResetError:
            failed += 1
            continue
        break
    assert 0 < failed == good < 99


def test_a_fault_of_the_storage_is_no_corrupt_file_in_avro() -> None:
    source = FailingFile(file_of("avro"))
    source.reads = 2
    with pytest.raises(ConnectionResetError):
        read_rows(source, "avro")


@pytest.mark.parametrize("file_format", FORMATS)
def test_another_format_than_the_name_says(file_format: str) -> None:
    for other in FORMATS:
        if other != file_format:
            with pytest.raises(CorruptFile, match=WHERE):
                read_rows(pa.BufferReader(file_of(other)), file_format)


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_column_of_another_type_than_the_schema_says(file_format: str) -> None:
    reader = open_reader(pa.BufferReader(file_of(file_format)), file_format, WHERE, fields=lambda: FIELDS)
    wanted = (DataField(1, "s", DataType(Root.BIGINT)),)
    with pytest.raises(CorruptFile, match=WHERE):
        list(reader.read(wanted, 100))
