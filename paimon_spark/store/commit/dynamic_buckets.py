"""Dynamic buckets in a commit: conflicts of jobs that put one key into two buckets, and the HASH index (features 2.2).

A job looks up the buckets of the table's keys, and chooses buckets for new keys. A concurrent job may have chosen
another bucket for the same key. Then the commit is refused; nothing is lost, and the job can run again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from paimon_spark.errors import CommitConflict
from paimon_spark.format.manifest import IndexManifestEntry
from paimon_spark.format.paths import manifest_path
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.store.buckets.bucket_assigner import distinct
from paimon_spark.store.buckets.hash_index_files import (
    create_hash_file,
    delete_hash_files,
    read_hash_files,
    read_hashes,
)
from paimon_spark.store.commit.attempt import TableState
from paimon_spark.store.commit.history import recent_snapshots
from paimon_spark.store.metadata.manifest_files import HASH, read_index_manifest
from paimon_spark.store.metadata.messages import CommitChanges, CommitMessage, NewHashes
from paimon_spark.store.metadata.partition_stats import same_partition
from paimon_spark.store.metadata.partitions import describe_partition
from paimon_spark.store.metadata.table import Table

_PLACES_KEPT = frozenset({CommitKind.COMPACT, CommitKind.ANALYZE})
_AGAIN = "Nothing was committed: run the job again on the new state of the table"


def check_hash_index(state: TableState, since: int | None, planned: str | None, partitions: Collection[bytes]) -> None:
    """Checks that the HASH index of some partitions is as it was when the job was planned.

    Args:
        state: the current state of the table.
        since: the snapshot the job was planned on, to name the jobs that committed after it; None: unknown.
        planned: the index manifest of that snapshot; None: it had none.
        partitions: the partitions that the job writes to.

    Raises:
        CommitConflict: another job has changed it.
    """
    table, latest = state.table, state.snapshot
    if latest is None or latest.index_manifest == planned:
        return
    if planned is not None and not table.file_io.exists(manifest_path(table.location, planned)):
        raise CommitConflict(
            f"this commit to {table.location} cannot be checked: the snapshot it was planned on has expired, and with "
            f"it the index manifest {planned}. {_AGAIN}, and keep snapshots longer than a job runs"
        )
    before = _hash_files(table, read_index_manifest(table.file_io, table.location, planned), partitions)
    now = _hash_files(table, state.index_entries, partitions)
    if before == now:
        return
    partition, bucket = min(place for place, _ in before.items() ^ now.items())
    who = _who(table, latest, since, planned)
    raise CommitConflict(
        f"this commit to {table.location} conflicts with the table after snapshot {latest.id}: {who} has changed "
        f"the HASH index of {describe_partition(table, partition)}, bucket {bucket}, so that keys of this job may be "
        f"in other buckets now. {_AGAIN}. Jobs that bring new keys to a partition with dynamic buckets must run one "
        "after the other"
    )


def check_cross_partition(state: TableState, since: int, user: str, planned: str | None = None) -> None:
    """Checks that no other job has moved or added keys since a job on a cross-partition table was planned.

    Args:
        state: the current state of the table.
        since: the snapshot in which the job looked up keys; 0: there was none.
        user: the commit user of the job.
        planned: the base manifest list of the snapshot since; None: unknown.

    Raises:
        CommitConflict: another job has changed keys, a rollback has removed the snapshot, or the snapshots needed for
            the check have expired.
    """
    latest = state.snapshot
    if latest is None:
        return
    base = state.table.snapshots.find(since) if planned is not None else None
    if latest.id < since or (base is not None and base.base_manifest_list != planned):
        raise CommitConflict(
            f"this commit to {state.table.location} was planned on snapshot {since}, which a rollback has taken away "
            f"since. {_AGAIN}"
        )
    found = [s for s in recent_snapshots(state.table.snapshots, latest, since) if s.id > since]
    others = [s for s in found if s.commit_kind not in _PLACES_KEPT and s.commit_user != user]
    if others:
        who = f"the job of user {others[-1].commit_user} (snapshot {others[-1].id})"
    elif len(found) < latest.id - since:
        who = f"a job between snapshots {since} and {latest.id}, of which some have expired,"
    else:
        return
    raise CommitConflict(
        f"this commit to {state.table.location} conflicts with the table after snapshot {latest.id}: {who} may have "
        f"written keys of this job to other partitions. {_AGAIN}. Jobs that write to a table whose primary key does "
        "not hold its partition columns must run one after the other"
    )


def _hash_files(
    table: Table, entries: Iterable[IndexManifestEntry], partitions: Collection[bytes]
) -> dict[tuple[bytes, int], str]:
    """(canonical partition, bucket) -> name of its HASH file."""
    canonical = same_partition(table.schema.partition_types)
    wanted = {canonical(partition) for partition in partitions}
    return {
        (canonical(e.partition), e.bucket): e.file_name
        for e in entries
        if e.index_type == HASH and canonical(e.partition) in wanted
    }


def _who(table: Table, latest: Snapshot, since: int | None, planned: str | None) -> str:
    """The first job that changed an index after the planned snapshot."""
    later = [s for s in recent_snapshots(table.snapshots, latest, since) if s.index_manifest != planned]
    culprit = later[-1] if later else latest
    return f"the job of user {culprit.commit_user} (snapshot {culprit.id})"


class HashIndexUpdate:
    """The index files of one commit, written when the first attempt needs them and reused by later attempts.

    They are valid for every attempt: if the index is not the planned one, that is a conflict.
    """

    def __init__(self, table: Table, messages: Sequence[CommitMessage], since: int | None) -> None:
        """Writes nothing yet.

        Args:
            table: the table.
            messages: the messages of all tasks of the job.
            since: the snapshot the job was planned on; None: unknown.
        """
        self._table, self._since = table, since
        self._canonical = same_partition(table.schema.partition_types)
        self._hashes: dict[tuple[bytes, int], list[NewHashes]] = {}
        for message in messages:
            if message.new_hashes is not None:
                place = self._canonical(message.partition), message.bucket
                self._hashes.setdefault(place, []).append(message.new_hashes)
        self._created: list[IndexManifestEntry] | None = None

    def added(self, state: TableState, new: CommitChanges) -> CommitChanges:
        """The changes of an append with their index files.

        Raises:
            CommitConflict: the index of a partition is not the planned one.
        """
        for planned in {hashes.planned for found in self._hashes.values() for hashes in found}:
            places = (place for place, found in self._hashes.items() if any(h.planned == planned for h in found))
            check_hash_index(state, self._since, planned, {partition for partition, _ in places})
        return self._with_files(new)

    def replaced(self, new: CommitChanges) -> CommitChanges:
        """The changes of an overwrite with their index files.

        Raises:
            ValueError: the job was planned as an append, so its messages omit known hashes.
        """
        if any(hashes.planned is not None for found in self._hashes.values() for hashes in found):
            raise ValueError("the overwrite was planned as an append: plan it with plan_write(table, overwrites=True)")
        return self._with_files(new)

    def _with_files(self, new: CommitChanges) -> CommitChanges:
        if self._created is None:
            created: list[IndexManifestEntry] = []
            with ExitStack() as undo:
                undo.callback(delete_hash_files, self._table, created)
                self._create(created)
                undo.pop_all()
            self._created = created
        return replace(new, index=(*new.index, *self._created)) if self._created else new

    def discard(self) -> None:
        """Deletes the files. Only for a commit that failed."""
        delete_hash_files(self._table, self._created or ())
        self._created = None

    def _create(self, created: list[IndexManifestEntry]) -> None:
        known: dict[str | None, dict[tuple[bytes, int], IndexManifestEntry]] = {}
        for (partition, bucket), found in self._hashes.items():
            new = [np.frombuffer(h.hashes, "<i4").astype(np.int32) for h in found if h.hashes]
            if not new:
                continue
            planned = found[0].planned
            if planned not in known:
                files = read_hash_files(self._table, planned)
                known[planned] = {(p, b): entry for p, buckets in files.items() for b, entry in buckets.items()}
            entry = known[planned].get((partition, bucket))
            old = [] if entry is None else [read_hashes(self._table, entry)]
            created.append(create_hash_file(self._table, partition, bucket, distinct(*old, *new)))
