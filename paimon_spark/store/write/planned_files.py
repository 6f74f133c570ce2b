"""What a write asks of the files that a table has: numbers of buckets, and numbers above those of all rows.

A write to a new table, or to one whose rows have no buckets, asks nothing of them, and does not wait for this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from paimon_spark.format.bucket import Partition
from paimon_spark.format.manifest import FileKind
from paimon_spark.format.manifests.columns import ManifestColumns
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.buckets.hash_index_files import read_hash_files
from paimon_spark.store.metadata.live_files import canonical_partitions, canonical_row, fold, group_by_bucket
from paimon_spark.store.metadata.manifest_files import read_data_manifests, read_manifest_columns
from paimon_spark.store.metadata.table import BucketMode, Table


@dataclass(frozen=True)
class PlannedFiles:
    """What the files of a snapshot say; its attributes are those of WritePlan and of DynamicPlan."""

    first_sequence: int
    buckets: Mapping[Partition, int]
    index_manifest: str | None = None
    unindexed: Mapping[bytes, tuple[int, ...]] = field(default_factory=dict)
    rows: Mapping[bytes, Mapping[int, int]] = field(default_factory=dict)


def read_planned_files(table: Table, latest: Snapshot, overwrites: bool) -> PlannedFiles:
    """Reads the manifests of a table whose rows are in buckets; arguments as of plan_write.

    Raises:
        CorruptFile: a manifest cannot be read.
    """
    manifests = read_data_manifests(table.file_io, table.location, latest)
    columns = read_manifest_columns(table.file_io, table.location, manifests)
    # Deleted files are included: a number above theirs does no harm, and no folding is needed.
    first_sequence = int(columns.max_sequence_number.max(initial=-1)) + 1
    found = PlannedFiles(first_sequence, {} if overwrites else _bucket_numbers(table, columns))
    if table.bucket_mode in (BucketMode.HASH_DYNAMIC, BucketMode.KEY_DYNAMIC) and not overwrites:
        return _with_dynamic_buckets(found, table, latest, columns)
    return found


def _bucket_numbers(table: Table, columns: ManifestColumns) -> dict[Partition, int]:
    """The value of WritePlan.buckets. Files are folded only if the result may not be empty."""
    if table.bucket_mode not in (BucketMode.POSTPONE_MODE, BucketMode.HASH_FIXED):
        return {}
    other = columns.total_buckets != table.settings.bucket  # postponed files say -2
    if not (other & (columns.kind == FileKind.ADD)).any():
        return {}
    types = table.schema.partition_types
    codes = canonical_partitions(columns, types)[columns.partition_code]
    live = fold(columns, codes, np.flatnonzero(other & (columns.bucket >= 0) & (columns.total_buckets > 0)))
    _, first = np.unique(codes[live], return_index=True)
    return {
        canonical_row(columns.partitions[codes[i]], types): int(columns.total_buckets[i]) for i in live[first].tolist()
    }


def _with_dynamic_buckets(
    found: PlannedFiles, table: Table, latest: Snapshot, columns: ManifestColumns
) -> PlannedFiles:
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
        return replace(found, rows=rows)
    indexed = read_hash_files(table, latest.index_manifest)
    missing = {part: tuple(sorted(there.keys() - indexed.get(part, {}).keys())) for part, there in rows.items()}
    unindexed = {part: buckets for part, buckets in missing.items() if buckets}
    return replace(found, index_manifest=latest.index_manifest, unindexed=unindexed)
