"""Where COPY INTO does more than the official connector, which loses rows or fails there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from paimon_spark.errors import OptionError
from paimon_spark.format.load_history import PENDING_PREFIX
from paimon_spark.spark.catalog.session_catalog import SessionCatalog, catalog
from paimon_spark.spark.copy.source_files import list_files, plain_path
from paimon_spark.store.upkeep.load_history import LoadHistory


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SessionCatalog:
    found = catalog(spark, str(tmp_path_factory.mktemp("lake")))
    found.create_database("d")
    return found


def copied(lake: SessionCatalog, name: str, text: str) -> list[tuple[Any, ...]]:
    lake.sql(f"CREATE TABLE IF NOT EXISTS paimon.d.{name} (id INT, name STRING, v INT)")
    return [tuple(row) for row in lake.sql(f"COPY INTO paimon.d.{name} {text}").collect()]


def stored(lake: SessionCatalog, name: str) -> list[tuple[Any, ...]]:
    table = lake.catalog.load_table(lake._identifier(f"d.{name}")).scan().to_arrow()
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=repr)


def test_names_with_blanks_marks_and_letters(lake: SessionCatalog, tmp_path: Path) -> None:
    """Java counts no rows of such files, and calls a skipped one LOADED; one with brackets it does not find."""
    names = ["br[1].csv", "p%20q.csv", "a+b {c}.csv", "ä b.csv", "it's.csv", "#1?.csv"]
    for number, name in enumerate(names):
        (tmp_path / name).write_text(f"{number},x,1\n")
    (tmp_path / "p%20q.csv").write_text("1,x,1\nz,z,z\n")
    (tmp_path / "_hidden.csv").write_text("7,x,1\n")
    (tmp_path / "dt=1").mkdir()
    (tmp_path / "dt=1" / "a.csv").write_text("8,x,1\n")
    found = copied(lake, "names", f"FROM 'file://{tmp_path}/' FILE_FORMAT = (TYPE = CSV) ON_ERROR = SKIP_FILE")
    failed = [row[0] for row in found if row[1] == "LOAD_FAILED"]
    assert failed == ["p%20q.csv"]
    assert [row[:3] for row in found if row[0] not in failed] == [
        (name, "LOADED", 1) for name in sorted(names) if name not in failed
    ]
    assert [row[0] for row in stored(lake, "names")] == [0, 2, 3, 4, 5]


def test_values_that_change_when_they_are_cast_are_bad(lake: SessionCatalog, tmp_path: Path) -> None:
    """Java's check lets them through, and its write fails: the whole statement, also with ON_ERROR = CONTINUE."""
    (tmp_path / "a.csv").write_text("1.5,a,1\n2,b,2\n99999999999,c,3\n 4 ,d, 4 \n,e,\n")
    ((name, status, loaded, parsed, errors, _),) = copied(
        lake, "casts", f"FROM '{tmp_path}' FILE_FORMAT = (TYPE = CSV) ON_ERROR = CONTINUE"
    )
    assert (name, status, loaded, parsed, errors) == ("a.csv", "PARTIALLY_LOADED", 3, 5, 2)
    assert stored(lake, "casts") == [(2, "b", 2), (4, "d", 4), (None, "e", None)]


def test_columns_of_all_parquet_files_are_loaded(lake: SessionCatalog, tmp_path: Path) -> None:
    """Java takes the schema of one file, and loads NULL for the columns that only others have."""
    pq.write_table(pa.table({"id": pa.array([1], pa.int32())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": pa.array([2], pa.int32()), "name": ["n"]}), tmp_path / "b.parquet")
    copied(lake, "merged", f"FROM '{tmp_path}' FILE_FORMAT = (TYPE = PARQUET)")
    assert stored(lake, "merged") == [(1, None, None), (2, "n", None)]


def test_a_crash_behind_the_commit_is_found_by_the_next_load(lake: SessionCatalog, tmp_path: Path) -> None:
    """Java loads the file twice."""
    (tmp_path / "a.csv").write_text("1,x,1\n")
    text = f"FROM '{tmp_path}' FILE_FORMAT = (TYPE = CSV)"
    lake.sql("CREATE TABLE paimon.d.crash (id INT, name STRING, v INT)")
    table = lake.catalog.load_table(lake._identifier("d.crash"))
    (file,) = list_files(lake._session.spark, str(tmp_path))
    pending = LoadHistory(table).begin({file: 1})
    rows = lake._session.spark.sql("SELECT 1 AS id, 'x' AS name, 1 AS v")
    lake["d.crash"].append(rows, {"commit.user-prefix": pending.user_prefix})  # and here the program dies
    assert copied(lake, "crash", text) == [("a.csv", "SKIPPED", 0, 0, 0, None)]
    assert stored(lake, "crash") == [(1, "x", 1)]
    history = Path(table.location) / "copy-into" / "history"
    assert not list(history.glob(f"{PENDING_PREFIX}*"))


def test_a_relative_path_is_refused(spark: SparkSession) -> None:
    with pytest.raises(OptionError, match="relative"):
        list_files(spark, "in/a.csv")


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("/in/a", "/in/a"), ("/in//./b/../a/", "/in/a"), ("file:/in/a", "/in/a"), ("file:///in/a", "/in/a"),
        ("s3a://bucket/in/a", "/in/a"), ("hdfs://host:8020/in", "/in"), ("s3://bucket", "/"), ("in/a", "in/a"),
    ],
)  # fmt: skip
def test_paths_without_scheme(path: str, plain: str) -> None:
    assert plain_path(path) == plain
