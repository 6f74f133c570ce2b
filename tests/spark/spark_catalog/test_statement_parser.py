"""Statements that Spark hands to no catalog: UPDATE, DELETE, MERGE, CALL, tags; with comments and parameters."""

from __future__ import annotations

import re

import pytest
from pyspark.errors import ParseException, PySparkException
from pyspark.sql import functions as F

from conftest import Lake


@pytest.fixture
def table(lake: Lake) -> Lake:
    lake.sql("CREATE TABLE t (id INT NOT NULL, a STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    lake.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    return lake


def test_rows_are_changed(table: Lake) -> None:
    assert table.rows("UPDATE t SET a = 'u' WHERE id = 2") == [(1,)]
    assert table.rows("/* why */ DELETE FROM lake.d.t -- here\nWHERE id >= 3 OR a = 'a'") == [(2,)]
    merge = "MERGE INTO t AS x USING (SELECT 2 id UNION ALL SELECT 9) s ON x.id = s.id "
    table.sql(f"{merge} WHEN MATCHED THEN UPDATE SET a = 'm' WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)")
    assert table.rows("SELECT * FROM t") == [(2, "m"), (9, None)]
    table.sql("DELETE FROM t WHERE id IN (SELECT max(id) FROM t)")
    assert table.rows("SELECT * FROM t") == [(2, "m")]


def test_identifier_names_a_table(lake: Lake) -> None:
    lake.sql("CREATE TABLE t (id INT)")
    lake.sql("INSERT INTO IDENTIFIER('lake.d.t') VALUES (1), (2)")
    lake.sql("UPDATE IDENTIFIER('d.t') SET id = 9 WHERE id = 1")
    lake.sql("DELETE FROM IDENTIFIER('t') WHERE id = 2")
    lake.sql("ALTER TABLE IDENTIFIER('lake.d.`t`') ADD COLUMN v INT")
    assert lake.rows("SELECT * FROM IDENTIFIER('t')") == [(9, None)]
    lake.sql("DECLARE OR REPLACE VARIABLE named = 'lake.d.t'")
    changes = (
        "DELETE FROM IDENTIFIER({}) WHERE id = 9",
        "UPDATE IDENTIFIER({}) SET id = 1",
        "MERGE INTO IDENTIFIER({}) t USING (SELECT 9 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
        "ALTER TABLE IDENTIFIER({}) ADD COLUMN w INT",
    )
    for current, words in (("lake.d", "IDENTIFIER takes one text"), ("spark_catalog.default", r"IDENTIFIER\(<")):
        lake.sql(f"USE {current}")
        for change in changes:
            for name in (":t", ":t || ''", "named", "concat('lake.d', '.t')"):
                with pytest.raises(PySparkException, match=words):
                    lake.spark.sql(change.format(name), args={"t": "lake.d.t"})
    lake.sql("CREATE TABLE spark_catalog.default.plain (id INT) USING parquet")
    try:
        lake.spark.sql("INSERT INTO IDENTIFIER(:t) VALUES (5)", args={"t": "plain"})
        assert lake.rows("SELECT * FROM spark_catalog.default.plain") == [(5,)]
    finally:
        lake.sql("DROP TABLE spark_catalog.default.plain")
    lake.sql("USE lake.d")
    assert lake.rows("SELECT * FROM t") == [(9, None)]
    lake.sql("CREATE TABLE `identifier` (id INT)")
    lake.sql("INSERT INTO `identifier` (id) VALUES (3)")
    assert lake.rows("SELECT id FROM `identifier`") == [(3,)]


def test_parameters_are_values(table: Lake) -> None:
    table.sql("UPDATE t SET a = :v WHERE id = :k", v="it's \\ ü", k=1)
    table.spark.sql("DELETE FROM t WHERE id = ? OR a = ?", args=[2, "c"])
    assert table.rows("SELECT * FROM t") == [(1, "it's \\ ü")]
    assert table.rows("SELECT a FROM t WHERE id = 1") == [("it's \\ ü",)]


def test_explain_changes_nothing(table: Lake) -> None:
    table.sql("EXPLAIN UPDATE t SET a = 'e'").collect()
    assert table.rows("SELECT a FROM t") == [("a",), ("b",), ("c",)]


def test_procedures_tags_and_partitions(table: Lake) -> None:
    assert table.rows("CALL lake.sys.create_tag(table => 'd.t', tag => 'one')") == [(True,)]
    table.sql("ALTER TABLE t CREATE TAG two")
    assert table.rows("SHOW TAGS t") == [("one",), ("two",)]
    table.sql("ALTER TABLE t DELETE TAG two")
    assert table.rows("SHOW TAGS lake.d.t") == [("one",)]
    table.sql("CREATE TABLE p (id INT, dt STRING) PARTITIONED BY (dt)")
    table.sql("INSERT INTO p VALUES (1, 'x'), (2, 'y')")
    assert table.rows("SHOW PARTITIONS p") == [("dt=x",), ("dt=y",)]
    table.sql("ALTER TABLE p DROP PARTITION (dt = 'x')")
    assert table.rows("SELECT id FROM p") == [(2,)]
    with pytest.raises(Exception, match="there is no procedure 'nope'"):
        table.sql("CALL lake.sys.nope(table => 'd.t')")
    with pytest.raises(Exception, match="OPTIMIZE is of another system"):
        table.sql("OPTIMIZE lake.d.t")


def test_what_is_advised_for_a_statement_of_another_system_runs_as_it_is_written(table: Lake) -> None:
    """Also where another catalog is current: an advice is followed by copying it."""
    (described,) = [row[1] for row in table.rows("DESCRIBE EXTENDED t") if row[0] == "Location"]
    path = f"lake.`{described}`"
    table.sql("USE spark_catalog.default")
    try:
        for text, count in (
            ("DESCRIBE HISTORY lake.d.t", 1),
            ("DESCRIBE DETAIL lake.d.t", 2),
            ("OPTIMIZE lake.d.t", 1),
            ("VACUUM lake.d.t", 2),
            ("RESTORE TABLE lake.d.t TO VERSION AS OF 1", 3),
            ("SELECT * FROM table_changes('lake.d.t', 1)", 1),
            (f"OPTIMIZE {path}", 1),
            (f"DESCRIBE DETAIL {path}", 1),
        ):
            with pytest.raises(Exception, match="is of another system: ") as caught:
                table.sql(text)
            found = re.findall(
                r"(?:SELECT \* FROM|CALL|DESCRIBE EXTENDED) [\w.`$/:-]+(?: ?\(.*?\))?", str(caught.value)
            )
            advised = [each for each in found if "rollback_to_timestamp" not in each and "1, 3" not in each]
            assert len(found) == count, (text, found)
            for each in advised:
                table.sql(each).collect()
        with pytest.raises(Exception, match=r"format\('paimon'\)\.load\('(\S*)'\) shows the snapshots") as caught:
            table.sql(f"DESCRIBE HISTORY {path}")
        (shown,) = re.findall(r"load\('(\S*)'\)", str(caught.value))
        assert table.spark.read.format("paimon").load(shown).count() > 0
    finally:
        table.sql("USE lake.d")


def test_a_temporary_view_comes_before_a_table(table: Lake) -> None:
    table.spark.range(3).createOrReplaceTempView("t")
    try:
        with pytest.raises(Exception, match="t is a temporary view, whose rows stay"):
            table.sql("DELETE FROM t")
        assert table.rows("SELECT count(*) FROM t") == [(3,)]
        assert table.rows("SELECT count(*) FROM lake.d.t") == [(3,)]
    finally:
        table.spark.catalog.dropTempView("t")


def test_statements_of_spark_stay_with_spark(table: Lake) -> None:
    table.sql("SET spark.sql.shuffle.partitions = 2")
    table.sql("USE spark_catalog.default")
    assert table.spark.catalog.currentCatalog() == "spark_catalog"
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        table.sql("SELECT * FROM t")
    with pytest.raises(ParseException, match="PARSE_SYNTAX_ERROR"):
        table.sql("SELCT 1")
    with pytest.raises(ParseException, match="PARSE_SYNTAX_ERROR"):
        table.sql("SELECT 'not closed")
    assert table.rows("DELETE FROM lake.d.t WHERE id = 1") == [(1,)]
    table.sql("USE lake.d")


def test_merge_of_a_dataframe_is_refused_with_what_to_write(table: Lake) -> None:
    source = table.spark.range(1).select(F.col("id").cast("int").alias("k"))
    with pytest.raises(
        Exception, match=r"MERGE of lake\.d\.t: df\.mergeInto.*MERGE INTO lake\.d\.t t USING.*\.merge\(df, "
    ):
        source.mergeInto("lake.d.t", F.expr("id = k")).whenMatched().delete().merge()
    assert len(table.rows("SELECT * FROM t")) == 3


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE t SET nope = 'x'",
        "DELETE FROM t WHERE nope = 1",
        "MERGE INTO t USING (SELECT 1 AS k) s ON t.nope = s.k WHEN MATCHED THEN DELETE",
    ],
)
def test_a_column_that_is_not_there_is_named_by_an_error_of_pyspark(table: Lake, statement: str) -> None:
    with pytest.raises(PySparkException, match="nope"):
        table.sql(statement)


