"""The state of dynamic buckets that the tasks of a job need before they start (Java: IndexFileHandler.scanEntries)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from paimon_spark.errors import CorruptFile
from paimon_spark.format.manifests.columns import ManifestColumns
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.buckets.hash_index_files import read_hash_files
from paimon_spark.store.metadata.live_files import canonical_partitions, canonical_row, fold, group_by_bucket
from paimon_spark.store.metadata.partitions import describe_partition
from paimon_spark.store.metadata.table import BucketMode, Table


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
        types = table.schema.partition_types
        missing = self.unindexed.get(canonical_row(partition, types)) if self.unindexed else None
        if missing:
            numbers = ", ".join(map(str, missing[:5])) + (", ..." if len(missing) > 5 else "")
            raise CorruptFile(
                f"writing to {describe_partition(table, partition)} of {table.location}: its bucket {numbers} has data "
                "files but no HASH index, so the bucket of a key is not known and a key could be written twice. "
                "Overwrite the partition with its own rows: that makes a new index"
            )


def plan_dynamic(table: Table, latest: Snapshot, columns: ManifestColumns) -> DynamicPlan:
    """The dynamic buckets of a snapshot.

    Args:
        table: a table with dynamic buckets.
        columns: the entries of all manifests of the snapshot.

    Raises:
        CorruptFile: the index manifest is missing or damaged.
    """
    types = table.schema.partition_types
    codes = canonical_partitions(columns, types)[columns.partition_code]
    live = fold(columns, codes, np.flatnonzero(columns.bucket >= 0))
    rows: dict[bytes, dict[int, int]] = {}
    for group in group_by_bucket(columns, codes, live):
        partition = canonical_row(columns.partitions[codes[group[0]]], types)
        rows.setdefault(partition, {})[int(columns.bucket[group[0]])] = int(columns.row_count[group].sum())
    if table.bucket_mode is BucketMode.KEY_DYNAMIC:
        return DynamicPlan(rows=rows)
    indexed = read_hash_files(table, latest.index_manifest)
    missing = {part: tuple(sorted(found.keys() - indexed.get(part, {}).keys())) for part, found in rows.items()}
    return DynamicPlan(latest.index_manifest, {part: buckets for part, buckets in missing.items() if buckets})
