"""A program: messages go through a real broker of Kafka, and a table follows them.

    python kafka_sync.py BROKER JARS FOLDER MODE

It prints "equal" if the table is what the history of the messages says. MODE is `stream`, or `batch` where the
connector is of another Spark than this one, and only its batches work.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from paimon_spark import PaimonTable
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table, new_schema
from support.change_messages.encoders import ENCODERS
from support.change_messages.histories import FIELDS, draw_history, final_rows

TOPIC = "shop.orders"


def main(broker: str, jars: str, folder: str, mode: str) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.jars", jars).config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.sql.shuffle.partitions", "2")
    spark = builder.getOrCreate()
    draws = random.Random(3)
    changes = draw_history(draws)
    messages = list(ENCODERS["debezium-with-schema"][1](changes, draws))
    rows = spark.createDataFrame(messages, "key STRING, value STRING").coalesce(1)
    writer = rows.write.format("kafka").option("kafka.bootstrap.servers", broker).option("topic", TOPIC)
    writer.option("kafka.max.block.ms", "120000").save()  # so long it waits for a broker that starts
    create_table(f"{folder}/t", new_schema(arrow_schema(FIELDS), ["id"], (), {"bucket": "1"}))
    table = PaimonTable.forPath(spark, f"{folder}/t")
    options = {"kafka.bootstrap.servers": broker, "subscribe": TOPIC, "startingOffsets": "earliest"}
    if mode == "stream":
        stream = spark.readStream.format("kafka").options(**options, maxOffsetsPerTrigger="15").load()
        sync = table.sync(stream, "debezium-json", checkpoint=f"{folder}/ck")
        assert isinstance(sync, DataStreamWriter)
        assert sync.trigger(availableNow=True).start().awaitTermination(300)
    else:
        table.sync(spark.read.format("kafka").options(**options).load(), "debezium-json", once=("loader", 1))
    found = [row.asDict() for row in table.toDF().sort("id").select("id", "name", "huge").collect()]
    expected = [{name: row[name] for name in ("id", "name", "huge")} for row in final_rows(changes)]
    print("equal" if found == expected and Path(folder).exists() else f"different: {found} {expected}")


if __name__ == "__main__":
    main(*sys.argv[1:])
