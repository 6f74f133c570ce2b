"""Finds out if Spark itself can read the store of a table.

Local paths it can. For others Hadoop must have a client, and credentials, that this process knows nothing of: one file
is read to find out, once for each bucket or authority in a session.
"""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakKeyDictionary

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from paimon_spark.spark.native.file_lists import spark_path
from paimon_spark.store.metadata.table_options import split_storage_options
from paimon_spark.store.storage.publishers import CONNECTION

_found: WeakKeyDictionary[SparkSession, dict[str, str | None]] = WeakKeyDictionary()


def store_refusal(spark: SparkSession, options: Mapping[str, str], path: str) -> str | None:
    """Why Spark cannot read files of the store itself, in words; None: it can.

    Args:
        spark: the session.
        options: of the read; storage options among them are for our reader, and Spark has other ones.
        path: of a Parquet file in the store.
    """
    place = spark_path(path)
    if place.startswith("file:"):
        return None
    if split_storage_options(options)[0].keys() - {CONNECTION}:
        return "storage options were given, which Spark's own reader does not know"
    known = _found.setdefault(spark, {})
    store = "/".join(place.split("/")[:3])
    if store not in known:
        known[store] = _probe(spark, store, place)
    return known[store]


def _probe(spark: SparkSession, store: str, path: str) -> str | None:
    try:
        spark.read.schema("paimon_probe int").option("__globPaths__", "false").parquet(path).limit(1).collect()
    except PySparkException as error:
        return f"Spark's own reader cannot read {store} ({str(error).splitlines()[0]:.200})"
    except Exception as error:  # py4j's own errors have no base in PySpark
        if type(error).__module__.partition(".")[0] != "py4j":
            raise
        return f"Spark's own reader cannot read {store} ({str(error).splitlines()[0]:.200})"
    return None
