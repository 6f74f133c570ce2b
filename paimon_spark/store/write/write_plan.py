"""The plan of a write job: the state of the table that all tasks need, read once (Java: FileSystemWriteRestore, and
IndexFileHandler.scanEntries for dynamic buckets)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from paimon_spark.errors import CorruptFile
from paimon_spark.format.bucket import Partition
from paimon_spark.format.paths import write_roots
from paimon_spark.store.metadata.external_paths import check_external_path
from paimon_spark.store.metadata.partitions import describe_partition
from paimon_spark.store.metadata.table import BucketMode, Table

TASK_STRIDE = 2**32  # sequence numbers of one task: more rows than it can write


@dataclass(frozen=True)
class DynamicPlan:
    """The dynamic buckets of a table when a job was planned. An overwrite replaces them, so its plan is empty.

    Attributes:
        index_manifest: the index manifest that names the HASH index files; None: there are none.
        unindexed: canonical partition -> buckets that have files but no HASH index.
        rows: canonical partition -> bucket -> rows in its files; for cross-partition tables, which have no HASH index.
    """

    index_manifest: str | None = None
    unindexed: Mapping[bytes, tuple[int, ...]] = field(default_factory=dict)
    rows: Mapping[bytes, Mapping[int, int]] = field(default_factory=dict)

    def check_indexed(self, table: Table, partition: bytes) -> None:
        """Checks that the HASH index of a partition is complete, so that the buckets of its keys are known.

        Raises:
            CorruptFile: a bucket of the partition has files and no HASH index.
        """
        if not self.unindexed:
            return
        from paimon_spark.store.metadata.live_files import canonical_row

        missing = self.unindexed.get(canonical_row(partition, table.schema.partition_types))
        if missing:
            numbers = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
            raise CorruptFile(
                f"writing to {describe_partition(table, partition)} of {table.location}: its bucket {numbers} has data "
                "files but no HASH index, so the bucket of a key is not known and a key could be written twice. "
                "Overwrite the partition with its own rows: that makes a new index"
            )


@dataclass(frozen=True)
class WritePlan:
    """The plan of a write job.

    Attributes:
        since: the id of the latest snapshot; 0 if there is none. For TableCommit.
        first_sequence: a sequence number above those of all rows in the table.
        buckets: canonical partition -> its number of buckets. For a table with postponed buckets: all partitions that
            have buckets. For fixed buckets: partitions whose number differs from the option ``bucket``.
        overwrites: whether the job replaces rows. Then it writes no changelog, because an overwrite commits none.
        base: the base manifest list of the snapshot since, whose name is unique. For TableCommit.
    """

    since: int
    first_sequence: int
    buckets: Mapping[Partition, int] = field(default_factory=dict)
    dynamic: DynamicPlan = field(default_factory=DynamicPlan)
    overwrites: bool = False
    base: str | None = field(default=None, compare=False)


def plan_write(table: Table, overwrites: bool = False) -> WritePlan:
    """Reads the state of the table once for all tasks of a job.

    A merge keeps the row with the greater sequence number, so new rows must have numbers above all existing ones. For
    an append table without buckets only the latest snapshot is read.

    Args:
        table: the table, with the options of the write.
        overwrites: whether the job replaces the partitions it writes to, so that the buckets of existing keys and the
            numbers of buckets do not matter.

    Raises:
        CorruptFile: a manifest cannot be read.
        OptionError: an external path for data files is the directory of a table.
    """
    for root in write_roots(table.settings):
        check_external_path(table.file_io, table.location, root)
    latest = table.snapshots.latest()
    if latest is None:
        return WritePlan(0, 0, overwrites=overwrites)
    if table.bucket_mode == BucketMode.BUCKET_UNAWARE:
        return WritePlan(latest.id, 0, overwrites=overwrites, base=latest.base_manifest_list)
    from paimon_spark.store.write.planned_files import read_planned_files

    found = read_planned_files(table, latest, overwrites)
    dynamic = DynamicPlan(found.index_manifest, found.unindexed, found.rows)
    return WritePlan(latest.id, found.first_sequence, found.buckets, dynamic, overwrites, latest.base_manifest_list)
