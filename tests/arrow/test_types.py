"""Paimon types as Arrow types both ways, single values both ways, and arrays brought to exact types."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.draws.typed_batches import batches, data_types, plain, rows_of, values
from support.long_runs import examples

from paimon_spark.arrow.conform import conform, conform_batch
from paimon_spark.arrow.types import (
    arrow_field,
    arrow_schema,
    arrow_type,
    data_type,
    decimal_of,
    from_internal,
    to_internal,
)
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format.types import DataField, DataType, Root

INT = DataType(Root.INT)
EXAMPLES = settings(max_examples=examples(60))


@pytest.mark.parametrize(
    ("t", "arrow"),
    [
        (DataType(Root.TIMESTAMP), pa.timestamp("us")),
        (DataType(Root.TIMESTAMP, precision=0), pa.timestamp("ms")),
        (DataType(Root.TIMESTAMP, precision=3), pa.timestamp("ms")),
        (DataType(Root.TIMESTAMP, precision=4), pa.timestamp("us")),
        (DataType(Root.TIMESTAMP, precision=7), pa.timestamp("ns")),
        (DataType(Root.TIMESTAMP_LTZ, precision=6), pa.timestamp("us", "UTC")),
        (DataType(Root.TIME, precision=9), pa.time32("ms")),
        (DataType(Root.DECIMAL, precision=38, scale=0), pa.decimal128(38, 0)),
        (DataType(Root.CHAR, length=3), pa.string()),
        (DataType(Root.BINARY, length=3), pa.binary()),
        (DataType(Root.MULTISET, element=INT), pa.map_(pa.int32(), pa.field("value", pa.int32(), nullable=False))),
        (DataType(Root.MAP, key=INT, element=INT), pa.map_(pa.int32(), pa.int32())),
        (DataType(Root.ARRAY, element=INT.with_nullable(False)), pa.list_(pa.field("element", pa.int32(), False))),
    ],
)
def test_arrow_types(t: DataType, arrow: pa.DataType) -> None:
    assert arrow_type(t) == arrow


def test_nullability_is_kept_at_every_depth() -> None:
    row = DataType(Root.ROW, False, fields=(DataField(1, "a", INT.with_nullable(False)), DataField(2, "b", INT)))
    field = arrow_field(DataField(0, "c", DataType(Root.ARRAY, element=row)))
    assert (field.nullable, field.type.value_field.nullable) == (True, False)
    assert [f.nullable for f in field.type.value_type] == [False, True]
    assert [f.name for f in field.type.value_type] == ["a", "b"]


@pytest.mark.parametrize("root", [Root.GEOMETRY, Root.GEOGRAPHY])
def test_types_without_an_arrow_form_are_refused_with_the_column(root: Root) -> None:
    t = DataType(Root.MAP, key=INT, element=DataType(root, length=2, element=INT))
    with pytest.raises(UnsupportedFeature, match=f"'geo'.*{root}"):
        arrow_schema([DataField(0, "geo", t)])


@EXAMPLES
@given(data_types())
def test_arrow_types_lead_back(t: DataType) -> None:
    assert arrow_type(data_type(arrow_type(t), t.nullable)) == arrow_type(t)
    assert data_type(arrow_type(t), t.nullable).nullable == t.nullable


@pytest.mark.parametrize(
    ("arrow", "root"),
    [
        (pa.large_string(), Root.VARCHAR), (pa.string_view(), Root.VARCHAR), (pa.uint8(), Root.SMALLINT),
        (pa.uint16(), Root.INT), (pa.uint32(), Root.BIGINT), (pa.uint64(), Root.DECIMAL), (pa.float16(), Root.FLOAT),
        (pa.date64(), Root.DATE), (pa.binary(4), Root.BINARY), (pa.dictionary(pa.int8(), pa.string()), Root.VARCHAR),
        (pa.large_list(pa.int8()), Root.ARRAY), (pa.list_(pa.int8(), 3), Root.ARRAY), (pa.time64("ns"), Root.TIME),
        (pa.timestamp("s", "Asia/Tokyo"), Root.TIMESTAMP_LTZ), (pa.decimal256(38, 2), Root.DECIMAL),
    ],
)  # fmt: skip
def test_wider_arrow_types_count_as_their_plain_form(arrow: pa.DataType, root: Root) -> None:
    assert data_type(arrow).root is root


@pytest.mark.parametrize("arrow", [pa.null(), pa.duration("s"), pa.decimal256(50, 2), pa.decimal128(5, -2)])
def test_arrow_types_no_column_can_have(arrow: pa.DataType) -> None:
    with pytest.raises(DataError, match="no Paimon type"):
        data_type(arrow)


@EXAMPLES
@given(data_types().flatmap(lambda t: st.tuples(st.just(t), st.lists(values(t), max_size=6))))
def test_values_into_arrow_and_back(data: tuple[DataType, list[Any]]) -> None:
    t, column = data
    array = from_internal(column, t)
    array.validate(full=True)
    assert array.type.equals(arrow_type(t), check_metadata=True)
    assert [plain(to_internal(scalar)) for scalar in array] == [plain(value) for value in column]


def test_values_that_do_not_fit() -> None:
    bad = [
        (128, DataType(Root.TINYINT)), ("x", INT), (2**63, DataType(Root.TIMESTAMP, precision=9)),
        (Decimal(1000), DataType(Root.DECIMAL, precision=3, scale=1)), (1, DataType(Root.VARCHAR)), (2**40, INT),
    ]  # fmt: skip
    for value, t in bad:
        with pytest.raises(DataError, match=str(t.root)):
            from_internal([value], t)


def test_decimals_are_exact_in_any_context() -> None:
    with localcontext() as context:
        context.prec = 3
        assert str(decimal_of(12345678901234567890123456789012345678, 10)) == "1234567890123456789012345678.9012345678"
    assert (str(decimal_of(-5, 0)), str(decimal_of(0, 2))) == ("-5", "0.00")


@EXAMPLES
@given(batches(max_rows=8), st.integers(0, 3), st.integers(0, 5))
def test_batches_keep_their_rows_when_made_exact(data: Any, start: int, length: int) -> None:
    """Slices too: nested arrays carry offsets of their own."""
    fields, whole = data
    batch = whole.slice(start, length)
    loose = pa.schema([pa.field(f.name, _loose(f.type)) for f in batch.schema])
    there = conform_batch(batch, loose)
    there.validate(full=True)
    back = conform_batch(there, arrow_schema(fields))
    back.validate(full=True)
    assert back.schema.equals(arrow_schema(fields))
    assert rows_of(there) == rows_of(back) == rows_of(batch)


def _loose(arrow: pa.DataType) -> pa.DataType:
    """The type with every field nullable and other names of list elements."""
    if pa.types.is_struct(arrow):
        return pa.struct([pa.field(f.name, _loose(f.type)) for f in arrow])
    if pa.types.is_map(arrow):
        return pa.map_(_loose(arrow.key_type), _loose(arrow.item_type))
    if pa.types.is_list(arrow):
        return pa.list_(pa.field("item", _loose(arrow.value_type)))
    return arrow


def test_exact_types_cost_nothing_and_labels_copy_nothing() -> None:
    array = pa.array([[1, 2], None], pa.list_(pa.field("item", pa.int64())))
    assert conform(array, array.type) is array
    other = conform(array, pa.list_(pa.field("element", pa.int64(), nullable=False)))
    assert other.values.buffers()[1].address == array.values.buffers()[1].address
    stamps = pa.array([1, None], pa.timestamp("us"))
    zoned = conform(stamps, pa.timestamp("us", "UTC"))
    assert zoned.type == pa.timestamp("us", "UTC")
    assert zoned.buffers()[1].address == stamps.buffers()[1].address


def test_units_round_towards_the_past_and_do_not_overflow() -> None:
    fine = pa.array([-1, 1_000_001, None], pa.timestamp("ns"))
    assert conform(fine, pa.timestamp("ms")).cast(pa.int64()).to_pylist() == [-1, 1, None]
    far = pa.array([None, 2**60], pa.timestamp("us"))
    with pytest.raises(DataError, match="outside the range"):
        conform(far, pa.timestamp("ns"))
    assert conform(far.slice(0, 1), pa.timestamp("ns")).to_pylist() == [None]
    times = pa.array([1_999, None, 86_399_999_999], pa.time64("us"))
    assert conform(times, pa.time32("ms")).cast(pa.int32()).to_pylist() == [1, None, 86_399_999]


def test_a_batch_without_columns_keeps_its_rows() -> None:
    batch = pa.record_batch([pa.array([1, 2, 3])], ["a"]).select([])
    assert conform_batch(batch, pa.schema([])).num_rows == 3
