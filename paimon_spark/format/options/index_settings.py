"""Options of indexes of a whole table (features 3.10 and 3.20)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from paimon_spark.format.options.option import MB, Option, Settings, boolean, choice, memory
from paimon_spark.format.options.value_texts import parse_choice, parse_int

_MODES = parse_choice("fast", "full", "detail")
_OF_DISKANN = (
    "build-preset", "max-degree", "build-search-list-size", "alpha", "seed", "memory-budget-bytes", "storage-layout",
    "raw-vector-encoding", "build-distance",
)  # fmt: skip
_AS_THEY_ARE = (
    "nlist", "expected-vector-count", "pq.m", "pq.code-ratio", "pq.bits", "rq.bits", "target-recall",
    "max-bytes-per-vector", "deployment-profile",
)  # fmt: skip
SAMPLE_KEY = "train.sample-ratio"
VECTOR_OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("index.dimension", "dimension"), "dimension"),
        **dict.fromkeys(("distance.metric", "metric"), "metric"),
        **{key: key for key in _AS_THEY_ARE},
        **dict.fromkeys(("pq.use-opq", "use-opq"), "use-opq"),
        **{key: f"diskann.{key}" for key in _OF_DISKANN},
        **{f"diskann.{key}": f"diskann.{key}" for key in _OF_DISKANN},
        SAMPLE_KEY: SAMPLE_KEY,
    }
)
"""How indexes over vectors are made: what stands behind ``<type>.`` or ``fields.<column>.`` in a key, and how the
library that makes them calls it (Java: NativeVectorGlobalIndexerFactory, 2.0)."""
REFINE_KEYS = ("refine_factor", "refine-factor", "rerank_factor", "rerank-factor")
"""How many times as many rows a search takes from an index, to compare the vectors themselves (Java:
VectorSearchRefineOptions, 2.0). They stand behind ``fields.<column>.`` and the type of the index, or one of these."""
TEXT_OPTIONS = (
    "tokenizer", "ngram.min-gram", "ngram.max-gram", "ngram.prefix-only", "jieba.search-mode", "jieba.ordinal-position",
    "lower-case", "max-token-length", "ascii-folding", "stem", "language", "remove-stop-words", "stop-words",
    "with-position",
)  # fmt: skip
"""How indexes over texts are made: what stands behind ``full-text.`` in a key."""


# One option is one entry, and not a line for each argument.
# fmt: off
class GlobalIndexSettings(Settings):
    """How indexes of a whole table are made, used and kept."""

    enabled: Final = boolean("global-index.enabled", True,
        "`false`: reads do without indexes of the whole table. See [global indexes](../guides/global-indexes.md).")
    update_action: Final = choice("global-index.column-update-action",
        ("THROW_ERROR", "DROP_PARTITION_INDEX", "IGNORE"),
        "What an UPDATE or MERGE of a column that a global index is over does: `THROW_ERROR` (it is refused), "
        "`DROP_PARTITION_INDEX` (the index files of the partitions that change go, in the same snapshot) or `IGNORE` "
        "(the index stays as it is; reads with this value do without it, because it may have old values).")
    search_mode: Option[str | None] = Option("global-index.search-mode", None, _MODES,
        "Which rows a read with a condition, or a search, finds of those that no global index covers: all of them with "
        "`full` and `detail`, and none with `fast`. Without the option all are found; the official default is `fast`.")
    scalar_search_mode: Option[str | None] = Option("scalar-index.search-mode", None, _MODES,
        "The same, for `btree` and `bitmap` indexes alone. It goes before `global-index.search-mode`.")
    vector_search_mode: Option[str | None] = Option("vector-index.search-mode", None, _MODES,
        "The same, for searches of vectors.")
    text_search_mode: Option[str | None] = Option("full-text-index.search-mode", None, _MODES,
        "The same, for searches of texts.")
    btree_block_size: Final = memory("btree-index.block-size", 64 * 1024,
        "The size of a block of keys of a `btree` index.")
    btree_compression: Final = choice("btree-index.compression", ("none", "zstd", "lz4"),
        "How the blocks of a `btree` index are compressed.")
    btree_fallback: Final = memory("btree-index.fallback-scan-max-size", 256 * MB,
        "A condition that needs a range of keys uses a `btree` index of at most this size. 0: none.")
    bitmap_block_size: Final = memory("bitmap-index.dictionary-block-size", 16 * 1024,
        "The size of a block of keys of a `bitmap` index.")
    bitmap_compression: Final = choice("bitmap-index.compression", ("none", "zstd", "lz4"),
        "How the blocks of keys of a `bitmap` index are compressed.")
    bitmap_fallback: Final = memory("bitmap-index.fallback-scan-max-size", 256 * MB,
        "A condition that needs a range of keys uses a `bitmap` index of at most this size. 0: none.")
    records_per_range: Option[int] = Option("sorted-index.records-per-range", 10_000_000, parse_int,
        "About how many rows one file of a `btree` or `bitmap` index is over.",
        older=("btree-index.records-per-range",))
    rows_per_shard: Option[int] = Option("global-index.row-count-per-shard", 100_000, parse_int,
        "How many rows one file of an index over vectors or texts is over, at most.")
