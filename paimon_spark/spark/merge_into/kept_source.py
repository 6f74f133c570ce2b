"""The rows of the source of a MERGE, computed once for all passes and attempts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from paimon_spark.format.quoting import quoted
from paimon_spark.row_changes.result import Outcome
from paimon_spark.row_changes.source_values import SourceValues
from paimon_spark.spark.adapters.dataframes import arrow_dataframe
from paimon_spark.spark.adapters.errors import lost_kept_rows
from paimon_spark.spark.adapters.types import nullable
from paimon_spark.spark.rows.target import Target
from paimon_spark.spark.write.bucket_routing import FLAT, few_rows, rows_here


class KeptSource:
    """The rows of a source: few are held by this process, others are kept by Spark (``localCheckpoint``).

    A source that is not deterministic, or that reads the target, is so the same in all passes.

    Attributes:
        frame: the rows, computed anew by each use.
    """

    def __init__(self, frame: DataFrame, held: bool = True) -> None:
        """Computes nothing yet.

        Args:
            held: whether this process may hold few rows: a Column may be one of the DataFrame itself, and of no other.
        """
        self.frame, self._may_hold = frame, held
        self._kept: DataFrame | None = None

    @cached_property
    def _held(self) -> pa.Table | None:
        """The rows, if they are few."""
        may_hold = self._may_hold and all(_comes_back(field.dataType) for field in self.frame.schema.fields)
        return few_rows(self.frame) if may_hold else None

    @property
    def are_few(self) -> bool:
        """True if this process holds the rows."""
        return self._held is not None

    def rows(self) -> DataFrame:
        """The rows."""
        if self._kept is None:
            self._kept = (
                self.frame.localCheckpoint(True, StorageLevel.MEMORY_AND_DISK)
                if self._held is None
                else arrow_dataframe(self.frame.sparkSession, self._held, nullable(self.frame.schema))
            )
        return self._kept

    def values(self, columns: Sequence[str]) -> Mapping[str, SourceValues]:
        """The values of columns, integers, dates and texts: all of them if this process holds them, else two."""
        if self._held is not None:
            return {name: SourceValues.of(self._held.column(name)) for name in columns}
        if not columns:
            return {}
        bounds = [function(quoted(name)) for name in columns for function in (sf.min, sf.max)]
        row = rows_here(self.rows().select(*(bound.alias(f"b{number}") for number, bound in enumerate(bounds))))
        found = [column[0] for column in row.columns]
        return {name: SourceValues.between(*found[2 * n : 2 * n + 2]) for n, name in enumerate(columns)}

    def guarding(self, write: Callable[[Target], Outcome]) -> Callable[[Target], Outcome]:
        """The function; the next call computes the source again if an executor has died in this one that kept rows."""

        def guarded(target: Target) -> Outcome:
            try:
                return write(target)
            except Exception as error:
                if lost_kept_rows(error):
                    self._kept = None
                raise

        return guarded


def _comes_back(spark: st.DataType) -> bool:
    """True if a DataFrame made of values of a type, as Arrow has them, has the same type and values."""
    match spark:
        case st.ArrayType():
            return _comes_back(spark.elementType)
        case st.MapType():
            return _comes_back(spark.keyType) and _comes_back(spark.valueType)
        case st.StructType():
            is_each_named = len(set(spark.names)) == len(spark.fields)  # PySpark makes no Arrow of others
            return is_each_named and all(_comes_back(field.dataType) for field in spark.fields)
        case st.StringType():
            return spark == st.StringType()  # it has no collation
    return isinstance(spark, FLAT)
