"""The rules of a write, and what jobs that ask for less make of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.format.options.option import MB
from paimon_spark.merge.engines.deduplicate import deduplicate
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.write.write_rules import write_rules
from paimon_spark.tables.open import open_table

OPTIONS = {
    "bucket": "-2",
    "merge-engine": "aggregation",
    "changelog-producer": "input",
    "rowkind.field": "op",
    "ignore-update-before": "true",
    "write-buffer-size": "8 mb",
}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    columns = pa.schema([("id", pa.int64()), ("op", pa.string()), ("n", pa.int32())])
    schema = new_schema(columns, ("id",), (), OPTIONS)
    fields = tuple(replace(f, default_value={"n": "7"}.get(f.name)) for f in schema.fields)
    create_table(str(tmp_path / "t"), replace(schema, fields=fields))
    return open_table(str(tmp_path / "t"))


def batch(**columns: list[object]) -> pa.RecordBatch:
    types = {"id": pa.int64(), "op": pa.string(), "n": pa.int32()}
    fields = [pa.field(name, types[name], name != "id") for name in columns]
    arrays = [pa.array(values, types[name]) for name, values in columns.items()]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def test_stored_rows_are_taken_as_they_are(table: Table) -> None:
    given = batch(id=[1, 2], op=["-U", "+I"], n=[None, 5])
    rules = write_rules(table)
    assert rules.rows.prepare(given, None)[0].to_pylist() == [{"id": 2, "op": "+I", "n": 5}]
    assert rules.input_changelog
    stored = rules.of_stored_rows()
    rows, kinds = stored.rows.prepare(given, None)
    assert (rows, kinds) == (given, None)
    assert stored.engine is deduplicate
    assert not stored.input_changelog


def test_rows_of_a_partition_that_has_buckets(table: Table) -> None:
    rules = write_rules(table)
    assert (rules.bucket_mode, rules.buckets, rules.buffer_bytes) == (BucketMode.POSTPONE_MODE, -2, 8 * MB)
    fixed = rules.with_buckets(3, share=4)
    assert (fixed.bucket_mode, fixed.buckets, fixed.buffer_bytes) == (BucketMode.HASH_FIXED, 3, 2 * MB)
    assert rules.with_buckets(3, share=100).buffer_bytes == MB


def test_the_rules_of_some_columns(table: Table) -> None:
    """In the order that is asked for; they fill in defaults and look at nothing else."""
    rules = write_rules(table).rows.of_columns(["n", "id"])
    rows, kinds = rules.prepare(batch(n=[None, 5], id=[3, 1]).cast(rules.arrow), np.array([3, 0], np.int8))
    assert rows.to_pylist() == [{"n": 7, "id": 3}, {"n": 5, "id": 1}]
    assert kinds is not None
    assert kinds.tolist() == [3, 0]
