"""Streams of chain tables (Java: ChainTableStreamScan, release 2.0).

A stream begins with the newest whole partition of each chain and with the changes after it, and goes on with what the
branch of changes gets. It is a stream of that branch: only the state that it begins with comes from both. With
``chain-table.streaming.merge-snapshot`` this state is merged, so that a change that deletes a row of the whole
partition does so; without, both are shown as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from paimon_spark.arrow.predicates.predicate import Predicate, columns_of
from paimon_spark.errors import OptionError, StreamPositionLost, UnsupportedFeature
from paimon_spark.format.options.engines import MergeEngine
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.metadata.chains import Chains, Values
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import Split
from paimon_spark.store.scan.chain_scan import ChainBranches, ChainPlan, chain_of
from paimon_spark.store.scan.read_spec import ReadSpec
from paimon_spark.store.stream_source.settings import StreamSettings
from paimon_spark.store.stream_source.units import Kinds, StreamUnit, UnitPlanner

_BEGINS = ("latest-full", "full")


def streamed_chain(table: Table, settings: StreamSettings) -> ChainBranches:
    """The branches of a chain table that a stream reads.

    Args:
        table: opened on neither of them.
        settings: of the stream, by the options of the table and of the call.

    Raises:
        OptionError: the stream is to begin elsewhere than with the whole state, or has a consumer, as in Java.
        UnsupportedFeature: the branch of changes has another merge engine than deduplicate, as in Java.
        SnapshotNotFound, SchemaError: as of ``chain_of``.
    """
    instead = "leave the option out, or stream the branch of changes, with the option 'branch'"
    if settings.mode not in _BEGINS:
        raise OptionError(
            f"streaming from the chain table {table.location}: it begins with the newest whole partition of each chain "
            f"and the changes after it, and cannot begin by the scan mode '{settings.mode}'; {instead}"
        )
    if settings.consumer is not None:
        raise OptionError(
            f"streaming from the chain table {table.location}: a consumer holds the snapshots of one branch, and the "
            f"stream begins with two; {instead}"
        )
    branches = chain_of(table)
    engine = branches.table.settings.merge_engine
    if engine != MergeEngine.DEDUPLICATE:
        raise UnsupportedFeature(
            f"streaming from the chain table {table.location}: the merge engine of its branch "
            f"'{branches.table.branch}' is {engine}, and changes of another one than deduplicate are no rows of the "
            "table; read it in batches"
        )
    return branches


def check_chain_condition(table: Table, predicate: Predicate) -> None:
    """Checks that a condition is over no partition column: the start of a stream decides which partitions it reads.

    Raises:
        OptionError: it is, which Java refuses too.
    """
    named = sorted(columns_of(predicate) & set(table.schema.partition_keys))
    if named:
        raise OptionError(
            f"streaming from the chain table {table.location} where {', '.join(named)} has some value: which "
            "partitions a stream reads follows from the chains; filter the rows of the stream instead"
        )


class ChainUnitPlanner(UnitPlanner):
    """Plans the state that a stream of a chain table begins with, and what the branch of changes gets.

    Args:
        branches: of the table.
        predicate, overwrites, row_kinds: as of UnitPlanner.
    """

    def __init__(self, branches: ChainBranches, predicate: Predicate, overwrites: bool, row_kinds: bool) -> None:
        super().__init__(branches.table, predicate, overwrites, row_kinds)
        self._branches = branches
        self._chains = Chains(branches.table)
        self._predicate = predicate

    def other_snapshot(self) -> int:
        """The snapshot of the branch of whole partitions that a stream begins with now; 0: it has none."""
        return self._branches.whole.snapshots.latest_id() or 0

    def state(self, snapshot: Snapshot, other: int | None) -> tuple[StreamUnit, ...]:
        """The units of the state of both branches.

        Args:
            snapshot: of the branch of changes.
            other: what other_snapshot returned when the stream began.

        Raises:
            StreamPositionLost: that snapshot has expired.
            UnsupportedFeature: a partition has NULL as a value, and so no place in a chain.
        """
        whole_state = self._branches.whole.snapshots.find(other) if other else None
        if other and whole_state is None:
            raise StreamPositionLost(
                f"the stream from the chain table {self._table.location} began with snapshot {other} of the branch "
                f"'{self._branches.whole.branch}', which has expired; start it with a new checkpoint"
            )
        # Rows that wait for a compaction count too: of the branch of changes they would never come again.
        merges = {TableSettings.deletion_vectors_merge_on_read.key: "true"}
        changes = replace(self._table, settings=self._table.settings.merged(merges))
        plan = ChainPlan(replace(self._branches, table=changes), ReadSpec((), self._predicate))
        if self._table.settings.chain_streaming_merge:
            splits = plan.merged_state(whole_state, snapshot)
        else:
            splits = self._lightweight(plan, whole_state, snapshot)
        return tuple(StreamUnit(split, Kinds.STATE) for split in splits)

    def _lightweight(self, plan: ChainPlan, whole_state: Snapshot | None, snapshot: Snapshot) -> Iterator[Split]:
        newest = plan.newest_whole(whole_state)
        yield from plan.whole_splits(whole_state, set(newest.values()))
        for unit in super().state(snapshot, None):
            split = unit.split
            if isinstance(split, Split) and self._is_after(split.partition, newest):
                yield split

    def _is_after(self, row: bytes, newest: Mapping[Values, bytes]) -> bool:
        whole = newest.get(self._chains.group(row))
        return whole is None or self._chains.place(row) > self._chains.place(whole)
