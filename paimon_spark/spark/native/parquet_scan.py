"""DataFrames of Spark's own Parquet scan over data files, in the columns of the table.

Two things that Spark would do by itself lose rows, and are prevented here. It skips row groups by statistics in which
NaN does not occur and -0.0 differs from 0.0, so filters on floating-point numbers are kept from the files. And values
are read as they were written: no calendar is applied, whatever the session says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from paimon_spark.errors import CorruptFile
from paimon_spark.file_io import FileIO
from paimon_spark.format.quoting import quoted
from paimon_spark.format.row_kind import DELETE, UPDATE_BEFORE
from paimon_spark.format.schema import VALUE_KIND
from paimon_spark.format.types import FLOATS
from paimon_spark.spark.adapters.char_columns import as_stored
from paimon_spark.spark.adapters.errors import raised
from paimon_spark.spark.adapters.types import spark_type
from paimon_spark.spark.native.file_classifier import NativeFile, ScanKind
from paimon_spark.spark.native.file_lists import check_still_there, file_list
from paimon_spark.spark.native.readable_columns import NativeColumn, holds_floats
from paimon_spark.store.read.deletion_files import read_deleted_positions
from paimon_spark.store.read.file_rows import missing_data_file
from paimon_spark.store.storage.parallel import map_parallel

AS_WRITTEN = {
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "mergeSchema": "false",
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "__globPaths__": "false",
}
_NOT_FOUND = "PATH_NOT_FOUND"


ROW_FILE = "_paimon_file"
ROW_NUMBER = "_paimon_row"
"""Columns that tell where a row lies: the name of its data file, and its number in it, from 0."""


def scan_files(
    spark: SparkSession,
    file_io: FileIO,
    kind: ScanKind,
    files: Sequence[NativeFile],
    shown: st.StructType,
    placed: bool = False,
) -> list[DataFrame]:
    """The rows of files of one kind, in the columns of a schema.

    Args:
        spark: the session.
        file_io: the store of the files, for deletion vectors.
        kind: what the files have in common.
        files: the files.
        shown: the columns of the result, in the order of those of kind; texts of CHAR come as they are stored.
        placed: whether ROW_FILE and ROW_NUMBER follow the columns; the table has no column `_metadata` then.

    Raises:
        MissingFile: a file does not exist.
        CorruptFile: a deletion vector is missing or damaged.
    """
    parts = with_unique_names(files) if kind.has_vectors else [files]
    shown = as_stored(shown)
    return [_scan(spark, file_io, kind, part, shown, placed) for part in parts]


def _scan(
    spark: SparkSession,
    file_io: FileIO,
    kind: ScanKind,
    files: Sequence[NativeFile],
    shown: st.StructType,
    placed: bool,
) -> DataFrame:
    fields = [
        st.StructField(column.name, _stored_type(column, field), True, field.metadata)
        for column, field in zip(kind.columns, shown.fields, strict=True)
        if column.name is not None
    ]
    if kind.has_retractions:
        fields.append(st.StructField(VALUE_KIND, st.ByteType()))
    rows = _load(spark, file_io, st.StructType(fields), [file.path for file in files])
    if kind.has_vectors:
        rows = rows.join(*_deleted(spark, file_io, rows, files), how="left_anti")
    if kind.has_retractions:
        rows = rows.where(~_kind_of_row().isin(DELETE, UPDATE_BEFORE))
    if not placed and not kind.has_retractions and all(map(_is_as_stored, kind.columns)):
        return rows
    columns = [_column(c, field) for c, field in zip(kind.columns, shown.fields, strict=True)]
    return rows.select(*columns, *(_place() if placed else ()))


def _place() -> tuple[Column, Column]:
    return sf.col("_metadata.file_name").alias(ROW_FILE), sf.col("_metadata.row_index").alias(ROW_NUMBER)


def _load(spark: SparkSession, file_io: FileIO, schema: st.StructType, paths: Sequence[str]) -> DataFrame:
    found = file_list(file_io, paths)
    reader = spark.read.format("parquet").schema(schema).options(**AS_WRITTEN, **found.options)
    try:
        rows = reader.load(list(found.paths))
    except AnalysisException as error:
        if error.getCondition() != _NOT_FOUND:
            raise
        raise missing_data_file(next((path for path in paths if not file_io.exists(path)), paths[0])) from None
    check_still_there(file_io, found)
    return rows


def _kind_of_row() -> Column:
    """The row kind; Spark's NULL for a column that a file lacks is an error, or all rows of it would go unseen."""
    message = f"a data file lacks the column {VALUE_KIND}: it is damaged, restore it"
    return sf.coalesce(sf.col(VALUE_KIND), raised(CorruptFile, message).cast("tinyint"))


