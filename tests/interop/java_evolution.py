"""Tables with data evolution by the genuine Java: some columns of rows that are there. Runs where the JVM is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jpype
from genuine_values import codec, objects
from java_table import NO_OPTIONS, table_at

USER = "genuine-java"


def write_columns(
    paimon: Any,
    path: str,
    names: Sequence[str],
    parts: Sequence[tuple[int, Sequence[tuple[Any, ...]]]],
    options: Mapping[str, str] = NO_OPTIONS,
    read: int | None = None,
) -> None:
    """One commit that gives some columns new values, of all rows of some files.

    parts: the id of the first row of a file, and the new values of its rows.
    read: the snapshot since which nobody may have changed the columns; None: Java does not look.
    """
    table = table_at(paimon, path, options)
    write_type = table.rowType().project(jpype.java.util.ArrayList(list(names)))
    codecs = [codec(t) for t in write_type.getFieldTypes()]
    messages = jpype.java.util.ArrayList()
    builder = table.newBatchWriteBuilder()
    if read is not None:
        builder = builder.rowIdCheckConflict(jpype.java.lang.Long(read))
    for first, rows in parts:
        with builder.newWrite().withWriteType(write_type) as writer:
            for row in rows:
                writer.write(
                    paimon.data.GenericRow.of(objects([c.encode(v) for c, v in zip(codecs, row, strict=True)]))
                )
            for message in writer.prepareCommit():
                _number(message.newFilesIncrement().newFiles(), first)
                messages.add(message)
    with builder.newCommit() as commit:
        commit.commit(messages)


def _number(files: Any, first: int) -> None:
    """Gives files their row ids; several of one column follow each other."""
    made, ends = [], dict[str, int]()
    for file in list(files):
        of = str(file.writeCols()) if str(file.fileName()).endswith(".blob") else str(file.fileName())
        start = ends.get(of, first)
        ends[of] = start + int(file.rowCount())
        made.append(file.assignFirstRowId(jpype.JLong(start)))
    files.clear()
    for file in made:
        files.add(file)


def live_groups(paimon: Any, path: str) -> list[tuple[int, int, str]]:
    """(id of the first row, number of rows, name of the file that deletion vectors name) of the live files."""
    groups: dict[tuple[int, int], list[Any]] = {}
    for entry in table_at(paimon, path).store().newScan().plan().files():
        file = entry.file()
        if not str(file.fileName()).endswith(".blob") and ".vector." not in str(file.fileName()):
            groups.setdefault((int(file.nonNullFirstRowId()), int(file.rowCount())), []).append(file)
    oldest = {
        rows: min(files, key=lambda file: (int(file.maxSequenceNumber()), str(file.fileName())))
        for rows, files in groups.items()
    }
    return [(first, count, str(file.fileName())) for (first, count), file in sorted(oldest.items())]


NEW_IDS = {"data-evolution.compaction.rewrite-row-ids": "true"}


def compact_columns(paimon: Any, path: str, blobs: bool = False, options: Mapping[str, str] = NO_OPTIONS) -> bool:
    """Puts the columns of files together, and neighbouring small files; False: there is nothing to do."""
    table = table_at(paimon, path, {"compaction.min.file-num": "2", **options})
    package, snapshot = paimon.append.dataevolution, table.latestSnapshot().get()
    coordinator = package.DataEvolutionCompactCoordinator(table, blobs, False, snapshot)
    messages = jpype.java.util.ArrayList()
    try:
        while True:
            for task in coordinator.plan():
                messages.add(task.doCompact(table, USER))
    except paimon.table.source.EndOfScanException:
        pass
    if messages.isEmpty():
        return False
    messages.addAll(package.DataEvolutionCompactionCommitPreparation(table, snapshot).prepare(messages))
    with table.newCommit(USER) as commit:
        commit.commit(2**63 - 1, messages)
    return True


def reassign_row_ids(paimon: Any, path: str, specs: Sequence[Mapping[str, str]] = ()) -> tuple[int, ...] | None:
    """Gives rows new ids; specs: the values of partitions, none for all.

    Returns:
        The numbers of files, rows and index files, the first of the new ids and the next id; None: nothing is to do.
    """
    table, chosen = table_at(paimon, path), None
    if specs:
        maps = jpype.java.util.ArrayList([jpype.java.util.HashMap(dict(spec)) for spec in specs])
        default = table.coreOptions().partitionDefaultName()
        shape = table.schema().logicalPartitionType()
        chosen = paimon.partition.PartitionPredicate.fromMaps(shape, maps, default)
    done = paimon.append.dataevolution.DataEvolutionRowIdReassigner(table, chosen).reassign(USER)
    if not done.reassigned:
        return None
    counts = done.fileCount, done.rowCount, done.indexFileCount, done.firstAssignedRowId, done.nextRowId
    return tuple(map(int, counts))


def read_tracked(paimon: Any, path: str) -> list[tuple[Any, ...]]:
    """All rows with their ids and sequence numbers."""
    table = table_at(paimon, path)
    shape = paimon.table.SpecialFields.rowTypeWithRowTracking(table.rowType())
    codecs, rows = [codec(t) for t in shape.getFieldTypes()], []
    builder = table.newReadBuilder().withReadType(shape)
    with builder.newRead().createReader(builder.newScan().plan()).toCloseableIterator() as cursor:
        while cursor.hasNext():
            row = cursor.next()
            rows.append(tuple(c.decode(row, i) for i, c in enumerate(codecs)))
    return rows


def keys_where(paimon: Any, path: str, column: str, value: Any) -> list[Any]:
    """The first column of the rows in which a column has a value, as Java finds them by statistics and indexes."""
    table = table_at(paimon, path)
    shape = table.rowType()
    place = shape.getFieldIndex(column)
    encoded = codec(shape.getTypeAt(place)).encode(value)
    builder = table.newReadBuilder().withFilter(paimon.predicate.PredicateBuilder(shape).equal(place, encoded))
    first, found = codec(shape.getTypeAt(0)), []
    with builder.newRead().executeFilter().createReader(builder.newScan().plan()).toCloseableIterator() as cursor:
        while cursor.hasNext():
            found.append(first.decode(cursor.next(), 0))
    return found
