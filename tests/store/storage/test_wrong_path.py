"""Paths that people type instead of that of a table: each is answered with what to give."""

from __future__ import annotations

from pathlib import Path
from typing import Never

import pyarrow as pa
import pytest
from support.faults.refusing import Refusing
from support.tables.staging import put

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import OptionError, SchemaError, SnapshotNotFound, StorageError, TableNotFound
from paimon_spark.file_io import LocalFileIO
from paimon_spark.store.storage.wrong_path import check_new_place, what_is_there
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


@pytest.mark.parametrize(
    ("files", "advice"),
    [
        (["_delta_log/0.json", "a.parquet"], "it is a Delta Lake table; read it with format('delta')"),
        (["metadata/v1.metadata.json"], "it is an Iceberg table; read it with format('iceberg')"),
        (["metadata/x.txt"], "it holds metadata but no schema directory. Check the path"),
        (["a.parquet", "b.csv"], "it holds parquet files but no schema directory; read them with format('parquet')"),
        ([".a.parquet", "_b.parquet"], "it holds .a.parquet, _b.parquet but no schema directory. Check the path"),
        (["schema/x"], "its schema directory holds no schema-<n> file; the table was dropped or never created"),
        (["schema/x", "snapshot/LATEST"], "its schema directory holds no schema-<n> file; the table was dropped"),
        (["schema/x", "snapshot/snapshot-1"], "it has snapshots, and its schema directory holds no schema-<n> file"),
        ([f"{n}/schema/schema-0" for n in "ab"], "it is a directory of 2 tables (a, b); add the name of one"),
        ([f"{n}/schema/schema-0" for n in "abcde"], "it is a directory of 5 tables (a, b, c, d, e); add"),
        ([f"{n}/schema/schema-0" for n in "abcdef"], "it is a directory of 6 tables (a, b, c, d, e, ...); add"),
        ([f"{n}.db/x" for n in "abcdef"], "it is a warehouse with the databases a.db, b.db, c.db, d.db, e.db; give"),
        ([f"{n}/x" for n in "abcdef"], "it holds a, b, c, d, e but no schema directory. Check the path"),
    ],
)
def test_what_is_there_is_named(files: list[str], advice: str, tmp_path: Path) -> None:
    for name in files:
        (tmp_path / "x" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "x" / name).write_text("{}")
    assert what_is_there(LocalFileIO(), f"{tmp_path}/x").startswith(advice)


class Failing(LocalFileIO):
    """A store that lists nothing."""

    def list(self, path: str) -> Never:
        raise StorageError(f"listing {path}: the store is down")


def test_a_new_table_may_be_below_a_file_or_a_directory_that_is_not_shown(tmp_path: Path) -> None:
    """Whoever sees only a part of the storage may work there; a failing store is no answer."""
    (tmp_path / "file").write_text("x")
    check_new_place(LocalFileIO(), f"{tmp_path}/file/t/u", "creating a table at")
    check_new_place(Refusing(LocalFileIO(), lambda path: True), f"{tmp_path}/a/b", "creating a table at")
    check_new_place(LocalFileIO(), f"{tmp_path}/t$x", "creating a table at")
    with pytest.raises(StorageError):
        check_new_place(Failing(), f"{tmp_path}/a/b", "creating a table at")


@pytest.mark.parametrize(("suffix", "kind"), [("branch_b", "branch"), ("files", "system table, which cannot be")])
def test_a_new_table_is_no_part_of_another_one(suffix: str, kind: str, database: str) -> None:
    with pytest.raises(SchemaError, match=f"is the name of a {kind}"):
        check_new_place(LocalFileIO(), f"{database}/t${suffix}", "creating a table at")
    with pytest.raises(SchemaError, match=f"it is within the table {database}/t: give that path"):
        check_new_place(LocalFileIO(), f"{database}/t/a/b", "creating a table at")
    check_new_place(LocalFileIO(), f"{database}/t$a/b", "creating a table at")
