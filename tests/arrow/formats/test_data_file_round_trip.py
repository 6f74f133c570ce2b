"""What is written to a data file comes back: every type, nested and null, every format, any cut of batches."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.draws.typed_batches import Limits, batches, rows_of

from paimon_spark.arrow.formats.data_file import WriteSettings, open_reader, open_writer
from paimon_spark.arrow.types import arrow_schema, from_internal
from paimon_spark.errors import CorruptFile, DataError, OptionError, UnsupportedFeature
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField, DataType, Root

FORMATS = ("parquet", "orc", "avro")
EXAMPLES = settings(max_examples=30, deadline=None)
INT = DataType(Root.INT)


def written(fields: Any, parts: list[pa.RecordBatch], file_format: str, **options: Any) -> bytes:
    sink = io.BytesIO()
    writer = open_writer(sink, file_format, fields, WriteSettings(**options))
    for part in parts:
        writer.write(part)
    writer.close()
    assert not sink.closed
    return sink.getvalue()


def read(data: bytes, fields: Any, file_format: str, batch_rows: int, groups: list[int] | None = None) -> pa.Table:
    reader = open_reader(pa.BufferReader(data), file_format, "a file", fields=lambda: fields)
    schema = arrow_schema(fields)
    found = []
    for _, batch in reader.read(fields, batch_rows, groups):
        batch.validate(full=True)
        assert batch.schema.equals(schema)
        assert 0 < batch.num_rows <= batch_rows
        found.append(batch)
    return pa.Table.from_batches(found, schema)


@EXAMPLES
@given(batches(Limits(variants=True, vectors=True)), st.integers(1, 5), st.integers(1, 5))
def test_parquet(data: tuple[Any, pa.RecordBatch], batch_rows: int, group_rows: int) -> None:
    fields, batch = data
    parts = [batch.slice(start, 3) for start in range(0, batch.num_rows, 3)]
    file = written(fields, parts, "parquet", row_group_rows=group_rows)
    assert rows_of(read(file, fields, "parquet", batch_rows)) == rows_of(batch)


@EXAMPLES
@given(batches(Limits(variants=True, vectors=True)), st.integers(1, 5), st.integers(1, 200))
def test_row(data: tuple[Any, pa.RecordBatch], batch_rows: int, block_size: int) -> None:
    fields, batch = data
    parts = [batch.slice(start, 3) for start in range(0, batch.num_rows, 3)]
    file = written(fields, parts, "row", block_size=block_size)
    assert rows_of(read(file, fields, "row", batch_rows)) == rows_of(batch)
    half = fields[len(fields) // 2 :]
    reader = open_reader(pa.BufferReader(file), "row", "a file", fields=lambda: fields)
    chosen = sorted({0, batch.num_rows - 1}) if batch.num_rows else []
    some = [found for _, found in reader.read(half, batch_rows, rows=[(row, row + 1) for row in chosen])]
    wanted = batch.select([field.name for field in half]).take(pa.array(chosen, pa.int64()))
    assert rows_of(pa.Table.from_batches(some, arrow_schema(half))) == rows_of(wanted)


def test_the_first_and_the_last_nanosecond_of_row_files() -> None:
    """A file has milliseconds and a rest, and the milliseconds of the first nanosecond begin before it."""
    fields = (DataField(0, "t", parse_type("TIMESTAMP(9)")),)
    numbers = [-(2**63), -(2**63) + 1, -(2**63) + 2_000_000, -1, 0, 1, 2**63 - 1_000_000, 2**63 - 1]
    column = pa.array(numbers, pa.int64()).cast(arrow_schema(fields).field("t").type)
    batch = pa.RecordBatch.from_arrays([column], schema=arrow_schema(fields))
    found = read(written(fields, [batch], "row"), fields, "row", 3)
    assert found.column("t").cast(pa.int64()).to_pylist() == numbers


@EXAMPLES
@given(batches(Limits(old_fractions=False)), st.integers(1, 5))
def test_orc(data: tuple[Any, pa.RecordBatch], batch_rows: int) -> None:
    fields, batch = data
    parts = [batch.slice(start, 3) for start in range(0, batch.num_rows, 3)]
    assert rows_of(read(written(fields, parts, "orc"), fields, "orc", batch_rows)) == rows_of(batch)


@EXAMPLES
@given(batches(Limits(timestamp_digits=6, time_digits=3, vectors=True)), st.integers(1, 5))
def test_avro(data: tuple[Any, pa.RecordBatch], batch_rows: int) -> None:
    fields, batch = data
    parts = [batch.slice(start, 3) for start in range(0, batch.num_rows, 3)]
    assert rows_of(read(written(fields, parts, "avro"), fields, "avro", batch_rows)) == rows_of(batch)


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("rows", [0, 1])
def test_very_few_rows(file_format: str, rows: int) -> None:
    fields = (DataField(0, "k", INT.with_nullable(False)), DataField(1, "s", DataType(Root.VARCHAR, length=3)))
    batch = pa.record_batch(
        [pa.array([7] * rows, pa.int32()), pa.array([None] * rows, pa.string())], arrow_schema(fields)
    )
    file = written(fields, [batch] if rows else [], file_format)
    reader = open_reader(pa.BufferReader(file), file_format, "a file")
    assert (reader.names, reader.row_count) == (("k", "s"), rows)
    assert rows_of(read(file, fields, file_format, 10)) == [[7, None]] * rows


COMPRESSIONS = {
    "parquet": ["zstd", "snappy", "lz4", "gzip", "none", "brotli", "ZSTD"],
    "orc": ["zstd", "snappy", "lz4", "zlib", "none"],
    "avro": ["zstd", "snappy", "deflate", "none"],
}


@pytest.mark.parametrize(("file_format", "name"), [(f, c) for f, names in COMPRESSIONS.items() for c in names])
def test_compressions(file_format: str, name: str) -> None:
    fields = (DataField(0, "s", DataType(Root.VARCHAR, length=99)),)
    batch = pa.record_batch([pa.array([f"value {i % 7}" for i in range(5000)])], arrow_schema(fields))
    file = written(fields, [batch], file_format, compression=name)
    assert read(file, fields, file_format, 999).column(0).to_pylist() == batch.column(0).to_pylist()
    plain = written(fields, [batch], file_format, compression="none")
    smaller = name != "none" and (file_format, name) != ("orc", "lz4")  # which gives up early in Arrow
    assert (len(file) < len(plain)) == smaller


@pytest.mark.parametrize("file_format", FORMATS)
def test_unknown_compression_is_refused_by_name(file_format: str) -> None:
    with pytest.raises(OptionError, match="lzma2"):
        open_writer(io.BytesIO(), file_format, (DataField(0, "a", INT),), WriteSettings(compression="lzma2"))


def test_unknown_format_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedFeature, match="'csv'"):
        open_reader(pa.BufferReader(b""), "csv", "data-1.csv")
    with pytest.raises(UnsupportedFeature, match="'csv'"):
        open_writer(io.BytesIO(), "csv", (), WriteSettings())


@pytest.mark.parametrize("root", [Root.GEOMETRY, Root.GEOGRAPHY])
@pytest.mark.parametrize("file_format", FORMATS)
def test_types_that_are_not_supported_are_refused_by_name(root: Root, file_format: str) -> None:
    field = DataField(0, "thing", DataType(Root.ARRAY, element=DataType(root, element=DataType(Root.FLOAT), length=3)))
    with pytest.raises(UnsupportedFeature, match=f"'thing'.*{root}"):
        open_writer(io.BytesIO(), file_format, (field,), WriteSettings())


def test_vectors_are_not_in_orc() -> None:
    """Java: FieldWriterFactory."""
    field = DataField(0, "thing", DataType(Root.VECTOR, element=DataType(Root.FLOAT), length=3))
    with pytest.raises(UnsupportedFeature, match=r"VECTOR: use the file\.format parquet"):
        open_writer(io.BytesIO(), "orc", (field,), WriteSettings())


@pytest.mark.parametrize("file_format", ["parquet", "avro"])
@pytest.mark.parametrize(
    ("stored", "found"),
    [([[1.0, 2.0], [3.0]], "of 1 elements"), ([[1.0, None]], "is null"), ([[], [1.0, 2.0]], "of 0")],
)
def test_lists_that_are_no_vectors_are_damage(stored: list[Any], found: str, file_format: str) -> None:
    lists = (DataField(0, "v", DataType(Root.ARRAY, element=DataType(Root.FLOAT))),)
    batch = pa.record_batch([pa.array(stored, arrow_schema(lists).field(0).type)], schema=arrow_schema(lists))
    vectors = (DataField(0, "v", DataType(Root.VECTOR, element=DataType(Root.FLOAT), length=2)),)
    with pytest.raises((DataError, CorruptFile), match=rf"column 'v' of data file a file.*{found}"):
        read(written(lists, [batch], file_format), vectors, file_format, 10)


@pytest.mark.parametrize("file_format", ["orc", "avro"])
def test_variants_are_in_parquet_alone(file_format: str) -> None:
    field = DataField(0, "thing", DataType(Root.ARRAY, element=DataType(Root.VARIANT)))
    with pytest.raises(UnsupportedFeature, match=r"VARIANT: use the file\.format parquet"):
        open_writer(io.BytesIO(), file_format, (field,), WriteSettings())


@pytest.mark.parametrize("file_format", FORMATS)
def test_positions_with_row_groups_left_out(file_format: str) -> None:
    """Deletion vectors name physical rows, so positions must not shift when row groups are skipped."""
    fields = (DataField(0, "n", DataType(Root.BIGINT)),)
    rows = 400_000
    batch = pa.record_batch([pa.array(np.random.default_rng(0).permutation(rows))], arrow_schema(fields))
    parts = [batch.slice(start, 20_000) for start in range(0, rows, 20_000)]
    file = written(
        fields, parts, file_format, row_group_rows=50_000, block_size=2**17 if file_format == "orc" else None
    )
    reader = open_reader(pa.BufferReader(file), file_format, "a file")
    groups = reader.row_groups
    assert [g.first_row for g in groups] == list(np.cumsum([0, *(g.row_count for g in groups)])[:-1])
    assert len(groups) > 3 or file_format == "avro"
    chosen = [i for i in range(len(groups)) if i % 3 != 1]
    expected = [n for i in chosen for n in range(groups[i].first_row, groups[i].first_row + groups[i].row_count)]
    seen: list[int] = []
    for first, part in reader.read(fields, 8192, chosen):
        assert part.column(0).equals(batch.column(0).slice(first, part.num_rows))
        seen += range(first, first + part.num_rows)
    assert seen == expected
    assert list(reader.read(fields, 8192, [])) == []


@pytest.mark.parametrize("file_format", FORMATS)
def test_the_estimate_of_bytes_follows_the_file(file_format: str) -> None:
    fields = (DataField(0, "n", DataType(Root.BIGINT)), DataField(1, "s", DataType(Root.VARCHAR, length=99)))
    random = np.random.default_rng(1)
    sink = io.BytesIO()
    writer = open_writer(sink, file_format, fields, WriteSettings(row_group_rows=10_000))
    for _ in range(12):
        numbers = random.integers(0, 2**62, 4000)
        writer.write(pa.record_batch([numbers, pa.array(map(str, numbers))], schema=arrow_schema(fields)))
    estimate = writer.bytes_estimate
    writer.close()
    assert 0.5 < estimate / len(sink.getvalue()) < 2


@pytest.mark.parametrize("file_format", FORMATS)
def test_stats_of_the_written_file(file_format: str) -> None:
    types = [
        INT, DataType(Root.DOUBLE), DataType(Root.DOUBLE), DataType(Root.FLOAT), DataType(Root.VARCHAR, length=9),
        DataType(Root.DECIMAL, precision=20, scale=2), DataType(Root.TIMESTAMP, precision=3),
        DataType(Root.ARRAY, element=INT), INT, DataType(Root.BOOLEAN), DataType(Root.VARBINARY, length=9),
    ]  # fmt: skip
    columns = [
        [3, None, -7, 5], [1.5, -2.5, None, 0.0], [1.0, float("nan"), 2.0, None], [0.0, 0.0, None, 0.0],
        ["ba\0", "ba", None, "é"], [None, 5, -3, 10**17], [10**6, -(10**6), None, 0], [[1], None, [], [2]],
        [None] * 4, [True, None, True, True], [b"\xff", b"", None, b"\0"],
    ]  # fmt: skip
    fields = tuple(DataField(i, f"c{i}", t) for i, t in enumerate(types))
    arrays = [from_internal(c, t) for c, t in zip(columns, types, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(fields))
    writer = open_writer(io.BytesIO(), file_format, fields, WriteSettings(row_group_rows=2))
    writer.write(batch.slice(0, 2))
    writer.write(batch.slice(2))
    writer.close()
    stats = writer.stats()
    assert {n: (str(s.minimum), str(s.maximum), s.null_count) for n, s in stats.items()} == {
        "c0": ("-7", "5", 1), "c1": ("-2.5", "1.5", 1), "c2": ("None", "None", 1), "c3": ("-0.0", "0.0", 1),
        "c4": ("ba", "é", 1), "c5": ("-3.00", "100000000000000000.00", 1), "c6": ("-1000000", "1000000", 1),
        "c8": ("None", "None", 4), "c9": ("True", "True", 1), "c10": ("b''", "b'\\xff'", 1),
    }  # fmt: skip
