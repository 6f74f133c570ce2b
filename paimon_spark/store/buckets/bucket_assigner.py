"""Assigns keys to dynamic buckets (features 2.2; Java: HashBucketAssigner, PartitionIndex, BucketAssigner).

Keys are identified by their hash: two keys with the same hash share a bucket. A known hash keeps its bucket. A new one
is put into a bucket with room. There are two ways to choose that bucket:

- ``PartitionIndex`` fills buckets one after the other, exactly to the target. It must see all new hashes of its share
  of the keys, so rows are shuffled by their hash first.
- ``open_buckets`` returns the buckets over which new hashes are spread, chosen before any row is read. Independent
  tasks then agree on the bucket of every hash without counting.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paimon_spark.errors import DataError, OptionError
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.write_settings import DynamicBucketSettings

Hashes = npt.NDArray[np.int32]
Buckets = npt.NDArray[np.int32]

BUCKET_LIMIT = 32_767  # Java keeps bucket numbers in a short
PLAIN_START = 4
UNKNOWN = -1


@dataclass(frozen=True)
class BucketRules:
    """The options of dynamic buckets.

    Attributes:
        target: the number of hashes (in cross-partition tables, of keys) that fill a bucket.
        start: the number of buckets that a partition begins with, and of assigners that share its keys.
        most: the most buckets of a partition.
        capped: True: full buckets accept more once there are ``most``; False: that is an error.
    """

    target: int
    start: int
    most: int
    capped: bool


def bucket_rules(settings: TableSettings, partitioned: bool) -> BucketRules:
    """The rules of a table.

    Without ``dynamic-bucket.initial-buckets`` a partition starts with one bucket, and a table without partitions with
    PLAIN_START, so that its first load has some parallelism. (Java starts with one for each parallel task.)

    Raises:
        OptionError: an option has an invalid value.
    """
    target, most = settings.dynamic_buckets.target_row_num, settings.dynamic_buckets.max_buckets
    initial = settings.dynamic_buckets.initial_buckets
    start = (1 if partitioned else PLAIN_START) if initial is None else initial
    for option, value in (
        (DynamicBucketSettings.target_row_num, target),
        (DynamicBucketSettings.initial_buckets, start),
    ):
        if value < 1:
            raise OptionError(f"option '{option.key}' is {value}, expected at least 1")
    if most < 1 and most != -1:
        key = DynamicBucketSettings.max_buckets.key
        raise OptionError(f"option '{key}' is {most}, expected at least 1, or -1 for no limit")
    capped = most != -1
    most = min(most, BUCKET_LIMIT) if capped else BUCKET_LIMIT
    return BucketRules(target, min(start, most), most, capped)


def channel_of(partition_hashes: npt.NDArray[np.int32], hashes: Hashes, channels: int, assigners: int) -> Buckets:
    """Which of several channels assigns the key of each row.

    The keys of a partition go to ``assigners`` neighbouring channels; the first one depends on the partition.
    """
    start = np.abs(np.fmod(partition_hashes, np.int32(channels)))
    shift = np.abs(np.fmod(hashes, np.int32(assigners)))
    channel: Buckets = (start + shift) % np.int32(channels)
    return channel


class BucketFilling:
    """The fill of the buckets of one partition, for one of its assigners.

    An assigner opens and fills only its own buckets: those whose number is congruent to its own, modulo the number of
    assigners. So no two assigners fill the same bucket.
    """

    def __init__(self, rows: Mapping[int, int], rules: BucketRules, assigner: int = 0, assigners: int = 1) -> None:
        """Starts with the existing buckets.

        Args:
            rows: the number of hashes in each existing bucket.
            rules: the options of dynamic buckets.
            assigner: the number of this assigner.
            assigners: the number of assigners that share the partition's keys.
        """
        self._rules = rules
        self._all = sorted(rows)
        self._first, self._step = assigner % assigners, assigners
        self._rows = {bucket: rows[bucket] for bucket in self._all if bucket % assigners == self._first}
        self._with_room = [bucket for bucket, count in self._rows.items() if count < rules.target]
        self._beyond = 0

    def take(self, count: int) -> Buckets:
        """The buckets of the next new hashes, in order.

        Raises:
            DataError: there are too many buckets.
        """
        parts: list[Buckets] = []
        while count:
            bucket = self._bucket_with_room()
            if bucket is None:
                parts.append(self._take_beyond(count))
                break
            taken = min(count, self._rules.target - self._rows[bucket])
            self._rows[bucket] += taken
            parts.append(np.full(taken, bucket, np.int32))
            count -= taken
        return np.concatenate(parts) if parts else np.empty(0, np.int32)

    def _bucket_with_room(self) -> int | None:
        while self._with_room:
            if self._rows[self._with_room[0]] < self._rules.target:
                return self._with_room[0]
            self._with_room.pop(0)
        opened = next((b for b in range(self._first, self._rules.most, self._step) if b not in self._rows), None)
        if opened is not None:
            self._rows[opened] = 0
            self._with_room.append(opened)
        elif not self._rules.capped:
            raise DataError(
                f"a partition would need more than {BUCKET_LIMIT} buckets of {self._rules.target} keys; raise "
                f"'{DynamicBucketSettings.target_row_num.key}'"
            )
        return opened

    def _take_beyond(self, count: int) -> Buckets:
        """The buckets when all are full and no more may be opened: existing ones in turn (Java: at random)."""
        turns = sorted(self._rows) or self._all or [self._first % self._rules.most]
        places = np.arange(self._beyond, self._beyond + count) % len(turns)
        self._beyond += count
        chosen: Buckets = np.array(turns, np.int32)[places]
        return chosen


class KnownHashes:
    """A sorted mapping from hash to bucket. Hashes added in ascending order cost nothing to look up again."""

    def __init__(self, hashes: Hashes, buckets: Buckets) -> None:
        """The mapping of some hashes.

        Args:
            hashes: each once, in any order.
            buckets: the bucket of each.
        """
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._buckets = hashes[order], buckets[order].astype(np.int16)
        self._added: list[tuple[Hashes, npt.NDArray[np.int16]]] = []

    def find(self, hashes: Hashes) -> Buckets:
        """The bucket of each hash, UNKNOWN for a new one. hashes are ascending, each once."""
        if self._added and len(hashes):
            last, bucket = self._added[-1][0][-1], self._added[-1][1][-1]
            if hashes[0] == last:
                rest = look_up(self._hashes, self._buckets, hashes[1:])
                return np.concatenate([np.array([bucket], np.int32), rest])
            if hashes[0] < last:
                self._settle()
        return look_up(self._hashes, self._buckets, hashes)

    def find_any(self, hashes: Hashes) -> Buckets:
        """The bucket of each hash, in any order, UNKNOWN for a new one; hashes given to ``add`` are not searched."""
        return look_up(self._hashes, self._buckets, hashes)

    def add(self, hashes: Hashes, buckets: Buckets) -> None:
        """Remembers new hashes, ascending, each once."""
        if len(hashes):
            if self._added and hashes[0] < self._added[-1][0][-1]:
                self._settle()
            self._added.append((hashes, buckets.astype(np.int16)))

    def _settle(self) -> None:
        hashes = np.concatenate([self._hashes, *(added for added, _ in self._added)])
        buckets = np.concatenate([self._buckets, *(added for _, added in self._added)])
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._buckets, self._added = hashes[order], buckets[order], []


def distinct(*parts: Hashes) -> Hashes:
    """All hashes of the parts, ascending, each once. (np.unique takes several times as long.)"""
    hashes = np.sort(np.concatenate([np.empty(0, np.int32), *parts]))
    return hashes if len(hashes) < 2 else hashes[np.concatenate([[True], hashes[1:] != hashes[:-1]])]


def look_up(known: Hashes, buckets: npt.NDArray[np.int16], hashes: Hashes) -> Buckets:
    """The bucket of each hash among sorted known ones, UNKNOWN if it is not among them."""
    if not len(known):
        return np.full(len(hashes), UNKNOWN, np.int32)
    places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    return np.where(known[places] == hashes, buckets[places], np.int16(UNKNOWN)).astype(np.int32)


class PartitionIndex:
    """The hashes of one partition that an assigner knows, and the buckets it fills."""

    def __init__(self, known: KnownHashes, filling: BucketFilling) -> None:
        self._known, self._filling = known, filling

    def assign(self, hashes: Hashes) -> Buckets:
        """The bucket of each hash. New ones are placed in the order of their first appearance.

        Raises:
            DataError: there are too many buckets.
        """
        if not len(hashes):
            return np.empty(0, np.int32)
        ascends = bool((hashes[1:] >= hashes[:-1]).all())  # the case after a shuffle
        order = np.arange(len(hashes)) if ascends else np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        each = ordered[starts]
        buckets = self._known.find(each)
        new = np.flatnonzero(buckets == UNKNOWN)
        if len(new):
            buckets[new[np.argsort(order[starts[new]])]] = self._filling.take(len(new))
            self._known.add(each[new], buckets[new])
        assigned: Buckets = np.empty(len(hashes), np.int32)
        assigned[order] = np.repeat(buckets, np.diff(starts, append=len(hashes)))
        return assigned


def open_buckets(rows: Mapping[int, int], rules: BucketRules) -> tuple[int, ...]:
    """The buckets over which independent tasks spread new hashes.

    These are the buckets with room. If all are full, they are new ones: as many as exist, so that their number doubles,
    and at least ``start``. If no more may be opened, they are all existing ones.

    Args:
        rows: the number of hashes in each bucket of the partition when the job was planned.
        rules: the options of dynamic buckets.

    Raises:
        DataError: there are too many buckets.
    """
    with_room = sorted(bucket for bucket, count in rows.items() if count < rules.target)
    if with_room:
        return tuple(with_room)
    free = (bucket for bucket in range(rules.most) if bucket not in rows)
    opened = tuple(itertools.islice(free, max(rules.start, len(rows))))
    if not opened and not rules.capped:
        raise DataError(
            f"a partition would need more than {BUCKET_LIMIT} buckets of {rules.target} keys; raise "
            f"'{DynamicBucketSettings.target_row_num.key}'"
        )
    return opened or tuple(sorted(rows))


def spread(hashes: Hashes, buckets: Sequence[int]) -> Buckets:
    """The bucket of each new hash; it depends only on the hash and the buckets."""
    chosen: Buckets = np.array(buckets, np.int32)[hashes.view(np.uint32) % np.uint32(len(buckets))]
    return chosen


def hash_groups(counts: Sequence[int], limit: int) -> Iterator[range]:
    """Groups of neighbours whose counts add up to about the limit; a group has at least one member."""
    start, total = 0, 0
    for i, count in enumerate(counts):
        if total and total + count > limit:
            yield range(start, i)
            start, total = i, 0
        total += count
    if start < len(counts):
        yield range(start, len(counts))
