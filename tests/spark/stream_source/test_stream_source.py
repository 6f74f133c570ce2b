"""Streams from tables in Spark: a pipeline that is restarted, one into another table, and operators that keep state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from support.tables.compacted_tables import append, new_table

from paimon_spark import PaimonTable
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.spark


def run(frame: DataFrame, checkpoint: Path, mode: str = "append") -> list[list[tuple[Any, ...]]]:
    """The batches that there are."""
    batches: list[list[tuple[Any, ...]]] = []
    writer = frame.writeStream.foreachBatch(lambda rows, _: batches.append(sorted(map(tuple, rows.collect()))))
    query = writer.option("checkpointLocation", str(checkpoint)).outputMode(mode).trigger(availableNow=True).start()
    query.awaitTermination()
    return batches


def rows_of(batches: list[list[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    return [row for batch in batches for row in batch]


def test_a_query_goes_on_where_it_stood(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    append(table, [(1, 10, "a"), (2, 20, "b")])
    reader = spark.readStream.format("paimon").option("row-kinds", "true").option("consumer-id", "mart")
    stream = reader.option("columns", "k, a").option("filter", "k < 9").load(str(tmp_path / "t"))
    assert run(stream, tmp_path / "ck") == [[(1, 10, "+I"), (2, 20, "+I")]]
    append(table, [(1, 11, "a"), (2, 20, "b"), (9, 9, "c")], [2, 3, 0])
    assert run(stream, tmp_path / "ck") == [[(1, 11, "+U"), (2, 20, "-D")]]
    assert run(stream, tmp_path / "ck") == []
    assert Path(table.location, "consumer", "consumer-mart").read_text().replace(" ", "").replace("\n", "") == (
        '{"nextSnapshot":3}'
    )


def test_one_table_into_another_one(spark: SparkSession, tmp_path: Path) -> None:
    """R8 in short: the changelog of a table, by its row kinds, makes another one equal to it."""
    source = new_table(tmp_path / "s", {"changelog-producer": "input", "bucket": "2"})
    target = new_table(tmp_path / "t", {"bucket": "1"})
    first = PaimonTable.forPath(spark, source.location).stream(
        row_kinds=True, options={"scan.snapshot-id": "1", "read.stream.maxFilesPerTrigger": "2"}
    )
    for number in range(3):
        append(source, [(k, number, "x") for k in range(6)], [3 if (k + number) % 3 == 0 else 0 for k in range(6)])
        query = (
            first.writeStream.format("paimon")
            .option("checkpointLocation", str(tmp_path / "ck"))
            .option("row-kind-column", "_row_kind")
            .trigger(availableNow=True)
            .start(target.location)
        )
        query.awaitTermination()
    rows = [sorted(map(str, open_table(t.location).scan().to_arrow().to_pylist())) for t in (source, target)]
    assert rows[0] == rows[1] != []


def test_operators_that_keep_state(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {"bucket": "-1"}, keys=())
    append(table, [(1, 10, "a"), (1, 10, "a"), (2, 20, "b")])
    stream = PaimonTable.forPath(spark, table.location).stream(options={"scan.mode": "latest-full"})
    timed = stream.withColumn("at", f.timestamp_seconds("a")).withWatermark("at", "1 minute")
    once = timed.dropDuplicatesWithinWatermark(["k"])
    other = stream.selectExpr("k as other", "timestamp_seconds(a) as then").withWatermark("then", "1 minute")
    assert [row[0] for row in run(once, tmp_path / "once")[0]] == [1, 2]
    joined = once.join(other, f.expr("k = other and at = then")).select("k", "b")
    assert rows_of(run(joined, tmp_path / "joined")) == [(1, "a"), (1, "a"), (2, "b")]
    counts = stream.groupBy("k").count()
    assert run(counts, tmp_path / "counts", "update")[0] == [(1, 2), (2, 1)]
    append(table, [(2, 20, "b")])
    assert run(counts, tmp_path / "counts", "update") == [[(2, 2)]]


def test_system_tables_and_wrong_paths(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {"changelog-producer": "input"})
    append(table, [(1, 10, "a")])
    append(table, [(1, 10, "a"), (1, 12, "b")], [1, 2])
    audit = spark.readStream.format("paimon").option("scan.snapshot-id", "1").load(f"{table.location}$audit_log")
    assert audit.columns == ["rowkind", "k", "a", "b"]
    assert [row[0] for row in rows_of(run(audit.select("rowkind", "a"), tmp_path / "audit"))] == ["+I", "+U", "-U"]
    binlog = spark.readStream.format("paimon").option("scan.snapshot-id", "1").load(f"{table.location}$binlog")
    assert rows_of(run(binlog, tmp_path / "binlog")) == [
        ("+I", [1], [10], ["a"]),
        ("+U", [1, 1], [10, 12], ["a", "b"]),
    ]
    with pytest.raises(Exception, match=r"\$audit_log and \$binlog can be streamed"):
        run(spark.readStream.format("paimon").load(f"{table.location}$files"), tmp_path / "files")
