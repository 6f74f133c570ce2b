"""System tables by the genuine Java; run where the JVM is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jpype
from genuine_values import codec
from java_table import table_at

JavaTable = tuple[list[tuple[str, str]], list[tuple[Any, ...]]]
"""Names and types of the columns, and the rows."""


def java_tables(paimon: Any, path: str, names: Sequence[str], branch: str = "main") -> dict[str, JavaTable | str]:
    """For each name the columns and rows of the system table, or why Java cannot read it. Runs where the JVM is."""
    table = table_at(paimon, path, {"branch": branch})
    found: dict[str, JavaTable | str] = {}
    for name in names:
        try:
            found[name] = java_rows(paimon, paimon.table.system.SystemTableLoader.load(name, table))
        except (jpype.JException, NotImplementedError) as error:
            found[name] = str(error)
    return found


def java_rows(paimon: Any, table: Any) -> JavaTable:
    builder = table.newReadBuilder()
    fields = list(builder.readType().getFields())
    codecs, rows = [codec(field.type()) for field in fields], []
    read = builder.newRead().withIOManager(paimon.disk.IOManager.create("/tmp"))
    for split in builder.newScan().plan().splits():
        with read.createReader(split).toCloseableIterator() as cursor:
            while cursor.hasNext():
                row = cursor.next()
                rows.append(tuple(c.decode(row, i) for i, c in enumerate(codecs)))
    return [(str(field.name()), str(field.type().asSQLString())) for field in fields], rows
