"""Branches by the genuine Java; run where the JVM is."""

from __future__ import annotations

from typing import Any

from genuine_values import codec
from java_table import table_at


def create_branch(paimon: Any, path: str, name: str, tag: str | None = None) -> None:
    table_at(paimon, path).createBranch(name, tag) if tag else table_at(paimon, path).createBranch(name)


def delete_branch(paimon: Any, path: str, name: str) -> None:
    table_at(paimon, path).deleteBranch(name)


def merge_branch(paimon: Any, path: str, source: str, target: str) -> None:
    table_at(paimon, path).branchManager().mergeBranch(source, target)


def fast_forward(paimon: Any, path: str, branch: str) -> None:
    table_at(paimon, path).fastForward(branch)


def rollback_as_latest(paimon: Any, path: str, tag: str) -> None:
    table = table_at(paimon, path)
    commit = table.newCommit("rollback-to-as-latest-java")
    assert commit.rollbackToAsLatest(table.tagManager().getOrThrow(tag))
    commit.close()


def read_optimized(paimon: Any, path: str, options: dict[str, str]) -> int:
    """How many rows $ro has."""
    table = table_at(paimon, path, options)
    builder, count = paimon.table.system.ReadOptimizedTable(table).newReadBuilder(), 0
    with builder.newRead().createReader(builder.newScan().plan()).toCloseableIterator() as cursor:
        while cursor.hasNext():
            cursor.next()
            count += 1
    return count


def streamed(paimon: Any, path: str, start: int, end: int) -> list[tuple[str, tuple[Any, ...]]]:
    """What a streaming reader gets of the snapshots from start to end: (row kind, values)."""
    table = table_at(paimon, path, {"scan.snapshot-id": str(start)})
    codecs = [codec(t) for t in table.rowType().getFieldTypes()]
    scan, rows = table.newStreamScan(), []
    while int(scan.checkpoint() or start) <= end:
        for split in scan.plan().splits():
            with table.newRead().createReader(split).toCloseableIterator() as cursor:
                while cursor.hasNext():
                    row = cursor.next()
                    values = tuple(c.decode(row, i) for i, c in enumerate(codecs))
                    rows.append((str(row.getRowKind().shortString()), values))
    return rows
