"""The genuine tables of tests/golden as values that compare with what we read (encodings: golden/INDEX.md).

A row becomes a tuple of hashable values: NaN the text "NaN", -0.0 apart from 0.0, DATE days, TIME millis, TIMESTAMP and
LTZ nanoseconds since the epoch, MAP a frozenset of pairs, ARRAY and ROW tuples. ``comparable`` makes the same of Arrow.
"""

from __future__ import annotations

import json
import math
import tarfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_spark.spec.types import DataType, Root

GOLDEN = Path(__file__).parent / "golden"
Row = tuple[Any, ...]
NANOS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


@dataclass(frozen=True)
class GoldenTable:
    """One table made by a genuine writer: its archive and what the genuine reader returns."""

    writer: str
    name: str

    def __str__(self) -> str:
        return f"{self.writer}/{self.name}"

    def expectation(self) -> dict[str, Any]:
        text = (GOLDEN / "tables" / self.writer / f"{self.name}.json").read_text()
        return json.loads(text)  # type: ignore[no-any-return]  # the JSON's own shape

    def unpack(self, target: Path) -> Path:
        """The table directory, unpacked under target."""
        with tarfile.open(GOLDEN / "tables" / self.writer / f"{self.name}.tar.gz") as archive:
            archive.extractall(target, filter="data")
        (table,) = [path for path in target.iterdir() if path.is_dir()]
        return table


def golden_tables() -> list[GoldenTable]:
    return [GoldenTable(p.parent.name, p.stem) for p in sorted((GOLDEN / "tables").glob("*/*.json"))]


def expected_rows(rows: Sequence[Any], types: Sequence[DataType]) -> Counter[Row]:
    """The rows of an expectation file, ``[kind, [values]]`` each, as a multiset; +I or +U says nothing in a read."""
    return Counter(tuple(_parse(value, t) for value, t in zip(row, types, strict=True)) for _, row in rows)


def _parse(value: Any, t: DataType) -> Any:
    if value is None:
        return None
    if t.root is Root.FLOAT:
        return float_value(float(np.float32(value)))
    if t.root is Root.DOUBLE:
        return float_value(float(value))
    if t.root is Root.DECIMAL:
        return Decimal(value)
    if t.root in (Root.BINARY, Root.VARBINARY):
        return bytes.fromhex(value.removeprefix("0x"))
    if t.root in (Root.TIMESTAMP, Root.TIMESTAMP_LTZ):
        return parse_nanos(value)
    if t.root is Root.ARRAY:
        return tuple(_parse(item, t.inner) for item in value)
    if t.root in (Root.MAP, Root.MULTISET):
        key, item = (t.key_type, t.inner) if t.root is Root.MAP else (t.inner, DataType(Root.INT))
        return frozenset((_parse(k, key), _parse(v, item)) for k, v in value["map"])
    if t.root is Root.ROW:
        return tuple(_parse(item, f.type) for item, f in zip(value, t.fields, strict=True))
    return value


def parse_nanos(text: str) -> int:
    """Nanoseconds since the epoch of an ISO local date-time of any year and up to nine digits of fraction."""
    seconds, _, fraction = text.partition(".")
    return int(np.datetime64(seconds, "s").astype(np.int64)) * 10**9 + int(fraction.ljust(9, "0") or 0)


def float_value(value: float) -> Any:
    return "NaN" if math.isnan(value) else (value, math.copysign(1.0, value))


def comparable(table: pa.Table) -> Counter[Row]:
    """The rows of an Arrow table as a multiset of the same values."""
    columns = [_values(column.combine_chunks()) for column in table.columns]
    return Counter(zip(*columns, strict=True)) if columns else Counter({(): table.num_rows})


def _values(array: pa.Array) -> list[Any]:
    if isinstance(array, pa.ChunkedArray):  # combine_chunks of a column without rows
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    t = array.type
    if pa.types.is_timestamp(t):
        unit = NANOS[t.unit]
        return [None if v is None else v * unit for v in array.cast(pa.int64()).to_pylist()]
    if pa.types.is_date32(t) or pa.types.is_time32(t):
        return array.cast(pa.int32()).to_pylist()
    if pa.types.is_floating(t):
        return [None if v is None else float_value(v) for v in array.to_pylist()]
    if pa.types.is_map(t):
        pairs = list(zip(_values(array.keys), _values(array.items), strict=True))
        return _sliced(array, pairs, frozenset)
    if pa.types.is_list(t):
        return _sliced(array, _values(array.values), tuple)
    if pa.types.is_struct(t):
        fields = [_values(array.field(i)) for i in range(t.num_fields)]
        rows = zip(*fields, strict=True)
        return [row if valid else None for row, valid in zip(rows, array.is_valid().to_pylist(), strict=True)]
    return array.to_pylist()


def _sliced(array: pa.Array, items: list[Any], collect: type) -> list[Any]:
    offsets, valid = array.offsets.to_pylist(), array.is_valid().to_pylist()
    return [collect(items[a:b]) if ok else None for a, b, ok in zip(offsets, offsets[1:], valid, strict=False)]
