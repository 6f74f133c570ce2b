"""The changes of an overwrite, and the level of its new files (Java: OverwriteChangesProvider, tryUpgrade)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from paimon_spark.format.manifest import FileKind, ManifestEntry
from paimon_spark.format.types import DataType
from paimon_spark.merge.keys.key_order import key_range_of
from paimon_spark.store.commit.attempt import TableState
from paimon_spark.store.metadata.commit_changes import CommitChanges
from paimon_spark.store.metadata.partition_filter import PartitionFilter
from paimon_spark.store.metadata.table import BucketMode


def overwritten(state: TableState, new: CommitChanges, replaced: PartitionFilter | None) -> CommitChanges:
    """The delta of an overwrite: deletes all live files and index files of the replaced partitions, adds the new ones.

    Args:
        state: the current state; after a lost race this is called again.
        new: the new files.
        replaced: the partitions; None means all.
    """
    table = state.table
    if state.snapshot is None:
        return new
    postponed = table.bucket_mode == BucketMode.POSTPONE_MODE
    live = [entry for entry in state.live_entries(replaced) if entry.bucket >= 0 or postponed]
    index = [entry for entry in state.index_entries if replaced is None or replaced.matches(entry.partition)]
    return CommitChanges(
        files=(*(replace(entry, kind=FileKind.DELETE) for entry in live), *new.files),
        index=(*(replace(entry, kind=FileKind.DELETE) for entry in index), *new.index),
    )


def upgraded(
    files: Sequence[ManifestEntry], key_types: tuple[DataType, ...], max_level: int
) -> tuple[ManifestEntry, ...]:
    """The new files of an overwrite, upgraded to the highest level in buckets where they are one sorted run.

    There are no older files below them, so readers need not merge. If any file is not of level 0 or has no real bucket,
    all are left unchanged (Java: FileStoreCommitImpl.tryUpgrade, option overwrite-upgrade).
    """
    if not key_types or any(e.file.level > 0 or e.bucket < 0 for e in files):
        return tuple(files)
    key_range = key_range_of(key_types)
    buckets: dict[tuple[bytes, int], list[ManifestEntry]] = {}
    for entry in files:
        buckets.setdefault((entry.partition, entry.bucket), []).append(entry)
    result: list[ManifestEntry] = []
    for found in buckets.values():
        ranges = sorted(key_range(e.file) for e in found)
        if all(last < first for (_, last), (first, _) in itertools.pairwise(ranges)):
            found = [replace(e, file=replace(e.file, level=max_level)) for e in found]
        result += found
    return tuple(result)
