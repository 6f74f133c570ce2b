"""Streams into tables as a user has them: exactly once, whatever becomes of the query and its checkpoint."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType
from support.long_runs import tries

from paimon_spark import PaimonTable
from paimon_spark.errors import OptionError, StaleBatch
from paimon_spark.spark.source.source import PaimonDataSource
from paimon_spark.store.checks.table import check
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.spark
KEYED = {"primary-key": "id", "bucket": "2"}
STOPS = tries("PAIMON_STREAM_STOPS", ci=2, long=50)


@pytest.fixture(scope="module", autouse=True)
def registered(spark: SparkSession) -> None:
    spark.dataSource.register(PaimonDataSource)


class Events:
    """A source of files: each is a batch of ten rows."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self._spark, self._path, self._files = spark, path, 0
        path.mkdir()

    def add(self, files: int = 1) -> None:
        for _ in range(files):
            first = self._files * 10
            lines = (
                json.dumps({"id": i, "v": i % 3, "at": f"2026-11-01T00:00:{i % 60:02d}.500Z"})
                for i in range(first, first + 10)
            )
            (self._path / f"{self._files:04d}.json").write_text("\n".join(lines))
            self._files += 1

    def stream(self) -> DataFrame:
        reader = self._spark.readStream.schema("id int, v long, at timestamp").option("maxFilesPerTrigger", "1")
        return reader.json(str(self._path))


@pytest.fixture
def events(spark: SparkSession, tmp_path: Path) -> Events:
    found = Events(spark, tmp_path / "events")
    found.add(2)
    return found


def run(df: DataFrame, table: Path, checkpoint: Path, mode: str = "append", **options: str) -> None:
    writer = df.writeStream.format("paimon").outputMode(mode).options(**options)
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start(str(table))
    query.awaitTermination()


def ids(table: Path) -> list[int]:
    return sorted(open_table(str(table)).scan("id").to_arrow().column(0).to_pylist())


def batches(table: Path) -> list[tuple[int, str]]:
    store = open_table(str(table)).snapshots
    return [
        (s.commit_identifier, str(s.commit_kind)) for s in map(store.load, store.ids()) if s.commit_kind != "COMPACT"
    ]


def note(table: Path) -> dict[str, object]:
    (path,) = (table / "stream-sink").iterdir()
    found: dict[str, object] = json.loads(path.read_text())
    return found


def refused(call: Callable[[], object], *words: str) -> None:
    with pytest.raises(StreamingQueryException) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def test_each_batch_is_one_snapshot_and_a_restart_goes_on(events: Events, tmp_path: Path) -> None:
    table, checkpoint = tmp_path / "t", tmp_path / "ck"
    stream = events.stream()
    run(stream, table, checkpoint, **KEYED, **{"watermark-column": "at", "watermark-delay": "2 s"})
    assert ids(table) == list(range(20))
    assert batches(table) == [(0, "APPEND"), (1, "APPEND")]
    latest = open_table(str(table)).snapshots.latest()
    assert latest is not None
    assert latest.watermark == 1793491219500 - 2000
    query = json.loads((checkpoint / "metadata").read_text())["id"]
    assert latest.commit_user == f"spark-{query}"
    events.add()
    moved = tmp_path / "moved"
    shutil.copytree(checkpoint, moved)
    run(stream, table, moved)
    assert ids(table) == list(range(30)), "a checkpoint at another place is the same query"
    older = tmp_path / "older"
    shutil.copytree(checkpoint, older)
    events.add(2)
    run(stream, table, moved)
    refused(lambda: run(stream, table, older), "StaleBatch", "Put the newest checkpoint", "write.stream.commit-user")
    assert ids(table) == list(range(50))
    run(stream, table, older, **{"write.stream.commit-user": "again"})
    assert ids(table) == list(range(50)), "rows with keys replace themselves"
    assert not check(open_table(str(table))).problems


