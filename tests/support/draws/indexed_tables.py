"""Random tables with file indexes, and conditions on them: values at the limits of every type, few of them distinct."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from paimon_spark.arrow.predicates.predicate import (
    Compare,
    In,
    IsNotNull,
    IsNull,
    Like,
    Not,
    Op,
    Predicate,
    StartsWith,
    Wildcard,
    and_,
    or_,
)
from paimon_spark.arrow.types import to_internal
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

_PREFIX = "a long prefix that many have in common " * 8
_MICROS = [0, 1, -1, 999, 1000, -1000, 1_600_000_000_000_000, 1_600_000_000_000_001, -62_135_596_800_000_000]


_TEXTS = ["", "a", "a\0", "ab", "b", _PREFIX, _PREFIX + "x", _PREFIX + "y", "é", "e\u0301", "\U0001f600", "\uffff"]


def _times(unit: str) -> list[int]:
    if unit == "ms":
        return [micros // 1000 for micros in _MICROS]
    return [*_MICROS, 1001, 1999]


def _decimals(*texts: str) -> list[Decimal]:
    return [Decimal(text) for text in texts]


POOLS: Mapping[pa.DataType, Sequence[Any]] = MappingProxyType(
    {
        pa.bool_(): [True, False],
        pa.int8(): [-128, -1, 0, 1, 5, 127],
        pa.int16(): [-(2**15), -1, 0, 1, 300, 2**15 - 1],
        pa.int32(): [-(2**31), -1, 0, 1, 7, 70_000, 2**31 - 1],
        pa.int64(): [-(2**63) + 1, -(2**62), -1, 0, 1, 2**31, 2**40 + 1, 2**63 - 1],
        pa.float32(): [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.5, -1.5, 1e-45, 3.4028234663852886e38],
        pa.float64(): [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 0.1, -0.1, 5e-324, 1.7976931348623157e308],
        pa.string(): _TEXTS,
        pa.binary(): [b"", b"\0", b"a", b"\xff", b"\xff\xff", b"ab" * 40],
        pa.date32(): [-719_162, -141_428, -141_427, -1, 0, 1, 18_000, 2_932_896],
        pa.time32("ms"): [0, 1, 999, 43_200_000, 86_399_999],
        pa.timestamp("ms"): _times("ms"),
        pa.timestamp("us"): _times("us"),
        pa.timestamp("ns"): _times("ns"),
        pa.timestamp("us", "UTC"): _times("us"),
        pa.timestamp("ms", "UTC"): _times("ms"),
        pa.decimal128(5, 2): _decimals("-999.99", "-0.01", "0.00", "0.01", "1.10", "999.99"),
        pa.decimal128(18, 4): _decimals("-99999999999999.9999", "-1.5", "0", "0.0001", "99999999999999.9999"),
        pa.decimal128(38, 10): _decimals("-1.5", "0", "123456789.0123456789", "9999999999999999999.5"),
    }
)  # fmt: skip
_INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.date32(), pa.time32("ms")]
_TIMES = [t for t in POOLS if pa.types.is_timestamp(t)]
_FINE = pa.timestamp("ns")
_COARSE_TIMES = [t for t in _TIMES if t != _FINE]
_FLOATS = [pa.float32(), pa.float64()]
_SHORT_DECIMALS = [pa.decimal128(5, 2), pa.decimal128(18, 4)]
TYPES: Mapping[str, Sequence[pa.DataType]] = MappingProxyType(
    {
        "bloom-filter": [*_INTEGERS, *_TIMES, *_FLOATS, pa.string(), pa.binary()],
        "bitmap": [*_INTEGERS, *_TIMES, *_FLOATS, pa.string(), pa.bool_()],
        "bsi": [*_INTEGERS, *_TIMES, *(t for t in POOLS if pa.types.is_decimal(t))],
        "range-bitmap": [*_INTEGERS, *_COARSE_TIMES, *_FLOATS, pa.string(), pa.bool_(), *_SHORT_DECIMALS],
    }
)  # fmt: skip
"""The types that an index of each kind can hold."""
_OPTIONS: Mapping[str, Sequence[Mapping[str, str]]] = MappingProxyType(
    {
        "bloom-filter": [{"items": "20", "fpp": "0.05"}, {"items": "3"}, {"items": "500", "fpp": "0.3"}],
        "bitmap": [{}, {"version": "1"}, {"index-block-size": "400 b"}],
        "bsi": [{}],
        "range-bitmap": [{}, {"chunk-size": "0 b"}, {"chunk-size": "20 b"}],
    }
)


@dataclass(frozen=True)
class IndexedTable:
    """A table of one indexed column, and the values that were drawn from."""

    table: ReadableTable
    kind: str
    data_type: pa.DataType
    pool: Sequence[Any]


def draw_table(random: random.Random, kind: str, path: Path, files: int = 4, **options: str) -> IndexedTable:
    """A new append table of some files, each of some of the values."""
    drawn = draw_empty(random, kind, path, **options)
    fill(drawn, draw_values(random, drawn, files))
    return drawn


def fill(drawn: IndexedTable, parts: Iterable[list[Any]]) -> None:
    """Writes a file for each part, in one commit."""
    messages = []
    for number, values in enumerate(parts):
        task = TableWrite(drawn.table, "u", number)
        columns = [pa.array(range(len(values)), pa.int64()), pa.array(values, drawn.data_type)]
        task.write(pa.record_batch(columns, schema=pa.schema([("id", pa.int64()), ("v", drawn.data_type)])))
        messages += task.finish()
    TableCommit(drawn.table, "u").append(messages)


def draw_empty(random: random.Random, kind: str, path: Path, **options: str) -> IndexedTable:
    """A new append table without rows; options go before those that are drawn."""
    data_type = random.choice(TYPES[kind])
    file_format = random.choice(["parquet", "parquet", "parquet", "orc", "avro"])
    if data_type in (_FINE, pa.time32("ms")) or (pa.types.is_timestamp(data_type) and file_format == "orc"):
        file_format = "parquet"
    drawn = {
        f"file-index.{kind}.columns": "v",
        "file-index.in-manifest-threshold": random.choice(["0 b", "1 mb"]),
        "file.format": file_format,
        "metadata.stats-mode": random.choice(["none", "truncate(16)"]),
        "bucket": "-1",
        **{f"file-index.{kind}.v.{name}": text for name, text in random.choice(_OPTIONS[kind]).items()},
    }
    columns = pa.schema([("id", pa.int64()), ("v", data_type)])
    create_table(str(path), new_schema(columns, (), (), drawn | options))
    return IndexedTable(open_table(str(path)), kind, data_type, POOLS[data_type])


def draw_values(random: random.Random, drawn: IndexedTable, files: int) -> Iterator[list[Any]]:
    """The values of the rows of each file."""
    for _ in range(files):
        some = random.sample(list(drawn.pool), random.randint(1, min(4, len(drawn.pool))))
        yield [random.choice([*some, None]) for _ in range(random.randint(1, 40))]


def draw_condition(random: random.Random, data_type: pa.DataType, pool: Sequence[Any], depth: int = 2) -> Predicate:
    """A condition on the column ``v``, of values that some file has or none has."""
    if depth and random.random() < 0.35:
        parts = [draw_condition(random, data_type, pool, depth - 1) for _ in range(2)]
        if random.random() >= 0.7:
            return Not(parts[0])
        return and_(*parts) if random.choice([True, False]) else or_(*parts)
    column, literals = ("v",), [to_internal(pa.scalar(value, data_type)) for value in pool]
    shape = random.random()
    if shape < 0.1:
        return IsNull(column) if random.choice([True, False]) else IsNotNull(column)
    if shape < 0.25:
        return In(column, tuple(random.sample(literals, min(2, len(literals)))), random.random() < 0.2)
    if shape < 0.4 and pa.types.is_string(data_type):
        text = str(random.choice(literals))[: random.randint(0, 3)]
        likes: list[Predicate] = [Like(column, (text, Wildcard.ANY)), Like(column, (text,))]
        return random.choice([StartsWith(column, text), *likes])
    return Compare(column, random.choice(list(Op)), random.choice(literals))
