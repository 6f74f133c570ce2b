"""The note of a writer, read and written."""

from __future__ import annotations

from paimon_spark.format.paths import stream_note_path
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.listing import find_bytes
from paimon_spark.store.stream_sink.note import StreamNote, decode_note, encode_note


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