def test_a_stream_may_change_the_schema(spark: SparkSession, events: Events, tmp_path: Path) -> None:
    """PaimonSinkTest, enable schema evolution: a wider number, a text that becomes a date, a new column."""
    table, checkpoint = tmp_path / "t", tmp_path / "ck"
    old = spark.sql("select id, '2023-08-09' as at, 7 as n from values (1), (99) as v(id)").coalesce(1)
    old.write.format("paimon").mode("append").options(**KEYED).save(str(table))
    rows = events.stream().selectExpr("id", "date'2026-11-01' as at", "id + 0L as n", "v").where("id in (1, 11)")
    merging = {"write.merge-schema": "true", "write.merge-schema.type-widening": "true"}
    refused(lambda: run(rows, table, tmp_path / "refused", **merging), "SchemaError", "explicit-cast")
    run(rows, table, checkpoint, **merging, **{"write.merge-schema.explicit-cast": "true"})
    found = sorted(tuple(row.values()) for row in open_table(str(table)).scan().to_arrow().to_pylist())
    november, august = date(2026, 11, 1), date(2023, 8, 9)
    assert found == [(1, november, 1, 1), (11, november, 11, 2), (99, august, 7, None)]


def test_a_batch_that_was_written_is_not_written_again(events: Events, tmp_path: Path) -> None:
    """Spark replays it because its own log does not have it."""
    table, checkpoint = tmp_path / "t", tmp_path / "ck"
    stream = events.stream()
    run(stream, table, checkpoint)
    for lost in (checkpoint / "commits" / "1", checkpoint / "commits" / ".1.crc"):
        lost.unlink()
    run(stream, table, checkpoint)
    assert (ids(table), batches(table)) == (list(range(20)), [(0, "APPEND"), (1, "APPEND")])
    assert note(table)["state"] == "committed"
    offsets = checkpoint / "offsets" / "1"
    offsets.write_text(offsets.read_text().replace('"batchTimestampMs":1', '"batchTimestampMs":2'))
    for lost in (checkpoint / "commits" / "1", checkpoint / "commits" / ".1.crc", checkpoint / "offsets" / ".1.crc"):
        lost.unlink()
    refused(lambda: run(stream, table, checkpoint), "StaleBatch", "cut at another time")
    run(stream, table, checkpoint, **{"write.stream.unknown-batch": "skip"})
    assert ids(table) == list(range(20))


def test_a_deleted_checkpoint_writes_all_again_and_drops_nothing(events: Events, tmp_path: Path) -> None:
    table, checkpoint = tmp_path / "t", tmp_path / "ck"
    run(events.stream(), table, checkpoint)
    shutil.rmtree(checkpoint)
    run(events.stream(), table, checkpoint)
    assert ids(table) == sorted([*range(20), *range(20)])


def test_complete_replaces_all_rows(events: Events, tmp_path: Path) -> None:
    table = tmp_path / "t"
    counts = events.stream().groupBy("v").agg(sf.count("*").alias("n"))
    run(counts, table, tmp_path / "ck", mode="complete")
    assert batches(table) == [(0, "OVERWRITE"), (1, "OVERWRITE")]
    rows = open_table(str(table)).scan().to_arrow().to_pylist()
    assert sorted((row["v"], row["n"]) for row in rows) == [(0, 7), (1, 7), (2, 6)]


def test_what_does_not_fit_is_said_before_a_row_is_written(spark: SparkSession, events: Events, tmp_path: Path) -> None:
    table, stream = tmp_path / "t", events.stream()
    run(stream, table, tmp_path / "ck", **KEYED)
    with PaimonTable.forPath(spark, str(table)).update_schema() as changes:
        changes.rename_column("v", "w")
    events.add()
    refused(lambda: run(stream, table, tmp_path / "ck"), "column 'v' is not in the table", f"the stream into {table}")
    assert batches(table) == [(0, "APPEND"), (1, "APPEND")]
    for options in (
        {"overwrite-where": "v = 1"},
        {"once.application": "a", "once.version": "1"},
        {"watermark-delay": "1 s"},
    ):
        refused(lambda options=options: run(stream, table, tmp_path / "other", **options), "OptionError")