def _stored_type(column: NativeColumn, shown: st.StructField) -> st.DataType:
    """The type in the files; where it is today's, with today's comments inside."""
    return shown.dataType if column.type.root is column.field.type.root else spark_type(column.type)


def _column(column: NativeColumn, shown: st.StructField) -> Column:
    """The column as it is shown, from what the files have. Each step is a call of the JVM, so few are made."""
    if column.name is None:
        return sf.lit(None).cast(shown.dataType).alias(shown.name, metadata=shown.metadata)
    if _is_as_stored(column):
        return sf.col(quoted(column.name))  # with the comments of the schema that was given
    value = _value(column, shown)
    return value.alias(shown.name, metadata=shown.metadata) if shown.metadata else value.alias(shown.name)


def _is_as_stored(column: NativeColumn) -> bool:
    """True if Spark needs to do nothing to the column of the files."""
    is_cast = column.type.root is not column.field.type.root
    return column.name == column.field.name and not is_cast and not holds_floats(column.field.type)


def _value(column: NativeColumn, shown: st.StructField) -> Column:
    """The value of a column; floating-point numbers in a form in which Spark pushes no filter on them to the files."""
    name, root = quoted(column.name or ""), column.field.type.root
    if root in FLOATS:
        return sf.expr(f"nanvl(CAST({name} AS {root}), CAST('NaN' AS {root}))")  # a cast to the own type is none
    value = sf.col(name)
    if column.type.root is not root:
        return value.cast(shown.dataType)
    return sf.when(value.isNotNull(), value) if holds_floats(column.field.type) else value


def with_unique_names(files: Sequence[NativeFile]) -> list[list[NativeFile]]:
    """The files in parts in which each has a name of its own, by which its deleted rows are found."""
    seen: Counter[str] = Counter()
    parts: list[list[NativeFile]] = []
    for file in files:
        name = file.path.rpartition("/")[2]
        if seen[name] == len(parts):
            parts.append([])
        parts[seen[name]].append(file)
        seen[name] += 1
    return parts


def _deleted(
    spark: SparkSession, file_io: FileIO, rows: DataFrame, files: Sequence[NativeFile]
) -> tuple[DataFrame, Column]:
    """The rows that deletion vectors delete, and the condition that finds one of them."""
    vectors = [(file.path.rpartition("/")[2], file.deletion) for file in files if file.deletion is not None]
    positions = map_parallel(lambda found: read_deleted_positions(file_io, found[1]), vectors)
    names = np.repeat(np.arange(len(vectors), dtype=np.int32), [len(p) for p in positions])
    table = pa.table(
        {
            "deleted_file": pa.array([name for name, _ in vectors], pa.string()).take(pa.array(names)),
            "deleted_row": pa.array(np.concatenate(positions) if positions else np.empty(0, np.int64), pa.int64()),
        }
    )
    gone = sf.broadcast(spark.createDataFrame(table, "deleted_file string, deleted_row bigint"))
    where = (rows["_metadata.file_name"] == gone["deleted_file"]) & (rows["_metadata.row_index"] == gone["deleted_row"])
    return gone, where
