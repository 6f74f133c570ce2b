"""The keys of a state are all there, whatever readers would see of them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from support.tables.compacted_tables import append, new_table, rows_of

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import MissingFile
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.scan.stored_keys import key_columns, key_reader, plan_keys, with_all_columns
from paimon_spark.tables.open import open_table


def keys(table: Table) -> list[int]:
    snapshot = table.snapshots.latest()
    assert snapshot is not None
    reader = key_reader(table, table.schema.key_fields)
    batches = (batch for split in plan_keys(table, snapshot) for batch in reader.read(split))
    return sorted(key for batch in batches for key in batch.column(0).to_pylist())


@pytest.mark.parametrize("options", [{"merge-engine": "first-row"}, {"deletion-vectors.enabled": "true"}])
def test_keys_that_wait_for_a_compaction(tmp_path: Path, options: dict[str, str]) -> None:
    table = new_table(tmp_path / "t", {**options, "write-only": "true"})
    append(table, [(0, 1, "a")])
    append(table, [(0, 2, "b"), (1, 1, "a")])
    assert rows_of(table) == []
    assert keys(table) == [0, 1]


def test_files_that_readers_may_pass_over_are_missed(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {})
    append(table, [(0, 1, "a")])
    next((tmp_path / "t").rglob("data-*")).unlink()
    lenient = open_table(table.location, {"scan.ignore-lost-files": "true"})
    assert lenient.scan().to_arrow().num_rows == 0
    with pytest.raises(MissingFile):
        keys(lenient)


def test_the_columns_of_keys_and_rows_with_all_columns(tmp_path: Path) -> None:
    columns = pa.schema([("v", pa.string()), ("k", pa.int32()), ("p", pa.string())])
    create_table(str(tmp_path / "t"), new_schema(columns, ["k", "p"], ["p"], {"bucket": "1"}))
    table = open_table(str(tmp_path / "t"))
    assert [field.name for field in key_columns(table)] == ["k", "p"]
    rows = with_all_columns(table, pa.RecordBatch.from_pydict({"p": ["a"], "k": pa.array([1], pa.int32())}))
    assert rows.to_pylist() == [{"v": None, "k": 1, "p": "a"}]
    assert rows.schema.names == columns.names
    assert [field.nullable for field in rows.schema] == [True] * 3
