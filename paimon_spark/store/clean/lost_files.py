"""Removes data files from a table that the storage has lost (features 7; Java: ListUnexistingFiles).

Their rows are lost; without the removal no read of their partitions works. Existing files are never touched. In a table
with a primary key the rows that they had replaced or deleted are read again, as in the official system.

Also repairs the hint EARLIEST after the first snapshots were lost (features 7; Java: repairEarliestSnapshot).
"""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from paimon_spark.errors import OptionError, SnapshotNotFound
from paimon_spark.format.bucket import Place
from paimon_spark.format.manifest import FileKind, IndexManifestEntry, ManifestEntry
from paimon_spark.format.paths import data_file_path, snapshot_path
from paimon_spark.format.rules.supported import check_writable, refuse_evolution
from paimon_spark.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind
from paimon_spark.store.commit.attempt import CommitRequest, Proposal, TableState, table_state
from paimon_spark.store.commit.commit_loop import commit_request, discarding_if_failed
from paimon_spark.store.commit.commit_user import new_user
from paimon_spark.store.commit.vector_files import find_vector_files, vector_changes
from paimon_spark.store.compact.live_buckets import place_of
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.messages import CommitChanges
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.reporting.result import Result, millis_since
from paimon_spark.store.scan.time_travel import refuse_travel
from paimon_spark.store.storage.parallel import map_parallel


@dataclass(frozen=True, repr=False)
class RemoveUnexistingFilesResult(Result):
    """The removed data files; in a dry run, those that would be removed.

    Attributes:
        paths: the paths of the lost data files, sorted.
        rows: their rows by the metadata; rows with equal keys are counted separately.
        bytes: their bytes by the metadata.
        older_rows_return: True if the table has a primary key: rows that those of the files had replaced or deleted
            are read again, as far as other files have them.
        snapshot_id: the new snapshot without them; None: no file is lost, or it was a dry run.
        dry_run: True if the table is unchanged.
        millis: the duration of the call.
    """

    paths: tuple[str, ...]
    rows: int
    bytes: int
    older_rows_return: bool
    snapshot_id: int | None
    dry_run: bool
    millis: int


def remove_unexisting_files(table: Table, dry_run: bool = True) -> RemoveUnexistingFilesResult:
    """Removes the data files that the storage does not have from the table, in one OVERWRITE snapshot.

    Files that another job removes concurrently are ignored. Older snapshots and tags are not changed.

    Args:
        table: the table, with the options of the call.
        dry_run: True only reports the files.

    Raises:
        StorageError: the existence of some files could not be determined; nothing was changed.
        CorruptFile: metadata of the table are lost or damaged too; nothing was changed.
        OptionError: an option chooses a snapshot.
        UnsupportedFeature: the table cannot be written.
        CommitConflict, RetriesExhausted: other jobs committed concurrently; nothing was committed.
        CommitStateUnknown: the store did not answer.
    """
    began = time.monotonic()
    if not dry_run:
        check_writable(table.schema, table.settings)
        refuse_evolution(table.settings, f"removing lost files from {table.location}")
    refuse_travel(table, "looked at")
    latest = table.snapshots.latest()
    if latest is None:
        return _result(table, (), None, dry_run, began)
    lost = _lost(table, table_state(table, latest).live_entries(None))
    if not lost:
        return _result(table, (), None, dry_run, began)
    if dry_run:  # files that another job has removed in the meantime are not lost
        now = table_state(table, table.snapshots.latest() or latest)
        return _result(table, _live_of(now, lost), None, dry_run, began)
    removal = _Removal(lost)
    request = CommitRequest(
        new_user(table), BATCH_COMMIT_IDENTIFIER, CommitKind.OVERWRITE, None, removal.propose, checks_files=True
    )
    with discarding_if_failed(table, request, latest.id, lambda: removal.created):
        made = commit_request(table, request, latest.id)
    entries = made.proposal.detail if made.proposal is not None else ()
    return _result(table, entries, made.snapshot_id, dry_run, began)


class _Removal:
    """What to take out of the snapshots that the attempts of the commit build on.

    Attributes:
        created: paths of the index files that attempts wrote. Those of lost ones stay, for an attempt that was taken
            back after a rollback may have a tag by then; they are orphans.
    """

    def __init__(self, lost: set[str]) -> None:
        self.created: list[str] = []
        self._lost = lost

    def propose(self, state: TableState) -> Proposal[Sequence[ManifestEntry]]:
        """Takes out the lost files that are live, which are the detail."""
        entries = _live_of(state, self._lost)
        if not entries:
            return Proposal(None, ())
        gone = tuple(entry._replace(kind=FileKind.DELETE) for entry in entries)
        return Proposal(CommitChanges(gone, index=self._vectors_without(state, entries)), entries)

    def _vectors_without(self, state: TableState, entries: Sequence[ManifestEntry]) -> tuple[IndexManifestEntry, ...]:
        """The index files that change because a file with a deletion vector goes."""
        table = state.table
        live = find_vector_files(table, state.snapshot)
        unaware = table.bucket_mode == BucketMode.BUCKET_UNAWARE
        names: defaultdict[Place, set[str]] = defaultdict(set)
        for entry in entries if live else ():
            names[place_of(table, entry.partition, 0 if unaware else entry.bucket)].add(entry.file.file_name)
        changed: list[IndexManifestEntry] = []
        for place, removed in names.items():
            index = vector_changes(table, live, *place, removed, {})
            self.created += index.created
            changed += index.entries
        return tuple(changed)


