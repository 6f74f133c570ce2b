"""Parquet files of optional map keys, as Java before 0.9 writes them: Arrow refuses them, the reader does not."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.draws.typed_batches import rows_of
from support.long_runs import examples

from paimon_spark.arrow.conform import conform
from paimon_spark.arrow.formats.data_file import WriteSettings, open_reader, open_writer
from paimon_spark.arrow.formats.parquet_writer import footer_of
from paimon_spark.arrow.parquet.footer_rewrites import maps_as_structs
from paimon_spark.arrow.parquet.thrift_compact import (
    BINARY,
    I32,
    Field,
    List,
    Struct,
    decode_struct,
    encode_struct,
    find,
)
from paimon_spark.arrow.statistics.column_stats import ColumnStats
from paimon_spark.arrow.types import arrow_schema, arrow_type, from_internal
from paimon_spark.errors import CorruptFile
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root

WHERE = "/lake/t/bucket-0/data-1.parquet"
INT = DataType(Root.INT)
STRING = DataType(Root.VARCHAR, length=MAX_LENGTH)
TS9 = DataType(Root.TIMESTAMP, precision=9)


def map_type(key: DataType, value: DataType) -> DataType:
    return DataType(Root.MAP, key=key, element=value)


def array_type(element: DataType) -> DataType:
    return DataType(Root.ARRAY, element=element)


def fields_of(*types: DataType) -> tuple[DataField, ...]:
    return tuple(DataField(i, f"c{i}", t) for i, t in enumerate(types))


def as_lists(arrow: pa.DataType) -> pa.DataType:
    """The type with a list of (nullable key, value) for every map."""
    if pa.types.is_map(arrow):
        entry = pa.struct([("key", as_lists(arrow.key_type)), ("value", as_lists(arrow.item_type))])
        return pa.list_(pa.field("element", entry, nullable=False))
    if pa.types.is_list(arrow):
        return pa.list_(pa.field("element", as_lists(arrow.value_type)))
    if pa.types.is_struct(arrow):
        return pa.struct([(f.name, as_lists(f.type)) for f in arrow])
    return arrow


def dicts(value: Any, data_type: DataType) -> Any:
    """An internal value as what pyarrow makes an array of ``as_lists`` of."""
    if value is None:
        return None
    if data_type.root is Root.MAP:
        return [{"key": dicts(k, data_type.key_type), "value": dicts(v, data_type.inner)} for k, v in value]
    if data_type.root is Root.MULTISET:
        return [{"key": k, "value": count} for k, count in value]
    if data_type.root is Root.ARRAY:
        return [dicts(v, data_type.inner) for v in value]
    if data_type.root is Root.ROW:
        return {f.name: dicts(v, f.type) for f, v in zip(data_type.fields, value, strict=True)}
    return value


def file_of(fields: tuple[DataField, ...], rows: list[list[Any]], **options: Any) -> bytes:
    """A file with an optional key in every map.

    A list of entries and a map differ in one required group, ``element``, which has no level of its own: the pages are
    the same, and the footer is rewritten.
    """
    columns = {}
    for i, field in enumerate(fields):
        values = [dicts(row[i], field.type) for row in rows]
        columns[field.name] = pa.array(values, as_lists(arrow_type(field.type)))
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, store_schema=False, **options)
    whole = sink.getvalue()
    old = footer_of(whole)
    new = lists_as_maps(old)
    return whole[: -8 - len(old)] + new + struct.pack("<I", len(new)) + b"PAR1"


def lists_as_maps(footer: bytes) -> bytes:
    tree = decode_struct(footer)
    elements = find(tree, 2).values
    kept: list[Struct] = []
    for i, element in enumerate(elements):
        if find(element, 4) == b"element" and find(elements[i + 1], 4) == b"key":
            kept[-2] = annotated(kept[-2], 1, None)
            kept[-1] = annotated(kept[-1], 2, b"key_value")
            kept[-1] = [Field(5, I32, 2) if field.id == 5 else field for field in kept[-1]]
        else:
            kept.append(element)
    find(tree, 2).values[:] = kept
    for group in find(tree, 4).values if find(tree, 4) else ():
        for chunk in find(group, 1).values:
            path: List = find(find(chunk, 3), 3)
            path.values[:] = entry_path(path.values)
    return encode_struct(tree)


def annotated(element: Struct, converted: int, name: bytes | None) -> Struct:
    """The schema element with a converted type (1: MAP, 2: MAP_KEY_VALUE) and no logical one, perhaps renamed."""
    fields = [field for field in element if field.id not in (6, 10)] + [Field(6, I32, converted)]
    if name is not None:
        fields = [Field(4, BINARY, name) if field.id == 4 else field for field in fields]
    return sorted(fields, key=lambda field: field.id)


def entry_path(path: list[bytes]) -> list[bytes]:
    parts: list[bytes] = []
    for part in path:
        if part in (b"key", b"value") and parts[-2:] == [b"list", b"element"]:
            parts[-2:] = [b"key_value"]
        parts.append(part)
    return parts


def read(data: bytes, fields: tuple[DataField, ...], batch_rows: int = 100, groups: list[int] | None = None) -> Any:
    reader = open_reader(pa.BufferReader(data), "parquet", WHERE)
    table = pa.Table.from_batches([batch for _, batch in reader.read(fields, batch_rows, groups)], arrow_schema(fields))
    table.validate(full=True)
    return rows_of(table)


FIELDS = fields_of(
    INT,
    map_type(STRING, INT),
    map_type(INT, map_type(STRING, STRING)),
    DataType(Root.ROW, fields=(DataField(10, "m", map_type(STRING, INT)), DataField(11, "i", INT))),
    array_type(map_type(INT, array_type(INT))),
    DataType(Root.MULTISET, element=STRING),
    map_type(INT, DataType(Root.ROW, fields=(DataField(12, "d", DataType(Root.DECIMAL, precision=20, scale=2)),))),
)
ROWS: list[list[Any]] = [
    [1, [("a", 1), ("é", None)], [(1, [("x", None)]), (2, None), (3, [])], [[("k", 1)], 5], [[(1, [1, None])]],
     [("z", 2)], [(1, [Decimal("1.50")])]],
    [2, None, None, None, None, None, None],
    [None, [], [], [None, None], [], [], []],
    [4, [("", 0)], [(-1, [("", ""), ("b", "ba\0")])], [[], 7], [None, [], [(2, None), (3, [])]], [("", 1), ("y", 3)],
     [(5, None), (6, [None])]],
]  # fmt: skip


def expected(rows: list[list[Any]], fields: tuple[DataField, ...] = FIELDS) -> Any:
    arrays = [from_internal([row[i] for row in rows], field.type) for i, field in enumerate(fields)]
    return rows_of(pa.Table.from_arrays(arrays, schema=arrow_schema(fields)))


def test_arrow_refuses_the_files_of_this_test() -> None:
    with pytest.raises(pa.ArrowInvalid, match="Map keys must be annotated as required"):
        pq.ParquetFile(io.BytesIO(file_of(FIELDS, ROWS)))


@pytest.mark.parametrize("batch_rows", [1, 3, 100])
@pytest.mark.parametrize("group_rows", [2, 100])
def test_maps_at_every_depth(batch_rows: int, group_rows: int) -> None:
    assert read(file_of(FIELDS, ROWS, row_group_size=group_rows), FIELDS, batch_rows) == expected(ROWS)


def test_no_rows_and_only_nulls() -> None:
    assert read(file_of(FIELDS, []), FIELDS) == []
    nulls = [[None] * len(FIELDS)] * 3
    assert read(file_of(FIELDS, nulls), FIELDS) == expected(nulls)


@pytest.mark.parametrize("remote", [False, True])
def test_columns_groups_and_stats(remote: bool) -> None:
    data = file_of(FIELDS, [[i, [("k", i)], *([None] * 5)] for i in range(10)], row_group_size=4)
    reader = open_reader(io.BytesIO(data) if remote else pa.BufferReader(data), "parquet", WHERE)
    assert reader.names == tuple(f.name for f in FIELDS)
    assert [group.stats("c0") for group in reader.row_groups] == [
        ColumnStats(0, 3, 0), ColumnStats(4, 7, 0), ColumnStats(8, 9, 0),
    ]  # fmt: skip
    assert reader.row_groups[0].stats("c1") is None
    (found,) = reader.read(FIELDS[1:2], 100, [1])
    assert (found[0], rows_of(pa.Table.from_batches([found[1]]))) == (4, [[[["k", i]]] for i in range(4, 8)])
    assert [batch.num_rows for _, batch in reader.read([], 100)] == [10]
    reader.close()


def test_stats_of_a_column_behind_a_map() -> None:
    fields = fields_of(map_type(STRING, map_type(INT, INT)), INT)
    (group,) = open_reader(pa.BufferReader(file_of(fields, [[[], 7], [None, 9]])), "parquet", WHERE).row_groups
    assert group.stats("c1") == ColumnStats(7, 9, 0)


def test_int96_in_such_a_file() -> None:
    fields = fields_of(map_type(STRING, TS9), TS9)
    rows: list[list[Any]] = [[[("a", 10**18), ("b", None)], -1000], [None, None], [[("c", -(10**9))], 0]]
    assert read(file_of(fields, rows, use_deprecated_int96_timestamps=True), fields) == expected(rows, fields)


def test_a_null_key_is_refused_by_the_name_of_the_column() -> None:
    fields = fields_of(INT, map_type(STRING, INT), array_type(map_type(INT, INT)))
    data = file_of(fields, [[1, [("a", 1), (None, 2)], [[(1, 1)]]], [2, [], [[(None, 1)]]]])
    for at in (1, 2):
        with pytest.raises(CorruptFile, match=rf"{WHERE}.*'c{at}': a map has a null as key"):
            read(data, fields[at : at + 1])
    assert read(data, fields[:1]) == [[1], [2]]


def test_slices() -> None:
    """Offsets of the struct, of its list and of the entries."""
    target = arrow_type(map_type(STRING, INT))
    values = [None, [("a", 1)], [], None, [("b", 2), ("c", None)], [("d", 4)]]
    entry = pa.struct([("k", pa.string()), ("v", pa.int32())])
    source = pa.struct([("key_value", pa.list_(pa.field("key_value", entry, nullable=False)))])
    structs = [None if v is None else {"key_value": [{"k": k, "v": i} for k, i in v]} for v in values]
    for array in (pa.array(structs, source), pa.array([*structs[3:], *structs], source)[3:]):
        for start in range(7):
            for stop in range(start, 7):
                found = conform(array[start:stop], target)
                found.validate(full=True)
                assert found.type == target
                assert found.to_pylist() == values[start:stop]


def small_types() -> st.SearchStrategy[DataType]:
    leaf = st.sampled_from([INT, STRING])
    return st.recursive(
        st.builds(map_type, leaf, leaf),
        lambda inner: st.one_of(
            st.builds(map_type, leaf, inner),
            inner.map(array_type),
            st.builds(
                lambda a, b: DataType(Root.ROW, fields=(DataField(1, "a", a), DataField(2, "b", b))), inner, leaf
            ),
        ),
        max_leaves=3,
    )


def values_of(data_type: DataType, nullable: bool = True) -> st.SearchStrategy[Any]:
    values: st.SearchStrategy[Any]
    if data_type.root is Root.MAP:
        pairs = st.tuples(values_of(data_type.key_type, nullable=False), values_of(data_type.inner))
        values = st.lists(pairs, max_size=3, unique_by=lambda pair: pair[0])
    elif data_type.root is Root.ARRAY:
        values = st.lists(values_of(data_type.inner), max_size=3)
    elif data_type.root is Root.ROW:
        values = st.tuples(*(values_of(field.type) for field in data_type.fields)).map(list)
    else:
        values = st.integers(-9, 9) if data_type.root is Root.INT else st.sampled_from(["", "a", "é😀"])
    return st.none() | values if nullable else values


@st.composite
def tables(draw: st.DrawFn) -> tuple[tuple[DataField, ...], list[list[Any]]]:
    fields = fields_of(*draw(st.lists(small_types(), min_size=1, max_size=2)), INT)
    return fields, draw(st.lists(st.tuples(*(values_of(f.type) for f in fields)).map(list), max_size=12))


@settings(max_examples=examples(60))
@given(tables(), st.integers(1, 5), st.integers(1, 5))
def test_any_maps(table: tuple[tuple[DataField, ...], list[list[Any]]], group_rows: int, batch_rows: int) -> None:
    fields, rows = table
    assert read(file_of(fields, rows, row_group_size=group_rows), fields, batch_rows) == expected(rows, fields)


def damaged_copies(data: bytes) -> Iterator[bytes]:
    start = len(data) - 8 - len(footer_of(data))
    for at in range(start, len(data)):
        yield data[:at] + bytes([data[at] ^ 0x11]) + data[at + 1 :]
        yield data[:at]


def rows_or_none(data: bytes, fields: tuple[DataField, ...]) -> Any:
    """The rows, or None where they are refused as they should be; any other error is a failure."""
    try:
        return read(data, fields)
    except CorruptFile as error:
        if WHERE not in str(error):
            raise
        return None


def test_damaged_footers() -> None:
    fields = fields_of(map_type(STRING, INT))
    whole = file_of(fields, [[[("a", 1)]], [None]])
    assert rows_or_none(whole, fields) is not None
    found = [rows_or_none(data, fields) for data in damaged_copies(whole)]
    assert found.count(None) > len(found) // 2


def test_other_footers_are_left_alone() -> None:
    sink = io.BytesIO()
    writer = open_writer(sink, "parquet", FIELDS, WriteSettings())
    writer.close()
    assert maps_as_structs(footer_of(sink.getvalue())) is None
    with pytest.raises(CorruptFile, match="Parquet magic bytes not found"):
        open_reader(pa.BufferReader(b"k,v\n1,2\n" * 9), "parquet", WHERE)
