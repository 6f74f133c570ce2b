"""Checks that files which hold columns of rows that are there fit the other files of these rows (format section 10).

Java: ConflictDetection.checkRowIdExistence, checkRowIdRangeConflicts (release 2.0).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from paimon_spark.errors import CommitConflict
from paimon_spark.format.manifest import DataFileMeta, FileKind, ManifestEntry
from paimon_spark.format.snapshot import CommitKind
from paimon_spark.merge.keys.row_ids import end_id, first_id, is_part_file

Ranges: TypeAlias = npt.NDArray[np.int64]
"""The first id of the rows of each file, and the one after the last, in two columns, ascending."""


def check_row_ids(
    text: str, canonical: Callable[[bytes], bytes], live: Sequence[ManifestEntry], delta: Sequence[ManifestEntry],
    after: Sequence[ManifestEntry], kind: str,
) -> None:  # fmt: skip
    """Checks that files of rows that are there fit the other files of these rows.

    Args:
        text: begins the message.
        canonical: gives all rows of one partition the same bytes.
        live: the live files of (at least) the partitions that delta changes.
        delta: the changes.
        after: what is live then.
        kind: of the commit.

    Raises:
        CommitConflict: no other file has the rows of a file, or one has some of them.
    """
    added = [entry for entry in delta if entry.kind == FileKind.ADD and entry.file.first_row_id is not None]
    if not added:
        return
    known = _known_ranges(canonical, live, joins=kind == CommitKind.COMPACT)
    for entry in added:
        ranges = known.get((canonical(entry.partition), entry.bucket), np.empty((0, 2), np.int64))
        if not _is_known(entry.file, ranges, exactly=kind != CommitKind.COMPACT and not is_part_file(entry.file)):
            raise CommitConflict(
                f"{text}: {entry.file.file_name} has columns of the rows with ids from {first_id(entry.file)} to "
                f"{end_id(entry.file) - 1}, which are no longer the rows of other files. Another job has compacted or "
                "overwritten them meanwhile; run the job again on the new state of the table"
            )
    wide = [entry.file for entry in after if entry.file.first_row_id is not None and not is_part_file(entry.file)]
    ordered = sorted((first_id(file), end_id(file), file.file_name) for file in wide)
    for (first, end, one), (start, stop, other) in itertools.pairwise(ordered):
        if start < end and (first, end) != (start, stop):
            raise CommitConflict(
                f"{text}: {one} would have columns of the rows with ids from {first} to {end - 1}, and {other} of "
                f"those from {start} to {stop - 1}. Another job has changed or compacted the rows meanwhile; run the "
                "job again on the new state of the table"
            )


def _known_ranges(
    canonical: Callable[[bytes], bytes], live: Iterable[ManifestEntry], joins: bool
) -> dict[tuple[bytes, int], Ranges]:
    """The (first, end) of the rows of files in each bucket, ascending; with joins, neighbours are one range."""
    found: dict[tuple[bytes, int], set[tuple[int, int]]] = {}
    for entry in live:
        if entry.file.first_row_id is not None and not is_part_file(entry.file):
            place = canonical(entry.partition), entry.bucket
            found.setdefault(place, set()).add((first_id(entry.file), end_id(entry.file)))
    ranges = {place: np.array(sorted(pairs), np.int64).reshape(-1, 2) for place, pairs in found.items()}
    return {place: _joined(pairs) for place, pairs in ranges.items()} if joins else ranges


def _joined(ranges: Ranges) -> Ranges:
    reach = np.maximum.accumulate(ranges[:, 1])
    starts = np.flatnonzero(np.concatenate([[True], ranges[1:, 0] > reach[:-1]]))
    ends = np.concatenate([starts[1:], [len(ranges)]]) - 1
    return np.column_stack([ranges[starts, 0], reach[ends]])


def _is_known(file: DataFileMeta, ranges: Ranges, exactly: bool) -> bool:
    """True if a range has all rows of a file, and exactly: no others."""
    at = int(np.searchsorted(ranges[:, 0], first_id(file), side="right")) - 1
    if at < 0:
        return False
    first, end = ranges[at].tolist()
    return (first, end) == (first_id(file), end_id(file)) if exactly else end_id(file) <= end
