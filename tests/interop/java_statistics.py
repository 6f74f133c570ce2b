"""Statistics of tables by the genuine Java; run where the JVM is."""

from __future__ import annotations

from typing import Any

import jpype
from java_table import table_at

Found = tuple[int, ...] | tuple[None, ...]


def statistics(paimon: Any, path: str, options: dict[str, str]) -> tuple[tuple[int, ...], dict[str, tuple[Any, ...]]]:
    """What Java reads of the statistics of a table.

    Returns:
        (snapshot id, schema id, rows, bytes), and for each column (id, distinct, nulls, average length, longest, least
        value, greatest value): the values as Java's serializers print them.
    """
    table = table_at(paimon, path, options)
    found = table.statistics().get()
    types = {str(field.name()): field.type() for field in table.schema().fields()}
    columns = {
        str(entry.getKey()): _column(paimon, entry.getValue(), types[str(entry.getKey())])
        for entry in found.colStats().entrySet()
    }
    numbers = (
        found.snapshotId(),
        found.schemaId(),
        *(_number(n) for n in (found.mergedRecordCount(), found.mergedRecordSize())),
    )
    return tuple(int(n) for n in numbers), columns


def _column(paimon: Any, column: Any, data_type: Any) -> tuple[Any, ...]:
    counts = (column.distinctCount(), column.nullCount(), column.avgLen(), column.maxLen())
    ends = (column.min(), column.max())
    return (
        int(column.colId()),
        *(_number(count) for count in counts),
        *(_text(paimon, end.get(), data_type) if end.isPresent() else None for end in ends),
    )


def _number(optional: Any) -> int | None:
    return int(optional.getAsLong()) if optional.isPresent() else None


def _text(paimon: Any, value: Any, data_type: Any) -> str:
    """Read by Java from our text, and printed again from the value."""
    return str(paimon.data.serializer.InternalSerializers.create(data_type).serializeToString(value))


def update_statistics(paimon: Any, path: str, rows: int, size: int, column: str) -> None:
    """Java commits statistics of its own: of one STRING column."""
    table = table_at(paimon, path)
    snapshot = table.snapshotManager().latestSnapshot()
    field = next(f for f in table.schema().fields() if str(f.name()) == column)
    number = jpype.java.lang.Long
    known = paimon.stats.ColStats.newColStats(
        field.id(), number(2), paimon.data.BinaryString.fromString("a"), paimon.data.BinaryString.fromString("ü"),
        number(1), number(3), number(4),
    )  # fmt: skip
    columns = jpype.java.util.HashMap({column: known})
    commit = table.newBatchWriteBuilder().newCommit()
    commit.updateStatistics(
        paimon.stats.Statistics(snapshot.id(), snapshot.schemaId(), number(rows), number(size), columns)
    )
    commit.close()
