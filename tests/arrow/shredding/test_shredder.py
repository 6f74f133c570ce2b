"""Shredding columns of VARIANT: what is taken apart is whole again, whatever the values, the shape and the damage."""

from __future__ import annotations

import json
from decimal import Context, Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.variant_utils import VariantUtils
from support.draws.json_values import NAMES, random_json

from paimon_spark.arrow.shredding.inference import InferenceRules, Room, look_at, shape_of
from paimon_spark.arrow.shredding.plans import Shredding
from paimon_spark.arrow.shredding.shredder import check_shape, shredded
from paimon_spark.arrow.types import VARIANT
from paimon_spark.arrow.variant_rebuilding import whole_variants
from paimon_spark.arrow.variants import json_texts
from paimon_spark.errors import DataError, OptionError, PaimonError
from paimon_spark.format import variant
from paimon_spark.format.type_text import parse_type, type_sql
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.format.variant import Names

EXACT = Context(prec=60)
SCALARS = ["BIGINT", "INT", "SMALLINT", "TINYINT", "STRING", "DOUBLE", "FLOAT", "BOOLEAN", "VARIANT", "DECIMAL(5, 2)",
           "DECIMAL(18, 0)", "DECIMAL(18, 18)", "DECIMAL(38, 10)"]  # fmt: skip


def random_shape(random: Random, depth: int = 3) -> DataType:
    kind = random.random()
    if depth and kind < 0.5:
        names = random.sample(NAMES, random.randrange(1, 6))
        fields = (DataField(i, name, random_shape(random, depth - 1)) for i, name in enumerate(names))
        return DataType(Root.ROW, fields=tuple(fields))
    if depth and kind < 0.65:
        return DataType(Root.ARRAY, element=random_shape(random, depth - 1))
    return parse_type(random.choice(SCALARS))


def random_bytes(random: Random, names: Names, depth: int = 3) -> bytes:
    """A value of any type that the encoding has."""
    kind = random.random()
    if depth and kind < 0.35:
        chosen = sorted(random.sample(NAMES, random.randrange(len(NAMES))), key=variant.name_order)
        return variant.object_of([(names.id_of(name), random_bytes(random, names, depth - 1)) for name in chosen])
    if depth and kind < 0.5:
        return variant.array_of([random_bytes(random, names, depth - 1) for _ in range(random.choice([0, 1, 3]))])
    number = random.choice([0, 1, -1, 127, -128, 128, 32768, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63), 10**18])
    digits = random.choice([0, 1, -7, 100, 99999, 10**9, 10**18, 10**20, 2**63, -(2**63), 10**38 - 1])
    return random.choice([
        b"\x00", variant.boolean(True), variant.boolean(False), variant.integer(number), variant.double(number / 7),
        variant.single(1.5), variant.decimal(EXACT.scaleb(Decimal(digits), -random.choice([0, 1, 2, 9, 18]))),
        variant.text("x" * random.choice([0, 5, 63, 64, 300])), variant.text("é\U0001f600"),
        variant.binary(b"\xff\x00"),
        variant.date(number % 10**6), variant.timestamp(number, "us", True), variant.timestamp(number, "ns", False),
        variant.time(5), variant.uuid(bytes(range(16))),
    ])  # fmt: skip


def column(rows: list[tuple[bytes, bytes] | None]) -> pa.StructArray:
    return pa.array([row and {"value": row[0], "metadata": row[1]} for row in rows], VARIANT)


def random_rows(random: Random, count: int = 12) -> list[tuple[bytes, bytes] | None]:
    rows: list[tuple[bytes, bytes] | None] = []
    for _ in range(count):
        names = Names(b"\x01\x00\x00")
        value = random_bytes(random, names)
        rows.append(None if random.random() < 0.15 else (value, names.metadata()))
    return rows


