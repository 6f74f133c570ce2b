"""File indexes through Spark: made by df.write, used by reads of both kinds, made anew by Spark tasks."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from paimon_spark import PaimonTable, catalog
from paimon_spark.tables.open import open_table


def test_written_read_and_made_anew(spark: SparkSession, tmp_path: Path) -> None:
    cat = catalog(spark, str(tmp_path))
    path = str(tmp_path / "db.db" / "t")
    made = PaimonTable.create(spark).location(path).addColumn("id", "BIGINT").addColumn("s", "STRING")
    made.property("metadata.stats-mode", "none").execute()
    for first in (0, 100):
        rows = spark.range(first, first + 10).selectExpr("id", "concat('s', id) s").coalesce(1)
        rows.write.format("paimon").mode("append").save(path)
    table = PaimonTable.forPath(spark, path)
    with table.update_schema() as update:
        update.set_options({"file-index.bitmap.columns": "s", "file-index.in-manifest-threshold": "0 b"})
    rows = spark.range(200, 210).selectExpr("id", "concat('s', id) s").coalesce(1)
    rows.write.format("paimon").mode("append").save(path)
    assert open_table(path).scan(where="s = 's5'").plan().skipped_by_index == 1
    assert cat.sql("call sys.rewrite_file_index(table => 'db.t')").collect() == [(1, 2)]
    assert PaimonTable.forPath(spark, path).rewrite_file_index().written_indexes == 0
    assert open_table(path).scan(where="s = 's5'").plan().skipped_by_index == 2
    shown = PaimonTable.forPath(spark, path).toDF(where="s = 's105'")
    assert len(shown.inputFiles()) == 1
    assert shown.collect() == [(105, "s105")]
    told = cat.explain("select id from paimon.db.t where s = 's105'")
    assert "left out by file indexes: 2 files" in told


def test_deleted_and_updated_rows_of_indexed_files(spark: SparkSession, tmp_path: Path) -> None:
    """Only the reads leave rows out by an index: what copies a file, or counts the places of rows, takes all."""
    options = {"deletion-vectors.enabled": "true", "file-index.bitmap.columns": "s", "write-only": "true"}
    path = str(tmp_path / "t")
    for first in (0, 100):
        rows = spark.range(first, first + 10).selectExpr("id", "concat('s', id) s").coalesce(1)
        rows.write.format("paimon").mode("append").options(**options).save(path)
    table = PaimonTable.forPath(spark, path)
    assert table.delete("s = 's5'").rows_deleted == 1
    assert table.update("s = 's107'", {"s": "'new'"}).rows_updated == 1
    found = open_table(path)
    assert found.scan().count() == 19
    for s, ids in {"new": [107], "s107": [], "s5": [], "s6": [6], "s108": [108]}.items():
        assert found.scan(where=f"s = '{s}'").to_arrow()["id"].to_pylist() == ids
    assert table.check().is_good
