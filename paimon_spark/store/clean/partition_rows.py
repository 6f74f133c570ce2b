"""The partitions of a table as rows of their columns, for conditions that only Spark understands."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from paimon_spark.arrow.types import from_internal
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.clean.truncate import CommitName, TruncateResult, take_away, without_partitions
from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.metadata.manifest_files import read_manifest_columns
from paimon_spark.store.metadata.table import Table


def partition_rows(table: Table, snapshot: Snapshot | None) -> list[bytes]:
    """The partitions (arity-prefixed BinaryRows) that the manifests of a snapshot name, some of which may be empty."""
    if snapshot is None:
        return []
    metas = table_state(table, snapshot).manifests
    return sorted(set(read_manifest_columns(table.file_io, table.location, metas).partitions))


def partition_columns(table: Table, rows: Sequence[bytes]) -> list[pa.Array]:
    """The values of the partition columns, a row for each partition."""
    values = [decode_arity_row(row, table.schema.partition_types) for row in rows]
    types = table.schema.partition_types
    return [from_internal([value[at] for value in values], data_type) for at, data_type in enumerate(types)]


def drop_partition_rows(table: Table, rows: Sequence[bytes], name: CommitName | None) -> TruncateResult:
    """Removes all rows of some partitions, in one OVERWRITE snapshot, or does nothing if they have none.

    Args:
        name: of the commit; None: a new one.

    Raises:
        UnsupportedFeature: the table cannot be written.
        CommitConflict, RetriesExhausted: other jobs committed concurrently; nothing was committed.
        CommitStateUnknown: the store did not answer.
    """
    return take_away(table, lambda state: without_partitions(state, rows), "TRUNCATE", name=name)
