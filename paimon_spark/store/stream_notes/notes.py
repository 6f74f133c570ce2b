"""The notes of streams beside their table: which batch was written last, and whether that is certain.

The official system has no such file. Snapshots cannot be the only memory of a stream, because they expire.
"""

from __future__ import annotations

from dataclasses import dataclass

from paimon_spark.file_io import FileStatus
from paimon_spark.format.json_text import format_present, parse_json_object
from paimon_spark.format.paths import (
    NOTE_SUFFIX,
    SEARCH_SUFFIX,
    stream_note_path,
    stream_search_path,
    stream_sink_directory,
)
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.files import find_bytes, list_named
from paimon_spark.store.storage.local_time import now_millis

_COMMITTING, _COMMITTED = "committing", "committed"
NOTE_LIFE_MILLIS = 365 * 24 * 3_600_000
"""A stream that has written nothing for so long is not started again."""


@dataclass(frozen=True)
class StreamNote:
    """What the table remembers of a stream, or of another application that names its writes.

    Attributes:
        batch: the number of its last batch.
        operation: what the batch does: APPEND, OVERWRITE, DELETE, UPDATE or MERGE.
        since: the id of the latest snapshot when the commit began; 0: there was none.
        base: the base manifest list of that snapshot, whose name is unique.
        began_millis: when the commit began, in epoch milliseconds.
        is_done: whether the batch is committed and all that follows a commit is done. False: nobody knows.
        snapshot: the id of its snapshot; None: there was nothing to commit, or it is not done.
        rows: how many rows the batch has; None: not counted.
        cut_millis: when Spark cut the batch, as its checkpoint says, in epoch milliseconds; None: not known.
        start, position: where the source of the rows stood before the batch and behind it, as texts of JSON; None: the
            table does not keep them.
    """

    batch: int
    operation: str
    since: int
    base: str | None
    began_millis: int
    is_done: bool = False
    snapshot: int | None = None
    rows: int | None = None
    cut_millis: int | None = None
    start: str | None = None
    position: str | None = None


def encode_note(note: StreamNote) -> bytes:
    """The content of the file of a note."""
    values = {
        "batch": note.batch,
        "state": _COMMITTED if note.is_done else _COMMITTING,
        "operation": note.operation,
        "since": note.since,
        "base": note.base,
        "beganMillis": note.began_millis,
        "snapshot": note.snapshot,
        "rows": note.rows,
        "cutMillis": note.cut_millis,
        "start": note.start,
        "position": note.position,
    }
    return format_present(values)


def decode_note(data: bytes, where: str) -> StreamNote:
    """The note in the bytes of its file; where names the file in errors.

    Raises:
        CorruptFile: it is no note.
    """
    json = parse_json_object(data, where)
    state = json.text("state")
    if state not in (_COMMITTING, _COMMITTED):
        raise json.corrupt("state", f"{_COMMITTING} or {_COMMITTED}")
    return StreamNote(
        json.integer("batch"),
        json.text("operation"),
        json.integer("since"),
        json.optional_text("base"),
        json.integer("beganMillis"),
        state == _COMMITTED,
        json.optional_integer("snapshot"),
        json.optional_integer("rows"),
        json.optional_integer("cutMillis"),
        json.optional_text("start"),
        json.optional_text("position"),
    )


def find_note(table: Table, user: str) -> StreamNote | None:
    """The note of a writer on the branch of the table; None: it has written nothing, or its note has expired.

    Raises:
        CorruptFile: the file is no note.
        StorageError: the storage failed.
    """
    path = stream_note_path(table.location, user, table.branch)
    data = find_bytes(table.file_io, path)
    return None if data is None else decode_note(data, path)


def store_note(table: Table, user: str, note: StreamNote) -> None:
    """Writes the note in the place of the one before, whole or not at all.

    Raises:
        StorageError: the storage failed; the old or the new note is there.
    """
    table.file_io.overwrite(stream_note_path(table.location, user, table.branch), encode_note(note))


def find_search(table: Table, user: str, note: StreamNote) -> BatchSearch | None:
    """What an expiry found when it looked for the batch of an undecided note; None: no expiry has looked for it.

    Raises:
        CorruptFile: the file is none of a search.
        StorageError: the storage failed.
    """
    path = stream_search_path(table.location, user, table.branch)
    data = find_bytes(table.file_io, path)
    search = None if data is None else decode_search(data, path)
    return search if search is not None and search.is_of(note) else None