def plain(value: Any) -> Any:
    match value:
        case dict():
            return {name: plain(item) for name, item in value.items()}
        case list():
            return [plain(item) for item in value]
        case Decimal():
            return ("number", value)
        case int() if not isinstance(value, bool):
            return ("number", Decimal(value))
    return value


def texts(array: pa.Array) -> list[Any]:
    """What the values are as JSON; numbers are equal whatever their digits."""
    return [text and plain(json.loads(text, parse_float=Decimal)) for text in json_texts(array).to_pylist()]


@given(st.integers(0, 10**9), st.integers(0, 3))
def test_values_are_whole_again(seed: int, offset: int) -> None:
    random = Random(seed)
    shape, rows = random_shape(random), column(random_rows(random))
    made = shredded(rows.slice(offset), shape)
    made.validate(full=True)
    assert made.is_valid().equals(rows.slice(offset).is_valid())
    back = whole_variants(made)
    assert texts(back) == texts(rows.slice(offset))
    assert back.field("metadata").to_pylist() == made.field("metadata").to_pylist()


@given(st.integers(0, 10**9))
def test_an_inferred_shape_holds_all_values(seed: int) -> None:
    random = Random(seed)
    rows = column(random_rows(random))
    shape = shape_of(look_at(rows, random.choice([1, 2, 50])), InferenceRules(), Room(random.choice([3, 10, 300])))
    check_shape(shape, "the shape")
    assert texts(whole_variants(shredded(rows, shape))) == texts(rows)


@given(st.integers(0, 10**9))
def test_damaged_bytes_are_an_error_or_other_values(seed: int) -> None:
    """Never an error of another kind, and never the bytes of another row: each row alone fails as it does with all."""
    random = Random(seed)
    shape, rows = random_shape(random), random_rows(random, 3)
    at = random.randrange(len(rows))
    row = rows[at] or (b"\x00", b"\x01\x00\x00")
    part = random.randrange(2)
    data = bytearray(row[part])
    data[random.randrange(len(data))] = random.randrange(256)
    cut = bytes(data[: random.choice([len(data), random.randrange(len(data))])])
    damaged = (cut, row[1]) if part == 0 else (row[0], cut)
    results = []
    for some in ([damaged], [*rows[:at], damaged, *rows[at + 1 :]]):
        try:
            results.append(shredded(column(some), shape).to_pylist()[0 if len(some) == 1 else at])
        except PaimonError as error:
            results.append(str(error))
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("value", "kind", "typed", "rest"),
    [
        (variant.integer(300), "TINYINT", None, variant.integer(300)),
        (variant.integer(-128), "TINYINT", -128, None),
        (variant.integer(2**63 - 1), "BIGINT", 2**63 - 1, None),
        (variant.integer(7), "DECIMAL(5, 2)", Decimal("7.00"), None),
        (variant.integer(1000), "DECIMAL(5, 2)", None, variant.integer(1000)),
        (variant.integer(7), "DOUBLE", None, variant.integer(7)),
        (variant.decimal(Decimal("7.00")), "INT", 7, None),
        (variant.decimal(Decimal("7.10")), "INT", None, variant.decimal(Decimal("7.10"))),
        (variant.decimal(Decimal("7.10")), "DECIMAL(5, 1)", Decimal("7.1"), None),
        (variant.decimal(Decimal("7.15")), "DECIMAL(5, 1)", None, variant.decimal(Decimal("7.15"))),
        (variant.decimal(Decimal(10**20)), "DECIMAL(38, 10)", Decimal(10**20), None),
        (variant.decimal(Decimal(10**30)), "DECIMAL(38, 10)", None, variant.decimal(Decimal(10**30))),
        (variant.decimal(Decimal("1e-18")), "DECIMAL(18, 18)", Decimal("1e-18"), None),
        (variant.decimal(Decimal(10**20).scaleb(-2)), "BIGINT", 10**18, None),
        (variant.double(1.0), "FLOAT", None, variant.double(1.0)),
        (variant.text("5"), "INT", None, variant.text("5")),
        (b"\x00", "INT", None, b"\x00"),
        (variant.date(3), "STRING", None, variant.date(3)),
    ],
)
def test_what_a_typed_column_takes(value: bytes, kind: str, typed: Any, rest: bytes | None) -> None:
    """Java: VariantShreddingWriter.tryTypedShred, with numeric changes of scale."""
    made = shredded(column([(value, b"\x01\x00\x00")]), parse_type(kind)).to_pylist()[0]
    assert (made["typed_value"], made["value"]) == (typed, rest)


