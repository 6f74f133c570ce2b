"""Places the rows of a task in dynamic buckets, and notes the hashes of new keys (features 2.2, format 8.2).

A task that is given the bucket of each row has all rows of these buckets, and writes their HASH index files. Tasks that
choose buckets themselves share the buckets; the commit merges their hashes (Java: DynamicBucketIndexMaintainer).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow.row_buckets import Indices, group_rows
from paimon_spark.arrow.row_hash import hash_rows
from paimon_spark.format.bucket import Partition, Place
from paimon_spark.format.manifest import IndexManifestEntry
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
from paimon_spark.store.metadata.table import Table

if TYPE_CHECKING:
    from paimon_spark.store.write.write_plan import DynamicPlan

Mask: TypeAlias = npt.NDArray[np.bool_]

GROUP_HASHES = 8_000_000  # known hashes read at once: 6 bytes each
KEPT_HASHES = 32_000_000  # known hashes kept in memory between batches


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
