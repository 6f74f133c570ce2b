"""Options of indexes of a whole table (features 3.10 and 3.20)."""

from __future__ import annotations

from paimon_spark.format.options.option import MB, Option, Settings, boolean, choice, memory
from paimon_spark.format.options.value_texts import parse_choice, parse_int

_MODES = parse_choice("fast", "full", "detail")


# One option is one entry, and not a line for each argument.
# fmt: off
class GlobalIndexSettings(Settings):
    """How indexes of a whole table are made, used and kept."""

    enabled = boolean("global-index.enabled", True,
        "`false`: reads do without indexes of the whole table. See [global indexes](../guides/global-indexes.md).")
    update_action = choice("global-index.column-update-action", ("THROW_ERROR", "DROP_PARTITION_INDEX", "IGNORE"),
        "What an UPDATE or MERGE of a column that a global index is over does: `THROW_ERROR` (it is refused), "
        "`DROP_PARTITION_INDEX` (the index files of the partitions that change go, in the same snapshot) or `IGNORE` "
        "(the index stays as it is; reads with this value do without it, because it may have old values).")
    search_mode: Option[str | None] = Option("global-index.search-mode", None, _MODES,
        "Which rows a read with a condition finds of those that no global index covers: all of them with `full` and "
        "`detail`, and none with `fast`. Without the option all are found; the official default is `fast`.")
    scalar_search_mode: Option[str | None] = Option("scalar-index.search-mode", None, _MODES,
        "The same, for `btree` and `bitmap` indexes alone. It goes before `global-index.search-mode`.")
    btree_block_size = memory("btree-index.block-size", 64 * 1024, "The size of a block of keys of a `btree` index.")
    btree_compression = choice("btree-index.compression", ("none", "zstd", "lz4"),
        "How the blocks of a `btree` index are compressed.")
    btree_fallback = memory("btree-index.fallback-scan-max-size", 256 * MB,
        "A condition that needs a range of keys uses a `btree` index of at most this size. 0: none.")
    bitmap_block_size = memory("bitmap-index.dictionary-block-size", 16 * 1024,
        "The size of a block of keys of a `bitmap` index.")
    bitmap_compression = choice("bitmap-index.compression", ("none", "zstd", "lz4"),
        "How the blocks of keys of a `bitmap` index are compressed.")
    bitmap_fallback = memory("bitmap-index.fallback-scan-max-size", 256 * MB,
        "A condition that needs a range of keys uses a `bitmap` index of at most this size. 0: none.")
    records_per_range: Option[int] = Option("sorted-index.records-per-range", 10_000_000, parse_int,
        "About how many rows one file of a `btree` or `bitmap` index is over.",
        older=("btree-index.records-per-range",))