@pytest.mark.parametrize(
    ("options", "stored", "after_all"),
    [
        ("'merge-engine' = 'first-row'", [(1, 10), (2, 20)], [(1, 10), (2, 20)]),
        ("'merge-engine' = 'first-row', 'changelog-producer' = 'lookup'", [(1, 10), (2, 20)], [(1, 10), (2, 20)]),
        (
            "'merge-engine' = 'aggregation', 'fields.v.aggregate-function' = 'sum'",
            [(1, 10), (2, 20)],
            [(1, 11), (2, 21)],
        ),
        (
            "'merge-engine' = 'partial-update', 'fields.g.sequence-group' = 'v', 'fields.v.aggregate-function' = 'sum'",
            [(1, 10), (2, 20)],
            [(1, 11), (2, 21)],
        ),
    ],
)
def test_a_merge_that_inserts_alone_is_for_every_engine(
    lake: Lake, options: str, stored: list[tuple[int, int]], after_all: list[tuple[int, int]]
) -> None:
    lake.sql(f"CREATE TABLE e (id INT, v INT, g INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', {options})")
    lake.sql("INSERT INTO e VALUES (1, 10, 1)")
    begin = "MERGE INTO e t USING (SELECT 1 AS id, 99 AS v, 2 AS g UNION ALL SELECT 2, 20, 2) s ON t.id = s.id"
    assert lake.rows(f"{begin} WHEN NOT MATCHED THEN INSERT *")[0][0] == 1
    assert lake.rows("SELECT id, v FROM e") == stored
    lake.sql(f"{begin} WHEN NOT MATCHED THEN INSERT *")
    assert lake.rows("SELECT id, v FROM e") == stored
    for clause in ("WHEN MATCHED THEN UPDATE SET v = s.v", "WHEN MATCHED THEN DELETE"):
        with pytest.raises(PySparkException, match=r"cannot be (updated|replaced)|row cannot be replaced"):
            lake.sql(f"{begin} {clause} WHEN NOT MATCHED THEN INSERT *")
    lake.sql("INSERT INTO e VALUES (1, 1, 3), (2, 1, 3)")
    assert lake.rows("SELECT id, v FROM e") == after_all


