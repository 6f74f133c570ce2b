"""A stream into a table that is to be killed: ``killed_stream.py <events> <table> <checkpoint> <pid file>``.

It writes the process id of its JVM, and ends when all events are in the table.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from paimon_spark.spark.source.source import PaimonDataSource


def main(events: str, table: str, checkpoint: str, pid_file: str) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.ui.showConsoleProgress", "false").config("spark.driver.memory", "1g").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    Path(pid_file).write_text(str(spark._jvm.java.lang.ProcessHandle.current().pid()))
    spark.dataSource.register(PaimonDataSource)
    stream = spark.readStream.schema("id int, v long").option("maxFilesPerTrigger", "1").json(events)
    writer = stream.repartition(2).writeStream.format("paimon").option("checkpointLocation", checkpoint)
    keyed = {"primary-key": "id", "bucket": "1", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
    writer.options(**keyed).trigger(availableNow=True).start(table).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
