"""Random tables of every merge engine and aggregate function, and rows for them that no engine refuses."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from java_values import options_of, to_java
from pyroaring import BitMap
from random_tables import VALUES
from support.draws.function_columns import ELEMENTS, Drawn, draw_column, hll_parts

from paimon_spark.format.art_bitmap import decode_art_bitmap
from paimon_spark.format.type_text import format_type
from paimon_spark.format.types import BINARIES, NESTED, DataType, Root

Draw = Callable[[random.Random], Any]
Canon = Callable[[Any], Any]
Blobs = Mapping[str, list[bytes]]

PICKS = ["last_value", "last_non_null_value", "first_value", "first_non_null_value", "first_not_null_value"]
EXTREMES = ["max", "min"]
SETS = ["rbm32", "rbm64", "hll_sketch", "theta_sketch"]
LISTS = ["collect", "merge_map", "merge_map_with_keytime", "nested_update", "nested_partial_update"]
FUNCTIONS = [*PICKS, *EXTREMES, *SETS, *LISTS, "sum", "product", "bool_and", "bool_or", "listagg"]
RETRACTING = {"last_value", "last_non_null_value", "sum", "product", "collect", "merge_map", "nested_update"}
# No retraction of these ends in an error: nothing overflows, every quotient is exact.
SUMMANDS: dict[str, list[Any]] = {
    "INT": [0, 1, -7, 1000],
    "BIGINT": [0, 1, -7, 2**40],
    "DOUBLE": [0.1, -0.0, 1e16, 3.25],
    "DECIMAL(20, 2)": [Decimal("0.01"), Decimal("-12345678901.25")],
    "TINYINT": [0],
}
FACTORS: dict[str, list[Any]] = {
    "INT": [1, -1],
    "DOUBLE": [0.1, -3.0, 2.0],
    "FLOAT": [1.5, -0.5],
    "DECIMAL(38, 6)": [Decimal("1.000000"), Decimal("-0.500000"), Decimal("2.000000")],
}


def same(value: Any) -> Any:
    return value


@dataclass
class EngineColumn:
    """A value column. canon: what of its values all readers must agree on."""

    name: str
    type: Any
    draw: Draw
    options: dict[str, str] = field(default_factory=dict)
    retracts: bool = True
    canon: Canon = same


@dataclass
class EngineTable:
    """A table, and the row kinds that its engine takes."""

    columns: dict[str, Any]
    keys: list[str]
    draws: list[Draw]
    canons: list[Canon]
    options: dict[str, str]
    kinds: list[str]

    def rows(self, r: random.Random, count: int) -> list[tuple[Any, ...]]:
        return [tuple(draw(r) for draw in self.draws) for _ in range(count)]

    def rows_and_kinds(self, r: random.Random, most: int) -> tuple[list[tuple[Any, ...]], list[str]]:
        """At least one row and at most so many, and what each does."""
        rows = self.rows(r, r.randint(1, most))
        return rows, [r.choice(self.kinds) for _ in rows]

    def canonical(self, row: Iterable[Any]) -> tuple[Any, ...]:
        """What of a row all readers must agree on."""
        return tuple(canon(value) for canon, value in zip(self.canons, row, strict=True))

    def canonical_rows(self, rows: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
        """The same of a multiset of rows."""
        made: Counter[tuple[Any, ...]] = Counter()
        for row, count in rows.items():
            made[self.canonical(row)] += count
        return made


def draw_table(r: random.Random, engine: str, blobs: Blobs) -> EngineTable:
    """A table of an engine: aggregation, partial-update, groups (partial-update with sequence groups), first-row or
    deduplicate; blobs: values of the functions of opaque bytes."""
    retracts = r.random() < 0.5
    build = {"aggregation": _aggregation, "partial-update": _overlay, "groups": _groups}.get(engine, _plain)
    columns, options, kinds = build(r, retracts, blobs, engine)
    options = {
        **options,
        "merge-engine": "partial-update" if engine == "groups" else engine,
        "bucket": str(r.choice([1, 1, 2])),
        "file.format": r.choice(["parquet", "parquet", "avro"]),
    }
    if engine in ("aggregation", "deduplicate", "partial-update") and r.random() < 0.4:
        columns += [_plain_column(r, "s1", ["INT", "BIGINT", "DATE", "TIMESTAMP(6)"])]
        options["sequence.field"] = "s1"
        options["sequence.field.sort-order"] = r.choice(["ascending", "descending"])
    for column in columns:
        options |= {f"fields.{column.name}.{key}": value for key, value in column.options.items()}
    keys = [_key(r, f"k{i}") for i in range(r.choice([1, 1, 2]))]
    everything = [*keys, *r.sample(columns, len(columns))]
    return EngineTable(
        {c.name: c.type for c in everything},
        [c.name for c in keys],
        [c.draw for c in everything],
        [c.canon for c in everything],
        options,
        kinds,
    )


Built = tuple[list[EngineColumn], dict[str, str], list[str]]
ADDS, ALL = ["+I", "+I", "+U"], ["+I", "+I", "+I", "+U", "-U", "-D"]


def _aggregation(r: random.Random, retracts: bool, blobs: Blobs, engine: str) -> Built:
    columns = [draw_function(r, f"v{i}", r.choice(FUNCTIONS), retracts, blobs) for i in range(r.randint(2, 6))]
    options: dict[str, str] = {}
    if not retracts:
        return columns, options, ADDS
    if r.random() < 0.3:
        return columns, {"ignore-delete": "true"}, ALL
    if r.random() < 0.4:
        # A row of kind -D starts its key again, in columns of all functions; one of kind -U is retracted.
        takes_back = ["-U"] if all(column.retracts for column in columns) else []
        return columns, {"aggregation.remove-record-on-delete": "true"}, [*ADDS, *ADDS, *takes_back, "-D", "-D"]
    _let_ignore(columns)
    return columns, options, ALL


def _let_ignore(columns: list[EngineColumn]) -> None:
    for column in columns:
        if not column.retracts:
            column.options["ignore-retract"] = "true"


def _overlay(r: random.Random, retracts: bool, blobs: Blobs, engine: str) -> Built:
    columns = [_plain_column(r, f"v{i}", [*VALUES]) for i in range(r.randint(2, 6))]
    if not retracts:
        return columns, {}, ADDS
    option = r.choice(["ignore-delete", "partial-update.remove-record-on-delete"])
    return columns, {option: "true"}, ALL


def _groups(r: random.Random, retracts: bool, blobs: Blobs, engine: str) -> Built:
    columns, options, sequences = [], dict[str, str](), []
    for g in range(r.choice([1, 2, 2])):
        sequence = [_plain_column(r, f"g{g}{i}", ["INT", "BIGINT", "DATE"]) for i in range(r.choice([1, 1, 2]))]
        for column in sequence:
            pool = [None, *VALUES[column.type][:3]]
            column.draw = lambda r, pool=pool: r.choice(pool)
        members = []
        for i in range(r.randint(1, 3)):
            name = f"m{g}{i}"
            if r.random() < 0.7:
                members.append(draw_function(r, name, r.choice(FUNCTIONS), retracts, blobs, late=True))
            else:
                members.append(_plain_column(r, name, [*VALUES]))
        options[f"fields.{','.join(c.name for c in sequence)}.sequence-group"] = ",".join(c.name for c in members)
        columns += [*sequence, *members]
        sequences.append(sequence[0].name)
    columns.append(_plain_column(r, "w", [*VALUES]))
    if not retracts:
        return columns, options, ADDS
    if r.random() < 0.25:
        return columns, {**options, "ignore-delete": "true"}, ALL
    _let_ignore(columns)
    if r.random() < 0.4:
        options["partial-update.remove-record-on-sequence-group"] = r.choice(sequences)
    return columns, options, ALL


def _plain(r: random.Random, retracts: bool, blobs: Blobs, engine: str) -> Built:
    columns = [_plain_column(r, f"v{i}", [*VALUES]) for i in range(r.randint(1, 4))]
    if not retracts:
        return columns, {}, ADDS
    if engine == "first-row":
        return columns, {"ignore-delete": "true"}, ALL
    return columns, r.choice([{}, {"ignore-delete": "true"}, {"ignore-update-before": "true"}]), ALL


def _key(r: random.Random, name: str) -> EngineColumn:
    values = {"INT": [1, 2, 3], "STRING": ["a", "b", "é"], "BIGINT": [-1, 2**40], "DATE": [0, 19000]}
    t = r.choice(list(values))
    return EngineColumn(name, f"{t} NOT NULL", lambda r: r.choice(values[t]))


def _plain_column(r: random.Random, name: str, types: list[str]) -> EngineColumn:
    t = r.choice([t for t in types if t != "TIMESTAMP(9)"])  # which Avro has not
    return EngineColumn(name, t, _or_null(VALUES[t]))


def _or_null(values: list[Any]) -> Draw:
    return lambda r: None if r.random() < 0.25 else r.choice(values)


def draw_function(
    r: random.Random, name: str, function: str, retracts: bool, blobs: Blobs, late: bool = False
) -> EngineColumn:
    """A column with a function.

    Args:
        retracts: rows of the table retract.
        late: its rows may be late rows of a sequence group.
    """
    if function in SETS:
        t, draw = "BYTES", _or_null(blobs[function])
    elif function in (*PICKS, *EXTREMES, "sum", "product", "bool_and", "bool_or"):
        pools = {"sum": SUMMANDS, "product": FACTORS}.get(function, {"BOOLEAN": [True, False]})
        t = r.choice([*VALUES] if function in (*PICKS, *EXTREMES) else [*pools])
        if t == "TIMESTAMP(9)" or (t == "BOOLEAN" and function in EXTREMES):  # Avro has no such; Java fails on such
            t = "INT"
        draw = _or_null(VALUES[t] if function in (*PICKS, *EXTREMES) else pools[t])
    else:
        return _draw_list(r, name, function, retracts, late)
    canon = {"rbm32": _numbers_32, "rbm64": _numbers_64, "hll_sketch": _hll}.get(function, same)
    return EngineColumn(name, t, draw, {"aggregate-function": function}, function in RETRACTING, canon)


def _draw_list(r: random.Random, name: str, function: str, retracts: bool, late: bool) -> EngineColumn:
    drawn = _collect(r, retracts) if function == "collect" else draw_column(function, r)
    while not _takes(function, drawn, late):
        drawn = draw_column(function, r)
    s = drawn.settings
    options = {key.removeprefix("fields.c."): value for key, value in options_of(s).items()}
    unordered = (function == "collect" and s.distinct) or (function.startswith("nested") and bool(s.nested_key))
    return EngineColumn(
        name,
        format_type(s.type),
        lambda r: to_java(drawn.value(r), s.type),
        {"aggregate-function": function, **options},
        function in RETRACTING,
        _unordered if unordered else same,
    )


def _takes(function: str, drawn: Drawn, late: bool) -> bool:
    """Java 2.0.0 finds no equal keys of bytes, nor of rows read from files; and see test_functions_like_java."""
    s = drawn.settings
    if s.type.root is Root.MAP:
        return s.type.key_type.root not in BINARIES | {Root.ROW}
    limited_by_order = late and bool(s.nested_key) and s.count_limit < 2**31 - 1
    return s.nested_key_null != "error" and not limited_by_order


def _collect(r: random.Random, retracts: bool) -> Drawn:
    """Elements that Java can compare: rows of files are no Java objects with equals(), nulls in arrays are unequal."""
    distinct = r.random() < 0.5
    flat = [(t, values) for t, values in ELEMENTS if t.root not in NESTED | BINARIES]
    nested = [(t, values) for t, values in ELEMENTS if t.root in NESTED]
    t, values = r.choice(flat if retracts or distinct else flat + nested)
    if distinct and r.random() < 0.3:
        t, values = next((t, [v for v in values if v is not None]) for t, values in nested if t.root is Root.ROW)
    drawn = draw_column("listagg", r)
    settings = type(drawn.settings)(DataType(Root.ARRAY, element=t), distinct=distinct)

    def draw(r: random.Random) -> Any:
        return None if r.random() < 0.2 else [r.choice(values) for _ in range(r.choice([0, 1, 2, 3]))]

    return Drawn(settings, draw)


def _unordered(value: Any) -> Any:
    return None if value is None else tuple(sorted(map(repr, value)))


def _numbers_32(value: Any) -> Any:
    return None if value is None else tuple(BitMap.deserialize(value))


def _numbers_64(value: Any) -> Any:
    return None if value is None else tuple(decode_art_bitmap(value))


def _hll(value: Any) -> Any:
    """Registers and flags. The running estimate in bytes 8 to 16 of the full form depends on the order of unions."""
    if value is None:
        return None
    head, numbers = hll_parts(value)
    return (head if value[7] & 3 != 2 else value[:8] + value[16:]), tuple(numbers)
