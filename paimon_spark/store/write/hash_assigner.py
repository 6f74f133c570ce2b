"""Exact filling of dynamic buckets after rows were shuffled by their hash (features 2.2).

Java: HashBucketAssigner. Each row has a number, made of its hashes, and a channel that assigns its bucket. A task has
all rows of its channels, sorted by that number.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow.row_buckets import group_rows
from paimon_spark.arrow.row_hash import hash_rows
from paimon_spark.store.buckets.bucket_assigner import (
    BucketFilling,
    BucketRules,
    Buckets,
    Hashes,
    PartitionIndex,
    bucket_rules,
    channel_of,
)
from paimon_spark.store.buckets.hash_index_files import HashFiles, read_hash_files, read_known
from paimon_spark.store.metadata.partition_stats import same_partition
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.write_plan import DynamicPlan

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Channels:
    """The distribution of keys over assigners.

    Attributes:
        count: the number of channels; a multiple of assigners, so that those of a partition own different buckets.
        assigners: the number of channels that share the keys of one partition.
    """

    count: int
    assigners: int


def plan_channels(table: Table, parallelism: int) -> Channels:
    """The channels of a job.

    Args:
        table: its options `dynamic-bucket.assigner-parallelism`, `initial-buckets` and `max-buckets` are used.
        parallelism: the parallelism of the session, used if the first option is not set.

    Raises:
        OptionError: an option has an invalid value.
    """
    partitioned = bool(table.schema.partition_keys)
    assigners = bucket_rules(table.settings, partitioned).start
    wished = table.settings.dynamic_buckets.assigner_parallelism
    if wished is not None:
        assigners = max(1, min(assigners, wished))
    if not partitioned:
        return Channels(assigners, assigners)
    return Channels(max((wished or parallelism) // assigners, 1) * assigners, assigners)


def key_numbers(table: Table, rows: pa.RecordBatch) -> Longs:
    """A number for each row: the hash of the partition in the upper half, that of the key in the lower half.

    Args:
        table: the table.
        rows: rows with the partition and the key columns.
    """
    fields, keys = table.schema.partition_fields, hash_rows(rows, table.schema.key_fields).astype(np.int64)
    if not fields:
        return keys
    numbers: Longs = (hash_rows(rows, fields).astype(np.int64) << 32) + keys
    return numbers


def halves(numbers: Longs) -> tuple[npt.NDArray[np.int32], Hashes]:
    """The hash of the partition and that of the key."""
    keys = numbers.astype(np.int32)  # the lower half
    return ((numbers - keys) >> 32).astype(np.int32), keys


def channels_of(numbers: Longs, channels: Channels) -> Buckets:
    """The channel of each row."""
    partitions, keys = halves(numbers)
    return channel_of(partitions, keys, channels.count, channels.assigners)


class HashAssigner:
    """The assigners of one task. Memory: the known and new hashes of one partition in the channels of the task."""

    def __init__(self, table: Table, plan: DynamicPlan, channels: Channels) -> None:
        """
        Raises:
            OptionError: an option of dynamic buckets makes no sense.
            CorruptFile: the index manifest cannot be read.
        """
        self._table, self._plan, self._channels = table, plan, channels
        self._rules: BucketRules = bucket_rules(table.settings, bool(table.schema.partition_keys))
        self._canonical = same_partition(table.schema.partition_types)
        self._files: HashFiles = read_hash_files(table, plan.index_manifest)
        self._partition_hash: int | None = None
        self._indexes: dict[tuple[bytes, int], PartitionIndex] = {}

    def assign(self, numbers: Longs, partitions: pa.RecordBatch) -> Buckets:
        """The bucket of each row.

        Args:
            numbers: from key_numbers, ascending, over all calls too.
            partitions: the partition columns of the rows.

        Raises:
            CorruptFile: a partition has data without an index, or an index file is missing or damaged.
            DataError: there are too many buckets.
        """
        hashes, keys = halves(numbers)
        channels = channels_of(numbers, self._channels)
        buckets: Buckets = np.empty(len(numbers), np.int32)
        edges = [0, *(np.flatnonzero(hashes[1:] != hashes[:-1]) + 1).tolist(), len(numbers)]
        for start, end in itertools.pairwise(edges if len(numbers) else []):
            if int(hashes[start]) != self._partition_hash:
                self._partition_hash, self._indexes = int(hashes[start]), {}
            part = partitions.slice(start, end - start)
            for partition, channel, rows in group_rows(part, self._table.schema.partition_fields, channels[start:end]):
                buckets[start + rows] = self._index(partition, channel).assign(keys[start + rows])
        return buckets

    def _index(self, partition: bytes, channel: int) -> PartitionIndex:
        key = self._canonical(partition), channel
        if key not in self._indexes:
            self._plan.check_indexed(self._table, partition)
            entries = self._files.get(key[0], {})
            mine = partial(_in_channel, self._channels, self._partition_hash or 0, channel)
            known = read_known(self._table, list(entries.values()), mine)
            counts = {bucket: entry.row_count for bucket, entry in entries.items()}
            filling = BucketFilling(counts, self._rules, channel, self._channels.assigners)
            self._indexes[key] = PartitionIndex(known, filling)
        return self._indexes[key]


def _in_channel(channels: Channels, partition_hash: int, channel: int, hashes: Hashes) -> npt.NDArray[np.bool_]:
    partitions = np.full(1, partition_hash, np.int32)
    mine: npt.NDArray[np.bool_] = channel_of(partitions, hashes, channels.count, channels.assigners) == channel
    return mine
