"""Rows with VARIANT columns by the genuine Java; run where the JVM is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jpype
from java_table import table_at


def write(paimon: Any, path: str, rows: Sequence[tuple[int, str, str]]) -> None:
    """One commit of rows (k INT, v VARIANT given as JSON, s STRING)."""
    builder = table_at(paimon, path).newBatchWriteBuilder()
    writer, commit = builder.newWrite(), builder.newCommit()
    writer.withIOManager(paimon.disk.IOManager.create(jpype.java.lang.System.getProperty("java.io.tmpdir")))
    for k, v, s in rows:
        variant = paimon.data.variant.GenericVariant.fromJson(v)
        writer.write(paimon.data.GenericRow.of(jpype.JInt(k), variant, paimon.data.BinaryString.fromString(s)))
    commit.commit(writer.prepareCommit())
    writer.close()
    commit.close()
