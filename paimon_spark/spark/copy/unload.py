"""Rows into files: COPY INTO '<path>' (features 2.5; Java: CopyIntoLocationExec)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from paimon_spark.errors import OptionError
from paimon_spark.spark.copy.file_format import FileFormat
from paimon_spark.spark.copy.source_files import list_files, plain_path

_ROWS = "rows"


@dataclass(frozen=True)
class UnloadResult:
    """One row of the result, in the order of its columns."""

    output_path: str
    file_count: int
    rows_written: int


def unload_rows(
    spark: SparkSession,
    rows: DataFrame,
    path: str,
    file_format: FileFormat,
    overwrite: bool = False,
    kept: Collection[str] = (),
) -> UnloadResult:
    """Writes rows into new files of a directory.

    The rows are counted while they are written, so the count is right for any query; Java runs the query twice.

    Args:
        overwrite: the directory is replaced if it exists.
        kept: locations of tables, which must not be replaced.

    Raises:
        OptionError: the directory exists, and overwrite is false; or it holds or lies in a table.
        AnalysisException: the format cannot hold a column.
    """
    for location in kept:
        _check_apart(path, location)
    seen = Observation()
    counted = rows.observe(seen, F.count(F.lit(1)).alias(_ROWS))
    writer = counted.write.options(**file_format.options).mode("overwrite" if overwrite else "errorifexists")
    try:
        writer.format(file_format.kind.lower()).save(path)
    except AnalysisException as error:
        if error.getCondition() == "PATH_ALREADY_EXISTS":
            raise OptionError(
                f"COPY INTO '{path}': there is something at that path; choose another one, or replace all that is "
                "there with OVERWRITE = TRUE"
            ) from None
        raise
    files = [file for file in list_files(spark, path) if file.name.startswith("part-")]
    return UnloadResult(path, len(files), int(seen.get[_ROWS]))


def _check_apart(path: str, location: str) -> None:
    mine, table = f"{plain_path(path)}/", f"{plain_path(location)}/"
    if mine.startswith(table) or table.startswith(mine):
        raise OptionError(f"COPY INTO '{path}': that is a directory of the table at {location}; choose another one")
