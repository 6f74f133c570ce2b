"""A sort on Spark: some tasks draw keys, some read rows into ranges, a shuffle brings each range to one task.

Rows travel as blocks of Arrow bytes, as in bucket_routed_write. The driver gets a bounded number of keys, and no rows.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import groupby

import pyarrow as pa
from pyspark.sql import SparkSession

from paimon_spark.spark.adapters.errors import job_errors
from paimon_spark.spark.adapters.tasks import Task, by_number, in_worker
from paimon_spark.spark.jobs.bucket_routed_write import BLOCK, MAX_READERS, bounded_batches
from paimon_spark.spark.write.shuffled_columns import SHUFFLE_PARTITIONS
from paimon_spark.store.clustering.local import bounds_of
from paimon_spark.store.clustering.rows import ranged_rows, sampled_keys, write_group
from paimon_spark.store.clustering.work import Bounds, ClusterWork, GroupResult

_GROUP, _RANGE, _OUTCOME = "group", "range", "outcome"
_BLOCK_ROWS = f"`{_GROUP}` bigint, `{_RANGE}` bigint, {BLOCK} binary"
_BLOCKS = pa.schema([
    pa.field(_GROUP, pa.int64(), False), pa.field(_RANGE, pa.int64(), False), pa.field(BLOCK, pa.binary(), False)
])  # fmt: skip


@job_errors()
def cluster_with_spark(spark: SparkSession, work: ClusterWork) -> list[GroupResult]:
    """Does the work on Spark. Files of tasks that are repeated, or of a job that fails, may be left behind.

    Raises:
        PaimonError: a task raised it.
        Spark's exception for a job that fails otherwise.
    """
    bounds = _bounds(spark, work)
    sources = range(len(work.sources))
    numbers = spark.range(0, len(sources), 1, min(len(sources), MAX_READERS))
    blocks = numbers.mapInArrow(in_worker(_reading(work, bounds)), _BLOCK_ROWS)
    tasks = min(len(work.groups), int(spark.conf.get(SHUFFLE_PARTITIONS) or 1))
    shuffled = by_number(blocks, _GROUP, tasks)
    ordered = shuffled.sortWithinPartitions(_GROUP, _RANGE)
    with bounded_batches(spark):
        rows = ordered.mapInArrow(in_worker(_writing(work)), f"{_OUTCOME} binary").collect()
    return [pickle.loads(row[_OUTCOME]) for row in rows]


def _bounds(spark: SparkSession, work: ClusterWork) -> Bounds:
    cut = [number for number, source in enumerate(work.sources) if work.is_cut(source.unit)]
    if not cut:
        return Bounds({})
    numbers = spark.range(0, len(cut), 1, min(len(cut), MAX_READERS))

    def sample(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for place in batch.column(0).to_pylist():  # few
                for keys in sampled_keys(work, cut[place]):
                    yield _block(work.sources[cut[place]].unit, 0, keys)

    rows = numbers.mapInArrow(in_worker(sample), _BLOCK_ROWS).collect()
    samples: dict[int, list[pa.RecordBatch]] = {}
    for row in rows:
        samples.setdefault(row[_GROUP], []).extend(_batches(bytes(row[BLOCK])))
    return bounds_of(work, samples)


def _reading(work: ClusterWork, bounds: Bounds) -> Task:
    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():  # few
                for place, rows in ranged_rows(work, number, bounds):
                    yield _block(work.group_of[place], place, rows)

    return read


def _writing(work: ClusterWork) -> Task:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = (
            (group, place, block)
            for batch in batches
            for group, place, block in zip(
                batch.column(0).to_pylist(), batch.column(1).to_pylist(), batch.column(2), strict=True
            )
        )
        for group, mine in groupby(parts, key=lambda part: part[0]):
            rows = ((place, rows) for _, place, block in mine for rows in _batches(block.as_buffer()))
            outcome = pickle.dumps(write_group(work, group, rows))
            yield pa.RecordBatch.from_arrays([pa.array([outcome], pa.binary())], names=[_OUTCOME])

    return write


def _block(group: int, place: int, rows: pa.RecordBatch) -> pa.RecordBatch:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_batch(rows)
    data = pa.array([sink.getvalue().to_pybytes()], pa.binary())
    return pa.RecordBatch.from_arrays([pa.array([group]), pa.array([place]), data], schema=_BLOCKS)


def _batches(block: bytes | pa.Buffer) -> Iterator[pa.RecordBatch]:
    with pa.ipc.open_stream(block) as stream:
        yield from stream
