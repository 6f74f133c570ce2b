"""Java's writers of dynamic buckets, for the process that has the JVM: functions of Java's package and plain values.

Rows are (k, p, v): a key that is not NULL, a partition, a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jpype
from genuine_values import codec, objects
from java_table import table_at

Row = tuple[int | str, str | None, int | None]
BATCH = 2**63 - 1


def assign_hashes(
    paimon: Any, calls: Sequence[Sequence[int]], target: int, most: int, assigner: int, assigners: int
) -> list[list[int]]:
    """The buckets that SimpleHashBucketAssigner gives to hashes of one partition."""
    simple = paimon.index.SimpleHashBucketAssigner(assigners, assigner, target, most)
    row = paimon.data.BinaryRow.EMPTY_ROW
    return [[int(simple.assign(row, value)) for value in call] for call in calls]


def write_dynamic(
    paimon: Any,
    path: str,
    rows: Sequence[Row],
    kinds: Sequence[str] | None,
    assigners: int,
    overwrite: Mapping[str, str] | None = None,
) -> None:
    """One commit of a job with so many assigners, which writes and may compact."""
    table = table_at(paimon, path)
    options = table.coreOptions()
    indexes, snapshots = table.store().newIndexFileHandler(), table.snapshotManager()
    target, most = options.dynamicBucketTargetRowNum(), options.dynamicBucketMaxBuckets()
    count = min(assigners, most) if most > 0 else assigners
    each = [
        paimon.index.HashBucketAssigner(snapshots, "java", indexes, count, count, number, target, most)
        for number in range(count)
    ]
    extract = paimon.table.sink.RowPartitionKeyExtractor(table.schema())
    with _writer(paimon, table) as writer:
        if overwrite is not None:
            writer.withIgnorePreviousFiles(True)
        for row in _rows(paimon, table, rows, kinds):
            partition, key = extract.partition(row), extract.trimmedPrimaryKey(row).hashCode()
            number = paimon.index.BucketAssigner.computeAssigner(partition.hashCode(), key, count, count)
            writer.write(row, each[int(number)].assign(partition, key))
        _commit(table, writer, overwrite)


def write_cross_partition(paimon: Any, path: str, rows: Sequence[Row], kinds: Sequence[str] | None) -> None:
    """One commit of a job with one assigner, which writes and may compact."""
    table = table_at(paimon, path)
    assigner = paimon.crosspartition.GlobalIndexAssigner(table)
    with _writer(paimon, table) as writer:

        def accept(row: Any, bucket: Any) -> None:
            writer.write(row, int(bucket))

        sink = jpype.JProxy("java.util.function.BiConsumer", dict={"accept": accept})
        assigner.open(64 << 20, None, _io_manager(paimon), 1, 0, sink)
        with paimon.crosspartition.IndexBootstrap(table).bootstrap(1, 0).toCloseableIterator() as keys:
            while keys.hasNext():
                assigner.bootstrapKey(keys.next())
        assigner.endBoostrap(False)  # sic
        for row in _rows(paimon, table, rows, kinds):
            assigner.processInput(row)
        _commit(table, writer, None)
        assigner.close()


def _io_manager(paimon: Any) -> Any:
    return paimon.disk.IOManager.create(str(jpype.java.lang.System.getProperty("java.io.tmpdir")))


def _writer(paimon: Any, table: Any) -> Any:
    return table.newWrite("java").withIOManager(_io_manager(paimon))


def _rows(paimon: Any, table: Any, rows: Sequence[Row], kinds: Sequence[str] | None) -> list[Any]:
    codecs, made = [codec(t) for t in table.rowType().getFieldTypes()], []
    for row, kind in zip(rows, kinds or ["+I"] * len(rows), strict=True):
        values = objects([c.encode(value) for c, value in zip(codecs, row, strict=True)])
        made.append(paimon.data.GenericRow.ofKind(paimon.types.RowKind.fromShortString(kind), values))
    return made


def _commit(table: Any, writer: Any, overwrite: Mapping[str, str] | None) -> None:
    messages = jpype.java.util.ArrayList(writer.prepareCommit(True, BATCH))
    with table.newCommit("java") as commit:
        if overwrite is not None:
            commit.withOverwrite(jpype.java.util.HashMap(dict(overwrite)))
        commit.commit(BATCH, messages)
