"""Which bucket each row of a writer task goes to: one class for each bucket mode (features 2.2).

Of dynamic buckets the task also adds the hashes of new keys to the index (format 8.2; Java:
DynamicBucketIndexMaintainer). A task that is given the bucket of each row has all rows of these buckets, and
writes their HASH index files. Tasks that choose buckets themselves share the buckets; the commit merges their hashes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow.row_buckets import Indices, assign_buckets, group_rows
from paimon_spark.arrow.row_hash import hash_rows
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.bucket import NO_PARTITION, Partition, Place, bucket_fields
from paimon_spark.format.manifest import IndexManifestEntry
from paimon_spark.format.options.write_settings import PostponeSettings
from paimon_spark.format.paths import POSTPONE_BUCKET
from paimon_spark.store.buckets.bucket_assigner import (
    UNKNOWN,
    Buckets,
    Hashes,
    KnownHashes,
    bucket_rules,
    distinct,
    hash_groups,
    open_buckets,
    spread,
)
from paimon_spark.store.buckets.hash_index_files import (
    create_hash_file,
    delete_hash_files,
    read_hash_files,
    read_hashes,
    read_known,
)
from paimon_spark.store.metadata.messages import CommitMessage, NewHashes
from paimon_spark.store.metadata.partition_stats import same_partition
from paimon_spark.store.metadata.partitions import describe_partition
from paimon_spark.store.metadata.postponed import positive
from paimon_spark.store.metadata.table import BucketMode, Table

if TYPE_CHECKING:
    from paimon_spark.store.write.write_plan import DynamicPlan, WritePlan

Mask: TypeAlias = npt.NDArray[np.bool_]
Group: TypeAlias = tuple[Partition, int, Indices]
"""A partition, a bucket, and the positions of their rows."""

GROUP_HASHES = 8_000_000  # known hashes read at once: 6 bytes each
KEPT_HASHES = 32_000_000  # known hashes kept in memory between batches
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


class DynamicBuckets:
    """The dynamic buckets of one task. Memory: the hashes it adds, 4 bytes each, and up to KEPT_HASHES known ones."""

    total_buckets = -1

    def __init__(self, table: Table, plan: DynamicPlan) -> None:
        """
        Raises:
            OptionError: an option of dynamic buckets makes no sense.
            CorruptFile: the index manifest cannot be read.
        """
        self._table, self._plan = table, plan
        self._rules = bucket_rules(table.settings, bool(table.schema.partition_keys))
        self._files = read_hash_files(table, plan.index_manifest)
        self._canonical = same_partition(table.schema.partition_types)
        self._new: dict[Place, list[Hashes]] = {}
        self._given_places: set[Place] = set()
        self._created: list[IndexManifestEntry] = []
        self._kept: OrderedDict[tuple[bytes, int], tuple[KnownHashes, int]] = OrderedDict()

    def place(self, rows: pa.RecordBatch, buckets: Buckets | None) -> list[tuple[Partition, int, Indices]]:
        """The rows by partition and bucket, as group_rows gives them.

        Args:
            rows: rows of the table.
            buckets: the bucket of each row, if the caller chooses it and gives this task all rows of a bucket; None: it
                does not.

        Raises:
            CorruptFile: a partition has data without an index, or an index file is missing or damaged.
            DataError: there are too many buckets.
        """
        fields = self._table.schema.partition_fields
        hashes = hash_rows(rows, self._table.schema.key_fields)
        known: Mask | None = None
        if buckets is None:
            buckets, known = self._spread(rows, hashes)
        groups = group_rows(rows, fields, buckets)
        for partition, bucket, positions in groups:
            of_place = hashes[positions]
            if known is not None:
                of_place = of_place[~known[positions]]
            else:
                self._plan.check_indexed(self._table, partition)
                self._given_places.add((partition, bucket))
            if len(of_place):
                self._note((partition, bucket), of_place)
        return groups

    def finish(self, messages: Iterable[CommitMessage]) -> list[CommitMessage]:
        """The messages of the task, with the hashes that it adds to the indexes."""
        return [self._with_hashes(message) for message in messages]

    def abort(self) -> None:
        """Deletes the index files of this task."""
        delete_hash_files(self._table, self._created)

    def _spread(self, rows: pa.RecordBatch, hashes: Hashes) -> tuple[Buckets, Mask]:
        """The bucket of each row, and whether its hash was in the index."""
        buckets: Buckets = np.empty(rows.num_rows, np.int32)
        known: Mask = np.ones(rows.num_rows, np.bool_)
        for partition, _, positions in group_rows(rows, self._table.schema.partition_fields, None):
            found = self._find(partition, hashes[positions])
            new = np.flatnonzero(found == UNKNOWN)
            if len(new):
                counts = {bucket: entry.row_count for bucket, entry in self._entries(partition).items()}
                found[new] = spread(hashes[positions[new]], open_buckets(counts, self._rules))
                known[positions[new]] = False
            buckets[positions] = found
        return buckets, known

    def _entries(self, partition: bytes) -> dict[int, IndexManifestEntry]:
        return dict(self._files.get(self._canonical(partition), {}))

    def _find(self, partition: bytes, hashes: Hashes) -> Buckets:
        """The bucket of each hash in the index, UNKNOWN for a new one."""
        self._plan.check_indexed(self._table, partition)
        entries = list(self._entries(partition).values())
        found: Buckets = np.full(len(hashes), UNKNOWN, np.int32)
        for group in hash_groups([entry.row_count for entry in entries], GROUP_HASHES):
            known = self._known(partition, [entries[i] for i in group], group.start)
            found = np.maximum(found, known.find_any(hashes))
        return found

    def _known(self, partition: bytes, entries: list[IndexManifestEntry], number: int) -> KnownHashes:
        """A part of the index of a partition, from a cache that evicts the least recently used parts."""
        key = self._canonical(partition), number
        if key not in self._kept:
            self._kept[key] = read_known(self._table, entries), sum(entry.row_count for entry in entries)
            while len(self._kept) > 1 and sum(count for _, count in self._kept.values()) > KEPT_HASHES:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key][0]

    def _note(self, place: Place, hashes: Hashes) -> None:
        """Records hashes, some of which may be known."""
        parts = self._new.setdefault(place, [])
        parts.append(distinct(hashes))
        if len(parts) > 16:
            parts[:] = [distinct(*parts)]

    def _with_hashes(self, message: CommitMessage) -> CommitMessage:
        place = self._canonical(message.partition), message.bucket
        parts = self._new.get(place, [])
        new = parts[0] if len(parts) == 1 else distinct(*parts)
        planned = self._plan.index_manifest
        if place not in self._given_places:
            return replace(message, new_hashes=NewHashes(new.astype("<i4").tobytes(), planned))
        entry = self._entries(message.partition).get(message.bucket)
        old = np.empty(0, np.int32) if entry is None else read_hashes(self._table, entry)
        merged = distinct(old, new)
        message = replace(message, new_hashes=NewHashes(b"", planned))
        if len(merged) == len(old):
            return message
        created = create_hash_file(self._table, *place, merged)
        self._created.append(created)
        return replace(message, index_entries=(*message.index_entries, created))


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
