"""What is special about parquet: physical types and ids as Java writes them, INT96, footers, files of other writers."""

from __future__ import annotations

import gc
import io
import re
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from support.draws.typed_batches import NANOS_1677, NANOS_2262, batches, rows_of
from support.long_runs import examples
from support.tables.golden_tables import GoldenTable

from paimon_spark.arrow.conform import INT96, decode_int96, encode_int96
from paimon_spark.arrow.formats.data_file import WriteSettings, open_reader, open_writer
from paimon_spark.arrow.formats.parquet_writer import footer_of
from paimon_spark.arrow.parquet.footer_rewrites import fixed_to_int96, int96_to_fixed
from paimon_spark.arrow.parquet.thrift_compact import decode_struct, encode_struct
from paimon_spark.arrow.statistics.column_stats import ColumnStats
from paimon_spark.arrow.types import arrow_schema, from_internal
from paimon_spark.errors import DataError
from paimon_spark.format.schema import decode_schema
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root

INT = DataType(Root.INT)
STRING = DataType(Root.VARCHAR, length=MAX_LENGTH)
TS3, TS6, TS9 = (DataType(Root.TIMESTAMP, precision=p) for p in (3, 6, 9))
LTZ9 = DataType(Root.TIMESTAMP_LTZ, precision=9)


def fields_of(*types: DataType) -> tuple[DataField, ...]:
    return tuple(DataField(i, f"c{i}", t) for i, t in enumerate(types))


