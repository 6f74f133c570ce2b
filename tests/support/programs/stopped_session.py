"""What calls say once their Spark session was stopped. Run by test_spark_sessions, on classic Spark and on Connect."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

import paimon_spark
from paimon_spark import PaimonTable
from paimon_spark.cdc import decode
from paimon_spark.errors import SessionStopped
from support.programs.connect_session import session_on_a_free_port

DEFINITION = "CREATE TABLE default.t (id BIGINT, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')"


def said(call: Callable[[], Any]) -> str:
    """The message of the refusal."""
    try:
        call()
    except SessionStopped as error:
        return str(error)
    raise AssertionError("the call was done")


def calls(spark: SparkSession, lake: str) -> dict[str, Callable[[], Any]]:
    """Calls by the session that made the objects; they are done after it was stopped."""
    cat = paimon_spark.catalog(spark, lake)
    cat.sql(DEFINITION.replace("TABLE", "TABLE IF NOT EXISTS"))
    table, rows = cat["default.t"], spark.createDataFrame([(1, "a")], "id long, v string")
    path, stream = table._path, spark.readStream.format("rate").load()
    return {
        "sql": partial(cat.sql, "SELECT * FROM default.t"),
        "plain sql": partial(cat.sql, "SELECT 1"),
        "call": partial(cat.sql, "CALL sys.compact(table => 'default.t')"),
        "table": partial(cat.table, "default.t"),
        "stream": partial(cat.stream, "default.t"),
        "object": partial(cat.__getitem__, "default.t"),
        "append": partial(table.append, rows),
        "overwrite": partial(table.overwrite, rows),
        "delete": partial(table.delete, "id = 1"),
        "update": partial(table.update, "id = 1", {"v": "'x'"}),
        "merge": partial(table.merge, rows.alias("s"), "s.id = target.id"),
        "toDF": table.toDF,
        "count": table.count,
        "detail": table.detail,
        "history": table.history,
        "view": partial(table.createOrReplaceTempView, "shown"),
        "compact": table.optimize().compact,
        "tag": partial(table.create_tag, "t1"),
        "read stream": table.stream,
        "write stream": partial(table.write_stream, stream, "/checkpoint"),
        "sync": partial(table.sync, rows),
        "sync_database": partial(cat.sync_database, rows, "debezium-json"),
        "decode": partial(decode, rows, "debezium-json", "id INT"),
        "set_options": partial(table.set_options, {"bucket": "1"}),
        "catalog": partial(paimon_spark.catalog, spark, lake),
        "forPath": partial(PaimonTable.forPath, spark, path),
        "forName": partial(PaimonTable.forName, spark, "default.t"),
        "create": partial(PaimonTable.create, spark),
        "register": partial(paimon_spark.register, spark),
    }


def main(lake: str) -> None:
    on_connect = len(sys.argv) > 2
    first = session_on_a_free_port() if on_connect else SparkSession.builder.getOrCreate()
    doors = calls(first, lake)
    rows = first.createDataFrame([(1, "a")], "id long, v string")
    stream = first.readStream.format("rate").load()
    first.stop()
    for name, door in doors.items():
        message = said(door)
        assert " was stopped; make a new one, spark = SparkSession.builder.getOrCreate(), and " in message, message
        assert message.endswith("in it") or message.endswith("in it again") or name == "register", message
    print(said(doors["append"]))
    print(said(doors["sql"]))
    if on_connect:
        return  # the server of Spark Connect goes with the session that started it
    second = SparkSession.builder.getOrCreate()
    for name, door in doors.items():
        message = said(door)
        assert " was stopped; a newer one runs: take it, spark = SparkSession.getActiveSession(), and " in message, name
    table = paimon_spark.catalog(second, lake)["default.t"]
    for late in (
        lambda: table.append(rows),
        lambda: table.write_stream(stream, "/c"),
        lambda: table.merge(rows, "true"),
    ):
        assert said(late).startswith("the Spark session of the DataFrame was stopped; a newer one runs")
    assert table.append(second.createDataFrame([(1, "a")], "id long, v string")).rows == 1
    print("the new session works")


if __name__ == "__main__":
    main(sys.argv[1])
