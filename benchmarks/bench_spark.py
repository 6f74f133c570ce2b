"""The product inside Spark: merged reads, append reads and writes against what Spark itself does with the same rows."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import tables
from measure import Results, fastest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage

from paimon_spark import PaimonTable
from paimon_spark.store.metadata.table import Table


class DropWriter(DataSourceArrowWriter):
    """Takes every batch and forgets it: what Spark alone costs on the way to a Python sink."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        for _ in iterator:
            pass
        return WriterCommitMessage()

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        del messages

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        del messages


class DropSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "drop_everything"

    def writer(self, schema: Any, overwrite: bool) -> DropWriter:
        return DropWriter()


def session() -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    here = str(Path(__file__).parent)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "4").config("spark.driver.memory", "4g")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.sql.session.timeZone", "UTC")
    return builder.getOrCreate()


def noop(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def window_dedup(raw: DataFrame) -> DataFrame:
    """The newest version of each key, as one writes it without a table format."""
    newest = Window.partitionBy("id").orderBy(F.col("_SEQUENCE_NUMBER").desc())
    return raw.withColumn("place", F.row_number().over(newest)).where("place = 1").drop("place")


def reads(results: Results, spark: SparkSession, merged: Table, plain: Table) -> None:
    files = tables.data_files(merged)
    names = [field.name for field in merged.schema.fields]
    raw = spark.read.parquet(*files)
    best = fastest(
        {
            "ours": lambda: noop(spark.read.format("paimon").load(merged.location)),
            "unmerged": lambda: noop(raw.select(*names)),
            "window": lambda: noop(window_dedup(raw).select(*names)),
            "append": lambda: noop(spark.read.format("paimon").load(plain.location)),
            "parquet": lambda: noop(spark.read.parquet(*tables.data_files(plain))),
        },
        4,
    )
    note = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in best.items())
    results.lower(
        "merged read in Spark: time / unmerged spark.read.parquet", best["ours"] / best["unmerged"], "x", 1.7, note
    )
    results.higher("merged read in Spark: speed / window dedup", best["window"] / best["ours"], "x", 2.5)
    results.lower("append read in Spark: time / spark.read.parquet", best["append"] / best["parquet"], "x", 1.7)


def writes(results: Results, spark: SparkSession, root: Path, rows: int) -> None:
    spark.dataSource.register(DropSource)
    source = spark.read.parquet(*tables.data_files(tables.append_table(root / "bench.db", rows)))
    target = str(root / "spark-write")

    def fresh() -> str:
        shutil.rmtree(target, ignore_errors=True)
        return target

    def save() -> None:
        writer = source.write.format("paimon").mode("append").option("primary-key", "id").option("bucket", "2")
        writer.option("write-only", "true").save(fresh())

    def shuffled() -> None:
        create = PaimonTable.create(spark).location(fresh()).addColumns(source.schema).primaryKey("id")
        create.property("bucket", "2").property("write-only", "true").execute().append(source)

    drop = source.write.format("drop_everything").mode("append")
    best = fastest({"ours": save, "append()": shuffled, "drop": drop.save}, 3)
    note = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in best.items()) + f", {rows:,} rows"
    results.lower("PK write, df.write: time / drop-everything sink", best["ours"] / best["drop"], "x", 2.0, note)
    rate = rows / min(best["ours"], best["append()"]) / 1000
    note = "JVM Paimon 2.0.0 wrote 255 k rows/s on a machine of this kind, across runs"
    results.higher("PK write through Spark", rate, "k rows/s", 4 * 255, note)


def run(results: Results, root: Path, scale: float) -> None:
    spark = session()
    count, upserts = int(5e6 * scale), int(2e5 * scale)
    merged = tables.primary_key_table(root / "bench.db", "int64 dense", count, upserts, 8)
    reads(results, spark, merged, tables.append_table(root / "bench.db", count))
    writes(results, spark, root, count)
    spark.stop()
