from paimon_spark import errors
from paimon_spark.arrow.predicate_expr import col
from paimon_spark.spark.source import register
from paimon_spark.spark.table_api import PaimonTable
from paimon_spark.spark.write_job import WriteMetrics
from paimon_spark.store.checks.report import Report
from paimon_spark.store.checks.table import check
from paimon_spark.store.compaction import CompactionMetrics
from paimon_spark.store.expire import ExpiryResult, expire_snapshots
from paimon_spark.store.expire_changelogs import expire_changelogs
from paimon_spark.store.open import open_table

__version__: str

__all__ = [
    "CompactionMetrics",
    "ExpiryResult",
    "PaimonTable",
    "Report",
    "WriteMetrics",
    "__version__",
    "check",
    "col",
    "errors",
    "expire_changelogs",
    "expire_snapshots",
    "open_table",
    "register",
]
