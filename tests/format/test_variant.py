"""The bytes of VARIANT: what PySpark's own encoder makes is read, and what is made here its decoder reads."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.variant_utils import VariantUtils
from support.draws.json_values import random_json

from paimon_spark.errors import DataError
from paimon_spark.format import variant
from paimon_spark.format.variant import Names, json_text, plain_value

NO_NAMES = b"\x01\x00\x00"


def decoded(value: bytes) -> Any:
    return VariantUtils.to_python(value, NO_NAMES)


@given(st.integers(0, 10**9))
def test_what_pyspark_encodes(seed: int) -> None:
    wanted = random_json(Random(seed))
    value, metadata = VariantUtils.parse_json(json.dumps(wanted))
    names = Names(metadata)
    assert plain_value(value, names.names) == json.loads(json.dumps(wanted), parse_float=_number)
    assert json.loads(json_text(value, metadata)) == wanted
    assert names.metadata() == metadata


def _number(text: str) -> Any:
    return float(text) if "e" in text.lower() else Decimal(text)


@given(st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers(number: int) -> None:
    assert decoded(variant.integer(number)) == number
    assert len(variant.integer(number)) <= len(VariantUtils.parse_json(str(number))[0])


@given(st.integers(-(10**27), 10**27), st.integers(0, 27))
def test_decimals(unscaled: int, scale: int) -> None:
    number = Decimal(unscaled).scaleb(-scale)
    assert decoded(variant.decimal(number)) == number
    assert plain_value(variant.decimal(number), ()) == number


def test_other_values() -> None:
    assert decoded(variant.double(1.5)) == decoded(variant.single(1.5)) == 1.5
    assert [decoded(variant.boolean(flag)) for flag in (True, False)] == [True, False]
    assert decoded(variant.date(-1)) == dt.date(1969, 12, 31)
    assert decoded(variant.timestamp(1, "us", has_zone=False)) == dt.datetime(1970, 1, 1, 0, 0, 0, 1)
    assert decoded(variant.timestamp(1, "us", has_zone=True)).tzinfo is not None
    assert decoded(variant.binary(b"\0\xff")) == b"\0\xff"
    longest = Decimal("-" + "9" * 38)
    assert plain_value(variant.decimal(longest), ()) == longest


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (variant.single(5.2), "5.2"),
        (variant.double(float("nan")), '"NaN"'),
        (variant.double(float("-inf")), '"-Infinity"'),
        (variant.decimal(Decimal("1.50")), "1.50"),
        (variant.date(0), '"1970-01-01"'),
        (variant.timestamp(1_500_000, "us", has_zone=True), '"1970-01-01T00:00:01.500Z"'),
        (variant.timestamp(1, "ns", has_zone=False), '"1970-01-01T00:00:00.000000001"'),
        (variant.binary(b"a"), '"YQ=="'),
        (variant.uuid(bytes(range(16))), '"00010203-0405-0607-0809-0a0b0c0d0e0f"'),
        (variant.array_of([]), "[]"),
        (variant.object_of([]), "{}"),
    ],
)
def test_texts(value: bytes, text: str) -> None:
    assert json_text(value, NO_NAMES) == text


@given(st.lists(st.text(max_size=70), max_size=300, unique=True), st.integers(0, 300))
def test_objects_of_any_size(keys: list[str], padding: int) -> None:
    names = Names(NO_NAMES)
    values = {key: key * 3 + "x" * padding for key in keys}
    ordered = sorted(keys, key=variant.name_order)
    made = variant.object_of([(names.id_of(key), variant.text(values[key])) for key in ordered])
    assert VariantUtils.to_python(made, names.metadata()) == values
    assert plain_value(made, names.names) == values
    assert variant.object_fields(made) == [(names.id_of(key), variant.text(values[key])) for key in ordered]
    listed = variant.array_of([variant.text(key) for key in keys])
    assert decoded(listed) == keys


def test_a_name_that_is_added_keeps_the_numbers_of_the_others() -> None:
    value, metadata = VariantUtils.parse_json('{"b": 1, "a": 2}')
    names = Names(metadata)
    assert [names.id_of(name) for name in ("b", "new", "new")] == [0, 2, 2]
    assert VariantUtils.to_python(value, names.metadata()) == {"b": 1, "a": 2}


@given(st.integers(0, 10**9))
def test_damaged_bytes_are_told(seed: int) -> None:
    random = Random(seed)
    value, metadata = VariantUtils.parse_json(json.dumps(random_json(random)))
    parts = [bytearray(value), bytearray(metadata)]
    hit = random.choice(parts)
    if random.random() < 0.3:
        del hit[random.randrange(len(hit)) :]
    else:
        hit[random.randrange(len(hit))] = random.randrange(256)
    try:
        json_text(bytes(parts[0]), bytes(parts[1]))
    except DataError:
        return
