"""Streams into tables, from them, and of changes in a Connect session. Run by test_streams_on_connect."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.connect.streaming.readwriter import DataStreamWriter

from paimon_spark import PaimonTable, open_table
from support.programs.connect_session import session_on_a_free_port


def commits(path: str) -> list[tuple[int, str]]:
    store = open_table(path).snapshots
    return [(s.commit_identifier, s.commit_user) for s in map(store.load, store.ids()) if s.commit_kind != "COMPACT"]


def replayed(checkpoint: Path) -> str:
    """Makes Spark forget its last batch; the id of the query."""
    for name in ("1", ".1.crc"):
        (checkpoint / "commits" / name).unlink()
    query = json.loads((checkpoint / "metadata").read_text())["id"]
    assert isinstance(query, str)
    return query


def main(lake: str) -> None:
    spark = session_on_a_free_port()
    for name in ("plain", "shuffled"):
        events, checkpoint, path = Path(lake, "in", name), Path(lake, "ck", name), f"{lake}/{name}"
        events.mkdir(parents=True)
        for number in range(2):
            rows = (json.dumps({"id": i, "v": number}) for i in range(number * 5, number * 5 + 5))
            (events / f"{number}.json").write_text("\n".join(rows))
        made = PaimonTable.create(spark).location(path).addColumn("id", "BIGINT NOT NULL").addColumn("v", "BIGINT")
        table = made.primaryKey("id").property("bucket", "1").execute()

        def run(name: str = name, events: Path = events, checkpoint: Path = checkpoint) -> None:
            stream = spark.readStream.schema("id long, v long").option("maxFilesPerTrigger", "1").json(str(events))
            if name == "plain":
                writer = stream.writeStream.format("paimon").option("checkpointLocation", str(checkpoint))
                query = writer.trigger(availableNow=True).start(f"{lake}/{name}")
            else:
                writer = table.write_stream(stream, checkpoint=str(checkpoint)).outputMode("update")  # noqa: B023
                query = writer.trigger(availableNow=True).start()
            query.awaitTermination()

        run()
        query = replayed(checkpoint)
        run()
        assert commits(path) == [(0, f"spark-{query}"), (1, f"spark-{query}")], commits(path)
        assert sorted(row.id for row in table.toDF().collect()) == list(range(10))
        shutil.rmtree(checkpoint)
    assert [table.append(table.toDF(), once=("again", 1)).repeated for _ in range(2)] == [False, True]
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
    batches = [
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
