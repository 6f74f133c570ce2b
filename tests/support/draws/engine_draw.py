"""Random tables and rows for the merge engines."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from paimon_spark.arrow.types import arrow_type
from paimon_spark.format.schema import SEQUENCE_NUMBER, VALUE_KIND, TableSchema
from paimon_spark.format.types import DataField, DataType, Root
from support.long_runs import tries
from support.oracles.engine_model import ModelRow, Rules, least_first

EXAMPLES = tries("PAIMON_ENGINE_EXAMPLES", ci=40, long=150)

INT = DataType(Root.INT)
VALUES: dict[DataType, list[Any]] = {
    DataType(Root.BOOLEAN): [False, True],
    DataType(Root.TINYINT): [-3, 0, 1, 2, 5],
    INT: [-(2**20), -1, 0, 1, 7, 2**20],
    DataType(Root.BIGINT): [-(2**40), -1, 0, 1, 3, 2**40],
    DataType(Root.DOUBLE): [-1.5, 0.0, 0.25, 1e10, 0.1, 0.2, 1e-9],
    DataType(Root.FLOAT): [-1.5, 0.0, 0.25, 1024.5],
    DataType(Root.DECIMAL, precision=10, scale=2): [Decimal("-1.25"), Decimal("0.00"), Decimal("999.99")],
    DataType(Root.DECIMAL, precision=38, scale=3): [Decimal("-12345678901234567890.125"), Decimal("0.001")],
    DataType(Root.VARCHAR): ["", "a", "a\0", "ab", "é", "\U0001f600", "x" * 100],
    DataType(Root.VARBINARY): [b"", b"\0", b"\xff", b"ab"],
    DataType(Root.DATE): [-1, 0, 20000],
    DataType(Root.TIMESTAMP, precision=6): [-1, 0, 10**15],
    DataType(Root.ARRAY, element=INT): [[], [1], [1, 2], [None, 2, 2], [3]],
    DataType(Root.MAP, key=INT, element=INT): [{}, {1: 1}, {1: 2, 2: None}, {3: 3}],
    DataType(Root.ROW, fields=(DataField(90, "x", INT), DataField(91, "y", DataType(Root.VARCHAR)))): [
        {"x": 1, "y": "a"},
        {"x": None, "y": None},
    ],
}
NESTED = {Root.ARRAY, Root.MAP, Root.ROW}
ORDERED = [t for t in VALUES if t.root not in NESTED]
NUMBERS = {Root.TINYINT, Root.INT, Root.BIGINT, Root.DOUBLE, Root.FLOAT, Root.DECIMAL}
PICKS = ["last_value", "last_non_null_value", "first_value", "first_non_null_value"]
RETRACTING = {"last_value", "last_non_null_value", "sum", "collect", "merge_map"}


@dataclass(frozen=True)
class DrawnCase:
    schema: TableSchema
    rules: Rules
    runs: list[list[ModelRow]]
    random: random.Random

    @property
    def rows(self) -> list[ModelRow]:
        return [row for run in self.runs for row in run]


def functions_of(data_type: DataType, known: Sequence[str]) -> list[str]:
    """The functions that take a type, of those that the product has."""
    fitting = list(PICKS)
    if data_type.root in NUMBERS:
        fitting += ["sum"]
    if data_type.root not in NESTED:
        fitting += ["max", "min"]
    if data_type.root is Root.VARCHAR:
        fitting += ["listagg"]
    if data_type.root is Root.ARRAY:
        fitting += ["collect"]
    if data_type.root is Root.MAP:
        fitting += ["merge_map"]
    return [name for name in fitting if name in known]


def draw_table(source: random.Random, engine: str, known: Sequence[str]) -> tuple[TableSchema, Rules]:
    """A random table of an engine, and the same for the model."""
    options = {"merge-engine": engine}
    keys = [DataField(i, f"k{i}", source.choice(ORDERED).with_nullable(False)) for i in range(source.choice([1, 1, 2]))]
    columns = [DataField(10 + i, f"v{i}", source.choice(list(VALUES))) for i in range(source.randint(1, 5))]
    clocks = [DataField(30 + i, f"g{i}", source.choice(ORDERED)) for i in range(3)]
    more: dict[str, Any] = {}
    if engine != "first-row" and source.random() < 0.3:
        more["sequence_fields"] = ("g2",)
        options["sequence.field"] = "g2"
        if source.random() < 0.4:
            more["descending"] = True
            options["sequence.field.sort-order"] = "descending"
    if engine == "partial-update":
        _draw_partial_update(source, columns, options, more, known)
    elif engine == "aggregation":
        _draw_aggregation(source, [*columns, *clocks], options, more, known)
    elif source.random() < 0.5:
        _set(options, more, "ignore_delete", "ignore-delete")
    fields = [*keys, *columns, *clocks]
    source.shuffle(fields)
    names = tuple(f.name for f in fields)
    schema = TableSchema(0, tuple(fields), 100, primary_keys=tuple(f.name for f in keys), options=options)
    return schema, Rules(engine, tuple(f.name for f in keys), names, **more)


def _set(options: dict[str, str], more: dict[str, Any], name: str, key: str) -> None:
    more[name], options[key] = True, "true"


def _draw_aggregation(
    source: random.Random, columns: list[DataField], options: dict[str, str], more: dict[str, Any], known: Sequence[str]
) -> None:
    if source.random() < 0.4:
        _set(options, more, "remove_on_delete", "aggregation.remove-record-on-delete")
    functions, ignoring = {}, set()
    default = source.choice([None, None, *PICKS])
    if default is not None:
        options["fields.default-aggregate-function"] = default
    for column in columns:
        name = column.name
        if name in more.get("sequence_fields", ()):
            functions[name] = "last_value"
            continue
        functions[name] = default or "last_non_null_value"
        if source.random() < 0.8:
            functions[name] = source.choice(functions_of(column.type, known))
            options[f"fields.{name}.aggregate-function"] = functions[name]
        if not more.get("remove_on_delete") and source.random() < (0.3 if functions[name] in RETRACTING else 0.8):
            ignoring.add(name)
            options[f"fields.{name}.ignore-retract"] = "true"
    more.update(functions=functions, ignore_retract=frozenset(ignoring))


def _draw_partial_update(
    source: random.Random, columns: list[DataField], options: dict[str, str], more: dict[str, Any], known: Sequence[str]
) -> None:
    clocks = source.choice([(), (("g0",),), (("g0",), ("g1",)), (("g0", "g1"),), (("g1", "g0"), ("g2",))])
    deletes = source.choice(["error", "ignore", "remove"])
    if deletes == "ignore":
        _set(options, more, "ignore_delete", "ignore-delete")
    elif deletes == "remove" and not clocks:
        _set(options, more, "remove_on_delete", "partial-update.remove-record-on-delete")
    elif deletes == "remove":
        more["remove_on"] = frozenset(source.choice(source.choice(clocks)) for _ in range(2))
        options["partial-update.remove-record-on-sequence-group"] = ",".join(sorted(more["remove_on"]))
    groups, functions, ignoring = [], {}, set()
    free = list(columns)
    for clock in clocks:
        members = [free.pop() for _ in range(source.randint(0, len(free)))]
        for column in members:
            if source.random() < 0.6:
                functions[column.name] = source.choice(functions_of(column.type, known))
                options[f"fields.{column.name}.aggregate-function"] = functions[column.name]
                if source.random() < (0.3 if functions[column.name] in RETRACTING else 0.8):
                    ignoring.add(column.name)
                    options[f"fields.{column.name}.ignore-retract"] = "true"
        names = tuple(column.name for column in members)
        groups.append((clock, names))
        options[f"fields.{','.join(clock)}.sequence-group"] = ",".join(names)
    more.update(groups=tuple(groups), functions=functions, ignore_retract=frozenset(ignoring))


def draw_rows(source: random.Random, schema: TableSchema, unique: bool) -> list[list[ModelRow]]:
    """Random rows in runs, each sorted by key, older runs first. unique: no run holds a key twice."""
    pool = [{name: _value(source, schema, name) for name in schema.primary_keys} for _ in range(source.randint(1, 6))]
    pool = list({tuple(least_first(v) for v in key.values()): key for key in pool}.values())
    kinds = source.choice([[0], [0, 2], [0, 0, 0, 1, 2, 3], [0, 3], [1, 3]])
    nulls = source.choice([0.1, 0.5, 0.8])
    runs, number = [], 0
    ascending = source.random() < 0.5
    for _ in range(source.randint(1, 5)):
        chosen = source.sample(pool, source.randint(0, len(pool)))
        if not unique and source.random() < 0.3:
            chosen += [source.choice(pool) for _ in range(3)]
        run = []
        for key in sorted(chosen, key=lambda key: tuple(least_first(value) for value in key.values())):
            number += 1
            values = {
                f.name: key[f.name]
                if f.name in key
                else None
                if source.random() < nulls
                else _value(source, schema, f.name)
                for f in schema.fields
            }
            sequence = number if ascending else source.choice([1, 2, 3, 2**40, -5])
            run.append(ModelRow(source.choice(kinds), sequence, values))
        runs.append(run)
    return runs


def _value(source: random.Random, schema: TableSchema, name: str) -> Any:
    return source.choice(VALUES[schema.by_name[name].type.with_nullable(True)])


def draw_case(seed: int, engine: str, known: Sequence[str], unique: bool = False) -> DrawnCase:
    source = random.Random(seed)
    schema, rules = draw_table(source, engine, known)
    return DrawnCase(schema, rules, draw_rows(source, schema, unique), source)


def batch_of(rows: Sequence[ModelRow], schema: TableSchema) -> pa.RecordBatch:
    """Rows as Arrow: the columns of the table, the sequence number, the kind."""
    columns = {f.name: column_of([row.values[f.name] for row in rows], f.type) for f in schema.fields}
    columns[SEQUENCE_NUMBER] = pa.array([row.sequence for row in rows], pa.int64())
    columns[VALUE_KIND] = pa.array([row.kind for row in rows], pa.int8())
    return pa.RecordBatch.from_pydict(columns)


def column_of(values: Sequence[Any], data_type: DataType) -> pa.Array:
    arrow = arrow_type(data_type)
    if data_type.root in (Root.DATE, Root.TIMESTAMP):
        return pa.array(values, pa.int32() if data_type.root is Root.DATE else pa.int64()).cast(arrow)
    if data_type.root is Root.MAP:
        values = [None if value is None else list(value.items()) for value in values]
    return pa.array(values, arrow)


def sliced(case: DrawnCase, run: Sequence[ModelRow]) -> Iterator[pa.RecordBatch]:
    """A run in slices of bigger batches, cut anywhere, with empty ones between."""
    filler = list(run[:1]) * case.random.randint(0, 2)
    position = 0
    while position < len(run) or case.random.random() < 0.2:
        part = list(run[position : position + case.random.choice([0, 1, 1, 2, 3, 10])])
        position += len(part)
        yield batch_of([*filler, *part, *filler], case.schema).slice(len(filler), len(part))
