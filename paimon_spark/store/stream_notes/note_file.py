"""The files of a writer: its note, and what an expiry found of its batch."""

from __future__ import annotations

from paimon_spark.format.paths import stream_note_path, stream_search_path
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.listing import find_bytes
from paimon_spark.store.stream_notes.note import StreamNote, decode_note, encode_note
from paimon_spark.store.stream_notes.search import BatchSearch, decode_search, encode_search


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