def _lost(table: Table, entries: Sequence[ManifestEntry]) -> set[str]:
    """The paths of missing live files. Directories are listed, and files not in a listing are looked up by name."""
    wanted: defaultdict[str, set[str]] = defaultdict(set)
    for entry in entries:
        directory, _, name = _path(table, entry).rpartition("/")
        wanted[directory].add(name)

    def unlisted(directory: str) -> list[str]:
        names = wanted[directory] - {status.name for status in table.file_io.list(directory)}
        return [f"{directory}/{name}" for name in sorted(names)]

    candidates = [path for paths in map_parallel(unlisted, wanted) for path in paths]
    exists = map_parallel(table.file_io.exists, candidates)
    return {path for path, is_there in zip(candidates, exists, strict=True) if not is_there}


def _live_of(state: TableState, lost: set[str]) -> list[ManifestEntry]:
    return [entry for entry in state.live_entries(None) if _path(state.table, entry) in lost]


def _path(table: Table, entry: ManifestEntry) -> str:
    return data_file_path(bucket_directory(table, entry.partition, entry.bucket), entry.file)


def _result(
    table: Table, entries: Sequence[ManifestEntry], snapshot_id: int | None, dry_run: bool, began: float
) -> RemoveUnexistingFilesResult:
    return RemoveUnexistingFilesResult(
        paths=tuple(sorted(_path(table, entry) for entry in entries)),
        rows=sum(entry.file.row_count for entry in entries),
        bytes=sum(entry.file.file_size for entry in entries),
        older_rows_return=bool(entries and table.schema.primary_keys),
        snapshot_id=snapshot_id,
        dry_run=dry_run,
        millis=millis_since(began),
    )


@dataclass(frozen=True, repr=False)
class RepairEarliestSnapshotResult(Result):
    """The result of a repair.

    Attributes:
        previous_earliest_snapshot_id, current_earliest_snapshot_id: the earliest snapshot by the hint, before and now.
        deleted: the ids of earlier snapshots that were deleted.
    """

    previous_earliest_snapshot_id: int
    current_earliest_snapshot_id: int
    deleted: tuple[int, ...] = ()


def repair_earliest_snapshot(
    table: Table, snapshot: int | None = None, delete_older: bool = False
) -> RepairEarliestSnapshotResult:
    """Sets the earliest snapshot of a table to one after which none is missing.

    Expiry and searches by time walk from the earliest snapshot to the latest; a missing one between them stops or
    misleads them. Snapshots before the new earliest one stay in storage, as with Java, and can be read by id until an
    expiry deletes files that they need. Then they are broken, and the removal of orphan files asks to delete them.

    Args:
        table: the table, opened on the branch.
        snapshot: the id of a snapshot that follows a missing one, or is the earliest already. None: the first one after
            the last missing one.
        delete_older: whether the snapshots before it are deleted; files that only they need become orphans.

    Raises:
        SnapshotNotFound: the table has no snapshot, the given one does not exist, or one after it is missing.
        OptionError: the snapshot before the given one exists, so nothing is missing there.
    """
    store, what = table.snapshots, f"repairing the earliest snapshot of {table.location}"
    previous, latest = store.earliest_id(), store.latest_id()
    if previous is None or latest is None:
        raise SnapshotNotFound(f"{what}: the table has no snapshot")
    ids = [number for number in store.ids() if previous <= number <= latest]
    whole = _after_gaps(ids)
    chosen = whole if snapshot is None else snapshot
    advice = f"snapshots {whole} to {latest} are there without a gap. Choose {whole}"
    if chosen not in ids:
        raise SnapshotNotFound(
            f"{what}: no snapshot {chosen} is between the earliest, {previous}, and the latest, {latest}; {advice}"
        )
    if chosen < whole:
        raise SnapshotNotFound(f"{what}: some snapshots after {chosen} are missing; {advice}")
    if chosen not in (previous, whole):
        raise OptionError(
            f"{what}: snapshot {chosen - 1} is there, so {chosen} does not follow a gap; choose {whole}. To be rid of "
            "older snapshots, expire them"
        )
    store.write_earliest_hint(chosen)
    if not store.exists(chosen):
        raise SnapshotNotFound(f"{what}: snapshot {chosen} has just expired; {store.available()}. Repair it again")
    older = [number for number in store.ids() if number < chosen] if delete_older else []
    table.file_io.delete_many([snapshot_path(table.location, number, table.branch) for number in older])
    return RepairEarliestSnapshotResult(previous, chosen, tuple(older))


def _after_gaps(ids: list[int]) -> int:
    """The first id of the last run of ids without a gap."""
    cuts = [after for before, after in itertools.pairwise(ids) if after != before + 1]
    return cuts[-1] if cuts else ids[0]
