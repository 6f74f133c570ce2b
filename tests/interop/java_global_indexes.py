"""Indexes of a whole table by the genuine Java: made, dropped and used. Runs where the JVM is."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import jpype
from genuine_values import codec
from java_table import NO_OPTIONS, table_at

USER = "genuine-java"


def create_index(paimon: Any, path: str, column: str, kind: str, options: Mapping[str, str] = NO_OPTIONS) -> int:
    """An index over the rows that have none yet, as Java's procedures make it; how many files it has."""
    table, package = table_at(paimon, path, options), paimon.globalindex.sorted
    builder = package.SortedGlobalIndexBuilder(table, kind).withIndexField(column)
    found = builder.incrementalScan()
    if not found.isPresent():
        return 0
    messages = jpype.java.util.ArrayList()
    with tempfile.TemporaryDirectory() as scratch:
        spill = paimon.disk.IOManager.create(scratch)
        for split in package.SortedGlobalIndexBuilder.splitByContiguousRowRange(found.get().getRight()):
            messages.addAll(builder.build(split, spill))
        with table.newCommit(USER) as commit:
            commit.commit(messages)
        spill.close()
    return int(messages.size())


def index_entries(paimon: Any, path: str) -> list[tuple[str, str, int, int, int, int]]:
    """Type, name, first and last row id, field id and number of rows of the files of global indexes."""
    table, found = table_at(paimon, path), []
    for entry in table.store().newIndexFileHandler().scanEntries():
        file, meta = entry.indexFile(), entry.indexFile().globalIndexMeta()
        if meta is not None:
            where = int(meta.rowRangeStart()), int(meta.rowRangeEnd()), int(meta.indexFieldId())
            found.append((str(file.indexType()), str(file.fileName()), *where, int(file.rowCount())))
    return sorted(found, key=lambda each: each[1:3])


def rows_where(
    paimon: Any, path: str, conditions: Sequence[tuple[str, str, Any]], options: Mapping[str, str] = NO_OPTIONS
) -> tuple[list[tuple[Any, ...]], int]:
    """The rows that satisfy all conditions, and how many row ids the indexes left; -1: none was used.

    conditions: column, method of PredicateBuilder, and the value.
    """
    table = table_at(paimon, path, options)
    shape = table.rowType()
    make, parts = paimon.predicate.PredicateBuilder(shape), jpype.java.util.ArrayList()
    for column, method, value in conditions:
        place = shape.getFieldIndex(column)
        encode = codec(shape.getTypeAt(place)).encode
        if method in ("isNull", "isNotNull"):
            parts.add(getattr(make, method)(place))
        elif method == "in":
            parts.add(make.in_(place, jpype.java.util.ArrayList([encode(each) for each in value])))
        else:
            parts.add(getattr(make, method)(place, encode(value)))
    builder = table.newReadBuilder().withFilter(paimon.predicate.PredicateBuilder.and_(parts))
    plan = builder.newScan().plan()
    left = -1
    for split in plan.splits():
        if isinstance(split, paimon.globalindex.IndexedSplit):
            left = max(left, 0) + sum(int(span.count()) for span in split.rowRanges())
    codecs, rows = [codec(t) for t in shape.getFieldTypes()], []
    with builder.newRead().executeFilter().createReader(plan).toCloseableIterator() as cursor:
        while cursor.hasNext():
            row = cursor.next()
            rows.append(tuple(c.decode(row, i) for i, c in enumerate(codecs)))
    return rows, left
