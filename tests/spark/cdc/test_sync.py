"""Tables that follow a database."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from support.change_messages.batches import message_batch, values_batch
from support.change_messages.encoders import ENCODERS, Message, dumps
from support.change_messages.histories import FIELDS, draw_history, final_rows, millis_of_day
from support.long_runs import tries

from paimon_spark import PaimonTable, open_table
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.cdc import decode
from paimon_spark.errors import DataError, OptionError, PaimonError, SchemaError
from paimon_spark.format.type_text import type_sql

pytestmark = pytest.mark.spark

HISTORIES = tries("PAIMON_CDC_SPARK_HISTORIES", ci=1, long=10)


def frame(spark: SparkSession, *batches: pa.RecordBatch) -> DataFrame:
    return spark.createDataFrame(pa.Table.from_batches(batches))


def table(spark: SparkSession, path: Path, columns: str, key: str = "id", **options: str) -> PaimonTable:
    made = PaimonTable.create(spark).location(str(path)).properties({"bucket": "2", **options} if key else options)
    for column in columns.split(", "):
        name, _, data_type = column.partition(" ")
        made.addColumn(name, data_type)
    return (made.primaryKey(key) if key else made).execute()


def rows_of(found: PaimonTable) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in found.toDF().collect())


def canal(kind: str, types: dict[str, str], *rows: Any, old: Any = None) -> dict[str, Any]:
    data = [dict(zip(types, row, strict=True)) for row in rows]
    told = {"data": data, "type": kind, "old": old, "mysqlType": types, "pkNames": ["id"]}
    return {**told, "database": "shop", "table": "orders", "es": 1}


@pytest.mark.parametrize("written", ["debezium-with-schema", "maxwell"])
def test_histories(spark: SparkSession, tmp_path: Path, written: str) -> None:
    """Three batches of random changes, in the order of nothing: Spark reads them in several tasks."""
    name, encode = ENCODERS[written]
    for seed in range(HISTORIES):
        draws = random.Random(seed)
        changes = draw_history(draws, most=80)
        create_table(str(tmp_path / f"{seed}"), new_schema(arrow_schema(FIELDS), ["id"], (), {"bucket": "2"}))
        target = PaimonTable.forPath(spark, str(tmp_path / f"{seed}"))
        messages = list(encode(changes, draws))
        cuts = sorted(draws.sample(range(len(messages) + 1), min(2, len(messages))))
        for start, end in zip([0, *cuts], [*cuts, len(messages)], strict=True):
            shuffled = frame(spark, message_batch(messages[start:end], start)).repartition(3, "value")
            target.sync(shuffled, name)
        found = [row.asDict() for row in target.toDF().sort("id").collect()]
        for row in found:
            row["raw"] = None if row["raw"] is None else bytes(row["raw"])
        expected = final_rows(changes)
        for row in expected:
            row["clock"] = None if row["clock"] is None else millis_of_day(row["clock"])
        assert found == expected, seed


def test_texts_for_char_columns_are_padded_as_by_other_writes(spark: SparkSession, tmp_path: Path) -> None:
    """A key that came padded and one that came bare are one key."""
    columns = "id CHAR(3) NOT NULL, c CHAR(5)"
    synced = table(spark, tmp_path / "t", columns)
    synced.append(spark.createDataFrame([("b", "old")], "id string, c string"))
    images = [(None, {"id": "a", "c": "x"}), ({"id": "b  ", "c": "old"}, {"id": "b", "c": "yy"})]
    texts = [(json.dumps({"before": old, "after": new, "op": "u" if old else "c"}),) for old, new in images]
    synced.sync(spark.createDataFrame(texts, "value string"), "debezium-json")
    assert rows_of(synced) == [("a  ", "x    "), ("b  ", "yy   ")]
    stored = open_table(str(tmp_path / "t")).scan("id, c").to_arrow()
    assert sorted(tuple(row.values()) for row in stored.to_pylist()) == rows_of(synced)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"id": "b", "c": "z"}\n{"id": "k  ", "c": "w"}\n')
    changes = spark.readStream.schema("id string, c string").json(str(tmp_path / "in"))
    query = synced.write_stream(changes, checkpoint=str(tmp_path / "ck")).trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    assert rows_of(synced) == [("a  ", "x    "), ("b  ", "z    "), ("k  ", "w    ")]
    with pytest.raises(PaimonError, match=r"'toolong' is no CHAR\(5\) \(it has a length of 7\)"):
        synced.sync(
            spark.createDataFrame(
                [('{"before": null, "after": {"id": "d", "c": "toolong"}, "op": "c"}',)], "value string"
            ),
            "debezium-json",
        )


@pytest.mark.parametrize("key", ["CHAR(3) NOT NULL", "VARCHAR(3) NOT NULL"])
def test_rows_with_strings_keep_the_types_of_keys_and_of_char_columns(
    spark: SparkSession, tmp_path: Path, key: str
) -> None:
    synced = table(spark, tmp_path / "t", f"id {key}, c CHAR(5), v VARCHAR(2)")
    before = [type_sql(field.type) for field in open_table(str(tmp_path / "t")).schema.fields]
    synced.append(spark.sql("SELECT 'b' AS id, 'old' AS c, 'v' AS v"))
    images = ({"id": "a", "c": "x", "v": "v"}, {"id": "b", "c": "new", "v": "longer"})
    texts = [(json.dumps({"before": None, "after": image, "op": "c"}),) for image in images]
    rows = decode(spark.createDataFrame(texts, "value string"), "debezium-json", "id STRING, c STRING, v STRING")
    synced.sync(rows)
    pad = "  " if key.startswith("CHAR") else ""
    assert rows_of(synced) == [(f"a{pad}", "x    ", "v"), (f"b{pad}", "new  ", "longer")]
    after = [type_sql(field.type) for field in open_table(str(tmp_path / "t")).schema.fields]
    assert after == [*before[:2], "STRING"]
    with pytest.raises(DataError, match="'toolong' of length 7 does not fit into CHAR"):
        synced.sync(rows.withColumn("c", sf.lit("toolong")))


def test_an_update_that_moves_a_row_to_another_partition_leaves_it_there_alone(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Also where the key is unique only within its partition."""
    images = [{"id": 1, "p": p, "v": v} for v, p in enumerate("ABA")] + [{"id": 2, "p": "A", "v": 7}]
    changes = [(None, images[0]), (None, images[3]), (images[0], images[1])]
    messages = [(dumps({"before": old, "after": new, "op": "u" if old else "c"}),) for old, new in changes]
    back = [(dumps({"before": images[1], "after": images[2], "op": "u"}),)]
    for bucket in ("1", "-1"):
        made = PaimonTable.create(spark).location(str(tmp_path / bucket)).property("bucket", bucket)
        made.addColumn("id", "INT").addColumn("p", "STRING").addColumn("v", "INT")
        synced = made.primaryKey("id").partitionedBy("p").execute()
        synced.sync(spark.createDataFrame(messages, "value string").coalesce(1), "debezium-json")
        assert rows_of(synced) == [(1, "B", 1), (2, "A", 7)]
        synced.sync(spark.createDataFrame(back, "value string"), "debezium-json")
        assert rows_of(synced) == [(1, "A", 2), (2, "A", 7)]