def test_statements_of_another_system_are_answered(table: Lake) -> None:
    for name in ("lake.d.t", "t"):
        with pytest.raises(PySparkException, match=r"\$snapshots` shows the snapshots"):
            table.sql(f"DESCRIBE HISTORY {name}")
        with pytest.raises(
            PySparkException, match=rf"^DESCRIBE DETAIL is of another .*: DESCRIBE EXTENDED {name} shows"
        ):
            table.sql(f"DESC DETAIL {name}")
    table.sql("USE spark_catalog")
    with pytest.raises(PySparkException, match=r"FROM lake\.d\.`t\$snapshots` shows the snapshots"):
        table.sql("DESCRIBE HISTORY lake.d.t")
    with pytest.raises(PySparkException, match="TABLE_OR_VIEW_NOT_FOUND"):
        table.sql("DESCRIBE HISTORY default.of_another_catalog")
    table.sql("USE lake.d")
    table.sql("CREATE TABLE history (t INT COMMENT 'when')")
    assert ("comment", "when") in table.rows("DESCRIBE history t")
    with pytest.raises(PySparkException, match=r"EXECUTE IMMEDIATE \.\.\. USING gives no values .* into its text"):
        table.sql("EXECUTE IMMEDIATE 'DELETE FROM lake.d.t WHERE id = ?' USING 1")
    before = len(table.rows("SELECT * FROM t"))
    table.sql("EXECUTE IMMEDIATE 'DELETE FROM lake.d.t WHERE id = 1'")
    table.spark.sql("DELETE FROM lake.d.t WHERE id = ?", args=[2])
    assert len(table.rows("SELECT * FROM t")) == before - 2


