"""The partitions of a table that have files, as rows of their columns."""

from __future__ import annotations

import numpy as np

from paimon_spark.format.manifest import FileKind
from paimon_spark.format.paths import MAIN_BRANCH
from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.history.branches import on_branch
from paimon_spark.store.metadata.live_files import canonical_partitions, canonical_row
from paimon_spark.store.metadata.manifest_files import read_manifest_columns
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.listing import list_branches


def live_partitions(table: Table) -> list[bytes]:
    """The partitions (arity-prefixed BinaryRows) that have files in the latest snapshot, in no order."""
    latest, types = table.snapshots.latest(), table.schema.partition_types
    if latest is None:
        return []
    columns = read_manifest_columns(table.file_io, table.location, table_state(table, latest).manifests)
    codes = canonical_partitions(columns, types)[columns.partition_code]
    files = np.zeros(len(columns.partitions), np.int64)
    np.add.at(files, codes, np.where(columns.kind == FileKind.DELETE, -1, 1))
    return [canonical_row(columns.partitions[code], types) for code in np.flatnonzero(files > 0).tolist()]


def alive_elsewhere(table: Table) -> set[bytes]:
    """The partitions that have files in other branches of the table (Java: removePartitionsExistsInOtherBranches)."""
    others = {MAIN_BRANCH, *list_branches(table.file_io, table.location)} - {table.branch}
    return {row for name in others for row in live_partitions(on_branch(table, name))}