def test_the_table_follows_the_columns_of_the_messages(spark: SparkSession, tmp_path: Path) -> None:
    target = table(spark, tmp_path / "t", "id INT, v VARCHAR(5)")
    first = {"id": "int", "v": "varchar(5)"}
    wide = {"id": "int", "v": "varchar(20)", "n": "decimal(10,2)"}
    values = (
        canal("INSERT", first, ("1", "one"), ("2", "two")),
        {"isDdl": True, "type": "ALTER", "sql": "ALTER TABLE orders ADD n DECIMAL(10, 2)"},
        canal("UPDATE", wide, ("1", "a longer text", "1.25"), old=[{"v": "one"}]),
        canal("DELETE", wide, ("2", "two", None)),
    )
    result = target.sync(frame(spark, values_batch(*values)), "canal-json", metadata=["table_name"])
    assert result.snapshot_id is not None
    assert [tuple(row) for row in target.toDF().collect()] == [(1, "a longer text", _decimal("1.25"), "orders")]
    with pytest.raises(SchemaError, match=r"column 'n' is DECIMAL\(10, 2\), and the messages tell DATE"):
        target.sync(
            frame(spark, values_batch(canal("INSERT", {"id": "int", "n": "date"}, ("3", "2020-01-01")))), "canal-json"
        )


