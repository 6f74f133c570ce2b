"""Objects, views and jobs that outlive the table: only df.write ... save(path) makes one (protocol C11)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import paimon_spark
from paimon_spark import PaimonTable, open_table
from paimon_spark.errors import TableNotFound
from paimon_spark.spark.adapters.batches import FrameColumns
from paimon_spark.spark.adapters.options import write_options
from paimon_spark.spark.jobs.write_run import run_write
from paimon_spark.writes.open_write import open_job

pytestmark = pytest.mark.spark
CREATE = """CREATE TABLE paimon.d.t (id BIGINT, dt STRING) PARTITIONED BY (dt)
            TBLPROPERTIES ('primary-key' = 'id,dt', 'bucket' = '1')"""
Write = Callable[[PaimonTable, DataFrame], object]
WRITES: dict[str, Write] = {
    "append": lambda table, rows: table.append(rows),
    "append of pandas": lambda table, rows: table.append(pd.DataFrame({"id": [1], "dt": ["a"]})),
    "append of Arrow": lambda table, rows: table.append(pa.table({"id": [1], "dt": ["a"]})),
    "append once": lambda table, rows: table.append(rows, once=("job", 1)),
    "overwrite": lambda table, rows: table.overwrite(rows),
    "overwrite of a partition": lambda table, rows: table.overwrite(rows, "dt = 'a'"),
    "dynamic overwrite": lambda table, rows: table.dynamic_partition_overwrite(rows),
    "new columns": lambda table, rows: table.append(rows, {"write.merge-schema": "true"}),
    "other columns": lambda table, rows: table.overwrite(rows, options={"overwrite-schema": "true"}),
    "delete": lambda table, rows: table.delete("id = 1"),
    "update": lambda table, rows: table.update("id = 1", {"id": "2"}),
    "merge": lambda table, rows: table.merge(rows.alias("s"), "t.id = s.id").whenNotMatchedInsertAll().execute(),
    "truncate": lambda table, rows: table.truncate(),
    "compact": lambda table, rows: table.optimize().compact(),
    "tag": lambda table, rows: table.create_tag("x"),
    "set_options": lambda table, rows: table.set_options({"snapshot.num-retained.max": "70"}),
}


def test_no_object_makes_a_table(quick_spark: SparkSession, tmp_path: Path) -> None:
    session = quick_spark.newSession()  # it has one catalog
    cat = paimon_spark.catalog(session, str(tmp_path / "lake"))
    cat.create_database("d")
    cat.sql(CREATE)
    path = str(tmp_path / "lake" / "d.db" / "t")
    rows = session.sql("SELECT 1L id, 'a' dt")
    objects = [cat["d.t"], PaimonTable.forPath(session, path), PaimonTable.forName(session, "d.t")]
    objects[0].append(rows)
    objects[0].createOrReplaceTempView("kept")
    cat.sql("DROP TABLE paimon.d.t")
    for name, write in WRITES.items():
        for table in objects if name == "append" else objects[:1]:
            with pytest.raises(TableNotFound):
                write(table, rows)
            assert not Path(path).exists(), name
    with pytest.raises(PySparkException, match="there is no table any more"):
        session.sql("INSERT INTO kept VALUES (1, 'a')")
    assert not Path(path).exists()
    with pytest.raises(TableNotFound, match=r"Nothing was written\. Create it again, .* df\.write"):
        objects[0].append(rows)
    cat.sql(CREATE)  # under the same name: the objects are of the new table
    for table in objects:
        table.append(rows)
    assert [tuple(row) for row in cat.table("d.t").collect()] == [(1, "a")]
    cat.sql("DROP TABLE paimon.d.t")
    rows.write.format("paimon").mode("append").save(path)
    assert open_table(path).schema.primary_keys == ()
    session.catalog.dropTempView("kept")
    cat.use(None)


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("more", [{}, {"write.merge-schema": "true"}])
def test_a_job_leaves_a_table_alone_that_was_made_anew(
    quick_spark: SparkSession, tmp_path: Path, overwrite: bool, more: dict[str, str]
) -> None:
    """Its rows are computed and written before the drop, and committed after it."""
    path, columns = str(tmp_path / "t"), {"id": "BIGINT", "dt": "STRING"}
    made = PaimonTable.create(quick_spark).location(path).primaryKey("id").property("bucket", "1")
    for name, kind in columns.items():
        made.addColumn(name, kind)
    made.execute()
    added = ", 2 more" if more else ""
    rows = quick_spark.sql(f"SELECT 1L id, 'a' dt{added}")
    job = open_job(write_options({"path": path, **more}), FrameColumns(rows.schema), overwrite)

    def made_anew() -> None:
        shutil.rmtree(path)
        made.execute()

    with pytest.raises(TableNotFound, match="dropped or renamed since this job opened it"):
        run_write(quick_spark, rows, job, made_anew)
    now = open_table(path)
    assert (now.snapshots.latest_id(), now.schemas.ids()) == (None, [0])
    assert list((tmp_path / "t").rglob("data-*")) == []


def test_a_data_frame_of_a_table_that_was_dropped_or_made_anew(quick_spark: SparkSession, tmp_path: Path) -> None:
    """It was planned before: it shows neither no rows nor those of another table."""
    path = str(tmp_path / "t")

    def make(columns: str) -> None:
        rows = quick_spark.sql(f"SELECT {columns}")
        rows.write.format("paimon").mode("append").save(path)

    make("1L id, 'a' dt")
    loaded = quick_spark.read.format("paimon").load(path)
    held = [loaded, loaded.where("id = 1"), quick_spark.read.format("paimon").load(path)]
    assert [frame.count() for frame in held[:2]] == [1, 1]
    shutil.rmtree(path)
    for frame in held:
        with pytest.raises(PySparkException, match=r"dropped or renamed|no Paimon table at"):
            frame.collect()
        assert not Path(path).exists()
    make("'x' other, 2L id")
    for frame in held:
        with pytest.raises(PySparkException, match=r"another one was made at its place|no Paimon table at"):
            frame.collect()
    assert [tuple(row) for row in quick_spark.read.format("paimon").load(path).collect()] == [("x", 2)]
