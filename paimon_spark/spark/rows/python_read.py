"""The read of splits by our own reader in Spark tasks, with the places of rows where they are needed.

The data source would do the same read, but tells no places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st

from paimon_spark.arrow.conform import conform_batch
from paimon_spark.arrow.predicates.evaluate import filter_batch
from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.format.schema import POSITION, is_metadata
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.batches import spark_arrow_schema
from paimon_spark.spark.adapters.sizes import size_of_splits
from paimon_spark.spark.adapters.tasks import Work, rows_of_tasks
from paimon_spark.spark.native.local_read import rows_if_small
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.file_rows import FileRequest
from paimon_spark.store.read.split_reader import SplitReader
from paimon_spark.store.read.splits import Split, group_splits


@dataclass(frozen=True)
class PythonRead:
    """A read of splits.

    Attributes:
        table: the table, with the options of the read.
        fields: the columns.
        predicate: over them with places, over those of the table without; rows for which it is not true are left out.
        schema: of the result: the columns, then with places the name of the file and the number of the row.
        placed: whether places follow.
    """

    table: Table
    fields: tuple[DataField, ...]
    predicate: Predicate
    schema: st.StructType
    placed: bool


def python_rows(spark: SparkSession, read: PythonRead, splits: Sequence[Split]) -> DataFrame:
    """The rows of splits, read when the DataFrame runs; small splits share a task."""
    settings = read.table.settings
    target, cost = settings.scan.split_target_size, settings.scan.open_file_cost
    groups = group_splits([split.without_statistics() for split in splits], target, cost)
    size = size_of_splits(splits, read.fields, read.table.schema.fields)
    return rows_of_tasks(spark, groups, _work(read), read.schema, size)


def rows_here(spark: SparkSession, read: PythonRead, splits: Sequence[Split]) -> DataFrame | None:
    """The rows of few splits, read now and by this process; None: they are larger than SMALL_BYTES."""
    work = _work(read)
    return rows_if_small(spark, lambda split: work([split]), splits, read.schema)


def _work(read: PythonRead) -> Work[Sequence[Split]]:
    arrow = spark_arrow_schema(read.schema)

    def work(group: Sequence[Split]) -> Iterator[pa.RecordBatch]:
        reader = SplitReader(read.table, read.fields, read.predicate)
        for split in group:
            rows = _placed(reader, split) if read.placed else reader.read(split)
            yield from (conform_batch(part, arrow) for part in rows)

    return work


def _placed(reader: SplitReader, split: Split) -> Iterator[pa.RecordBatch]:
    stored = tuple(field for field in reader.fields if not is_metadata(field))
    request = FileRequest(stored, prunes=reader.predicate, probes=True, positions=True)
    names = [field.name for field in reader.fields]
    for file in split.raw_files:
        for batch in reader.rows_of_file(split, file, request):
            rows = reader.placed(filter_batch(reader.predicate, batch), split, file)
            if not rows.num_rows:
                continue
            place = [pa.repeat(pa.scalar(file.file_name), rows.num_rows), rows.column(POSITION)]
            columns = [*(rows.column(name) for name in names), *place]
            yield pa.RecordBatch.from_arrays(columns, names=[*names, "file", "row"])
