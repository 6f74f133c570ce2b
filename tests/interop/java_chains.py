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
