"""Commits the results of compaction tasks: one COMPACT snapshot of the buckets whose files are still live.

Other jobs write and compact concurrently. A bucket whose files are no longer live, or whose result no longer fits, is
left out of the commit and reported; the others are committed. So a compaction never makes a writer fail, and never
undoes one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

import numpy as np

from paimon_spark.errors import CommitConflict
from paimon_spark.format.bucket import Partition, Place
from paimon_spark.format.manifest import DataFileMeta, FileKind, IndexManifestEntry, ManifestEntry
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.write_settings import CommitSettings
from paimon_spark.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Snapshot
from paimon_spark.merge.keys.row_ids import end_id, first_id
from paimon_spark.store.commit.attempt import CommitRequest, Proposal, TableState, conflict_rules
from paimon_spark.store.commit.commit_loop import commit_request, commit_retries, discarding_if_failed
from paimon_spark.store.commit.commit_user import new_user
from paimon_spark.store.commit.conflicts import check_conflicts
from paimon_spark.store.commit.vector_files import IndexChanges, VectorFiles, find_vector_files, vector_changes
from paimon_spark.store.compact.live_buckets import place_of, upper_files
from paimon_spark.store.compact.task import CompactTask, CompactTaskResult
from paimon_spark.store.metadata.messages import CommitMessage, compacted
from paimon_spark.store.metadata.partitions import PartitionFilter
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.storage.files import discard
from paimon_spark.store.storage.retrying import RetryRules

TRIES = 101
LONGEST_WAIT = 0.3  # seconds

Upper: TypeAlias = Mapping[Place, frozenset[tuple[str, int]]]
"""Names and levels of the files above level 0 of each bucket."""

Part = TypeVar("Part", CompactTaskResult, CompactTask)


@dataclass(frozen=True)
class CompactedBuckets:
    """The result of committing some tasks.

    Attributes:
        snapshot_id: the COMPACT snapshot; None if nothing was left to commit.
        messages: the committed messages, one for each bucket.
        dropped: the buckets left out, each with the reason.
    """

    snapshot_id: int | None
    messages: tuple[CommitMessage, ...]
    dropped: Mapping[Place, str]


@dataclass(frozen=True, eq=False)
class _Bucket:
    """The results of one bucket, committed together or not at all.

    Attributes:
        renumbered: the ids of rows that get new ones, in ranges: the first, and the one after the last.
    """

    place: Place
    message: CommitMessage
    superseded: Mapping[str, np.ndarray[tuple[int], np.dtype[np.int64]]]
    created: tuple[str, ...]
    renumbered: tuple[tuple[int, int], ...] = ()

    @property
    def removed(self) -> set[str]:
        """The names of the files to delete; files that are only upgraded are not among them."""
        message = self.message
        return {f.file_name for f in message.compact_before} - {f.file_name for f in message.compact_after}

    def late_columns(self, live: Sequence[ManifestEntry]) -> list[DataFileMeta]:
        """The live files that have columns of rows which get new ids, but for those that the result replaces."""
        removed = self.removed
        others = [e.file for e in live if e.file.file_name not in removed and e.file.first_row_id is not None]
        return [f for f in others if any(first_id(f) < end and first < end_id(f) for first, end in self.renumbered)]


def commit_compaction(
    table: Table, base: Snapshot, upper: Upper, results: Sequence[CompactTaskResult], user: str | None = None
) -> CompactedBuckets:
    """Commits the results of tasks, bucket by bucket, as one snapshot.

    Args:
        table: the table, with the options of the call.
        base: the snapshot that the tasks were planned on.
        upper: for buckets in which rows were looked up above level 0, these files; they must be unchanged.
        results: all results of a bucket, or none.
        user: the commit user, for one compaction commit only. None draws one.

    Returns:
        The committed buckets and those left out, whose files are deleted. If an earlier try of this user has made the
        commit, it is unknown what that left out: everything counts as committed, and nothing is deleted.

    Raises:
        RetriesExhausted, OSError, CorruptFile: nothing was committed, and the files are deleted.
        CommitStateUnknown: the store did not answer; nothing is deleted.
    """
    work = _Compaction(table, base, upper, _by_bucket(table, results))
    if not work.buckets:
        return CompactedBuckets(None, (), {})
    # The changes are checked, bucket by bucket, when they are computed. A second check would take as long again, and a
    # compaction must not commit more slowly than the writers it races with.
    request = CommitRequest(
        user or new_user(table), BATCH_COMMIT_IDENTIFIER, CommitKind.COMPACT, None, work.propose, checks_files=False
    )
    with discarding_if_failed(table, request, base.id, lambda: work.created(work.buckets)):
        made = commit_request(table, request, base.id, persistent_retries(table.settings))
    if made.proposal is None:
        return CompactedBuckets(made.snapshot_id, tuple(bucket.message for bucket in work.buckets), {})
    choice = made.proposal.detail
    discard(table.file_io, work.created([bucket for bucket in work.buckets if bucket not in choice.buckets]))
    return CompactedBuckets(made.snapshot_id, tuple(map(work.message, choice.buckets)), choice.dropped)


def persistent_retries(settings: TableSettings) -> RetryRules:
    """The rules of a commit that tries often and soon, where the options do not say otherwise.

    An attempt takes longer than that of a writer, so it loses more races. With growing delays, as for writers, a few
    busy writers could prevent the commit forever, and the work of all tasks would be lost.
    """
    rules = commit_retries(settings)
    if not settings.is_set(CommitSettings.max_retries):
        rules = replace(rules, tries=TRIES)
    if not settings.is_set(CommitSettings.max_retry_wait):
        rules = replace(rules, longest=LONGEST_WAIT)
    return rules


@dataclass(frozen=True)
class _Choice:
    """The buckets that fit a state, and those left out, and why."""

    buckets: tuple[_Bucket, ...]
    dropped: Mapping[Place, str]


@dataclass
class _Compaction:
    """The state of one commit, shared by its attempts.

    Attributes:
        vectors: index changes of each bucket, made when it was first chosen; they fit every attempt.
    """

    table: Table
    base: Snapshot
    upper: Upper
    buckets: tuple[_Bucket, ...]
    vectors: dict[Place, IndexChanges] = field(default_factory=dict)
    _base_vectors: VectorFiles | None = None

    def propose(self, state: TableState) -> Proposal[_Choice]:
        """The changes of the buckets that fit the state; none of no bucket."""
        live = self._live(state)
        vectors = self._vectors_now(state)
        chosen: list[_Bucket] = []
        dropped: dict[Place, str] = {}
        for bucket in self.buckets:
            reason = self._why_not(state, bucket, live.get(bucket.place, []), vectors)
            if reason is None:
                chosen.append(bucket)
            else:
                dropped[bucket.place] = reason
        for bucket in chosen if self.has_vectors else ():
            self._make_vectors(bucket)
        changes = compacted([self.message(bucket) for bucket in chosen]) if chosen else None
        gone = {bucket.place[0] for bucket in chosen if bucket.renumbered}
        if changes is not None and gone:
            changes = replace(changes, index=(*changes.index, *self._stale_indexes(state, gone)))
        return Proposal(changes, _Choice(tuple(chosen), dropped))

    @property
    def has_vectors(self) -> bool:
        return self.table.settings.deletion_vectors_enabled

    @property
    def base_vectors(self) -> VectorFiles:
        """The index files that the tasks were planned with, read on the first call.

        Not a cached_property: in Python 3.11 its lock is shared by all commits of the process.
        """
        if self._base_vectors is None:
            self._base_vectors = find_vector_files(self.table, self.base) if self.has_vectors else {}
        return self._base_vectors

    def message(self, bucket: _Bucket) -> CommitMessage:
        """The message of a bucket with its index changes."""
        found = self.vectors.get(bucket.place)
        return bucket.message if found is None else replace(bucket.message, compact_index_entries=found.entries)

    def created(self, buckets: Iterable[_Bucket]) -> list[str]:
        """The paths of all files made for the buckets."""
        paths: list[str] = []
        for bucket in buckets:
            found = self.vectors.get(bucket.place)
            paths += bucket.created if found is None else (*bucket.created, *found.created)
        return paths

    def _live(self, state: TableState) -> dict[Place, list[ManifestEntry]]:
        fields = self.table.schema.partition_fields
        wanted = PartitionFilter.of_rows(fields, {bucket.place[0] for bucket in self.buckets})
        live: dict[Place, list[ManifestEntry]] = {}
        for entry in state.live_entries(wanted):
            live.setdefault(place_of(self.table, entry.partition, entry.bucket), []).append(entry)
        return live

    def _vectors_now(self, state: TableState) -> VectorFiles:
        now = state.snapshot or self.base
        if not self.has_vectors or now.index_manifest == self.base.index_manifest:
            return self.base_vectors
        return find_vector_files(self.table, now)

    def _stale_indexes(self, state: TableState, partitions: set[Partition]) -> Iterator[IndexManifestEntry]:
        """The indexes of the whole table that are over ids which rows of some partitions no longer have, as deleted."""
        for entry in state.index_entries:
            if entry.global_index is not None and place_of(self.table, entry.partition, 0)[0] in partitions:
                yield replace(entry, kind=FileKind.DELETE)

    def _why_not(
        self, state: TableState, bucket: _Bucket, live: Sequence[ManifestEntry], vectors: VectorFiles
    ) -> str | None:
        """The reason why a bucket cannot be committed on top of the state; None if it can."""
        gone = {f.file_name for f in bucket.message.compact_before} - {entry.file.file_name for entry in live}
        if gone:
            return (
                f"{len(gone)} of the files it replaces are no longer live: another job has compacted or replaced the "
                "bucket meanwhile. Its rows are as that job left them, and the next compaction looks at it again"
            )
        delta = compacted([bucket.message]).files
        try:
            check_conflicts(conflict_rules(self.table), state.snapshot or self.base, live, delta, CommitKind.COMPACT)
        except CommitConflict as error:
            return str(error)
        if self._index_files(vectors, bucket) != self._index_files(self.base_vectors, bucket):
            return "another job has changed the deletion vectors of the bucket meanwhile"
        late = bucket.late_columns(live)
        if late:
            return f"another job has changed columns of rows that get new ids meanwhile, in {late[0].file_name}"
        known = self.upper.get(bucket.place)
        if known is not None and known != frozenset(upper_files(live)):
            return "another job has compacted the bucket meanwhile"
        return None

    def _index_files(self, vectors: VectorFiles, bucket: _Bucket) -> set[str]:
        """The index files that the result replaces: all of a bucket, or without buckets those that name its files."""
        entries = vectors.get(bucket.place, ())
        if self.table.bucket_mode == BucketMode.BUCKET_UNAWARE:
            touched = bucket.removed | bucket.superseded.keys()
            entries = [e for e in entries if not touched.isdisjoint(r.data_file for r in e.deletion_ranges or ())]
        return {entry.file_name for entry in entries}

    def _make_vectors(self, bucket: _Bucket) -> None:
        """Whenever a bucket is chosen they are still those of the base: made once for all attempts."""
        if bucket.place not in self.vectors:
            message = bucket.message
            self.vectors[bucket.place] = vector_changes(
                self.table, self.base_vectors, message.partition, message.bucket, bucket.removed, bucket.superseded
            )


def commits_together(table: Table) -> bool:
    """True if the results of a bucket are committed together or not at all.

    The results of an append table without deletion vectors are independent of each other.
    """
    return bool(table.schema.primary_keys) or table.settings.deletion_vectors_enabled


def committed_units(table: Table, parts: Iterable[Part]) -> list[list[Part]]:
    """Tasks or results in groups that are committed together or not at all, in their order."""
    together = commits_together(table)
    units: dict[tuple[Place, int], list[Part]] = {}
    for number, part in enumerate(parts):
        place = place_of(table, part.partition, part.bucket)
        units.setdefault((place, 0 if together else number), []).append(part)
    return list(units.values())


def _by_bucket(table: Table, results: Sequence[CompactTaskResult]) -> tuple[_Bucket, ...]:
    """The results combined per commit unit; results that change nothing are left out."""
    changing = (r for r in results if r.before or r.after or r.changelog or r.superseded)
    return tuple(_folded(table, found) for found in committed_units(table, changing))


def _folded(table: Table, results: Sequence[CompactTaskResult]) -> _Bucket:
    superseded: dict[str, list[bytes]] = {}
    for result in results:
        for name, positions in result.superseded.items():
            superseded.setdefault(name, []).append(positions)
    return _Bucket(
        place=place_of(table, results[0].partition, results[0].bucket),
        message=CommitMessage(
            results[0].partition,
            results[0].bucket,
            results[0].total_buckets,
            compact_before=tuple(file for result in results for file in result.before),
            compact_after=tuple(file for result in results for file in result.after),
            compact_changelog=tuple(file for result in results for file in result.changelog),
        ),
        superseded={name: np.unique(np.frombuffer(b"".join(parts), "<i8")) for name, parts in superseded.items()},
        created=tuple(path for result in results for path in result.created),
        renumbered=tuple(_ids(result) for result in results if result.gives_new_ids),
    )


def _ids(result: CompactTaskResult) -> tuple[int, int]:
    return min(map(first_id, result.before)), max(map(end_id, result.before))
