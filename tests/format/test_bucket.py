"""Bucket functions, one row at a time, against genuine assignments."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.draws.format_values import BIGINT, INT, STRING, atomic_types, golden_cases, internal, values_of
from support.long_runs import examples

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.bucket import bucket_fields, bucket_of
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField, DataType, Root

DEFAULT_CASES = [
    {**case, "function": "default", "bucket": case.get("projection_bucket", case["bucket"])}
    for writer in ("java-0.9", "java-2.1")
    for case in golden_cases(f"{writer}/binary_row.json")
    if "bucket" in case
]


@pytest.mark.parametrize(
    "case",
    [*golden_cases("java-2.1/bucket_functions.json"), *DEFAULT_CASES],
    ids=lambda c: f"{c['function']}-{c['types']}-{str(c['values'])[:20]}",
)
def test_genuine_buckets(case: dict[str, Any]) -> None:
    types = [parse_type(text) for text in case["types"]]
    values = [internal(value, t) for value, t in zip(case["values"], types, strict=True)]
    found = {n: bucket_of(values, types, int(n), case["function"]) for n in case["bucket"]}
    assert found == case["bucket"]


@given(st.data(), st.integers(1, 5000))
@settings(max_examples=examples(100))
def test_every_row_has_a_bucket(data: st.DataObject, buckets: int) -> None:
    types = data.draw(st.lists(atomic_types(), min_size=1, max_size=3))
    values = [data.draw(values_of(t)) for t in types]
    assert 0 <= bucket_of(values, types, buckets, "default") < buckets


def big_decimal_hash(unscaled: int, scale: int) -> int:
    """java.math.BigDecimal.hashCode, from its documentation: 31 * hash of the unscaled BigInteger + scale."""
    words = []
    magnitude = abs(unscaled)
    while magnitude:
        words.insert(0, magnitude & 0xFFFFFFFF)
        magnitude >>= 32
    hashed = 0
    for word in words:
        hashed = (hashed * 31 + word) & 0xFFFFFFFF
    return (31 * (hashed if unscaled >= 0 else -hashed) + scale) & 0xFFFFFFFF


@pytest.mark.parametrize(
    ("text", "unscaled", "scale"),
    [
        ("0.00", 0, 0),
        ("-0.00", 0, 0),
        ("100.00", 100, 0),
        ("1.50", 15, 1),
        ("-1.50", -15, 1),
        ("12345678901234567890.12", 1234567890123456789012, 2),
        ("0.01", 1, 2),
    ],
)
def test_hive_hashes_decimals_without_zeros_at_the_end(text: str, unscaled: int, scale: int) -> None:
    decimal = DataType(Root.DECIMAL, precision=38, scale=2)
    expected = (big_decimal_hash(unscaled, scale) & 0x7FFFFFFF) % 1024
    assert bucket_of([Decimal(text)], [decimal], 1024, "hive") == expected


def test_mod_takes_zero_for_null() -> None:
    assert bucket_of([None], [INT], 5, "mod") == 0
    assert bucket_of([-7], [BIGINT], 5, "mod") == 3


@pytest.mark.parametrize(
    ("types", "function"),
    [
        ([STRING], "mod"),
        ([INT, INT], "mod"),
        ([DataType(Root.TIMESTAMP, precision=3)], "hive"),
        ([INT], "murmur3"),
    ],
)
def test_what_a_function_does_not_take_is_refused(types: list[DataType], function: str) -> None:
    with pytest.raises(UnsupportedFeature, match=function):
        bucket_of([1] * len(types), types, 3, function)


def test_the_columns_that_are_hashed_are_the_bucket_key_or_else_the_trimmed_primary_key() -> None:
    a, b, f = (DataField(i, name, DataType(Root.INT)) for i, name in enumerate("abf"))
    schema = TableSchema(0, (a, b, f), 2, partition_keys=("b",), primary_keys=("b", "f", "a"))
    assert bucket_fields(schema, TableSettings()) == (f, a)
    assert bucket_fields(schema, TableSettings({"bucket-key": "a , f"})) == (a, f)
    assert bucket_fields(TableSchema(0, (a, b), 1), TableSettings()) == ()
