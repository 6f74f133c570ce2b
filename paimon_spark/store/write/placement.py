"""Which bucket each row of a writer task goes to: one class for each bucket mode (features 2.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.row_buckets import Indices, assign_buckets, group_rows
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.bucket import NO_PARTITION, Partition, bucket_fields
from paimon_spark.format.options.write_settings import PostponeSettings
from paimon_spark.format.paths import POSTPONE_BUCKET
from paimon_spark.store.buckets.bucket_assigner import Buckets
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.partitions import describe_partition
from paimon_spark.store.metadata.postponed import positive
from paimon_spark.store.metadata.table import BucketMode, Table

if TYPE_CHECKING:
    from paimon_spark.store.write.write_plan import WritePlan

Group: TypeAlias = tuple[Partition, int, Indices]
"""A partition, a bucket, and the positions of their rows."""

STAGE_OWNERS = 64  # tasks that share the rows of a partition whose number of buckets is not known yet


def cross_partition_refusal(location: str) -> UnsupportedFeature:
    """The error of a task that cannot know the partition of existing keys."""
    return UnsupportedFeature(
        f"writing to {location}: its primary key does not hold all partition columns, so the partition that a key is "
        "in must be looked up in the whole table, which df.write cannot do; use "
        "PaimonTable.forPath(spark, path).append(df), for a new table after PaimonTable.create(spark)"
    )


class Placement(Protocol):
    """Places the rows of one task."""

    total_buckets: int
    """The number of buckets that the messages record; -1: the partitions have no fixed number."""

    def place(self, rows: pa.RecordBatch, buckets: Buckets | None) -> Iterable[Group]:
        """The rows by partition and bucket.

        Args:
            rows: rows of the table.
            buckets: the bucket of each row, if the caller chooses it; None: the placement does.

        Raises:
            PaimonError: the rows have no place.
        """
        ...

    def finish(self, messages: list[CommitMessage]) -> list[CommitMessage]:
        """The messages of the task, with what the placement adds to them."""
        ...

    def abort(self) -> None:
        """Deletes what the placement has written."""
        ...


def open_placement(table: Table, mode: BucketMode, buckets: int, plan: WritePlan) -> Placement:
    """The placement of a bucket mode.

    Args:
        table: the table, with the options of the write.
        mode: how rows find their bucket.
        buckets: their number, where it is fixed or postponed.
        plan: of the job.

    Raises:
        OptionError: an option of dynamic buckets makes no sense.
        CorruptFile: the index manifest cannot be read.
    """
    match mode:
        case BucketMode.HASH_FIXED:
            return _FixedBuckets(table, buckets, plan)
        case BucketMode.HASH_DYNAMIC:
            from paimon_spark.store.write.dynamic_placement import DynamicBuckets

            return DynamicBuckets(table, plan.dynamic)
        case BucketMode.POSTPONE_MODE:
            return _Postponed(table, buckets)
        case _:
            return _NoBuckets(table)


class _NoBuckets:
    """Rows of a partition are together in bucket 0, or in the buckets that the caller gives."""

    def __init__(self, table: Table, total_buckets: int = -1) -> None:
        self.table = table
        self.total_buckets = total_buckets

    def place(self, rows: pa.RecordBatch, buckets: Buckets | None) -> Iterable[Group]:
        return group_rows(rows, self.table.schema.partition_fields, buckets)

    def finish(self, messages: list[CommitMessage]) -> list[CommitMessage]:
        return messages

    def abort(self) -> None:
        """It has written nothing."""


class _Postponed(_NoBuckets):
    """Rows of a partition wait together for their buckets."""

    def place(self, rows: pa.RecordBatch, buckets: Buckets | None) -> Iterator[Group]:
        for partition, _, positions in super().place(rows, None):
            yield partition, POSTPONE_BUCKET, positions


class _FixedBuckets(_NoBuckets):
    """A hash of the bucket key chooses one of a fixed number of buckets."""

    def __init__(self, table: Table, total_buckets: int, plan: WritePlan) -> None:
        super().__init__(table, total_buckets)
        self._fields, self._function = (
            bucket_fields(table.schema, table.settings),
            table.settings.bucket_function,
        )
        self._other_numbers = plan.buckets

    def place(self, rows: pa.RecordBatch, buckets: Buckets | None) -> Iterator[Group]:
        chosen = assign_buckets(rows, self._fields, self.total_buckets, self._function)
        for group in super().place(rows, chosen):
            if group[0] in self._other_numbers:
                raise self._wrong_number(group[0])
            yield group

    def _wrong_number(self, partition: Partition) -> OptionError:
        found, words = self._other_numbers[partition], describe_partition(self.table, partition)
        return OptionError(
            f"writing to {self.table.location}: {words} has {found} buckets, and the table's option 'bucket' is "
            f"{self.total_buckets}. PaimonTable.forPath(spark, path).rescale({self.total_buckets}) brings all rows "
            f"into {self.total_buckets} buckets, with the argument where those of some partitions. Or overwrite it"
        )


def writes_fixed_buckets(table: Table) -> bool:
    """True if batch writes to this table with postponed buckets choose buckets at once."""
    postpones = table.bucket_mode == BucketMode.POSTPONE_MODE
    return postpones and table.settings.postpone.batch_write_fixed_bucket


def settled_number(table: Table, plan: WritePlan, partition: Partition) -> int | None:
    """The number of buckets of a partition if it is known before its rows are counted.

    Args:
        table: the table.
        plan: the plan of the write, with the numbers of buckets of existing partitions.
        partition: canonical row.

    Raises:
        OptionError: an option postpone.* is not positive.
    """
    known = plan.buckets.get(partition) or positive(table.settings, PostponeSettings.default_bucket_num)
    return known or (1 if positive(table.settings, PostponeSettings.max_parallelism) == 1 else None)


def stages_all(table: Table, plan: WritePlan) -> bool:
    """True if no partition can have a number of buckets before its rows are counted: all rows are staged."""
    return writes_fixed_buckets(table) and not plan.buckets and settled_number(table, plan, NO_PARTITION) is None


def numbered_buckets(table: Table, plan: WritePlan, batch: pa.RecordBatch) -> Buckets:
    """The bucket of each row in its partition; one of STAGE_OWNERS where the number of buckets is not known yet.

    Args:
        table: the table.
        plan: the plan of the write.
        batch: rows with the partition and bucket key columns.
    """
    fields, function = bucket_fields(table.schema, table.settings), table.settings.bucket_function
    by_number: dict[int, list[Indices]] = {}
    for partition, _, positions in group_rows(batch, table.schema.partition_fields, None):
        number = settled_number(table, plan, partition) or STAGE_OWNERS
        by_number.setdefault(number, []).append(positions)
    buckets = np.zeros(batch.num_rows, np.int32)
    for number, parts in by_number.items():
        chosen = np.concatenate(parts)
        buckets[chosen] = assign_buckets(batch, fields, number, function)[chosen]
    return buckets
