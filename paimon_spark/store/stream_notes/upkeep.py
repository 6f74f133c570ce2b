"""The notes of streams that write to a table: listed, and deleted when they are a year old."""

from __future__ import annotations

import time

from paimon_spark.file_io import FileStatus
from paimon_spark.format.paths import NOTE_SUFFIX, SEARCH_SUFFIX, stream_search_path, stream_sink_directory
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.listing import list_named

NOTE_LIFE_MILLIS = 365 * 24 * 3_600_000
"""A stream that has written nothing for so long is not started again."""


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
    before = time.time_ns() // 1_000_000 - NOTE_LIFE_MILLIS
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