def _decimal(text: str) -> Any:
    from decimal import Decimal

    return Decimal(text)


def test_types_that_spark_shows_as_wider_ones_stay(spark: SparkSession, tmp_path: Path) -> None:
    """Flink takes a watermark of a TIMESTAMP(3) alone."""
    columns = "id INT, at TIMESTAMP(3), lz TIMESTAMP(0) WITH LOCAL TIME ZONE, t TIME(3)"
    synced = table(spark, tmp_path / "t", columns)
    before = open_table(str(tmp_path / "t")).schema.fields
    row = {"id": 1, "at": "2026-01-02 11:30:00.125", "lz": "2026-01-02 11:30:00", "t": "10:00:00"}
    text = json.dumps({"before": None, "after": row, "op": "c"})
    synced.sync(spark.createDataFrame([(text,)], "value string"), "debezium-json")
    found = open_table(str(tmp_path / "t"))
    assert found.schema.fields == before
    (stored,) = found.scan().to_arrow().to_pylist()
    assert str(stored["at"]) == "2026-01-02 11:30:00.125000"


def test_rows_that_decode_made(spark: SparkSession, tmp_path: Path) -> None:
    """Rows of another type and with another column: the table follows them too."""
    target = table(spark, tmp_path / "t", "id INT, v INT")
    maxwell = [{"type": "insert", "data": {"id": i, "v": 2**40 + i, "w": "x"}} for i in (1, 2)]
    deleted = {"type": "delete", "data": {"id": 1}}
    rows = decode(frame(spark, values_batch(*maxwell, deleted)), "maxwell-json", "id INT, v BIGINT, w STRING")
    target.sync(rows)
    assert rows_of(target) == [(2, 2**40 + 2, "x")]


def test_aggregations_get_the_rows_before_updates(spark: SparkSession, tmp_path: Path) -> None:
    options = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
    target = table(spark, tmp_path / "t", "k STRING, v BIGINT", key="k", **options)
    events = [
        {"op": "c", "after": {"k": "a", "v": 5}},
        {"op": "c", "after": {"k": "a", "v": 7}},
        {"op": "u", "before": {"k": "a", "v": 5}, "after": {"k": "a", "v": 1}},
        {"op": "d", "before": {"k": "a", "v": 7}},
    ]
    target.sync(frame(spark, values_batch(*events)), "debezium-json")
    assert rows_of(target) == [("a", 1)]


def test_tables_without_a_key_only_grow(spark: SparkSession, tmp_path: Path) -> None:
    target = table(spark, tmp_path / "t", "id INT", key="")
    target.sync(frame(spark, values_batch({"type": "insert", "data": {"id": 1}})), "maxwell-json")
    assert rows_of(target) == [(1,)]
    with pytest.raises(DataError, match="has no primary key, so it cannot take the change of a row: -D"):
        target.sync(frame(spark, values_batch({"type": "delete", "data": {"id": 1}})), "maxwell-json")


def test_dead_letters(spark: SparkSession, tmp_path: Path) -> None:
    target = table(spark, tmp_path / "t", "id INT, v INT")
    messages = frame(
        spark, values_batch({"type": "insert", "data": {"id": 1}}, "{", {"type": "insert", "data": {"id": "x"}})
    )
    with pytest.raises(DataError, match="offset 1 cannot be decoded"):
        target.sync(messages, "maxwell-json")
    assert rows_of(target) == []
    for rows in (messages, decode(messages, "maxwell-json", "id INT", dead_letters=True)):
        format_name = "maxwell-json" if rows is messages else None
        target.sync(rows, format_name, dead_letters=str(tmp_path / "letters"))
        assert rows_of(target) == [(1, None)]
    letters = PaimonTable.forPath(spark, str(tmp_path / "letters")).toDF()
    assert letters.columns == ["error", "topic", "partition", "offset", "key", "value"]
    assert sorted(row["offset"] for row in letters.collect()) == [1, 1, 2, 2]
    with pytest.raises(OptionError, match="say with dead_letters= which table"):
        target.sync(decode(messages, "maxwell-json", "id INT", dead_letters=True))


