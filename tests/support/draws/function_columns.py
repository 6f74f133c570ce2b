"""Random columns and values for aggregate functions, and what the product makes of them.

Values are those of ``pyarrow``'s to_pylist: rows are dicts, maps lists of pairs.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.types import arrow_type
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root
from paimon_spark.merge.aggregates.frame import FieldOptions
from paimon_spark.merge.aggregates.registry import aggregate_for
from paimon_spark.merge.engines.folding import FoldRows, fold_column

FUNCTIONS = [
    "product", "bool_and", "bool_or", "listagg", "collect", "merge_map", "merge_map_with_keytime", "nested_update",
    "nested_partial_update",
]  # fmt: skip
RETRACTING = {"product", "collect", "merge_map", "nested_update"}
UNORDERED = {"merge_map", "merge_map_with_keytime", "nested_partial_update"}
Draw = Callable[[random.Random], Any]

INT, STRING, DOUBLE = DataType(Root.INT), DataType(Root.VARCHAR, length=MAX_LENGTH), DataType(Root.DOUBLE)
NAN, HUGE = float("nan"), 2**31 - 1
TEXTS = [
    "",
    " ",
    "\t\u3000",
    "\u00a0",
    "a",
    "b",
    "a,b",
    "b,,a",
    ",",
    "c, ,a",
    "é",
    "a|",
    "|b",
    "||",
    "a b",
    "\U0001f600",
    "\uffff",
    "\ue000",
]
TIMES = [None, "1", "2", "10", "\uffff", "\U0001f600", "\ue000", "", "2024-01-01"]


@dataclass(frozen=True)
class Settings:
    """The options of a column, and its type."""

    type: DataType
    delimiter: str = ","
    distinct: bool = False
    nested_key: tuple[str, ...] = ()
    nested_sequence: tuple[str, ...] = ()
    nested_key_null: str = "merge"
    count_limit: int = 2**31 - 1
    ts_field: str | None = None


def frozen(value: Any) -> Any:
    """Something hashable that is equal for values that are."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else (value, math.copysign(1, value))
    if isinstance(value, dict):
        return tuple((name, frozen(item)) for name, item in value.items())
    if isinstance(value, list):
        items = [frozen(item) for item in value]
        return frozenset(items) if value and isinstance(value[0], tuple) else tuple(items)
    if isinstance(value, tuple):
        return tuple(frozen(item) for item in value)
    return (type(value).__name__, value)


def row_type(**fields: DataType) -> DataType:
    return DataType(Root.ROW, fields=tuple(DataField(90 + i, name, t) for i, (name, t) in enumerate(fields.items())))


def decimals(texts: str) -> list[Any]:
    return [None, *map(Decimal, texts.split())]


PAIR = row_type(a=INT, b=STRING)
ITEM = row_type(k=INT, l=STRING, s=INT, d=DOUBLE, v=STRING)
ELEMENTS: list[tuple[DataType, list[Any]]] = [
    (INT, [None, 1, 2, 3]),
    (STRING, [None, "", "a", "b", "a\0"]),
    (DOUBLE, [None, 0.0, -0.0, NAN, 1.5]),
    (DataType(Root.VARBINARY, length=MAX_LENGTH), [None, b"", b"a"]),
    (DataType(Root.BOOLEAN), [None, True, False]),
    (DataType(Root.DECIMAL, precision=30, scale=2), [None, Decimal("1.00"), Decimal("-12345678901234567890.25")]),
    (PAIR, [None, {"a": 1, "b": "x"}, {"a": 1, "b": None}, {"a": None, "b": None}]),
    (DataType(Root.ARRAY, element=INT), [None, [], [1], [1, None], [None, 1], [1, 1]]),
    (
        DataType(Root.MAP, key=STRING, element=INT),
        [None, [], [("a", 1)], [("a", 1), ("b", None)], [("b", None), ("a", 1)]],
    ),
]
NUMBERS: list[tuple[DataType, list[Any]]] = [
    (DataType(Root.TINYINT), [None, 0, 1, -1, 2, -3, 11, -128]),
    (DataType(Root.SMALLINT), [None, 1, -1, 2, 181, -32768]),
    (INT, [None, 0, 1, -1, 2, 3, 7, 46341, -(2**31)]),
    (DataType(Root.BIGINT), [None, 1, -1, 2, 3, 10**9, -(2**63), 3037000500]),
    (DataType(Root.FLOAT), [None, 0.0, -0.0, 1.5, float(np.float32(0.1)), NAN, 2.0**127, 2.0**-140]),
    (DOUBLE, [None, 0.0, -0.0, 1.5, 0.1, 3.3, float("inf"), 1e300, 5e-324]),
    (DataType(Root.DECIMAL, precision=10, scale=2), decimals("0.00 1.00 -0.50 2.50 0.03 1.25 12345.67")),
    (DataType(Root.DECIMAL, precision=38, scale=10), decimals("1.0 -0.5 3.0000000001 12345678901234.5 1e-10")),
]
MAP_KEYS: list[tuple[DataType, list[Any]]] = [
    (INT, [1, 2, 3]),
    (STRING, ["", "a", "é"]),
    (DOUBLE, [0.0, -0.0, NAN]),
    (DataType(Root.VARBINARY, length=MAX_LENGTH), [b"", b"a"]),
    (PAIR, [{"a": 1, "b": "x"}, {"a": 1, "b": None}]),
]


