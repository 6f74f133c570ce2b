"""Data types and internal values for the tests of spec: golden ones parsed, random ones drawn."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypeVar

from hypothesis import strategies as st

from paimon_spark.errors import CorruptFile, UnsupportedFeature
from paimon_spark.format.types import BINARIES, MAX_LENGTH, STRINGS, TIMESTAMPS, DataField, DataType, Root
from support.paths import GOLDEN

T = TypeVar("T")

BYTES = GOLDEN / "bytes"
STRING = DataType(Root.VARCHAR, length=MAX_LENGTH)
INT = DataType(Root.INT)
BIGINT = DataType(Root.BIGINT)


def golden_cases(path: str) -> list[dict[str, Any]]:
    """The cases of a golden JSON file below golden/bytes."""
    cases: list[dict[str, Any]] = json.loads((BYTES / path).read_text("utf-8"))["cases"]
    return cases


def as_float32(value: float) -> float:
    number: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return number


def internal(value: Any, t: DataType) -> Any:
    """A golden value as an internal value (encodings: golden/INDEX.md)."""
    if value is None:
        return None
    if t.root in BINARIES:
        return bytes.fromhex(value.removeprefix("0x"))
    if t.root is Root.DECIMAL:
        return Decimal(value)
    if t.root in TIMESTAMPS:
        seconds, _, fraction = value.partition(".")
        instant = int(datetime.fromisoformat(seconds).replace(tzinfo=UTC).timestamp())
        return instant * 10**9 + int(fraction.ljust(9, "0") or 0)
    if t.root is Root.FLOAT:
        return as_float32(float(value))
    if t.root is Root.DOUBLE:
        return float(value)
    if t.root in (Root.ARRAY, Root.VECTOR):
        return [internal(item, t.inner) for item in value]
    if t.root is Root.MAP:
        return [(internal(k, t.key_type), internal(v, t.inner)) for k, v in value["map"]]
    if t.root is Root.MULTISET:
        return [(internal(k, t.inner), count) for k, count in value["map"]]
    if t.root is Root.ROW:
        return tuple(internal(item, f.type) for item, f in zip(value, t.fields, strict=True))
    return value


# ------------------------------------------------------------------------------------------------------ random types


def atomic_types() -> st.SearchStrategy[DataType]:
    """Types of one value without parts, all of them."""
    nullable = st.booleans()
    simple = st.sampled_from(
        [Root.BOOLEAN, Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT, Root.FLOAT, Root.DOUBLE, Root.DATE]
    )
    lengths = st.one_of(st.integers(1, 20), st.just(MAX_LENGTH))
    decimals = st.integers(1, 38).flatmap(
        lambda p: st.builds(lambda s, n: DataType(Root.DECIMAL, n, precision=p, scale=s), st.integers(0, p), nullable)
    )
    return st.one_of(
        st.builds(DataType, simple, nullable),
        st.builds(
            lambda r, n, x: DataType(r, n, length=x), st.sampled_from(sorted(STRINGS | BINARIES)), nullable, lengths
        ),
        decimals,
        st.builds(
            lambda r, n, p: DataType(r, n, precision=p),
            st.sampled_from([Root.TIME, Root.TIMESTAMP, Root.TIMESTAMP_LTZ]),
            nullable,
            st.integers(0, 9),
        ),
    )


def data_types() -> st.SearchStrategy[DataType]:
    """Types of any depth; fields of rows are numbered anyhow."""

    def nest(inner: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
        nullable = st.booleans()
        fields = st.lists(inner, max_size=3).map(
            lambda types: tuple(DataField(i, f"f{i}", t) for i, t in enumerate(types))
        )
        return st.one_of(
            st.builds(lambda t, n: DataType(Root.ARRAY, n, element=t), inner, nullable),
            st.builds(lambda t, n: DataType(Root.MULTISET, n, element=t), inner, nullable),
            st.builds(lambda k, v, n: DataType(Root.MAP, n, key=k, element=v), inner, inner, nullable),
            st.builds(lambda f, n: DataType(Root.ROW, n, fields=f), fields, nullable),
        )

    return st.recursive(atomic_types(), nest, max_leaves=6)


def values_of(t: DataType) -> st.SearchStrategy[Any]:
    """Internal values of a type, extremes and None included."""
    return st.one_of(st.none(), _values(t)) if t.nullable else _values(t)


def _values(t: DataType) -> st.SearchStrategy[Any]:
    bits = {Root.TINYINT: 8, Root.SMALLINT: 16, Root.INT: 32, Root.BIGINT: 64, Root.DATE: 32}
    if t.root in bits:
        return st.integers(-(2 ** (bits[t.root] - 1)), 2 ** (bits[t.root] - 1) - 1)
    if t.root is Root.BOOLEAN:
        return st.booleans()
    if t.root is Root.TIME:
        return st.integers(0, 86_399_999)
    if t.root is Root.FLOAT:
        return st.floats(width=32)
    if t.root is Root.DOUBLE:
        return st.floats()
    if t.root in STRINGS:
        return st.text(max_size=12)
    if t.root in BINARIES:
        return st.binary(max_size=20)
    if t.root is Root.DECIMAL:
        limit = 10 ** (t.precision or 0) - 1
        return st.integers(-limit, limit).map(lambda n: Decimal(f"{n}E-{t.scale}"))
    if t.root in TIMESTAMPS:
        unit = 10**6 if (t.precision or 0) <= 3 else 1
        return st.integers(-(2**62), 2**62).map(lambda n: n // unit * unit)
    if t.root is Root.ARRAY:
        return st.lists(values_of(t.inner), max_size=40)
    if t.root is Root.MULTISET:
        return st.lists(st.tuples(values_of(t.inner), st.integers(0, 9)), max_size=3)
    if t.root is Root.MAP:
        return st.lists(st.tuples(values_of(t.key_type), values_of(t.inner)), max_size=3)
    return st.tuples(*(values_of(f.type) for f in t.fields))


def decoded_or_named_error(decode: Callable[[bytes, str], T], data: bytes) -> T | None:
    """What decode makes of damaged data; None after an error of ours that names the file. Any other error passes."""
    try:
        return decode(data, "the-file")
    except (CorruptFile, UnsupportedFeature) as error:
        message = str(error)
    assert "the-file" in message
    return None


def damaged(data: bytes) -> Iterator[bytes]:
    """The data cut at every length, then with every byte changed in two ways."""
    for length in range(len(data)):
        yield data[:length]
    for at in range(len(data)):
        for mask in (0x01, 0xFF):
            yield data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]
