"""Hashes, buckets and groups of whole batches against the golden vectors and the scalar rule of format/bucket.py."""

import datetime as dt
import json
import math
import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.long_runs import examples
from support.paths import GOLDEN

from paimon_spark.arrow.row_buckets import assign_buckets, group_rows
from paimon_spark.arrow.row_hash import hash_rows
from paimon_spark.arrow.types import arrow_schema, from_internal
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.binary_row import decode_arity_row, encode_arity_row, encode_row, row_hash
from paimon_spark.format.bucket import bucket_of
from paimon_spark.format.manifest import EMPTY_ROW
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import BINARIES, FLOATS, MAX_LENGTH, NESTED, TIMESTAMPS, DataField, DataType, Root

GOLDEN = GOLDEN / "bytes"
T = DataType
KEY_TYPES = [
    T(Root.BOOLEAN), T(Root.TINYINT), T(Root.SMALLINT), T(Root.INT), T(Root.BIGINT), T(Root.FLOAT), T(Root.DOUBLE),
    T(Root.VARCHAR, length=MAX_LENGTH), T(Root.CHAR, length=5), T(Root.VARBINARY, length=MAX_LENGTH),
    T(Root.BINARY, length=4), T(Root.DATE), T(Root.TIME, precision=3),
    T(Root.DECIMAL, precision=5, scale=2), T(Root.DECIMAL, precision=18, scale=18),
    T(Root.DECIMAL, precision=19, scale=0), T(Root.DECIMAL, precision=38, scale=10),
    *(T(root, precision=p) for root in (Root.TIMESTAMP, Root.TIMESTAMP_LTZ) for p in (0, 3, 4, 6, 9)),
]  # fmt: skip


def batch_of(rows: list[tuple[Any, ...]], types: list[DataType]) -> tuple[pa.RecordBatch, list[DataField]]:
    fields = [DataField(i, f"c{i}", t) for i, t in enumerate(types)]
    columns = [from_internal([row[i] for row in rows], t) for i, t in enumerate(types)]
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(fields)), fields


def golden_value(value: Any, data_type: DataType) -> Any:
    if value is None:
        return None
    if data_type.root in FLOATS:
        return float(value)
    if data_type.root is Root.DECIMAL:
        return Decimal(value)
    if data_type.root in BINARIES:
        return bytes.fromhex(value[2:])
    if data_type.root in TIMESTAMPS:
        whole, _, fraction = value.partition(".")
        seconds = (dt.datetime.fromisoformat(whole) - dt.datetime(1970, 1, 1)) // dt.timedelta(seconds=1)
        return seconds * 10**9 + int(fraction.ljust(9, "0"))
    return value


def golden_cases(path: str) -> list[Any]:
    cases = []
    for i, case in enumerate(json.loads((GOLDEN / path).read_text())["cases"]):
        types = [parse_type(t) for t in case["types"]]
        if not any(t.root in NESTED for t in types) and case.get("row_kind", 0) == 0:
            values = tuple(golden_value(v, t) for v, t in zip(case["values"], types, strict=True))
            cases.append(pytest.param(types, values, case, id=f"{path}-{i}-{case['types'][0]}"))
    return cases


BINARY_ROWS = golden_cases("java-0.9/binary_row.json") + golden_cases("java-2.1/binary_row.json")


@pytest.mark.parametrize(("types", "values", "case"), BINARY_ROWS)
def test_hashes_and_buckets_of_genuine_rows(types: list[DataType], values: tuple[Any, ...], case: Any) -> None:
    batch, fields = batch_of([values, values], types)
    assert hash_rows(batch, fields).tolist() == [case.get("projection_hash", case["hash"])] * 2
    for buckets, bucket in case.get("projection_bucket", case["bucket"]).items():
        assert assign_buckets(batch, fields, int(buckets), "default").tolist() == [bucket] * 2


def test_golden_rows_are_there() -> None:
    assert len(BINARY_ROWS) > 150


@pytest.mark.parametrize(("types", "values", "case"), golden_cases("java-2.1/bucket_functions.json"))
def test_buckets_of_genuine_mod_and_hive(types: list[DataType], values: tuple[Any, ...], case: Any) -> None:
    batch, fields = batch_of([values], types)
    for buckets, bucket in case["bucket"].items():
        assert assign_buckets(batch, fields, int(buckets), case["function"]).tolist() == [bucket]