@dataclass(frozen=True)
class Drawn:
    """What a column is, and values for it."""

    settings: Settings
    value: Draw


def draw_column(name: str, r: random.Random) -> Drawn:
    if name == "product":
        t, values = r.choice(NUMBERS)
        return Drawn(Settings(t), lambda r: r.choice(values))
    if name.startswith("bool"):
        return Drawn(Settings(DataType(Root.BOOLEAN)), lambda r: r.choice([None, True, False]))
    if name == "listagg":
        settings = Settings(STRING, r.choice([",", "", "||", "ab", ", "]), r.random() < 0.6)
        return Drawn(settings, lambda r: r.choice([None, *TEXTS]))
    if name == "collect":
        t, values = r.choice(ELEMENTS)
        settings = Settings(DataType(Root.ARRAY, element=t), distinct=r.random() < 0.5)
        return Drawn(settings, lambda r: some(r, values))
    if name == "merge_map":
        (t, keys), (item, items) = r.choice(MAP_KEYS), r.choice(ELEMENTS)
        return Drawn(
            Settings(DataType(Root.MAP, key=t, element=item)), lambda r: some_map(r, keys, lambda r: r.choice(items))
        )
    if name == "merge_map_with_keytime":
        return draw_timed_map(r)
    return draw_nested(name, r)


def draw_timed_map(r: random.Random) -> Drawn:
    t, keys = r.choice(MAP_KEYS)
    ts_field, nulls = r.choice([None, "t", "l"]), r.random() < 0.6
    settings = Settings(DataType(Root.MAP, key=t, element=row_type(v=INT, t=STRING, l=STRING)), ts_field=ts_field)

    def row(r: random.Random) -> Any:
        if nulls and r.random() < 0.2:
            return None
        return {"v": r.choice([None, 1, 2, 3]), **{n: r.choice(TIMES[0 if nulls else 1 :]) for n in "tl"}}

    return Drawn(settings, lambda r: some_map(r, keys, row))


def draw_nested(name: str, r: random.Random) -> Drawn:
    keyed = name == "nested_partial_update" or r.random() < 0.6
    settings = Settings(
        DataType(Root.ARRAY, element=ITEM),
        nested_key=r.choice([("k",), ("k", "l"), ("d",)]) if keyed else (),
        nested_sequence=r.choice([(), ("s",), ("s", "k")]) if keyed and name == "nested_update" else (),
        nested_key_null=r.choice(["merge", "merge", "ignore", "error"]) if keyed else "merge",
        count_limit=r.choice([HUGE, HUGE, 0, 1, 2, 3]) if name == "nested_update" else HUGE,
    )
    null = 0 if settings.nested_key_null == "error" and r.random() < 0.8 else 0.15

    def row(r: random.Random) -> Any:
        if r.random() < 0.1:
            return None
        values: dict[str, list[Any]] = {
            "k": [1, 2],
            "l": ["x", "y"],
            "s": [1, 2, 3],
            "d": [0.0, -0.0, NAN],
            "v": ["p", "q"],
        }
        return {n: None if r.random() < null else r.choice(v) for n, v in values.items()}

    return Drawn(settings, lambda r: None if r.random() < 0.15 else [row(r) for _ in range(r.choice([0, 1, 1, 2, 3]))])


