"""Streams in the release matrix: a table becomes another one by a plain sink, a function for each batch, and a restart.

Run by release_job; by itself: ``release_streams.py FOLDER``. It registers the data source where Spark does not find it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import paimon_spark
from paimon_spark import PaimonTable

COLUMNS = "id long, total long"


def check_streams(spark: SparkSession, folder: Path) -> None:
    """Rows of a table go through three streams, in two runs; a batch that Spark forgets is not written again."""
    source = table(spark, folder / "source", "input")
    add(spark, source, [(1, 10), (2, 20), (3, 30)])
    plain, shuffled = (table(spark, folder / name, "none") for name in ("plain", "shuffled"))
    for number in range(2):
        changes = source.stream(row_kinds=True)
        run(changes, f"{folder}/plain", folder / "ck-plain")
        each = shuffled.write_stream(source.stream(), checkpoint=f"{folder}/ck-shuffled")
        each.trigger(availableNow=True).start().awaitTermination()
        if number == 0:
            add(spark, source, [(1, 11), (4, 40)])
            source.delete("id = 2")
    forget(folder / "ck-plain")
    run(source.stream(row_kinds=True), f"{folder}/plain", folder / "ck-plain")
    assert rows_of(plain) == rows_of(source) == [(1, 11), (3, 30), (4, 40)], rows_of(plain)
    assert rows_of(shuffled) == [(1, 11), (2, 20), (3, 30), (4, 40)], "without row kinds nothing is deleted"


def table(spark: SparkSession, path: Path, producer: str) -> PaimonTable:
    made = PaimonTable.create(spark).location(str(path)).addColumn("id", "BIGINT NOT NULL").addColumn("total", "BIGINT")
    return made.primaryKey("id").property("bucket", "2").property("changelog-producer", producer).execute()


def add(spark: SparkSession, target: PaimonTable, rows: list[tuple[int, int]]) -> None:
    target.append(spark.createDataFrame(rows, COLUMNS))


def run(changes: DataFrame, path: str, checkpoint: Path) -> None:
    writer = changes.writeStream.format("paimon").option("checkpointLocation", str(checkpoint))
    query = writer.option("row-kind-column", "_row_kind").trigger(availableNow=True).start(path)
    query.awaitTermination()
    assert query.exception() is None, query.exception()


def forget(checkpoint: Path) -> None:
    """Spark forgets its last batch."""
    last = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit())
    for name in (f"{last}", f".{last}.crc"):
        (checkpoint / "commits" / name).unlink()


def rows_of(found: PaimonTable) -> list[tuple[int, int]]:
    return sorted(tuple(row) for row in found.toDF().collect())


def main(folder: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    paimon_spark.register(spark)
    check_streams(spark, Path(folder))
    print(f"PySpark {spark.version}: streams are right")


if __name__ == "__main__":
    main(*sys.argv[1:])
