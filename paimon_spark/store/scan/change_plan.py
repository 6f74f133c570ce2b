"""Plans the splits of a change of a table (Java: IncrementalDeltaStartingScanner, SnapshotReaderImpl)."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from paimon_spark.arrow.predicates.predicate import AlwaysTrue
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.manifest import DataFileMeta, FileKind
from paimon_spark.format.manifests.columns import ManifestColumns
from paimon_spark.format.paths import bucket_path
from paimon_spark.format.rules.key_clustering import check_key_order
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import DataType
from paimon_spark.merge.keys.row_ids import column_files, sections_by_row_id
from paimon_spark.merge.keys.sections import partition_sections
from paimon_spark.store.metadata.live_files import Indices, canonical_row, fold, group_by_bucket
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.pruning.file_filter import FileFilter, Parts, evolved_parts, files_of
from paimon_spark.store.read.deletion_files import DeletionFiles, find_deletion_files, partition_directory
from paimon_spark.store.read.splits import DeletionFile, DiffSplit, ReadUnit, Split, pack_ordered, pack_parts
from paimon_spark.store.scan.increments import Difference, Increment
from paimon_spark.store.scan.read_spec import ReadSpec
from paimon_spark.store.scan.split_plan import data_lists, merges_postponed, read_entries

_JOINED = ".cc-"
_Place: TypeAlias = tuple[int, int, str]
"""What tells a file of a partition: bucket, level, name."""


@dataclass(frozen=True)
class _Bucket:
    """One bucket in the state of a snapshot; totals are the numbers of buckets that its files record."""

    partition: bytes
    number: int
    totals: frozenset[int]
    files: Mapping[_Place, DataFileMeta]
    deletions: Mapping[str, DeletionFile]
    snapshot_id: int

    def rows_of(self) -> dict[_Place, DeletionFile | None]:
        """The live rows: the places of files, each with its deletion vector."""
        return {place: self.deletions.get(file.file_name) for place, file in self.files.items()}

    def only(self, places: Collection[_Place]) -> _Bucket:
        return replace(self, files={place: file for place, file in self.files.items() if place in places})


def plan_change(table: Table, spec: ReadSpec, change: Increment | Difference) -> tuple[ReadUnit, ...]:
    """The splits that hold every row of a change that may satisfy the predicate.

    Raises:
        CorruptFile: a manifest, manifest list or index manifest is missing, truncated or damaged.
        UnsupportedFeature: a commit deleted files without being an overwrite or a compaction; or
            `postpone.merge-on-read` is set, which does not support changes, or `pk-clustering-override`, with which
            states are not compared.
        OptionError: `scan.bucket` with `postpone.merge-on-read`.
    """
    if merges_postponed(table.settings):
        raise UnsupportedFeature(
            f"reading the changes of the table at {table.location}: 'postpone.merge-on-read' merges whole snapshots; "
            "read with it set to 'false', which shows what has come into buckets"
        )
    if isinstance(change, Increment):
        return tuple(_plan_increment(table, spec, change))
    check_key_order(table.settings, "the difference of two states")
    return tuple(_plan_difference(table, spec, change))


def _plan_increment(table: Table, spec: ReadSpec, increment: Increment) -> Iterator[Split]:
    """The files of all commits, those of a bucket in the order of the commits.

    Rows are not merged, so any file may be excluded by its statistics.
    """
    entries = read_entries(table, spec, [list_of(snapshot, increment.changelog) for snapshot in increment.snapshots])
    columns = entries.columns
    if (columns.kind[entries.chosen] == FileKind.DELETE).any():
        raise UnsupportedFeature(
            f"reading the changes of the table at {table.location}: a commit of kind APPEND deletes files, so its "
            "new files alone do not tell what it did; compare states with 'incremental-between-scan-mode' = 'diff'"
        )
    keep = FileFilter(spec.predicate, table.schema, table.schemas)
    target = table.settings.scan.split_target_size
    open_cost = table.settings.scan.open_file_cost
    groups = group_by_bucket(columns, entries.partition_codes, entries.chosen)
    for (partition, bucket), files in _files_of(table, columns, groups, keep):
        refuse_joined(table, files)
        where = directory_of(table, partition, bucket)
        if table.settings.data_evolution_enabled:
            parts = whole_parts(table, files, keep)
        else:
            parts = keep.matching_values(keep.matching_keys(files)), ()
        for part in pack_parts(*parts, target, open_cost):
            yield Split(partition, bucket, where, *part, snapshot_id=increment.snapshots[0].id)


def whole_parts(table: Table, files: Sequence[DataFileMeta], keep: FileFilter) -> Parts:
    """The new files of a table with data evolution, as those that hold columns of the same rows belong together.

    Raises:
        UnsupportedFeature: they do not have all columns of their rows.
    """
    for section in sections_by_row_id(files):
        if not keep.is_whole(column_files(section)):
            raise UnsupportedFeature(
                f"reading the changes of the table at {table.location}: a commit changed some columns of rows "
                "('data-evolution.enabled'), and its new files do not have the others; compare states with "
                "'incremental-between-scan-mode' = 'diff'"
            )
    return evolved_parts(files, keep)


def refuse_joined(table: Table, files: Iterable[DataFileMeta]) -> None:
    """Refuses changelog files that Flink joined from many buckets into one file.

    Raises:
        UnsupportedFeature: one of the files is such a file.
    """
    joined = next((file.file_name for file in files if _JOINED in file.file_name), None)
    if joined is not None:
        raise UnsupportedFeature(
            f"reading the changes of the table at {table.location}: the changelog file {joined} was joined "
            "with those of other buckets ('changelog.precommit-compact'), which this release does not read; compare "
            "states with 'incremental-between-scan-mode' = 'diff'"
        )


def list_of(snapshot: Snapshot, changelog: bool) -> tuple[str, int | None]:
    """(name, size) of the manifest list of what a commit changed: of its changelog files, or of its data files."""
    if changelog and snapshot.changelog_manifest_list is not None:
        return snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size
    return snapshot.delta_manifest_list, snapshot.delta_manifest_list_size


def _plan_difference(table: Table, spec: ReadSpec, change: Difference) -> Iterator[ReadUnit]:
    """The buckets of both states in pairs, without files that do not contribute to the difference.

    As in the official system, files of level 0 are included even if plain reads do not see them.
    """
    before = {} if change.before is None else _state(table, spec, change.before)
    after = _state(table, spec, change.after)
    for one, other in _pairs(table, before, after):
        if table.schema.primary_keys:
            yield from _keyed_splits(table, one, other)
        elif table.settings.data_evolution_enabled:
            yield from _evolved_splits(table, one, other)
        else:
            yield from _unkeyed_splits(table, one, other)


def _state(table: Table, spec: ReadSpec, snapshot: Snapshot) -> dict[tuple[bytes, int], _Bucket]:
    """The buckets of a state, by canonical partition and number."""
    entries = read_entries(table, spec, data_lists(snapshot))
    live = fold(entries.columns, entries.partition_codes, entries.chosen)
    groups = group_by_bucket(entries.columns, entries.partition_codes, live)
    deletions: DeletionFiles = {}
    has_vectors = table.settings.deletion_vectors_enabled
    if groups and has_vectors:
        deletions = find_deletion_files(table.file_io, table.location, table.schema, table.settings, snapshot)
    keep = FileFilter(spec.predicate, table.schema, table.schemas)
    types = table.schema.partition_types
    state: dict[tuple[bytes, int], _Bucket] = {}
    of_groups = zip(groups, _files_of(table, entries.columns, groups, keep), strict=True)
    for group, ((partition, bucket), files) in of_groups:
        key = canonical_row(partition, types), bucket
        totals = frozenset(np.unique(entries.columns.total_buckets[group]).tolist())
        if table.settings.data_evolution_enabled:
            left: Sequence[DataFileMeta] = list(files_of(evolved_parts(files, keep)))
        else:
            left = keep.matching_keys(files) if table.schema.primary_keys else keep.matching_values(files)
        vectors = deletions.get(key, {})
        found = {file.file_name: vectors[file.file_name] for file in left if file.file_name in vectors}
        places = {(bucket, file.level, file.file_name): file for file in left}
        state[key] = _Bucket(partition, bucket, totals, places, found, snapshot.id)
    return state


def _pairs(
    table: Table, before: Mapping[tuple[bytes, int], _Bucket], after: Mapping[tuple[bytes, int], _Bucket]
) -> Iterator[tuple[list[_Bucket], list[_Bucket]]]:
    """Buckets to compare with each other: the same bucket, or all buckets of a partition if keys may have moved.

    A key keeps its bucket as long as its partition keeps its number of buckets; with dynamic buckets an overwrite may
    put a key into another bucket.
    """
    partitions: dict[bytes, tuple[list[_Bucket], list[_Bucket]]] = {}
    for side, state in enumerate((before, after)):
        for (partition, _), bucket in state.items():
            partitions.setdefault(partition, ([], []))[side].append(bucket)
    for sides in partitions.values():
        totals = {total for side in sides for bucket in side for total in bucket.totals}
        keeps_buckets = len(totals) == 1 and (min(totals) > 0 or not table.schema.primary_keys)
        numbers = {bucket.number for side in sides for bucket in side} if keeps_buckets else {None}
        for number in sorted(numbers, key=lambda n: -1 if n is None else n):
            one, other = ([b for b in side if number is None or b.number == number] for side in sides)
            yield one, other


def _keyed_splits(table: Table, before: list[_Bucket], after: list[_Bucket]) -> Iterator[ReadUnit]:
    """Splits of sections whose key ranges overlap no other, without sections that are equal in both states."""
    old, new = _rows_of(before), _rows_of(after)
    if max(len(before), len(after)) > 1:
        if old != new:
            yield DiffSplit(_sections(table, before), _sections(table, after))
        return
    files = {place: file for bucket in (*before, *after) for place, file in bucket.files.items()}
    number = (before or after)[0].number
    sections = _places_by_section(number, files, [field.type for field in table.schema.key_fields])
    different = [s for s in sections if {p: old.get(p, 0) for p in s} != {p: new.get(p, 0) for p in s}]
    weights = [sum(files[place].file_size for place in section) for section in different]
    for start, end in pack_ordered(weights, table.settings.scan.split_target_size):
        places = frozenset(itertools.chain.from_iterable(different[start:end]))
        one, other = ([bucket.only(places) for bucket in side] for side in (before, after))
        yield DiffSplit(_sections(table, one), _sections(table, other))


def _places_by_section(
    bucket: int, files: Mapping[_Place, DataFileMeta], key_types: Sequence[DataType]
) -> list[list[_Place]]:
    sections = partition_sections(list(files.values()), key_types)
    return [[(bucket, file.level, file.file_name) for run in section for file in run] for section in sections]


def _sections(table: Table, buckets: Iterable[_Bucket]) -> tuple[Split, ...]:
    """A split for each bucket that has files; all files are in sections."""
    types = [field.type for field in table.schema.key_fields]
    return tuple(
        replace(_split(table, bucket), sections=tuple(partition_sections(list(bucket.files.values()), types)))
        for bucket in buckets
        if bucket.files
    )


def _unkeyed_splits(table: Table, before: list[_Bucket], after: list[_Bucket]) -> Iterator[ReadUnit]:
    """Splits of files that are in one state only. If all are in the state after, their rows are the difference."""
    old, new = _rows_of(before), _rows_of(after)
    gone = {place for place in old if place not in new or new[place] != old[place]}
    added = {place for place in new if place not in old or new[place] != old[place]}
    if gone:
        yield DiffSplit(
            tuple(_raw(_split(table, b), b.only(gone)) for b in before),
            tuple(_raw(_split(table, b), b.only(added)) for b in after),
        )
        return
    target = table.settings.scan.split_target_size
    open_cost = table.settings.scan.open_file_cost
    for bucket in after:
        for part in pack_parts(list(bucket.only(added).files.values()), (), target, open_cost):
            yield replace(_split(table, bucket), raw_files=part[0])


def _evolved_splits(table: Table, before: list[_Bucket], after: list[_Bucket]) -> Iterator[ReadUnit]:
    """As _unkeyed_splits, of files that hold columns of the same rows: they are equal or different together."""
    old, new = _rows_by_section(before), _rows_by_section(after)
    gone = {place for rows in old - new for place, _ in rows}
    added = {place for rows in new - old for place, _ in rows}
    if gone:
        yield DiffSplit(
            tuple(_evolved(table, bucket.only(gone)) for bucket in before),
            tuple(_evolved(table, bucket.only(added)) for bucket in after),
        )
        return
    target, open_cost = table.settings.scan.split_target_size, table.settings.scan.open_file_cost
    for bucket in after:
        whole = _evolved(table, bucket.only(added))
        for files, sections in pack_parts(whole.raw_files, whole.sections, target, open_cost):
            yield replace(whole, raw_files=files, sections=sections)


def _rows_by_section(buckets: Iterable[_Bucket]) -> set[frozenset[tuple[_Place, DeletionFile | None]]]:
    """The live rows of each section: its files, with their deletion vectors."""
    found = set()
    for bucket in buckets:
        for section in sections_by_row_id(bucket.files.values()):
            places = ((bucket.number, file.level, file.file_name) for run in section for file in run)
            found.add(frozenset((place, bucket.deletions.get(place[2])) for place in places))
    return found


def _evolved(table: Table, bucket: _Bucket) -> Split:
    alone, sections = evolved_parts(list(bucket.files.values()), FileFilter(AlwaysTrue(), table.schema, table.schemas))
    return replace(_split(table, bucket), raw_files=tuple(alone), sections=tuple(sections))


def _raw(split: Split, bucket: _Bucket) -> Split:
    return replace(split, raw_files=tuple(bucket.files.values()))


def _rows_of(buckets: Iterable[_Bucket]) -> dict[_Place, DeletionFile | None]:
    return {place: deletion for bucket in buckets for place, deletion in bucket.rows_of().items()}


def _split(table: Table, bucket: _Bucket) -> Split:
    """A split of the bucket without files."""
    where = directory_of(table, bucket.partition, bucket.number)
    return Split(bucket.partition, bucket.number, where, (), (), bucket.deletions, bucket.snapshot_id)


def directory_of(table: Table, partition: bytes, bucket: int) -> str:
    """The directory of a bucket of the table."""
    directory = partition_directory(table.schema, table.settings, partition)
    return bucket_path(table.location, directory, bucket, table.settings)


def _files_of(
    table: Table, columns: ManifestColumns, groups: Sequence[Indices], keep: FileFilter
) -> Iterator[tuple[tuple[bytes, int], list[DataFileMeta]]]:
    """The place and the files of each group, in its order."""
    chosen = np.concatenate(groups) if groups else np.empty(0, np.int64)
    files = iter(columns.data_files(chosen, keep.needs_statistics, bool(table.schema.primary_keys)))
    for group in groups:
        first = int(group[0])
        partition, bucket = columns.partitions[columns.partition_code[first]], int(columns.bucket[first])
        yield (partition, bucket), list(itertools.islice(files, len(group)))
