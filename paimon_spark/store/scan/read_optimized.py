"""The files of a read-optimized read: those of the highest level, without a merge (Java: ReadOptimizedTable)."""

from __future__ import annotations

from dataclasses import replace

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.merge.compaction.rules import compaction_rules
from paimon_spark.store.read.splits import ReadUnit, Split


def top_level(schema: TableSchema, settings: TableSettings) -> int | None:
    """The highest level of a table; None for a table without primary key, which has no levels."""
    return compaction_rules(settings).num_levels - 1 if schema.primary_keys else None


def of_level(split: ReadUnit, level: int) -> Split:
    """The split with only its files of one level; there may be none.

    Raises:
        UnsupportedFeature: the split is not of a state.
    """
    if not isinstance(split, Split):
        raise UnsupportedFeature(
            "reading $ro: it shows a state as it was compacted, not a change nor postponed rows; leave out the options "
            "'incremental-*' and 'postpone.merge-on-read', or read the table itself"
        )
    return replace(split, raw_files=tuple(f for f in split.files if f.level == level), sections=())
