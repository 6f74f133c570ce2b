"""What people type for a path: all of it names one directory, whichever call gets it and wherever its work is done."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType
from support.oracles.checker import check_table
from support.programs.command_line import command

from paimon_spark import check, open_table
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.catalogs.warehouse import find_warehouse_table
from paimon_spark.errors import OptionError, TableNotFound
from paimon_spark.file_io import LocalFileIO, absolute_location
from paimon_spark.spark.adapters.types import spark_schema
from paimon_spark.spark.source.source import PaimonDataSource
from paimon_spark.spark.source.writer import PaimonWriter
from paimon_spark.spark.table.new_table import NewTable
from paimon_spark.store.upkeep.copy_files import copy_table

COLUMNS = pa.schema([pa.field("id", pa.int64(), False), pa.field("v", pa.string())])
NO_SESSION: Any = None
"""As on Spark Connect: relative paths begin in the working directory of the program."""
TYPED = [
    ("orders", "lake/orders"),
    ("new/shop.db/orders", "lake/new/shop.db/orders"),
    ("./orders", "lake/orders"),
    ("../other/orders", "other/orders"),
    ("orders/", "lake/orders"),
    ("orders///", "lake/orders"),
    ("shop//orders", "lake/shop/orders"),
    ("a:b", "lake/a:b"),
    ("file:orders", "lake/orders"),
    ("file:./new/orders", "lake/new/orders"),
    ("~/lake_t", "home/lake_t"),
    ("~/a/../b/", "home/b"),
    ("file:~/t", "home/t"),
]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory and a home directory."""
    for name in ("lake", "home"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "lake")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.mark.parametrize(("typed", "meant"), TYPED)
def test_a_table_of_df_write(place: Path, typed: str, meant: str) -> None:
    """As Spark runs it: planned in one process, written and committed elsewhere, with the job that was planned."""
    schema = open_schema()
    writer = PaimonDataSource({"path": typed, "primary-key": "id", "bucket": "1"}).writer(schema, overwrite=False)
    os.chdir("/")
    batch = pa.RecordBatch.from_pydict({"id": [1], "v": ["a"]}, schema=COLUMNS)
    writer.commit([PaimonWriter(writer._job).write(iter([batch]))])
    os.chdir(place / "lake")
    assert tables_below(place) == [meant]
    found = open_table(typed)
    assert os.path.samefile(found.location.removeprefix("file:"), place / meant)
    assert found.scan().to_arrow().to_pylist() == [{"id": 1, "v": "a"}]
    assert PaimonDataSource({"path": typed}).schema() == PaimonDataSource({"path": str(place / meant)}).schema()
    assert PaimonDataSource({"path": f"{typed.rstrip('/')}$files"}).schema().names[0] == "partition"
    check_table(typed)


@pytest.mark.parametrize(("typed", "meant"), TYPED)
def test_other_calls(place: Path, typed: str, meant: str) -> None:
    made = NewTable(NO_SESSION, lambda path, _: open_table(path), ignore_if_exists=False)
    table = made.location(typed).addColumn("id", "BIGINT").execute()
    copy_table(table, f"{typed.rstrip('/')}-copy")
    create_table(f"{typed.rstrip('/')}-made", new_schema(COLUMNS))
    assert tables_below(place) == sorted([meant, f"{meant}-copy", f"{meant}-made"])
    assert check(typed).is_good
    assert command("info", typed).code == 0


def test_a_warehouse(place: Path) -> None:
    create_table("wh/shop.db/orders", new_schema(COLUMNS))
    made = NewTable(NO_SESSION, lambda path, _: open_table(path), ignore_if_exists=False)
    made.tableName("shop.more").option("warehouse", "~/wh").addColumn("id", "BIGINT").execute()
    assert tables_below(place) == ["home/wh/shop.db/more", "lake/wh/shop.db/orders"]
    for typed, name in [("wh", "orders"), ("~/wh/", "more")]:
        tables = find_warehouse_table(f"{typed}/sys.db/tables")
        assert tables is not None
        rows = pa.Table.from_batches(tables.scan(["table_name"]).to_batches()).to_pylist()
        assert rows == [{"table_name": name}]


@pytest.mark.parametrize(
    ("typed", "what"),
    [
        ("", "no path was given"),
        ("~nobody-of-that-name/t", "home directory"),
        ("file://lake/orders", "the machine 'lake'.*file:///lake/orders"),
    ],
)
def test_what_is_refused(place: Path, typed: str, what: str) -> None:
    with pytest.raises(OptionError, match=what):
        create_table(typed, new_schema(COLUMNS))
    with pytest.raises(OptionError, match=what):
        open_table(typed)
    assert tables_below(place) == []


@pytest.mark.parametrize(
    ("location", "whole"),
    [
        ("/", "/"),
        ("//lake//t/", "/lake/t"),
        ("/lake/~t", "/lake/~t"),
        ("file:/lake/t/", "file:/lake/t"),
        ("file:///lake//t/", "file:///lake/t"),
        ("file://localhost/lake/t", "file://localhost/lake/t"),
        ("s3://bucket/", "s3://bucket"),
        ("s3://bucket/~/./a//t/", "s3://bucket/~/./a//t"),  # all of that may be in the key of an object
    ],
)
def test_locations_that_are_whole(location: str, whole: str) -> None:
    assert absolute_location(location) == whole
    assert absolute_location(whole) == whole


def test_a_read_of_a_wrong_path_says_where_it_looked(place: Path) -> None:
    with pytest.raises(TableNotFound, match=f"{place}/lake/ordres"):
        PaimonDataSource({"path": "ordres"}).schema()


def test_a_folder_that_spark_takes_away_with_its_session(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark Connect runs the planner there, see test_spark_sessions."""
    (place / "0a5-77").mkdir()
    monkeypatch.chdir(place / "0a5-77")
    monkeypatch.setenv("SPARK_JOB_ARTIFACT_UUID", "0a5-77")
    for typed in ("orders", "./orders", "~/orders", "file:orders"):
        with pytest.raises(OptionError, match="whole path"):
            PaimonDataSource({"path": typed}).writer(open_schema(), overwrite=False)
        with pytest.raises(OptionError, match="whole path"):
            PaimonDataSource({"path": typed}).schema()
    assert tables_below(place) == []
    monkeypatch.setenv("SPARK_JOB_ARTIFACT_UUID", "default")
    PaimonDataSource({"path": "orders"}).writer(open_schema(), overwrite=False)
    assert tables_below(place) == ["0a5-77/orders"]


def test_the_store_itself_takes_relative_paths(place: Path) -> None:
    LocalFileIO().write_bytes("a/b/c", b"x")
    assert (place / "lake" / "a" / "b" / "c").read_bytes() == b"x"


def open_schema() -> StructType:
    return spark_schema(new_schema(COLUMNS).fields)


def tables_below(place: Path) -> list[str]:
    return sorted(str(path.parent.relative_to(place)) for path in place.rglob("schema") if path.is_dir())
