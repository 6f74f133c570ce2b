"""What is special about ORC: timestamps Arrow cannot count, zones, CHAR, stripes, and its run-length codes."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc
from support.draws.typed_batches import rows_of
from support.long_runs import examples

from paimon_spark.arrow.formats.data_file import WriteSettings, open_reader, open_writer
from paimon_spark.arrow.formats.orc_footer import read_tail
from paimon_spark.arrow.formats.orc_timestamps import Runs, nanoseconds
from paimon_spark.arrow.formats.protobuf import decode_message, encode_message
from paimon_spark.arrow.statistics.column_stats import ColumnStats
from paimon_spark.arrow.types import arrow_schema, from_internal
from paimon_spark.errors import CorruptFile, DataError, UnsupportedFeature
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root

INT = DataType(Root.INT)
STRING = DataType(Root.VARCHAR, length=MAX_LENGTH)
TS3, TS6, TS9 = (DataType(Root.TIMESTAMP, precision=p) for p in (3, 6, 9))
LTZ6 = DataType(Root.TIMESTAMP_LTZ, precision=6)
YEAR_9999, YEAR_1 = 253402300799_999_999_000, -62135596800_000_000_000
WHERE = "data-1.orc"


def fields_of(*types: DataType) -> tuple[DataField, ...]:
    return tuple(DataField(i, f"c{i}", t) for i, t in enumerate(types))


def batch_of(fields: tuple[DataField, ...], *columns: list[Any]) -> pa.RecordBatch:
    arrays = [from_internal(column, field.type) for column, field in zip(columns, fields, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(fields))


def written(fields: tuple[DataField, ...], batch: pa.RecordBatch, **settings: Any) -> bytes:
    sink = io.BytesIO()
    writer = open_writer(sink, "orc", fields, WriteSettings(**settings))
    for start in range(0, batch.num_rows, 1000):
        writer.write(batch.slice(start, 1000))
    writer.close()
    return sink.getvalue()


def read(data: bytes, fields: tuple[DataField, ...], groups: list[int] | None = None) -> pa.Table:
    reader = open_reader(pa.BufferReader(data), "orc", WHERE)
    return pa.Table.from_batches([batch for _, batch in reader.read(fields, 700, groups)], arrow_schema(fields))


@pytest.mark.parametrize("compression", ["zstd", "snappy", "zlib", "lz4", "none"])
def test_timestamps_beyond_64_bit_nanoseconds(compression: str) -> None:
    """At any depth, among others, in several stripes and under null structs."""
    row = DataType(Root.ROW, fields=(DataField(10, "t", TS6), DataField(11, "n", INT)))
    fields = fields_of(TS6, LTZ6, DataType(Root.ARRAY, element=TS3), row, INT, TS6)
    random = np.random.default_rng(7)
    rows = 15_000
    far = [None if n % 9 == 0 else int(n) * 1000 for n in random.integers(YEAR_1 // 1000, YEAR_9999 // 1000, rows)]
    far = [t if t is None or t >= 0 else t // 10**6 * 10**6 for t in far]  # what the writer takes
    far[0], far[1] = YEAR_1, YEAR_9999
    millis = [None if t is None else t // 10**6 * 10**6 for t in far]
    lists = [None if n % 5 == 0 else millis[n : n + n % 4] for n in range(rows)]
    structs = [None if n % 6 == 0 else (far[n], n) for n in range(rows)]
    near = [n * 1000 for n in range(rows)]
    batch = batch_of(fields, far, list(reversed(far)), lists, structs, list(range(rows)), near)
    file = written(fields, batch, compression=compression, block_size=50_000)
    tail = read_tail(pa.BufferReader(file))
    assert len(tail.stripes) > 1
    assert rows_of(read(file, fields)) == rows_of(batch)
    second = tail.stripes[0].row_count
    only = read(file, fields, [1])
    assert rows_of(only) == rows_of(batch.slice(second, tail.stripes[1].row_count))


def test_precision_9_beyond_64_bit_nanoseconds_is_an_error_that_names_the_column() -> None:
    file = written(fields_of(TS6), batch_of(fields_of(TS6), [0, YEAR_9999]))
    with pytest.raises(DataError, match=r"'c0'.*data-1.orc"):
        read(file, fields_of(TS9))


def test_timestamps_around_1970() -> None:
    millis = [n * 10**6 for k in (0, 1, 999, 1000, 1001, 2999) for n in (k, -k)]
    fields = fields_of(TS9)
    batch = batch_of(fields, [*millis, 1, 999, 1000, 999_999_999, 10**9 + 1])
    assert rows_of(read(written(fields, batch), fields)) == rows_of(batch)


@pytest.mark.parametrize("nanos", [-1, -1000, -(10**9) - 1, -1_500_001_000])
def test_fractions_of_milliseconds_before_1970_are_refused(nanos: int) -> None:
    """Arrow stores them so that Java fails on the whole file."""
    for t, values in ((TS9, [0, None, nanos]), (DataType(Root.ARRAY, element=TS9), [[None, nanos]])):
        fields = fields_of(INT, t)
        with pytest.raises(UnsupportedFeature, match=r"'c1'.*(1969).*file.format"):
            written(fields, batch_of(fields, [1] * len(values), values))


@pytest.mark.parametrize("nanos", [-1, -1000, -(10**9) - 1, -1_500_001_000, -999_999_999])
def test_fractions_of_milliseconds_before_1970_by_other_writers(nanos: int) -> None:
    sink = io.BytesIO()
    orc.write_table(pa.table({"c0": pa.array([nanos, 0], pa.timestamp("ns"))}), sink)
    assert rows_of(read(sink.getvalue(), fields_of(TS9))) == [[nanos], [0]]
    far = pa.array([nanos // 1000, YEAR_9999 // 1000], pa.timestamp("us"))
    sink = io.BytesIO()
    orc.write_table(pa.table({"c0": far}), sink)
    assert rows_of(read(sink.getvalue(), fields_of(TS6))) == [[nanos // 1000 * 1000], [YEAR_9999]]


def test_char_is_read_without_its_padding_at_any_depth() -> None:
    char = DataType(Root.CHAR, length=4)
    row = DataType(Root.ROW, fields=(DataField(9, "a", char),))
    fields = fields_of(char, STRING, DataType(Root.ARRAY, element=char), DataType(Root.MAP, key=char, element=char),
                       DataType(Root.MULTISET, element=char), row)  # fmt: skip
    padded = [["a   ", "    ", None], ["a ", " ", None], [["b   ", None], [], None], [[("k   ", "v   ")], [], None],
              [[("e   ", 2)], [], None], [("c   ",), (None,), None]]  # fmt: skip
    file = written(fields, batch_of(fields, *padded))
    assert rows_of(read(file, fields)) == [
        ["a", "a ", ["b", None], [["k", "v"]], [["e", 2]], ["c"]],
        ["", " ", [], [], [], [None]],
        [None] * 6,
    ]


def test_ids_and_types_as_java_writes_them() -> None:
    nested = DataType(Root.ARRAY, element=DataType(Root.MAP, key=INT.with_nullable(False), element=STRING))
    fields = (DataField(7, "t", DataType(Root.TIME)), DataField(9, "a", nested))
    schema = orc.ORCFile(io.BytesIO(written(fields, batch_of(fields, [1], [[[(1, "x")]]])))).schema
    assert schema.field("t").type == pa.int32()
    assert schema.field("t").metadata == {b"paimon.id": b"7"}
    element = schema.field("a").type.value_field
    base = 536870911
    assert element.metadata == {b"paimon.id": str(base + 1024 * 9 + 1).encode()}
    assert element.type.key_field.metadata == {b"paimon.id": str(base - 1024 * 9 - 2).encode()}
    assert element.type.item_field.metadata == {b"paimon.id": str(base + 1024 * 9 + 2).encode()}


def test_stats_of_stripes() -> None:
    decimal = DataType(Root.DECIMAL, precision=20, scale=2)
    types = (INT, STRING, decimal, DataType(Root.DATE), DataType(Root.DOUBLE), TS6, DataType(Root.ARRAY, element=INT),
             DataType(Root.BIGINT))  # fmt: skip
    fields = fields_of(*types)
    batch = batch_of(fields, [3, None, -4], ["b", None, "a"], [5, None, -5], [1, None, -1], [1.0, None, 2.0],
                     [0, None, 10**9], [[1], None, []], [2**63 - 1, None, -(2**63)])  # fmt: skip
    reader = open_reader(pa.BufferReader(written(fields, batch)), "orc", WHERE)
    (group,) = reader.row_groups
    assert [group.stats(f.name) for f in fields] == [
        ColumnStats(-4, 3, 1), ColumnStats("a", "b", 1), ColumnStats(Decimal(-5), Decimal(5), 1), ColumnStats(-1, 1, 1),
        ColumnStats(None, None, 1), ColumnStats(None, None, 1), None, ColumnStats(-(2**63), 2**63 - 1, 1),
    ]  # fmt: skip
    assert group.stats("absent") is None


def test_a_tail_encodes_back() -> None:
    fields = fields_of(INT, STRING, TS6)
    tail = read_tail(pa.BufferReader(written(fields, batch_of(fields, [1], ["x"], [0]))))
    assert decode_message(encode_message(tail.footer)) == tail.footer
    assert decode_message(encode_message(tail.postscript)) == tail.postscript


def test_a_tree_of_types_that_loops_is_damage() -> None:
    """The types of a damaged file may name themselves as children."""
    fields = fields_of(DataType(Root.ARRAY, element=INT))
    file = bytearray(written(fields, batch_of(fields, [[1]]), compression="none"))
    at = bytes(file).index(b"\x08\x0a\x12\x01\x02")  # kind 10 (LIST), children [2]
    file[at + 4] = 1
    with pytest.raises(CorruptFile, match="no tree"):
        open_reader(pa.BufferReader(bytes(file)), "orc", WHERE)


def orc_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def bits(values: list[int], width: int) -> bytes:
    number = int("1" + "".join(f"{v:0{width}b}" for v in values), 2) if values else 1
    length = len(values) * width
    padded = (number & ((1 << length) - 1)) << (-length % 8)
    return padded.to_bytes((length + 7) // 8, "big")


def test_run_length_codes_of_the_orc_specification() -> None:
    """The examples of the specification: short repeat, direct, patched base, delta."""
    assert Runs(bytes([0x0A, 0x27, 0x10]), 2).take(5).tolist() == [10000] * 5
    direct = bytes([0x5E, 0x03, 0x5C, 0xA1, 0xAB, 0x1E, 0xDE, 0xAD, 0xBE, 0xEF])
    assert Runs(direct, 2).take(4).tolist() == [23713, 43806, 57005, 48879]
    patched = bytes.fromhex("8e132b2107d01e00147028323c46505a646e78828c96a0aab4befce8")
    expected = [2030, 2000, 2020, 1000000, *range(2040, 2200, 10)]
    assert Runs(patched, 2).take(20).tolist() == expected
    delta = bytes([0xC6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46])
    assert Runs(delta, 2).take(10).tolist() == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
    assert Runs(bytes([0x61, 0x00, 0x07]), 1).take(100).tolist() == [7] * 100
    assert Runs(bytes([0x61, 0xFF, 0x64]), 1).take(100).tolist() == list(range(100, 0, -1))
    assert Runs(bytes([0xFB, 0x02, 0x03, 0x06, 0x07, 0x0B]), 1).take(5).tolist() == [2, 3, 6, 7, 11]


@settings(max_examples=examples(80))
@given(st.lists(st.lists(st.integers(0, 2**35), min_size=3, max_size=30), max_size=4), st.integers(1, 7), st.data())
def test_runs_are_taken_in_any_pieces(runs: list[list[int]], step: int, data: st.DataObject) -> None:
    encoded, expected = b"", []
    for run in runs:
        if data.draw(st.booleans()):
            encoded += bytes([1 << 6 | 25 << 1, len(run) - 1]) + bits([v % 2**28 for v in run], 28)
            expected += [v % 2**28 for v in run]
        else:
            encoded += bytes([3 << 6, len(run) - 1]) + orc_varint(run[0]) + orc_varint(2 * 3)
            expected += [run[0] + 3 * i for i in range(len(run))]
    source, found = Runs(encoded, 2), []
    while len(found) + step <= len(expected):
        found += source.take(step).tolist()
    assert found == expected[: len(found)]
    with pytest.raises(ValueError, match="ends early"):
        source.take(len(expected) - len(found) + 1)


@given(st.integers(0, 999_999_999))
def test_nanoseconds_with_their_zeros_cut_off(nanos: int) -> None:
    text = str(nanos)
    zeros = len(text) - len(text.rstrip("0")) if nanos else 0
    stored = nanos << 3 if zeros < 2 else (nanos // 10 ** min(zeros, 8)) << 3 | (min(zeros, 8) - 1)
    assert nanoseconds(np.array([stored]))[0] == nanos
