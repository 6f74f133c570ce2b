"""Tables whose primary key leaves out a partition column: a key is unique in its partition, or in the whole table.

CI runs two of the kinds of tables, and each run others; ``PAIMON_LONG=1`` runs all.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from support.long_runs import LONG, draws

import paimon_spark
from paimon_spark.errors import DataError
from paimon_spark.spark.catalog.session_catalog import SessionCatalog
from paimon_spark.spark.merge_into.clauses import MergeBuilder

pytestmark = pytest.mark.spark
PER_PARTITION = {
    "fixed": "'bucket' = '2'",
    "vectors": "'bucket' = '1', 'deletion-vectors.enabled' = 'true'",
    "partial": "'bucket' = '1', 'merge-engine' = 'partial-update'",
    "changelog": "'bucket' = '1', 'changelog-producer' = 'input'",
    "postponed": "'bucket' = '-2', 'postpone.batch-write-fixed-bucket' = 'true'",
}
DRAWN = list(PER_PARTITION) if LONG else draws().sample(list(PER_PARTITION), 2)
BOTH = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"


def made(spark: SparkSession, path: Path, options: str) -> SessionCatalog:
    """The table paimon.k.x with the row (1, 'A', 1)."""
    cat = paimon_spark.catalog(spark, str(path))
    cat.sql("CREATE DATABASE paimon.k")
    columns = "id INT, p STRING, v INT"
    cat.sql(f"CREATE TABLE paimon.k.x ({columns}) PARTITIONED BY (p) TBLPROPERTIES ('primary-key' = 'id', {options})")
    cat.sql("INSERT INTO paimon.k.x VALUES (1, 'A', 1)")
    return cat


def rows(cat: SessionCatalog) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in cat.sql("SELECT * FROM paimon.k.x").collect())


@pytest.mark.parametrize("kind", [*DRAWN, "global"])
def test_a_row_is_not_moved_to_another_partition_without_its_old_one(
    quick_spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    """The old row would stay; with keys unique in the whole table, partial-update would not take the new partition."""
    options = {**PER_PARTITION, "global": "'bucket' = '-1', 'merge-engine' = 'partial-update'"}[kind]
    cat = made(quick_spark, tmp_path, options)
    table, new = cat["k.x"].alias("t"), quick_spark.sql("SELECT 1 AS id, 'C' AS p, 5 AS v").alias("s")
    new.createOrReplaceTempView("moved")

    def merge() -> MergeBuilder:
        return table.merge(new, "t.id = s.id")

    for change in (
        lambda: cat.sql("UPDATE paimon.k.x SET p = 'C' WHERE id = 1"),
        lambda: cat["k.x"].update("id = 1", {"p": sf.lit("C"), "v": "7"}),
        lambda: cat.sql("UPDATE paimon.k.x SET p = NULL"),
        lambda: merge().whenMatchedUpdateAll("s.v > t.v").execute(),
        lambda: merge().whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(),
        lambda: merge().withSchemaEvolution().whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(),
        lambda: merge().whenMatchedUpdate(set={"p": "concat(t.p, s.p)"}).execute(),
        lambda: merge().whenNotMatchedBySourceUpdate(set={"p": "'C'"}).whenMatchedUpdate(set={"p": "s.p"}).execute(),
        lambda: cat.sql(f"MERGE INTO paimon.k.x t USING moved s ON t.id = s.id {BOTH}"),
    ):
        with pytest.raises(
            DataError, match=r"'p' is a partition column that the primary key \(id\) leaves out.*insert"
        ):
            change()
    assert rows(cat) == [(1, "A", 1)]
    cat.sql("UPDATE paimon.k.x SET p = 'A', v = v + 1")
    cat["k.x"].update("p = 'A'", {"p": "upper(p)", "v": "v + 1"})
    assert rows(cat) == [(1, "A", 3)]
    assert not cat["k.x"].check().problems


def test_a_stream_does_not_move_rows_either(quick_spark: SparkSession, tmp_path: Path) -> None:
    cat = made(quick_spark, tmp_path, PER_PARTITION["fixed"])
    quick_spark.sql("SELECT 1 AS id, 'C' AS p, 5 AS v").write.json(str(tmp_path / "in"))

    def each(batch: DataFrame, _: int) -> None:
        merge = cat["k.x"].alias("t").merge(batch.alias("s"), "t.id = s.id")
        merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()

    stream = quick_spark.readStream.schema("id INT, p STRING, v INT").json(str(tmp_path / "in"))
    writer = stream.writeStream.foreachBatch(each).trigger(availableNow=True)
    with pytest.raises(StreamingQueryException, match="FOREACH_BATCH_USER_FUNCTION_ERROR") as failed:
        writer.option("checkpointLocation", str(tmp_path / "c")).start().awaitTermination()
    assert "'p' is a partition column that the primary key (id) leaves out" in str(failed.value)
    assert rows(cat) == [(1, "A", 1)]


@pytest.mark.parametrize("kind", DRAWN)
def test_one_row_of_the_source_changes_a_key_in_all_its_partitions(
    quick_spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    """It matches several rows of the table, and several of the source are compared by the partition too."""
    cat = made(quick_spark, tmp_path, PER_PARTITION[kind])
    cat.sql("INSERT INTO paimon.k.x VALUES (1, 'B', 2), (2, 'B', 3)")
    one = "MERGE INTO paimon.k.x t USING (SELECT 1 AS id, 9 AS v) s ON t.id = s.id WHEN MATCHED THEN"
    cat.sql(f"{one} UPDATE SET v = t.v + s.v")
    assert rows(cat) == [(1, "A", 10), (1, "B", 11), (2, "B", 3)]
    two = "(SELECT * FROM VALUES (1, 'A', 20), (1, 'B', 21), (2, 'A', 22) AS v(id, p, v)) s"
    cat.sql(f"MERGE INTO paimon.k.x t USING {two} ON t.id = s.id AND t.p = s.p {BOTH}")
    assert rows(cat) == [(1, "A", 20), (1, "B", 21), (2, "A", 22), (2, "B", 3)]
    cat.sql(f"MERGE INTO paimon.k.x t USING {two} ON t.id = s.id AND t.p = s.p WHEN MATCHED THEN UPDATE SET v = 0")
    assert rows(cat) == [(1, "A", 0), (1, "B", 0), (2, "A", 0), (2, "B", 3)]
    with pytest.raises(DataError, match="several rows of the source match"):
        cat.sql(f"MERGE INTO paimon.k.x t USING {two} ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v")
    if kind != "partial":
        cat.sql(f"{one} DELETE")
        assert rows(cat) == [(2, "A", 0), (2, "B", 3)]


def test_an_update_moves_a_key_that_is_unique_in_the_table(quick_spark: SparkSession, tmp_path: Path) -> None:
    """Its changelog has the old row and the new one, each once."""
    cat = made(quick_spark, tmp_path, "'bucket' = '-1', 'changelog-producer' = 'input'")

    def last_change(snapshot: int) -> list[tuple[object, ...]]:
        options = {"incremental-between": f"{snapshot - 1},{snapshot}", "incremental-between-scan-mode": "changelog"}
        reader = quick_spark.read.format("paimon").options(**options).option("row-kinds", "true")
        return sorted(tuple(row) for row in reader.load(str(tmp_path / "k.db/x")).collect())

    cat.sql("UPDATE paimon.k.x SET p = 'C' WHERE id = 1")
    assert rows(cat) == [(1, "C", 1)]
    assert last_change(2) == [(1, "A", 1, "-U"), (1, "C", 1, "+U")]
    cat.sql(f"MERGE INTO paimon.k.x t USING (SELECT 1 AS id, 'D' AS p, 5 AS v) s ON t.id = s.id {BOTH}")
    assert rows(cat) == [(1, "D", 5)]
    assert last_change(3) == [(1, "C", 1, "-U"), (1, "D", 5, "+U")]
