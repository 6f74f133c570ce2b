"""DELETE, UPDATE and MERGE of tables with row tracking (Java: RowTrackingTestBase, release 2.0).

Rows keep their ids, and rows that change get the number of the snapshot. Every door reads both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from support.oracles.checker import check_table
from support.registered_catalogs import forget_catalogs

import paimon_spark
from paimon_spark import PaimonTable, open_table
from paimon_spark.errors import SqlError

pytestmark = pytest.mark.spark
COLUMNS = "k, v, _ROW_ID, _SEQUENCE_NUMBER"
Say = Callable[[str], list[tuple[Any, ...]]]
MODES = {"files": "", "vectors": ", 'deletion-vectors.enabled' = 'true'"}


@pytest.fixture(params=["cat.sql", "spark.sql"])
def say(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[Say]:
    """Runs a statement on {t}, the table d.t; the rows of the result, sorted."""
    catalog = paimon_spark.catalog(spark, str(tmp_path))
    catalog.sql("CREATE DATABASE paimon.d")
    if request.param == "spark.sql":
        paimon_spark.register_catalog(spark, "tracked", str(tmp_path))

    def run(statement: str) -> list[tuple[Any, ...]]:
        if request.param == "spark.sql":
            found = spark.sql(statement.replace("{t}", "tracked.d.t")).collect()
        else:
            found = catalog.sql(statement.replace("{t}", "paimon.d.t")).collect()
        return sorted(tuple(row) for row in found)

    yield run
    forget_catalogs(spark)


def made(say: Say, more: str = "", parts: str = "") -> None:
    say(f"CREATE TABLE {{t}} (k INT, v INT) {parts} TBLPROPERTIES ('row-tracking.enabled' = 'true'{more})")
    say("INSERT INTO {t} VALUES (1, 1), (2, 2), (3, 3)")


@pytest.mark.parametrize("mode", MODES)
def test_rows_keep_their_ids(say: Say, tmp_path: Path, mode: str) -> None:
    made(say, MODES[mode])
    ids = {row[0]: row[2] for row in say(f"SELECT {COLUMNS} FROM {{t}}")}
    assert sorted(ids.values()) == [0, 1, 2]
    say("UPDATE {t} SET v = 22 WHERE k = 2")
    assert say(f"SELECT {COLUMNS} FROM {{t}}") == [(1, 1, ids[1], 1), (2, 22, ids[2], 2), (3, 3, ids[3], 1)]
    say(f"UPDATE {{t}} SET v = v + _SEQUENCE_NUMBER WHERE _ROW_ID = {ids[3]}")
    assert say(f"SELECT {COLUMNS} FROM {{t}}") == [(1, 1, ids[1], 1), (2, 22, ids[2], 2), (3, 4, ids[3], 3)]
    say(f"DELETE FROM {{t}} WHERE _ROW_ID = {ids[2]}")
    say("INSERT INTO {t} VALUES (4, 4)")
    say(
        "MERGE INTO {t} t USING (SELECT * FROM VALUES (1, 10), (3, 30), (7, 70) AS x(k, v)) s ON t.k = s.k "
        "WHEN MATCHED AND s.k = 3 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    )
    assert say(f"SELECT {COLUMNS} FROM {{t}}") == [(1, 10, ids[1], 6), (4, 4, 3, 5), (7, 70, 4, 6)]
    say("UPDATE {t} SET v = 0")
    assert say(f"SELECT {COLUMNS} FROM {{t}}") == [(1, 0, ids[1], 7), (4, 0, 3, 7), (7, 0, 4, 7)]
    assert say("SELECT * FROM {t}") == [(1, 0), (4, 0), (7, 0)]
    check_table(str(tmp_path / "d.db/t"))


@pytest.mark.parametrize("mode", MODES)
def test_rows_that_move_to_another_partition_keep_their_ids(say: Say, tmp_path: Path, mode: str) -> None:
    made(say, MODES[mode], "PARTITIONED BY (v)")
    ids = {row[0]: row[2] for row in say(f"SELECT {COLUMNS} FROM {{t}}")}
    say("UPDATE {t} SET v = 9 WHERE k <> 2")
    assert say(f"SELECT {COLUMNS} FROM {{t}}") == [(1, 9, ids[1], 2), (2, 2, ids[2], 1), (3, 9, ids[3], 2)]
    say(
        "MERGE INTO {t} t USING (SELECT * FROM VALUES (1, 5), (8, 5) AS x(k, v)) s ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    )
    assert say(f"SELECT {COLUMNS} FROM {{t}}") == [
        (1, 5, ids[1], 3),
        (2, 2, ids[2], 1),
        (3, 9, ids[3], 2),
        (8, 5, 3, 3),
    ]
    check_table(str(tmp_path / "d.db/t"))


def test_a_source_with_ids_of_its_own(say: Say) -> None:
    made(say, MODES["vectors"])
    ids = {row[0]: row[2] for row in say(f"SELECT {COLUMNS} FROM {{t}}")}
    say(
        f"MERGE INTO {{t}} t USING (SELECT {ids[2]} AS _ROW_ID, 20 AS n) s ON t._ROW_ID = s._ROW_ID "
        "WHEN MATCHED THEN UPDATE SET v = s.n + s._ROW_ID"
    )
    assert (2, 20 + ids[2], ids[2], 2) in say(f"SELECT {COLUMNS} FROM {{t}}")


def test_the_doors_that_read_them(say: Say, spark: SparkSession, tmp_path: Path) -> None:
    made(say)
    path = str(tmp_path / "d.db/t")
    rows = say(f"SELECT {COLUMNS} FROM {{t}}")
    names = COLUMNS.split(", ")
    frames = [
        PaimonTable.forPath(spark, path).toDF(columns=names),
        spark.read.format("paimon").option("columns", COLUMNS).load(path),
        paimon_spark.catalog(spark, str(tmp_path)).table("d.t", columns=names),
        spark.read.format("paimon").load(f"{path}$row_tracking"),
    ]
    for frame in frames:
        assert sorted(map(tuple, frame.select(*names).collect())) == rows
        assert frame.where("_ROW_ID = 1").count() == 1
    assert say("SELECT *, _row_id + 1, t._SEQUENCE_NUMBER FROM {t} t") == [
        (k, v, row_id + 1, number) for k, v, row_id, number in rows
    ]
    assert say("SELECT COUNT(*) FROM {t} WHERE _SEQUENCE_NUMBER = 1 AND _ROW_ID < 2") == [(2,)]
    assert open_table(path).scan(names).to_arrow().num_rows == 3


def test_a_table_without_row_tracking_has_none(spark: SparkSession, tmp_path: Path) -> None:
    catalog = paimon_spark.catalog(spark, str(tmp_path))
    spark.range(3).write.format("paimon").mode("append").save(str(tmp_path / "d.db/t"))
    with pytest.raises(SqlError, match=r"_ROW_ID and _SEQUENCE_NUMBER belong to tables with 'row-tracking\.enabled'"):
        catalog.sql("SELECT _ROW_ID FROM paimon.d.t")
    with pytest.raises(AnalysisException):
        catalog.table("d.t").select("_SEQUENCE_NUMBER")


def test_expressions_of_columns_and_many_rows(spark: SparkSession, tmp_path: Path) -> None:
    """More rows than this process changes by itself, and conditions that are no text."""
    path = str(tmp_path / "d.db/t")
    options = {"row-tracking.enabled": "true", "deletion-vectors.enabled": "true"}
    spark.range(0, 20_000, 1, 3).write.format("paimon").mode("append").options(**options).save(path)
    table = PaimonTable.forPath(spark, path)
    names = ["id", "_ROW_ID", "_SEQUENCE_NUMBER"]
    before = {row[0]: row[1] for row in table.toDF(columns=names).collect()}
    assert sorted(before.values()) == list(range(20_000))
    assert table.update(sf.col("id") % 2 == 0, {"id": sf.col("id") + 100_000}).rows_updated == 10_000
    after = {row[0]: tuple(row[1:]) for row in table.toDF(columns=names).collect()}
    assert after == {key + (0 if key % 2 else 100_000): (row_id, 1 if key % 2 else 2) for key, row_id in before.items()}
    assert open_table(path).snapshots.latest().next_row_id == 20_000  # type: ignore[union-attr]  # it has one
    check_table(path)
