"""Names that are looked up in the wrong catalog, settings that are misspelt, and what Spark's own catalog lacks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

import paimon_spark
from paimon_spark import PaimonTable
from paimon_spark.errors import DataError, OptionError, SqlError, TableNotFound, UnsupportedFeature
from paimon_spark.spark.catalog.session_catalog import SessionCatalog
from paimon_spark.spark.statements.listings import like

pytestmark = pytest.mark.spark


def test_a_pattern_of_like_in_show_says_so(caplog: pytest.LogCaptureFixture) -> None:
    assert like(["expire_snapshots", "compact"], "exp*") == ["expire_snapshots"]
    assert caplog.text == ""
    assert like(["expire_snapshots", "compact"], "exp%") == []
    assert "no name is like 'exp%': in SHOW, * is any text and | is or, and % stands for itself" in caplog.text


@pytest.fixture
def two(quick_spark: SparkSession, tmp_path: Path) -> Iterator[tuple[SessionCatalog, SessionCatalog]]:
    first = paimon_spark.catalog(quick_spark, str(tmp_path / "one"), name="words_one")
    second = paimon_spark.catalog(quick_spark, str(tmp_path / "two"), name="words_two")
    first.sql("CREATE TABLE a (id INT, name STRING)")
    second.sql("CREATE TABLE b (id INT)")
    yield first, second
    for key in [key for key in quick_spark.conf.getAll if key.startswith("spark.paimon.")]:
        quick_spark.conf.unset(key)


def test_a_name_of_another_catalog_is_reported(
    quick_spark: SparkSession, two: tuple[SessionCatalog, SessionCatalog]
) -> None:
    first, second = two
    told = r"words_one\.default\.a is a name of the catalog 'words_one', .* 'words_two' here.*\['default\.a'\]"
    for call in (
        lambda: second.sql("SELECT * FROM words_one.default.a"),
        lambda: second.sql("INSERT INTO words_one.default.a VALUES (1, 'x')"),
        lambda: second.table("words_one.default.a"),
        lambda: second["words_one.default.a"],
    ):
        with pytest.raises(SqlError, match=told):
            call()
    assert first["words_one.default.a"].count() == 0
    assert PaimonTable.forName(quick_spark, "words_one.default.a").count() == 0
    assert PaimonTable.forName(quick_spark, "words_two.default.b").count() == 0
    with pytest.raises(SqlError, match="begins with words_oen, which is no catalog: did you mean words_one"):
        first.sql("SELECT * FROM words_oen.default.a")


def test_a_name_for_the_session_never_means_the_table_of_another_warehouse(
    quick_spark: SparkSession, tmp_path: Path
) -> None:
    spark = quick_spark.newSession()
    first = paimon_spark.catalog(spark, str(tmp_path / "one"))
    for statement in ("CREATE TABLE t (id INT)", "CREATE DATABASE d", "CREATE TABLE d.t (a INT)", "USE d"):
        first.sql(statement)
    assert PaimonTable.forName(spark, "t").toDF().columns == ["a"]
    assert PaimonTable.forName(spark, "default.t").toDF().columns == ["id"]
    assert "made" not in first.tables("d")
    PaimonTable.create(spark).tableName("made").addColumn("id", "INT").execute()
    assert "made" in first.tables("d")
    first.sql("USE spark_catalog")
    assert PaimonTable.forName(spark, "t").toDF().columns == ["id"]
    again = paimon_spark.catalog(spark, str(tmp_path / "one"))
    again.use("d")
    with pytest.raises(SqlError, match=r"t means several .*: paimon\.d\.t and paimon\.default\.t; write <catalog>"):
        PaimonTable.forName(spark, "t")
    assert PaimonTable.forName(spark, "d.t").toDF().columns == ["a"]  # the same for both objects

    other = paimon_spark.catalog(spark, str(tmp_path / "two"))
    other.sql("CREATE TABLE t (other INT)")
    for call in (
        lambda: PaimonTable.forName(spark, "default.t"),
        lambda: PaimonTable.forName(spark, "paimon.default.t"),
        lambda: PaimonTable.create(spark).tableName("default.new").addColumn("id", "INT").execute(),
    ):
        with pytest.raises(SqlError, match=rf"means several tables .*{tmp_path}/one.*{tmp_path}/two.*, \['"):
            call()
    assert (other["default.t"].toDF().columns, first["default.t"].toDF().columns) == (["other"], ["id"])
    paimon_spark.catalog(spark, str(tmp_path / "two"), name="second")
    assert PaimonTable.forName(spark, "second.default.t").toDF().columns == ["other"]


def test_a_name_of_several_catalogs_says_which_table_is_there(quick_spark: SparkSession, tmp_path: Path) -> None:
    spark = quick_spark.newSession()
    first, second = (paimon_spark.catalog(spark, str(tmp_path), name=name) for name in ("first", "second"))
    for statement in ("CREATE DATABASE s", "CREATE TABLE s.n (id INT)", "USE s"):
        first.sql(statement)
    with pytest.raises(SqlError, match=r"n means several .* session, of which first\.s\.n is there: write that$"):
        PaimonTable.forName(spark, "n")
    assert PaimonTable.forName(spark, "first.s.n").count() == 0
    with pytest.raises(SqlError, match=r"x means several .* session: first\.s\.x and second\.default\.x; write <cat"):
        PaimonTable.forName(spark, "x")
    second.sql("CREATE TABLE default.n (id INT)")
    with pytest.raises(SqlError, match=r"session: first\.s\.n and second\.default\.n; write <catalog>\.<database>"):
        PaimonTable.forName(spark, "n")


def test_a_path_for_a_name_and_a_name_for_a_path_name_the_other_call(quick_spark: SparkSession, tmp_path: Path) -> None:
    spark = quick_spark.newSession()
    paimon_spark.catalog(spark, str(tmp_path / "lake"), name="lake").sql("CREATE TABLE default.t (id INT)")
    path = f"{tmp_path}/lake/default.db/t"
    for name in (path, f"delta.`{path}`", f"lake.`{path}`", f"file:{path}"):
        with pytest.raises(SqlError, match=rf"is a path, .*PaimonTable\.forPath\(spark, '(file:)?{path}'\) opens"):
            PaimonTable.forName(spark, name)
    for name in ("lake.default.t", "default.t"):
        with pytest.raises(OptionError, match=rf"PaimonTable\.forName\(spark, '{name}'\)"):
            PaimonTable.forPath(spark, name)
    with pytest.raises(TableNotFound, match="there is nothing at this path"):
        PaimonTable.forPath(spark, f"{path}2")


def test_statements_and_tables_of_another_system(two: tuple[SessionCatalog, SessionCatalog]) -> None:
    first, _ = two
    with pytest.raises(UnsupportedFeature, match=r"^SQL: CONVERT TO is of Delta Lake, .* write them with cat\["):
        first.sql("CONVERT TO DELTA parquet.`/x`")
    with pytest.raises(UnsupportedFeature, match=r"CONVERT is of another system: default\.a stays .* copies its rows$"):
        first.sql("convert to delta default.a")
    for text in ("SELECT * FROM delta.`/x`", "DELETE FROM Iceberg.`/x`", "INSERT INTO delta.`/x` SELECT 1"):
        with pytest.raises(SqlError, match=r"is a table of another system, .* by its path as words_one\.`/x`$"):
            first.sql(text)
    with pytest.raises(UnsupportedFeature, match="AS SERDE shows a table of Hive, which this is not; leave it out"):
        first.sql("SHOW CREATE TABLE a AS SERDE")


def test_a_view_of_a_batch_is_one_of_the_session_of_the_batch(
    quick_spark: SparkSession, two: tuple[SessionCatalog, SessionCatalog], tmp_path: Path
) -> None:
    first, _ = two
    quick_spark.range(3).write.parquet(str(tmp_path / "in"))
    found = []

    def refused(batch: DataFrame, _: int) -> None:
        batch.createOrReplaceTempView("rows_of_batch")
        for text in (
            "SELECT count(*) FROM rows_of_batch",
            "INSERT INTO a SELECT id, 'x' FROM rows_of_batch",
            "MERGE INTO a USING rows_of_batch s ON a.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
        ):
            with pytest.raises(TableNotFound, match=r"one of the session batch\.sparkSession: open the catalog there"):
                first.sql(text)
        own = paimon_spark.catalog(batch.sparkSession, str(tmp_path / "one"))
        found.append(own.sql("SELECT count(*) FROM rows_of_batch").collect()[0][0])

    stream = quick_spark.readStream.schema("id long").parquet(str(tmp_path / "in"))
    writer = stream.writeStream.foreachBatch(refused).option("checkpointLocation", str(tmp_path / "ck"))
    writer.trigger(availableNow=True).start().awaitTermination()
    assert found == [3]


def test_a_misspelt_setting_is_reported_with_its_whole_name(two: tuple[SessionCatalog, SessionCatalog]) -> None:
    first, _ = two
    first.sql("SET spark.paimon.write.merge_schema=true")
    told = r"^the session sets 'spark\.paimon\.write\.merge_schema': .* did you mean 'write\.merge-schema'"
    for call in (lambda: first.table("a").count(), lambda: first.sql("INSERT INTO a VALUES (1, 'x')")):
        with pytest.raises(OptionError, match=told):
            call()
    first.sql("RESET spark.paimon.write.merge_schema")
    first.sql("SET `spark.paimon.write.merge-schema`=true")
    first.sql("INSERT INTO a BY NAME SELECT 1 AS id, 'x' AS name, 2 AS more")
    assert first.table("a").columns == ["id", "name", "more"]


@pytest.mark.parametrize("words", ["CREATE TABLE", "CREATE OR REPLACE TABLE", "CREATE TABLE IF NOT EXISTS"])
@pytest.mark.parametrize("rest", ["(id INT) USING paimon", "USING paimon AS SELECT 1 AS id"])
def test_the_own_catalog_of_spark_gets_no_table_of_paimon(
    two: tuple[SessionCatalog, SessionCatalog], words: str, rest: str
) -> None:
    first, _ = two
    with pytest.raises(UnsupportedFeature, match=r"spark_catalog\.default\.y USING paimon: .*words_one\.default\.y,"):
        first.sql(f"{words} spark_catalog.default.y {rest}")
    assert not first.sql("SHOW TABLES IN spark_catalog.default LIKE 'y'").collect()


def test_procedures_are_shown_where_they_are(two: tuple[SessionCatalog, SessionCatalog]) -> None:
    first, _ = two
    shown = first.sql("SHOW PROCEDURES").collect()
    assert "compact" in {row.procedure for row in shown}
    for place in ("sys", "words_one.sys", "words_one"):
        assert first.sql(f"SHOW PROCEDURES IN {place}").collect() == shown
    with pytest.raises(SqlError, match=r"shop has no procedures: write SHOW PROCEDURES IN words_one"):
        first.sql("SHOW PROCEDURES IN shop")
    first.sql("USE spark_catalog.default")
    with pytest.raises(SqlError, match=r"no procedures: write SHOW PROCEDURES IN words_one"):
        first.sql("SHOW PROCEDURES")


def test_a_procedure_that_is_not_of_this_catalog_is_reported_with_its_name(
    two: tuple[SessionCatalog, SessionCatalog],
) -> None:
    first, _ = two
    first.sql("CREATE TABLE t (id INT)")
    of_other = r"^SQL: CALL words_two\.sys\.compact: .* by the sql .* for 'words_two', or write words_one\.sys\.compact"
    for current in ("words_one.default", "spark_catalog.default"):
        first.sql(f"USE {current}")
        with pytest.raises(SqlError, match=of_other):
            first.sql("CALL words_two.sys.compact(table => 'default.b')")
        for name in ("never_opened.sys.compact", "system.compact", "compact", "spark_catalog.sys.compact"):
            is_bare = name == "compact" and current.startswith("words_one")
            words = r"compact names no procedure .* write sys\.compact$"
            if not is_bare:
                words = rf"^SQL: CALL {name}: .* this one words_one\.sys\.compact, "
            with pytest.raises(SqlError, match=words):
                first.sql(f"/* of */ CALL {name}(table => 'default.t')")
    first.sql("CALL words_one.sys.compact(table => 'default.t')")
    with pytest.raises(AnalysisException, match="UNRESOLVED_ROUTINE"):
        first.sql("SELECT compact('default.t')")


@pytest.mark.parametrize("current", ["words_one.default", "spark_catalog.default"])
def test_conditions_on_names_of_spark_reach_it(two: tuple[SessionCatalog, SessionCatalog], current: str) -> None:
    first, _ = two
    first.sql(f"USE {current}")
    for text in (
        "CREATE DATABASE IF NOT EXISTS spark_catalog.words",
        "CREATE TABLE IF NOT EXISTS spark_catalog.words.t (id INT) USING parquet",
        "CREATE TABLE IF NOT EXISTS spark_catalog.words.u USING parquet AS SELECT 1 AS id",
    ):
        first.sql(text)

    def tables() -> set[str]:  # the session has temporary views of other tests too, which every database shows
        rows = first.sql("SHOW TABLES IN spark_catalog.words").collect()
        return {row.tableName for row in rows if not row.isTemporary}

    assert tables() == {"t", "u"}
    assert "Type: MANAGED" in first.sql("SHOW TABLE EXTENDED IN spark_catalog.words LIKE 'u'").collect()[0].information
    for text in (
        "UNCACHE TABLE IF EXISTS spark_catalog.words.t",
        "DROP TABLE IF EXISTS spark_catalog.words.t",
        "DROP TABLE IF EXISTS spark_catalog.words.u",
        "DROP VIEW IF EXISTS spark_catalog.words.v",
        "DROP FUNCTION IF EXISTS spark_catalog.words.f",
    ):
        first.sql(text)
    assert tables() == set()
    first.sql("DROP DATABASE IF EXISTS spark_catalog.words")
    first.sql("DROP DATABASE IF EXISTS spark_catalog.words")


def test_a_column_that_is_not_there_has_a_near_one(two: tuple[SessionCatalog, SessionCatalog]) -> None:
    first, _ = two
    for sql in (
        "INSERT INTO a (id, nmae) VALUES (1, 'x')",
        "INSERT INTO a BY NAME SELECT 1 AS id, 'x' AS nmae",
        "UPDATE a SET nmae = 'x'",
    ):
        with pytest.raises(SqlError, match=r"nmae is no column of the table \(did you mean name\?\)"):
            first.sql(sql)
    with pytest.raises(DataError, match=r"'nmae' is not in the table \(did you mean name\?\)"):
        first["a"].append(first.sql("SELECT 1 AS id, 'x' AS nmae"))


def test_a_stream_refuses_a_change_by_the_option_that_was_given(
    two: tuple[SessionCatalog, SessionCatalog], tmp_path: Path
) -> None:
    first, _ = two
    first.sql("INSERT INTO a VALUES (1, 'x')")
    rows = first.stream("a", options={"incremental-between": "1,2"})
    query = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c"))
    with pytest.raises(Exception, match=r"'incremental-between' reads a change that ends.*spark\.read"):
        query.trigger(availableNow=True).start().awaitTermination()