def test_rows_that_do_not_fit_are_reported_with_batch_and_table(events: Events, tmp_path: Path) -> None:
    kinds = events.stream().withColumn("op", sf.when(sf.col("id") < 20, "+I").otherwise("X"))
    table, checkpoint, options = tmp_path / "t", tmp_path / "ck", {**KEYED, "row-kind-column": "op"}
    run(kinds, table, checkpoint, **options)
    events.add()
    told = f"batch 2 of the stream into {table}: the row kind column 'op' holds 'X'"
    refused(lambda: run(kinds, table, checkpoint, **options), told, "Nothing of this batch is in the table")
    assert ids(table) == list(range(20))


def test_write_stream_tells_batch_and_table_of_what_fails(spark: SparkSession, events: Events, tmp_path: Path) -> None:
    """Errors of tasks, of this process, and of expressions of the user, with what caused them."""
    table, stream = tmp_path / "t", events.stream()
    made = PaimonTable.create(spark).location(str(table)).addColumns(stream.schema).primaryKey("id")
    target = made.property("bucket", "1").execute()
    place = f"batch 0 of the stream into {table}"
    null_key = stream.withColumn("id", sf.when(sf.col("id") % 10 == 3, None).otherwise(sf.col("id")))
    divided = stream.withColumn("v", sf.expr("cast(v / (id - id) as bigint)"))
    for rows, words in (
        (null_key, (f"DataError: {place}: the NOT NULL column ", "'id'", "The above exception was the direct cause")),
        (stream.withColumnRenamed("v", "w"), (f"DataError: {place}: ", "'w'", "direct cause")),
        (divided, (place, "DIVIDE_BY_ZERO")),
    ):
        checkpoint = str(tmp_path / words[1])
        writer = target.write_stream(rows, checkpoint).trigger(availableNow=True)
        refused(lambda writer=writer: writer.start().awaitTermination(), *words)
    assert open_table(str(table)).snapshots.latest_id() is None


def test_a_dropped_table_is_not_made_anew(spark: SparkSession, events: Events, tmp_path: Path) -> None:
    """A later batch would make one that lacks the rows of before, and the keys that the stream does not tell."""
    table, checkpoint, stream = tmp_path / "t", tmp_path / "ck", events.stream()
    run(stream, table, checkpoint, **KEYED)
    shutil.rmtree(table)
    events.add()
    told = f"no Paimon table at {table}, but the query of the checkpoint {checkpoint} has finished its batch 1"
    refused(lambda: run(stream, table, checkpoint, **KEYED), "TableNotFound", told)
    refused(lambda: run(stream, tmp_path / "other", checkpoint, **KEYED), "TableNotFound", "new checkpoint")
    assert not table.exists()
    made = (
        PaimonTable.create(spark)
        .location(str(table))
        .addColumns(stream.schema)
        .primaryKey("id")
        .property("bucket", "1")
    )
    shuffled = made.execute().write_stream(stream, str(tmp_path / "ck2")).trigger(availableNow=True)
    run(stream, table, checkpoint)
    assert ids(table) == list(range(20, 30))
    shutil.rmtree(table)
    told = f"batch 0 of the stream into {table}: no Paimon table at {table}; it was dropped or moved"
    refused(lambda: shuffled.start().awaitTermination(), "TableNotFound", told)
    assert not table.exists()


def test_a_running_stream_leaves_a_table_alone_that_was_made_anew(
    spark: SparkSession, events: Events, tmp_path: Path
) -> None:
    """Another start of the writer is another job, which opens the table that is there then."""
    table, stream = tmp_path / "t", events.stream()
    builder = PaimonTable.create(spark).location(str(table)).addColumns(stream.schema).primaryKey("id")
    made = builder.property("bucket", "1")
    writer = made.execute().write_stream(stream, str(tmp_path / "ck"))
    query = writer.start()
    try:
        query.processAllAvailable()
        assert len(ids(table)) == 20
        shutil.rmtree(table)
        made.execute()
        events.add()
        refused(query.processAllAvailable, "TableNotFound", "another one than that of the earlier batches")
        assert ids(table) == []
    finally:
        query.stop()
    writer.trigger(availableNow=True).start().awaitTermination()
    assert ids(table) == list(range(20, 30))


