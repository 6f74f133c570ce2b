"""The error of a read whose snapshot has expired: the states still available, the retention, and how to keep more.

A read detects it when it looks up the snapshot, during planning, or in a task that finds a file deleted.

Invariant: protocol F2.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from paimon_spark.errors import MissingFile, SnapshotNotFound
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.upkeep_settings import RetentionSettings
from paimon_spark.format.options.value_texts import format_duration
from paimon_spark.store.holds.marks import expiring_below
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.metadata.table import Table


def expired_error(store: SnapshotStore, settings: TableSettings, what: str) -> SnapshotNotFound:
    """The error of a read that needs an expired snapshot.

    Args:
        store: the snapshots of the table and branch that was read.
        settings: the options of the table; the message describes its retention.
        what: the first part of the message: what was requested and not found; without a full stop.
    """
    least, age = settings.retention.snapshot_num_retained_min, settings.retention.snapshot_time_retained
    return SnapshotNotFound(
        f"{what}; {store.available()}. The table keeps snapshots for {format_duration(age)} "
        f"('{RetentionSettings.snapshot_time_retained.key}'), at least {least} of them: give it a longer time, or keep "
        "what must stay with a tag or a consumer"
    )


@contextmanager
def translate_missing_files(table: Table, *snapshot_ids: int | None) -> Iterator[None]:
    """Turns MissingFile within the block into the error of an expired snapshot, if an expiry is the reason.

    Args:
        table: on the branch that is read.
        snapshot_ids: the snapshots that are read; None stands for an unknown one.

    Raises:
        TableNotFound: instead of MissingFile, if there is no table any more.
        TableChanged: instead of MissingFile, if another table was made at its place.
        SnapshotNotFound: instead of MissingFile, if one of the snapshots and all its tags are deleted, or are being
            deleted.
        MissingFile: a file is missing for another reason.
    """
    try:
        yield
    except MissingFile as error:
        table.check_still_there(f"{error.path} is deleted")
        store = table.snapshots
        gone = next((i for i in snapshot_ids if i is not None and _is_gone(store, i)), None)
        if gone is None:
            raise
        what = f"snapshot {gone} of the table at {store.table} expired while it was being read"
        raise expired_error(store, table.settings, f"{what}: {error.path} is deleted") from error


def _is_gone(store: SnapshotStore, snapshot_id: int) -> bool:
    """True if nothing keeps the snapshot, or a running expiry deletes it. Its files are deleted before it is."""
    if snapshot_id >= (expiring_below(store) or 0) and store.exists(snapshot_id):
        return False
    return all(tag.snapshot.id != snapshot_id for tag in store.tags().values())
