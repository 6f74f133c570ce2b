"""Namespaces and tables by Spark's own statements and by ``spark.catalog``."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.errors import PySparkException

from conftest import Lake
from paimon_spark import open_table
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import type_sql


def schema_of(lake: Lake, name: str) -> TableSchema:
    return open_table(str(lake.path / f"d.db/{name}")).schema


def test_a_table_is_made_as_the_catalog_of_this_package_makes_it(lake: Lake) -> None:
    declared = (
        "(id BIGINT NOT NULL COMMENT 'it''s', c CHAR(3), v VARCHAR(5) DEFAULT 'x', s STRUCT<a: INT>, dt DATE NOT NULL) "
        "COMMENT 'of t' PARTITIONED BY (dt) TBLPROPERTIES ('primary-key' = 'id, dt', 'bucket' = '2')"
    )
    lake.sql(f"CREATE TABLE t {declared}")
    lake.cat.sql(f"CREATE TABLE d.u {declared}")
    found, own = schema_of(lake, "t"), schema_of(lake, "u")
    assert found == replace(own, time_millis=found.time_millis)
    described = {row[0]: row[1] for row in lake.sql("DESCRIBE t").collect()[:5]}
    assert described == {"id": "bigint", "c": "char(3)", "v": "varchar(5)", "s": "struct<a:int>", "dt": "date"}
    assert "PARTITIONED BY (dt)" in str(lake.rows("SHOW CREATE TABLE t")[0][0])
    lake.sql("CREATE TABLE IF NOT EXISTS t (other INT)")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        lake.sql("CREATE TABLE t (other INT)")


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("(id INT) STORED AS ORC", r"ROW FORMAT describe tables of Hive; .*'file\.format' = 'orc'"),
        ("(v STRING) DEFAULT COLLATION UTF8_LCASE", "a table stores no collation"),
        ("(`` INT)", "a column has no name"),
        ("(id INT) USING parquet", "a Hive or REST catalog has format tables"),
        ("(ts TIMESTAMP) PARTITIONED BY (days(ts))", r"PARTITIONED BY days\(ts\): .* by the values of whole columns"),
        ("(st STRUCT<x: INT>) PARTITIONED BY (st.x)", r"PARTITIONED BY st\.x: .* by the values of whole columns"),
        ("(id INT, st STRUCT<x: INT>) PARTITIONED BY (id, st.x)", r"PARTITIONED BY st\.x: "),
        ("PARTITIONED BY (st.x) AS SELECT named_struct('x', 1) AS st", r"PARTITIONED BY st\.x: "),
        ("(id INT) PARTITIONED BY (bucket(4, id))", "set the table properties 'bucket' and 'bucket-key'"),
        ("(id INT) CLUSTERED BY (id) INTO 4 BUCKETS", "set the table properties 'bucket' and 'bucket-key'"),
        ("(id INT) CLUSTERED BY (id) SORTED BY (id) INTO 4 BUCKETS", "set the table properties 'bucket'"),
        ("(id INT) CLUSTER BY (id)", r"'clustering\.columns' = 'a,b' sorts the rows of each write"),
        ("(id INT) TBLPROPERTIES ('primary-key' = 'nope')", "nope"),
        ("(id INT) TBLPROPERTIES ('file.format' = 'lance')", "lance"),
        ("(id INTERVAL DAY)", "interval"),
        ("(id INT) TBLPROPERTIES ('merge-engine' = 'nothing')", "merge-engine"),
    ],
)
def test_what_cannot_be_made_is_refused(lake: Lake, clause: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        lake.sql(f"CREATE TABLE t {clause}")
    assert not lake.spark.catalog.tableExists("lake.d.t")


def test_layouts_of_a_dataframe_that_cannot_be_made_are_refused(lake: Lake) -> None:
    frame = lake.sql("SELECT 1 AS id, named_struct('x', 2) AS st")
    for call, message in (
        (lambda: frame.writeTo("lake.d.n").partitionedBy("st.x").create(), r"PARTITIONED BY st\.x: "),
        (lambda: frame.writeTo("lake.d.n").partitionedBy("id", "st.x").createOrReplace(), r"PARTITIONED BY st\.x: "),
        (lambda: frame.write.partitionBy("st.x").saveAsTable("lake.d.n"), r"PARTITIONED BY st\.x: "),
        (lambda: frame.write.bucketBy(4, "id").saveAsTable("lake.d.n"), "the table properties 'bucket'"),
        (lambda: frame.write.clusterBy("id").saveAsTable("lake.d.n"), r"'clustering\.columns'"),
    ):
        with pytest.raises(PySparkException, match=message):
            call()
    assert not lake.spark.catalog.tableExists("lake.d.n")


def test_columns_change(lake: Lake) -> None:
    lake.sql("CREATE TABLE t (id INT NOT NULL, v INT, s STRUCT<a: INT>) TBLPROPERTIES ('primary-key' = 'id')")
    lake.sql("ALTER TABLE t ADD COLUMNS (z STRING COMMENT 'zz' AFTER id, s.b STRING)")
    lake.sql("ALTER TABLE t RENAME COLUMN v TO w")
    lake.sql("ALTER TABLE t ALTER COLUMN w TYPE BIGINT")
    lake.sql("ALTER TABLE t ALTER COLUMN w COMMENT 'wide'")
    lake.sql("ALTER TABLE t ALTER COLUMN w FIRST")
    lake.sql("ALTER TABLE t ALTER COLUMN w SET DEFAULT 7")
    lake.sql("ALTER TABLE t DROP COLUMN s.a")
    lake.sql("ALTER TABLE t SET TBLPROPERTIES ('snapshot.num-retained.max' = '20', 'comment' = 'new')")
    found = schema_of(lake, "t")
    assert [f"{field.name} {type_sql(field.type)}" for field in found.fields] == [
        "w BIGINT",
        "id INT NOT NULL",
        "z STRING",
        "s ROW<`b` STRING>",
    ]
    assert (found.by_name["w"].description, found.by_name["w"].default_value) == ("wide", "7")
    assert (found.by_name["z"].description, found.comment) == ("zz", "new")
    assert found.options["snapshot.num-retained.max"] == "20"
    lake.sql("INSERT INTO t (id) VALUES (1)")
    assert lake.rows("SELECT w, id FROM t") == [(7, 1)]
    lake.sql("ALTER TABLE t UNSET TBLPROPERTIES ('snapshot.num-retained.max')")
    assert "snapshot.num-retained.max" not in schema_of(lake, "t").options
    for change, message in {
        "DROP COLUMN id": "primary key",
        "ALTER COLUMN w TYPE INT": "bigint|BIGINT",
        "SET TBLPROPERTIES ('primary-key' = 'w')": "cannot change",
        "ADD COLUMN q INT DEFAULT 5": "DEFAULT",
        "ADD CONSTRAINT c CHECK (id > 0)": "CONSTRAINT|constraint|Constraint",
    }.items():
        with pytest.raises(PySparkException, match=message):
            lake.sql(f"ALTER TABLE t {change}")
    with pytest.raises(Exception, match=r"ALTER TABLE d\.t: a table of Paimon is not altered within a script"):
        lake.sql("BEGIN ALTER TABLE t DROP COLUMN z; END")
    assert len(schema_of(lake, "t").fields) == 4


def test_names_of_spark(lake: Lake) -> None:
    lake.sql("CREATE TABLE t AS SELECT 1 id")
    lake.sql("ALTER TABLE t RENAME TO u")
    assert [row.tableName for row in lake.sql("SHOW TABLES").collect()] == ["u"]
    lake.sql("ALTER TABLE lake.d.u RENAME TO d.t")
    with pytest.raises(PySparkException, match="there is no database 'nope'"):
        lake.sql("ALTER TABLE t RENAME TO nope.t")
    assert [table.name for table in lake.spark.catalog.listTables("lake.d")] == ["t"]
    assert [column.name for column in lake.spark.catalog.listColumns("lake.d.t")] == ["id"]
    assert (lake.spark.catalog.currentCatalog(), lake.spark.catalog.currentDatabase()) == ("lake", "d")
    assert lake.spark.catalog.tableExists("lake.d.t")
    assert not lake.spark.catalog.tableExists("lake.d.nope")
    assert "lake" in {row[0] for row in lake.sql("SHOW CATALOGS").collect()}
    for statement, message in {
        "SELECT * FROM lake.d.nope": "TABLE_OR_VIEW_NOT_FOUND",
        "SELECT * FROM lake.e.t": "TABLE_OR_VIEW_NOT_FOUND",
        "DROP TABLE lake.d.nope": "TABLE_OR_VIEW_NOT_FOUND",
        "SELECT nope FROM t": "UNRESOLVED_COLUMN",
        "SELECT nofunction(id) FROM t": "UNRESOLVED_ROUTINE",
        "SELECT * FROM `t$nope`": "nope",
    }.items():
        with pytest.raises(Exception, match=message):
            lake.sql(statement)
    lake.sql("DROP TABLE IF EXISTS nope")
    lake.sql("DROP TABLE t")
    assert not (lake.path / "d.db/t").exists()


def test_namespaces(lake: Lake) -> None:
    lake.sql("CREATE DATABASE lake.e")
    lake.sql("CREATE DATABASE IF NOT EXISTS lake.e")
    assert lake.rows("SHOW NAMESPACES IN lake") == [("d",), ("default",), ("e",)]
    assert [database.name for database in lake.spark.catalog.listDatabases()] == ["d", "default", "e"]
    described = {row[0]: row[1] for row in lake.sql("DESCRIBE NAMESPACE lake.e").collect()}
    assert described["Location"].endswith("/lake/e.db")
    lake.sql("CREATE TABLE lake.e.t AS SELECT 1 id")
    for statement, message in {
        "CREATE DATABASE lake.e": "SCHEMA_ALREADY_EXISTS",
        "DROP DATABASE lake.e": "SCHEMA_NOT_EMPTY",
        "DROP DATABASE lake.nope": "SCHEMA_NOT_FOUND",
        "USE lake.nope": "SCHEMA_NOT_FOUND",
        "SHOW TABLES IN lake.nope": "SCHEMA_NOT_FOUND",
    }.items():
        with pytest.raises(Exception, match=message):
            lake.sql(statement)
    lake.sql("DROP DATABASE lake.e CASCADE")
    assert lake.rows("SHOW NAMESPACES IN lake") == [("d",), ("default",)]


def test_the_default_database_is_there_before_its_first_table(lake: Lake) -> None:
    lake.sql("USE lake")
    lake.sql("USE default")
    assert lake.rows("SHOW TABLES") == []
    assert ("Namespace Name", "default") in lake.rows("DESCRIBE NAMESPACE lake.default")
    assert not (lake.path / "default.db").exists()
    lake.sql("CREATE TABLE t AS SELECT 1 AS id")
    assert lake.rows("SELECT * FROM lake.default.t") == [(1,)]
    assert lake.rows("SHOW TABLES IN lake.default") == [("default", "t", False)]


def test_tables_of_the_database_sys(lake: Lake) -> None:
    lake.sql("CREATE TABLE t (id INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '3')")
    options = "SELECT table_name, value FROM lake.sys.all_table_options WHERE key = 'bucket'"
    assert lake.rows(options) == [("t", "3")]
    lake.sql("USE lake.d")
    assert lake.rows("SELECT database_name, primary_key FROM sys.`tables`") == [("d", True)]
    assert lake.rows(lake.spark.table("lake.sys.tables").select("table_name")) == [("t",)]
    assert lake.spark.catalog.tableExists("lake.sys.partitions")
    assert not lake.spark.catalog.tableExists("lake.sys.nope")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        lake.sql("SELECT * FROM lake.sys.nope")


def test_statistics_of_a_column(lake: Lake) -> None:
    lake.sql("CREATE TABLE t AS SELECT 'abc' AS v UNION ALL SELECT NULL")
    lake.sql("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS v")
    described = dict(lake.rows("DESCRIBE EXTENDED t v"))
    assert (described["data_type"], described["num_nulls"], described["max_col_len"]) == ("string", "1", "3")
    assert lake.rows("DESCRIBE t v") == [("col_name", "v"), ("comment", "NULL"), ("data_type", "string")]


def test_a_table_is_made_again_by_what_is_shown_of_it(lake: Lake) -> None:
    lake.sql("CREATE TABLE t (id INT NOT NULL, c CHAR(3) COMMENT 'x') TBLPROPERTIES ('primary-key' = 'id')")
    (shown,) = lake.sql("SHOW CREATE TABLE t").collect()
    found = schema_of(lake, "t")
    lake.sql("DROP TABLE t")
    lake.sql(shown[0])
    assert (schema_of(lake, "t").fields, schema_of(lake, "t").options) == (found.fields, found.options)


def test_a_database_has_one_part(lake: Lake) -> None:
    with pytest.raises(PySparkException, match=r"the database a\.b: the name of a database has one part"):
        lake.sql("CREATE NAMESPACE lake.a.b")
    for statement in ("CREATE TABLE lake.t (id INT)", "CREATE TABLE lake.a.b.t AS SELECT 1 AS id"):
        with pytest.raises(
            PySparkException, match=r"a table has a database of one part.*write lake\.<database>\.<table>"
        ):
            lake.sql(statement)
    for name in ("lake.a.b.t", "lake.nowhere.t", "lake.t"):
        for make in (
            lake.spark.range(1).write.saveAsTable,
            lambda name: lake.spark.range(1).writeTo(name).createOrReplace(),
            lambda name: lake.spark.range(1).writeTo(name).replace(),
            lambda name: lake.sql(f"CREATE TABLE {name} (id INT)"),
            lambda name: lake.sql(f"CREATE TABLE {name} AS SELECT 1 AS id"),
            lambda name: lake.sql(f"ALTER TABLE {name} RENAME TO lake.d.u"),
            lambda name: lake.sql(f"DROP TABLE {name}"),
            lake.spark.table,
        ):
            with pytest.raises(PySparkException) as caught:
                make(name)
            assert len(str(caught.value)) < 700, str(caught.value)
    for statement in ("DROP NAMESPACE lake.a.b", "ALTER NAMESPACE lake.a.b SET PROPERTIES ('x' = 'y')", "USE lake.a.b"):
        with pytest.raises(PySparkException) as caught:
            lake.sql(statement)
        assert len(str(caught.value)) < 700, str(caught.value)