def some(r: random.Random, values: list[Any]) -> Any:
    return None if r.random() < 0.15 else [r.choice(values) for _ in range(r.choice([0, 1, 1, 2, 4]))]


def some_map(r: random.Random, keys: list[Any], item: Draw) -> Any:
    return None if r.random() < 0.15 else [(key, item(r)) for key in r.sample(keys, r.randint(0, len(keys)))]


def draw_steps(name: str, drawn: Drawn, r: random.Random) -> list[tuple[str, Any]]:
    retracts, lates = name in RETRACTING and r.random() < 0.6, r.random() < 0.4
    if drawn.settings.nested_key and drawn.settings.count_limit < HUGE:
        lates = False  # which rows then find room in the late one goes by the order of Java's hash table
    steps = []
    for i in range(r.choice([1, 1, 2, 3, 5, 9])):
        kinds = ["put"] * 3 + ["late"] * (2 * lates) + ["retract"] * (2 * retracts) + ["seed"] * (3 * (i == 0))
        steps.append((r.choice(kinds), drawn.value(r)))
    if retracts and name in ("collect", "product") and r.random() < 0.5:  # take back what was put in
        steps.append(("retract", r.choice(steps)[1]))
    return steps


def fold(name: str, drawn: Drawn, keys: list[list[tuple[str, Any]]], r: random.Random) -> list[Any]:
    """What the product makes of it; the values lie in any order in an array that is sliced."""
    s = drawn.settings
    options = FieldOptions(
        False, s.delimiter, s.distinct, s.nested_key, s.nested_sequence, s.nested_key_null, s.count_limit, s.ts_field
    )
    steps = [step for key in keys for step in key]
    order = r.sample(range(len(steps)), len(steps)) if r.random() < 0.5 else list(range(len(steps)))
    filler = [drawn.value(r) for _ in range(r.randint(0, 3))]
    values: list[Any] = [None] * len(steps)
    for place, step in zip(order, steps, strict=True):
        values[place] = step[1]
    array = pa.array(filler + values + filler, arrow_type(s.type)).slice(len(filler), len(values))
    kinds = np.array([what for what, _ in steps])
    starts = np.cumsum([0, *map(len, keys[:-1])])
    rows = FoldRows(np.array(order), starts, kinds == "retract", kinds == "late", kinds[starts] == "seed")
    result = fold_column(aggregate_for("c", name, s.type, options), array, rows)
    result.validate(full=True)
    assert result.type == array.type
    return list(result.to_pylist())


def is_unordered(name: str, s: Settings) -> bool:
    """Java gives no order to the elements of the result."""
    return name in UNORDERED or (name == "collect" and s.distinct) or (name == "nested_update" and bool(s.nested_key))


def comparable(name: str, s: Settings, values: list[Any]) -> list[Any]:
    if is_unordered(name, s):
        return [None if value is None else sorted(map(repr, map(frozen, value))) for value in values]
    return [frozen(value) for value in values]


def hll_parts(data: bytes) -> tuple[bytes, list[bytes]]:
    """What an HLL says, whatever the order in which it was given: list and set forms hold numbers of four bytes in any
    order; out of order (a flag) the estimate in bytes 8 to 16 is not used, and each library leaves another one there.
    """
    form, out_of_order = data[7] & 3, data[5] & 0x10
    if form == 2:
        return (data[:8] + data[16:] if out_of_order else data), []
    start = 12 if form == 1 else 8
    return data[:start], sorted(data[at : at + 4] for at in range(start, len(data), 4))
