"""What a level-0 file holds, against the naive model."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.long_runs import examples
from support.oracles.merge_model import (
    RETRACTIONS,
    Case,
    Row,
    Rules,
    by_model_order,
    draw_case,
    key_order,
    merge_naively,
    text_of,
)

from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.merge.keys.window import MergeSpec
from paimon_spark.merge.runs.write_order import sort_and_merge, sort_input

KEY = (DataField(0, "k", DataType(Root.BIGINT, nullable=False)),)
COLUMNS = ("payload", "text", "_SEQUENCE_NUMBER", "_VALUE_KIND")


def write_spec(case: Case) -> MergeSpec:
    return MergeSpec(
        case.key_fields,
        sequence_fields=case.user_fields if case.rules.by_user else (),
        sequence_descending=case.rules.descending,
        ignore_delete=case.rules.ignore_delete,
        ignore_update_before=case.rules.ignore_update_before,
    )


def expected_rows(rows: Sequence[Row], rules: Rules, first: int) -> list[tuple[int, str | None, int, int]]:
    numbered = [replace(row, sequence=first + i) for i, row in enumerate(rows)]
    kept = merge_naively([numbered], replace(rules, keep_deletes=True, by_sequence=True))
    return [(row.payload, text_of(row.payload), row.sequence, row.kind) for row in kept]


def expected_input(rows: Sequence[Row], rules: Rules, first: int) -> list[tuple[int, str | None, int, int]]:
    """All rows but those that options drop, by key, and inside a key the one that counts last at the end."""
    ignored = RETRACTIONS if rules.ignore_delete else (1,) if rules.ignore_update_before else ()
    by_key: dict[Any, list[Row]] = {}
    for i, row in enumerate(rows):
        if row.kind not in ignored:
            by_key.setdefault(key_order(row.key), []).append(replace(row, sequence=first + i))
    ordered = [row for key in sorted(by_key) for row in by_model_order(by_key[key], replace(rules, by_sequence=True))]
    return [(row.payload, text_of(row.payload), row.sequence, row.kind) for row in ordered]


@settings(max_examples=examples(700))
@given(
    st.integers(0, 2**32),
    st.sampled_from([1, 3, 131072]),
    st.sampled_from([1, 200, 2**30]),
    st.booleans(),
    st.booleans(),
)
def test_any_rows_under_any_rules(seed: int, batch_rows: int, sort_bytes: int, chunked: bool, select: bool) -> None:
    case = draw_case(seed)
    source = random.Random(seed)
    rows = [row for run in case.runs for row in run]
    source.shuffle(rows)
    batch = case.batch(rows).drop_columns(["_SEQUENCE_NUMBER", "_VALUE_KIND"])
    given_rows = (
        pa.Table.from_batches([batch.slice(i, 3) for i in range(0, len(rows), 3)], batch.schema) if chunked else batch
    )
    kinds = np.array([row.kind for row in rows], np.int8)
    if not kinds.any() and source.random() < 0.5:
        kinds = None
    selection = None
    if select:
        selection = np.array([i for i in range(len(rows)) if source.random() < 0.6], np.intp)
        rows = [rows[i] for i in selection]
    written = list(sort_and_merge(given_rows, write_spec(case), 1000, kinds, selection, batch_rows, sort_bytes))
    found = [row for b in written for row in zip(*(b.column(name).to_pylist() for name in COLUMNS), strict=True)]
    assert found == expected_rows(rows, case.rules, 1000)
    raw = list(sort_input(given_rows, write_spec(case), 1000, kinds, selection, batch_rows, sort_bytes))
    found = [row for b in raw for row in zip(*(b.column(name).to_pylist() for name in COLUMNS), strict=True)]
    assert found == expected_input(rows, case.rules, 1000)
    for b in written:
        assert 0 < b.num_rows <= batch_rows or sort_bytes < 2**30
        assert b.schema.names == [*batch.schema.names, "_SEQUENCE_NUMBER", "_VALUE_KIND"]
        assert not b.schema.field("_SEQUENCE_NUMBER").nullable
        assert b.schema.field("_VALUE_KIND").equals(pa.field("_VALUE_KIND", pa.int8(), nullable=False))


@pytest.mark.parametrize("spread", [1, 2**20, 2**44])
def test_many_rows_in_random_order(spread: int) -> None:
    keys = np.random.default_rng(1).integers(-50_000, 50_000, 100_000) * spread
    written = pa.Table.from_batches(sort_and_merge(pa.record_batch({"k": keys}), MergeSpec(KEY), 7))
    last = {int(key): 7 + i for i, key in enumerate(keys)}
    assert dict(zip(written["k"].to_pylist(), written["_SEQUENCE_NUMBER"].to_pylist(), strict=True)) == last
    assert written["k"].to_pylist() == sorted(last)


def test_rows_that_are_sorted_already_are_not_copied() -> None:
    batch = pa.record_batch({"k": np.arange(100), "v": np.arange(100)})
    first, _ = sort_and_merge(batch, MergeSpec(KEY), 0, batch_rows=60)
    assert first.column("v").buffers()[1].address == batch.column("v").buffers()[1].address


@pytest.mark.parametrize("sort", [sort_and_merge, sort_input])
def test_all_rows_ignored_writes_nothing(sort: Any) -> None:
    batch = pa.record_batch({"k": [1, 2]})
    spec = MergeSpec(KEY, ignore_delete=True)
    assert list(sort(batch, spec, 0, np.array([3, 1], np.int8))) == []


def test_no_rows_write_nothing() -> None:
    assert list(sort_input(pa.record_batch({"k": pa.array([], pa.int64())}), MergeSpec(KEY), 0)) == []
    assert list(sort_input(pa.record_batch({"k": [1]}), MergeSpec(KEY), 0, selection=np.empty(0, np.intp))) == []
    assert list(sort_and_merge(pa.record_batch({"k": pa.array([], pa.int64())}), MergeSpec(KEY), 0)) == []
    assert list(sort_and_merge(pa.table({"k": pa.array([], pa.int64())}), MergeSpec(KEY), 0)) == []
    assert list(sort_and_merge(pa.record_batch({"k": [1]}), MergeSpec(KEY), 0, selection=np.empty(0, np.intp))) == []


def test_a_null_key_is_refused_with_column_and_count() -> None:
    batch = pa.record_batch({"k": pa.array([1, None, None], pa.int64())})
    with pytest.raises(DataError, match="2 rows hold a null in key column 'k'"):
        list(sort_and_merge(batch, MergeSpec(KEY), 0))
    (kept,) = sort_and_merge(batch, MergeSpec(KEY), 0, selection=np.array([0]))
    assert kept.num_rows == 1


def test_a_sequence_field_without_an_order_is_refused_by_name() -> None:
    batch = pa.record_batch({"k": [1, 1], "s": pa.array([[1], [2]], pa.list_(pa.int64()))})
    spec = MergeSpec(KEY, sequence_fields=(DataField(1, "s", DataType(Root.ARRAY, element=DataType(Root.BIGINT))),))
    with pytest.raises(UnsupportedFeature, match="column 's'"):
        list(sort_and_merge(batch, spec, 0))