def store_search(table: Table, user: str, search: BatchSearch) -> None:
    """Writes what an expiry found in the place of what one found before, whole or not at all.

    Raises:
        StorageError: the storage failed; the old or the new one is there.
    """
    table.file_io.overwrite(stream_search_path(table.location, user, table.branch), encode_search(search))


@dataclass(frozen=True)
class BatchSearch:
    """The search for a batch in snapshots, written down before they expire.

    Attributes:
        batch: the number of the batch.
        began_millis: when its commit began, as in the note of the writer.
        end: all snapshots since the note with ids below this one have been looked at.
        snapshot: the id of the snapshot of the batch; None: none of those that were looked at.
    """

    batch: int
    began_millis: int
    end: int
    snapshot: int | None = None

    def is_of(self, note: StreamNote) -> bool:
        """True if the search was for the batch of the note, and the note is still undecided."""
        return not note.is_done and (self.batch, self.began_millis) == (note.batch, note.began_millis)


def is_commit_of(snapshot: Snapshot, user: str, batch: int) -> bool:
    """True if a snapshot is the commit of a batch, not a compaction after it."""
    named = (snapshot.commit_user, snapshot.commit_identifier) == (user, batch)
    return named and snapshot.commit_kind != CommitKind.COMPACT


def has_all_since(note: StreamNote, first: Snapshot) -> bool:
    """True if no snapshot has expired that was made after the note, though snapshot ids may have been used again.

    Args:
        first: the oldest snapshot that has not expired.
    """
    return (note.since == 0 and first.id == 1) or first.time_millis < note.began_millis


def encode_search(search: BatchSearch) -> bytes:
    """The content of the file of a search."""
    values = {
        "batch": search.batch,
        "beganMillis": search.began_millis,
        "end": search.end,
        "snapshot": search.snapshot,
    }
    return format_present(values)


def decode_search(data: bytes, where: str) -> BatchSearch:
    """The search in the bytes of its file; where names the file in errors.

    Raises:
        CorruptFile: it is none.
    """
    json = parse_json_object(data, where)
    return BatchSearch(
        json.integer("batch"), json.integer("beganMillis"), json.integer("end"), json.optional_integer("snapshot")
    )


def stream_notes(table: Table) -> dict[str, FileStatus]:
    """The files of the notes of a branch, by the commit users of their streams."""
    return _by_user(_listed(table), NOTE_SUFFIX)


def notes_and_searches(table: Table) -> tuple[dict[str, FileStatus], dict[str, FileStatus]]:
    """The files of the notes of a branch, and those of what expiries found, each by commit user; one listing."""
    listed = _listed(table)
    return _by_user(listed, NOTE_SUFFIX), _by_user(listed, SEARCH_SUFFIX)


def _listed(table: Table) -> dict[str, FileStatus]:
    return list_named(table.file_io, stream_sink_directory(table.location, table.branch), "")


def _by_user(listed: dict[str, FileStatus], suffix: str) -> dict[str, FileStatus]:
    chosen = {name: status for name, status in listed.items() if name.endswith(suffix) and not name.startswith(".")}
    return {name.removesuffix(suffix): status for name, status in chosen.items()}


def expire_stream_notes(table: Table, dry_run: bool = False) -> tuple[str, ...]:
    """Deletes the notes that have not changed for a year; the commit users of their streams, sorted.

    Args:
        table: the table, opened on the branch of the streams.
        dry_run: True only tells which would be deleted.
    """
    before = now_millis() - NOTE_LIFE_MILLIS
    return _delete(table, {n: s for n, s in stream_notes(table).items() if 0 < s.modified_millis < before}, dry_run)


def clear_stream_notes(table: Table, dry_run: bool = False) -> tuple[str, ...]:
    """Deletes all notes of a branch; the commit users of their streams, sorted. A purge does so."""
    return _delete(table, stream_notes(table), dry_run)


def _delete(table: Table, chosen: dict[str, FileStatus], dry_run: bool) -> tuple[str, ...]:
    if not dry_run:
        for user, status in chosen.items():
            table.file_io.delete(stream_search_path(table.location, user, table.branch))
            table.file_io.delete(status.path)
    return tuple(sorted(chosen))
