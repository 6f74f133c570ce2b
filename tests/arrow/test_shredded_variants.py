"""Shredded values of VARIANT against a naive shredder, damaged ones, and JSON texts of columns."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.variant_utils import VariantUtils
from support.draws.json_values import NAMES, random_json

from paimon_spark import json_texts
from paimon_spark.arrow.conform import conform
from paimon_spark.arrow.types import VARIANT, is_variant
from paimon_spark.arrow.variant_rebuilding import whole_variants
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format import variant
from paimon_spark.format.variant import Names

TEXT, NUMBER = pa.string(), pa.int64()
SHAPES: list[Any] = [TEXT, NUMBER, pa.bool_(), [NUMBER], [{"a": TEXT}], dict.fromkeys(NAMES, TEXT),
                     {"a": {"b": [NUMBER]}, "age": NUMBER, "city": None, "é": [None]}]  # fmt: skip
"""Types of shredding: a dict of fields, a list of one type of elements, None for values that are not shredded."""


def shredded_type(shape: Any) -> pa.DataType:
    fields = [pa.field("value", pa.binary())]
    if isinstance(shape, dict):
        typed = pa.struct([pa.field(name, shredded_type(inner), nullable=False) for name, inner in shape.items()])
        fields.append(pa.field("typed_value", typed))
    elif isinstance(shape, list):
        fields.append(pa.field("typed_value", pa.list_(shredded_type(shape[0]))))
    elif shape is not None:
        fields.append(pa.field("typed_value", shape))
    return pa.struct(fields)


def encoded(value: Any, names: Names) -> bytes:
    if isinstance(value, dict):
        ordered = sorted(value.items(), key=lambda item: variant.name_order(item[0]))
        return variant.object_of([(names.id_of(name), encoded(item, names)) for name, item in ordered])
    if isinstance(value, list):
        return variant.array_of([encoded(item, names) for item in value])
    return VariantUtils.parse_json(json.dumps(value))[0]


def shredded(value: Any, shape: Any, names: Names) -> dict[str, Any]:
    """The naive shredder: what fits the shape goes there, the rest stays bytes."""
    if isinstance(shape, dict) and isinstance(value, dict):
        inner = {name: shredded(value[name], kind, names) if name in value else {} for name, kind in shape.items()}
        rest = {name: item for name, item in value.items() if name not in shape}
        return {"value": encoded(rest, names) if rest else None, "typed_value": inner}
    if isinstance(shape, list) and isinstance(value, list):
        return {"typed_value": [shredded(item, shape[0], names) for item in value]}
    kinds = {TEXT: str, NUMBER: int, pa.bool_(): bool}
    if not isinstance(shape, dict | list) and type(value) is kinds.get(shape) and value not in (2**63,):
        return {"typed_value": value}
    return {"value": encoded(value, names)}


@given(st.integers(0, 10**9), st.sampled_from(SHAPES), st.integers(0, 3))
def test_what_a_naive_shredder_took_apart(seed: int, shape: Any, offset: int) -> None:
    random = Random(seed)
    values = [random_json(random) for _ in range(8)]
    rows: list[Any] = [None] * offset
    for value in values:
        names = Names(b"\x01\x00\x00")
        encoded(value, names)
        if random.random() < 0.2:
            names = Names(b"\x01\x00\x00")  # metadata without the names of shredded fields
        parts = shredded(value, shape, names)
        rows.append({"metadata": names.metadata(), **parts})
    whole_type = pa.struct([pa.field("metadata", pa.binary()), *shredded_type(shape)])
    array = pa.array(rows, whole_type)
    made = conform(array, VARIANT).slice(offset)
    made.validate(full=True)
    assert is_variant(made.type)
    assert [VariantUtils.to_python(v["value"], v["metadata"]) for v in made.to_pylist()] == [
        VariantUtils.to_python(*VariantUtils.parse_json(json.dumps(value))) for value in values
    ]
    assert conform(array.slice(offset), VARIANT).equals(made)


@pytest.mark.parametrize(
    ("typed", "value", "text"),
    [
        (pa.int8(), -3, "-3"),
        (pa.float32(), 5.2, "5.2"),
        (pa.float64(), 1.5, "1.5"),
        (pa.decimal128(38, 2), Decimal("1.20"), "1.20"),
        (pa.binary(), b"a", '"YQ=="'),
        (pa.date32(), dt.date(2026, 11, 27), '"2026-11-27"'),
        (pa.timestamp("us"), dt.datetime(2026, 11, 27, 1), '"2026-11-27T01:00"'),
        (pa.timestamp("ns", "UTC"), 0, '"1970-01-01T00:00Z"'),
    ],
)
def test_scalars(typed: pa.DataType, value: Any, text: str) -> None:
    kind = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", typed)])
    rows = [{"metadata": b"\x01\x00\x00", "typed_value": value}, None, {"metadata": b"\x01\x00\x00", "value": b"\x00"}]
    assert json_texts(whole_variants(pa.array(rows, kind))).to_pylist() == [text, None, "null"]


def test_an_unknown_type_is_refused_by_name() -> None:
    kind = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", pa.month_day_nano_interval())])
    with pytest.raises(UnsupportedFeature, match="month_day_nano_interval"):
        whole_variants(pa.array([{"metadata": b"\x01\x00\x00"}], kind))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({}, "no bytes, or no metadata"),
        ({"value": b"\x00", "metadata": None}, "no bytes, or no metadata"),
        ({"metadata": b"\x02\x00\x00", "value": b"\x00"}, "not those of version 1"),
        ({"metadata": b"", "value": b"\x00"}, "not those of version 1"),
        ({"value": b"\x0c\x01", "typed_value": {"a": {"value": b"\x00"}}}, "not those of version 1"),
        ({"value": b"\x02\x01\x00\x00\x01\x00", "typed_value": {"a": {"value": b"\x00"}}}, "a field is there twice"),
    ],
)
def test_damaged_values(row: dict[str, Any], message: str) -> None:
    kind = pa.struct([pa.field("metadata", pa.binary()), *shredded_type({"a": None})])
    with pytest.raises(DataError, match=message):
        whole_variants(pa.array([{"metadata": b"\x01\x01\x00\x01a", **row}], kind))


def test_texts_of_columns() -> None:
    rows = [None, dict(zip(("value", "metadata"), VariantUtils.parse_json('{"b": [1.5], "a": null}'), strict=True))]
    column = pa.chunked_array([pa.array(rows, VARIANT)] * 2)
    assert json_texts(column).to_pylist() == [None, '{"a":null,"b":[1.5]}'] * 2
    with pytest.raises(DataError, match="not the VARIANT of a scan"):
        json_texts(pa.array(["{}"]))