@pytest.mark.parametrize(
    ("values", "options", "shape"),
    [
        (["1", "22"], {}, "BIGINT"),
        (["1", "2.5"], {}, "DECIMAL(18, 1)"),
        (["12345678901234567890", "0.5"], {}, "DECIMAL(38, 1)"),
        (["1234567890123456789", "0.5"], {}, "DECIMAL(38, 1)"),
        (["1", '"x"'], {}, "VARIANT"),
        (["1", "null"], {}, "BIGINT"),
        (["null"], {}, "VARIANT"),
        (["[1, 2]", "[2.5]"], {}, "ARRAY<DECIMAL(18, 1)>"),
        (["[1, 2]", "[]"], {}, "ARRAY<VARIANT>"),
        (['{"b": 1, "a": "x"}', '{"b": 2}'], {}, "ROW<`a` STRING, `b` BIGINT>"),
        (['{"b": 1, "a": "x"}', '{"b": 2}'], {"least_share": 0.6}, "ROW<`b` BIGINT>"),
        (['{"b": 1, "a": "x"}', '{"b": 2}'], {"most_columns": 4}, "ROW<`a` STRING, `b` VARIANT>"),
        (['{"": 1}'], {}, "VARIANT"),
        (['{"a": {"b": 1}}'], {"most_levels": 1}, "ROW<`a` VARIANT>"),
    ],
)
def test_inferred_shapes(values: list[str], options: dict[str, Any], shape: str) -> None:
    rules = InferenceRules(**options)
    seen = look_at(column([VariantUtils.parse_json(value) for value in values]), rules.most_levels)
    assert type_sql(shape_of(seen, rules, Room(rules.most_columns))) == shape


def test_a_sample_of_the_first_rows() -> None:
    values = [VariantUtils.parse_json(text) for text in ('{"a": 1}', '{"b": 1}')]
    batches = [pa.record_batch({"v": column([value])}) for value in values]
    fields = [DataField(0, "v", DataType(Root.VARIANT))]
    shapes = [Shredding(rules=InferenceRules(sample_rows=n)).shapes(fields, batches) for n in (1, 2)]
    assert [type_sql(shape[(0,)]) for shape in shapes] == ["ROW<`a` BIGINT>", "ROW<`a` BIGINT, `b` BIGINT>"]


@pytest.mark.parametrize("kind", ["DATE", "ROW<a TIMESTAMP(3)>", "ARRAY<BYTES>", "CHAR(3)", "MAP<STRING, INT>"])
def test_shapes_that_are_refused(kind: str) -> None:
    with pytest.raises(OptionError, match="writes no shredded values"):
        check_shape(parse_type(kind), "the option")


def test_an_object_with_a_field_twice_is_damaged() -> None:
    value = variant.object_of([(0, variant.integer(1)), (0, variant.integer(2))])
    with pytest.raises(DataError, match="'a' twice"):
        shredded(column([(value, Names(b"\x01\x01\x00\x01a").metadata())]), parse_type("ROW<a INT>"))


def test_random_json() -> None:
    """The values that Spark's own parser makes."""
    random = Random(3)
    rows = column([VariantUtils.parse_json(json.dumps(random_json(random))) for _ in range(50)])
    shape = random_shape(random)
    assert texts(whole_variants(shredded(rows, shape))) == texts(rows)
