"""Repairs the hint EARLIEST after the first snapshots were lost (features 7; Java: repairEarliestSnapshot)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from paimon_spark.errors import OptionError, SnapshotNotFound
from paimon_spark.format.paths import snapshot_path
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result


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
