"""The product inside Spark: merged reads, append reads and writes against what Spark itself does with the same rows."""

from __future__ import annotations

import json
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
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from paimon_spark import PaimonTable
from paimon_spark.spark.source.source import PaimonDataSource
from paimon_spark.store.metadata.table import Table

CORES = 2


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


class ReadyReader(DataSourceReader):
    """Tasks that yield the batches of one file of Arrow each: what Spark costs for a task that does nothing."""

    def __init__(self, folder: str) -> None:
        self.files = sorted(str(path) for path in Path(folder).glob("*.arrow"))

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(file) for file in self.files]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(partition.value) as held:
            file = pa.ipc.open_file(held)
            yield from map(file.get_batch, range(file.num_record_batches))


class ReadySource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "ready_batches"

    def schema(self) -> StructType:
        return StructType.fromJson(json.loads(Path(self.options["path"], "schema.json").read_text()))

    def reader(self, schema: StructType) -> ReadyReader:
        return ReadyReader(self.options["path"])


def make_ready(table: Table, folder: Path) -> None:
    """The batches that the tasks of a read of the table yield, a file for each task."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    source = PaimonDataSource({"path": table.location})
    schema = source.schema()
    assert isinstance(schema, StructType)
    (folder / "schema.json").write_text(schema.json())
    for number, batches in enumerate(_of_tasks(source, schema)):
        first = next(batches)
        with pa.ipc.new_file(str(folder / f"{number:04d}.arrow"), first.schema) as file:
            file.write_batch(first)
            for batch in batches:
                file.write_batch(batch)


def _of_tasks(source: PaimonDataSource, schema: StructType) -> Iterator[Iterator[pa.RecordBatch]]:
    reader = source.reader(schema)
    return (iter(reader.read(partition)) for partition in reader.partitions())


def merge_alone(location: str) -> None:
    """All that the tasks of a read do, in one process without Spark."""
    source = PaimonDataSource({"path": location})
    for batches in _of_tasks(source, source.schema()):
        tables.drain(batches)


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


def reads(results: Results, spark: SparkSession, merged: Table, plain: Table, ready: Path) -> None:
    make_ready(merged, ready)
    spark.dataSource.register(ReadySource)
    files = tables.data_files(merged)
    names = [field.name for field in merged.schema.fields]
    raw = spark.read.parquet(*files)
    best = fastest(
        {
            "ours": lambda: noop(spark.read.format("paimon").load(merged.location)),
            "ready": lambda: noop(spark.read.format("ready_batches").load(str(ready))),
            "alone": lambda: merge_alone(merged.location),
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
    both = best["ready"] + best["alone"] / CORES
    what = "merged read in Spark: time / tasks with ready batches, and the merge alone on 2 cores"
    note = f"ready {best['ready']:.2f} s, merge on one core {best['alone']:.2f} s"
    results.lower(what, best["ours"] / both, "x", 1.15, note)
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
    unkeyed = source.write.format("paimon").mode("append").option("write-only", "true")
    best = fastest(
        {
            "ours": save,
            "append()": shuffled,
            "drop": drop.save,
            "without a key": lambda: unkeyed.save(fresh()),
            "parquet": lambda: source.write.parquet(fresh()),
        },
        3,
    )
    note = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in best.items()) + f", {rows:,} rows"
    results.lower("PK write, df.write: time / drop-everything sink", best["ours"] / best["drop"], "x", 1.15, note)
    results.lower("append write, df.write: time / df.write.parquet", best["without a key"] / best["parquet"], "x", 1)
    rate = rows / min(best["ours"], best["append()"]) / 1000
    note = "JVM Paimon 2.0.0 wrote 255 k rows/s on a machine of this kind, across runs"
    results.higher("PK write through Spark", rate, "k rows/s", 4 * 255, note)


def run(results: Results, root: Path, scale: float) -> None:
    spark = session()
    count, upserts = int(5e6 * scale), int(2e5 * scale)
    merged = tables.primary_key_table(root / "bench.db", "int64 dense", count, upserts, 8)
    reads(results, spark, merged, tables.append_table(root / "bench.db", count), root / "ready")
    writes(results, spark, root, count)
    spark.stop()