def test_to_table_says_what_to_do_and_what_it_has_left(spark: SparkSession, events: Events, tmp_path: Path) -> None:
    writer = events.stream().writeStream.format("paimon").option("checkpointLocation", str(tmp_path / "ck"))
    with pytest.raises(Exception, match=r"no path was given: begin the stream with .option\('path'.*drop it with DROP"):
        writer.trigger(availableNow=True).toTable("no_such_table").awaitTermination()
    spark.sql("DROP TABLE no_such_table")


def test_write_stream_shuffles_compacts_and_updates(spark: SparkSession, events: Events, tmp_path: Path) -> None:
    path, checkpoint = tmp_path / "t", tmp_path / "ck"
    PaimonTable.create(spark).location(str(path)).addColumns(StructType.fromDDL("v long, n long")).primaryKey(
        "v"
    ).property("bucket", "1").property("full-compaction.delta-commits", "2").execute()
    table = PaimonTable.forPath(spark, str(path))
    counts = events.stream().groupBy("v").agg(sf.count("*").alias("n"))

    def go(**options: str) -> None:
        writer = table.write_stream(counts, str(checkpoint), options).outputMode("update")
        writer.trigger(availableNow=True).start().awaitTermination()

    go()
    assert batches(path) == [(0, "APPEND"), (1, "APPEND")]
    assert sorted(tuple(r) for r in table.toDF().collect()) == [(0, 7), (1, 7), (2, 6)]
    for lost in (checkpoint / "commits" / "1", checkpoint / "commits" / ".1.crc"):
        lost.unlink()
    events.add()
    go()
    assert batches(path) == [(0, "APPEND"), (1, "APPEND"), (2, "APPEND")]
    assert sorted(tuple(r) for r in table.toDF().collect()) == [(0, 10), (1, 10), (2, 10)]
    compacted = [
        s for s in map(table._open().snapshots.load, table._open().snapshots.ids()) if s.commit_kind == "COMPACT"
    ]
    assert [s.commit_identifier < 2**62 for s in compacted] == [False] * len(compacted)
    assert len(compacted) == 1, "after batch 1, and not after 0 and 2"


def test_write_stream_replaces_rows_in_the_mode_complete(spark: SparkSession, events: Events, tmp_path: Path) -> None:
    path = tmp_path / "t"
    PaimonTable.create(spark).location(str(path)).addColumns(
        StructType.fromDDL("v long, n long, at timestamp")
    ).execute()
    table = PaimonTable.forPath(spark, str(path))
    counts = events.stream().groupBy("v").agg(sf.count("*").alias("n"), sf.max("at").alias("at"))
    writer = table.write_stream(counts, options={"watermark-column": "at"}).outputMode("complete")
    writer.option("checkpointLocation", str(tmp_path / "ck")).trigger(availableNow=True).start().awaitTermination()
    assert batches(path) == [(0, "OVERWRITE"), (1, "OVERWRITE")]
    assert sorted((r.v, r.n) for r in table.toDF().collect()) == [(0, 7), (1, 7), (2, 6)]
    latest = open_table(str(path)).snapshots.latest()
    assert latest is not None
    assert latest.watermark == 1793491219500


def test_each_start_of_a_writer_with_a_new_checkpoint_is_a_query_of_its_own(
    spark: SparkSession, events: Events, tmp_path: Path
) -> None:
    """Its batches have the numbers of the first one's, and must not be taken for these."""
    path = tmp_path / "t"
    PaimonTable.create(spark).location(str(path)).addColumns(
        StructType.fromDDL("id int, v long, at timestamp")
    ).execute()
    writer = PaimonTable.forPath(spark, str(path)).write_stream(events.stream()).trigger(availableNow=True)
    for name in ("one", "other"):
        writer.option("checkpointLocation", str(tmp_path / name)).start().awaitTermination()
    assert ids(path) == sorted([*range(20), *range(20)])
    named = PaimonTable.forPath(spark, str(path)).write_stream(events.stream(), str(tmp_path / "third"))
    for _ in range(2):
        named.trigger(availableNow=True).start().awaitTermination()
        shutil.rmtree(tmp_path / "third")
    assert ids(path) == sorted([*range(20)] * 4)