def values_of(t: DataType) -> st.SearchStrategy[Any]:
    bits = {Root.TINYINT: 7, Root.SMALLINT: 15, Root.INT: 31, Root.BIGINT: 63, Root.DATE: 20}.get(t.root)
    if bits is not None:
        edges = st.sampled_from([0, 1, -1, 2**bits - 1, -(2**bits)])
        return edges | st.integers(-(2**bits), 2**bits - 1)
    match t.root:
        case Root.BOOLEAN:
            return st.booleans()
        case Root.FLOAT | Root.DOUBLE:
            width = 32 if t.root is Root.FLOAT else 64
            return st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf]) | st.floats(width=width)
        case Root.VARCHAR:
            return st.sampled_from(["", "ba", "ba\0", "é" * 4, "1234567", "12345678", "x" * 300]) | st.text(max_size=40)
        case Root.CHAR:
            return st.text(min_size=5, max_size=5)
        case Root.VARBINARY:
            return st.binary(max_size=40) | st.binary(min_size=7, max_size=9)
        case Root.BINARY:
            return st.binary(min_size=4, max_size=4)
        case Root.TIME:
            return st.integers(0, 86_399_999)
        case Root.DECIMAL:
            return decimals_of(t)
        case _:
            step = 10**6 if t.precision <= 3 else 10**3 if t.precision <= 6 else 1
            return st.integers(-(2**62) // step, 2**62 // step).map(lambda n: n * step)


def decimals_of(t: DataType) -> st.SearchStrategy[Decimal]:
    limit = 10**t.precision - 1
    powers = st.integers(0, t.precision - 1).flatmap(lambda d: st.sampled_from([10**d, -(10**d)]))
    edges = [e for k in range(7, 128, 8) for e in (2**k, 2**k - 1, -(2**k), -(2**k) - 1) if abs(e) <= limit]
    unscaled = st.integers(-limit, limit) | powers | st.sampled_from([0, *edges])
    return unscaled.map(lambda u: Decimal(f"{u}e-{t.scale}"))


@st.composite
def keyed_rows(draw: st.DrawFn, pool: list[DataType]) -> tuple[list[DataType], list[tuple[Any, ...]]]:
    types = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=4))
    row = st.tuples(*(st.none() | values_of(t) for t in types))
    return types, draw(st.lists(row, max_size=12))


@settings(max_examples=examples(300))
@given(keyed_rows(KEY_TYPES), st.integers(1, 1000), st.integers(0, 3))
def test_equals_the_scalar_rule(case: tuple[list[DataType], list[tuple[Any, ...]]], buckets: int, skip: int) -> None:
    types, rows = case
    batch, fields = batch_of(rows, types)
    batch, rows = batch.slice(skip), rows[skip:]  # an offset into every buffer
    assert hash_rows(batch, fields).tolist() == [row_hash(encode_row(row, types)) for row in rows]
    expected = [bucket_of(row, types, buckets, "default") for row in rows]
    assert assign_buckets(batch, fields, buckets, "default").tolist() == expected


HIVE_TYPES = [t for t in KEY_TYPES if t.root not in TIMESTAMPS]


@settings(max_examples=examples(200))
@given(keyed_rows(HIVE_TYPES), st.integers(1, 1000), st.integers(0, 3))
def test_hive_equals_the_scalar_rule(
    case: tuple[list[DataType], list[tuple[Any, ...]]], buckets: int, skip: int
) -> None:
    types, rows = case
    batch, fields = batch_of(rows, types)
    expected = [bucket_of(row, types, buckets, "hive") for row in rows[skip:]]
    assert assign_buckets(batch.slice(skip), fields, buckets, "hive").tolist() == expected


@settings(max_examples=examples(50))
@given(st.sampled_from([Root.INT, Root.BIGINT]), st.data(), st.integers(1, 1000))
def test_mod_equals_the_scalar_rule(root: Root, data: st.DataObject, buckets: int) -> None:
    rows = [(v,) for v in data.draw(st.lists(st.none() | values_of(T(root)), max_size=8))]
    batch, fields = batch_of(rows, [T(root)])
    expected = [bucket_of(row, [T(root)], buckets, "mod") for row in rows]
    assert assign_buckets(batch, fields, buckets, "mod").tolist() == expected


def test_many_sections_and_one_huge_value() -> None:
    words = ["x" * (i % 60) for i in range(70_000)]
    words[40_000] = "é" * 70_000
    types = [T(Root.VARCHAR, length=MAX_LENGTH), T(Root.INT)]
    rows = [(word, i) for i, word in enumerate(words)]
    batch, fields = batch_of(rows, types)
    hashes = hash_rows(batch, fields)
    for i in [*range(0, 70_000, 997), 32_767, 32_768, 40_000, 69_999]:
        assert hashes[i] == row_hash(encode_row(rows[i], types))


