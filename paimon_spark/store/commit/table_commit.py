"""Commits the files of tasks as one new snapshot, or not at all (format section 3.2; Java: FileStoreCommitImpl).

Invariants: protocol C1 to C3 and C10.

The changes of an overwrite, and the level of its new files (Java: OverwriteChangesProvider, tryUpgrade).
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from paimon_spark.errors import DataError
from paimon_spark.format.manifest import ManifestEntry
from paimon_spark.format.rules.key_clustering import orders_otherwise
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind
from paimon_spark.format.types import DataType
from paimon_spark.merge.keys.key_order import key_range_of
from paimon_spark.merge.keys.row_ids import is_part_file
from paimon_spark.store.commit.attempt import CommitRequest, Proposal, TableState, overwritten
from paimon_spark.store.commit.column_conflicts import check_columns_unchanged
from paimon_spark.store.commit.commit_loop import commit_request
from paimon_spark.store.commit.dynamic_buckets import HashIndexUpdate, check_cross_partition
from paimon_spark.store.commit.history import is_committed
from paimon_spark.store.commit.index_updates import with_index_updates
from paimon_spark.store.commit.partition_registration import check_registration
from paimon_spark.store.commit.row_conflicts import ReadState, check_keys_unchanged
from paimon_spark.store.iceberg.place import metadata_directory
from paimon_spark.store.metadata.file_paths import changelog_paths, created_paths
from paimon_spark.store.metadata.messages import CommitChanges, CommitMessage, appended, compacted
from paimon_spark.store.metadata.partitions import PartitionFilter, describe_partition
from paimon_spark.store.metadata.postponed import created_at
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.reporting.result import Result, millis_since
from paimon_spark.store.storage.files import discard
from paimon_spark.store.storage.local_time import local_wall_millis, now_millis

_log = logging.getLogger(__name__)
Replaced = Mapping[str, Any] | Sequence[Mapping[str, Any]] | Literal["dynamic"] | None


@dataclass(frozen=True, repr=False)
class CommitResult(Result):
    """The result of a commit.

    Attributes:
        snapshot_id: the (last) snapshot of the commit, made now or by an earlier try of the same commit.
        attempts: the number of attempts; 0 if an earlier try had made it.
        rows, files, bytes: the totals of the new data files; rows include deletions.
        millis: the duration of the commit.
        found: whether the snapshot was there, made by an earlier try, perhaps of other files; or by an attempt of this
            call whose answer was lost.
    """

    snapshot_id: int
    attempts: int
    rows: int
    files: int
    bytes: int
    millis: int
    found: bool = False


class TableCommit:
    """Commits of one user to one table.

    A commit is identified by (user, identifier, kind) and happens at most once: a retry, even from another process
    after a crash, finds the snapshot of the first try. A batch job therefore draws a new user and commits once.
    """

    def __init__(self, table: Table, commit_user: str, since: int | None = None, planned: str | None = None) -> None:
        """Checks that the table can be written.

        Args:
            table: the table, with the options of this write.
            commit_user: the same in all processes of a job and in all its retries.
            since: the id of the latest snapshot (0: none) when the user was drawn: only newer ones can be its own.
                None: unknown; all existing snapshots are searched, so a commit is found until its snapshot expires.
            planned: the base manifest list of that snapshot, which shows whether it was replaced after a rollback.

        Raises:
            UnsupportedFeature, OptionError: the table cannot be written.
        """
        check_writable(table.schema, table.settings)
        check_registration(table)
        metadata_directory(table)
        self._table = table
        self._user = commit_user
        self._since = since
        self._planned = planned
        self._batch: tuple[CommitMessage, ...] | None = None
        self._index: HashIndexUpdate | None = None

    def append(
        self,
        messages: Sequence[CommitMessage],
        identifier: int = BATCH_COMMIT_IDENTIFIER,
        watermark: int | None = None,
        properties: Mapping[str, str] | None = None,
        operation: str = "WRITE",
        read: ReadState | None = None,
    ) -> CommitResult | None:
        """Adds files. Messages that also delete or compact files are checked against the live files.

        Args:
            messages: the changes; may be empty.
            identifier, watermark, properties: stored in the snapshot.
            operation: what the user did, for people who read the snapshot.
            read: the state that rows were read in, to change them; None: none were. For tables with keys or with data
                evolution.

        Returns:
            The result; None if the messages are empty and `snapshot.ignore-empty-commit` is true.

        Raises:
            CommitConflict: the table changed so that the messages no longer fit; nothing was committed.
            RetriesExhausted: other writers were faster in every attempt; nothing was committed.
            CommitStateUnknown: the store did not answer; nothing was deleted, and no file of the commit may be deleted.
        """
        self._take(messages, identifier)
        new = self._new(messages)
        kind = CommitKind.OVERWRITE if new.deletes else CommitKind.APPEND
        requests: list[CommitRequest[None]] = []
        compaction = self._compaction(messages, identifier)
        keeps_empty = not self._table.settings.commits.ignore_empty
        if not new.is_empty or (keeps_empty and not compaction):
            changes = self._appended(messages, new, read)
            requests.append(self._request(identifier, kind, operation, changes, new.deletes or new.names_rows))
        return self._run([*requests, *compaction], messages, watermark, properties)

    def overwrite(
        self,
        messages: Sequence[CommitMessage],
        partitions: Replaced,
        identifier: int = BATCH_COMMIT_IDENTIFIER,
        watermark: int | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> CommitResult | None:
        """Replaces all live files of some partitions, including concurrently committed ones, by the new files.

        No changelog is committed, because it would not contain the replaced rows. Changelog files are deleted.

        Args:
            messages: the new files; may be empty.
            partitions: None: the whole table. A mapping from partition columns to internal values (None for null), or
                several: the partitions with these values; omitted columns match any value. "dynamic": the partitions
                of the new files (the whole table if it has no partition columns).
            identifier, watermark, properties: stored in the snapshot.

        Returns:
            The result; None for a dynamic overwrite without new files, which replaces nothing.

        Raises:
            DataError: a new file is not in the replaced partitions.
            CommitConflict: the table changed so that the messages no longer fit; nothing was committed.
            RetriesExhausted: other writers were faster in every attempt; nothing was committed.
            CommitStateUnknown: the store did not answer; nothing was deleted, and no file of the commit may be deleted.
        """
        self._take(messages, identifier)
        changelog = [path for message in messages for path in changelog_paths(self._table, message)]
        messages = [replace(message, changelog_files=(), compact_changelog=()) for message in messages]
        new = self._new(messages)
        fields = self._table.schema.partition_fields
        if partitions == "dynamic" and fields:
            if not new.files:
                return None
            replaced: PartitionFilter | None = PartitionFilter.of_rows(fields, {e.partition for e in new.files})
        elif partitions is None or partitions == "dynamic":
            replaced = None
        else:
            given = [partitions] if isinstance(partitions, Mapping) else list(partitions)
            replaced = PartitionFilter(fields, given)
            self._check_inside(new, replaced)
        compaction = self._compaction(messages, identifier)
        new = self._upgraded(new) if not compaction else new
        index = self._index = HashIndexUpdate(self._table, messages, self._since)

        def changes(state: TableState) -> CommitChanges:
            return overwritten(state, index.replaced(new), replaced)

        request = self._request(identifier, CommitKind.OVERWRITE, "OVERWRITE", changes, True)
        result = self._run([request, *compaction], messages, watermark, properties)
        discard(self._table.file_io, changelog)  # an overwrite commits none
        return result

    def abort(self, messages: Sequence[CommitMessage], identifier: int = BATCH_COMMIT_IDENTIFIER) -> None:
        """Deletes the files of messages that were not committed.

        Do not call it after CommitStateUnknown. If the commit exists after all, its files are kept.
        """
        named = (self._user, identifier)
        if is_committed(
            self._table.snapshots,
            self._since,
            lambda s: (s.commit_user, s.commit_identifier) == named,
            self._planned,
        ):
            _log.warning("the commit of user %s is in the table: its files are not deleted", self._user)
            return
        if self._index is not None:
            self._index.discard()
        discard(self._table.file_io, [p for message in messages for p in created_paths(self._table, message)])

    def _appended(
        self, messages: Sequence[CommitMessage], new: CommitChanges, read: ReadState | None
    ) -> Callable[[TableState], CommitChanges]:
        """The changes of an append; computed in every attempt, because dynamic buckets must fit its state."""
        index = self._index = HashIndexUpdate(self._table, messages, self._since)
        since, user, planned = self._since, self._user, self._planned
        crosses = bool(new.files) and self._table.bucket_mode == BucketMode.KEY_DYNAMIC
        if crosses and since is None:
            raise ValueError("a commit to a cross-partition table needs to know the snapshot it was planned on")

        def changes(state: TableState) -> CommitChanges:
            if crosses and since is not None:
                check_cross_partition(state, since, user, planned)
            if read is not None and self._table.schema.primary_keys:
                check_keys_unchanged(state, read, new.files)
            elif read is not None and self._table.settings.data_evolution_enabled:
                check_columns_unchanged(state, read, new.files)
            made = index.added(state, new)
            return with_index_updates(state, made) if self._table.settings.data_evolution_enabled else made

        return changes

    def _new(self, messages: Sequence[CommitMessage]) -> CommitChanges:
        new = appended(messages)
        return replace(new, files=created_at(new.files, local_wall_millis(now_millis())))

    def _take(self, messages: Sequence[CommitMessage], identifier: int) -> None:
        """Refuses a second batch under one identity, which would be treated as a retry of the first and be lost."""
        if identifier != BATCH_COMMIT_IDENTIFIER:
            return
        if self._batch is not None and self._batch != tuple(messages):
            raise ValueError(
                f"the user {self._user} has committed a batch already; draw a new commit user for another one, or give "
                "every commit an identifier of its own"
            )
        self._batch = tuple(messages)

    def _request(
        self,
        identifier: int,
        kind: CommitKind,
        operation: str | None,
        changes: Callable[[TableState], CommitChanges],
        checks_files: bool,
    ) -> CommitRequest[None]:
        return CommitRequest(
            self._user, identifier, kind, operation, lambda state: Proposal(changes(state), None), checks_files
        )

    def _compaction(self, messages: Sequence[CommitMessage], identifier: int) -> list[CommitRequest[None]]:
        changes = compacted(messages)
        if changes.is_empty:
            return []
        return [self._request(identifier, CommitKind.COMPACT, None, lambda state: changes, True)]

    def _run(
        self,
        requests: Sequence[CommitRequest[None]],
        messages: Sequence[CommitMessage],
        watermark: int | None,
        properties: Mapping[str, str] | None,
    ) -> CommitResult | None:
        started = time.monotonic()
        snapshot, attempts, found = None, 0, False
        for request in requests:
            request = replace(request, watermark=watermark, properties=properties)
            made = commit_request(self._table, request, self._since)
            snapshot, attempts, found = made.snapshot, attempts + made.attempts, found or made.found
        if snapshot is None:
            return None
        files = [file for message in messages for file in message.new_files]
        return CommitResult(
            snapshot_id=snapshot.id,
            attempts=attempts,
            rows=sum(file.row_count for file in files if not is_part_file(file)),
            files=len(files),
            bytes=sum(file.file_size for file in files),
            millis=millis_since(started),
            found=found,
        )

    def _check_inside(self, new: CommitChanges, replaced: PartitionFilter) -> None:
        outside = {e.partition for e in new.files if not replaced.matches(e.partition)}
        if outside:
            words = ", ".join(sorted(describe_partition(self._table, row) for row in outside)[:5])
            raise DataError(
                f"overwriting {self._table.location}: the rows belong to {words}, which is not among the partitions to "
                "replace; filter the DataFrame, or overwrite these partitions too"
            )

    def _upgraded(self, new: CommitChanges) -> CommitChanges:
        settings, schema = self._table.settings, self._table.schema
        if not schema.primary_keys or not settings.overwrite_upgrade or orders_otherwise(settings):
            return new
        levels = settings.compaction.num_levels or settings.compaction.trigger + 1
        return replace(new, files=upgraded(new.files, tuple(f.type for f in schema.key_fields), levels - 1))


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
            found = [e._replace(file=e.file._replace(level=max_level)) for e in found]
        result += found
    return tuple(result)
