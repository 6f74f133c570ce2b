from paimon_spark import errors
from paimon_spark.arrow.predicates.expressions import col
from paimon_spark.arrow.variants import json_texts
from paimon_spark.format.blob_file import BlobDescriptor, BlobView
from paimon_spark.row_changes.result import RowChangeResult
from paimon_spark.spark.catalog.session_catalog import catalog
from paimon_spark.spark.source.source import register
from paimon_spark.spark.spark_catalog.registration import register_catalog
from paimon_spark.spark.table.table_api import PaimonTable
from paimon_spark.store.checks.report import CheckResult
from paimon_spark.store.checks.table import check
from paimon_spark.store.compact.outcomes import CompactResult
from paimon_spark.store.expire.changelogs import expire_changelogs
from paimon_spark.store.expire.snapshots import ExpireSnapshotsResult, expire_snapshots
from paimon_spark.tables.blobs import open_blob
from paimon_spark.tables.open import create_table, open_catalog, open_table
from paimon_spark.writes.write_job import WriteResult

__version__: str
# Former names:
CompactionMetrics = CompactResult
ExpiryResult = ExpireSnapshotsResult
Report = CheckResult
WriteMetrics = WriteResult

__all__ = [
    "BlobDescriptor",
    "BlobView",
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
    "create_table",
    "errors",
    "expire_changelogs",
    "expire_snapshots",
    "json_texts",
    "open_blob",
    "open_catalog",
    "open_table",
    "register",
    "register_catalog",
]
