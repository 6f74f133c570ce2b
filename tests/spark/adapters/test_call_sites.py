"""Expressions of this package have no place in a program of the user, and those of the user keep theirs."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from py4j.clientserver import JavaClient
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from paimon_spark import PaimonTable, catalog
from paimon_spark.spark.adapters.errors import without_call_sites

pytestmark = pytest.mark.spark
CALL_SITE, ORIGIN = __file__, "PySparkCurrentOrigin"
MERGE = (
    "MERGE INTO t USING (SELECT 2L id, 'b' v) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v "
    "WHEN NOT MATCHED THEN INSERT *"
)


def error_of_division(spark: SparkSession) -> str:
    with pytest.raises(PySparkException) as found:
        spark.range(1).select(F.col("id") / F.lit(0)).collect()
    return str(found.value)


def test_expressions_have_call_sites_outside_of_the_blocks_alone(spark: SparkSession) -> None:
    assert CALL_SITE in error_of_division(spark)
    first, second = ExitStack(), ExitStack()
    for block in (first, second):  # of two threads, say
        block.enter_context(without_call_sites())
    assert CALL_SITE not in error_of_division(spark)
    first.close()
    assert CALL_SITE not in error_of_division(spark)
    second.close()
    assert CALL_SITE in error_of_division(spark)


def test_a_block_that_fails_ends_too(spark: SparkSession) -> None:
    with pytest.raises(KeyError), without_call_sites():
        raise KeyError
    assert CALL_SITE in error_of_division(spark)


def test_statements_tell_the_jvm_no_call_site(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cat = catalog(spark, str(tmp_path))
    cat.create_database("d")
    cat.use("d")
    cat.sql("CREATE TABLE t (id BIGINT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    told, send = [0], JavaClient.send_command

    def counted(self: JavaClient, command: str, *args: Any, **more: Any) -> Any:
        told[0] += ORIGIN in command
        return send(self, command, *args, **more)

    table, rows, condition = cat["d.t"], spark.range(3).select("id", F.lit("a").alias("v")), F.col("id") == 0
    monkeypatch.setattr(JavaClient, "send_command", counted)
    assert isinstance(table, PaimonTable)
    table.append(rows)
    table.delete(condition)
    table.update("id = 1", {"v": "'c'"})
    cat.sql("INSERT INTO t VALUES (3, 'd'), (4, 'e')")
    cat.sql(MERGE)
    assert told == [0]
    rows.where(F.col("id") > 0)
    assert told[0] > 0
    shown = [tuple(row) for row in cat.sql("SELECT * FROM t ORDER BY id").collect()]
    assert shown == [(1, "c"), (2, "b"), (3, "d"), (4, "e")]
