"""The kinds of what a metastore has under the name of a table. Databases, tables, partitions are Hive's own objects."""

from __future__ import annotations

from typing import Any, TypeAlias

HiveDatabase: TypeAlias = Any
HiveTable: TypeAlias = Any
HivePartition: TypeAlias = Any

INPUT_FORMAT = "org.apache.paimon.hive.mapred.PaimonInputFormat"
OUTPUT_FORMAT = "org.apache.paimon.hive.mapred.PaimonOutputFormat"
MANAGED, EXTERNAL, VIEW = "MANAGED_TABLE", "EXTERNAL_TABLE", "VIRTUAL_VIEW"


def is_paimon(table: HiveTable | None) -> bool:
    """Whether Hive reads the table by Paimon's classes."""
    sd = None if table is None else table.sd
    return sd is not None and sd.inputFormat == INPUT_FORMAT and sd.outputFormat == OUTPUT_FORMAT


def is_view(table: HiveTable | None) -> bool:
    return table is not None and table.tableType == VIEW


def is_external(table: HiveTable) -> bool:
    """Whether the directory stays when the table is dropped."""
    return bool(table.tableType == EXTERNAL)
