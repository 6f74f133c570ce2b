"""Scans that Spark runs: rows that this process has read, files that Spark reads itself, splits for our reader."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import types as st
from pyspark.sql.datasource import DataSourceReader, InputPartition

from paimon_spark.spark.adapters.batches import conformed
from paimon_spark.spark.adapters.errors import plainly
from paimon_spark.spark.adapters.worker_connections import SentToWorker
from paimon_spark.spark.native.partial_aggregates import PartialAggregates
from paimon_spark.spark.source.reader import SplitPartition
from paimon_spark.spark.source.source import PaimonDataSource
from paimon_spark.spark.spark_catalog.bucketing import Bucketing, keyed_batch
from paimon_spark.spark.spark_catalog.driver_calls import statistics
from paimon_spark.spark.spark_catalog.jvm_objects import Java, JvmObjects
from paimon_spark.spark.spark_catalog.runtime_filters import RuntimeFilter, ScanCalls
from paimon_spark.spark.spark_catalog.spark_internals import (
    python_batch,
    python_metrics,
    references,
    rows_of,
    size_of,
    struct_of,
)
from paimon_spark.store.system_tables.table import UnitReader

_READ = "org.apache.spark.sql.connector.read."
_PLANNER, _THREAD = "MicroBatchExecution.logicalPlan$lzycompute", "stream execution thread for"


def local_scan(objects: JvmObjects, dataset: Java, description: str, target: Any = None) -> Java:
    """Rows that this process holds: they travel in the plan, and no job is needed to collect them.

    Spark learns how few they are: it sends a small side of a join to all tasks, and does not sort both.

    Args:
        dataset: of rows that are there already.
        target: answers other methods of the scan.
    """
    rows = rows_of(dataset)
    constants = {
        "readSchema": dataset.schema(),
        "rows": rows,
        "description": description,
        "estimateStatistics": statistics(objects, len(rows), size_of(dataset)),
    }
    kinds = [_READ + "LocalScan", _READ + "SupportsReportStatistics"]
    return objects.make(kinds, target, constants, f"{description} {uuid.uuid4()}")


@dataclass(frozen=True)
class PlannedReader(SentToWorker, DataSourceReader):
    """A read that is planned: the tasks and what reads them.

    Attributes:
        tasks: the units of each.
        reader: of the units.
        schema: of the batches.
    """

    tasks: Sequence[tuple[Any, ...]]
    reader: UnitReader
    schema: pa.Schema

    def partitions(self) -> list[InputPartition]:
        return [SplitPartition(task) for task in self.tasks]

    @plainly
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, SplitPartition):
            return iter(())
        return conformed(self.reader.read, partition.splits, self.schema)

    def __getstate__(self) -> Mapping[str, Any]:
        return {"tasks": (), "reader": self.reader, "schema": self.schema}  # each task is sent to the one that does it


@dataclass(frozen=True)
class AggregatingReader(SentToWorker, DataSourceReader):
    """A planned read whose tasks give partial aggregates of their rows.

    Attributes:
        planned: the read.
        made: of its rows.
    """

    planned: PlannedReader
    made: PartialAggregates

    @property
    def tasks(self) -> Sequence[tuple[Any, ...]]:
        return self.planned.tasks

    def partitions(self) -> list[InputPartition]:
        return self.planned.partitions()

    @plainly
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.made.of(self.planned.read(partition))


@dataclass(frozen=True)
class ScanTraits:
    """What a scan says of itself.

    Attributes:
        text: scans of one text are equal, and Spark runs one of them for both.
        description: for EXPLAIN.
        size: the statistics of the scan.
        target: answers other methods of the scan.
        runtime: narrows the scan while a join runs; None: nothing does.
        bucketing: the partitions are buckets; None: they are any parts.
        has_plan: whether the target answers ``apply`` with a plan to be run in the place of the scan.
    """

    text: str
    description: str
    size: Java
    target: Any
    runtime: RuntimeFilter | None = None
    bucketing: Bucketing | None = None
    has_plan: bool = False


def python_scan(
    spark: SparkSession, objects: JvmObjects, batch: Callable[[], Java], shown: st.StructType, traits: ScanTraits
) -> Java:
    """A scan by our reader, in tasks of Spark.

    Args:
        batch: makes the batch of the planned read.
        shown: the columns of the rows.
    """
    constants = {
        "readSchema": struct_of(objects, shown),
        "description": traits.description,
        "columnarSupportMode": objects.static(_READ + "Scan.ColumnarSupportMode.UNSUPPORTED"),
        "supportedCustomMetrics": python_metrics(spark, objects),
    }
    return _made(objects, batch, constants, traits)


def task_batch(
    spark: SparkSession,
    objects: JvmObjects,
    reader: PlannedReader | AggregatingReader,
    shown: st.StructType,
    traits: ScanTraits,
) -> Java:
    """The batch of a planned read."""
    partitions, factory = python_batch(spark, objects, reader, PaimonDataSource({}), shown)
    planned = {"planInputPartitions": partitions, "createReaderFactory": factory}
    batch = objects.make([_READ + "Batch"], None, planned, traits.text)
    if traits.bucketing is not None:
        keys = [task[0].bucket for task in reader.tasks]
        batch = keyed_batch(objects, batch, zip(keys, partitions, strict=True), traits.text)
    return batch


def with_one_factory(objects: JvmObjects, batch: Java, text: str) -> Java:
    """The batch of Spark's own scan, which makes its factory of readers once.

    Each copy that Spark makes of a plan asks for the factory, some three for a scan, and for each Spark compresses the
    configuration of Hadoop and broadcasts it.

    Args:
        text: batches of one text are equal.
    """
    return objects.make([_READ + "Batch"], None, {"createReaderFactory": batch.createReaderFactory()}, text, batch)


def parquet_batch(objects: JvmObjects, scan: Java, batch: Java, traits: ScanTraits) -> Java:
    """Spark's own scan, with what we know of the number of its rows.

    Args:
        batch: of the scan.
    """
    constants = {"toBatch": batch} if traits.runtime is None else {}  # what is made already needs no call of Python
    return _made(objects, lambda: batch, constants, traits, scan)


def _made(
    objects: JvmObjects, batch: Callable[[], Java], constants: dict[str, Any], traits: ScanTraits, delegate: Java = None
) -> Java:
    kinds = [_READ + "SupportsReportStatistics"]
    calls = ScanCalls(objects, traits.target, batch, traits.runtime)
    constants["estimateStatistics"] = traits.size
    if traits.bucketing is not None:
        kinds.append(_READ + "SupportsReportPartitioning")
        constants["outputPartitioning"] = traits.bucketing.reported(objects, calls.toBatch())
    if traits.has_plan:
        kinds.append("java.util.function.Function")
    if traits.runtime is not None:
        kinds.append(_READ + "SupportsRuntimeV2Filtering")
        constants["filterAttributes"] = references(objects, traits.runtime.columns)
        constants["supportsIterativePushdown"] = False  # a delegate, asked before the default method, has no answer
    return objects.make(kinds, calls, constants, traits.text, delegate)


def plans_stream(objects: JvmObjects) -> bool:
    """True if Spark builds a scan to make a stream of it, and not to read a state.

    The thread of a stream plans reads of states too, of what the stream is joined with. Where this Spark makes streams
    in another way, the answer is False: a scan of a state answers for a stream as well.
    """
    if not objects.keeps_threads:
        return False
    name = str(objects.static("java.lang.Thread.currentThread")().getName())
    return name.startswith(_THREAD) and objects.is_called_by(_PLANNER)


def stream_scan(objects: JvmObjects, target: Any, shown: st.StructType, description: str) -> Java:
    """A scan that is a stream and nothing else: no state is planned for it.

    Args:
        target: answers ``toMicroBatchStream``.
    """
    constants = {"readSchema": struct_of(objects, shown), "description": description}
    return objects.make([_READ + "Scan"], target, constants, f"{description}, a stream {uuid.uuid4()}")
