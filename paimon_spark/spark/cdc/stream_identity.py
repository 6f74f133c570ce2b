"""Who a stream is: the query id that Spark keeps in its checkpoint, the same after each restart."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

from paimon_spark.errors import OptionError


def query_id(spark: SparkSession, checkpoint: str) -> str:
    """The id of the query of a checkpoint, read as Spark reads it; a batch of the query must be running.

    Raises:
        OptionError: there is no such checkpoint; the stream writes another one.
    """
    try:
        lines = spark.read.text(f"{checkpoint.rstrip('/')}/metadata").collect()
        found: str = json.loads(lines[0][0])["id"]
    except Exception as error:
        raise OptionError(
            f"the checkpoint '{checkpoint}' tells no query id ({type(error).__name__}): give the directory that the "
            "stream has as its option checkpointLocation"
        ) from error
    return found
