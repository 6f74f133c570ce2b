"""The merge of a compaction against a model that takes one key after the other, on random tables."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest
from support.draws.engine_draw import EXAMPLES, batch_of, draw_rows, draw_table
from support.oracles.compact_model import CompactCase, LevelRow, Outcome, compact_model, key_of, read_model
from support.oracles.engine_model import ModelError, Result, least_first

from paimon_spark.errors import DataError
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import FILE_NUMBER, LEVEL, POSITION, TableSchema
from paimon_spark.merge.aggregates.registry import AGGREGATES
from paimon_spark.merge.compaction.merge import CompactBatch, combined, compact_merge, compact_rules, needs_values_above
from paimon_spark.merge.runs.sort_merge import merge_runs

KNOWN = tuple(AGGREGATES)
ENGINES = ("deduplicate", "partial-update", "aggregation", "first-row")
WAYS = ("lookup", "lookup with vectors", "vectors", "force-lookup", "full-compaction", "full-compaction with lookup")
PAIRS = [
    *((engine, way) for engine in ENGINES[:3] for way in WAYS),
    *(("first-row", way) for way in ("lookup", "force-lookup")),  # others are no tables
]
MAX_LEVEL = 5


@dataclass(frozen=True)
class Drawn:
    schema: TableSchema
    model: CompactCase
    runs: list[list[LevelRow]]
    above: list[list[LevelRow]]
    random: random.Random


def draw_case(seed: int, engine: str, way: str) -> Drawn:
    source = random.Random(f"{seed} {engine} {way}")
    schema, rules = draw_table(source, engine, KNOWN)
    runs = _numbered(source, [run for run in draw_rows(source, schema, unique=True) if run])
    count = min(len(runs), source.choice([0, 1, 1, 2, 3]))
    uppers = sorted(source.sample(range(1, MAX_LEVEL + 1), count), reverse=True)
    leveled = [[_at(row, level) for row in run] for run, level in zip(runs, [*uppers, *[0] * len(runs)], strict=False)]
    output = MAX_LEVEL if way.startswith("full") else source.choice([0, 1, 1, 2, 3, 5])
    inputs = [run for run in leveled if run[0].level <= output]
    above = [_placed(source, run, number) for number, run in enumerate(leveled) if run[0].level > output]
    options = _options(way) | schema.options
    compared = None
    if source.random() < 0.5:
        options["changelog-producer.row-deduplicate"] = "true"
        ignored = source.sample(schema.names, source.choice([0, 0, 1, 3]))
        if ignored:
            options["changelog-producer.row-deduplicate-ignore-fields"] = ",".join(ignored)
        compared = [name for name in schema.names if name not in ignored]
    model = CompactCase(
        rules,
        [row for run in inputs for row in run],
        [row for run in above for row in run],
        options.get("changelog-producer", "none"),
        "vectors" in way,
        way != "full-compaction",
        MAX_LEVEL,
        not way.startswith("full") and source.random() < 0.5,
        compared,
    )
    return Drawn(replace(schema, options=options), model, inputs, above, source)


def _options(way: str) -> dict[str, str]:
    options = {}
    if way.startswith(("lookup", "full")):
        options["changelog-producer"] = way.split()[0]
    if "vectors" in way:
        options["deletion-vectors.enabled"] = "true"
    if way in ("force-lookup", "full-compaction with lookup"):
        options["force-lookup"] = "true"
    return options


def _numbered(source: random.Random, runs: list[Any]) -> list[list[Any]]:
    """The rows with sequence numbers of their own: in the order of the runs, or not."""
    numbers = list(range(sum(map(len, runs))))
    if source.random() < 0.3:
        source.shuffle(numbers)
    number = iter(numbers)
    return [[replace(row, sequence=next(number)) for row in run] for run in runs]


def _at(row: Any, level: int) -> LevelRow:
    return LevelRow(row.kind, row.sequence, row.values, level)


def _placed(source: random.Random, run: list[LevelRow], number: int) -> list[LevelRow]:
    """The rows in files, some positions of which are deleted already."""
    file, position, placed = 10 * number, 0, []
    for row in run:
        position += source.choice([0, 0, 1, 2**40])
        placed.append(replace(row, file=file, position=position))
        position += 1
        if source.random() < 0.2:
            file, position = file + 1, 0
    return placed


class Level:
    """A level above, in batches of any length; it leaves out what it may, or not."""

    def __init__(self, case: Drawn, run: list[LevelRow], columns: Sequence[str]) -> None:
        self._case = case
        self._left = list(run)
        self._columns = columns
        self._last: Any = None

    def next_from(self, key: pa.RecordBatch) -> pa.RecordBatch | None:
        rules, source = self._case.model.rules, self._case.random
        assert key.schema.names == list(rules.keys)
        assert key.num_rows == 1
        wanted = keys_of(key, self._case)[0]
        assert self._last is None or self._last <= wanted
        self._last = wanted
        while source.random() < 0.5 and self._left and key_of(self._left[0], rules) < wanted:
            self._left.pop(0)
        if not self._left and source.random() < 0.8:
            return None
        count = source.choice([0, 1, 1, 2, 10])
        part, self._left = self._left[:count], self._left[count:]
        return placed_batch(part, self._case.schema).select(self._columns)


def keys_of(batch: pa.RecordBatch, case: Drawn) -> list[Any]:
    schema = case.schema
    arrays = [case_values(batch.column(name)) for name in schema.primary_keys]
    return [tuple(map(least_first, values)) for values in zip(*arrays, strict=True)]


def case_values(array: pa.Array) -> list[Any]:
    """Values as the models have them: dates and times as numbers."""
    if pa.types.is_date32(array.type):
        array = array.cast(pa.int32())
    elif pa.types.is_timestamp(array.type):
        array = array.cast(pa.int64())
    return array.to_pylist()


def placed_batch(rows: Sequence[LevelRow], schema: TableSchema) -> pa.RecordBatch:
    batch = batch_of(rows, schema)
    for name, values, data_type in (
        (LEVEL, [row.level for row in rows], pa.int8()),
        (FILE_NUMBER, [row.file for row in rows], pa.int32()),
        (POSITION, [row.position for row in rows], pa.int64()),
    ):
        batch = batch.append_column(name, pa.array(values, data_type))
    return batch


def in_batches(case: Drawn, run: list[LevelRow]) -> Iterator[pa.RecordBatch]:
    position = 0
    while position < len(run) or case.random.random() < 0.2:
        count = case.random.choice([0, 1, 1, 2, 10])
        yield placed_batch(run[position : position + count], case.schema).drop_columns([FILE_NUMBER, POSITION])
        position += count


def compacted(case: Drawn, batch_rows: int) -> tuple[pa.Table, pa.Table, list[tuple[int, int]]]:
    model = case.model
    rules = compact_rules(case.schema, TableSettings(case.schema.options), MAX_LEVEL, not model.keep_deletes)
    columns = [*case.schema.primary_keys]
    if needs_values_above(rules):
        columns = list(rules.output)
    if model.vectors:
        columns += [FILE_NUMBER, POSITION]
    case.random.shuffle(columns)
    runs = [in_batches(case, run) for run in case.runs]
    by_level = sorted(case.above, key=lambda run: run[0].level)
    levels = [Level(case, run, columns) for run in by_level]
    rows, changelog, superseded = [], [], []
    for batch in compact_merge(runs, levels, rules, batch_rows):
        rows.append(batch.rows)
        changelog.append(batch.changelog)
        if batch.superseded is not None:
            superseded += zip(batch.superseded.files.tolist(), batch.superseded.positions.tolist(), strict=True)
        parts = [part for part in (batch.rows, batch.changelog) if part is not None]
        assert parts or batch.superseded is not None
        assert all(part.num_rows for part in parts)
    schema = batch_of([], case.schema).schema
    tables = [pa.Table.from_batches([b for b in made if b is not None], schema) for made in (rows, changelog)]
    return tables[0], tables[1], superseded


def as_rows(table: pa.Table) -> list[str]:
    """Rows as text: all types and NaN compare well. The entries of a map have no order."""
    maps = [f.name for f in table.schema if pa.types.is_map(f.type)]
    return [repr({**row, **{name: row[name] and sorted(row[name]) for name in maps}}) for row in table.to_pylist()]


def expected_rows(case: Drawn, results: Sequence[Result]) -> list[str]:
    return as_rows(pa.Table.from_batches([batch_of(results, case.schema)]))


def outcome_of(case: Drawn) -> Outcome | None:
    try:
        return compact_model(case.model)
    except ModelError:
        return None


@pytest.mark.parametrize(("engine", "way"), PAIRS)
def test_any_table_and_rows(engine: str, way: str) -> None:
    changed = 0
    for seed in range(EXAMPLES // 4):
        case = draw_case(seed, engine, way)
        expected, batch_rows = outcome_of(case), case.random.choice([1, 2, 8, 65536])
        if expected is None:
            with pytest.raises(DataError):
                compacted(case, batch_rows)
            continue
        rows, changelog, superseded = compacted(case, batch_rows)
        assert as_rows(rows) == expected_rows(case, expected.rows), f"seed {seed}"
        assert as_rows(changelog) == expected_rows(case, expected.changelog), f"seed {seed}"
        assert set(superseded) == expected.superseded, f"seed {seed}"
        assert len(superseded) == len(expected.superseded)
        changed += bool(expected.changelog or expected.superseded)
    assert way == "force-lookup" or changed > EXAMPLES // 75


@pytest.mark.parametrize("engine", ENGINES[:3])
def test_a_merge_without_changelog_counts_the_lowest_level_only(engine: str) -> None:
    for seed in range(EXAMPLES // 2):
        case = draw_case(seed, engine, "full-compaction with lookup")
        rules = compact_rules(case.schema, TableSettings(case.schema.options), MAX_LEVEL, False)
        runs = [in_batches(case, run) for run in case.runs]
        merged = merge_runs(runs, rules.spec, rules.output, case.random.choice([1, 99]), True, rules.merge)
        try:
            expected = read_model(case.model.inputs, case.model.rules)
        except ModelError:
            with pytest.raises(DataError):
                list(merged)
            continue
        if engine == "deduplicate" and case.model.rules.ignore_delete:
            expected = [row for row in expected if row.kind in (0, 2)]
        table = pa.Table.from_batches(merged, batch_of([], case.schema).schema)
        assert as_rows(table) == expected_rows(case, expected), f"seed {seed}"


@pytest.mark.parametrize(
    ("rows", "batches"),
    [
        ([1] * 70, [32, 32, 6]),
        ([2, 3, 40], [2, 3, 40]),  # a sixteenth is enough
        ([1, 1, 5, 1], [7, 1]),  # none passes those that wait
    ],
)
def test_small_batches_are_joined(rows: list[int], batches: list[int]) -> None:
    parts = [CompactBatch(pa.record_batch({"k": list(range(count))})) for count in rows]
    found = list(combined(iter(parts), 32))
    assert [part.rows.num_rows for part in found if part.rows is not None] == batches