def batch_of(fields: tuple[DataField, ...], *columns: list[Any]) -> pa.RecordBatch:
    arrays = [from_internal(column, field.type) for column, field in zip(columns, fields, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(fields))


def written(fields: tuple[DataField, ...], batch: pa.RecordBatch, **settings: Any) -> bytes:
    sink = io.BytesIO()
    writer = open_writer(sink, "parquet", fields, WriteSettings(**settings))
    writer.write(batch)
    writer.close()
    return sink.getvalue()


def stored(table: pa.Table, **options: Any) -> bytes:
    """A file of another writer."""
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def read(data: bytes, fields: tuple[DataField, ...]) -> pa.Table:
    reader = open_reader(pa.BufferReader(data), "parquet", "data-1.parquet")
    return pa.Table.from_batches([batch for _, batch in reader.read(fields, 100)], arrow_schema(fields))


def parquet_schema_text(data: bytes) -> list[str]:
    """The schema without the root's name and without the old annotation of map entries, which nobody reads."""
    lines = str(pq.ParquetFile(io.BytesIO(data)).schema).splitlines()[2:]
    return [re.sub(r"key_value \(Map\)", "key_value", line) for line in lines]


def test_the_schema_is_the_one_java_writes(tmp_path: Path) -> None:
    """Names, nullability, physical and logical types, field ids at every depth (format section 7.3)."""
    table = GoldenTable("java-2.1", "types_parquet").unpack(tmp_path)
    (path,) = table.glob("bucket-0/*.parquet")
    fields = decode_schema((table / "schema" / "schema-0").read_bytes(), "schema-0").fields
    empty = arrow_schema(fields).empty_table().to_batches()
    ours = written(fields, empty[0] if empty else batch_of(fields, *([] for _ in fields)))
    assert parquet_schema_text(ours) == parquet_schema_text(path.read_bytes())


@settings(max_examples=examples(40))
@given(batches())
def test_footers_decode_and_encode_back(data: tuple[Any, pa.RecordBatch]) -> None:
    footer = footer_of(written(*data, row_group_rows=4))
    assert encode_struct(decode_struct(footer)) == footer
    assert fixed_to_int96(int96_to_fixed(footer)) == footer


@pytest.mark.parametrize("count", [0, 1, 14, 15, 16, 200])
def test_footers_with_many_row_groups(count: int) -> None:
    fields = fields_of(INT, TS9)
    file = written(fields, batch_of(fields, list(range(count)), list(range(count))), row_group_rows=1)
    footer = footer_of(file)
    assert encode_struct(decode_struct(footer)) == footer
    assert pq.read_metadata(io.BytesIO(file)).num_row_groups == count
    assert read(file, fields)["c0"].to_pylist() == list(range(count))


def test_only_columns_of_precision_above_6_are_int96() -> None:
    """Java 0.9 refuses INT96 for other precisions, and INT64 for these."""
    fields = fields_of(TS3, TS9, TS6, DataType(Root.ARRAY, element=LTZ9), DataType(Root.BINARY, length=12))
    batch = batch_of(fields, [10**6], [-1], [10**3], [[5, None, -(10**18)]], [b"0123456789ab"])
    file = written(fields, batch)
    columns = pq.ParquetFile(io.BytesIO(file)).schema
    kinds = [columns.column(i).physical_type for i in range(5)]
    assert kinds == ["INT64", "INT96", "INT64", "INT96", "BYTE_ARRAY"]
    chunk = pq.read_metadata(io.BytesIO(file)).row_group(0).column(1)
    assert (chunk.physical_type, chunk.is_stats_set) == ("INT96", False)
    assert rows_of(read(file, fields)) == rows_of(batch)
    assert pq.read_table(io.BytesIO(file))["c1"].cast(pa.int64()).to_pylist() == [-1]


def test_decimals_are_int32_int64_and_fixed() -> None:
    types = [DataType(Root.DECIMAL, precision=p, scale=2) for p in (9, 10, 18, 19, 28, 38)]
    fields = fields_of(*types)
    file = written(fields, batch_of(fields, *([Decimal("1.25")] * 200 for _ in types)), dictionary=True)
    chunks = [pq.read_metadata(io.BytesIO(file)).row_group(0).column(i) for i in range(6)]
    assert [chunk.physical_type for chunk in chunks] == ["INT32", "INT64", "INT64", *["FIXED_LEN_BYTE_ARRAY"] * 3]
    assert [chunk.has_dictionary_page for chunk in chunks] == [True] * 3 + [False] * 3  # Java 0.9 fails on these
    assert read(file, fields)["c4"].to_pylist() == [Decimal("1.25")] * 200


def test_dictionaries_only_where_values_repeat() -> None:
    rows = 20_000
    random = np.random.default_rng(5)
    columns = {
        "id": pa.array(np.arange(rows)),
        "name": pa.array([f"{n:x}" for n in random.integers(0, 2**60, rows)]),
        "city": pa.array([f"city {n}" for n in random.integers(0, 50, rows)]),
        "tags": pa.array([[f"tag {n % 5}"] for n in range(rows)], pa.list_(pa.field("element", pa.string()))),
        "sorted": pa.array([f"{n // 10_000}{n:x}" for n in range(rows)]),
    }
    types = [DataType(Root.BIGINT), STRING, STRING, DataType(Root.ARRAY, element=STRING), STRING]
    fields = tuple(DataField(i, name, t) for i, (name, t) in enumerate(zip(columns, types, strict=True)))
    batch = pa.RecordBatch.from_arrays(list(columns.values()), schema=arrow_schema(fields))
    for wanted, chosen in ((None, {"city", "tags.list.element"}), (False, set())):
        metadata = pq.read_metadata(io.BytesIO(written(fields, batch, dictionary=wanted)))
        chunks = [metadata.row_group(0).column(i) for i in range(metadata.num_columns)]
        assert {chunk.path_in_schema for chunk in chunks if chunk.has_dictionary_page} == chosen


@pytest.mark.parametrize("rows", [2_000, 100_000])
def test_a_dictionary_has_at_most_a_quarter_as_many_values_as_there_are_rows(rows: int) -> None:
    """Of a sample of 100,000 rows most of 15,000 values are there once: they are still few."""
    random = np.random.default_rng(6)
    few, many = rows * 15 // 100, rows * 6 // 10
    columns = {
        "few": pa.array(random.integers(0, few, rows)),
        "many": pa.array(random.integers(0, many, rows)),
        "few doubles": pa.array(random.integers(0, few, rows) / 7),
        "half of them one": pa.array(np.where(random.random(rows) < 0.5, 0, random.integers(0, 2**60, rows))),
        "long": pa.array([f"{n:0300}" for n in random.integers(0, few, rows).tolist()]),
    }
    types = [DataType(Root.BIGINT), DataType(Root.BIGINT), DataType(Root.DOUBLE), DataType(Root.BIGINT), STRING]
    fields = tuple(DataField(i, name, t) for i, (name, t) in enumerate(zip(columns, types, strict=True)))
    file = written(fields, pa.RecordBatch.from_arrays(list(columns.values()), schema=arrow_schema(fields)))
    metadata = pq.read_metadata(io.BytesIO(file))
    chunks = [metadata.row_group(0).column(i) for i in range(metadata.num_columns)]
    long = {"long"} if few * 300 < 2**20 else set()  # a dictionary of more bytes is given up halfway
    assert {chunk.path_in_schema for chunk in chunks if chunk.has_dictionary_page} == {"few", "few doubles"} | long


def test_doubles_of_a_dictionary_keep_their_bits() -> None:
    values = np.array([0.0, -0.0, np.inf, -np.inf, 5e-324, -5e-324, 1.5])
    nans = np.array([0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000000001], np.uint64).view(np.float64)
    column = np.random.default_rng(7).choice(np.concatenate([values, nans]), 10_000)
    fields = fields_of(DataType(Root.DOUBLE))
    file = written(fields, pa.RecordBatch.from_arrays([pa.array(column)], schema=arrow_schema(fields)))
    assert pq.read_metadata(io.BytesIO(file)).row_group(0).column(0).has_dictionary_page
    found = read(file, fields)["c0"].to_numpy()
    assert found.view(np.uint64).tolist() == column.view(np.uint64).tolist()


def test_row_groups_have_the_wanted_rows_or_fewer_if_big() -> None:
    fields = fields_of(STRING)
    batch = batch_of(fields, ["x" * 1000] * 1000)
    rows = [
        pq.read_metadata(io.BytesIO(written(fields, batch, row_group_rows=300))).row_group(i).num_rows for i in range(4)
    ]
    assert rows == [300, 300, 300, 100]
    sink = io.BytesIO()
    writer = open_writer(sink, "parquet", fields, WriteSettings(block_size=100_000))
    for start in range(0, 1000, 100):
        writer.write(batch.slice(start, 100))
    writer.close()
    assert pq.read_metadata(io.BytesIO(sink.getvalue())).num_row_groups == 10


def test_int96_values() -> None:
    nanos = [NANOS_1677, NANOS_2262, 0, -1, 1, 86_400 * 10**9, -86_400 * 10**9, -86_400 * 10**9 - 1, None]
    array = pa.array(nanos, pa.timestamp("ns"))
    encoded = encode_int96(array)
    assert encoded.type == INT96
    assert encoded[3].as_py() == (86_400 * 10**9 - 1).to_bytes(8, "little") + (2440587).to_bytes(4, "little")
    assert decode_int96(encoded, pa.timestamp("ns")).equals(array)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_int96_of_java_before_1970_has_negative_nanoseconds(unit: str) -> None:
    """-1.5 s as Java writes it: the day of the epoch, nanoseconds of the day -1.5e9."""
    raw = (-1_500_000_000).to_bytes(8, "little", signed=True) + (2440588).to_bytes(4, "little")
    per_second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    found = decode_int96(pa.array([raw, None], INT96), pa.timestamp(unit, "UTC"))
    assert found.cast(pa.int64()).to_pylist() == [-3 * per_second // 2, None]


def test_int96_far_away_is_read_in_microseconds_and_refused_in_nanoseconds() -> None:
    year_9999 = pa.array([253402300799999999, -62135596800000000, None], pa.timestamp("us"))
    file = stored(pa.table({"c0": year_9999}), use_deprecated_int96_timestamps=True)
    assert read(file, fields_of(TS6))["c0"].chunk(0).equals(year_9999)
    with pytest.raises(DataError, match=r"'c0'.*data-1.parquet.*outside the range"):
        read(file, fields_of(TS9))
    assert encode_int96(year_9999).type == INT96


@pytest.mark.parametrize("field_type", [TS3, TS6, TS9, LTZ9])
def test_timestamps_in_other_units_and_as_int96(field_type: DataType) -> None:
    values = [-1_000_000, 0, 1_700_000_000_123_000_000, None]  # whole milliseconds
    expected = from_internal(values, field_type)
    for unit, options in (("ms", {}), ("us", {}), ("ns", {}), ("us", {"use_deprecated_int96_timestamps": True})):
        column = pa.array(values, pa.timestamp("ns")).cast(pa.timestamp(unit))
        file = stored(pa.table({"c0": column}), **options)
        assert read(file, fields_of(field_type))["c0"].chunk(0).equals(expected)


def test_finer_units_than_the_precision_are_cut_towards_the_past() -> None:
    file = stored(pa.table({"c0": pa.array([-1, 1, -1_000_001, 1_999_999], pa.timestamp("ns"))}))
    assert read(file, fields_of(TS3))["c0"].cast(pa.int64()).to_pylist() == [-1, 0, -2, 1]


def test_types_of_other_writers() -> None:
    """Large, dictionary and view texts, 64-bit times, wide decimals: what pyarrow users write."""
    table = pa.table(
        {
            "c0": pa.array(["a", None, "é"], pa.large_string()),
            "c1": pa.array(["x", "x", None]).dictionary_encode(),
            "c2": pa.array([1_500, None, 86_399_999_000], pa.time64("us")),
            "c3": pa.array([Decimal("1.5"), None, Decimal("-2.25")], pa.decimal128(9, 2)),
            "c4": pa.array([[1], None, []], pa.large_list(pa.int64())),
            "c5": pa.array([b"\0", None, b""], pa.large_binary()),
        }
    )
    decimal = DataType(Root.DECIMAL, precision=20, scale=2)
    array = DataType(Root.ARRAY, element=DataType(Root.BIGINT))
    fields = fields_of(STRING, STRING, DataType(Root.TIME, precision=3), decimal, array, DataType(Root.VARBINARY))
    assert rows_of(read(stored(table), fields)) == [
        ["a", "x", 1, Decimal("1.50"), [1], b"\0"],
        [None, "x", None, None, None, None],
        ["é", None, 86_399_999, Decimal("-2.25"), [], b""],
    ]


def test_a_field_of_a_row_that_the_file_lacks_is_null() -> None:
    file = stored(
        pa.table({"c0": pa.array([{"b": 1, "z": 9}, None], pa.struct([("b", pa.int32()), ("z", pa.int32())]))})
    )
    row = DataType(Root.ROW, fields=(DataField(5, "a", STRING), DataField(6, "b", INT)))
    assert rows_of(read(file, fields_of(row))) == [[[None, 1]], [None]]


def test_names_with_dots_are_not_paths() -> None:
    nested = pa.array([{"b": 1}], pa.struct([("b", pa.int32())]))
    file = stored(pa.table({"a": nested, "a.b": pa.array([2], pa.int32()), "a.b.c": pa.array([3], pa.int32())}))
    fields = tuple(DataField(i, name, INT) for i, name in enumerate(["a.b", "a.b.c"]))
    assert rows_of(read(file, fields)) == [[2, 3]]


def test_the_names_of_the_columns_are_made_once() -> None:
    """A read of 10,000 columns looks for each of them."""
    reader = open_reader(pa.BufferReader(stored(pa.table({"a": [1]}))), "parquet", "data-1.parquet")
    assert reader.names is reader.names


def test_a_null_of_a_not_null_field_is_refused() -> None:
    row = DataType(Root.ROW, fields=(DataField(5, "a", INT.with_nullable(False)),))
    fields = fields_of(DataType(Root.ARRAY, element=row))
    batch = batch_of(fields, [[(1,), None, (None,)]])
    with pytest.raises(DataError, match=r"'c0'.*NOT NULL field 'a'"):
        written(fields, batch)
    fine = batch_of(fields, [[(1,), None], None])
    assert rows_of(read(written(fields, fine), fields)) == rows_of(fine)


def test_stats_of_row_groups() -> None:
    types = (INT, STRING, DataType(Root.DECIMAL, precision=38, scale=10), TS3, LTZ9, DataType(Root.DATE),
             DataType(Root.BOOLEAN), DataType(Root.ARRAY, element=INT), DataType(Root.TIME), TS6)  # fmt: skip
    fields = fields_of(*types)
    big = Decimal("1234567890123456789012345678.0123456789")
    batch = batch_of(
        fields, [1, None, 7, 5], ["a", "ba", None, None], [big, -big, None, None], [0, -(10**6), 10**6, None],
        [1, 2, 3, 4], [-1, None, 5, 5], [True, True, False, None], [[1], None, [], None], [0, 86_399_999, 5, 5],
        [-1000, 1000, None, None],
    )  # fmt: skip
    reader = open_reader(pa.BufferReader(written(fields, batch, row_group_rows=2)), "parquet", "data-1.parquet")
    first, second = reader.row_groups
    assert [first.stats(f.name) for f in fields] == [
        ColumnStats(1, 1, 1), ColumnStats("a", "ba", 0), ColumnStats(-big, big, 0), ColumnStats(-(10**6), 0, 0), None,
        ColumnStats(-1, -1, 1), ColumnStats(True, True, 0), None, ColumnStats(0, 86_399_999, 0),
        ColumnStats(-1000, 1000, 0),
    ]  # fmt: skip
    assert second.stats("c1") == ColumnStats(None, None, 2)
    assert second.stats("absent") is None


def test_stats_of_floats_do_not_hide_a_nan() -> None:
    """Arrow leaves NaN, the greatest value, out of the bounds, so a maximum proves nothing."""
    fields = fields_of(DataType(Root.DOUBLE), DataType(Root.FLOAT))
    file = written(fields, batch_of(fields, [1.5, float("nan")], [2.5, 0.5]))
    (group,) = open_reader(pa.BufferReader(file), "parquet", "data-1.parquet").row_groups
    assert group.stats("c0") == ColumnStats(1.5, None, 0)
    assert group.stats("c1") == ColumnStats(0.5, None, 0)


def test_stats_of_java_files_with_nan(tmp_path: Path) -> None:
    table = GoldenTable("java-2.1", "types_parquet").unpack(tmp_path)
    (path,) = table.glob("bucket-0/*.parquet")
    (group,) = open_reader(pa.OSFile(str(path)), "parquet", str(path)).row_groups
    assert group.stats("f_float") == ColumnStats(None, None, 1)
    assert group.stats("f_double") == ColumnStats(float("-inf"), -2.5e100, 1)


def test_a_file_given_up_makes_no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sink is closed by then; pyarrow's writer would still try to end the file when it is collected."""
    noise: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", noise.append)
    fields = fields_of(INT)
    for types in (fields, fields_of(TS9)):
        sink = io.BytesIO()
        writer = open_writer(sink, "parquet", types, WriteSettings(row_group_rows=2))
        writer.write(batch_of(types, [1, 2, 3]))
        sink.close()
        del writer
        gc.collect()
    assert noise == []
