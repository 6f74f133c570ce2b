"""Random data types with values that fit them, for property tests of anything that stores or moves columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from paimon_spark.arrow.types import arrow_schema, from_internal, to_internal
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root

NANOS_1677, NANOS_2262 = -(2**63) + 1, 2**63 - 1
YEAR_1, YEAR_9999 = -62135596800 * 10**9, 253402300800 * 10**9 - 1
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["", "ba", "ba\0", "é😀", "zz "]
)
FLOATS = st.floats(width=32) | st.sampled_from([math.nan, -0.0, 0.0, math.inf, -math.inf])
DOUBLES = st.floats() | st.sampled_from([math.nan, -0.0, 0.0, math.inf, -math.inf, 5e-324])


def integers(bits: int) -> st.SearchStrategy[int]:
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return st.integers(low, high) | st.sampled_from([low, high, 0, -1])


@dataclass(frozen=True)
class Limits:
    """What some store cannot do.

    timestamp_digits, time_digits: the greatest precision; old_fractions: fractions of a millisecond before 1970;
    any_multiset: multisets of other things than text; minus_zero: -0.0 beside 0.0; variants: VARIANT; vectors: VECTOR.
    """

    timestamp_digits: int = 9
    time_digits: int = 9
    old_fractions: bool = True
    any_multiset: bool = True
    minus_zero: bool = True
    variants: bool = False
    vectors: bool = False


ANYTHING = Limits()


def scalar_types(limits: Limits = ANYTHING) -> st.SearchStrategy[DataType]:
    plain = st.sampled_from([r for r in Root if r in (Root.BOOLEAN, Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT,
                                                      Root.FLOAT, Root.DOUBLE, Root.DATE)])  # fmt: skip
    return st.one_of(
        plain.map(DataType),
        st.integers(1, 38).flatmap(
            lambda p: st.integers(0, p).map(lambda s: DataType(Root.DECIMAL, precision=p, scale=s))
        ),
        _text_types(),
        st.sampled_from([Root.BINARY, Root.VARBINARY]).map(lambda r: DataType(r, length=MAX_LENGTH)),
        st.integers(0, limits.time_digits).map(lambda p: DataType(Root.TIME, precision=p)),
        st.tuples(st.sampled_from([Root.TIMESTAMP, Root.TIMESTAMP_LTZ]), st.integers(0, limits.timestamp_digits)).map(
            lambda rp: DataType(rp[0], precision=rp[1])
        ),
    )


def _text_types() -> st.SearchStrategy[DataType]:
    chars = st.integers(8, 20).map(lambda n: DataType(Root.CHAR, length=n))
    return chars | st.just(DataType(Root.VARCHAR, length=MAX_LENGTH))


def data_types(limits: Limits = ANYTHING) -> st.SearchStrategy[DataType]:
    def nested(inner: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
        keys = scalar_types(limits).map(lambda t: t.with_nullable(False))
        counted = keys if limits.any_multiset else _text_types().map(lambda t: t.with_nullable(False))
        return st.one_of(
            inner.map(lambda t: DataType(Root.ARRAY, element=t)),
            st.tuples(keys, inner).map(lambda kv: DataType(Root.MAP, key=kv[0], element=kv[1])),
            counted.map(lambda k: DataType(Root.MULTISET, element=k)),
            st.lists(inner, min_size=1, max_size=3).map(_row),
        )

    nullable = st.booleans()
    variants = st.just(DataType(Root.VARIANT)) if limits.variants else st.nothing()
    vectors = _vector_types() if limits.vectors else st.nothing()
    scalars = st.tuples(scalar_types(limits) | variants | vectors, nullable).map(lambda tn: tn[0].with_nullable(tn[1]))
    return st.recursive(
        scalars,
        lambda inner: st.tuples(nested(inner), nullable).map(lambda tn: tn[0].with_nullable(tn[1])),
        max_leaves=4,
    )


def _vector_types() -> st.SearchStrategy[DataType]:
    numbers = st.sampled_from([Root.BOOLEAN, Root.TINYINT, Root.BIGINT, Root.FLOAT, Root.DOUBLE])
    elements = st.tuples(numbers, st.booleans()).map(lambda rn: DataType(rn[0], rn[1]))
    return st.tuples(elements, st.integers(1, 4)).map(lambda el: DataType(Root.VECTOR, element=el[0], length=el[1]))


def _row(types: list[DataType]) -> DataType:
    return DataType(Root.ROW, fields=tuple(DataField(100 + i, f"f{i}", t) for i, t in enumerate(types)))


def values(t: DataType, limits: Limits = ANYTHING) -> st.SearchStrategy[Any]:
    """Internal values of a type; None where it is nullable."""
    present = _present(t, limits)
    return st.none() | present if t.nullable else present


def _present(t: DataType, limits: Limits = ANYTHING) -> st.SearchStrategy[Any]:
    match t.root:
        case Root.BOOLEAN:
            return st.booleans()
        case Root.TINYINT | Root.SMALLINT | Root.INT | Root.BIGINT:
            return integers({Root.TINYINT: 8, Root.SMALLINT: 16, Root.INT: 32, Root.BIGINT: 64}[t.root])
        case Root.FLOAT:
            return FLOATS if limits.minus_zero else FLOATS.map(_plus_zero)
        case Root.DOUBLE:
            return DOUBLES if limits.minus_zero else DOUBLES.map(_plus_zero)
        case Root.DECIMAL:
            limit = 10 ** (t.precision or 0) - 1
            numbers = st.integers(-limit, limit) | st.sampled_from([limit, -limit, 0])
            return numbers.map(lambda n: Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -(t.scale or 0))))
        case Root.CHAR:
            return TEXTS.map(lambda text: text.rstrip(" "))  # what CHAR cannot keep in ORC
        case Root.VARCHAR:
            return TEXTS
        case Root.BINARY | Root.VARBINARY:
            return st.binary(max_size=8)
        case Root.DATE:
            return st.integers(YEAR_1 // (86400 * 10**9), YEAR_9999 // (86400 * 10**9))
        case Root.TIME:
            return st.integers(0, 86_399_999)
        case Root.TIMESTAMP | Root.TIMESTAMP_LTZ:
            return _timestamps(t.precision or 0, limits.old_fractions)
        case Root.VARIANT:
            return st.tuples(st.binary(min_size=1, max_size=8), st.binary(min_size=1, max_size=8))
        case Root.ARRAY:
            return st.lists(values(t.inner, limits), max_size=3)
        case Root.VECTOR:
            return st.lists(_present(t.inner, limits), min_size=t.length or 0, max_size=t.length)
        case Root.MAP:
            return _maps(t.key_type, values(t.inner, limits), limits)
        case Root.MULTISET:
            return _maps(t.inner, st.integers(1, 5), limits)
    return st.tuples(*(values(f.type, limits) for f in t.fields))


def _plus_zero(value: float) -> float:
    return value + 0.0  # changes nothing but -0.0


def _timestamps(precision: int, old_fractions: bool) -> st.SearchStrategy[int]:
    low, high = (NANOS_1677, NANOS_2262) if precision > 6 else (YEAR_1, YEAR_9999)
    unit = 10 ** (9 - (3 if precision <= 3 else 6 if precision <= 6 else 9))
    near = st.integers(-2 * 10**9, 2 * 10**9)
    whole = max(unit, 1 if old_fractions else 10**6)
    numbers = st.integers(low, high) | near | st.sampled_from([low + 10**6, high, 0, -1])
    cut = numbers.map(lambda n: n // (whole if n < 0 else unit) * (whole if n < 0 else unit))
    return cut.filter(lambda n: n >= low)


def _maps(key: DataType, items: st.SearchStrategy[Any], limits: Limits) -> st.SearchStrategy[list[tuple[Any, Any]]]:
    return st.lists(st.tuples(_present(key, limits), items), max_size=3, unique_by=lambda kv: repr(kv[0]))


@st.composite
def batches(
    draw: st.DrawFn, limits: Limits = ANYTHING, max_rows: int = 12
) -> tuple[tuple[DataField, ...], pa.RecordBatch]:
    """Columns of random types, and rows that fit them."""
    types = draw(st.lists(data_types(limits), min_size=1, max_size=4))
    fields = tuple(DataField(i, f"c{i}", t) for i, t in enumerate(types))
    rows = draw(st.integers(0, max_rows))
    columns = [draw(st.lists(values(t, limits), min_size=rows, max_size=rows)) for t in types]
    arrays = [from_internal(column, t) for column, t in zip(columns, types, strict=True)]
    return fields, pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(fields))


def plain(value: Any) -> Any:
    """An internal value in a form that compares exactly: NaN equals NaN, -0.0 differs from 0.0."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else (value, math.copysign(1, value))
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def rows_of(batch: pa.RecordBatch | pa.Table) -> list[list[Any]]:
    """The rows of a batch in comparable form."""
    columns = [[plain(to_internal(scalar)) for scalar in column] for column in batch.columns]
    return [list(row) for row in zip(*columns, strict=True)]
