"""A history with holes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import TABLE, Argument, Procedure
from paimon_spark.store.clean.earliest_repair import RepairEarliestSnapshotResult, repair_earliest_snapshot
from paimon_spark.store.metadata.table import Table


@dataclass(frozen=True)
class RepairEarliestSnapshot(Procedure[RepairEarliestSnapshotResult]):
    """Lets the table begin with a snapshot after which none is missing.

    Expiry and searches by time walk from the earliest snapshot to the latest; one that is missing between them stops or
    misleads them. Snapshots before it stay on storage and can be read by their ids, until an expiry takes files that
    they need.

    Raises:
        SnapshotNotFound: the table has no snapshot, there is no such one, or one after it is missing.
        OptionError: the snapshot before it is there: nothing is missing that it could follow.
    """

    official = (TABLE, "snapshot_id")

    snapshot: Annotated[
        int | None,
        Argument(
            "the id of the snapshot, which follows a missing one; else the first after the last that is missing.",
            sql="snapshot_id",
        ),
    ] = None
    delete_older: Annotated[bool, Argument("whether the snapshots before it are deleted.")] = False

    def perform(self, table: Table, engine: Engine) -> RepairEarliestSnapshotResult:
        return repair_earliest_snapshot(table, self.snapshot, self.delete_older)
