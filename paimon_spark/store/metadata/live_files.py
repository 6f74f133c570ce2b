"""The live files of a snapshot: manifest entries folded, as columns (format section 4.5).

Folds manifest entries, which are changes, into live files (format section 4.5; Java: FileEntry.mergeEntries).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from paimon_spark.format.binary_row import decode_arity_row, encode_arity_row
from paimon_spark.format.bucket import Partition
from paimon_spark.format.manifest import EMPTY_ROW, FileKind, ManifestEntry
from paimon_spark.format.manifests.columns import ManifestColumns
from paimon_spark.format.types import DataType

Indices = np.ndarray[tuple[int], np.dtype[np.int64]]
Identity: TypeAlias = tuple[bytes, int, int, str, tuple[str, ...], bytes | None, str | None]


def canonical_row(partition: bytes, types: Sequence[DataType]) -> Partition:
    """The partition row, encoded again by this project.

    Writers encode some nulls differently, so bytes alone do not identify a partition (format 5.1).
    """
    if partition == EMPTY_ROW:
        return Partition(partition)
    return Partition(encode_arity_row(decode_arity_row(partition, types), types))


def canonical_partitions(columns: ManifestColumns, types: Sequence[DataType]) -> Indices:
    """For each distinct partition of the columns, the code of the first one with equal values."""
    seen: dict[Partition, int] = {}
    codes = [seen.setdefault(canonical_row(row, types), code) for code, row in enumerate(columns.partitions)]
    return np.array(codes, np.int64)


def fold(columns: ManifestColumns, partition_codes: Indices, chosen: Indices) -> Indices:
    """The entries among chosen that add a file which no later entry deletes, in the order of chosen.

    Args:
        columns: entries in the order base, then delta.
        partition_codes: canonical code of each entry's partition, see canonical_partitions.
        chosen: ascending indices. All entries of a file must be chosen or none: choose by partition, bucket or level
            only.
    """
    deletes = chosen[columns.kind[chosen] == FileKind.DELETE]
    if not len(deletes):
        return chosen
    names = columns.file_names
    deleted = {names[i] for i in deletes.tolist()}
    touched = np.fromiter((names[i] in deleted for i in chosen.tolist()), np.bool_, len(chosen))
    alive = _fold_one_by_one(columns, partition_codes, chosen[touched])
    return np.sort(np.concatenate([chosen[~touched], alive]))


def _fold_one_by_one(columns: ManifestColumns, partition_codes: Indices, entries: Indices) -> Indices:
    """Folds the entries whose file name occurs in a DELETE; returns those that add a live file.

    Partition, bucket, level and name identify a file, unless a file is replaced by itself with other sidecars. Only in
    that case the whole identity is compared.
    """
    alive: dict[tuple[int, int, int, str], list[int]] = {}
    keys = zip(
        partition_codes[entries].tolist(),
        columns.bucket[entries].tolist(),
        columns.level[entries].tolist(),
        [columns.file_names[i] for i in entries.tolist()],
        strict=True,
    )
    is_add = (columns.kind[entries] == FileKind.ADD).tolist()
    for index, key, adds in zip(entries.tolist(), keys, is_add, strict=True):
        if adds:
            alive.setdefault(key, []).append(index)
            continue
        versions = alive.get(key, [])
        if len(versions) > 1:
            gone = columns.entry(index).identity[3:]
            versions[:] = [i for i in versions if columns.entry(i).identity[3:] != gone]
        else:
            versions.clear()
    return np.array([index for versions in alive.values() for index in versions], np.int64)


def group_by_bucket(columns: ManifestColumns, partition_codes: Indices, live: Indices) -> list[Indices]:
    """The live entries in one group per (partition, bucket), in order of first appearance of the partition."""
    if not len(live):
        return []
    partition, bucket = partition_codes[live], columns.bucket[live]
    order = np.lexsort((bucket, partition))
    partition, bucket = partition[order], bucket[order]
    cuts = np.flatnonzero((partition[1:] != partition[:-1]) | (bucket[1:] != bucket[:-1])) + 1
    live, edges = live[order], [0, *cuts.tolist(), len(order)]
    return [live[start:end] for start, end in itertools.pairwise(edges)]


class AddedTwice(ValueError):
    """A file was added although it is already live."""


def fold_entries(entries: Iterable[ManifestEntry]) -> list[ManifestEntry]:
    """The result of changes applied in order: files added and not deleted, and deletions of files added elsewhere.

    Raises:
        AddedTwice: an ADD of a file that is already live, or that was deleted before.
    """
    folded: dict[Identity, ManifestEntry] = {}
    for entry in entries:
        identity = entry.identity
        known = folded.get(identity)
        if entry.kind == FileKind.ADD:
            if known is not None:
                raise AddedTwice(f"{entry.file.file_name} of level {entry.file.level} in bucket {entry.bucket}")
            folded[identity] = entry
        elif known is not None and known.kind == FileKind.ADD:
            del folded[identity]
        else:
            folded[identity] = entry
    return list(folded.values())


def record_count(entries: Iterable[ManifestEntry]) -> int:
    """Rows added minus rows deleted (format section 3.1, totals)."""
    return sum(e.file.row_count if e.kind == FileKind.ADD else -e.file.row_count for e in entries)
