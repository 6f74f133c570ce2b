"""Apache Paimon tables on PySpark, in Python alone.

``open_table`` needs no Spark: schema, snapshots, and Arrow batches of any table. ``PaimonTable`` is the same for Spark.
"""

from paimon_spark import errors
from paimon_spark.arrow.predicate_expr import col
from paimon_spark.spark.source import register
from paimon_spark.spark.table_api import PaimonTable
from paimon_spark.spark.write_job import WriteMetrics
from paimon_spark.store.table import open_table

__all__ = ["PaimonTable", "WriteMetrics", "col", "errors", "open_table", "register"]
