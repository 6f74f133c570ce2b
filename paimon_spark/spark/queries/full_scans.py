"""Reads of all files of a partitioned table, which a session may forbid."""

from __future__ import annotations

from collections.abc import Callable

from paimon_spark.spark.adapters.session_options import ALLOW_FULL_SCAN, PREFIX, SessionOptions
from paimon_spark.sql.text.names import TableName
from paimon_spark.store.open import ReadableTable


def full_scan_refusal(name: TableName, table: ReadableTable, said: SessionOptions, left: Callable[[], int]) -> str:
    """Why a read of a partitioned table is refused, if its condition leaves all files and the session forbids that.

    Java: PaimonBaseScan.ensureNoFullScan.

    Args:
        left: counts the files that the read leaves; called where that matters.
    """
    keys = table.schema.partition_keys
    if said.allow_full_scan or not keys:
        return ""
    found, files = left(), file_count(table, None)
    if found < files:
        return ""
    return (
        f"reading {name}: '{PREFIX}{ALLOW_FULL_SCAN}' = 'false' forbids a read of all files of a partitioned "
        f"table, and its condition leaves all {files}; add one on {' or '.join(keys)}, or allow the read"
    )


def file_count(table: ReadableTable, where: str | None) -> int:
    """How many files a condition leaves."""
    return sum(len(list(split.files)) for split in table.scan(where=where).plan().splits)
