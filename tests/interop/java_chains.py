"""Chain tables by the genuine Java; run where the JVM is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jpype
from genuine_values import codec
from java_table import table_at


def drop_partition(paimon: Any, path: str, spec: Mapping[str, str], options: Mapping[str, str]) -> str | None:
    """Drops a partition of a branch; a text: Java refuses so."""
    commit = table_at(paimon, path, options).newBatchWriteBuilder().newCommit()
    try:
        commit.truncatePartitions(jpype.java.util.ArrayList([jpype.java.util.HashMap(dict(spec))]))
    except jpype.JException as error:
        return str(error)
    finally:
        commit.close()
    return None


def expire_partitions(paimon: Any, path: str, options: Mapping[str, str]) -> list[dict[str, str]]:
    """Expires partitions; returns their values in the order of Java."""
    table = table_at(paimon, path, options)
    expired = table.store().newPartitionExpire("", table).expire(jpype.JLong(2**63 - 1))
    return [{str(key): str(spec.get(key)) for key in spec.keySet()} for spec in expired or ()]


def stream(
    paimon: Any, path: str, options: Mapping[str, str], position: int | None = None
) -> tuple[list[tuple[Any, ...]], int | None]:
    """The rows of a stream that are there now, each behind its row kind, and where it goes on.

    Args:
        position: where it went on the last time; None: it begins.
    """
    table = table_at(paimon, path, options)
    codecs = [codec(kind) for kind in table.rowType().getFieldTypes()]
    scan, read = table.newStreamScan(), table.newRead().withIOManager(paimon.disk.IOManager.create("/tmp"))
    if position is not None:
        scan.restore(position)
    rows: list[tuple[Any, ...]] = []
    for _ in range(100):  # a scan looks at one snapshot each time
        for split in scan.plan().splits():
            with read.createReader(split).toCloseableIterator() as cursor:
                while cursor.hasNext():
                    row = cursor.next()
                    values = tuple(one.decode(row, place) for place, one in enumerate(codecs))
                    rows.append((str(row.getRowKind().shortString()), *values))
    return rows, None if scan.checkpoint() is None else int(scan.checkpoint())


def audit_log(paimon: Any, path: str) -> list[tuple[Any, ...]]:
    """The rows of $audit_log."""
    table = paimon.table.system.AuditLogTable(table_at(paimon, path))
    builder, rows = table.newReadBuilder(), []
    codecs = [codec(kind) for kind in builder.readType().getFieldTypes()]
    with builder.newRead().createReader(builder.newScan().plan()).toCloseableIterator() as cursor:
        while cursor.hasNext():
            row = cursor.next()
            rows.append(tuple(one.decode(row, place) for place, one in enumerate(codecs)))
    return rows
