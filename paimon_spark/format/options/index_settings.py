"""Options of indexes of a whole table (features 3.10 and 3.20)."""

from __future__ import annotations

from paimon_spark.format.options.option import Settings, choice


# One option is one entry, and not a line for each argument.
# fmt: off
class GlobalIndexSettings(Settings):
    """How indexes of a whole table are made, used and kept."""

    update_action = choice("global-index.column-update-action", ("THROW_ERROR", "DROP_PARTITION_INDEX", "IGNORE"),
        "What an UPDATE or MERGE of a column that a global index is over does: `THROW_ERROR` (it is refused), "
        "`DROP_PARTITION_INDEX` (the index files of the partitions that change go, in the same snapshot) or `IGNORE` "
        "(the index stays as it is). See [global indexes](../guides/global-indexes.md).")
