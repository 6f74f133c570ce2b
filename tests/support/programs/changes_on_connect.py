"""Streams from tables, and of changes into them, in a Connect session. Run by test_changes_on_connect."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.connect.streaming.readwriter import DataStreamWriter

from paimon_spark import PaimonTable
from support.programs.connect_session import session_on_a_free_port
from support.programs.streams_on_connect import commits


def main(lake: str) -> None:
    spark = session_on_a_free_port()
    from_tables(spark, Path(lake))
    changes(spark, Path(lake))
    print("streams are as they should be")


def from_tables(spark: SparkSession, lake: Path) -> None:
    """One table becomes another one, in two runs: limits, row kinds, a consumer."""
    source, target = (new_table(spark, lake / name, "input") for name in ("source", "target"))
    for number in range(2):
        source.append(spark.createDataFrame([(1, number), (number + 2, number)], "id long, v long"))
        if number:
            source.delete("id = 2")
        options = {"read.stream.maxFilesPerTrigger": "1", "consumer-id": "target"}
        writer = source.stream(row_kinds=True, options=options).writeStream.format("paimon")
        writer = writer.option("checkpointLocation", f"{lake}/ck/target").option("row-kind-column", "_row_kind")
        writer.trigger(availableNow=True).start(f"{lake}/target").awaitTermination()
    assert rows_of(target) == rows_of(source) == [(1, 1), (3, 1)], rows_of(target)
    assert [row.consumer_id for row in source.consumers().collect()] == ["target"]


def changes(spark: SparkSession, lake: Path) -> None:
    """Messages of Maxwell, and what a table becomes of them; the last batch comes again."""
    target, recorded = new_table(spark, lake / "synced"), lake / "messages"
    recorded.mkdir()
    batches: list[list[tuple[str, dict[str, object]]]] = [
        [("insert", {"id": 1, "v": 1})],
        [("insert", {"id": 2, "v": 2, "w": "new"}), ("delete", {"id": 1, "v": 1})],
    ]
    for number, rows in enumerate(batches):
        values = [json.dumps({"type": kind, "data": row}) for kind, row in rows]
        lines = [
            json.dumps({"value": value, "partition": 0, "offset": 10 * number + at}) for at, value in enumerate(values)
        ]
        (recorded / f"{number}.json").write_text("\n".join(lines))
        os.utime(recorded / f"{number}.json", (number, number))  # Spark reads the older file first

    def run() -> None:
        messages = spark.readStream.schema("value STRING, partition INT, offset BIGINT")
        stream = messages.option("maxFilesPerTrigger", "1").json(str(recorded))
        writer = target.sync(stream, "maxwell-json", checkpoint=f"{lake}/ck/synced")
        assert isinstance(writer, DataStreamWriter)
        writer.trigger(availableNow=True).start().awaitTermination()

    run()
    for name in ("1", ".1.crc"):
        (lake / "ck" / "synced" / "commits" / name).unlink()
    run()
    assert rows_of(target) == [(2, 2, "new")], rows_of(target)
    assert [number for number, _ in commits(f"{lake}/synced")] == [0, 1]


def new_table(spark: SparkSession, path: Path, producer: str = "none") -> PaimonTable:
    made = PaimonTable.create(spark).location(str(path)).addColumn("id", "BIGINT NOT NULL").addColumn("v", "BIGINT")
    return made.primaryKey("id").property("bucket", "1").property("changelog-producer", producer).execute()


def rows_of(table: PaimonTable) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in table.toDF().collect())


if __name__ == "__main__":
    main(*sys.argv[1:])
