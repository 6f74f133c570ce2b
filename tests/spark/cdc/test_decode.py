"""Messages decoded by Spark, in a batch and in a stream."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from support.change_messages.batches import message_batch, values_batch
from support.change_messages.encoders import dumps

from paimon_spark.cdc import decode
from paimon_spark.errors import DataError, OptionError

pytestmark = pytest.mark.spark

SOURCE = {"db": "shop", "table": "orders", "ts_ms": 1000}


def frame(spark: SparkSession, batch: pa.RecordBatch) -> DataFrame:
    return spark.createDataFrame(pa.Table.from_batches([batch]))


def event(op: str, before: object, after: object) -> str:
    return dumps({"op": op, "before": before, "after": after, "source": SOURCE})


def test_rows_of_a_batch(spark: SparkSession) -> None:
    values = [
        event("c", None, {"id": 1, "total": Decimal("1.5"), "at": "2023-01-02 03:04:05"}),
        None,
        event("u", {"id": 1}, {"id": 1, "total": 2, "at": "2023-02-03 00:00:00"}),
        "{",
    ]
    messages = frame(spark, values_batch(*values))
    rows = decode(
        messages,
        "debezium-json",
        "id INT, total DECIMAL(10, 2), at TIMESTAMP",
        keys=["id"],
        computed=["month=date_format(at, yyyy-MM)"],
        metadata=["table_name", "offset"],
        metadata_prefix="_m_",
        dead_letters=True,
    )
    assert rows.schema.simpleString() == (
        "struct<id:int,total:decimal(10,2),at:timestamp,month:string,_m_table_name:string,_m_offset:bigint,"
        "_row_kind:string,_partition:int,_offset:bigint,_position:int,_error:string,_value:string,_key:string,_topic:string>"
    )
    found = [
        (row["_row_kind"], row["total"], row["month"], row["_m_table_name"], row["_offset"]) for row in rows.collect()
    ]
    assert found == [
        ("+I", Decimal("1.50"), "2023-01", "orders", 0),
        ("-U", Decimal("2.00"), "2023-02", "orders", 2),
        ("+U", Decimal("2.00"), "2023-02", "orders", 2),
        (None, None, None, None, 3),
    ]
    with pytest.raises(PySparkException, match=r"topic shop\.orders, partition 0, offset 3 cannot be decoded"):
        decode(messages, "debezium-json", "id INT").collect()


def test_columns_are_those_that_the_messages_of_a_batch_tell(spark: SparkSession) -> None:
    def message(**types: str) -> dict[str, object]:
        return {"data": [dict.fromkeys(types, "1")], "type": "INSERT", "mysqlType": types, "pkNames": ["id"]}

    messages = frame(spark, values_batch(message(id="int", at="time"), message(id="bigint", note="varchar(5)")))
    rows = decode(messages.select("value"), "canal-json", computed=["copy=upper(note)"])
    assert rows.schema.simpleString().startswith("struct<id:bigint,at:int,note:string,copy:string,_row_kind")


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    messages = frame(spark, message_batch([(None, "{}")]))
    with pytest.raises(DataError, match="in its column 'value', found key"):
        decode(messages.select("key"), "ogg-json", "id INT")
    with pytest.raises(OptionError, match="there is no format 'xml'"):
        decode(messages, "xml", "id INT")
    stream = spark.readStream.schema("value STRING").json(str(tmp_path))
    with pytest.raises(OptionError, match="give them as schema="):
        decode(stream, "ogg-json")
    assert decode(stream, "ogg-json", "id INT").isStreaming


def test_the_package_starts_without_spark() -> None:
    import subprocess
    import sys

    program = "import sys, paimon_spark.cdc, paimon_spark.cdc.batches.rows; sys.exit('pyspark' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
