"""New values of VECTOR columns are read by the official system, or refused (Java: DataEvolutionSplitRead, 2.0).

Random histories with Java itself are in ``tests/interop/test_vector_histories.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from support.oracles.checker import check_table
from support.tables.column_changes import EVOLVED
from support.tables.column_changes import update as write_alone

from paimon_spark import create_table, open_table
from paimon_spark.errors import UnsupportedFeature

OLD_FILES = "would read old values of {} from data-.*; delete these rows, and insert them with the new values"
APART = {"vector.file.format": "parquet"}
VECTOR = pa.list_(pa.field("element", pa.float32(), nullable=False), 1)


def made(tmp_path: Path, options: dict[str, str]) -> str:
    """A table with one row."""
    path = str(tmp_path / "t")
    columns = {"k": "BIGINT", "d": "VECTOR<FLOAT, 1>", "f": "VECTOR<FLOAT, 1>"}
    create_table(path, columns, options={**EVOLVED, **options})
    schema = pa.schema([("k", pa.int64()), ("d", VECTOR), ("f", VECTOR)])
    open_table(path).append(pa.Table.from_pylist([{"k": 1, "d": [1.0], "f": [1.0]}], schema))
    return path


def changed(path: str, **values: float) -> list[dict[str, Any]]:
    """The rows after an update of the one row; after a refusal they are as before."""
    new = {name: pc.scalar(pa.scalar([value], VECTOR)) for name, value in values.items()}
    try:
        open_table(path).update("k = 1", new)
    finally:
        check_table(path)
    return open_table(path).scan().to_arrow().to_pylist()


def test_all_vectors_change_at_once(tmp_path: Path) -> None:
    path = made(tmp_path, APART)
    assert changed(path, d=2.0, f=3.0) == [{"k": 1, "d": [2.0], "f": [3.0]}]
    assert changed(path, f=4.0, d=5.0) == [{"k": 1, "d": [5.0], "f": [4.0]}]


def test_vectors_among_the_other_columns_change_alone(tmp_path: Path) -> None:
    assert changed(made(tmp_path, {}), f=2.0) == [{"k": 1, "d": [1.0], "f": [2.0]}]


def test_rows_of_an_older_schema_keep_their_vectors(tmp_path: Path) -> None:
    path = made(tmp_path, APART)
    open_table(path).set_options({"snapshot.num-retained.max": "100"})
    with pytest.raises(UnsupportedFeature, match=OLD_FILES.format("'d', 'f'")):
        changed(path, d=2.0, f=3.0)
    with open_table(path).update_schema() as change:
        change.add_column("n", "VECTOR<FLOAT, 1>")
    with pytest.raises(UnsupportedFeature, match=OLD_FILES.format("'d', 'f', 'n'")):
        changed(path, d=2.0, f=3.0, n=4.0)


def test_files_of_some_columns_that_another_writer_made(tmp_path: Path) -> None:
    path = made(tmp_path, APART)
    write_alone(open_table(path), "d", {1: [7.0]})
    with pytest.raises(UnsupportedFeature, match=OLD_FILES.format("'d', 'f'")):
        changed(path, d=2.0, f=3.0)


def test_files_of_all_columns_come_first(tmp_path: Path) -> None:
    path = made(tmp_path, {})
    open_table(path).set_options(APART)
    with pytest.raises(UnsupportedFeature, match=OLD_FILES.format("'d', 'f'")):
        changed(path, d=2.0, f=3.0)
