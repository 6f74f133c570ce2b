"""Rows changed by genuine Java, as its DELETE and UPDATE commands do it; run where the JVM is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jpype
from genuine_values import codec, objects
from java_table import table_at

Row = tuple[Any, ...]
BATCH = 2**63 - 1
USER = "genuine-java"


def rows_by_file(paimon: Any, path: str) -> dict[str, list[Row]]:
    """The rows of each live file of an append table, in their order, whether or not they are deleted."""
    table, found = table_at(paimon, path), dict[str, list[Row]]()
    codecs = [codec(t) for t in table.rowType().getFieldTypes()]
    for split in table.newSnapshotReader().read().dataSplits():
        for file in split.dataFiles():
            one = paimon.table.source.DataSplit.builder().withPartition(split.partition()).withBucket(split.bucket())
            one = one.withBucketPath(split.bucketPath()).withTotalBuckets(split.totalBuckets()).rawConvertible(True)
            whole = one.withDataFiles(jpype.java.util.ArrayList([file])).build()
            rows = found[str(file.fileName())] = []
            with table.newReadBuilder().newRead().createReader(whole).toCloseableIterator() as cursor:
                while cursor.hasNext():
                    row = cursor.next()
                    rows.append(tuple(c.decode(row, i) for i, c in enumerate(codecs)))
    return found


def rewrite_files(paimon: Any, path: str, names: Sequence[str], rows: Sequence[Row]) -> None:
    """Replaces files of an append table by rows, in one commit (copy on write)."""
    table = table_at(paimon, path, {"write-only": "true"})
    none, lists = jpype.java.util.ArrayList(), jpype.java.util.ArrayList
    codecs, messages = [codec(t) for t in table.rowType().getFieldTypes()], []
    for split in table.newSnapshotReader().read().dataSplits():
        gone = [file for file in split.dataFiles() if str(file.fileName()) in names]
        if gone:
            change = paimon.io.DataIncrement(none, lists(gone), none)
            keep = paimon.io.CompactIncrement.emptyIncrement()
            made = paimon.table.sink.CommitMessageImpl
            messages.append(made(split.partition(), split.bucket(), split.totalBuckets(), change, keep))
    io_manager = paimon.disk.IOManager.create(str(jpype.java.lang.System.getProperty("java.io.tmpdir")))
    with table.newWrite(USER).withIOManager(io_manager) as writer:
        for row in rows:
            values = objects([c.encode(v) for c, v in zip(codecs, row, strict=True)])
            writer.write(paimon.data.GenericRow.of(values))
        messages = [*writer.prepareCommit(True, BATCH), *messages]
        with table.newCommit(USER) as commit:
            commit.commit(BATCH, lists(messages))


def streamed_changelog(paimon: Any, path: str, first: int) -> list[tuple[str, Row]]:
    """What a streaming reader gets of the changelog, from a snapshot on: row kinds and rows, in order."""
    start = {"scan.mode": "from-snapshot", "scan.snapshot-id": str(first)}
    table = table_at(paimon, path).copyWithoutTimeTravel(jpype.java.util.HashMap(start))  # in the newest schema
    codecs, found = [codec(t) for t in table.rowType().getFieldTypes()], list[tuple[str, Row]]()
    builder, last = table.newReadBuilder(), table.snapshotManager().latestSnapshotId()
    if last is None:  # a table that no change has given a row would be waited for without end
        return []
    scan = builder.newStreamScan()
    while scan.checkpoint() is None or scan.checkpoint() <= last:
        with builder.newRead().createReader(scan.plan()).toCloseableIterator() as cursor:
            while cursor.hasNext():
                row = cursor.next()
                values = tuple(c.decode(row, i) for i, c in enumerate(codecs))
                found.append((str(row.getRowKind().shortString()), values))
    return found
