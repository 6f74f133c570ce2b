"""A naive model of the merge: Python dicts and tuples, no code shared with the product; and what draws random runs."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cmp_to_key
from typing import Any

import pyarrow as pa

from paimon_spark.arrow.types import arrow_type
from paimon_spark.format.types import DataField, DataType, Root

RETRACTIONS = (1, 3)
NAN2 = struct.unpack("<d", struct.pack("<Q", 0xFFF8 << 48 | 7))[0]

LONG = "x" * 150
TEXTS = ["", "\0", "a", "a\0", "a\0\0", "b", "ba", "ba\0", "bb", "é", "\uffff", "\U0001f600", "\x7f", "\x80"]
TEXTS += ["customer-1", "customer-2", "customer-11", "customer-1\0", "12345678", "123456789", "12345678\0", "1234567"]
KEY_VALUES: dict[DataType, list[Any]] = {
    DataType(Root.BOOLEAN): [False, True],
    DataType(Root.TINYINT): [-128, -1, 0, 1, 127],
    DataType(Root.SMALLINT): [-32768, -1, 0, 300, 32767],
    DataType(Root.INT): [-(2**31), -5, -1, 0, 1, 7, 2**31 - 1],
    DataType(Root.BIGINT): [-(2**63), -(2**62), -1, 0, 1, 2, 3, 2**62, 2**63 - 1],
    DataType(Root.FLOAT): [-math.inf, -1.5, -0.0, 0.0, 1.5, math.inf, math.nan],
    DataType(Root.DOUBLE): [-math.inf, -1e300, -5e-324, -0.0, 0.0, 5e-324, 1.5, math.inf, math.nan, NAN2],
    DataType(Root.DECIMAL, precision=5, scale=2): [Decimal(t) for t in ("-999.99", "-0.01", "0.00", "0.01", "999.99")],
    DataType(Root.DECIMAL, precision=38, scale=3): [
        Decimal(t)
        for t in (
            "-99999999999999999999999999999999999.999",
            "-18446744073709551.616",
            "-0.001",
            "0.000",
            "0.001",
            "9223372036854775.807",
            "9223372036854775.808",
            "18446744073709551.615",
            "18446744073709551.616",
            "99999999999999999999999999999999999.999",
        )
    ],
    DataType(Root.VARCHAR): TEXTS,
    DataType(Root.VARCHAR, length=1000): [*TEXTS, LONG, LONG + "\0", LONG + "a", LONG + "b", "x" * 149],
    DataType(Root.CHAR, length=4): ["aaaa", "aaab", "zzzz", "a  z"],
    DataType(Root.VARBINARY): [b"", b"\0", b"\0\0", b"\x7f", b"\x80", b"\xff", b"\xff\0", b"\xff" * 9, b"\xff" * 8],
    DataType(Root.BINARY, length=16): [bytes(16), bytes(15) + b"\1", b"\xff" * 16, b"\x80" + bytes(15)],
    DataType(Root.DATE): [-719162, -1, 0, 1, 20000],
    DataType(Root.TIME, precision=3): [0, 1, 86399999],
    DataType(Root.TIMESTAMP, precision=3): [-(10**12), -1, 0, 1, 10**12],
    DataType(Root.TIMESTAMP, precision=6): [-(10**15), -1, 0, 1, 10**15],
    DataType(Root.TIMESTAMP, precision=9): [-(10**18), -1, 0, 1, 10**18],
    DataType(Root.TIMESTAMP_LTZ, precision=6): [-(10**15), -1, 0, 1, 10**15],
}


def value_order(value: Any) -> Any:
    """One value in Java's order, by comparing numbers and bytes."""
    if isinstance(value, float):
        if math.isnan(value):
            return (1, 0.0, 0)
        return (0, value, 0 if math.copysign(1, value) < 0 else 1)
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def key_order(key: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(value_order(value) for value in key)


@dataclass(frozen=True)
class Row:
    """A row of the model. Values are in the unit of the Arrow column."""

    key: tuple[Any, ...]
    payload: int
    sequence: int = 0
    kind: int = 0
    user: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Rules:
    """The rules of one merge, as the model reads them."""

    descending: bool = False
    ignore_delete: bool = False
    ignore_update_before: bool = False
    keep_deletes: bool = False
    by_sequence: bool = True
    by_user: bool = False


def merge_naively(runs: Sequence[Sequence[Row]], rules: Rules) -> list[Row]:
    """The rows that are left, in key order: rows one after the other into a dict of the best one so far."""
    best: dict[Any, Row] = {}
    for run in runs:
        for row in run:
            if rules.ignore_delete and row.kind in RETRACTIONS:
                continue
            if rules.ignore_update_before and row.kind == 1:
                continue
            key = key_order(row.key)
            if key not in best or not is_older(row, best[key], rules):
                best[key] = row
    rows = [best[key] for key in sorted(best)]
    return [row for row in rows if rules.keep_deletes or row.kind not in RETRACTIONS]


def is_older(row: Row, other: Row, rules: Rules) -> bool:
    """Does the row that came later count less?"""
    if rules.by_user:
        for mine, theirs in zip(row.user, other.user, strict=True):
            if mine is None and theirs is None:
                continue
            if mine is None or theirs is None:
                return mine is None
            if value_order(mine) != value_order(theirs):
                return bool(value_order(mine) < value_order(theirs)) != rules.descending
    if rules.by_sequence:
        if row.sequence != other.sequence:
            return row.sequence < other.sequence
        return row.kind in RETRACTIONS and other.kind not in RETRACTIONS
    return False


@dataclass
class Case:
    """Random rows in sorted runs."""

    key_types: tuple[DataType, ...]
    user_types: tuple[DataType, ...]
    runs: list[list[Row]]
    rules: Rules
    random: random.Random
    key_fields: tuple[DataField, ...] = field(init=False)
    user_fields: tuple[DataField, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.key_fields = tuple(DataField(i, f"_KEY_k{i}", t) for i, t in enumerate(self.key_types))
        self.user_fields = tuple(DataField(50 + i, f"u{i}", t) for i, t in enumerate(self.user_types))

    def batch(self, rows: Sequence[Row]) -> pa.RecordBatch:
        """Rows as Arrow, with every column that a merge may ask for."""
        columns: dict[str, pa.Array] = {}
        for i, f in enumerate(self.key_fields):
            columns[f.name] = typed([row.key[i] for row in rows], f.type)
        for i, f in enumerate(self.user_fields):
            columns[f.name] = typed([row.user[i] for row in rows], f.type)
        columns["_SEQUENCE_NUMBER"] = pa.array([row.sequence for row in rows], pa.int64())
        columns["_VALUE_KIND"] = pa.array([row.kind for row in rows], pa.int8())
        columns["payload"] = pa.array([row.payload for row in rows], pa.int64())
        columns["text"] = pa.array(
            [None if row.payload % 3 == 0 else f"row {row.payload}" for row in rows], pa.string()
        )
        return pa.record_batch(columns)

    def batches(self, rows: Sequence[Row]) -> Iterator[pa.RecordBatch]:
        """The rows in slices of bigger batches, cut anywhere, with empty ones between."""
        filler = list(rows[:1]) * self.random.randint(0, 3)
        position = 0
        while position < len(rows) or self.random.random() < 0.2:
            count = self.random.choice([0, 1, 1, 2, 3, 10])
            part = list(rows[position : position + count])
            position += len(part)
            yield self.batch(filler + part + filler).slice(len(filler), len(part))


def text_of(payload: int) -> str | None:
    """A second value column, which follows from the first, sometimes null."""
    return None if payload % 3 == 0 else f"row {payload}"


def typed(values: Sequence[Any], data_type: DataType) -> pa.Array:
    """An array of Arrow's own form; times and timestamps are given as ints of the column's unit."""
    arrow = arrow_type(data_type)
    if data_type.root in (Root.DATE, Root.TIME, Root.TIMESTAMP, Root.TIMESTAMP_LTZ):
        storage = pa.int32() if data_type.root in (Root.DATE, Root.TIME) else pa.int64()
        return pa.array(values, storage).cast(arrow)
    return pa.array(values, arrow)


def draw_case(seed: int, rules: Rules | None = None, unique_in_run: bool = False) -> Case:
    """Types, rows, runs and rules from a seed."""
    source = random.Random(seed)
    types = list(KEY_VALUES)
    key_types = tuple(source.choice(types) for _ in range(source.choice([1, 1, 1, 2, 2, 3, 5])))
    user_types = tuple(source.choice(types) for _ in range(source.choice([1, 1, 2])))
    if rules is None:
        rules = Rules(*(source.random() < share for share in (0.4, 0.4, 0.4, 0.4, 0.7, 0.5)))
    pool = {key_order(key): key for key in (random_key(source, key_types) for _ in range(source.choice([1, 4, 20])))}
    keys = list(pool.values())
    runs: list[list[Row]] = []
    payload = 0
    retracting = source.random() < 0.5
    for _ in range(source.randint(1, 5)):
        picked = source.sample(keys, source.randint(0, len(keys)))
        if not unique_in_run and source.random() < 0.3:
            picked += [source.choice(keys) for _ in range(source.randint(0, 6))]
        run = []
        for key in sorted(picked, key=key_order):
            payload += 1
            user = tuple(source.choice([None, *KEY_VALUES[t]]) for t in user_types)
            kind = source.choice([0, 0, 1, 2, 3]) if retracting else source.choice([0, 2])
            run.append(Row(key, payload, source.choice([0, 1, 2, 2**40, -5]), kind, user))
        runs.append(run)
    return Case(key_types, user_types, runs, rules, source)


def random_key(source: random.Random, types: Sequence[DataType]) -> tuple[Any, ...]:
    return tuple(source.choice(KEY_VALUES[t]) for t in types)


def by_model_order(rows: Sequence[Row], rules: Rules) -> list[Row]:
    """Rows of one key, the one that counts last at the end."""

    def compare(a: Row, b: Row) -> int:
        return -1 if is_older(a, b, rules) else int(is_older(b, a, rules))

    return sorted(rows, key=cmp_to_key(compare))
