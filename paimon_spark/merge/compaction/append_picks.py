"""Which files of a table without primary key are compacted together (features 3.6).

There are two kinds of tables. Without buckets, any files of a partition may be merged (Java: AppendCompactCoordinator).
In buckets the rows keep the order of writing, so only neighbours may (Java: BucketedAppendCompactManager).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.options.option import MB
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.merge.compaction.rules import small_file_size

Group: TypeAlias = tuple[DataFileMeta, ...]

_DEFAULT_TARGET = 256 * MB
_FULL_MIN_FILES = 3


@dataclass(frozen=True)
class AppendRules:
    """The rules for compacting an append table; made by ``append_rules``.

    Attributes:
        target_size: bytes of a full file.
        small_file: bytes below which a file is merged with others.
        open_cost: bytes added to the size of each file, for the cost of opening it.
        min_files: the number of small files that are worth a compaction.
        delete_ratio: share of deleted rows above which a file is rewritten whatever its size.
        rewrites_all: whether a full compaction also rewrites files that do not need it.
    """

    target_size: int
    small_file: int
    open_cost: int
    min_files: int
    delete_ratio: float
    rewrites_all: bool


@dataclass(frozen=True, slots=True)
class FileVector:
    """The deletion vector of a data file: its index file, and the number of rows it deletes (None: unknown)."""

    index_file: str
    cardinality: int | None


NO_VECTORS: Mapping[str, FileVector] = {}


def append_rules(settings: TableSettings) -> AppendRules:
    """The rules of a table without primary key, from its options with those of the call on top.

    ``compaction.file-num-limit`` is not used: it bounds the memory of a coordinator in Java, while all files of a
    partition are considered at once here.

    Raises:
        OptionError: an option does not parse.
    """
    target = settings.files.target_size
    return AppendRules(
        target_size=_DEFAULT_TARGET if target is None else target,
        small_file=small_file_size(settings, _DEFAULT_TARGET),
        open_cost=settings.scan.open_file_cost,
        min_files=settings.compaction.min_file_num,
        delete_ratio=settings.compaction.delete_ratio_threshold,
        rewrites_all=settings.compaction.force_rewrite_all_files,
    )


# ------------------------------------------------------------------------------------------------- without buckets


def is_candidate(file: DataFileMeta, rules: AppendRules, vector: FileVector | None) -> bool:
    """True if the file is small, or too many of its rows are deleted; an unknown number counts as too many."""
    if file.file_size < rules.small_file:
        return True
    if vector is None:
        return False
    return vector.cardinality is None or vector.cardinality > file.row_count * rules.delete_ratio


def pick_any_order(
    files: Iterable[DataFileMeta],
    rules: AppendRules,
    vectors: Mapping[str, FileVector] = NO_VECTORS,
    takes_few: bool = False,
) -> tuple[Group, ...]:
    """Groups of files of one partition, each to be rewritten by itself; within a group the files are in order of age.

    Small files are packed, the smallest first, until they fill two files. The remaining files are not compacted until
    there are ``compaction.min.file-num`` of them, at least two. Candidates with a deletion vector are in groups of
    their own, however small: files whose vectors share an index file stay together, so that no two tasks rewrite one
    index file.

    Args:
        files: all live files of a partition.
        rules: the rules of the table.
        vectors: the deletion vectors by data file name, of all files that have one.
        takes_few: whether, if nothing else was found, fewer candidates than ``compaction.min.file-num`` are merged
            (Java does so when they have waited for long).
    """
    found = [file for file in files if is_candidate(file, rules, vectors.get(file.file_name))]
    by_index: dict[str, list[DataFileMeta]] = {}
    plain: list[DataFileMeta] = []
    for file in found:
        vector = vectors.get(file.file_name)
        (plain if vector is None else by_index.setdefault(vector.index_file, [])).append(file)
    marked = sorted(by_index.values(), key=lambda group: (sum(f.file_size for f in group), group[0].file_name))
    small = [[file] for file in sorted(plain, key=lambda f: (f.file_size, f.file_name))]
    groups = [*_packed(marked, rules, 1), *_packed(small, rules, max(2, rules.min_files))]
    if not groups and takes_few and len(found) > 1:
        groups = [found]
    return tuple(tuple(sorted(group, key=_age)) for group in groups)


def _packed(
    parts: Iterable[Sequence[DataFileMeta]], rules: AppendRules, min_files: int
) -> Iterator[list[DataFileMeta]]:
    """Groups of consecutive parts, each large enough for two files; then the rest if it has at least min_files."""
    waiting: list[DataFileMeta] = []
    size = 0
    for part in parts:
        waiting += part
        size += sum(file.file_size + rules.open_cost for file in part)
        if len(waiting) > 1 and size >= 2 * rules.target_size:
            yield waiting
            waiting, size = [], 0
    if waiting and len(waiting) >= min_files:
        yield waiting


def _age(file: DataFileMeta) -> tuple[int, int, str]:
    return file.creation_time or 0, file.min_sequence_number, file.file_name


# --------------------------------------------------------------------------------------------------------- in buckets


def in_written_order(files: Iterable[DataFileMeta]) -> Group:
    """The files of a bucket in the order their rows were written."""
    return tuple(sorted(files, key=lambda f: (f.min_sequence_number, f.creation_time or 0, f.file_name)))


def pick_neighbours(files: Iterable[DataFileMeta], rules: AppendRules) -> Group | None:
    """The first run of neighbours in a bucket with enough files that are not too large, in order; None if none.

    A window slides over the files. It is picked when it has ``compaction.min.file-num`` of them; if it reaches twice
    the target size before that, its first file is removed.

    Args:
        files: all live files of a bucket.
        rules: of the table.
    """
    window: list[DataFileMeta] = []
    size = 0
    for file in in_written_order(files):
        window.append(file)
        size += file.file_size
        if len(window) >= rules.min_files:
            return tuple(window)
        if size >= 2 * rules.target_size:
            size -= window.pop(0).file_size
    return None


def pick_all_neighbours(
    files: Iterable[DataFileMeta],
    rules: AppendRules,
    vectors: Collection[str] = (),
    has_vectors: bool = False,
) -> Group | None:
    """The files that a full compaction of a bucket rewrites, in order; None if it is not worth it.

    These are all files but the large ones at the head. There must be more small files than large ones. With deletion
    vectors everything is rewritten, except a single file that has none.

    Args:
        files: all live files of a bucket.
        rules: of the table.
        vectors: names of the files that have a deletion vector.
        has_vectors: whether the table has deletion vectors.
    """
    ordered = in_written_order(files)
    if rules.rewrites_all:
        return ordered or None
    head = 0
    while (
        head < len(ordered) and ordered[head].file_size >= rules.small_file and ordered[head].file_name not in vectors
    ):
        head += 1
    rest = ordered[head:]
    if has_vectors:
        return rest if len(rest) > 1 or any(file.file_name in vectors for file in rest) else None
    small = sum(file.file_size < rules.small_file for file in rest)
    return rest if len(rest) >= _FULL_MIN_FILES and small > len(rest) - small else None
