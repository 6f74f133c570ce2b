"""Metadata of data files that nobody wrote: commits never open data files, so their tests need none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import EMPTY_ROW, EMPTY_STATS, DataFileMeta, FileKind, ManifestEntry
from paimon_spark.format.types import DataType, Root
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

STRING = DataType(Root.VARCHAR, length=2**31 - 1)
BIGINT = DataType(Root.BIGINT)
COLUMNS = pa.schema([("part", pa.string()), ("id", pa.int64()), ("value", pa.string())])


def keyed_table(path: Path, **options: str) -> Table:
    """Partitioned by part, key (part, id), 2 buckets."""
    settings = {"bucket": "2", **{k.replace("_", "-"): v for k, v in options.items()}}
    return make(path, ("part", "id"), ("part",), settings)


def plain_table(path: Path, **options: str) -> Table:
    """An append table, not partitioned, without buckets."""
    return make(path, (), (), {k.replace("_", "-"): v for k, v in options.items()})


def make(path: Path, keys: Sequence[str], parts: Sequence[str], options: Mapping[str, str]) -> Table:
    create_table(str(path), new_schema(COLUMNS, keys, parts, options))
    return open_table(str(path))


def partition(value: str | None) -> bytes:
    return encode_arity_row([value], [STRING])


def key(value: int) -> bytes:
    return encode_arity_row([value], [BIGINT])


def file(name: str, rows: int = 10, level: int = 0, keys: tuple[int, int] | None = None, **more: Any) -> DataFileMeta:
    """A file; keys are its first and last id, for tables with a key."""
    low, high = (EMPTY_ROW, EMPTY_ROW) if keys is None else (key(keys[0]), key(keys[1]))
    values = {"min_sequence_number": 0, "max_sequence_number": rows - 1, "schema_id": 0, "delete_row_count": 0, **more}
    return DataFileMeta(
        file_name=name,
        file_size=1000 + rows,
        row_count=rows,
        min_key=low,
        max_key=high,
        key_stats=EMPTY_STATS,
        value_stats=EMPTY_STATS,
        level=level,
        **values,
    )


def added(*files: DataFileMeta, part: bytes = EMPTY_ROW, bucket: int = 0, total: int = -1) -> CommitMessage:
    return CommitMessage(part, bucket, total, new_files=files)


def entry(
    kind: FileKind, meta: DataFileMeta, part: bytes = EMPTY_ROW, bucket: int = 0, total: int = -1
) -> ManifestEntry:
    return ManifestEntry(kind, part, bucket, total, meta)
