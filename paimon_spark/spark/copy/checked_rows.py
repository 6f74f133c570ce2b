"""The rows of files as columns of a table: each row is good, or has a reported error (Java: CopyIntoErrorHandler).

Files of text are read as strings, so that a value that does not fit its column is found. A value is bad if it is not
NULL and its cast is. Values are cast by the rules of ANSI SQL, whatever the session says, so that none changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as st

from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format.load_history import SourceFile
from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.session_options import is_case_sensitive
from paimon_spark.spark.adapters.types import spark_type
from paimon_spark.spark.copy.file_format import CSV, JSON, PARQUET, FileFormat
from paimon_spark.spark.copy.source_files import AS_IT_IS

_STRICT = {**AS_IT_IS, "ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
_FILE, _ROW, _MALFORMED, _BAD_CAST = "file", "row", "malformed", "bad_cast"  # the columns of the table are c0, c1, ...


@dataclass(frozen=True)
class FileReport:
    """What was found in a file.

    Attributes:
        rows: all of them, bad ones too.
        errors: the bad ones.
        first_error: of the first malformed row, or else of the first value that does not fit; None: there is none.
    """

    rows: int = 0
    errors: int = 0
    first_error: str | None = None


class CheckedRows:
    """The rows of some files. Between ``with`` and its end they are kept, so that they are read once."""

    def __init__(
        self, spark: SparkSession, files: Sequence[SourceFile], file_format: FileFormat, columns: Sequence[DataField]
    ) -> None:
        """Reads nothing but the schemas of Parquet files.

        Args:
            columns: of the table, in the order that they have in files of CSV.

        Raises:
            UnsupportedFeature: a column is of a type that no text can be cast to.
            DataError: the types in a Parquet file cannot be cast to those of the table.
        """
        self._columns = columns
        if file_format.kind != PARQUET:
            _check_columns(file_format.kind, columns)
        raw, sources, corrupt = _read(spark, files, file_format, columns)
        try:
            self._rows = _checked(raw, sources, corrupt, columns)
        except AnalysisException as error:
            if not (error.getCondition() or "").startswith("DATATYPE_MISMATCH"):
                raise
            raise DataError(
                f"COPY INTO: a column of the files cannot be cast to its type in the table: {error}"
            ) from None

    def __enter__(self) -> CheckedRows:
        self._rows.persist()
        return self

    def __exit__(self, *_: object) -> None:
        self._rows.unpersist()

    @cached_property
    def reports(self) -> dict[str, FileReport]:
        """For each file that has rows, by its name, what was found in it."""
        return {unquote(name): report for name, report in self._reports.items()}

    @cached_property
    def _reports(self) -> dict[str, FileReport]:
        """The same by the names as Spark gives them, which are parts of URIs."""
        malformed, bad = F.col(_MALFORMED), F.col(_BAD_CAST)
        found = self._rows.groupBy(_FILE).agg(
            F.count(F.lit(1)),
            F.count(F.coalesce(malformed, bad)),
            F.min_by(malformed, F.when(malformed.isNotNull(), F.col(_ROW))),
            F.min_by(bad, F.when(bad.isNotNull(), F.col(_ROW))),
        )
        return {
            name: FileReport(rows, errors, of_row or of_value)
            for name, rows, errors, of_row, of_value in found.collect()
        }

    def good(self, of_good_files: bool) -> DataFrame:
        """The good rows, with the columns of the table.

        Args:
            of_good_files: only those of files without errors.
        """
        rows = self._rows.where(F.col(_MALFORMED).isNull() & F.col(_BAD_CAST).isNull())
        bad_files = [name for name, report in self._reports.items() if report.errors]
        if of_good_files and bad_files:
            rows = rows.where(~F.col(_FILE).isin(bad_files))
        return rows.select(*(F.col(f"c{i}").alias(own.name) for i, own in enumerate(self._columns)))


def _check_columns(kind: str, columns: Sequence[DataField]) -> None:
    for own in columns:
        if isinstance(spark_type(own.type), (st.ArrayType, st.MapType, st.StructType)):
            raise UnsupportedFeature(
                f"COPY INTO: the column '{own.name}' is {spark_type(own.type).simpleString()}, and no text of a {kind} "
                "file can be cast to that; load Parquet files, or name the other columns behind the table"
            )


def _read(
    spark: SparkSession, files: Sequence[SourceFile], file_format: FileFormat, columns: Sequence[DataField]
) -> tuple[DataFrame, list[Column | None], Column]:
    """(rows of the files, for each column of the table that of the files, the text of a malformed row)."""
    paths = [file.path for file in files]
    reader = spark.read.options(**_STRICT).options(**file_format.options)
    if file_format.kind == PARQUET:
        return _read_parquet(spark, reader, paths, columns)
    names = [own.name if file_format.kind == JSON else f"_c{i}" for i, own in enumerate(columns)]
    corrupt = _free_name("_corrupt_record", names)
    schema = st.StructType([st.StructField(name, st.StringType()) for name in (*names, corrupt)])
    reader = reader.options(mode="PERMISSIVE", columnNameOfCorruptRecord=corrupt).schema(schema)
    rows = reader.csv(paths) if file_format.kind == CSV else reader.json(paths)
    values = [F.col(quoted(name)) for name in names]
    if file_format.null_texts:
        values = [F.when(~value.isin(*file_format.null_texts), value) for value in values]
    return rows, list(values), F.col(quoted(corrupt))


def _read_parquet(
    spark: SparkSession, reader: DataFrameReader, paths: list[str], columns: Sequence[DataField]
) -> tuple[DataFrame, list[Column | None], Column]:
    """Columns meet by name. All files are asked for theirs: Java asks one, and loses columns that only others have."""
    rows = reader.option("mergeSchema", "true").parquet(*paths)
    is_exact = is_case_sensitive(spark)
    found = {name if is_exact else name.lower(): name for name in rows.columns}
    names = [found.get(own.name if is_exact else own.name.lower()) for own in columns]
    values = [None if name is None else F.col(quoted(name)) for name in names]
    return rows, values, F.lit(None).cast("string")


def _checked(
    rows: DataFrame, sources: Sequence[Column | None], corrupt: Column, columns: Sequence[DataField]
) -> DataFrame:
    kept, errors = [], []
    types = [None if source is None else rows.select(source).schema.fields[0].dataType for source in sources]
    for i, (source, have, own) in enumerate(zip(sources, types, columns, strict=True)):
        want = spark_type(own.type)
        value = F.lit(None) if source is None else source
        cast = value if have == want else value.try_cast(want)
        kept.append(cast.alias(f"c{i}"))
        if have not in (None, want):
            message = (
                f"Cast failure in column '{own.name}'. Source data contains values that cannot be converted to the "
                "target type."
            )
            errors.append(F.when(value.isNotNull() & cast.isNull(), F.lit(message)))
    malformed = F.concat(F.lit("Malformed record: "), corrupt)
    bad = F.coalesce(*errors, F.lit(None).cast("string"))
    name = rows.metadataColumn("_metadata").getField("file_name")
    return rows.select(
        *kept,
        malformed.alias(_MALFORMED),
        F.when(malformed.isNull(), bad).alias(_BAD_CAST),
        name.alias(_FILE),
        F.monotonically_increasing_id().alias(_ROW),
    )


def _free_name(name: str, taken: Sequence[str]) -> str:
    while name.lower() in {other.lower() for other in taken}:
        name = f"_{name}"
    return name
