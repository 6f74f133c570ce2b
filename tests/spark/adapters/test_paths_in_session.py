"""A relative path is one place for everything that has the session, wherever the program has gone since."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import paimon_spark
from paimon_spark import PaimonTable, open_table

pytestmark = pytest.mark.spark


def test_after_a_change_of_directory(
    quick_spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java: Any = quick_spark._jvm
    started = java.java.lang.System.getProperty("user.dir")
    lake = os.path.relpath(tmp_path / "lake", started)
    elsewhere = tmp_path / "elsewhere" / "a" / "b"
    elsewhere.mkdir(parents=True)
    monkeypatch.chdir(elsewhere)
    cat = paimon_spark.catalog(quick_spark, lake)
    cat.create_database("d")
    cat.sql("CREATE TABLE paimon.d.t (id INT NOT NULL) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    path = f"{lake}/d.db/t"
    rows = quick_spark.sql("SELECT 1 id")
    rows.write.format("paimon").mode("append").save(path)
    PaimonTable.forPath(quick_spark, path).append(rows)
    PaimonTable.forPath(quick_spark, f"file:{path}").append(rows)
    cat.sql(f"INSERT INTO paimon.`{path}` VALUES (2)")
    assert PaimonTable.isPaimonTable(quick_spark, path)
    for frame in (
        cat.table("d.t"),
        cat.sql(f"SELECT * FROM paimon.`{path}`"),
        PaimonTable.forPath(quick_spark, path).toDF(),
        quick_spark.read.format("paimon").load(path),
    ):
        assert sorted(row[0] for row in frame.collect()) == [1, 2]
    PaimonTable.create(quick_spark).location(f"{lake}/made").addColumn("id", "INT").execute()
    PaimonTable.create(quick_spark).option("warehouse", lake).tableName("d.named").addColumn("id", "INT").execute()
    PaimonTable.forPath(quick_spark, path).copy(f"{lake}/copied")
    found = {str(schema.parent.parent.relative_to(tmp_path)) for schema in tmp_path.rglob("schema-0")}
    assert found == {"lake/d.db/t", "lake/made", "lake/d.db/named", "lake/copied"}
    assert list(elsewhere.iterdir()) == []
    monkeypatch.chdir(tmp_path)
    assert open_table("lake/d.db/t").scan().count() == 2  # without a session it is that of the process
    cat.use(None)
