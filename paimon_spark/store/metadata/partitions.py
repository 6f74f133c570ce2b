"""Partitions as text, and sets of partitions with tests for rows and manifests (Java: PartitionPredicate)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from paimon_spark.errors import OptionError
from paimon_spark.format.binary_row import decode_arity_row, row_decoder
from paimon_spark.format.manifest import ManifestFileMeta
from paimon_spark.format.paths import partition_path
from paimon_spark.format.types import DataField
from paimon_spark.merge.keys.key_order import SortKey, sort_key_of
from paimon_spark.store.metadata.table import Table

_Pattern: TypeAlias = tuple["SortKey | None", ...]
_MANY = 1000  # more partitions than that are not compared with the statistics of a manifest one by one


def describe_partition(table: Table, row: bytes) -> str:
    """A partition row as text, for messages."""
    return f"partition {format_partition(table, row)}" if table.schema.partition_fields else "the table"


def format_partition(table: Table, row: bytes) -> str:
    """``k=v/k2=v2``, the values as casts to a string print them."""
    fields = table.schema.partition_fields
    values = decode_arity_row(row, [f.type for f in fields])
    return partition_path(values, fields, table.settings.partitions.default_name, legacy=False).rstrip("/")


class PartitionFilter:
    """Partitions given by values for all or some of the partition columns.

    Values are compared, not their bytes, which differ between writers for some nulls.
    """

    def __init__(self, fields: Sequence[DataField], patterns: Iterable[Mapping[str, Any]]) -> None:
        """The partitions that match at least one pattern.

        Args:
            fields: the partition columns of the table.
            patterns: each gives the internal values (None for null) of some columns; the other columns match any value.

        Raises:
            OptionError: a pattern names a column that is not a partition column.
        """
        self._arity = len(fields).to_bytes(4, "big")
        self._decode = row_decoder([f.type for f in fields])
        self._orders = [sort_key_of((f.type,)) for f in fields]
        names = [f.name for f in fields]
        self._by_columns: dict[tuple[int, ...], set[_Pattern]] = {}
        for pattern in patterns:
            unknown = sorted(pattern.keys() - set(names))
            if unknown:
                raise OptionError(
                    f"{', '.join(unknown)}: no partition column of the table, whose partition columns are "
                    f"{', '.join(names) or 'none'}"
                )
            columns = tuple(i for i, name in enumerate(names) if name in pattern)
            values = tuple(self._key(i, pattern[names[i]]) for i in columns)
            self._by_columns.setdefault(columns, set()).add(values)
        self._known: dict[bytes, bool] = {}

    @staticmethod
    def of_rows(fields: Sequence[DataField], rows: Iterable[bytes]) -> PartitionFilter:
        """Exactly the partitions of these (arity-prefixed) rows."""
        decode = row_decoder([f.type for f in fields])
        names = [f.name for f in fields]
        return PartitionFilter(fields, [dict(zip(names, decode(row[4:]), strict=True)) for row in set(rows)])

    def matches(self, row: bytes) -> bool:
        """True if a partition row (arity-prefixed) is in the set."""
        if row not in self._known:
            keys = tuple(self._key(i, value) for i, value in enumerate(self._decode(row[4:])))
            self._known[row] = any(
                tuple(keys[i] for i in columns) in patterns for columns, patterns in self._by_columns.items()
            )
        return self._known[row]

    def may_hold(self, meta: ManifestFileMeta) -> bool:
        """False only if the partition statistics prove that a manifest names no file of these partitions."""
        stats = meta.partition_stats
        if stats.min_values[:4] != self._arity or stats.max_values[:4] != self._arity:
            return True
        if sum(map(len, self._by_columns.values())) > _MANY:
            return True
        low = [self._key(i, v) for i, v in enumerate(self._decode(stats.min_values[4:]))]
        high = [self._key(i, v) for i, v in enumerate(self._decode(stats.max_values[4:]))]
        nulls = stats.null_counts if stats.null_counts else (None,) * len(low)

        def inside(column: int, value: SortKey | None) -> bool:
            first, last, null_count = low[column], high[column], nulls[column]
            if value is None:
                return null_count != 0
            return null_count is None if first is None or last is None else first <= value <= last

        return any(
            all(inside(column, value) for column, value in zip(columns, values, strict=True))
            for columns, patterns in self._by_columns.items()
            for values in patterns
        )

    def _key(self, column: int, value: Any) -> SortKey | None:
        return None if value is None else self._orders[column]((value,))
