"""The read by our data source, in the Python processes of Spark."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from paimon_spark.spark.adapters.options import SPLITS
from paimon_spark.spark.native.table_reading import Reading

SOURCE = "paimon"
_NOTHING: Mapping[str, str] = {}


def read_by_source(
    spark: SparkSession, reading: Reading, splits: str | None = None, more: Mapping[str, str] = _NOTHING
) -> DataFrame:
    """The rows of a read, as our data source reads them.

    Args:
        spark: the session.
        reading: what was asked for. Its schema is given, so that Spark does not ask a process for it.
        splits: the splits to read, as encode_splits writes them; None: the source plans the read, at the first query.
        more: further options.
    """
    options, path = {**reading.source_options(), **more}, reading.options.path
    if splits is not None:
        options[SPLITS], path = splits, reading.table.location
    return spark.read.format(SOURCE).schema(reading.shown).options(**options).load(path)
