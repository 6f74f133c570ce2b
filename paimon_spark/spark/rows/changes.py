"""The changes of rows as a DataFrame: what statements make, and writers take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from paimon_spark.format.quoting import quoted
from paimon_spark.format.schema import ROW_ID
from paimon_spark.format.types import DataField
from paimon_spark.spark.native.parquet_scan import ROW_FILE, ROW_NUMBER
from paimon_spark.store.rows.live_files import LiveFile

KIND = "_paimon_kind"
OLD = "_paimon_old"
_KEPT_ID = "_paimon_row_id"


@dataclass(frozen=True)
class Changes:
    """The rows that change.

    Attributes:
        frame: KIND is +I, +U or -D. The columns of the table hold the new values, or for -D those of the row; a DELETE
            of an append table has none of them. In append tables ROW_FILE and ROW_NUMBER are the place of a row that
            is updated or deleted; ROW_ID, if it is there, is the id that it keeps. OLD, if it is there, is the row
            before an update.
        file_count: how many files of the table were looked at.
        files: of an append table, those that may hold the rows, by their names.
        moves: whether updated rows may belong to another partition or bucket than before.
        few: whether all rows fit into the memory of this process.
        columns: with data evolution, those that updated rows get new values of; of the others they have none.
        once: whether all are updates of columns that ``write_in_one_pass`` takes.
        checked: with ``once``, where a row of the table may be there several times: a function that makes the frame
            anew, which fails then with an error that shows such a row; None: none is.
        owned: whether a Spark partition that has rows of a bucket has all of them, and no key is there twice.
        limited: whether they are few, where some may be large.
    """

    frame: DataFrame
    file_count: int
    files: dict[str, LiveFile]
    moves: bool = False
    few: bool = False
    columns: tuple[str, ...] = ()
    once: bool = False
    checked: Callable[[], DataFrame] | None = None
    owned: bool = False
    limited: bool = False


@dataclass(frozen=True)
class Wanted:
    """What a writer needs of the changes.

    Attributes:
        places: where the rows lie.
        old: the rows before an update.
        ids: with places, the ids of rows, which go to new files.
    """

    places: bool = False
    old: bool = False
    ids: bool = False


def place_columns(table: str | None = None, ids: bool = False) -> list[Column]:
    """The columns of the place of a row.

    Args:
        table: the alias of the table.
        ids: whether ROW_ID follows, for rows of ``with_kept_ids``.
    """
    prefix = "" if table is None else f"{quoted(table)}."
    places = [sf.col(f"{prefix}{ROW_FILE}"), sf.col(f"{prefix}{ROW_NUMBER}")]
    return [*places, sf.col(f"{prefix}{_KEPT_ID}").alias(ROW_ID)] if ids else places


def with_kept_ids(rows: DataFrame, ids: Sequence[DataField], named: Iterable[DataField]) -> DataFrame:
    """Rows of the table with their ids under a name that no expression means.

    Args:
        ids: the column with the ids; empty: none is wanted.
        named: the metadata columns that expressions name.
    """
    if not ids:
        return rows
    kept = rows.withColumn(_KEPT_ID, sf.col(ROW_ID))
    return kept if ids[0] in named else kept.drop(ROW_ID)