def test_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    """Files of recorded messages, one for each batch, read twice by Spark's own source of files."""
    target = table(spark, tmp_path / "t", "id INT")
    recorded = tmp_path / "messages"
    recorded.mkdir()
    schema = "value STRING, partition INT, offset BIGINT"

    def record(offset: int, value: Any) -> None:
        line = json.dumps({"value": dumps(value), "partition": 0, "offset": offset})
        (recorded / f"{offset}.json").write_text(line + "\n")

    def run() -> None:
        stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(recorded))
        writer = target.sync(stream, "maxwell-json", checkpoint=str(tmp_path / "ck"))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(120)

    record(0, {"type": "insert", "data": {"id": 1, "v": "a"}})
    record(1, {"type": "insert", "data": {"id": 2, "v": "b"}})
    run()
    record(2, {"type": "delete", "data": {"id": 1, "v": "a"}})
    record(3, {"type": "update", "data": {"id": 2, "v": "c", "w": 1}, "old": {"v": "b"}})
    run()
    assert rows_of(target) == [(2, "c", "1")]


def test_each_batch_is_written_once(spark: SparkSession, tmp_path: Path) -> None:
    """Spark gives a batch again if it died before its own note of it."""
    target, letters = table(spark, tmp_path / "t", "id INT", key=""), str(tmp_path / "letters")
    folder = tmp_path / "messages"
    frame(spark, values_batch({"type": "insert", "data": {"id": 1}}, "{")).write.parquet(str(folder))

    def run() -> None:
        stream = spark.readStream.schema(spark.read.parquet(str(folder)).schema).parquet(str(folder))
        writer = target.sync(stream, "maxwell-json", checkpoint=str(tmp_path / "ck"), dead_letters=letters)
        assert writer.trigger(availableNow=True).start().awaitTermination(120)

    run()
    for name in ("0", ".0.crc"):
        (tmp_path / "ck" / "commits" / name).unlink()
    run()
    assert rows_of(target) == [(1,)]
    assert PaimonTable.forPath(spark, letters).toDF().count() == 1
    batch = frame(spark, values_batch({"type": "insert", "data": {"id": 2}}))
    results = [target.sync(batch, "maxwell-json", once=("loader", 1)) for _ in range(2)]
    assert [result.repeated for result in results] == [False, True]
    assert rows_of(target) == [(1,), (2,)]


def test_a_batch_that_comes_again_does_not_bring_a_column_back(spark: SparkSession, tmp_path: Path) -> None:
    target = table(spark, tmp_path / "t", "id INT")
    batch = frame(spark, values_batch({"type": "insert", "data": {"id": 1, "v": "a"}}))
    target.sync(batch, "maxwell-json", once=("loader", 1))
    with target.update_schema() as changes:
        changes.drop_column("v")
    assert target.sync(batch, "maxwell-json", once=("loader", 1)).repeated
    assert target.toDF().columns == ["id"]
    target.sync(batch, "maxwell-json", once=("loader", 2))
    assert rows_of(target) == [(1, "a")]


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    target = table(spark, tmp_path / "t", "id INT")
    messages: list[Message] = [(None, dumps({"type": "insert", "data": {"id": 1}}))]
    batch = frame(spark, message_batch(messages))
    with pytest.raises(OptionError, match="have no column '_row_kind'"):
        target.sync(batch)
    with pytest.raises(OptionError, match="'colour' says nothing of decoding; there are computed"):
        target.sync(batch, "maxwell-json", colour="red")
    with pytest.raises(OptionError, match="lack the key id, so their order is not known"):
        target.sync(decode(batch, "maxwell-json", "v INT"))
    with pytest.raises(OptionError, match="a stream needs checkpoint="):
        target.sync(spark.readStream.schema("value STRING").json(str(tmp_path)), "maxwell-json")
