"""The statistics of a table as ANALYZE stores them (format section 10; Java: Statistics, ColStats)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from paimon_spark.format.json_text import format_json
from paimon_spark.format.paths import partition_text
from paimon_spark.format.types import TIMESTAMPS, DataType, Root

NUMBERS = frozenset({Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT, Root.DECIMAL, Root.FLOAT, Root.DOUBLE})
TEXTS = frozenset({Root.CHAR, Root.VARCHAR, Root.BINARY, Root.VARBINARY})
ORDERED = NUMBERS | TIMESTAMPS | {Root.BOOLEAN, Root.DATE, Root.TIME}
ANALYZED = ORDERED | TEXTS
"""Types of columns that have statistics: those of TEXTS have lengths, all others a least and a greatest value."""

_SIZES = {
    Root.BOOLEAN: 1,
    Root.TINYINT: 1,
    Root.SMALLINT: 2,
    Root.INT: 4,
    Root.FLOAT: 4,
    Root.DATE: 4,
    Root.TIME: 4,
    Root.CHAR: 20,
    Root.VARCHAR: 20,
    Root.BINARY: 100,
    Root.VARBINARY: 100,
}


@dataclass(frozen=True)
class ColumnStatistics:
    """Statistics of the values of a column; None stands for unknown.

    Attributes:
        column_id: the field id.
        distinct_count: the approximate number of distinct values, without nulls.
        min, max: the texts that value_text gives.
        null_count: the number of rows with a null.
        avg_len, max_len: characters of texts, bytes of binary columns; else the size that Spark plans with.
    """

    column_id: int
    distinct_count: int | None = None
    min: str | None = None
    max: str | None = None
    null_count: int | None = None
    avg_len: int | None = None
    max_len: int | None = None


@dataclass(frozen=True)
class TableStatistics:
    """The result of an analysis of a table.

    Attributes:
        snapshot_id, schema_id: the snapshot that was analysed, and its schema.
        merged_record_count: the number of rows that a read returns.
        merged_record_size: approximately the bytes of data files that these rows take.
        columns: by name.
    """

    snapshot_id: int
    schema_id: int
    merged_record_count: int
    merged_record_size: int
    columns: Mapping[str, ColumnStatistics] = field(default_factory=dict)


def encode_statistics(statistics: TableStatistics) -> bytes:
    """The bytes of the statistics file, as Java lays it out."""
    columns = {name: _column_json(column) for name, column in statistics.columns.items()}
    json = {
        "snapshotId": statistics.snapshot_id,
        "schemaId": statistics.schema_id,
        "mergedRecordCount": statistics.merged_record_count,
        "mergedRecordSize": statistics.merged_record_size,
        "colStats": columns,
    }
    return format_json(json).encode("utf-8")


def value_text(value: Any, data_type: DataType) -> str:
    """An internal value as text (Java: Serializer.serializeToString); dates and times of day are their numbers.

    Args:
        data_type: one of ORDERED.
    """
    return partition_text(value, data_type, legacy=data_type.root not in TIMESTAMPS)


def planned_size(data_type: DataType) -> int:
    """The size in bytes that Spark assumes for a value of the type (Spark: DataType.defaultSize)."""
    if data_type.root is Root.DECIMAL:
        return 8 if (data_type.precision or 10) <= 18 else 16
    return _SIZES.get(data_type.root, 8)


def _column_json(column: ColumnStatistics) -> dict[str, Any]:
    known = {
        "distinctCount": column.distinct_count,
        "min": column.min,
        "max": column.max,
        "nullCount": column.null_count,
        "avgLen": column.avg_len,
        "maxLen": column.max_len,
    }
    return {"colId": column.column_id, **{key: value for key, value in known.items() if value is not None}}
