"""Fields of many BinaryRows at once equal those read row by row; their texts are Java's."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.draws.typed_batches import scalar_types, values
from support.long_runs import examples
from support.oracles.comparing import comparable_list

from paimon_spark.arrow.row_columns import row_bytes, row_field
from paimon_spark.arrow.text_casts import cast_texts, listed, object_texts
from paimon_spark.arrow.types import arrow_type, from_internal
from paimon_spark.format.binary_row import decode_arity_row, encode_arity_row
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataType


@st.composite
def typed_rows(draw: st.DrawFn) -> tuple[list[DataType], list[list[Any]]]:
    types = draw(st.lists(scalar_types(), min_size=1, max_size=10))
    rows = draw(st.lists(st.tuples(*(values(t) for t in types)).map(list), max_size=6))
    return types, rows


@settings(max_examples=examples(150))
@given(typed_rows())
def test_fields_are_those_of_each_row(case: tuple[list[DataType], list[list[Any]]]) -> None:
    types, rows = case
    encoded = [encode_arity_row(row, types) for row in rows]
    decoded = [decode_arity_row(row, types) for row in encoded]
    columns = row_bytes(encoded)
    assert columns.arities().tolist() == [len(types)] * len(rows)
    for position, t in enumerate(types):
        found = row_field(columns, types, position)
        assert found.type == arrow_type(t)
        expected = from_internal([row[position] for row in decoded], t)
        assert comparable_list(pa.table({"f": found})) == comparable_list(pa.table({"f": expected}))


def test_arities_of_rows_that_are_not_there() -> None:
    assert row_bytes([b"", b"\0", bytes(12), b"\0\0\1\2" + bytes(8)]).arities().tolist() == [0, 0, 0, 258]
    assert row_bytes([]).arities().tolist() == []
    assert row_bytes([b"", b""]).arities().tolist() == [0, 0]


# What Java 2.0.0 prints: (type, internal value, toString of the object, cast to a string).
TEXTS = [
    ("BOOLEAN", True, "true", "true"),
    ("TINYINT", -128, "-128", "-128"),
    ("BIGINT", -(2**63), "-9223372036854775808", "-9223372036854775808"),
    ("FLOAT", 0.1, "0.1", "0.1"),
    ("DOUBLE", -0.0, "-0.0", "-0.0"),
    ("DOUBLE", 1e10, "1.0E10", "1.0E10"),
    ("DOUBLE", float("nan"), "NaN", "NaN"),
    ("DECIMAL(20, 3)", Decimal("-0.001"), "-0.001", "-0.001"),
    ("DECIMAL(38, 10)", Decimal("0.0000000001"), "0.0000000001", "0.0000000001"),
    ("STRING", "é, {a=1}", "é, {a=1}", "é, {a=1}"),
    ("STRING", "", "", ""),
    ("BYTES", b"\0\xffA", "X'00FF41'", "\0\ufffdA"),
    ("DATE", -1, "-1", "1969-12-31"),
    ("TIME(3)", 3_723_004, "3723004", "01:02:03.004"),
    ("TIMESTAMP(3)", 1_700_000_000_120 * 10**6, "2023-11-14T22:13:20.120", "2023-11-14 22:13:20.120"),
    ("TIMESTAMP(6)", 0, "1970-01-01T00:00", "1970-01-01 00:00:00.000000"),
    ("TIMESTAMP(9)", -1, "1969-12-31T23:59:59.999999999", "1969-12-31 23:59:59.999999999"),
]


@pytest.mark.parametrize(("type_text", "value", "shown", "cast"), TEXTS)
def test_texts_are_those_of_java(type_text: str, value: Any, shown: str, cast: str) -> None:
    t = parse_type(type_text)
    array = from_internal([value, None], t)
    assert object_texts(array, t).to_pylist() == [shown, None]
    assert cast_texts(array, t).to_pylist() == [cast, None]


def test_an_instant_is_cast_in_the_local_time_zone(shanghai: None) -> None:
    t = parse_type("TIMESTAMP(3) WITH LOCAL TIME ZONE")
    assert cast_texts(from_internal([0], t), t).to_pylist() == ["1970-01-01 08:00:00.000"]
    assert object_texts(from_internal([0], t), t).to_pylist() == ["1970-01-01T00:00"]


def test_lists_of_texts() -> None:
    a, b = pa.array(["1", None]), pa.array(["x", "y"])
    assert listed([a, b], 2).to_pylist() == ["[1, x]", "[null, y]"]
    assert listed([a, b], 2, "{}", ["p", "q"]).to_pylist() == ["{p=1, q=x}", "{p=null, q=y}"]
    assert listed([], 2, "{}").to_pylist() == ["{}", "{}"]
    assert listed([pa.nulls(0, pa.string())], 0).to_pylist() == []
