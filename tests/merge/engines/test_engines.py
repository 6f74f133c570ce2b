"""The merge engines against models that take one row after the other, on random tables."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.draws.engine_draw import EXAMPLES, DrawnCase, batch_of, draw_case, sliced
from support.oracles.engine_model import RETRACTIONS, ModelError, ModelRow, Result, Rules, least_first, merge_model

from paimon_spark.errors import DataError
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.row_kind import DELETE
from paimon_spark.format.schema import SEQUENCE_NUMBER, VALUE_KIND
from paimon_spark.merge.aggregates.registry import AGGREGATES
from paimon_spark.merge.engines.choice import engine_for
from paimon_spark.merge.engines.groups import small_windows
from paimon_spark.merge.keys.key_words import key_columns
from paimon_spark.merge.keys.window import MergeSpec, Piece, Window
from paimon_spark.merge.runs.sort_merge import merge_runs
from paimon_spark.merge.runs.write_order import sort_and_merge

KNOWN = tuple(AGGREGATES)
ENGINES = ("partial-update", "aggregation", "first-row")


def spec_of(case: DrawnCase, **more: Any) -> MergeSpec:
    return MergeSpec(
        key_fields=case.schema.key_fields,
        sequence_fields=tuple(case.schema.by_name[name] for name in case.rules.sequence_fields),
        sequence_descending=case.rules.descending,
        ignore_delete=case.rules.ignore_delete,
        **more,
    )


def merged(case: DrawnCase, spec: MergeSpec, output: Sequence[str], batch_rows: int, ordered: bool) -> pa.Table:
    engine = engine_for(case.schema, TableSettings(case.schema.options))
    keys = [*spec.key_names, *(f.name for f in spec.sequence_fields)]
    needed = list(dict.fromkeys([*keys, *output, *engine.columns(output), SEQUENCE_NUMBER, VALUE_KIND]))
    runs = [(batch.select(needed) for batch in sliced(case, run)) for run in case.runs]
    batches = list(merge_runs(runs, spec, output, batch_rows, ordered, engine.merge))
    assert all(batch.num_rows for batch in batches)
    return pa.Table.from_batches(batches, batch_of([], case.schema).select(output).schema)


def as_arrow(results: Sequence[Result], case: DrawnCase) -> pa.Table:
    return pa.Table.from_batches([batch_of(results, case.schema)])  # a result has what a row has


def by_key(table: pa.Table, case: DrawnCase) -> list[Any]:
    """Rows as text, sorted: all types and NaN compare well. The entries of a map have no order."""
    maps = [f.name for f in table.schema if pa.types.is_map(f.type)]
    rows = [{**row, **{name: row[name] and sorted(row[name]) for name in maps}} for row in table.to_pylist()]
    return sorted(map(repr, rows))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("part", range(4))
def test_any_table_and_rows(engine: str, part: int) -> None:
    errors = 0
    for seed in range(part, EXAMPLES, 4):
        case = draw_case(seed, engine, KNOWN)
        spec = spec_of(case, keep_deletes=case.random.random() < 0.5)
        names = [*case.schema.names, SEQUENCE_NUMBER, VALUE_KIND]
        try:
            expected = merge_model(case.rows, case.rules)
        except ModelError:
            errors += 1
            with pytest.raises(DataError):
                merged(case, spec, names, 65536, True)
            continue
        if not spec.keep_deletes:
            expected = [result for result in expected if result.kind in (0, 2)]
        output = names if case.random.random() < 0.5 else case.random.sample(names, case.random.randint(1, len(names)))
        table = merged(case, spec, output, case.random.choice([1, 8, 65536]), case.random.random() < 0.5)
        assert by_key(table, case) == by_key(as_arrow(expected, case).select(output), case), f"seed {seed}"
    assert errors < EXAMPLES / 4 * 0.6


@pytest.mark.parametrize("engine", ENGINES)
def test_results_come_in_key_order_if_asked(engine: str) -> None:
    for seed in range(EXAMPLES // 4):
        case = draw_case(seed, engine, KNOWN)
        spec = spec_of(case, keep_deletes=True)
        try:
            expected = merge_model(case.rows, case.rules)
        except ModelError:
            continue
        table = merged(case, spec, case.schema.primary_keys, 8, True)
        wanted = as_arrow(expected, case).select(case.schema.primary_keys)
        by = [(name, "ascending") for name in case.schema.primary_keys]
        if not any(pa.types.is_floating(f.type) for f in wanted.schema):  # 0.0 and -0.0
            assert table.equals(wanted.sort_by(by)), f"seed {seed}"


@pytest.mark.parametrize("engine", ENGINES)
def test_age_of_runs_does_for_sequence_numbers_that_follow_each_other(engine: str) -> None:
    for seed in range(EXAMPLES // 4):
        case = draw_case(seed, engine, KNOWN, unique=True)
        number = iter(range(10**6))
        runs = [[type(row)(row.kind, next(number), row.values) for row in run] for run in case.runs]
        case = DrawnCase(case.schema, case.rules, runs, random.Random(seed))
        names = case.schema.names
        try:
            with_numbers = merged(case, spec_of(case), names, 65536, True)
        except DataError:
            continue
        without = merged(case, spec_of(case, has_sequence=False), names, 65536, True)
        assert by_key(with_numbers, case) == by_key(without, case), f"seed {seed}"


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_of_one_write_are_merged_as_in_the_write_buffer(engine: str) -> None:
    for seed in range(EXAMPLES):
        case = draw_case(seed, engine, KNOWN)
        source = case.random
        rows = [replace(row, sequence=7 + i) for i, row in enumerate(source.sample(case.rows, len(case.rows)))]
        selection = np.flatnonzero([source.random() < 0.8 for _ in rows]) if source.random() < 0.3 else None
        chosen = rows if selection is None else [rows[i] for i in selection]
        chosen = [replace(row, sequence=7 + i) for i, row in enumerate(chosen)]
        if case.rules.ignore_delete:
            chosen = [row for row in chosen if row.kind in (0, 2)]
        batch = batch_of(rows, case.schema).drop_columns([SEQUENCE_NUMBER, VALUE_KIND])
        if source.random() < 0.3:
            batch = pa.Table.from_batches([batch.slice(i, 3) for i in range(0, len(rows), 3)], batch.schema)
        kinds = np.array([row.kind for row in rows], np.int8)
        engine_of_table = engine_for(case.schema, TableSettings(case.schema.options)).merge
        batch_rows, sort_bytes = source.choice([1, 3, 1000]), source.choice([1, 300, 2**30])
        written = sort_and_merge(
            batch, spec_of(case), 7, kinds, selection, batch_rows, sort_bytes, engine=engine_of_table
        )
        try:
            expected = merge_model(chosen, case.rules)
        except ModelError:
            with pytest.raises(DataError):
                list(written)
            continue
        batches = list(written)
        table = pa.Table.from_batches(batches) if batches else as_arrow([], case)
        assert by_key(table, case) == by_key(as_arrow(expected, case), case), f"seed {seed}"
        keys = [tuple(least_first(v) for v in row.values()) for row in table.select(case.rules.keys).to_pylist()]
        assert keys == sorted(keys)


def test_a_big_window_is_merged_in_parts_that_share_no_key() -> None:
    for seed in range(EXAMPLES // 4):
        case = draw_case(seed, "aggregation", KNOWN)
        batches = [batch_of(run, case.schema) for run in case.runs if run]
        if not batches:
            continue
        names = case.schema.primary_keys
        window = Window(tuple(Piece(batch, key_columns(batch, names)) for batch in batches))
        parts = list(small_windows(window, 1))
        assert sum(part.row_count for part in parts) == window.row_count
        keys = [{repr(row) for p in part.pieces for row in p.rows.select(names).to_pylist()} for part in parts]
        assert all(len(part) == 1 for part in keys), "one byte is too little for two keys"
        assert len(set().union(*keys)) == len(keys)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_are_refused_that_no_merge_takes(engine: str) -> None:
    """A row that is refused meets an error with every other row; one that is not refused meets none with an insert."""
    found = {True: 0, False: 0}
    for seed in range(4 * EXAMPLES):
        case = draw_case(seed, engine, KNOWN)
        refused = engine_for(case.schema, TableSettings(case.schema.options)).refused
        inserts = [row for row in case.rows if row.kind not in RETRACTIONS]
        for row in case.rows:
            if row.kind not in RETRACTIONS or case.rules.ignore_delete:
                continue
            batch, kinds = batch_of([row], case.schema), np.array([row.kind], np.int8)
            is_refused = any(refusal.rows(batch, kinds).all() for refusal in refused)
            keys = {name: row.values[name] for name in case.rules.keys}
            partners = [replace(other, values={**other.values, **keys}, sequence=row.sequence - 1) for other in inserts]
            fails = [cannot_take_back([other, row], case.rules) for other in partners]
            # A group that removes the record may do so before or after a function gets the row.
            if is_refused or not (case.rules.remove_on and row.kind == DELETE):
                assert fails == [is_refused] * len(fails)
                found[is_refused] += len(fails)
    assert found[True] > 20
    assert found[False] > 20 or engine == "first-row"


def cannot_take_back(rows: Sequence[ModelRow], rules: Rules) -> bool:
    try:
        merge_model(rows, rules)
    except ModelError as error:
        return str(error) in ("cannot retract", "a retraction")
    return False
