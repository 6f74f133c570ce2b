"""Stores statistics of a table, which the caller counts, in an ANALYZE snapshot (features 8; Java: commitStatistics).

Every later snapshot inherits them as long as the schema is unchanged.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.paths import statistics_path
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Snapshot
from paimon_spark.format.table_statistics import ANALYZED, ColumnStatistics, TableStatistics, encode_statistics
from paimon_spark.format.types import DataField
from paimon_spark.store.commit.attempt import CommitRequest, Proposal, TableState
from paimon_spark.store.commit.commit_loop import commit_request, discarding_if_failed
from paimon_spark.store.commit.commit_user import new_user
from paimon_spark.store.metadata.live_files import canonical_partitions, fold
from paimon_spark.store.metadata.manifest_files import read_data_manifests, read_manifest_columns
from paimon_spark.store.metadata.messages import CommitChanges
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result, millis_since
from paimon_spark.store.scan.read_spec import find_fields
from paimon_spark.store.scan.time_travel import refuse_travel

ALL = "all"

Count: TypeAlias = Callable[[Snapshot, Sequence[DataField]], tuple[int, Mapping[str, ColumnStatistics]]]
"""Reads a snapshot: its number of rows, and what is in some columns."""


@dataclass(frozen=True, repr=False)
class AnalyzeResult(Result):
    """The result of an analysis.

    Attributes:
        snapshot_id: the new snapshot; None: the table has no snapshot to analyse.
        statistics: the stored statistics.
        millis: the duration of the call.
    """

    snapshot_id: int | None
    statistics: TableStatistics | None
    millis: int


def analyze(table: Table, columns: str | Sequence[str] | None, count: Count) -> AnalyzeResult:
    """Counts the rows of the latest snapshot and stores the result in an ANALYZE snapshot.

    The size is that of the data files times the share of their rows that a read returns. (Java uses 0 for the share
    unless it is 1.)

    Args:
        table: the table, with the options of the call.
        columns: names in any letter case, or one text of names separated by commas; "all"; None: only rows are counted.
        count: reads the rows and counts.

    Raises:
        OptionError: a column does not exist, or an option chooses a snapshot.
        UnsupportedFeature: a column has a type without statistics, or the table cannot be written.
        RetriesExhausted: other writers were faster in every attempt; nothing was committed.
        CommitStateUnknown: the store did not answer.
    """
    began = time.monotonic()
    check_writable(table.schema, table.settings)
    refuse_travel(table, "analyzed")
    fields = analyzed_fields(table, columns)
    latest = table.snapshots.latest()
    if latest is None:
        return AnalyzeResult(None, None, millis_since(began))
    rows, known = count(latest, fields)
    stored_rows, size = _stored(table, latest)
    share = size * rows // stored_rows if stored_rows else 0
    statistics = TableStatistics(latest.id, latest.schema_id, rows, share, known)
    snapshot = commit_statistics(table, statistics, latest.id)
    return AnalyzeResult(snapshot.id, statistics, millis_since(began))


def analyzed_fields(table: Table, columns: str | Sequence[str] | None) -> tuple[DataField, ...]:
    """The columns to analyse.

    Raises:
        OptionError: a column does not exist.
        UnsupportedFeature: a column has a type without statistics.
    """
    if columns is None:
        return ()
    every = isinstance(columns, str) and columns.lower() == ALL
    fields = table.schema.fields if every else find_fields(table.schema, columns)
    without = [field for field in fields if field.type.root not in ANALYZED]
    if without:
        named = ", ".join(f"'{field.name}' ({field.type.root})" for field in without)
        others = ", ".join(field.name for field in table.schema.fields if field.type.root in ANALYZED) or "none"
        raise UnsupportedFeature(
            f"analyzing {table.location}: there are no statistics of the types of {named}; leave these columns out. "
            f"Columns with statistics: {others}"
        )
    return fields


def commit_statistics(table: Table, statistics: TableStatistics, since: int) -> Snapshot:
    """Commits a snapshot with these statistics and the rows of the snapshot before.

    Args:
        table: the table, with the options of the call.
        statistics: the statistics to store.
        since: the id of the latest snapshot when the work began.

    Raises:
        RetriesExhausted: other writers were faster in every attempt; nothing was committed.
        CommitStateUnknown: the store did not answer.
    """
    name = f"stat-{uuid.uuid4()}-0"
    path = statistics_path(table.location, name)
    request = CommitRequest(
        user=new_user(table),
        identifier=BATCH_COMMIT_IDENTIFIER,
        kind=CommitKind.ANALYZE,
        operation=None,
        propose=_no_changes,
        checks_files=False,
        statistics=name,
    )
    with discarding_if_failed(table, request, since, lambda: [path]):
        table.file_io.write_bytes(path, encode_statistics(statistics))
        return commit_request(table, request, since).published


def _stored(table: Table, snapshot: Snapshot) -> tuple[int, int]:
    """(rows, bytes) of the live files."""
    metas = read_data_manifests(table.file_io, table.location, snapshot)
    columns = read_manifest_columns(table.file_io, table.location, metas)
    canonical = canonical_partitions(columns, table.schema.partition_types)
    live = fold(columns, canonical[columns.partition_code], np.arange(len(columns)))
    return int(columns.row_count[live].sum()), int(columns.file_size[live].sum())


def _no_changes(state: TableState) -> Proposal[None]:
    return Proposal(CommitChanges(), None)
