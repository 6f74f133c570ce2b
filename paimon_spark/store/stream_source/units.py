"""The units of a stream: what is read of one snapshot, in pieces that no limit cuts.

First the state that a stream begins with is read: splits of a plan, because sections that are merged cannot be cut.
Then what each snapshot changed, file by file: no row is merged (Java: DataTableStreamScan, DeltaFollowUpScanner,
ChangelogFollowUpScanner).

Shares the units of a micro-batch among tasks. The changes of one key are in one bucket, and one task reads them in
their order: what a task passes on can be applied as it comes. Units of a state, and of tables without keys and buckets,
need no order and are shared evenly.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import chain
from typing import TypeAlias

import numpy as np

from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.manifest import DataFileMeta, FileKind
from paimon_spark.format.options.engines import ChangelogProducer
from paimon_spark.format.options.read_settings import StreamReadSettings
from paimon_spark.format.paths import POSTPONE_BUCKET
from paimon_spark.format.rules.key_clustering import check_key_order
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.merge.keys.sections import partition_sections
from paimon_spark.store.metadata.live_files import Indices, canonical_row, group_by_bucket
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.pruning.file_filter import FileFilter
from paimon_spark.store.read.deletion_files import DeletionFiles, find_deletion_files
from paimon_spark.store.read.row_places import stored_part
from paimon_spark.store.read.splits import DeletionFile, ReadUnit, Split, fair_bins, weight_of
from paimon_spark.store.scan.change_plan import directory_of, list_of, refuse_joined, whole_parts
from paimon_spark.store.scan.read_spec import ReadSpec
from paimon_spark.store.scan.split_plan import Entries, plan_state, read_entries, top_level

_log = logging.getLogger(__name__)
_HASH_DIGITS = 8


class Kinds(Enum):
    """The row kinds of the rows of a unit."""

    STATE = "state"  # of the state that a stream begins with
    CHANGED = "changed"  # as a commit wrote them
    ADDED = "added"  # the rows that an overwrite added, without those that only take others back
    TAKEN_BACK = "taken back"  # the rows that an overwrite removed


@dataclass(frozen=True, slots=True)
class StreamUnit:
    """What one task reads at least; its rows are of one bucket, unless its split says otherwise."""

    split: ReadUnit
    kinds: Kinds = Kinds.CHANGED


Task: TypeAlias = tuple[StreamUnit, ...]


class UnitPlanner:
    """Plans the units of snapshots; the same snapshot always has the same units.

    Args:
        table: without options that choose a snapshot.
        predicate: files are left out whose rows cannot satisfy it.
        overwrites: whether overwrites are shown.
        row_kinds: whether rows that take others back are read.
        created_since: of a whole state, only files made since this instant (epoch millis); None: all.
    """

    def __init__(
        self, table: Table, predicate: Predicate, overwrites: bool, row_kinds: bool, created_since: int | None = None
    ) -> None:
        self._table = table
        self._overwrites = overwrites
        self._row_kinds = row_kinds
        self._producer = table.settings.changelog_producer
        self._warned = False
        plain = self._producer in (ChangelogProducer.NONE, ChangelogProducer.INPUT)
        predicate = stored_part(table, predicate)
        self._changes = ReadSpec((), predicate, unmerged_postponed=self._producer == ChangelogProducer.NONE)
        self._state = replace(
            self._changes, created_since=created_since, all_levels=plain, least_level=self._least_level()
        )

    def _least_level(self) -> int:
        """What is below it has no changelog yet, so it comes later (Java: DataTableStreamScan.tryFirstPlan)."""
        if not self._table.schema.primary_keys:
            return 0
        if self._producer == ChangelogProducer.LOOKUP:
            return 1
        return (top_level(self._table.schema, self._table.settings) or 0) if self._is_full_compaction else 0

    @property
    def _is_full_compaction(self) -> bool:
        return self._producer == ChangelogProducer.FULL_COMPACTION

    @property
    def _makes_changes(self) -> bool:
        """True if a compaction after an overwrite finds out what it changed."""
        return self._producer in (ChangelogProducer.LOOKUP, ChangelogProducer.FULL_COMPACTION)

    def other_snapshot(self) -> int | None:
        """The snapshot of another branch that a stream begins with now; None: it begins with one branch."""
        return None

    def state(self, snapshot: Snapshot, other: int | None) -> tuple[StreamUnit, ...]:
        """The units of the whole state of a snapshot.

        Args:
            other: what other_snapshot returned when the stream began.

        Raises:
            CorruptFile: metadata is missing or damaged.
        """
        splits = plan_state(self._table.finding_all_rows, self._state, snapshot).splits
        return tuple(StreamUnit(split, Kinds.STATE) for split in splits)

    def plan(self, snapshot: Snapshot, full: bool, other: int | None = None) -> tuple[StreamUnit, ...]:
        """The units of the whole state of a snapshot, or of what it changed.

        Args:
            other: as of ``state``.

        Raises:
            CorruptFile: metadata is missing or damaged.
            UnsupportedFeature: a commit of kind APPEND deletes files, or Flink joined changelog files of many buckets.
        """
        if full:
            return self.state(snapshot, other)
        if snapshot.commit_kind == CommitKind.OVERWRITE and self._overwrites:
            if self._table.schema.primary_keys:
                check_key_order(self._table.settings, "overwrites")
                return tuple(self._replaced(snapshot))
            return tuple(self._files(snapshot, changelog=False, adds_only=True))
        if self._producer != ChangelogProducer.NONE:
            has_changelog = snapshot.changelog_manifest_list is not None
            if not has_changelog and snapshot.commit_kind == CommitKind.OVERWRITE and not self._makes_changes:
                self._warn(snapshot)
            return tuple(self._files(snapshot, changelog=True)) if has_changelog else ()
        if snapshot.commit_kind == CommitKind.OVERWRITE:
            self._warn(snapshot)
        return tuple(self._files(snapshot, changelog=False)) if snapshot.commit_kind == CommitKind.APPEND else ()

    def _warn(self, snapshot: Snapshot) -> None:
        if self._warned:
            return
        self._warned = True
        keyed = bool(self._table.schema.primary_keys)
        option = StreamReadSettings.overwrite if keyed else StreamReadSettings.append_overwrite
        _log.warning(
            "the stream from %s leaves out what snapshot %d, an overwrite, has changed, and further overwrites; the "
            "option '%s' = 'true' shows them",
            self._table.location,
            snapshot.id,
            option.key,
        )

    def _files(self, snapshot: Snapshot, changelog: bool, adds_only: bool = False) -> Iterator[StreamUnit]:
        """The new files of a commit in the order of its manifest, one each."""
        entries = read_entries(
            self._table, self._changes, [list_of(snapshot, changelog)], postponed=self._changes.unmerged_postponed
        )
        columns, chosen = entries.columns, entries.chosen
        adds = columns.kind[chosen] == FileKind.ADD
        if not adds_only and not adds.all():
            raise UnsupportedFeature(
                f"streaming from {self._table.location}: snapshot {snapshot.id} is of kind APPEND and deletes files, "
                "so its new files alone do not tell what it did; compare states with 'incremental-between-scan-mode' "
                "= 'diff', and start the stream with a new checkpoint after it"
            )
        keep = self._filter()
        chosen = chosen[adds]
        keyed = bool(self._table.schema.primary_keys)
        files = columns.data_files(chosen, keep.needs_statistics, keyed)
        refuse_joined(self._table, files)
        places = [(columns.partitions[columns.partition_code[i]], int(columns.bucket[i])) for i in chosen.tolist()]
        if self._table.settings.data_evolution_enabled:
            yield from self._evolved(snapshot, zip(places, files, strict=True))
            return
        directories: dict[tuple[bytes, int], str] = {}
        for (partition, bucket), file in zip(places, files, strict=True):
            if bucket != POSTPONE_BUCKET and not keep.matching_values(keep.matching_keys([file])):
                continue
            if (partition, bucket) not in directories:
                directories[partition, bucket] = directory_of(self._table, partition, bucket)
            where = directories[partition, bucket]
            yield StreamUnit(Split(partition, bucket, where, (file,), snapshot_id=snapshot.id))

    def _evolved(
        self, snapshot: Snapshot, placed: Iterable[tuple[tuple[bytes, int], DataFileMeta]]
    ) -> Iterator[StreamUnit]:
        """The new files of a commit of a table with data evolution; those of the same rows are one unit."""
        buckets: dict[tuple[bytes, int], list[DataFileMeta]] = {}
        for place, file in placed:
            buckets.setdefault(place, []).append(file)
        for (partition, bucket), files in buckets.items():
            where = directory_of(self._table, partition, bucket)
            alone, sections = whole_parts(self._table, files, self._filter())
            split = Split(partition, bucket, where, (), snapshot_id=snapshot.id)
            yield from (StreamUnit(replace(split, raw_files=(file,))) for file in alone)
            yield from (StreamUnit(replace(split, sections=(section,))) for section in sections)

    def _replaced(self, snapshot: Snapshot) -> Iterator[StreamUnit]:
        """What an overwrite removed, bucket by bucket, and what it added (Java: SnapshotReaderImpl.readChanges)."""
        entries = read_entries(self._table, self._changes, [list_of(snapshot, changelog=False)])
        before = self._table.snapshots.find(snapshot.id - 1)
        removed = self._of_kind(entries, FileKind.DELETE)
        added = self._of_kind(entries, FileKind.ADD)
        for place in dict.fromkeys((*removed, *added)):
            both = {f.file_name for f in removed.get(place, ())} & {f.file_name for f in added.get(place, ())}
            old = [file for file in removed.get(place, ()) if file.file_name not in both]
            new = [file for file in added.get(place, ()) if file.file_name not in both]
            if old and self._row_kinds:
                number = snapshot.id - 1
                yield StreamUnit(self._merged(place, old, self._vectors(before), number), Kinds.TAKEN_BACK)
            if new:
                yield StreamUnit(self._merged(place, new, self._vectors(snapshot), snapshot.id), Kinds.ADDED)

    def _of_kind(self, entries: Entries, kind: FileKind) -> dict[tuple[bytes, int], list[DataFileMeta]]:
        columns, keep = entries.columns, self._filter()
        chosen: Indices = entries.chosen[columns.kind[entries.chosen] == kind]
        found: dict[tuple[bytes, int], list[DataFileMeta]] = {}
        for group in group_by_bucket(columns, entries.partition_codes, chosen):
            files = keep.matching_keys(columns.data_files(np.sort(group), keep.needs_statistics))
            first = int(group[0])
            place = columns.partitions[columns.partition_code[first]], int(columns.bucket[first])
            if files:
                found[place] = list(files)
        return found

    def _merged(
        self, place: tuple[bytes, int], files: Sequence[DataFileMeta], deletions: DeletionFiles, snapshot_id: int
    ) -> Split:
        partition, bucket = place
        types = [field.type for field in self._table.schema.key_fields]
        vectors = deletions.get((canonical_row(partition, self._table.schema.partition_types), bucket), {})
        found: dict[str, DeletionFile] = {f.file_name: vectors[f.file_name] for f in files if f.file_name in vectors}
        where = directory_of(self._table, partition, bucket)
        return Split(partition, bucket, where, (), tuple(partition_sections(files, types)), found, snapshot_id)

    def _vectors(self, snapshot: Snapshot | None) -> DeletionFiles:
        table = self._table
        if snapshot is None or not table.settings.deletion_vectors_enabled:
            return {}
        return find_deletion_files(table.file_io, table.location, table.schema, table.settings, snapshot)

    def _filter(self) -> FileFilter:
        return FileFilter(self._changes.predicate, self._table.schema, self._table.schemas)


def fingerprint(units: Sequence[StreamUnit]) -> str:
    """How many units there are, and which: a number of a unit means the same only among the same units."""
    names = "\n".join(file.file_name for unit in units for file in unit.split.files)
    digest = hashlib.sha1(names.encode(), usedforsecurity=False).hexdigest()
    return f"{len(units)}-{digest[:_HASH_DIGITS]}"


def is_in_order(table: Table, units: Sequence[StreamUnit]) -> bool:
    """True if one task must read all units of a bucket, in their order."""
    return table.bucket_mode is not BucketMode.BUCKET_UNAWARE and any(u.kinds is not Kinds.STATE for u in units)


def share_units(table: Table, units: Sequence[StreamUnit]) -> list[Task]:
    """The units in groups of about `source.split.target-size`, one for each task."""
    if not is_in_order(table, units):
        return _groups(table, [(unit,) for unit in units])
    of_bucket: dict[tuple[bytes, int], list[StreamUnit]] = {}
    types = table.schema.partition_types
    for unit in units:
        split = unit.split
        assert isinstance(split, Split), "the units of changes are files of one bucket"
        of_bucket.setdefault((canonical_row(split.partition, types), split.bucket), []).append(unit)
    return _groups(table, [tuple(found) for found in of_bucket.values()])


def _groups(table: Table, shares: Sequence[Task]) -> list[Task]:
    """Neighbouring shares in groups of a good size; a share is never divided."""
    target = table.settings.scan.split_target_size
    cost = table.settings.scan.open_file_cost
    weights = [sum(weight_of(unit.split, cost) for unit in share) for share in shares]
    return [tuple(chain.from_iterable(shares[start:end])) for start, end in fair_bins(weights, target, cost)]
