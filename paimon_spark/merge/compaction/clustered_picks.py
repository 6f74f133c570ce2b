"""Which files of a bucket are compacted whose compacted files are sorted by other columns than the key.

Java: ClusteringCompactManager, ClusteringFileRewriter (release 2.0). Files of level 0 are always taken up. Compacted
files are merged where their values overlap, together with neighbours that are small.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from paimon_spark.format.binary_row import arity_row_decoder
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.types import DataField
from paimon_spark.merge.keys.key_order import SortKey, sort_key_of

Group: TypeAlias = tuple[DataFileMeta, ...]
Values: TypeAlias = tuple[tuple[SortKey, ...], tuple[SortKey, ...]]
"""The first and the last values of a file, which order as the rows do: a null is first."""


@dataclass(frozen=True)
class ClusteredPick:
    """The files of a bucket that are compacted.

    Attributes:
        new: the files of level 0, oldest first.
        groups: compacted files that are merged, each group for itself.
        together: whether all files become one sorted run.
    """

    new: Group
    groups: tuple[Group, ...]
    together: bool = False


def values_of(fields: Sequence[DataField]) -> Callable[[DataFileMeta], Values]:
    """A function that returns the first and the last values of a compacted file.

    It raises CorruptFile for values that do not decode.

    Args:
        fields: the columns that the files are sorted by, with the types that they were written with.
    """
    decode = arity_row_decoder([field.type for field in fields])
    orders = [sort_key_of([field.type]) for field in fields]

    def values(row: bytes) -> tuple[SortKey, ...]:
        pairs = zip(orders, decode(row), strict=True)
        return tuple((False,) if value is None else (True, *order([value])) for order, value in pairs)

    return lambda file: (values(file.min_key), values(file.max_key))


def pick_clustered(
    files: Sequence[DataFileMeta],
    find: Callable[[DataFileMeta], Values] | None,
    target: int,
    full: bool,
    vectors: Collection[str] = (),
    rewrites_all: bool = False,
) -> ClusteredPick | None:
    """The files to compact now; None: there is nothing to do.

    Args:
        files: all files of the bucket, in the order of their manifests.
        find: the first and the last values of a compacted file; None: the files cannot be compared, as the type of a
            column was changed since.
        target: the size of new files, in bytes.
        full: True: all files become one sorted run, unless they are one already. False: what a writer would compact.
        vectors: the names of files that have a deletion vector.
        rewrites_all: whether a full compaction also rewrites files that need it not.
    """
    new = in_order_of_writes(file for file in files if file.level == 0)
    old = tuple(file for file in files if file.level > 0)
    sections = _sections(old, find)
    if full:
        small = sum(_size(section) < target // 2 for section in sections)
        is_done = not new and small < 2 and all(len(section) == 1 for section in sections)
        is_clean = not any(file.file_name in vectors or file.delete_row_count != 0 for file in old)
        if not files or (is_done and is_clean and not rewrites_all):
            return None
        return ClusteredPick(new, (old,) if old else (), together=True)
    groups = tuple(_overlapping_or_small(sections, target // 2))
    return ClusteredPick(new, groups) if new or groups else None


def in_order_of_writes(files: Iterable[DataFileMeta]) -> Group:
    """The files of level 0, oldest first: by their sequence numbers, and of concurrent jobs as they were committed."""
    return tuple(sorted(files, key=lambda file: file.min_sequence_number))


def _sections(files: Group, find: Callable[[DataFileMeta], Values] | None) -> list[Group]:
    """The files in groups whose values do not overlap, in their order.

    A file may begin with the last value of the one before it: so are the files of one sorted run. Java takes such files
    to overlap, and merges them again and again.
    """
    if find is None:
        return [files] if files else []
    sections: list[list[DataFileMeta]] = []
    reach: tuple[SortKey, ...] = ()
    for (first, last), _, file in sorted((find(file), number, file) for number, file in enumerate(files)):
        if not sections or reach <= first:
            sections.append([])
        sections[-1].append(file)
        reach = max(reach, last)
    return [tuple(section) for section in sections]


def _overlapping_or_small(sections: Sequence[Group], small: int) -> list[Group]:
    """Neighbouring sections that are merged; a large file that overlaps no other stays as it is."""
    groups: list[Group] = []
    waiting: Group = ()
    for section in sections:
        if len(section) > 1 or _size(section) < small:
            waiting += section
            continue
        groups.append(waiting)
        waiting = ()
    return [group for group in (*groups, waiting) if len(group) > 1]


def _size(files: Group) -> int:
    return sum(file.file_size for file in files)
