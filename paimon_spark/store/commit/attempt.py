"""One attempt of a commit on top of one snapshot (Java: FileStoreCommitImpl.tryCommitOnce)."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from paimon_spark.errors import OptionError
from paimon_spark.file_io import NotCreated
from paimon_spark.format.json_text import parse_json_object
from paimon_spark.format.manifest import FileKind, IndexManifestEntry, ManifestEntry, ManifestFileMeta
from paimon_spark.format.paths import statistics_path
from paimon_spark.format.rules.key_clustering import orders_otherwise
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.store.commit.conflicts import ConflictRules, check_conflicts, check_total_buckets, check_vectors
from paimon_spark.store.commit.manifest_merge import merge_fully, merge_manifests
from paimon_spark.store.commit.partition_registration import partition_changes
from paimon_spark.store.commit.strict_mode import check_strict_mode
from paimon_spark.store.metadata.live_files import canonical_partitions, canonical_row, fold, record_count
from paimon_spark.store.metadata.manifest_files import (
    ManifestWriter,
    combine_index_entries,
    read_data_manifests,
    read_index_manifest,
    read_manifest_bytes,
    read_manifest_columns,
)
from paimon_spark.store.metadata.messages import CommitChanges, NewBase, numbered_by_snapshot, tracked_files
from paimon_spark.store.metadata.partition_stats import same_partition
from paimon_spark.store.metadata.partition_times import expired_by_values
from paimon_spark.store.metadata.partitions import PartitionFilter, describe_partition
from paimon_spark.store.metadata.publish import publish
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.storage.local_time import now_millis

MAX_SEQUENCE_NUMBER = "sequence.generation.max-sequence-number"
"""The property of a snapshot with the greatest sequence number that any file of the table has had."""

_log = logging.getLogger(__name__)


Detail = TypeVar("Detail")


@dataclass(frozen=True)
class Proposal(Generic[Detail]):
    """What a commit would change on top of one state of the table.

    Attributes:
        changes: None: there is nothing to commit, or others have made all the changes concurrently.
        detail: what the caller wants to know of it once it is published, such as what was left out.
    """

    changes: CommitChanges | None
    detail: Detail


@dataclass(frozen=True)
class CommitRequest(Generic[Detail]):
    """What shall become one snapshot.

    Attributes:
        user, identifier, kind: identify the commit; no two snapshots of a table agree in all three.
        operation: what the user did (WRITE, OVERWRITE, ...), for people who read the snapshot.
        propose: the changes on top of a state; asked anew in every attempt.
        checks_files: whether live files must be compared with the changes. A plain append of new files needs none.
        watermark, properties: for the snapshot.
        brings_back: whether files come back that were deleted before. They keep their sequence numbers, and the base
            must not tell that they were deleted: Java's readers take a file for deleted wherever they find that.
        rewrites_manifests: whether the commit is there to merge the manifests, however few; all else stays as it is.
        statistics: the name of a new statistics file; None: the old one stays as long as the schema does.
        rewritten: of a chain table, partitions whose changes were just overwritten, so that they need no earlier rows.
    """

    user: str
    identifier: int
    kind: CommitKind
    operation: str | None
    propose: Callable[[TableState], Proposal[Detail]]
    checks_files: bool
    watermark: int | None = None
    properties: Mapping[str, str] | None = None
    brings_back: bool = False
    rewrites_manifests: bool = False
    statistics: str | None = None
    rewritten: frozenset[bytes] = frozenset()

    def names(self, snapshot: Snapshot) -> bool:
        """True if the snapshot was made by this commit."""
        return (snapshot.commit_user, snapshot.commit_identifier, snapshot.commit_kind) == (
            self.user,
            self.identifier,
            self.kind,
        )


@dataclass(frozen=True)
class TableState:
    """The state of the table that an attempt builds on.

    Attributes:
        snapshot: the latest snapshot; None if the table has none.
        manifests: the manifests of the snapshot, base before delta.
        schema_ids: the ids of all schemas, ascending.
    """

    table: Table
    snapshot: Snapshot | None
    manifests: tuple[ManifestFileMeta, ...]
    schema_ids: tuple[int, ...]
    _index_entries: dict[str | None, list[IndexManifestEntry]] = field(default_factory=dict, repr=False, compare=False)

    def live_entries(self, partitions: PartitionFilter | None) -> list[ManifestEntry]:
        """The live files of some partitions (None: all). Only manifests that may name one are read."""
        wanted = [m for m in self.manifests if partitions is None or partitions.may_hold(m)]
        columns = read_manifest_columns(self.table.file_io, self.table.location, wanted)
        canonical = canonical_partitions(columns, self.table.schema.partition_types)
        matches = np.array([partitions is None or partitions.matches(row) for row in columns.partitions], np.bool_)
        chosen = np.flatnonzero(matches[columns.partition_code]) if len(matches) else np.zeros(0, np.int64)
        return columns.entries(fold(columns, canonical[columns.partition_code], chosen))

    @property
    def index_entries(self) -> list[IndexManifestEntry]:
        """The live index files, read on the first call.

        Not a cached_property: in Python 3.11 its lock is shared by all commits of the process.
        """
        name = None if self.snapshot is None else self.snapshot.index_manifest
        if name not in self._index_entries:
            self._index_entries[name] = read_index_manifest(self.table.file_io, self.table.location, name)
        return self._index_entries[name]


def table_state(table: Table, snapshot: Snapshot | None) -> TableState:
    """The state of the table in its latest snapshot."""
    manifests = () if snapshot is None else read_data_manifests(table.file_io, table.location, snapshot)
    return TableState(table, snapshot, tuple(manifests), tuple(table.schemas.ids()))


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
        files=(*(entry._replace(kind=FileKind.DELETE) for entry in live), *new.files),
        index=(*(replace(entry, kind=FileKind.DELETE) for entry in index), *new.index),
    )


def live_partitions(table: Table, state: TableState | None = None) -> list[bytes]:
    """The partitions (arity-prefixed BinaryRows) that have files in a state, in no order.

    Args:
        state: of the table; None: that of the latest snapshot.
    """
    return list(live_file_counts(table, state))


def live_file_counts(table: Table, state: TableState | None = None) -> dict[bytes, int]:
    """How many files each partition has that has any; arguments as of ``live_partitions``."""
    latest, types = table.snapshots.latest() if state is None else state.snapshot, table.schema.partition_types
    if latest is None:
        return {}
    manifests = (table_state(table, latest) if state is None else state).manifests
    columns = read_manifest_columns(table.file_io, table.location, manifests)
    codes = canonical_partitions(columns, types)[columns.partition_code]
    files = np.zeros(len(columns.partitions), np.int64)
    np.add.at(files, codes, np.where(columns.kind == FileKind.DELETE, -1, 1))
    there = np.flatnonzero(files > 0).tolist()
    return {canonical_row(columns.partitions[code], types): int(files[code]) for code in there}


def attempt(state: TableState, request: CommitRequest[Any], changes: CommitChanges, merges: bool) -> Snapshot | None:
    """Tries to make the request the next snapshot.

    Args:
        state: what the attempt builds on.
        request: the name of the changes, and what is to be checked.
        changes: what the request proposes on top of the state.
        merges: whether to keep the number of manifests small on the way; a second attempt has no time for that.

    Returns:
        The published snapshot; None if another writer was faster. The files of this attempt are deleted then.

    Raises:
        CommitConflict: the changes do not fit the latest snapshot.
        CommitStateUnknown: the store gave no answer; the snapshot may exist, so no file is deleted.
        StorageError: the storage failed before anything was published; the files of this attempt are deleted.
    """
    table = state.table
    _check(state, request, changes)
    writer = ManifestWriter(table.file_io, table.location, table.settings, table.schema.partition_fields)
    with ExitStack() as undo:
        undo.callback(writer.discard)
        snapshot = _prepare(state, request, changes, writer, merges)
        writer.flush()
        undo.pop_all()
    # From here on nothing may be deleted on an interrupt: the snapshot may have been published.
    try:
        partition_rows = partial(partition_changes, table, changes.files)
        published = publish(table.snapshots, snapshot, state.snapshot, partition_rows)
    except NotCreated:
        writer.discard()
        raise
    if not published:
        writer.discard()
        return None
    return snapshot


def _check(state: TableState, request: CommitRequest[Any], changes: CommitChanges) -> None:
    fields = state.table.schema.partition_fields
    rules = conflict_rules(state.table)
    check_strict_mode(state.table, state.snapshot, request.user, request.kind, changes.partitions, rules.canonical)
    if request.brings_back:  # the files of rows that come back are those of the state that comes back
        rules = replace(rules, evolves=False)
    if state.snapshot is None or not request.checks_files:
        check_total_buckets(rules, state.snapshot, changes.files)
        return
    live = state.live_entries(PartitionFilter.of_rows(fields, changes.partitions))
    check_conflicts(rules, state.snapshot, live, changes.files, request.kind)
    if state.table.settings.deletion_vectors_enabled:
        check_vectors(rules, state.snapshot, live, changes.files, state.index_entries, changes.index)


def conflict_rules(table: Table) -> ConflictRules:
    """The properties of the table that conflict detection needs."""
    types = table.schema.partition_types
    has_key_ranges = bool(table.schema.primary_keys) and not orders_otherwise(table.settings)
    return ConflictRules(
        table=table.location,
        key_types=tuple(f.type for f in table.schema.key_fields) if has_key_ranges else (),
        canonical=same_partition(types),
        partition_text=partial(describe_partition, table),
        has_expired=partial(_has_expired, table),
        evolves=table.settings.data_evolution_enabled,
    )


def _has_expired(table: Table, row: bytes) -> bool:
    """True if partitions are known to expire that have these values; those of a chain table may stay."""
    if table.settings.chain_table_enabled:
        return False
    try:
        return expired_by_values(table.schema, table.settings, datetime.now())(row)
    except OptionError:  # the expiry of partitions reports a bad formatter
        return False


def _prepare(
    state: TableState, request: CommitRequest[Any], changes: CommitChanges, writer: ManifestWriter, merges: bool
) -> Snapshot:
    """The new snapshot; the files that it names are handed to the writer."""
    table, latest = state.table, state.snapshot
    manifests: Sequence[ManifestFileMeta] = state.manifests
    whole = request.rewrites_manifests or request.brings_back
    if changes.base is not None:
        manifests = _written_anew(manifests, changes.base, writer)
    elif merges or whole:
        merge = merge_fully if whole else merge_manifests
        manifests = merge(
            manifests, table.settings, partial(read_manifest_bytes, table.file_io, table.location), writer
        )
    base, base_size = writer.write_list(manifests)
    snapshot_id = 1 if latest is None else latest.id + 1
    files = changes.files
    is_new = request.kind != CommitKind.COMPACT and not request.brings_back
    if is_new and table.settings.sequence_snapshot_ordering:
        files = numbered_by_snapshot(files, snapshot_id)
    next_row_id = 0 if latest is None or latest.next_row_id is None else latest.next_row_id
    if table.schema.tracking_fields and not request.brings_back:
        tracked = tracked_files(files, snapshot_id, next_row_id, table.settings.commits.groups_partitions)
        files, next_row_id = tracked.entries, tracked.next_row_id
    if changes.base is not None:
        next_row_id = changes.base.next_row_id
    delta, delta_size = writer.write_list(writer.write_manifests(files))
    changelog, changelog_size = None, None
    if changes.changelog:
        changelog, changelog_size = writer.write_list(writer.write_manifests(changes.changelog))
    added = record_count(changes.files)
    schema_id = max(state.schema_ids, default=table.schema.id)
    snapshot = Snapshot(
        id=snapshot_id,
        schema_id=schema_id,
        base_manifest_list=base,
        base_manifest_list_size=base_size,
        delta_manifest_list=delta,
        delta_manifest_list_size=delta_size,
        changelog_manifest_list=changelog,
        changelog_manifest_list_size=changelog_size,
        index_manifest=_index_manifest(state, changes, writer),
        commit_user=request.user,
        commit_identifier=request.identifier,
        commit_kind=request.kind,
        # Time travel searches by time: a writer whose clock is behind must not break the order.
        time_millis=max(now_millis(), 0 if latest is None else latest.time_millis),
        total_record_count=added + (0 if latest is None else latest.total_record_count),
        delta_record_count=added,
        changelog_record_count=record_count(changes.changelog) if changes.changelog else None,
        watermark=_watermark(latest, request.watermark),
        statistics=request.statistics or _statistics(table, latest, schema_id),
        properties=_properties(state, request, files) or None,
        next_row_id=next_row_id,
        operation=request.operation,
        uuid=str(uuid.uuid4()),
    )
    if latest is None or not (request.rewrites_manifests or changes.base):
        return snapshot
    return replace(snapshot, schema_id=latest.schema_id, statistics=latest.statistics, properties=latest.properties)


def _written_anew(
    manifests: Sequence[ManifestFileMeta], base: NewBase, writer: ManifestWriter
) -> list[ManifestFileMeta]:
    """The manifests, with new ones at the places of those whose entries are said anew."""
    found: list[ManifestFileMeta] = []
    for meta in manifests:
        entries = base.manifests.get(meta.file_name)
        found += [meta] if entries is None else writer.write_manifests(entries)
    return found


def _index_manifest(state: TableState, changes: CommitChanges, writer: ManifestWriter) -> str | None:
    previous = None if state.snapshot is None else state.snapshot.index_manifest
    if changes.base is not None and list(changes.base.index) != state.index_entries:
        return writer.write_index_manifest(changes.base.index) if changes.base.index else None
    if not changes.index:
        return previous
    table = state.table
    combined = combine_index_entries(
        state.index_entries,
        changes.index,
        unaware=table.bucket_mode == BucketMode.BUCKET_UNAWARE,
        canonical=same_partition(table.schema.partition_types),
    )
    return writer.write_index_manifest(combined) if combined else None


def _properties(
    state: TableState, request: CommitRequest[Any], files: Sequence[ManifestEntry]
) -> Mapping[str, str] | None:
    """Those of the request, and the greatest sequence number of all files with `write.sequence-number-init-mode` =
    `snapshot` (Java: SequenceSnapshotProperties)."""
    given, table, latest = request.properties, state.table, state.snapshot
    if table.settings.files.sequence_init != "snapshot":
        return given
    numbers = [entry.file.max_sequence_number for entry in files if entry.kind == FileKind.ADD]
    known = None if latest is None or latest.properties is None else latest.properties.get(MAX_SEQUENCE_NUMBER)
    if known is not None:
        numbers.append(int(known))
    elif latest is not None:
        columns = read_manifest_columns(table.file_io, table.location, state.manifests)
        numbers += columns.max_sequence_number[columns.kind == FileKind.ADD].tolist()
    return {**(given or {}), MAX_SEQUENCE_NUMBER: str(max(numbers))} if numbers else given


def _watermark(latest: Snapshot | None, given: int | None) -> int | None:
    known = [w for w in (given, None if latest is None else latest.watermark) if w is not None]
    return max(known, default=None)


def _statistics(table: Table, latest: Snapshot | None, schema_id: int) -> str | None:
    """The statistics of ANALYZE, which are inherited as long as their schema is the current one."""
    if latest is None or latest.statistics is None:
        return None
    path = statistics_path(table.location, latest.statistics)
    try:
        data = table.file_io.read_bytes(path)
    except FileNotFoundError:
        _log.warning("the statistics %s are missing; the next snapshot has none", path)
        return None
    return latest.statistics if parse_json_object(data, path).integer("schemaId") == schema_id else None
