"""The pages of the official connector for Spark, statement by statement, with ``register_catalog`` for its settings.

The pages are those of release 2.0.0: Quick Start, SQL DDL, SQL Write, SQL Query, DataFrame, Structured Streaming,
Default Value and SQL Functions. The data are of these tests; the expected rows follow from what the pages say.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import Lake, Rows


def run(lake: Lake, page: str) -> None:
    """Runs statements, which end with ";" at the end of a line; ``-->`` begins the rows that one returns, in order."""
    for part in page.split(";\n"):
        text, arrow, expected = part.partition("-->")
        if text.strip():
            found = lake.sql(text.strip()).collect()
            if arrow:
                assert repr([tuple(row) for row in found]) == expected.strip(), text


@pytest.fixture
def shop(lake: Lake) -> Lake:
    """The catalog, with its default database as the current one."""
    run(lake, "USE lake;\nUSE default;\n")
    return lake


def test_quick_start_in_sql(shop: Lake) -> None:
    page = """
        create table products (k int, v string) tblproperties ('primary-key' = 'k');
        INSERT INTO products VALUES (1, 'Tea'), (2, 'Salt');
        SELECT * FROM products ORDER BY k --> [(1, 'Tea'), (2, 'Salt')];
        INSERT INTO products VALUES (2, 'Sea salt'), (3, 'Oil');
        SELECT * FROM products ORDER BY k --> [(1, 'Tea'), (2, 'Sea salt'), (3, 'Oil')];
        SHOW TABLES --> [('default', 'products', False)];
    """
    run(shop, page)


def test_quick_start_with_dataframes(shop: Lake) -> None:
    shop.sql("CREATE TABLE products (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k')")
    path, spark = f"{shop.path}/default.db/products", shop.spark
    first = spark.createDataFrame([(1, "Tea"), (2, "Salt")], "k int, v string")
    second = spark.createDataFrame([(2, "Sea salt"), (3, "Oil")], "k int, v string")
    first.write.format("paimon").mode("append").saveAsTable("products")
    second.write.format("paimon").mode("append").save(path)
    expected: Rows = [(1, "Tea"), (2, "Sea salt"), (3, "Oil")]
    assert shop.rows(spark.read.format("paimon").table("products")) == expected
    assert shop.rows(spark.read.format("paimon").load(path)) == expected
    assert shop.rows(spark.read.table("lake.default.products")) == expected


def test_tables_are_made_from_others(shop: Lake) -> None:
    page = """
        CREATE TABLE clicks (user_id BIGINT, item_id BIGINT, behavior STRING, dt STRING, hh STRING)
            PARTITIONED BY (dt, hh) TBLPROPERTIES ('primary-key' = 'dt,hh,user_id');
        INSERT INTO clicks VALUES (7, 70, 'buy', '2026-11-01', '08'), (8, 80, 'look', '2026-11-02', '09');
        CREATE TABLE plain AS SELECT user_id, item_id FROM clicks;
        SELECT * FROM plain ORDER BY user_id --> [(7, 70), (8, 80)];
        CREATE TABLE by_day PARTITIONED BY (dt) AS SELECT user_id, dt FROM clicks;
        SHOW PARTITIONS by_day --> [('dt=2026-11-01',), ('dt=2026-11-02',)];
        CREATE TABLE orc_files TBLPROPERTIES ('file.format' = 'orc') AS SELECT * FROM plain;
        SELECT sum(item_id) FROM orc_files --> [(150,)];
        CREATE TABLE one_a_day PARTITIONED BY (dt) TBLPROPERTIES ('primary-key' = 'dt,hh') AS SELECT * FROM clicks;
        INSERT INTO one_a_day VALUES (9, 90, 'look', '2026-11-01', '08');
        SELECT user_id, dt FROM one_a_day ORDER BY dt --> [(9, '2026-11-01'), (8, '2026-11-02')];
        CREATE TABLE alike LIKE clicks;
        SELECT count(*) FROM alike --> [(0,)];
        CREATE TABLE changing (user_id BIGINT, item_id BIGINT, behavior STRING)
            TBLPROPERTIES ('primary-key' = 'user_id', 'bucket' = '2');
        INSERT INTO changing VALUES (1, 10, 'pv');
        REPLACE TABLE changing (user_id BIGINT, category STRING)
            TBLPROPERTIES ('primary-key' = 'user_id', 'bucket' = '4');
        SELECT * FROM changing --> [];
        SELECT * FROM changing VERSION AS OF 1 --> [(1, 10, 'pv')];
        CREATE OR REPLACE TABLE changing TBLPROPERTIES ('primary-key' = 'user_id', 'bucket' = '4')
            AS SELECT user_id, behavior FROM clicks;
        SELECT * FROM changing ORDER BY user_id --> [(7, 'buy'), (8, 'look')];
        ALTER TABLE changing CREATE TAG `TAG-1`;
        ALTER TABLE changing CREATE TAG IF NOT EXISTS `TAG-1`;
        ALTER TABLE changing CREATE TAG `TAG-2` RETAIN 7 DAYS;
        ALTER TABLE changing CREATE OR REPLACE TAG `TAG-3` AS OF VERSION 1 RETAIN 24 HOURS;
        ALTER TABLE changing DELETE TAG `TAG-1`;
        ALTER TABLE changing RENAME TAG `TAG-2` TO `TAG-4`;
        SHOW TAGS changing --> [('TAG-3',), ('TAG-4',)];
    """
    run(shop, page)


def test_overwrites(shop: Lake) -> None:
    page = """
        CREATE TABLE stock (id INT, pt STRING) PARTITIONED BY (pt);
        INSERT INTO stock VALUES (1, 'p1'), (2, 'p2');
        INSERT OVERWRITE stock PARTITION (pt = 'p1') VALUES (3);
        SELECT * FROM stock ORDER BY id --> [(2, 'p2'), (3, 'p1')];
        SET spark.sql.sources.partitionOverwriteMode = dynamic;
        INSERT OVERWRITE stock VALUES (4, 'p1');
        SELECT * FROM stock ORDER BY id --> [(2, 'p2'), (4, 'p1')];
        SET spark.sql.sources.partitionOverwriteMode = static;
        INSERT OVERWRITE stock VALUES (5, 'p1');
        SELECT * FROM stock --> [(5, 'p1')];
        INSERT OVERWRITE stock PARTITION (pt) VALUES (6, 'p2');
        SELECT * FROM stock --> [(6, 'p2')];
        TRUNCATE TABLE stock;
        SELECT * FROM stock --> [];
    """
    run(shop, page)


def test_rows_change(shop: Lake) -> None:
    page = """
        CREATE TABLE people (id INT, s STRUCT<c1: INT, c2: STRING>, name STRING)
            TBLPROPERTIES ('primary-key' = 'id', 'merge-engine' = 'deduplicate');
        INSERT INTO people VALUES (1, struct(1, 'one'), 'Ann'), (2, struct(2, 'two'), 'Bob');
        UPDATE people SET name = 'Eve' WHERE id = 1;
        UPDATE people SET s.c2 = 'second' WHERE s.c1 = 2;
        SELECT id, s.c2, name FROM people ORDER BY id --> [(1, 'one', 'Eve'), (2, 'second', 'Bob')];
        DELETE FROM people WHERE id = 1;
        SELECT id FROM people --> [(2,)];
        CREATE TABLE target (a INT, b INT, c STRING) TBLPROPERTIES ('primary-key' = 'a');
        CREATE TABLE source (a INT, b INT, c STRING) TBLPROPERTIES ('primary-key' = 'a');
        INSERT INTO target VALUES (1, 10, 'c1'), (2, 20, 'c2');
        INSERT INTO source VALUES (2, 200, 'new'), (3, 300, 'c3');
        MERGE INTO target USING source ON target.a = source.a
            WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
        SELECT * FROM target ORDER BY a --> [(1, 10, 'c1'), (2, 200, 'new'), (3, 300, 'c3')];
        INSERT OVERWRITE target VALUES (1, 10, 'c1'), (5, 50, 'c5'), (6, 60, 'c6');
        INSERT OVERWRITE source VALUES (1, 1, 'c1'), (5, 5, 'c9'), (6, 6, 'c6'), (7, 100, 'c99'), (8, 8, 'c8');
        MERGE INTO target USING source ON target.a = source.a
            WHEN MATCHED AND target.a = 5 THEN UPDATE SET b = source.b + target.b
            WHEN MATCHED AND source.c > 'c2' THEN UPDATE SET *
            WHEN MATCHED THEN DELETE
            WHEN NOT MATCHED AND c > 'c9' THEN INSERT (a, b, c) VALUES (a, b * 1.1, c)
            WHEN NOT MATCHED THEN INSERT *;
        SELECT * FROM target ORDER BY a --> [(5, 55, 'c5'), (6, 6, 'c6'), (7, 110, 'c99'), (8, 8, 'c8')];
    """
    run(shop, page)


def test_new_columns_of_written_rows(shop: Lake) -> None:
    page = """
        SET `spark.paimon.write.merge-schema` = true;
        CREATE TABLE t (a INT, b STRING);
        INSERT INTO t VALUES (1, '1'), (2, '2');
        INSERT INTO t BY NAME SELECT 3 AS a, '3' AS b, 3 AS c;
        RESET `spark.paimon.write.merge-schema`;
        SELECT * FROM t ORDER BY a --> [(1, '1', None), (2, '2', None), (3, '3', 3)];
    """
    run(shop, page)
    more = shop.spark.createDataFrame([(4, "4", 4, 4.5)], "a int, b string, c int, d double")
    path = f"{shop.path}/default.db/t"
    more.write.format("paimon").mode("append").option("write.merge-schema", "true").save(path)
    run(shop, "SELECT a, c, d FROM t WHERE a > 2 ORDER BY a --> [(3, 3, None), (4, 4, 4.5)];\n")


def test_files_are_copied(shop: Lake, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "people.csv").write_text("id,name\n1,Ann\n2,Bob\n", "utf-8")
    page = f"""
        CREATE TABLE people (id INT, name STRING);
        COPY INTO people FROM '{folder}' FILE_FORMAT = (TYPE = CSV, SKIP_HEADER = 1) PATTERN = '.*[.]csv'
            --> [('people.csv', 'LOADED', 2, 2, 0, None)];
        COPY INTO people FROM '{folder}' FILE_FORMAT = (TYPE = CSV, SKIP_HEADER = 1)
            --> [('people.csv', 'SKIPPED', 0, 0, 0, None)];
        SELECT * FROM people ORDER BY id --> [(1, 'Ann'), (2, 'Bob')];
        COPY INTO '{tmp_path}/out' FROM (SELECT name FROM people WHERE id = 2) FILE_FORMAT = (TYPE = JSON);
    """
    run(shop, page)
    assert [path.read_text("utf-8") for path in (tmp_path / "out").glob("*.json")] == ['{"name":"Bob"}\n']


def test_queries(shop: Lake) -> None:
    page = """
        CREATE TABLE t (id INT, v STRING, pt STRING) PARTITIONED BY (pt) TBLPROPERTIES ('bucket' = '-1');
        INSERT INTO t VALUES (1, 'a', 'p1');
        INSERT INTO t VALUES (2, 'b', 'p2');
        SELECT id, __paimon_partition.pt, __paimon_bucket, __paimon_row_index FROM t ORDER BY id
            --> [(1, 'p1', 0, 0), (2, 'p2', 0, 0)];
        SELECT id FROM t VERSION AS OF 1 --> [(1,)];
        SELECT count(*) FROM t TIMESTAMP AS OF '2099-01-01 00:00:00.123' --> [(2,)];
        SELECT count(*) FROM t TIMESTAMP AS OF 4070908800 --> [(2,)];
        ALTER TABLE t CREATE TAG `my-tag` AS OF VERSION 1;
        SELECT id FROM t VERSION AS OF 'my-tag' --> [(1,)];
        SELECT id FROM paimon_incremental_query('t', 1, 2) --> [(2,)];
        SELECT id FROM paimon_incremental_between_timestamp('t', '2000-01-01 00:00:00', '2099-01-01 00:00:00')
            ORDER BY id --> [(1,), (2,)];
        SELECT * FROM paimon_incremental_to_auto_tag('t', '2024-12-04') --> [];
        CREATE TABLE e (id INT, v ARRAY<FLOAT>);
        INSERT INTO e VALUES (1, array(0f, 0f)), (2, array(1f, 0f)), (3, array(3f, 4f)), (4, NULL);
        SELECT id FROM vector_search('e', 'v', array(1.0f, 0.5f), 2) --> [(2,), (1,)];
        SELECT *, __paimon_search_score FROM vector_search('e', 'v', array(0.0f, 0.0f), 2) WHERE id > 1
            --> [(2, [1.0, 0.0], 0.5), (3, [3.0, 4.0], 0.03846153989434242)];
        SELECT sys.max_pt('t') --> [('p2',)];
        SELECT id FROM t WHERE pt = sys.max_pt('t') --> [(2,)];
    """
    run(shop, page)


def test_dataframes(shop: Lake) -> None:
    spark = shop.spark
    data = spark.createDataFrame([(1, "x1", "p1"), (2, "x2", "p2")], "a int, b string, pt string")
    data.write.format("paimon").option("primary-key", "a,pt").partitionBy("pt").saveAsTable("test_tbl")
    more = spark.createDataFrame([(1, "y1", "p1"), (3, "y3", "p3")], "a int, b string, pt string")
    more.write.format("paimon").mode("append").insertInto("test_tbl")
    assert shop.rows("SELECT * FROM test_tbl") == [(1, "y1", "p1"), (2, "x2", "p2"), (3, "y3", "p3")]
    assert shop.rows("SHOW PARTITIONS test_tbl") == [("pt=p1",), ("pt=p2",), ("pt=p3",)]
    first = spark.read.format("paimon").option("scan.snapshot-id", 1).table("test_tbl")
    assert shop.rows(first) == [(1, "x1", "p1"), (2, "x2", "p2")]
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    one = spark.createDataFrame([(9, "z", "p1")], "a int, b string, pt string")
    one.write.format("paimon").mode("overwrite").insertInto("test_tbl")
    spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert shop.rows("SELECT * FROM test_tbl") == [(2, "x2", "p2"), (3, "y3", "p3"), (9, "z", "p1")]
    one.write.format("paimon").mode("overwrite").saveAsTable("test_tbl")
    assert shop.rows("SELECT * FROM lake.default.test_tbl") == [(9, "z", "p1")]


def test_streams(shop: Lake, tmp_path: Path) -> None:
    spark = shop.spark
    shop.sql("CREATE TABLE T (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    shop.sql("INSERT INTO T VALUES (1, 'Hi'), (2, 'Hello')")
    stream = spark.readStream.format("paimon").option("read.stream.maxBytesPerTrigger", "134217728").table("T")
    writer = stream.writeStream.outputMode("append").format("paimon").option("checkpointLocation", f"{tmp_path}/c")
    query = writer.trigger(availableNow=True).toTable("copied")
    query.awaitTermination(300)
    assert shop.rows("SELECT * FROM copied") == [(1, "Hi"), (2, "Hello")]


def test_default_values(shop: Lake) -> None:
    page = """
        CREATE TABLE t (a BIGINT, b STRING DEFAULT 'given', c INT DEFAULT 5,
            tags ARRAY<STRING> DEFAULT ARRAY('x', 'y'));
        INSERT INTO t (a) VALUES (1), (2);
        SELECT * FROM t ORDER BY a --> [(1, 'given', 5, ['x', 'y']), (2, 'given', 5, ['x', 'y'])];
        ALTER TABLE t ALTER COLUMN c SET DEFAULT 6;
        ALTER TABLE t ALTER COLUMN tags SET DEFAULT ARRAY('z');
        INSERT INTO t (a) VALUES (3);
        SELECT c, tags FROM t WHERE a = 3 --> [(6, ['z'])];
    """
    run(shop, page)
