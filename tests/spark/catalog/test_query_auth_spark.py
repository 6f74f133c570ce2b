"""Row filters and column masks of a REST server in Spark: every way to name a table shows the same rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from support.registered_catalogs import forget_catalogs
from support.rest_server import RestServer, rest_server

import paimon_spark
from paimon_spark import PaimonTable
from paimon_spark.errors import UnsupportedFeature

pytestmark = pytest.mark.spark

OWNER = {"name": "FIELD_REF", "fieldRef": {"index": 2, "name": "owner", "type": "STRING"}}
LIMITS = {
    "filter": [json.dumps({"kind": "LEAF", "transform": OWNER, "function": "EQUAL", "literals": ["ann"]})],
    "columnMasking": {"name": json.dumps({"name": "CONCAT", "inputs": ["*", "**"]})},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    with rest_server(tmp_path_factory.mktemp("lake")) as server:
        yield server


def shown(frame: DataFrame) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in frame.collect())


@pytest.mark.parametrize("keys", ["", "'primary-key' = 'id', 'bucket' = '1', "])
def test_every_road(spark: SparkSession, server: RestServer, keys: str, tmp_path: Path) -> None:
    forget_catalogs(spark)  # those of other tests may have a table of the same name
    cat = paimon_spark.catalog(spark, server.options)
    name = "keyed" if keys else "appended"
    cat.create_database("q", ignore_if_exists=True)
    cat.sql(
        f"CREATE TABLE paimon.q.{name} (id INT NOT NULL, name STRING, owner STRING) "
        f"TBLPROPERTIES ({keys}'query-auth.enabled' = 'true')"
    )
    cat.sql(f"INSERT INTO paimon.q.{name} VALUES (1, 'x', 'ann'), (2, 'y', 'bob'), (3, 'z', 'ann')")
    server.state.auth["q", name] = LIMITS
    options, place = cat.catalog.table_options(), f"rest://paimon/q/{name}"
    expected: list[tuple[object, ...]] = [(1, "***", "ann"), (3, "***", "ann")]
    table = PaimonTable.forName(spark, f"q.{name}")
    assert shown(spark.read.format("paimon").options(**options).load(place)) == expected
    assert shown(cat.table(f"q.{name}")) == expected
    assert shown(table.toDF()) == expected
    assert table.toDF().select("id").where("name = 'x'").count() == 0
    assert shown(cat.sql(f"SELECT count(*), min(id), max(name) FROM paimon.q.{name}")) == [(2, 1, "***")]
    assert shown(cat.sql(f"SELECT id FROM paimon.q.{name} WHERE name = '***' AND id < 3")) == [(1,)]
    assert shown(cat.sql(f"SELECT id FROM paimon.q.{name} ORDER BY id DESC LIMIT 1")) == [(3,)]
    assert shown(cat.sql(f"SELECT id, name FROM paimon.q.`{name}$audit_log` WHERE rowkind = '+I'")) == [
        (1, "***"),
        (3, "***"),
    ]
    for statement in (
        f"DELETE FROM paimon.q.{name} WHERE id = 1",
        f"UPDATE paimon.q.{name} SET owner = name WHERE id = 1",
        f"MERGE INTO paimon.q.{name} t USING (SELECT 1 id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
    ):
        with pytest.raises(UnsupportedFeature, match="filters its rows or masks its columns"):
            cat.sql(statement)
    stream = spark.readStream.format("paimon").options(**options).load(place).writeStream.format("memory")
    query = stream.queryName(name).trigger(availableNow=True).start()
    query.awaitTermination(60)
    assert shown(spark.table(name)) == expected
    try:
        paimon_spark.register_catalog(spark, "served", server.options)
        assert shown(spark.sql(f"SELECT * FROM served.q.{name}")) == expected
        assert shown(spark.sql(f"SELECT count(*), max(name) FROM served.q.{name} WHERE id > 1")) == [(1, "***")]
        assert shown(spark.table(f"served.q.{name}").where("name = 'x'")) == []
    finally:
        forget_catalogs(spark)


def test_statements_about_partitions_and_values(spark: SparkSession, server: RestServer) -> None:
    """What metadata tell of all rows is not told to a user who may see some of them."""
    cat = paimon_spark.catalog(spark, server.options)
    cat.create_database("q", ignore_if_exists=True)
    cat.sql(
        "CREATE TABLE paimon.q.parts (id INT, name STRING, owner STRING) PARTITIONED BY (owner) "
        "TBLPROPERTIES ('query-auth.enabled' = 'true')"
    )
    cat.sql("INSERT INTO paimon.q.parts VALUES (1, 'x', 'ann'), (2, 'y', 'bob')")
    cat.sql("ANALYZE TABLE paimon.q.parts COMPUTE STATISTICS FOR ALL COLUMNS")
    statements = (
        "SHOW PARTITIONS paimon.q.parts",
        "DESCRIBE TABLE EXTENDED paimon.q.parts id",
        "DESCRIBE TABLE EXTENDED paimon.q.parts PARTITION (owner = 'bob')",
        "SHOW TABLE EXTENDED IN paimon.q LIKE 'parts' PARTITION (owner = 'bob')",
        "SELECT id FROM paimon.q.parts WHERE owner = sys.max_pt('q.parts')",
    )
    for statement in statements:
        assert cat.sql(statement).collect()
    server.state.auth["q", "parts"] = LIMITS
    for statement in statements:
        with pytest.raises(UnsupportedFeature, match="filters its rows or masks its columns"):
            cat.sql(statement).collect()
    assert shown(cat.sql("DESCRIBE TABLE paimon.q.parts id"))
