"""The partitions of a table that have files, as rows of their columns."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from paimon_spark.format.paths import MAIN_BRANCH
from paimon_spark.format.types import DataField
from paimon_spark.store.history.branches import on_branch
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.listing import list_branches
from paimon_spark.store.system_tables.request import Request
from paimon_spark.store.system_tables.totals import partition_totals


def live_partitions(table: Table) -> list[bytes]:
    """The partitions (arity-prefixed BinaryRows) that have files in the latest snapshot, in no order."""
    return [one.partition for one in partition_totals(Request(table), no_texts)]


def alive_elsewhere(table: Table) -> set[bytes]:
    """The partitions that have files in other branches of the table (Java: removePartitionsExistsInOtherBranches)."""
    others = {MAIN_BRANCH, *list_branches(table.file_io, table.location)} - {table.branch}
    return {row for name in others for row in live_partitions(on_branch(table, name))}


def no_texts(partitions: Sequence[bytes], fields: Sequence[DataField]) -> pa.Array:
    """For partition_totals, where the texts of the partitions are not wanted."""
    return pa.nulls(len(partitions), pa.string())
