"""Makes a partition of a chain table a whole one (Java: CompactChainTableProcedure)."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace

from paimon_spark.arrow.predicates.predicate import AlwaysTrue, Predicate
from paimon_spark.errors import OptionError
from paimon_spark.store.commit.commit_user import new_user
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.compact.plan import partition_condition
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.metadata.table_options import chain_branches
from paimon_spark.store.read.splits import Split
from paimon_spark.store.reporting.result import Result, millis_since
from paimon_spark.store.scan.chain_scan import ChainBranches, ChainPlan, chain_of
from paimon_spark.store.scan.other_branches import fields_of, listed_partitions
from paimon_spark.store.scan.read_spec import ReadSpec
from paimon_spark.store.scan.row_limits import check_unlimited
from paimon_spark.store.scan.table_scan import Scan
from paimon_spark.store.scan.time_travel import refuse_travel
from paimon_spark.store.upkeep.finish_write import finish_write
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.store.write.write_plan import plan_write

_PARTS = re.compile(r""",|;|'[^']*'|"[^"]*"|[^,;'"]+""")


@dataclass(frozen=True, repr=False)
class CompactChainTableResult(Result):
    """What became of a partition of a chain table.

    Attributes:
        compacted: whether it is a whole one now by this call. It is not if it was there already, or has no changes.
        rows: how many were written.
        snapshot_id: of the branch of whole partitions; None: nothing was committed.
    """

    compacted: bool
    rows: int
    millis: int
    snapshot_id: int | None


def compact_chain_table(table: Table, partition: str, overwrite: bool = False) -> CompactChainTableResult:
    """Merges a partition of a chain with what it is made of, and writes it to the branch of whole partitions.

    Args:
        table: a chain table, opened on neither of its two branches.
        partition: values of partition columns, such as ``dt='20260201',hour='07'``. Where columns are left out, all
            partitions with these values are made.
        overwrite: whether partitions that are whole already are made anew, of what came before them.

    Raises:
        OptionError: the table is no chain table, or the values are none of its partition columns.
        CommitConflict, RetriesExhausted: other jobs committed concurrently; nothing was committed.
        CommitStateUnknown: the store did not answer.
    """
    began = time.monotonic()
    refuse_travel(table, "compacted")
    if chain_branches(table.settings, table.branch) is None:
        raise OptionError(
            f"compact_chain_table of {table.location}: it is no chain table here; that is a table with "
            "'chain-table.enabled' = 'true' and both options 'scan.fallback-snapshot-branch' and "
            "'scan.fallback-delta-branch', opened on neither of these branches"
        )
    check_unlimited(table, "compacting partitions")
    where, branches = _condition(table, partition), chain_of(table)
    state = Scan(branches.whole, ReadSpec((), where)).state_now().snapshot
    is_there = bool(listed_partitions(branches.whole, state, where))
    spec = ReadSpec(table.schema.fields, where)
    splits = () if is_there and not overwrite else ChainPlan(branches, spec, makes_whole=True).splits(set())
    if not splits:
        return CompactChainTableResult(False, 0, round(millis_since(began)), None)
    rows, snapshot_id = _write(branches, spec, splits, is_there)
    return CompactChainTableResult(True, rows, round(millis_since(began)), snapshot_id)


def _condition(table: Table, partition: str) -> Predicate:
    parts = [""]
    for found in _PARTS.findall(partition):
        if found == ";":
            raise OptionError(
                f"compact_chain_table of {table.location}: '{partition}' names several partitions: give one",
                arguments=("partition",),
            )
        if found == ",":
            parts.append("")
        else:
            parts[-1] += found
    where = partition_condition(table, " AND ".join(parts) if partition.strip() else None)
    if isinstance(where, AlwaysTrue):
        raise OptionError(f"compact_chain_table of {table.location}: no partition is named", arguments=("partition",))
    return where


def _write(
    branches: ChainBranches, spec: ReadSpec, splits: tuple[Split, ...], overwrites: bool
) -> tuple[int, int | None]:
    """Writes the rows of splits to the branch of whole partitions: their number, and the snapshot."""
    whole, changes = branches.whole, branches.table
    reader = Scan(changes, replace(spec, fields=fields_of(changes, spec.fields))).split_reader()
    reader = replace(reader, branches={whole.branch: whole})
    user, plan = new_user(whole), plan_write(whole, overwrites)
    write, rows = TableWrite(whole, user, plan=plan), 0
    try:
        for split in splits:
            for batch in reader.read(split):
                write.write(batch.rename_columns(list(whole.schema.names)))
                rows += batch.num_rows
        messages: list[CommitMessage] = write.finish()
    except BaseException:
        write.abort()
        raise
    commit = TableCommit(whole, user, plan.since, plan.base)
    result = commit.overwrite(messages, "dynamic") if overwrites else commit.append(messages)
    if result is None:
        return 0, None
    finish_write(whole, messages, LocalRunner())
    return rows, result.snapshot_id
