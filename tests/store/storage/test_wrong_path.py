"""Paths that people type instead of that of a table: each is answered with what to give."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from support.tables.staging import put

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import OptionError, SnapshotNotFound, TableNotFound
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([("id", pa.int64()), ("dt", pa.string())])


@pytest.fixture
def database(tmp_path: Path) -> str:
    place = f"{tmp_path}/w.db"
    create_table(f"{place}/t", new_schema(COLUMNS, (), ("dt",), {}))
    put(open_table(f"{place}/t"), [(1, "2024-01-01")])
    return place


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        ("*", "a path is no pattern: give that of one table"),
        ("[a-c]", "a path is no pattern"),
        ("t@v1", "give {}/t, and the option 'scan.snapshot-id' = '1'"),
        ("t@20240101000000000", "give {}/t, and the option 'scan.timestamp'"),
        ("t/dt=2024-01-01", "it is within the table {}/t: give that path, and the condition \"dt = '2024-01-01'\""),
        ("t/dt=2024-01-01/bucket-0/x.parquet", "it is within the table {}/t"),
        ("t/snapshot", "it is within the table {}/t: give that path"),
        ("u@v1", "there is nothing at this path"),
    ],
)
def test_the_path_to_give_is_named(path: str, advice: str, database: str) -> None:
    with pytest.raises(TableNotFound) as error:
        open_table(f"{database}/{path}")
    assert advice.format(database) in str(error.value)
    assert "write to it" not in str(error.value) or path == "u@v1"


def test_a_key_for_a_table_without_one(database: str) -> None:
    with pytest.raises(OptionError, match=r"which has none; keys are given when a table is made: leave the option out"):
        open_table(f"{database}/t", {"primary-key": "id"})


def test_a_time_before_the_first_snapshot_is_short(database: str) -> None:
    with pytest.raises(
        SnapshotNotFound, match=r"no snapshot is that old; the only snapshot is 1.*Choose a later time$"
    ):
        open_table(f"{database}/t", {"scan.timestamp": "2001-01-01"})
