"""The read of chosen splits by our own reader, in the tasks of Spark.

The data source would do the same read, but Spark does not know how large its rows are: it takes them to be larger than
any other table, and shuffles and sorts both sides of a join where it could send the smaller one to all tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from paimon_spark.arrow.conform import conform_batch
from paimon_spark.spark.adapters.batches import spark_arrow_schema
from paimon_spark.spark.adapters.even_batches import even_batches
from paimon_spark.spark.adapters.sizes import size_of_splits
from paimon_spark.spark.adapters.tasks import rows_of_tasks
from paimon_spark.spark.native.table_reading import Reading
from paimon_spark.store.read.splits import ReadUnit, Split
from paimon_spark.store.scan.table_scan import Scan


def merged_rows(spark: SparkSession, reading: Reading, scan: Scan, splits: Sequence[Split]) -> DataFrame:
    """The rows of splits, merged when the DataFrame runs; small splits share a task.

    Args:
        spark: the session.
        reading: what was asked for; its schema is that of the DataFrame.
        scan: of the reading.
        splits: of its plan, at least one.
    """
    arrow = spark_arrow_schema(reading.shown)

    def work(group: tuple[ReadUnit, ...]) -> Iterator[pa.RecordBatch]:
        reader = scan.reader()
        return even_batches(conform_batch(batch, arrow) for split in group for batch in reader.read(split))

    size = size_of_splits(splits, reading.fields, scan.table.schema.fields)
    groups = scan.tasks_of([split.without_statistics() for split in splits])
    return rows_of_tasks(spark, groups, work, reading.shown, size)
