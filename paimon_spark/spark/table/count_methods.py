"""What PaimonTable tells of its rows without returning them: their number, and the ends of columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from paimon_spark.format.quoting import quoted
from paimon_spark.spark.adapters.errors import job_errors
from paimon_spark.spark.native.aggregate_rows import aggregate_rows
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.scan.read_spec import find_fields

_NO_OPTIONS: Mapping[str, str] = {}


class CountMethods(ABC):
    """Numbers that metadata tell where they are exact; else Spark reads the rows."""

    _spark: SparkSession

    @abstractmethod
    def toDF(
        self,
        columns: str | Sequence[str] | None = None,
        where: str | Column | None = None,
        options: Mapping[str, str] = _NO_OPTIONS,
        native: bool | None = None,
    ) -> DataFrame: ...

    @abstractmethod
    def _open_in_session(self) -> ReadableTable: ...

    def count(self, where: str | Column | None = None, options: Mapping[str, str] = _NO_OPTIONS) -> int:
        """The number of rows.

        Metadata tell it without a Spark job if the condition is on partition columns alone, and no file must be merged
        with others. ``open_table(path).scan(where=...).explain()`` tells why rows are read.

        Args:
            where: a condition, as for ``toDF``.
            options: more options of the read, such as ``scan.snapshot-id``.
        """
        if where is None or isinstance(where, str):
            known = self._open_in_session().with_options(options).scan(where=where).metadata_aggregates()
            if not known.rest:
                return known.rows
        columns = None if isinstance(where, Column) else ()  # it may name any column
        with job_errors():
            return self.toDF(columns, where, options).count()

    def min(self, column: str, where: str | Column | None = None, options: Mapping[str, str] = _NO_OPTIONS) -> Any:
        """The least value of a column, as Spark's ``min`` gives it; None: every row has NULL, or there is no row.

        Metadata tell it without reading a file where the statistics of all files are exact: of integers, booleans,
        dates, short decimals, times of parquet files, and of partition columns; not of texts and floats, nor of files
        with deleted rows.

        Args:
            column: its name in any letter case.
            where, options: as for count.
        """
        return self._end(column, where, options, sf.min)

    def max(self, column: str, where: str | Column | None = None, options: Mapping[str, str] = _NO_OPTIONS) -> Any:
        """The greatest value of a column, as ``min``."""
        return self._end(column, where, options, sf.max)

    def _end(
        self,
        column: str,
        where: str | Column | None,
        options: Mapping[str, str],
        function: Callable[[Column], Column],
    ) -> Any:
        table = self._open_in_session().with_options(options)
        (field,) = find_fields(table.schema, (column,))
        frame: DataFrame | None = None
        if (where is None or isinstance(where, str)) and field in table.schema.fields:
            known = table.scan(where=where).metadata_aggregates([field.name])
            frame = None if known.rest else aggregate_rows(self._spark, table.schema, known, [field], None)
        if frame is None:
            names = None if isinstance(where, Column) else [field.name]
            frame = self.toDF(names, where, options)
        with job_errors():
            row = frame.agg(function(sf.col(quoted(field.name)))).first()
        return None if row is None else row[0]
