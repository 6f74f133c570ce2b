"""The text cases of the merge engines, each with its rows in one run, in a run each, and in two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from support.tables.case_files import CASES, CaseRow, Check, TextCase, case_array, load_cases

from paimon_spark.errors import PaimonError
from paimon_spark.format.schema import SEQUENCE_NUMBER, VALUE_KIND
from paimon_spark.merge.engines.choice import engine_for
from paimon_spark.merge.keys.window import MergeSpec
from paimon_spark.merge.runs.sort_merge import merge_runs

FILES = sorted(path.name for path in CASES.glob("*.txt"))
ALL = [pytest.param(case, id=f"{file}: {case.title}") for file in FILES for case in load_cases(file)]


def merge_case(case: TextCase, runs: Sequence[Sequence[CaseRow]], **spec: Any) -> list[CaseRow]:
    """What the engine of the case makes of its rows, in key order."""
    settings = case.options
    engine = engine_for(case.schema, settings)
    merge_spec = MergeSpec(
        key_fields=case.schema.key_fields,
        sequence_fields=tuple(case.schema.by_name[name] for name in settings.sequence_field),
        sequence_descending=settings.sequence_sort_order == "descending",
        ignore_delete=settings.ignore_delete,
        **spec,
    )
    output = [*case.schema.names, SEQUENCE_NUMBER, VALUE_KIND]
    batches = [iter([batch_of(case, run)]) for run in runs if run]
    merged = merge_runs(batches, merge_spec, output, ordered=True, engine=engine.merge)
    rows = pa.Table.from_batches(merged, batch_of(case, []).schema) if runs else batch_of(case, [])
    columns = [rows.column(name).to_pylist() for name in output]
    return [CaseRow(kind, number, tuple(values)) for *values, number, kind in zip(*columns, strict=True)]


def batch_of(case: TextCase, rows: Sequence[CaseRow]) -> pa.RecordBatch:
    """Rows as one sorted run: by key, and inside a key as they come."""
    keys = [case.schema.names.index(name) for name in case.schema.primary_keys]
    rows = sorted(rows, key=lambda row: tuple(row.values[i] for i in keys))
    columns = {f.name: case_array([row.values[i] for row in rows], f) for i, f in enumerate(case.schema.fields)}
    columns[SEQUENCE_NUMBER] = pa.array([row.sequence for row in rows], pa.int64())
    columns[VALUE_KIND] = pa.array([row.kind for row in rows], pa.int8())
    return pa.RecordBatch.from_pydict(columns)


def as_arrow(case: TextCase, rows: Sequence[CaseRow]) -> list[tuple[int, tuple[Any, ...]]]:
    """Expected rows as the merge gives them: values through Arrow."""
    columns = [case_array([row.values[i] for row in rows], f).to_pylist() for i, f in enumerate(case.schema.fields)]
    return [(row.kind, values) for row, values in zip(rows, zip(*columns, strict=True), strict=True)]


def layouts(rows: Sequence[CaseRow]) -> list[list[list[CaseRow]]]:
    half = len(rows) // 2
    return [
        [list(rows)],
        [[row] for row in rows],
        [list(rows[:half]), list(rows[half:])],
        [[row] for row in rows[::-1]],
    ]


def run_check(case: TextCase, check: Check) -> None:
    for runs in layouts(check.rows):
        if check.error is not None:
            with pytest.raises(PaimonError) as caught:
                merge_case(case, runs, keep_deletes=True)
            assert check.error in str(caught.value)
            continue
        kept = merge_case(case, runs, keep_deletes=True)
        expected = as_arrow(case, check.expected)
        assert [(row.kind, row.values) for row in kept] == expected
        for row, wanted in zip(kept, check.expected, strict=True):
            assert wanted.sequence in (-1, row.sequence)
        seen = merge_case(case, runs)
        assert [(row.kind, row.values) for row in seen] == [e for e in expected if e[0] in (0, 2)]


@pytest.mark.parametrize("case", ALL)
def test_case(case: TextCase) -> None:
    assert case.checks, "a case without a result shows nothing"
    for check in case.checks:
        run_check(case, check)


@pytest.mark.parametrize("case", ALL)
def test_case_column_by_column(case: TextCase) -> None:
    """A reader that asks for one column gets the same values as one that asks for all."""
    check = case.checks[-1]
    if check.error is not None:
        return
    engine = engine_for(case.schema, case.options)
    expected = as_arrow(case, [row for row in check.expected if row.kind in (0, 2)])
    spec = MergeSpec(
        key_fields=case.schema.key_fields,
        sequence_fields=tuple(case.schema.by_name[name] for name in case.options.sequence_field),
        sequence_descending=case.options.sequence_sort_order == "descending",
        ignore_delete=case.options.ignore_delete,
    )
    for i, name in enumerate(case.schema.names):
        needed = [*spec.key_names, *(f.name for f in spec.sequence_fields), name, *engine.columns([name])]
        columns = list(dict.fromkeys([*needed, SEQUENCE_NUMBER, VALUE_KIND]))
        runs = [iter([batch_of(case, [row]).select(columns)]) for row in check.rows]
        merged = list(merge_runs(runs, spec, [name], ordered=True, engine=engine.merge))
        values = [value for batch in merged for value in batch.column(name).to_pylist()]
        assert values == [row[1][i] for row in expected]
    columns = list(dict.fromkeys([*spec.key_names, *(f.name for f in spec.sequence_fields), *engine.columns([])]))
    runs = [iter([batch_of(case, [row]).select([*columns, SEQUENCE_NUMBER, VALUE_KIND])]) for row in check.rows]
    merged = list(merge_runs(runs, replace(spec), [], engine=engine.merge))
    assert sum(batch.num_rows for batch in merged) == len(expected)
