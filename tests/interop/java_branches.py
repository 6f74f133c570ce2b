"""Branches by the genuine Java; run where the JVM is."""

from __future__ import annotations

from typing import Any

import jpype


def create_branch(paimon: Any, path: str, name: str, tag: str | None = None) -> None:
    _table(paimon, path).createBranch(name, tag) if tag else _table(paimon, path).createBranch(name)


def merge_branch(paimon: Any, path: str, source: str, target: str) -> None:
    _table(paimon, path).branchManager().mergeBranch(source, target)


def fast_forward(paimon: Any, path: str, branch: str) -> None:
    _table(paimon, path).fastForward(branch)


def rollback_as_latest(paimon: Any, path: str, tag: str) -> None:
    table = _table(paimon, path)
    commit = table.newCommit("rollback-to-as-latest-java")
    assert commit.rollbackToAsLatest(table.tagManager().getOrThrow(tag))
    commit.close()


def read_optimized(paimon: Any, path: str, options: dict[str, str]) -> int:
    """How many rows $ro has."""
    table = _table(paimon, path).copy(jpype.java.util.HashMap(options))
    builder, count = paimon.table.system.ReadOptimizedTable(table).newReadBuilder(), 0
    with builder.newRead().createReader(builder.newScan().plan()).toCloseableIterator() as cursor:
        while cursor.hasNext():
            cursor.next()
            count += 1
    return count


def partitions(paimon: Any, path: str) -> list[tuple[str, int]]:
    """The partitions of a scan and how many rows their files have, as $partitions lists them."""
    table = _table(paimon, path)
    entries = table.newScan().listPartitionEntries()
    return sorted((str(e.partition().toString()), int(e.recordCount())) for e in entries)


def _table(paimon: Any, path: str) -> Any:
    return paimon.table.FileStoreTableFactory.create(paimon.fs.local.LocalFileIO.create(), paimon.fs.Path(path))
