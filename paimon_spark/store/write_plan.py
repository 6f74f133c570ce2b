"""What all tasks of a write job must know before they start, read once (Java: FileSystemWriteRestore)."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_spark.store.manifest_files import read_data_manifests, read_manifest_columns
from paimon_spark.store.table import BucketMode, Table

TASK_STRIDE = 2**32  # sequence numbers of one task: more rows than it can write


@dataclass(frozen=True)
class WritePlan:
    """Attributes:
    since: the id of the snapshot that was the latest; 0 when there was none. For TableCommit.
    first_sequence: a sequence number above those of all rows in the table.
    """

    since: int
    first_sequence: int


def plan_write(table: Table) -> WritePlan:
    """Looks at the table once for all tasks of a job.

    A merge takes the row with the greater sequence number, so new rows must be numbered above all that are there. An
    append table without buckets does not care: nothing is read then but the latest snapshot.

    Raises:
        CorruptFile: a manifest cannot be read.
    """
    latest = table.snapshots.latest()
    if latest is None:
        return WritePlan(0, 0)
    if table.bucket_mode == BucketMode.BUCKET_UNAWARE:
        return WritePlan(latest.id, 0)
    manifests = read_data_manifests(table.file_io, table.location, latest)
    columns = read_manifest_columns(table.file_io, table.location, [m for m in manifests if m.num_added_files])
    # Deleted files count too: a number above theirs does no harm, and no folding is needed.
    return WritePlan(latest.id, int(columns.max_sequence_number.max(initial=-1)) + 1)
