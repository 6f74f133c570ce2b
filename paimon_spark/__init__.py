"""Apache Paimon tables on PySpark, in Python alone.

``open_table`` needs no Spark: schema, snapshots, and Arrow batches of any table. ``PaimonTable`` is the same for Spark.
``check`` verifies a table, as ``python -m paimon_spark check PATH`` does.
"""

from paimon_spark import errors
from paimon_spark.arrow.predicate_expr import col
from paimon_spark.spark.source import register
from paimon_spark.spark.table_api import PaimonTable
from paimon_spark.spark.write_job import WriteMetrics
from paimon_spark.store.checks.report import Report
from paimon_spark.store.checks.table import check
from paimon_spark.store.compaction import CompactionMetrics
from paimon_spark.store.table import open_table

__all__ = [
    "CompactionMetrics",
    "PaimonTable",
    "Report",
    "WriteMetrics",
    "check",
    "col",
    "errors",
    "open_table",
    "register",
]
