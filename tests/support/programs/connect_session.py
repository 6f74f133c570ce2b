"""A Connect session: what paths mean, what errors look like, and the quick start. Run by test_spark_sessions."""

from __future__ import annotations

import os
import runpy
import sys

from pyspark import SparkContext
from pyspark.sql import SparkSession

from paimon_spark import PaimonTable

SETTING = "spark.sql.connect.serverStacktrace.enabled"


def error_of(read: object) -> str:
    try:
        read()  # type: ignore[operator]  # a call
    except Exception as error:
        return str(error)
    raise AssertionError("no error")


def session_on_a_free_port() -> SparkSession:
    """Returns a Connect session whose server listens on a port that nobody uses.

    Only with SPARK_TESTING does Spark take a free port; a JVM that sees it shows its stack with every error.
    So the JVM is started before the variable is set.
    """
    SparkContext._ensure_initialized()
    os.environ.update(SPARK_TESTING="1", SPARK_REMOTE="local[1]")
    return SparkSession.builder.getOrCreate()


def check_paths_and_errors(spark: SparkSession, lake: str) -> None:
    rows = spark.createDataFrame([(1, "a")], "id long, v string")
    for path in ("orders", "./orders", "~/orders", "file:orders"):
        write = rows.write.format("paimon").mode("append").option("primary-key", "id").option("bucket", "1")
        message = error_of(lambda write=write, path=path: write.save(path))
        assert f"the path '{path}' does not begin at the root" in message, message
        message = error_of(lambda path=path: spark.read.format("paimon").load(path).collect())
        assert "give the whole path" in message, message
    os.chdir(lake)
    made = PaimonTable.create(spark).location("orders").addColumn("id", "BIGINT NOT NULL").addColumn("v", "STRING")
    made.primaryKey("id").property("bucket", "1").execute()
    PaimonTable.forPath(spark, "orders").append(rows)
    assert spark.read.format("paimon").load(f"{lake}/orders").count() == 1

    def missing() -> None:
        spark.read.format("paimon").load(f"{lake}/none").collect()

    before = error_of(missing)
    assert "JVM stacktrace" in before
    spark.conf.set(SETTING, "false")
    lines = error_of(missing).rstrip().splitlines()
    assert lines[-2].startswith(f"paimon_spark.errors.TableNotFound: no Paimon table at {lake}/none"), lines
    assert len(lines) == 5, lines
    nothing = spark.createDataFrame([(None, "a")], "id long, v string")

    def append() -> None:
        PaimonTable.forPath(spark, f"{lake}/orders").append(nothing)

    message = error_of(append)  # by the client, which has the rows
    assert message.startswith("the NOT NULL column 'id' is null"), message
    spark.conf.set("spark.paimon.write.local", "false")
    message = error_of(append)  # by a task of Spark
    assert message.startswith("the NOT NULL column 'id' is null"), message
    print("errors are as they should be")


def main(lake: str, quickstart: str) -> None:
    check_paths_and_errors(session_on_a_free_port(), lake)
    runpy.run_path(quickstart)["main"](f"{lake}/quickstart")


if __name__ == "__main__":
    main(*sys.argv[1:])
