"""The JVM connector in a session of Spark. It imports nothing of this package, so that another PySpark can run it."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

_NOTHING: Mapping[str, str] = {}


def with_connector(
    builder: SparkSession.Builder, jar: str, warehouse: str, storage: Mapping[str, str] = _NOTHING
) -> SparkSession.Builder:
    """A session whose catalog `paimon` is that of the connector.

    Args:
        jar: the connector.
        warehouse: of the catalog; a local path or a URI.
        storage: options of the catalog.
    """
    catalog, place = "spark.sql.catalog.paimon", warehouse if "://" in warehouse else f"file:{warehouse}"
    for key, value in {"warehouse": place, **storage}.items():
        builder = builder.config(f"{catalog}.{key}", value)
    builder = builder.config("spark.jars", jar).config(catalog, "org.apache.paimon.spark.SparkCatalog")
    extension = "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions"
    return builder.config("spark.sql.extensions", extension)
