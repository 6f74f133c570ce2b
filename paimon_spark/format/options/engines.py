"""Kinds of tables, merge engines and changelog producers (features 3.5, 9.5; Java: TableType, CoreOptions)."""

from __future__ import annotations

from enum import StrEnum


class TableKind(StrEnum):
    """What a table is (Java: TableType). Of the others only catalogs know."""

    TABLE = "table"
    MATERIALIZED_TABLE = "materialized-table"
    OBJECT_TABLE = "object-table"
    FORMAT_TABLE = "format-table"


class MergeEngine(StrEnum):
    """What becomes of rows with the same primary key."""

    DEDUPLICATE = "deduplicate"
    PARTIAL_UPDATE = "partial-update"
    AGGREGATION = "aggregation"
    FIRST_ROW = "first-row"

    @property
    def keeps_whole_rows(self) -> bool:
        """True if a result is one of the rows that were merged.

        If it is not, a condition on values cannot be applied to rows before the merge, and statistics of values cannot
        exclude files.
        """
        return self in (MergeEngine.DEDUPLICATE, MergeEngine.FIRST_ROW)

    @property
    def has_functions(self) -> bool:
        """True if columns are merged by aggregate functions, which options choose and which must fit the columns."""
        return not self.keeps_whole_rows


class ChangelogProducer(StrEnum):
    """What writes the changelog files of a table."""

    NONE = "none"
    INPUT = "input"
    FULL_COMPACTION = "full-compaction"
    LOOKUP = "lookup"

    @property
    def is_compaction(self) -> bool:
        """True if a compaction writes the changelog."""
        return self in (ChangelogProducer.LOOKUP, ChangelogProducer.FULL_COMPACTION)
