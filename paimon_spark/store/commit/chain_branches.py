"""What overwrites of the branches of a chain table must look after (Java: ChainTableCommitPreCallback,
ChainTableOverwriteCommitCallback).

Partitions of the branch of changes that follow a whole partition are made of it, so that it may go only if none do, or
if there is an earlier one. An overwrite of the branch of changes makes the whole partitions of the same values wrong:
they are taken away after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from paimon_spark.errors import CommitConflict
from paimon_spark.format.manifest import FileKind
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.snapshot import CommitKind
from paimon_spark.store.metadata.chains import Chains
from paimon_spark.store.metadata.live_files import canonical_row
from paimon_spark.store.metadata.messages import CommitChanges
from paimon_spark.store.metadata.partitions import describe_partition
from paimon_spark.store.metadata.schemas import no_such_branch
from paimon_spark.store.metadata.table import Table


def check_chains(
    table: Table,
    kind: CommitKind,
    changes: CommitChanges,
    here: Callable[[], Mapping[bytes, int]],
    partitions_of: Callable[[Table], Iterable[bytes]],
    rewritten: Collection[bytes] = (),
) -> None:
    """Checks that no partition with changes loses the whole partition that it is made of.

    What counts is the state after the commit: of several partitions that it drops, none takes the place of another.

    Args:
        table: that is committed to.
        kind, changes: of the commit.
        here: gives the partitions of the state that it builds on, and how many files each has.
        partitions_of: gives those of another branch now.
        rewritten: partitions with changes that need no whole partition any more.

    Raises:
        CommitConflict: one would.
    """
    scan = table.settings.scan
    if kind != CommitKind.OVERWRITE or not _is_branch(table, scan.fallback_snapshot_branch):
        return
    kinds = {entry.kind for entry in changes.files} | {entry.kind for entry in changes.index}
    if kinds != {FileKind.DELETE}:
        return
    chains, types = Chains(table), table.schema.partition_types
    files = here()
    deleted = Counter(canonical_row(entry.partition, types) for entry in changes.files)
    gone = {row for row, count in deleted.items() if count >= files.get(row, 0)}
    whole = chains.ordered(files.keys() - gone)
    news = chains.ordered(
        row for row in partitions_of(branch_of(table, scan.fallback_delta_branch or "")) if row not in rewritten
    )
    for row in sorted(gone):
        group, place = chains.group(row), chains.place(row)
        places = [other for other, _ in whole.get(group, ())]
        end = min((other for other in places if other > place), default=None)
        later = [other for other, _ in news.get(group, ())]
        follows = any(other > place and (end is None or other < end) for other in later)
        if follows and not any(other < place for other in places):
            raise CommitConflict(
                f"dropping the partition {describe_partition(table, row)} of the branch '{table.branch}' of "
                f"{table.location}: no whole partition of its chain before it is left, and later partitions of the "
                f"branch '{scan.fallback_delta_branch}' are made of it; drop those first, or write another whole one "
                "before"
            )


def outdated(table: Table, kind: CommitKind, changes: CommitChanges) -> tuple[Table, frozenset[bytes]] | None:
    """The branch of whole partitions, and those that an overwrite of the branch of changes has made wrong; None: none.

    Args:
        table: that was committed to.
        kind, changes: of the commit.
    """
    scan, rows = table.settings.scan, {entry.partition for entry in changes.files}
    if kind != CommitKind.OVERWRITE or not rows or not _is_branch(table, scan.fallback_delta_branch):
        return None
    types = table.schema.partition_types
    return branch_of(table, scan.fallback_snapshot_branch or ""), frozenset(canonical_row(row, types) for row in rows)


def _is_branch(table: Table, name: str | None) -> bool:
    return table.settings.chain_table_enabled and bool(name) and table.branch.lower() == (name or "").lower()


def branch_of(table: Table, name: str) -> Table:
    """Another branch of the table, with the options that are stored there.

    Raises:
        SnapshotNotFound: there is no such branch.
    """
    other = replace(table, branch=name, opened=None)
    schema = other.schemas.latest()
    if schema is None:
        raise no_such_branch(table.file_io, table.location, name)
    opened = schema if table.server is None else None
    return replace(other, schema=schema, settings=TableSettings(schema.options), opened=opened)
