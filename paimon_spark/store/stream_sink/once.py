"""Commits a batch between two notes if it is not in the table; finishes one that is, where it was cut off."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from paimon_spark.errors import MissingFile
from paimon_spark.format.manifest import FileKind, ManifestEntry
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.metadata.file_paths import created_paths
from paimon_spark.store.metadata.manifest_files import read_manifest_list, read_manifests
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.files import discard
from paimon_spark.store.storage.local_time import now_millis
from paimon_spark.store.stream_notes.notes import StreamNote, expire_stream_notes, find_note, store_note
from paimon_spark.store.stream_sink.batch import Batch
from paimon_spark.store.stream_sink.written import Written, check_newest, check_position
from paimon_spark.store.upkeep.write_rules import Committed

if TYPE_CHECKING:
    from paimon_spark.store.commit.table_commit import CommitResult
    from paimon_spark.store.compact.outcomes import CompactResult

_log = logging.getLogger(__name__)
Finish: TypeAlias = "Callable[[Sequence[CommitMessage]], CompactResult | None]"
"""Does what follows the commit of messages: as finish_write, with a runner and rules."""


def commit_new(
    table: Table,
    batch: Batch,
    messages: Sequence[CommitMessage],
    publish: Callable[[], CommitResult | None],
    finish: Finish,
) -> Committed:
    """Commits a batch of which find_written says that it is not in the table, and does what follows a commit.

    Args:
        table: with the options of the write.
        messages: what is committed.
        publish: commits them under the name and number of the batch; deletes their files if it certainly failed.
        finish: does what follows a commit, for the messages that were committed.

    Raises:
        CommitStateUnknown: the store did not answer; when the batch comes again, it is looked for.
        RowsNotVisible: as for finish_write; the batch is in the table, and is finished when it comes again.
        Any error of publish, and StorageError: when the batch comes again, it is looked for.
    """
    try:
        note = begin_batch(table, batch)
    except BaseException:
        discard_tried(table, messages)  # nothing was published
        raise
    if note.is_done:
        return finish_written(table, batch, Written(note.snapshot), messages, finish)
    result = publish()
    if result is None:
        end_batch(table, batch, None)
        return Committed(None)
    if result.found:
        check_position(table, batch, table.snapshots.find(result.snapshot_id))
        messages = _instead(table, messages, result.snapshot_id)
    compaction = finish(messages)
    end_batch(table, batch, result.snapshot_id)
    return Committed(result.snapshot_id, result, compaction)


def _instead(table: Table, messages: Sequence[CommitMessage], snapshot_id: int) -> Sequence[CommitMessage]:
    """What was committed, where another try of the batch was faster: the files of this one are deleted."""
    snapshot = table.snapshots.find(snapshot_id)
    if snapshot is None:
        return messages
    discard_tried(table, messages, snapshot)
    return _messages_of(table, snapshot)


def begin_batch(table: Table, batch: Batch) -> StreamNote:
    """Notes that the commit of a batch begins; to be called after find_written, before anything is published.

    The first note of a writer is the time to remove those that are a year old.

    Returns:
        The note; one that is done: another process has just committed the batch, and nothing was noted.

    Raises:
        StaleBatch: another process has gone on to a later batch; nothing may be committed.
        StorageError: the note may not be written; nothing may be committed.
    """
    latest = table.snapshots.latest()  # before the note: who has not noted the batch yet will publish it above this one
    since, base = (0, None) if latest is None else (latest.id, latest.base_manifest_list)
    before = find_note(table, batch.user)
    check_newest(table, batch, before)
    began = now_millis()
    if before is None:
        expire_stream_notes(table)
    elif before.batch == batch.number:
        if before.is_done:
            return before
        since, base, began = before.since, before.base, before.began_millis  # its try may have been published since
    note = StreamNote(
        batch.number,
        batch.operation,
        since,
        base,
        began,
        rows=batch.rows,
        cut_millis=batch.cut_millis,
        start=batch.start,
        position=batch.position,
    )
    store_note(table, batch.user, note)
    return note


def end_batch(table: Table, batch: Batch, snapshot_id: int | None) -> None:
    """Notes that a batch is committed, and that all that follows a commit is done.

    Args:
        snapshot_id: the snapshot of the batch; None: it had nothing to commit.

    Raises:
        StorageError: the batch is in the table; when it comes again, it is looked for.
    """
    now, other = now_millis(), find_note(table, batch.user)
    if other is not None and other.batch > batch.number:
        _log.warning("%s is committed; another process has gone on to %d", batch.words(table), other.batch)
        return
    both, done = (batch.start, batch.position), (True, snapshot_id, batch.rows, batch.cut_millis)
    store_note(table, batch.user, StreamNote(batch.number, batch.operation, 0, None, now, *done, *both))


def finish_written(
    table: Table,
    batch: Batch,
    written: Written,
    tried: Sequence[CommitMessage],
    finish: Finish,
) -> Committed:
    """Deletes the files of a try of a batch that is in the table, and does what follows a commit if that was cut off.

    The buckets are those of the commit that was made: another try may have others, as dynamic buckets are chosen anew.

    Raises:
        RowsNotVisible: as for finish_write.
        StorageError: the storage failed; when the batch comes again, it is finished.
    """
    if tried:
        known = written.unfinished
        if known is None and written.snapshot_id is not None:
            known = table.snapshots.find(written.snapshot_id)
        discard_tried(table, tried, known)
    if written.unfinished is None:
        return Committed(written.snapshot_id)
    compaction = finish(_messages_of(table, written.unfinished))
    end_batch(table, batch, written.snapshot_id)
    return Committed(written.snapshot_id, None, compaction)


def discard_tried(table: Table, messages: Sequence[CommitMessage], snapshot: Snapshot | None = None) -> None:
    """Deletes the files of a try whose batch is in the table by another one; those that a snapshot names stay."""
    paths = [path for message in messages for path in created_paths(table, message)]
    if snapshot is not None:
        named = {entry.file.file_name for entry in _added(table, snapshot)}
        if any(file.file_name in named for message in messages for file in message.new_files):
            return  # it is the commit of these files after all
    discard(table.file_io, paths)


def _messages_of(table: Table, snapshot: Snapshot) -> list[CommitMessage]:
    """What a commit has added, as it was handed to the commit; nothing if the snapshot has just expired."""
    places: dict[tuple[bytes, int, int], list[ManifestEntry]] = {}
    try:
        for entry in _added(table, snapshot):
            places.setdefault((entry.partition, entry.bucket, entry.total_buckets), []).append(entry)
    except MissingFile as error:
        _log.warning("the buckets of snapshot %d of %s are not compacted: %s", snapshot.id, table.location, error)
    return [CommitMessage(*place, new_files=tuple(e.file for e in entries)) for place, entries in places.items()]


def _added(table: Table, snapshot: Snapshot) -> Iterable[ManifestEntry]:
    size = snapshot.delta_manifest_list_size
    metas = read_manifest_list(table.file_io, table.location, snapshot.delta_manifest_list, size)
    entries = read_manifests(table.file_io, table.location, metas)
    return (entry for entry in entries if entry.kind == FileKind.ADD)
