"""How far a consumer is behind its table: in snapshots, rows and time."""

from __future__ import annotations

import time
from dataclasses import dataclass

from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.storage.parallel import map_parallel

_COUNTED = 1000  # snapshots whose rows are counted


@dataclass(frozen=True)
class ConsumerLag:
    """What a consumer has not read.

    Attributes:
        next_snapshot: the id of the snapshot that it reads next.
        snapshots: how many there are from that on.
        rows: that these snapshots wrote, as their changelogs or new files have them; None: too many to count, or some
            have expired.
        millis: since the first of them was committed; 0 if there is none; None if it has expired.
    """

    next_snapshot: int
    snapshots: int
    rows: int | None
    millis: int | None


def consumer_lag(store: SnapshotStore, next_snapshot: int) -> ConsumerLag:
    """How far a consumer that reads this snapshot next is behind."""
    behind = max((store.latest_id() or 0) - next_snapshot + 1, 0)
    if not behind:
        return ConsumerLag(next_snapshot, 0, 0, 0)
    first = store.find_change(next_snapshot)
    millis = None if first is None else max(time.time_ns() // 1_000_000 - first.time_millis, 0)
    if behind > _COUNTED:
        return ConsumerLag(next_snapshot, behind, None, millis)
    found = map_parallel(store.find_change, range(next_snapshot, next_snapshot + behind))
    kept = [snapshot for snapshot in found if snapshot is not None]
    written = [s.changelog_record_count or max(s.delta_record_count, 0) * (s.commit_kind == "APPEND") for s in kept]
    return ConsumerLag(next_snapshot, behind, sum(written) if len(kept) == behind else None, millis)