def test_changes_behind_with(table: Lake) -> None:
    table.sql(
        "WITH s AS (SELECT 2 AS id, 'two' AS a UNION ALL SELECT 4, 'four') MERGE INTO t USING s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    table.sql("WITH s AS (SELECT '5' AS id) INSERT INTO t (id) SELECT id FROM s")
    table.sql("FROM t INSERT INTO t SELECT id + 10, a WHERE id = 1")
    assert table.rows("SELECT * FROM t") == [(1, "a"), (11, "a"), (2, "two"), (3, "c"), (4, "four"), (5, None)]
    assert table.rows("WITH s AS (SELECT 'delete' AS `update`) SELECT * FROM s") == [("delete",)]


def test_functions_without_a_table(table: Lake) -> None:
    table.sql("CREATE TABLE p (id INT, dt STRING) PARTITIONED BY (dt)")
    table.sql("INSERT INTO p VALUES (1, 'x'), (2, 'y')")
    assert table.rows("SELECT sys.max_pt('d.p') AS m") == [("y",)]
    shown = "BlobDescriptor{version=2, uri='/a', offset=0, length=-1}"
    assert table.rows("SELECT sys.descriptor_to_string(sys.path_to_descriptor('/a')) AS m") == [(shown,)]
    assert table.rows(table.sql("SELECT concat(sys.max_pt('p'), :more) AS m", more="!")) == [("y!",)]
    assert table.rows("SELECT 'max_pt' AS m") == [("max_pt",)]
    assert table.rows("SELECT max_pt FROM (SELECT id AS max_pt FROM p)") == [(1,), (2,)]


def test_counts_of_metadata_are_no_full_scan(table: Lake) -> None:
    table.sql("CREATE TABLE p (id INT, dt STRING) PARTITIONED BY (dt)")
    table.sql("INSERT INTO p VALUES (1, 'x'), (2, 'y')")
    table.spark.conf.set("spark.paimon.read.allow.fullScan", "false")
    try:
        with pytest.raises(Exception, match="forbids a read of all files"):
            table.sql("SELECT * FROM p").collect()
        assert table.rows("SELECT count(*) FROM p WHERE dt > 'a'") == [(2,)]
    finally:
        table.spark.conf.unset("spark.paimon.read.allow.fullScan")


def test_functions_and_casts_of_the_official_connector(table: Lake) -> None:
    table.sql("INSERT INTO t VALUES ('4', 5)")  # texts and numbers become the types of the columns
    assert table.rows("SELECT * FROM paimon_incremental_query('d.t', 1, 2)") == [(4, "5")]
    table.sql("CREATE TABLE p (id INT, dt STRING) PARTITIONED BY (dt)")
    table.sql("INSERT INTO p VALUES (1, 'x'), (2, 'y')")
    assert table.rows("SELECT id FROM p WHERE dt = sys.max_pt('d.p')") == [(2,)]
    table.sql("CREATE TABLE q LIKE p")
    table.sql("INSERT INTO q SELECT * FROM p WHERE dt = sys.max_pt('d.p')")
    assert table.rows("SELECT * FROM q") == [(2, "y")]
