"""DELETE, UPDATE and MERGE of tables with data evolution (Java: RowTrackingTestBase, DataEvolutionDeletionTest, 2.0).

An update writes the columns that it assigns, and no others; every row keeps its id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import UnsupportedOperationException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from support.long_runs import LONG, draws
from support.oracles.checker import check_table
from support.registered_catalogs import forget_catalogs

import paimon_spark
from paimon_spark import PaimonTable, open_table
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.store.commit.attempt import table_state

pytestmark = pytest.mark.spark
EVOLVED = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'"
VECTORS = ", 'deletion-vectors.enabled' = 'true'"
REFUSED = (UnsupportedFeature, UnsupportedOperationException)  # of cat.sql, and of spark.sql
BAD_DATA = (DataError, PySparkException)
BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
Say = Callable[[str], list[tuple[Any, ...]]]


DOORS = ["cat.sql", "spark.sql"]


@pytest.fixture(params=DOORS if LONG else [draws().choice(DOORS)])
def say(request: pytest.FixtureRequest, quick_spark: SparkSession, tmp_path: Path) -> Iterator[Say]:
    """Runs a statement on {t}, the table d.t; the rows of the result, sorted."""
    catalog = paimon_spark.catalog(quick_spark, str(tmp_path))
    catalog.sql("CREATE DATABASE paimon.d")
    if request.param == "spark.sql":
        paimon_spark.register_catalog(quick_spark, "evolved", str(tmp_path))

    def run(statement: str) -> list[tuple[Any, ...]]:
        if request.param == "spark.sql":
            found = quick_spark.sql(statement.replace("{t}", "evolved.d.t")).collect()
        else:
            found = catalog.sql(statement.replace("{t}", "paimon.d.t")).collect()
        return sorted((tuple(row) for row in found), key=repr)

    yield run
    forget_catalogs(quick_spark)


def made(say: Say, more: str = "", columns: str = "k INT, v STRING, w INT", parts: str = "") -> None:
    say(f"CREATE TABLE {{t}} ({columns}) {parts} TBLPROPERTIES ({EVOLVED}{more})")
    say("INSERT INTO {t} SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 'a', 10), (2, 'b', 20), (3, 'c', 30)")


def files(path: Path) -> list[DataFileMeta]:
    """The live files, oldest first."""
    table = open_table(str(path / "d.db/t"))
    found = [entry.file for entry in table_state(table, table.snapshots.latest()).live_entries(None)]
    return sorted(found, key=lambda file: (file.max_sequence_number, file.first_row_id))


def columns_of(path: Path) -> list[tuple[str, ...] | None]:
    return [file.write_cols for file in files(path)]


def test_an_update_writes_what_it_assigns(say: Say, tmp_path: Path) -> None:
    made(say)
    say("UPDATE {t} SET v = concat(v, w) WHERE k <> 2")
    assert say("SELECT *, _ROW_ID, _SEQUENCE_NUMBER FROM {t}") == [
        (1, "a10", 10, 0, 2),
        (2, "b", 20, 1, 2),
        (3, "c30", 30, 2, 2),
    ]
    assert columns_of(tmp_path) == [None, ("v",)]
    say("UPDATE {t} SET w = w + 1, v = DEFAULT WHERE _ROW_ID >= 0 AND v = 'b'")
    assert say("SELECT * FROM {t}") == [(1, "a10", 10), (2, None, 21), (3, "c30", 30)]
    assert columns_of(tmp_path)[2:] == [("v", "w")]
    say("UPDATE {t} SET k = k, v = 'x', w = 0")
    assert columns_of(tmp_path)[3:] == [None]
    assert say("SELECT * FROM {t}") == [(1, "x", 0), (2, "x", 0), (3, "x", 0)]
    assert open_table(str(tmp_path / "d.db/t")).snapshots.latest().next_row_id == 3  # type: ignore[union-attr]
    check_table(str(tmp_path / "d.db/t"))


def test_a_merge_writes_columns_of_matched_rows_and_whole_new_ones(say: Say, tmp_path: Path) -> None:
    made(say, VECTORS)
    say(
        "MERGE INTO {t} t USING (SELECT * FROM VALUES (1, 'm'), (2, 'n'), (3, 'o'), (8, 'p'), (9, 'q') AS x(k, v)) s "
        "ON t.k = s.k WHEN MATCHED AND s.k = 3 THEN DELETE WHEN MATCHED AND t.w > 10 THEN UPDATE SET w = t.w + s.k "
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED AND s.k = 9 THEN INSERT (k, v) VALUES (s.k, s.v)"
    )
    assert say("SELECT *, _ROW_ID > 2 FROM {t}") == [
        (1, "m", 10, False),
        (2, "b", 22, False),
        (9, "q", None, True),
    ]
    _, *new = files(tmp_path)
    assert sorted((file.first_row_id, file.row_count, file.write_cols) for file in new) == [
        (0, 3, ("v", "w")),
        (3, 1, None),
    ]
    say(
        "MERGE INTO {t} t USING (SELECT 1 AS k) s ON t.k = s.k WHEN NOT MATCHED BY SOURCE AND t.k = 2 THEN DELETE "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET w = 90"
    )
    assert say("SELECT * FROM {t}") == [(1, "m", 10), (9, "q", 90)]
    assert set(columns_of(tmp_path)[3:]) == {("w",)}
    check_table(str(tmp_path / "d.db/t"))


def test_a_delete_hides_rows_under_the_oldest_file(say: Say, tmp_path: Path) -> None:
    made(say, VECTORS)
    say("UPDATE {t} SET w = 0")
    say("DELETE FROM {t} WHERE w = 0 AND v = 'b'")
    say("UPDATE {t} SET v = 'z' WHERE k = 1")
    say("DELETE FROM {t} WHERE k = 3")
    assert say("SELECT k, v, w, _ROW_ID >= 0 FROM {t}") == [(1, "z", 0, True)]
    assert say("SELECT count(*) FROM {t}") == [(1,)]
    say("DELETE FROM {t}")
    assert say("SELECT * FROM {t}") == []
    say("INSERT INTO {t} VALUES (4, 'd', 40)")
    assert say("SELECT k, _ROW_ID FROM {t}") == [(4, 3)]
    check_table(str(tmp_path / "d.db/t"))


def test_what_is_refused(say: Say, tmp_path: Path) -> None:
    made(say, parts="PARTITIONED BY (w)")
    source = "USING (SELECT 1 AS k, 'm' AS v, 11 AS w) s ON t.k = s.k"
    for statement in (
        "DELETE FROM {t} WHERE k = 1",
        f"MERGE INTO {{t}} t {source} WHEN MATCHED THEN DELETE",
    ):
        with pytest.raises(REFUSED, match=r"set 'deletion-vectors\.enabled' to true"):
            say(statement)
    for statement in (
        "UPDATE {t} SET v = 'x', w = 5 WHERE k = 1",
        f"MERGE INTO {{t}} t {source} WHEN MATCHED THEN UPDATE SET *",
    ):
        with pytest.raises(REFUSED, match="'w' is a partition column"):
            say(statement)
    twice = source.replace("s ON", "UNION ALL SELECT 1, 'n', 12) s ON").replace("(SELECT 1", "(SELECT 1", 1)
    with pytest.raises(BAD_DATA, match="several rows of the source match"):
        say(f"MERGE INTO {{t}} t {twice.replace(') UNION', ' UNION')} WHEN MATCHED THEN UPDATE SET v = s.v")
    assert say("SELECT * FROM {t}") == [(1, "a", 10), (2, "b", 20), (3, "c", 30)]
    say("DELETE FROM {t} WHERE w = 20")
    say("UPDATE {t} SET v = 'x' WHERE w = 10")
    say(f"MERGE INTO {{t}} t {source} AND t.w = s.w - 1 WHEN MATCHED THEN UPDATE SET v = s.v")
    assert say("SELECT * FROM {t}") == [(1, "m", 10), (3, "c", 30)]
    check_table(str(tmp_path / "d.db/t"))


def test_vectors_that_the_official_system_would_not_read_are_refused(say: Say, tmp_path: Path) -> None:
    more = ", 'vector-field' = 'd,f', 'field.d.vector-dim' = '1', 'field.f.vector-dim' = '1', "
    say(
        "CREATE TABLE {t} (k INT, d ARRAY<FLOAT>, f ARRAY<FLOAT>) "
        f"TBLPROPERTIES ({EVOLVED}{more}'vector.file.format' = 'parquet')"
    )
    say("INSERT INTO {t} VALUES (1, array(float(1)), array(float(1)))")
    with pytest.raises(REFUSED, match="VECTOR column 'd' is left as it is"):
        say("UPDATE {t} SET f = array(float(2)) WHERE k = 1")
    say("UPDATE {t} SET d = array(float(2)), f = array(float(3)) WHERE k = 1")
    say("ALTER TABLE {t} SET TBLPROPERTIES ('snapshot.num-retained.max' = '100')")
    with pytest.raises(REFUSED, match="would read old values of 'd', 'f'"):
        say("UPDATE {t} SET d = array(float(4)), f = array(float(5)) WHERE k = 1")
    assert say("SELECT * FROM {t}") == [(1, [2.0], [3.0])]
    check_table(str(tmp_path / "d.db/t"))


def test_columns_that_a_merge_adds(say: Say, tmp_path: Path) -> None:
    made(say)
    say(
        "MERGE WITH SCHEMA EVOLUTION INTO {t} t USING (SELECT 2 AS k, struct(7 AS x, 'y' AS y) AS n) s ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET n = s.n"
    )
    assert columns_of(tmp_path) == [None, ("n",)]
    say("UPDATE {t} SET n.y = v WHERE k < 3")
    assert [(row[0], None if row[1] is None else tuple(row[1])) for row in say("SELECT k, n FROM {t}")] == [
        (1, (None, "a")),
        (2, (7, "b")),
        (3, None),
    ]
    assert columns_of(tmp_path) == [None, ("n",), ("n",)]
    check_table(str(tmp_path / "d.db/t"))


def test_compactions_and_rows_that_change_after_them(say: Say, tmp_path: Path) -> None:
    made(say, VECTORS)
    for n in range(4):
        say(f"INSERT INTO {{t}} VALUES ({10 + n}, 'n', {n})")
        say(f"UPDATE {{t}} SET v = 'u{n}' WHERE k % 2 = {n % 2}")
    say("DELETE FROM {t} WHERE k IN (2, 11)")
    rows = say("SELECT *, _ROW_ID FROM {t}")
    call = "CALL {c}.sys.compact(table => 'd.t')"
    catalog = paimon_spark.catalog(SparkSession.getActiveSession(), str(tmp_path))
    catalog.sql(call.replace("{c}", "paimon"))
    assert columns_of(tmp_path) == [None]
    assert say("SELECT *, _ROW_ID FROM {t}") == rows
    say("UPDATE {t} SET w = -1 WHERE v = 'u3'")
    say("DELETE FROM {t} WHERE k = 12")
    expected = [(k, v, -1 if v == "u3" else w, row_id) for k, v, w, row_id in rows if k != 12]
    assert say("SELECT *, _ROW_ID FROM {t}") == expected
    check_table(str(tmp_path / "d.db/t"))


def test_many_rows_and_columns_as_expressions(spark: SparkSession, tmp_path: Path) -> None:
    """More rows than this process changes by itself, in several files, and texts that are stored with blanks."""
    path = str(tmp_path / "d.db/t")
    options = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"}
    builder = PaimonTable.create(spark).location(path).properties(options)
    builder = builder.addColumn("id", "BIGINT").addColumn("c", "CHAR(3)").addColumn("n", "BIGINT")
    table = builder.addColumn("at", "TIMESTAMP(9)").execute()
    rows = spark.range(0, 30_000, 1, 3).select(
        "id", sf.lit("x").alias("c"), (sf.col("id") * 2).alias("n"), sf.lit(None).cast("timestamp").alias("at")
    )
    table.append(rows)
    before = {row[0]: row[1] for row in table.toDF(columns=["id", "_ROW_ID"]).collect()}
    done = table.update(sf.col("id") % 2 == 0, {"c": sf.concat(sf.trim("c"), sf.lit("y"))})
    assert (done.rows_updated, done.files_rewritten) == (15_000, 0)
    source = spark.range(29_000, 31_000).withColumn("n", sf.lit(-1))
    merge = table.merge(source.alias("s"), "target.id = s.id")
    done = merge.whenMatchedDelete("s.id % 3 = 0").whenMatchedUpdate(set={"n": "s.n"}).whenNotMatchedInsert(
        values={"id": "s.id", "n": "s.n"}
    ).execute()  # fmt: skip
    assert (done.rows_updated, done.rows_deleted, done.rows_inserted) == (667, 333, 1000)
    found = {row[0]: tuple(row[1:]) for row in table.toDF(columns=["id", "c", "n", "_ROW_ID"]).collect()}
    for k in [*range(0, 29_000, 997), *range(28_990, 29_010), *range(29_990, 31_000, 7)]:
        if k >= 30_000:
            assert found[k][:2] == (None, -1)
        elif k >= 29_000 and k % 3 == 0:
            assert k not in found
        else:
            assert found[k] == ("x  " if k % 2 else "xy ", -1 if k >= 29_000 else 2 * k, before[k])
    assert len(found) == 30_000 - 333 + 1000
    assert {file.write_cols for file in files(tmp_path)} == {None, ("c",), ("n",)}
    check_table(path)


@pytest.mark.parametrize("batch_rows", [1, 10_000])
def test_several_source_rows_for_one_row(quick_spark: SparkSession, tmp_path: Path, batch_rows: int) -> None:
    """Tasks that write columns find them, in one batch or in two, and leave no file."""
    catalog = paimon_spark.catalog(quick_spark, str(tmp_path))
    catalog.sql("CREATE DATABASE paimon.d")
    made(lambda said: [tuple(row) for row in catalog.sql(said.replace("{t}", "paimon.d.t")).collect()])
    before = sorted(tmp_path.rglob("bucket-*/*"))
    source = "(SELECT * FROM VALUES (3, 'x'), (1, 'y'), (2, 'z'), (1, 'w') AS s(k, v))"
    quick_spark.conf.set(BATCH_ROWS, batch_rows)
    try:
        with pytest.raises(DataError, match=r'several rows of the source match the row \{.*"k":1.*\} of the target'):
            catalog.sql(
                f"MERGE INTO paimon.d.t t USING {source} s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v"
            ).collect()
        assert sorted(tmp_path.rglob("bucket-*/*")) == before
        catalog.sql(
            f"MERGE INTO paimon.d.t t USING {source} s ON t.k = s.k AND s.v <> 'w' "
            "WHEN MATCHED AND t.k = 3 THEN UPDATE SET w = 31 WHEN MATCHED THEN UPDATE SET v = s.v"
        ).collect()
    finally:
        quick_spark.conf.unset(BATCH_ROWS)
    rows = sorted(map(tuple, catalog.sql("SELECT * FROM paimon.d.t").collect()))
    assert rows == [(1, "y", 10), (2, "z", 20), (3, "c", 31)]
    check_table(str(tmp_path / "d.db/t"))


def test_small_files_share_tasks(quick_spark: SparkSession, tmp_path: Path) -> None:
    """Most of them may have no row that changes: a statement begins as many tasks as a read, not one for each file."""
    catalog = paimon_spark.catalog(quick_spark, str(tmp_path))
    catalog.sql("CREATE DATABASE paimon.d")
    catalog.sql(f"CREATE TABLE paimon.d.t (k INT, v INT, p INT) PARTITIONED BY (p) TBLPROPERTIES ({EVOLVED})")
    catalog.sql("INSERT INTO paimon.d.t SELECT /*+ COALESCE(1) */ id DIV 24, 0, id % 24 FROM range(48)").collect()
    assert len(files(tmp_path)) == 24  # from 33 on Spark lists them in tasks
    tracker = quick_spark.sparkContext.statusTracker()
    quick_spark.sparkContext.setJobGroup("an update", "")
    try:
        done = catalog.sql("UPDATE paimon.d.t SET v = 7 WHERE k = 1 AND abs(p - 12) < 2").collect()
    finally:
        quick_spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup("an update")]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    assert 0 < max(stage.numTasks for stage in stages if stage is not None) <= 12
    assert tuple(done[0]) == (3,)
    rows = sorted(map(tuple, catalog.sql("SELECT p, k FROM paimon.d.t WHERE v = 7").collect()))
    assert rows == [(11, 1), (12, 1), (13, 1)]
    catalog.sql("UPDATE paimon.d.t SET v = p + 100 * k").collect()
    rows = sorted(map(tuple, catalog.sql("SELECT v, p, k FROM paimon.d.t").collect()))
    assert rows == sorted((p + 100 * k, p, k) for p in range(24) for k in range(2))
    check_table(str(tmp_path / "d.db/t"))
