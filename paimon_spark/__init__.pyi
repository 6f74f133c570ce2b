from paimon_spark import errors
from paimon_spark.arrow.predicates.expressions import col
from paimon_spark.arrow.variants import json_texts
from paimon_spark.catalogs.factory import open_catalog
from paimon_spark.spark.catalog.session_catalog import catalog
from paimon_spark.spark.rows.result import RowChangeResult
from paimon_spark.spark.source.source import register
from paimon_spark.spark.spark_catalog.registration import register_catalog
from paimon_spark.spark.table.table_api import PaimonTable
from paimon_spark.spark.write.write_job import WriteResult
from paimon_spark.store.checks.report import CheckResult
from paimon_spark.store.checks.table import check
from paimon_spark.store.compact.compaction import CompactResult
from paimon_spark.store.expire.changelogs import expire_changelogs
from paimon_spark.store.expire.snapshots import ExpireSnapshotsResult, expire_snapshots
from paimon_spark.store.open import open_table

__version__: str
# Former names:
CompactionMetrics = CompactResult
ExpiryResult = ExpireSnapshotsResult
Report = CheckResult
WriteMetrics = WriteResult

__all__ = [
    "CheckResult",
    "CompactResult",
    "ExpireSnapshotsResult",
    "PaimonTable",
    "RowChangeResult",
    "WriteResult",
    "__version__",
    "catalog",
    "check",
    "col",
    "errors",
    "expire_changelogs",
    "expire_snapshots",
    "json_texts",
    "open_catalog",
    "open_table",
    "register",
    "register_catalog",
]