def test_partitions_of_a_new_table_are_an_option(events: Events, tmp_path: Path) -> None:
    """Spark drops what partitionBy says before any source hears of it, as the guide to streams tells."""
    df, path = events.stream(), str(tmp_path / "t")
    writer = df.writeStream.format("paimon").partitionBy("not there").option("partition", "v")
    writer.option("checkpointLocation", f"{path}.checkpoint").trigger(availableNow=True).start(path).awaitTermination()
    assert open_table(path).schema.partition_keys == ("v",)


def test_a_stopped_query_goes_on(events: Events, tmp_path: Path) -> None:
    """S5: it is stopped at random times, in the middle of tasks and commits."""
    table, checkpoint, chance = tmp_path / "t", tmp_path / "ck", random.Random()
    for number in range(STOPS):
        events.add(2)
        writer = events.stream().writeStream.format("paimon").option("checkpointLocation", str(checkpoint))
        query = writer.start(str(table))
        while number == 0 and query.lastProgress is None:
            query.awaitTermination(1)
        query.awaitTermination(chance.random() * 1.5)
        query.stop()
    run(events.stream(), table, checkpoint)
    files = 2 + 2 * STOPS
    assert ids(table) == list(range(10 * files))
    assert [number for number, _ in batches(table)][-1] == files - 1
    assert not check(open_table(str(table))).problems


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.range(4).selectExpr("cast(id as int) id", "id v").coalesce(1)


def test_writes_with_a_name_happen_once(spark: SparkSession, rows: DataFrame, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    rows.limit(0).write.format("paimon").mode("append").options(**KEYED).save(path)
    table = PaimonTable.forPath(spark, path)
    assert [table.append(rows, once=("load", 7)).repeated for _ in range(2)] == [False, True]
    assert [table.delete("id = 0", once=("load", 8)).repeated for _ in range(2)] == [False, True]
    assert [table.update("id = 1", {"v": "10"}, once=("load", 9)).repeated for _ in range(2)] == [False, True]
    source = rows.selectExpr("id + 2 id", "v * 100 v")

    def merge(version: int) -> bool:
        merged = table.merge(source.alias("s"), "target.id = s.id", once=("load", version))
        return merged.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute().repeated

    assert [merge(10), merge(10)] == [False, True]
    assert sorted(tuple(r) for r in table.toDF().collect()) == [(1, 10), (2, 0), (3, 100), (4, 200), (5, 300)]
    with pytest.raises(StaleBatch, match=r"once_skips_older=True"):
        table.append(rows, once=("load", 9))
    with pytest.raises(StaleBatch, match=r"MERGE has been done under this name"):
        table.append(rows, once=("load", 10))
    assert table.append(rows, once=("load", 9), once_skips_older=True).repeated
    assert not table.overwrite(rows.where("id = 1"), once=("load", 11)).repeated
    assert [tuple(r) for r in table.toDF().collect()] == [(1, 1)]
    assert [table.delete(once=("load", 12)).repeated for _ in range(2)] == [False, True]
    assert table.delete("id = 3", once=("load", 13)).snapshot_id is None
    assert table.delete("id = 3", once=("load", 13)).repeated, "a delete that found nothing is done too"
    for wrong in (("", 1), ("a", "1"), ("a", -1), ("a/b", 1), "ab"):
        with pytest.raises(OptionError):
            table.append(rows, once=wrong)  # type: ignore[arg-type]  # that is what is tested


def test_df_write_with_a_name_happens_once(rows: DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "t"
    for names in (("once.application", "once.version"), ("txnAppId", "txnVersion")):
        named = dict(zip(names, ("load", "3"), strict=True))
        rows.write.format("paimon").mode("append").options(**named).save(str(path))
    assert ids(path) == [0, 1, 2, 3]
    with pytest.raises(Exception, match=r"both 'once\.application' and 'once.version'"):
        rows.write.format("paimon").mode("append").option("txnAppId", "load").save(str(path))
