"""The hint EARLIEST after snapshots at the beginning were lost (features 7; Java: repairEarliestSnapshot)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from paimon_spark.errors import OptionError, SnapshotNotFound
from paimon_spark.store.table import Table


@dataclass(frozen=True)
class EarliestRepaired:
    """Ids of the earliest snapshot that readers and expiry went by, and of the one they go by now."""

    previous_earliest_snapshot_id: int
    current_earliest_snapshot_id: int


def repair_earliest_snapshot(table: Table, snapshot: int | None = None) -> EarliestRepaired:
    """Lets a table begin with a snapshot after which none is missing.

    Expiry and searches by time walk from the earliest snapshot to the latest; one that is missing between them stops or
    misleads them. Only the hint is written. Snapshots before it stay on storage, and can be read by their ids.

    Args:
        table: on its branch.
        snapshot: the id. It follows a missing one, or is the earliest already. None: the first after the last that is
            missing.

    Raises:
        SnapshotNotFound: the table has no snapshot, there is no such one, or one after it is missing.
        OptionError: the snapshot before it is there: nothing is missing that it could follow.
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
    return EarliestRepaired(previous, chosen)


def _after_gaps(ids: list[int]) -> int:
    """The first id of the last unbroken run."""
    cuts = [after for before, after in itertools.pairwise(ids) if after != before + 1]
    return cuts[-1] if cuts else ids[0]
