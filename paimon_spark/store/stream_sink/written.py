"""Finds out if a batch is in the table already."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from paimon_spark.errors import CommitStateUnknown, StaleBatch
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.commit.history import recent_snapshots
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.stream_notes.notes import StreamNote, find_note, find_search, has_all_since, is_commit_of
from paimon_spark.store.stream_sink.batch import POSITION, Batch, UnknownBatch

_log = logging.getLogger(__name__)
RECENT = 32  # snapshots


@dataclass(frozen=True)
class Written:
    """A batch that is in the table.

    Attributes:
        snapshot_id: its snapshot, which may have expired; None: it had nothing to commit, or nobody knows.
        unfinished: the snapshot of a commit after which its writer broke off, so that the buckets may not be compacted
            and the rows not be visible; None: all is done.
    """

    snapshot_id: int | None
    unfinished: Snapshot | None = None


def find_written(table: Table, batch: Batch) -> Written | None:
    """The batch, if it is in the table; None: it is not, for certain.

    Raises:
        StaleBatch: the table has a later batch of this writer, or another one of this number.
        CommitStateUnknown: a commit of the batch was begun, its end was not noted, and the snapshots that could tell
            whether it was made have expired; the batch itself says otherwise by ``unknown``.
        CorruptFile: the note, or a snapshot, is damaged.
        StorageError: the storage failed.
    """
    note = find_note(table, batch.user)
    if note is None:
        return None  # every commit is noted before it begins
    if note.batch < batch.number:
        return _look_after(table, batch, note)
    if note.batch > batch.number:
        if batch.skips_older:
            return Written(None)
        raise _older(table, batch, note)
    _check_same(table, batch, note)
    if note.is_done:
        return Written(note.snapshot)
    return _look(table, batch, note)


def _look_after(table: Table, batch: Batch, note: StreamNote) -> Written | None:
    """Looks for a batch that the note does not know: only a query that was stopped, and goes on beside the new one, can
    have written a note over that of the batch. So a look at the newest snapshots will do.
    """
    latest, before = table.snapshots.latest(), note.snapshot if note.is_done else note.since
    if latest is None or before is None:
        return None
    since = max(before, latest.id - RECENT)
    return _found(table, recent_snapshots(table.snapshots, latest, since), batch)


def _found(table: Table, snapshots: Iterable[Snapshot], batch: Batch) -> Written | None:
    found = next((snapshot for snapshot in snapshots if is_commit_of(snapshot, batch.user, batch.number)), None)
    check_position(table, batch, found)
    return None if found is None else Written(found.id, found)


def _look(table: Table, batch: Batch, note: StreamNote) -> Written | None:
    """Looks for a batch whose commit was begun among the snapshots that are there, then in the notes of expiries."""
    store = table.snapshots
    latest = store.latest()
    begun = store.find(note.since)
    is_base = begun is not None and begun.base_manifest_list == note.base
    found = _found(table, recent_snapshots(store, latest, note.since if is_base else None), batch)
    if found is not None:
        return found
    if latest is None or is_base:
        return None
    search = find_search(table, batch.user, note)  # before times are compared: a clock may have gone back since
    if search is not None and search.snapshot is not None:
        message = "%s is in snapshot %d, which has expired; later writes or a compaction job will compact its buckets"
        _log.warning(message, batch.words(table), search.snapshot)
        return Written(search.snapshot)
    if _has_all_since(table, note):
        return None
    if search is not None and (store.earliest_id() or 0) <= search.end:
        return None  # neither in the snapshots that have expired nor in those that are there
    if batch.unknown is UnknownBatch.FAIL:
        raise CommitStateUnknown(
            f"{batch.words(table)}: an earlier try broke off in the middle of its commit, after snapshot {note.since}, "
            f"and the snapshots that could tell whether it was made have expired; {store.available()}. Nothing was "
            "deleted. Look whether its rows are in the table, then run it again with the option "
            "'write.stream.unknown-batch' = 'skip' if they are, or 'write' if they are not"
        )
    _log.warning("%s: nobody can tell whether it is in the table; %s, as the option says", batch, batch.unknown)
    return Written(None) if batch.unknown is UnknownBatch.SKIP else None


def _has_all_since(table: Table, note: StreamNote) -> bool:
    """True if no snapshot has expired that was made after the note."""
    earliest = table.snapshots.earliest_id()
    first = None if earliest is None else table.snapshots.find(earliest)
    return earliest is None or (first is not None and has_all_since(note, first))


def _check_same(table: Table, batch: Batch, note: StreamNote) -> None:
    """Checks that a batch is the one that the note speaks of: Spark replays the rows that it had before.

    Raises:
        StaleBatch: it is not.
    """
    if batch.operation != note.operation:
        raise StaleBatch(
            f"{batch.words(table)} is {batch.operation}, but {note.operation} has been done under this name and "
            "number; give each write of a batch a name of its own"
        )
    _check_end(table, batch, note.position)
    if batch.unknown is UnknownBatch.SKIP:
        return
    both = (batch.cut_millis, note.cut_millis)
    if None not in both:
        if both[0] != both[1]:
            raise _older(table, batch, note)
    elif None not in (batch.rows, note.rows) and batch.rows != note.rows:
        raise _older(table, batch, note)


def check_newest(table: Table, batch: Batch, note: StreamNote | None) -> None:
    """Checks that a batch may be noted: no other process has gone on to a later one.

    Raises:
        StaleBatch: one has.
    """
    if note is not None and note.batch > batch.number:
        raise _older(table, batch, note)
    if note is not None and note.batch == batch.number:
        _check_end(table, batch, note.position)


def check_position(table: Table, batch: Batch, snapshot: Snapshot | None) -> None:
    """Checks that the commit of a batch which is in the table is of these rows: it ends at the same position.

    Raises:
        StaleBatch: it does not.
    """
    if snapshot is not None:
        _check_end(table, batch, (snapshot.properties or {}).get(POSITION))


def _check_end(table: Table, batch: Batch, end: str | None) -> None:
    if None not in (batch.position, end) and batch.position != end:
        raise StaleBatch(
            f"{batch.words(table)} ends at the position {batch.position}, but a batch of this number that ends at "
            f"{end} has been begun. Nothing was written. If another process writes this stream too, stop one; else "
            "give the batch again that was cut off: stream_progress(name) tells its end as pending"
        )


def _older(table: Table, batch: Batch, note: StreamNote) -> StaleBatch:
    begin = f"{batch.words(table)} is not written: the table has number {note.batch} already"
    if batch.named:
        return StaleBatch(
            f"{begin}, so this is an old version, or the application began again with its numbers. Nothing was "
            "written. If these are new rows, name another application in once=(application, version); if they are in "
            "the table, say once_skips_older=True (for df.write: the option 'once.skips-older' = 'true')"
        )
    same = ", with other rows or cut at another time" if note.batch == batch.number else ""
    return StaleBatch(
        f"{begin}{same}: the checkpoint is older than the table, and Spark cuts its batches anew, so rows could be "
        "lost or stored twice. Nothing was written. Put the newest checkpoint of the stream back; or, if rows that "
        "were written since this checkpoint may come again (or a rollback has taken them out of the table), start the "
        "stream with the option 'write.stream.commit-user' = a new name. If the query gives other rows each time it "
        "runs and this batch is in the table, 'write.stream.unknown-batch' = 'skip' goes on after it"
    )