def test_other_arrow_forms_of_a_column() -> None:
    plain, fields = batch_of([("a",), ("a longer one",), (None,)], [T(Root.VARCHAR, length=MAX_LENGTH)])
    expected = hash_rows(plain, fields).tolist()
    for form in (pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.string_view()):
        other = pa.RecordBatch.from_arrays([plain.column(0).cast(form)], names=["c0"])
        assert hash_rows(other, fields).tolist() == expected


def test_every_nan_is_hashed_as_one() -> None:
    odd = struct.unpack("<d", bytes.fromhex("010000000000f8ff"))[0]
    array = pa.Array.from_buffers(pa.float64(), 2, [None, pa.py_buffer(struct.pack("<dd", odd, math.nan))])
    fields = [DataField(0, "c0", T(Root.DOUBLE))]
    batch = pa.RecordBatch.from_arrays([array], names=["c0"])
    expected = row_hash(encode_row((math.nan,), [T(Root.DOUBLE)]))
    assert hash_rows(batch, fields).tolist() == [expected] * 2
    assert len(group_rows(batch, fields, None)) == 1


@pytest.mark.parametrize(
    ("function", "types"),
    [
        ("mod", [T(Root.SMALLINT)]),
        ("mod", [T(Root.INT), T(Root.INT)]),
        ("hive", [T(Root.TIMESTAMP, precision=3)]),
        ("default", [T(Root.ARRAY, element=T(Root.INT))]),
        ("round-robin", [T(Root.INT)]),
    ],
)
def test_refused_keys(function: str, types: list[DataType]) -> None:
    batch, fields = batch_of([tuple([] if t.root is Root.ARRAY else 1 for t in types)], types)
    with pytest.raises(UnsupportedFeature):
        assign_buckets(batch, fields, 4, function)


def naive_groups(
    rows: list[tuple[Any, ...]], types: list[DataType], buckets: list[int] | None
) -> list[tuple[bytes, int, list[int]]]:
    groups: dict[bytes, dict[int, list[int]]] = {}
    for i, row in enumerate(rows):
        of_partition = groups.setdefault(encode_arity_row(row, types), {})
        of_partition.setdefault(buckets[i] if buckets else 0, []).append(i)
    return [(partition, b, found[b]) for partition, found in groups.items() for b in sorted(found)]


@settings(max_examples=examples(200))
@given(st.data(), st.integers(0, 2))
def test_groups_equal_a_dict(data: st.DataObject, skip: int) -> None:
    types = data.draw(st.lists(st.sampled_from(KEY_TYPES), max_size=3))
    pools = [data.draw(st.lists(st.none() | values_of(t), min_size=1, max_size=3)) for t in types]
    rows = data.draw(st.lists(st.tuples(*(st.sampled_from(pool) for pool in pools)), max_size=20))
    batch, fields = batch_of(rows, types) if types else (pa.RecordBatch.from_pylist([{"x": 1}] * len(rows)), [])
    batch, rows = batch.slice(skip), rows[skip:]
    buckets = data.draw(
        st.none() | st.lists(st.sampled_from([0, 1, 2, 70_000]), min_size=len(rows), max_size=len(rows))
    )
    found = group_rows(batch, fields, None if buckets is None else np.array(buckets, np.int32))
    assert [(p, b, rows.tolist()) for p, b, rows in found] == naive_groups(rows, types, buckets)


def test_groups_of_zeros_and_nans() -> None:
    rows = [(0.0,), (-0.0,), (math.nan,), (None,), (math.nan,), (0.0,)]
    batch, fields = batch_of(rows, [T(Root.FLOAT)])
    found = group_rows(batch, fields, None)
    assert [(str(decode_arity_row(p, [T(Root.FLOAT)])[0]), r.tolist()) for p, _, r in found] == [
        ("0.0", [0, 5]),
        ("-0.0", [1]),
        ("nan", [2, 4]),
        ("None", [3]),
    ]


def test_groups_without_partitions_or_rows() -> None:
    batch, _ = batch_of([(1,), (2,)], [T(Root.INT)])
    assert [(p, b, r.tolist()) for p, b, r in group_rows(batch, [], None)] == [(EMPTY_ROW, 0, [0, 1])]
    assert group_rows(batch.slice(2), [], None) == []


def test_groups_whose_codes_do_not_fit_an_integer() -> None:
    """Eight columns of 1024 values each make 2**80 combinations."""
    types = [T(Root.INT)] * 8
    rows = [tuple((i * (j + 1)) % 1024 for j in range(8)) for i in range(2048)]
    batch, fields = batch_of(rows, types)
    found = [(p, b, r.tolist()) for p, b, r in group_rows(batch, fields, None)]
    assert found == naive_groups(rows, types, None)
