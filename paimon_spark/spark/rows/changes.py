"""The changes of rows as a DataFrame: what statements make, and writers take."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from paimon_spark.format.quoting import quoted
from paimon_spark.spark.native.parquet_scan import ROW_FILE, ROW_NUMBER
from paimon_spark.store.rows.live_files import LiveFile

KIND = "_paimon_kind"
OLD = "_paimon_old"
INSERT, UPDATE, DELETE = "+I", "+U", "-D"


@dataclass(frozen=True)
class Changes:
    """The rows that change.

    Attributes:
        frame: KIND is +I, +U or -D. The columns of the table hold the new values, or for -D those of the row; a DELETE
            of an append table has none of them. In append tables ROW_FILE and ROW_NUMBER are the place of a row that
            is updated or deleted. OLD, if it is there, is the row before an update.
        file_count: how many files of the table were looked at.
        files: of an append table, those that may hold the rows, by their names.
        moves: whether updated rows may belong to another partition or bucket than before.
        few: whether all rows fit into the memory of this process.
    """

    frame: DataFrame
    file_count: int
    files: dict[str, LiveFile]
    moves: bool = False
    few: bool = False


@dataclass(frozen=True)
class Wanted:
    """What a writer needs of the changes.

    Attributes:
        places: where the rows lie.
        old: the rows before an update.
    """

    places: bool = False
    old: bool = False


def place_columns(table: str | None = None) -> list[Column]:
    """The columns of the place of a row; table: the alias of the table."""
    prefix = "" if table is None else f"{quoted(table)}."
    return [sf.col(f"{prefix}{ROW_FILE}"), sf.col(f"{prefix}{ROW_NUMBER}")]
