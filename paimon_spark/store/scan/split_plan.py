"""Plans the splits of a snapshot (Java: AbstractFileStoreScan, SnapshotReaderImpl, the split generators).

Entries are columns until they are chosen: only files that a split may read become objects.

Splits of partitions with postponed rows, `postpone.merge-on-read` = true (Java: PostponeMergeReadBuilder). The official
engines shuffle the postponed rows to their future buckets. Here a split has some buckets of a partition; it reads all
postponed files of the partition, and uses the rows of its buckets.

The files of a read-optimized read: those of the highest level, without a merge (Java: ReadOptimizedTable).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np

from paimon_spark.arrow.predicates.predicate import AlwaysTrue, columns_of, restrict
from paimon_spark.arrow.predicates.pruning import match_values
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.bucket import bucket_fields
from paimon_spark.format.manifest import DataFileMeta, ManifestEntry
from paimon_spark.format.manifests.columns import ManifestColumns
from paimon_spark.format.manifests.entry_files import LEAST_FILES, find_entry_files
from paimon_spark.format.options.engines import MergeEngine
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.paths import POSTPONE_BUCKET, bucket_path
from paimon_spark.format.rules.key_clustering import check_key_order, orders_otherwise
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.merge.compaction.rules import compaction_rules
from paimon_spark.merge.keys.sections import partition_sections
from paimon_spark.store.metadata.live_files import Indices, canonical_partitions, canonical_row, fold, group_by_bucket
from paimon_spark.store.metadata.manifest_files import planned_manifest_columns, read_manifest_lists
from paimon_spark.store.metadata.postponed import in_write_order
from paimon_spark.store.metadata.schemas import schema_of_file
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.pruning.file_filter import (
    FileFilter,
    IndexedParts,
    Parts,
    append_parts,
    compacted_parts,
    evolved_parts,
    manifest_filter,
    merged_parts,
)
from paimon_spark.store.pruning.index_filter import IndexFilter, leave_out_by_index
from paimon_spark.store.pruning.integer_stats import leave_out_by_integers
from paimon_spark.store.read.bucket_filter import BucketFilter
from paimon_spark.store.read.deletion_files import DeletionFiles, find_deletion_files, partition_directory
from paimon_spark.store.read.splits import DeletionFile, PostponeSplit, ReadUnit, Split, pack_parts
from paimon_spark.store.scan.read_spec import Plan, ReadSpec
from paimon_spark.store.storage.local_time import local_wall_millis

_T = TypeVar("_T")
Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


def skips_level_zero(settings: TableSettings) -> bool:
    """True if files of level 0 are invisible until they are compacted, so that nothing has to be merged."""
    if settings.merge_engine == MergeEngine.FIRST_ROW:
        return True
    return settings.deletion_vectors_enabled and not settings.deletion_vectors_merge_on_read


def reads_compacted_only(table: Table, spec: ReadSpec) -> bool:
    """True if files of level 0 are not read, and nothing has to be merged."""
    return not spec.all_levels and bool(table.schema.primary_keys) and skips_level_zero(table.settings)


def plan_state(table: Table, spec: ReadSpec, snapshot: Snapshot) -> Plan:
    """Plans the read of a snapshot.

    Args:
        table: the table, with the options of the read.
        spec: what is wanted; the predicate is over the columns of the table alone.
        snapshot: the state.

    Raises:
        CorruptFile: a manifest, manifest list or index manifest is missing, truncated or damaged.
        OptionError: `scan.bucket` with `postpone.merge-on-read`.
        UnsupportedFeature: `postpone.merge-on-read` or data evolution with a choice of files by their creation time.
    """
    if table.settings.data_evolution_enabled and spec.created_since is not None:
        raise UnsupportedFeature(
            f"reading {table.location}: 'scan.mode' asks for files by their creation time, and the columns of a row "
            "may lie in older files too ('data-evolution.enabled'); choose a snapshot by its time instead, with "
            "'scan.timestamp-millis'"
        )
    skips = reads_compacted_only(table, spec)
    waits = merges_postponed(table.settings)
    if waits and spec.created_since is not None:
        raise UnsupportedFeature(
            f"reading {table.location}: 'postpone.merge-on-read' merges whole snapshots, and 'scan.mode' asks for "
            "files by their creation time; leave out one of the two"
        )
    entries = read_entries(table, spec, data_lists(snapshot), skips, waits or spec.unmerged_postponed)
    columns, partition_codes = entries.columns, entries.partition_codes
    live = fold(columns, partition_codes, entries.chosen)
    after_buckets, buckets = len(live), _hashed_buckets(table, columns, live)
    only_keys = (bool(table.schema.primary_keys) and not skips) or waits
    if not table.settings.data_evolution_enabled:  # a file may have old values of a column, or lack it
        live = leave_out_by_integers(columns, live, spec.predicate, table.schema, table.schemas, only_keys)
    groups = group_by_bucket(columns, partition_codes, live)
    deletions: DeletionFiles = {}
    has_vectors = table.settings.deletion_vectors_enabled
    if groups and has_vectors:
        deletions = find_deletion_files(table.file_io, table.location, table.schema, table.settings, snapshot)
    with_waiting = {int(partition_codes[g[0]]) for g in groups if waits and columns.bucket[g[0]] == POSTPONE_BUCKET}
    plain = [group for group in groups if int(partition_codes[group[0]]) not in with_waiting]
    keep = FileFilter(spec.predicate, table.schema, table.schemas)
    merged = PostponePlan(table.location, table.schema, table.settings, keep, deletions, snapshot.id)
    of_partition = (live[partition_codes[live] == code].tolist() for code in sorted(with_waiting))
    waiting = (split for chosen in of_partition for split in merged.splits(columns.entries(chosen)))
    found, by_index, by_order = _splits(table, spec, keep, columns, plain, deletions, snapshot)
    splits: tuple[Split | PostponeSplit, ...] = (*found, *waiting)
    if table.settings.scan.plan_sort_partition:
        splits = _in_partition_order(table, splits)
    return Plan(snapshot, splits, by_index, by_order, after_buckets, buckets)


def _in_partition_order(table: Table, splits: Sequence[Split | PostponeSplit]) -> tuple[Split | PostponeSplit, ...]:
    """The splits by the values of their partitions, null first; those of one partition keep their order."""
    types = table.schema.partition_types
    found = {split.partition for split in splits}
    keys = {p: [(value is not None, value) for value in decode_arity_row(p, types)] for p in found}
    return tuple(sorted(splits, key=lambda split: keys[split.partition]))


def merges_postponed(settings: TableSettings) -> bool:
    """True if a read merges postponed rows with those in buckets."""
    return settings.bucket == POSTPONE_BUCKET and settings.postpone.merge_on_read


@dataclass(frozen=True)
class Entries:
    """The manifest entries of a scan.

    Attributes:
        columns: all entries of the manifests, in their order.
        partition_codes: the code of each entry's partition, see canonical_partitions.
        chosen: the ascending numbers of the entries whose partition and bucket may hold rows of the scan.
    """

    columns: ManifestColumns
    partition_codes: Indices
    chosen: Indices


def data_lists(snapshot: Snapshot) -> tuple[tuple[str, int | None], ...]:
    """(name, size) of the manifest lists that make up a state, base before delta."""
    return (
        (snapshot.base_manifest_list, snapshot.base_manifest_list_size),
        (snapshot.delta_manifest_list, snapshot.delta_manifest_list_size),
    )


def read_entries(
    table: Table,
    spec: ReadSpec,
    lists: Iterable[tuple[str, int | None]],
    skips_zero: bool = False,
    postponed: bool = False,
) -> Entries:
    """The entries of manifest lists, without manifests whose partitions cannot match.

    Args:
        table: the table, with the options of the read.
        spec: what is wanted.
        lists: (name, size) of manifest lists.
        skips_zero: True does not choose files of level 0.
        postponed: True chooses postponed files too.

    Raises:
        CorruptFile: a manifest or manifest list is missing, truncated or damaged.
        OptionError: `scan.bucket` with `postpone.merge-on-read`.
        TableChanged: a file has a newer schema, in which a column of the condition was dropped or changed its type.
    """
    may_hold = manifest_filter(spec.predicate, table.schema.partition_fields)
    manifests = [
        meta
        for meta in read_manifest_lists(table.file_io, table.location, lists)
        if may_hold is None or may_hold(meta.partition_stats)
    ]
    columns = planned_manifest_columns(table.file_io, table.location, manifests)
    canonical = canonical_partitions(columns, table.schema.partition_types)
    partition_codes = canonical[columns.partition_code]
    mask = _entry_mask(table, spec, columns, canonical, partition_codes)
    if skips_zero:
        mask &= (columns.level > 0) | (columns.bucket == POSTPONE_BUCKET)
    if spec.least_level:
        mask &= columns.level >= spec.least_level
    if not postponed:
        mask &= columns.bucket >= 0  # postponed files hold rows without a bucket: a plain read ignores them
    conditions = [table.schema.by_name[name] for name in columns_of(spec.predicate)]
    for schema_id in np.unique(columns.schema_id[mask & (columns.schema_id > table.schema.id)]).tolist():
        schema_of_file(table.schema, table.schemas, schema_id, conditions)  # their statistics would be misread
    return Entries(columns, partition_codes, np.flatnonzero(mask))


def _entry_mask(
    table: Table, spec: ReadSpec, columns: ManifestColumns, canonical: Indices, partition_codes: Indices
) -> Mask:
    """True for entries whose bucket and partition may match: rules that treat all entries of one file alike."""
    mask: Mask = np.ones(len(columns.bucket), np.bool_)
    only_bucket = table.settings.scan.bucket
    if only_bucket is not None:
        if merges_postponed(table.settings):
            raise OptionError(
                f"reading {table.location}: 'scan.bucket' = {only_bucket} contradicts 'postpone.merge-on-read', for "
                "rows that wait have no bucket yet; leave out one of the two"
            )
        mask &= columns.bucket == only_bucket
    wanted = restrict(spec.predicate, set(table.schema.partition_keys))
    if not isinstance(wanted, AlwaysTrue):
        types = table.schema.partition_types
        matches = np.zeros(len(columns.partitions), np.bool_)
        for code in np.unique(canonical).tolist():
            values = decode_arity_row(columns.partitions[code], types)
            matches[code] = match_values(wanted, dict(zip(table.schema.partition_keys, values, strict=True))) is True
        mask &= matches[partition_codes]
    return _mask_buckets(table, spec, columns, mask)


def _mask_buckets(table: Table, spec: ReadSpec, columns: ManifestColumns, mask: Mask) -> Mask:
    """Limits point lookups to the buckets of their keys, by the number of buckets that each entry records."""
    fields = bucket_fields(table.schema, table.settings)
    buckets = BucketFilter(spec.predicate, fields, table.settings.bucket_function)
    if not buckets.is_useful:
        return mask
    ids = [field.id for field in fields]
    alike = [i for i in np.unique(columns.schema_id[mask]).tolist() if _hashes_alike(table, i, ids)]
    prunable = np.isin(columns.schema_id, alike)
    for total in np.unique(columns.total_buckets[mask]).tolist():
        allowed = buckets.buckets(total)
        if allowed is not None:
            mask &= ~prunable | (columns.total_buckets != total) | np.isin(columns.bucket, sorted(allowed))
    return mask


def _hashed_buckets(table: Table, columns: ManifestColumns, chosen: Indices) -> int | None:
    """Of Plan.hashed_buckets: the number of buckets that all files record, if it is one."""
    if table.settings.bucket <= 0:
        return None
    totals = np.unique(columns.total_buckets[chosen]).tolist()
    if len(totals) != 1 or totals[0] <= 0:
        return None
    ids = [field.id for field in bucket_fields(table.schema, table.settings)]
    schemas = np.unique(columns.schema_id[chosen]).tolist()
    return totals[0] if ids and all(_hashes_alike(table, schema_id, ids) for schema_id in schemas) else None


def _hashes_alike(table: Table, schema_id: int, field_ids: Sequence[int]) -> bool:
    """True if the bucket key of that schema has the same types as in the current one, so that hashes are equal."""
    if schema_id == table.schema.id:
        return True
    then = {field.id: field.type.with_nullable(True) for field in table.schemas.load(schema_id).fields}
    now = {field.id: field.type.with_nullable(True) for field in table.schema.fields}
    return all(then.get(i) == now[i] for i in field_ids)


def _parts_of(table: Table, spec: ReadSpec, keep: FileFilter) -> Callable[[Sequence[DataFileMeta]], Parts]:
    """The function that turns the files of a bucket of this table into parts of splits."""
    if not table.schema.primary_keys:
        return partial(evolved_parts if table.settings.data_evolution_enabled else append_parts, keep=keep)
    if reads_compacted_only(table, spec):
        return partial(compacted_parts, keep=keep)
    if orders_otherwise(table.settings):
        return partial(_sorted_otherwise, table.settings, keep=keep)
    return partial(
        merged_parts,
        key_types=[field.type for field in table.schema.key_fields],
        keep=keep,
        whole_rows=table.settings.merge_engine.keeps_whole_rows,
    )


def _sorted_otherwise(settings: TableSettings, files: Sequence[DataFileMeta], keep: FileFilter) -> Parts:
    """The files of a bucket whose compacted files are sorted by other columns than the key: nothing may wait.

    Raises:
        UnsupportedFeature: a file is not compacted, so that rows would have to be merged.
    """
    if any(file.level == 0 for file in files):
        check_key_order(settings, "files that are not compacted")
    return compacted_parts(files, keep)


def _files_and_parts(
    table: Table, spec: ReadSpec, keep: FileFilter, columns: ManifestColumns, groups: Sequence[Indices]
) -> tuple[Sequence[DataFileMeta], Callable[[Sequence[DataFileMeta]], Parts]]:
    """The files of all groups, one group after the other, and the function of _parts_of.

    All at once: making objects costs little more for many buckets than for one. None are made of the many files of a
    plan that only divides them into splits.
    """
    needs_statistics = keep.needs_statistics or spec.with_statistics or spec.first is not None
    has_keys = bool(table.schema.primary_keys)
    chosen = np.concatenate(groups) if groups else np.empty(0, np.int64)
    needs_objects = keep.needs_statistics or spec.first is not None or has_keys or spec.created_since is not None
    if len(chosen) >= LEAST_FILES and not needs_objects and not table.settings.data_evolution_enabled:
        late = find_entry_files(columns, _oldest_first(columns, groups, chosen), needs_statistics)
        if late is not None:
            return late, lambda files: (files, ())  # as append_parts: all of them, in this order
    return columns.data_files(chosen, needs_statistics, has_keys), _parts_of(table, spec, keep)


def _oldest_first(columns: ManifestColumns, groups: Sequence[Indices], chosen: Indices) -> Indices:
    """The chosen entries, which are those of all groups, in the order of append_parts within each group."""
    sequences = columns.needed_integers("min_sequence_number")[chosen]
    sizes = np.fromiter(map(len, groups), np.int64, len(groups))
    is_ordered = sequences[1:] >= sequences[:-1]
    is_ordered[np.cumsum(sizes)[:-1] - 1] = True  # between two groups
    if is_ordered.all():
        return chosen
    return chosen[np.lexsort((sequences, np.repeat(np.arange(len(groups)), sizes)))]


def _splits(
    table: Table,
    spec: ReadSpec,
    keep: FileFilter,
    columns: ManifestColumns,
    groups: Sequence[Indices],
    deletions: DeletionFiles,
    snapshot: Snapshot,
) -> tuple[list[Split], int, int]:
    """The splits of the files of groups; how many files were left out by their indexes, and how many by the order."""
    target = table.settings.scan.split_target_size
    open_cost = table.settings.scan.open_file_cost
    counts_blobs = table.settings.scan.blob_split_by_file_size
    if counts_blobs is None:
        counts_blobs = not table.settings.blob_as_descriptor
    types = table.schema.partition_types
    files_of_all, parts_of = _files_and_parts(table, spec, keep, columns, groups)
    since = None if spec.created_since is None else local_wall_millis(spec.created_since)
    directories: dict[bytes, str] = {}
    buckets: list[_BucketParts] = []
    end = 0
    for group in groups:
        start, end = end, end + len(group)
        files = files_of_all[start:end]
        if since is not None:
            files = [file for file in files if (file.creation_time or 0) >= since]
        postponed = columns.bucket[group[0]] == POSTPONE_BUCKET
        parts: Parts = (in_write_order(files), ()) if postponed else parts_of(files)
        if not any(parts):
            continue
        first = int(group[0])
        partition, bucket = columns.partitions[columns.partition_code[first]], int(columns.bucket[first])
        if partition not in directories:
            directories[partition] = partition_directory(table.schema, table.settings, partition)
        where = bucket_path(table.location, directories[partition], bucket, table.settings)
        vectors = deletions.get((canonical_row(partition, types), bucket), {}) if deletions else {}
        buckets.append(_BucketParts(partition, bucket, where, parts, vectors))
    by_order = _leave_out_by_order(table, spec, buckets)
    if by_order is None:
        index = IndexFilter(table, spec.predicate)
        keeps_sections = not table.settings.merge_engine.keeps_whole_rows
        left = leave_out_by_index(index, [(b.directory, b.parts) for b in buckets], parts_of, keeps_sections)
        if table.settings.data_evolution_enabled and snapshot.index_manifest is not None:
            from paimon_spark.store.pruning.by_row_id import leave_out_by_row_ids

            left = leave_out_by_row_ids(table, snapshot, spec.predicate, left)
    else:
        left = by_order
    splits: list[Split] = []
    for place, kept in zip(buckets, left, strict=True):
        for part in pack_parts(*kept.parts, target, open_cost, counts_blobs):
            split = Split(place.partition, place.bucket, place.directory, *part, snapshot_id=snapshot.id)
            if place.deletions or kept.selections:
                vectors, rows = _of(split, place.deletions), _of(split, kept.selections)
                split = replace(split, deletions=vectors, selections=rows)
            splits.append(split)
    skipped = sum(kept.skipped for kept in left)
    return (splits, skipped, 0) if by_order is None else (splits, 0, skipped)


def _leave_out_by_order(table: Table, spec: ReadSpec, buckets: Sequence[_BucketParts]) -> list[IndexedParts] | None:
    """What the order leaves of each bucket; None: no order is given, or nothing may be left out because of it."""
    if spec.first is None:
        return None
    from paimon_spark.store.pruning.first_by_index import BucketFiles, leave_out_by_order
    from paimon_spark.store.pruning.top_n import may_leave_out

    if not may_leave_out(spec.first, table, spec.predicate):
        return None
    files = [BucketFiles(b.partition, b.directory, b.parts, b.deletions) for b in buckets]
    return leave_out_by_order(spec.first, table, files)


@dataclass(frozen=True)
class _BucketParts:
    """What statistics leave of a bucket."""

    partition: bytes
    bucket: int
    directory: str
    parts: Parts
    deletions: Mapping[str, DeletionFile]


def _of(split: Split, by_file: Mapping[str, _T]) -> dict[str, _T]:
    """What belongs to the files of a split."""
    if not by_file:
        return {}
    return {file.file_name: by_file[file.file_name] for file in split.files if file.file_name in by_file}


@dataclass(frozen=True)
class PostponePlan:
    """Plans the splits of partitions with postponed rows.

    Attributes:
        location: the location of the table.
        keep: the filter whose condition on keys excludes files in buckets; postponed files have no statistics.
        deletions: deletion vectors of files in buckets.
        snapshot_id: the snapshot that is read.
    """

    location: str
    schema: TableSchema
    settings: TableSettings
    keep: FileFilter
    deletions: DeletionFiles
    snapshot_id: int

    def splits(self, entries: Sequence[ManifestEntry]) -> Iterator[PostponeSplit]:
        """The splits of one partition: as many as its bytes fill, at most one per bucket.

        Args:
            entries: the files of the partition that are read, including postponed ones.
        """
        partition = entries[0].partition
        directory = partition_directory(self.schema, self.settings, partition)
        waiting = in_write_order(e.file for e in entries if e.bucket == POSTPONE_BUCKET)
        real = [e for e in entries if e.bucket != POSTPONE_BUCKET]
        total = max((e.total_buckets for e in real), default=1)
        size = sum(e.file.file_size for e in entries)
        every = min(total, -(-size // self.settings.scan.split_target_size) or 1)
        newest = max((e.file.max_sequence_number for e in real), default=-1)
        for first in range(every):
            buckets: dict[int, list[DataFileMeta]] = {}
            for entry in real:
                if entry.bucket % every == first:
                    buckets.setdefault(entry.bucket, []).append(entry.file)
            yield PostponeSplit(
                partition=partition,
                real=tuple(self._bucket(partition, directory, bucket, files) for bucket, files in buckets.items()),
                postponed=tuple(waiting),
                postponed_path=bucket_path(self.location, directory, POSTPONE_BUCKET, self.settings),
                first_sequence=newest + 1,
                total_buckets=total,
                every=every,
                first=first,
                snapshot_id=self.snapshot_id,
            )

    def _bucket(self, partition: bytes, directory: str, bucket: int, files: Sequence[DataFileMeta]) -> Split:
        """A bucket with all its files in sections, in key order."""
        types = self.schema.partition_types
        sections = partition_sections(self.keep.matching_keys(files), [f.type for f in self.schema.key_fields])
        where = bucket_path(self.location, directory, bucket, self.settings)
        vectors = self.deletions.get((canonical_row(partition, types), bucket), {})
        return Split(partition, bucket, where, (), tuple(sections), vectors, self.snapshot_id)


def top_level(schema: TableSchema, settings: TableSettings) -> int | None:
    """The highest level of a table; None for a table without primary key, which has no levels."""
    return compaction_rules(settings).num_levels - 1 if schema.primary_keys else None


def of_level(split: ReadUnit, level: int) -> Split:
    """The split with only its files of one level; there may be none.

    Raises:
        UnsupportedFeature: the split is not of a state.
    """
    if not isinstance(split, Split):
        raise UnsupportedFeature(
            "reading $ro: it shows a state as it was compacted, not a change nor postponed rows; leave out the options "
            "'incremental-*' and 'postpone.merge-on-read', or read the table itself"
        )
    return replace(split, raw_files=tuple(f for f in split.files if f.level == level), sections=())
