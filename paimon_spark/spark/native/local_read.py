"""Reads of few rows, by their primary key or in its order, or of small tables, which this process does itself.

A job of Spark takes longer to start than such a read takes. The rows become a local relation of Spark, whose size it
knows: it sends a small side of a join to all tasks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st

from paimon_spark.arrow.conform import conform_batch
from paimon_spark.arrow.predicates.predicate import Compare, In, Op, Predicate, conjuncts
from paimon_spark.format.file_index.row_sets import decode_rows
from paimon_spark.spark.adapters.batches import spark_arrow_schema
from paimon_spark.spark.adapters.dataframes import MOST_ROWS, arrow_dataframe
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import ReadUnit, Split
from paimon_spark.store.scan.table_scan import Scan
from paimon_spark.store.storage.parallel import map_parallel

MOST_KEYS = 32
MOST_FILES = 32
MOST_BYTES = 512 * 2**20
"""Of the files: a file without a sorted index of its keys may be read whole."""
_ROW_GROUP = 128 * 2**20
"""About the most bytes of a file that are read for its first rows."""
MOST_SELECTED = 1_000
"""Rows that indexes leave, of which each may be in a page of its own, or that come first in the order of a key."""
SMALL_FILES = 8
SMALL_BYTES = 4 * 2**20
"""Of the files, and of the rows in memory: what Spark holds of a plan, and on Connect a client sends with it."""
_THREADS = 4
U = TypeVar("U")


def is_key_lookup(table: Table, predicate: Predicate, splits: Sequence[ReadUnit]) -> bool:
    """True if a condition leaves few keys, and a plan few files."""
    keys = _keys_left(table.schema.primary_keys, predicate)
    return 0 < keys <= MOST_KEYS and _has_few_files(splits)


def wants_first_keys(scan: Scan, splits: Sequence[Split]) -> bool:
    """True if a read wants few rows, those that come first in the order of the key, and a plan has few files."""
    if scan.leading is None:
        return False
    parts = sum(len(split.raw_files) + len(split.sections) for split in splits)
    return scan.leading * parts <= MOST_SELECTED and _has_few_files(splits, _ROW_GROUP)


def _has_few_files(splits: Sequence[ReadUnit], most: float = math.inf) -> bool:
    """True if so few files are read, of each so many bytes at most, that this process may do it."""
    sizes = [min(file.file_size, most) for split in splits for file in split.files]
    return len(sizes) <= MOST_FILES and sum(sizes) <= MOST_BYTES


def is_row_lookup(splits: Sequence[Split]) -> bool:
    """True if indexes leave few rows of a plan, in few files."""
    files = [file for split in splits for file in split.files]
    selections = [rows for split in splits for rows in split.selections.values()]
    if len(files) > MOST_FILES or len(selections) < len(files) or sum(file.file_size for file in files) > MOST_BYTES:
        return False
    return sum(len(decode_rows(rows)) for rows in selections) <= MOST_SELECTED


def is_small(splits: Sequence[ReadUnit]) -> bool:
    """True if the files of a plan have few rows; they may still be large."""
    files = [file for split in splits for file in split.files]
    few = len(files) <= SMALL_FILES and sum(file.row_count for file in files) <= MOST_ROWS
    return few and sum(file.file_size for file in files) <= SMALL_BYTES


def _keys_left(primary_keys: Sequence[str], predicate: Predicate) -> int:
    """The most keys that satisfy a condition; 0: it does not fix the whole key."""
    counts: dict[str, int] = {}
    for part in conjuncts(predicate):
        match part:
            case Compare((name,), Op.EQ | Op.NULL_SAFE_EQ, _):
                counts[name] = 1
            case In((name,), values, _):
                counts[name] = min(len(values), counts.get(name, len(values)))
    return math.prod(counts.get(key, 0) for key in primary_keys) if primary_keys else 0


def rows_if_small(
    spark: SparkSession,
    read: Callable[[U], Iterator[pa.RecordBatch]],
    splits: Sequence[U],
    shown: st.StructType,
    bounded: bool = True,
) -> DataFrame | None:
    """What a function reads of splits, now and by this process; None: it is larger than SMALL_BYTES, and bounded.

    Args:
        read: reads one split; threads of this process call it at the same time.
        shown: the schema of the DataFrame: that of the rows.
    """
    schema, most = spark_arrow_schema(shown), SMALL_BYTES if bounded else math.inf

    def some(split: U) -> list[pa.RecordBatch]:
        found: list[pa.RecordBatch] = []
        held = 0
        for batch in read(split):
            held += batch.nbytes
            found.append(conform_batch(batch, schema))
            if held > most:
                break
        return found

    batches = [batch for part in map_parallel(some, splits, _THREADS) for batch in part]
    if sum(batch.nbytes for batch in batches) > most:
        return None
    return local_rows(spark, pa.Table.from_batches(batches, schema), shown)


def local_rows(spark: SparkSession, rows: pa.Table, shown: st.StructType) -> DataFrame:
    """Rows of this process as a DataFrame of exactly a schema."""
    return arrow_dataframe(spark, rows, shown)
