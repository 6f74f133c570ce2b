"""Before snapshots expire: what they say of batches that were cut off in the middle of their commit is written down.

A stream that is started again looks for its last batch among the snapshots. Without this, a stream that is down for
longer than snapshots are kept could not be decided whether its batch is in the table.

Two expiries at once may write one after the other, the one that looked at less last. A reader therefore believes that
a batch is in no snapshot only if all snapshots from the end of the search on are there.
"""

from __future__ import annotations

from collections.abc import Sequence

from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.stream_notes.notes import (
    BatchSearch,
    StreamNote,
    find_note,
    find_search,
    has_all_since,
    is_commit_of,
    notes_and_searches,
    store_search,
)

_CLOCKS_DIFFER_MILLIS = 3_600_000
"""How far the clock of the storage may be from that of a writer."""


def write_down_batches(table: Table, expired: Sequence[Snapshot], end: int) -> None:
    """Writes down where the undecided batches of all writers are; to be called before anything is deleted.

    Args:
        table: the table, on the branch whose snapshots expire.
        expired: the snapshots that expire: all there are below end, oldest first, at least one.
        end: the id of the first snapshot that stays.

    Raises:
        CorruptFile: a note is damaged.
        StorageError: the storage failed.
    """
    notes, searches = notes_and_searches(table)
    since = expired[0].time_millis - _CLOCKS_DIFFER_MILLIS
    for user, status in notes.items():
        if user not in searches and 0 < status.modified_millis < since:
            continue  # an expiry before this one has seen the note, and it was decided
        note = find_note(table, user)
        if note is None or note.is_done or note.since >= end:
            if user in searches:
                table.file_io.delete(searches[user].path)
            continue
        before = find_search(table, user, note) if user in searches else None
        search = _search(note, user, before, expired, end)
        if search is not None:
            store_search(table, user, search)


def _search(
    note: StreamNote, user: str, before: BatchSearch | None, expired: Sequence[Snapshot], end: int
) -> BatchSearch | None:
    """The search for the batch of a note; None: there is nothing to add to what is written down.

    Args:
        before: what an earlier expiry has written down, None: nothing.
    """
    found = next((snapshot.id for snapshot in expired if is_commit_of(snapshot, user, note.batch)), None)
    if before is not None and (before.snapshot is not None or (found is None and before.end >= end)):
        return None
    if found is None and not (_are_all(expired, end) and _begin_early_enough(note, before, expired)):
        return None
    return BatchSearch(note.batch, note.began_millis, end, found)


def _are_all(expired: Sequence[Snapshot], end: int) -> bool:
    """False if another system that expires snapshots just now has deleted some of them before they were read."""
    return len(expired) == end - expired[0].id


def _begin_early_enough(note: StreamNote, before: BatchSearch | None, expired: Sequence[Snapshot]) -> bool:
    """True if no snapshot has expired unseen that was made after the note."""
    first = expired[0]
    goes_on = before is not None and before.end >= first.id
    has_base = any((snapshot.id, snapshot.base_manifest_list) == (note.since, note.base) for snapshot in expired)
    return goes_on or has_base or has_all_since(note, first)
