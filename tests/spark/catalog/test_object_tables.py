"""Object tables by every door of Spark and the program: made by SQL, read, described, refused for writing, dropped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support.programs.command_line import command
from support.registered_catalogs import forget_catalogs

import paimon_spark
from paimon_spark import PaimonTable
from paimon_spark.errors import PaimonError
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

pytestmark = pytest.mark.spark
MAKE = "CREATE TABLE lake.d.photos {}COMMENT 'of the roof' TBLPROPERTIES ('type' = 'object-table', 'team' = 'me')"
WANTED = [("2026/b.jpg", "b.jpg", 7), ("a.txt", "a.txt", 5)]
QUERY = "SELECT path, name, length FROM lake.d.photos WHERE path NOT LIKE 'schema/%' ORDER BY path"


@dataclass(frozen=True)
class Lake:
    """A session, and a catalog that is opened and registered in it."""

    spark: SparkSession
    cat: SessionCatalog


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    found = spark.newSession()
    yield found
    forget_catalogs(found)


@pytest.fixture(params=["cat.sql", "spark.sql"])
def lake(request: pytest.FixtureRequest, session: SparkSession, tmp_path: Path) -> Lake:
    """A JDBC catalog with an object table of two files, made by one of the two SQLs."""
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/n.db", "warehouse": f"{tmp_path}/lake"}
    found = paimon_spark.catalog(session, options, name="lake")
    paimon_spark.register_catalog(session, "lake", options)
    sql = found.sql if request.param == "cat.sql" else session.sql
    sql("CREATE DATABASE lake.d")
    sql(MAKE.format("" if request.param == "cat.sql" else "USING paimon "))
    folder = tmp_path / "lake/d.db/photos"
    (folder / "2026").mkdir()
    (folder / "a.txt").write_text("hello")
    (folder / "2026/b.jpg").write_text("picture")
    return Lake(session, found)


def test_every_door_reads_it(lake: Lake, tmp_path: Path) -> None:
    spark, place = lake.spark, f"{tmp_path}/lake/d.db/photos"
    for sql in (lake.cat.sql, spark.sql):
        assert [tuple(row) for row in sql(QUERY).collect()] == WANTED
        assert sql("SELECT count(*), sum(length) FROM lake.d.photos WHERE length < 8").collect()[0] == (2, 12)
    table = PaimonTable.forName(spark, "lake.d.photos")
    frames = [
        spark.read.format("paimon").load(place),
        spark.table("lake.d.photos"),
        lake.cat.table("d.photos"),
        table.toDF(),
        PaimonTable.forPath(spark, place).toDF(),
    ]
    for frame in frames:
        rows = frame.where("path NOT LIKE 'schema/%'").orderBy("path").select("path", "name", "length").collect()
        assert [tuple(row) for row in rows] == WANTED
    chosen = spark.read.format("paimon").option("columns", "name").option("filter", "length = 7").load(place)
    assert [tuple(row) for row in chosen.collect()] == [("b.jpg",)]
    assert [field.simpleString() for field in frames[0].schema] == [
        "path:string", "name:string", "length:bigint", "mtime:bigint", "atime:bigint", "owner:string",
    ]  # fmt: skip
    assert (table.count(), table.count("length = 5"), table.max("length", "length < 10")) == (3, 1, 7)
    (tmp_path / "lake/d.db/photos/c").write_text("new")
    assert [frame.where("name = 'c'").count() for frame in (spark.table("lake.d.photos"), table.toDF())] == [1, 1]


def test_it_is_described(lake: Lake) -> None:
    for sql in (lake.cat.sql, lake.spark.sql):
        described = {row[0]: row[1] for row in sql("DESCRIBE EXTENDED lake.d.photos").collect()}
        assert (described["path"], described["mtime"], described["Comment"]) == ("string", "bigint", "of the roof")
        assert "type=object-table" in described["Table Properties"]
        properties = {row[0]: row[1] for row in sql("SHOW TBLPROPERTIES lake.d.photos").collect()}
        assert (properties["type"], properties["team"]) == ("object-table", "me")
        assert [row[0] for row in sql("SHOW COLUMNS IN lake.d.photos").collect()][:2] == ["path", "name"]
        assert [row[1] for row in sql("SHOW TABLES IN lake.d").collect()] == ["photos"]
        assert "Table: photos" in sql("SHOW TABLE EXTENDED IN lake.d LIKE 'ph*'").collect()[0][3]
    made = lake.cat.sql("SHOW CREATE TABLE lake.d.photos").collect()[0][0]
    lake.cat.sql("DROP TABLE lake.d.photos")
    lake.cat.sql(made)
    assert [tuple(row) for row in lake.cat.sql("SELECT path FROM lake.d.photos").collect()] == [("schema/schema-0",)]


REFUSED = [
    "INSERT INTO lake.d.photos VALUES ('a', 'a', 1, 1, 1, NULL)",
    "INSERT OVERWRITE lake.d.photos VALUES ('a', 'a', 1, 1, 1, NULL)",
    "DELETE FROM lake.d.photos WHERE length = 5",
    "UPDATE lake.d.photos SET length = 5",
    "MERGE INTO lake.d.photos USING (SELECT 1 AS n) s ON length = n WHEN MATCHED THEN DELETE",
    "TRUNCATE TABLE lake.d.photos",
    "ALTER TABLE lake.d.photos SET TBLPROPERTIES ('team' = 'you')",
    "ALTER TABLE lake.d.photos ADD COLUMNS (x INT)",
    "CALL lake.sys.compact(table => 'd.photos')",
    "CALL lake.sys.create_tag(table => 'd.photos', tag => 'x')",
    "SELECT * FROM lake.d.photos VERSION AS OF 1",
    "SELECT * FROM lake.d.photos TIMESTAMP AS OF '2026-11-01'",
    "SELECT * FROM lake.d.`photos$snapshots`",
    "SHOW PARTITIONS lake.d.photos",
]


def test_everything_else_is_refused_by_name(lake: Lake, tmp_path: Path) -> None:
    for statement in REFUSED:
        for sql in (lake.cat.sql, lake.spark.sql):
            with pytest.raises((PaimonError, PySparkException), match="object table"):
                sql(statement).collect()
    assert (tmp_path / "lake/d.db/photos/a.txt").read_text() == "hello"


def test_writes_of_dataframes_and_streams_are_refused(lake: Lake, tmp_path: Path) -> None:
    spark, place = lake.spark, f"{tmp_path}/lake/d.db/photos"
    rows = spark.sql("SELECT 'a' AS path, 'a' AS name, 1L AS length, 1L AS mtime, 1L AS atime, 'me' AS owner")
    table = PaimonTable.forName(spark, "lake.d.photos")
    stream = spark.readStream.format("paimon").load(place)
    calls = [
        lambda: rows.write.format("paimon").mode("append").save(place),
        lambda: rows.writeTo("lake.d.photos").append(),
        lambda: table.append(rows),
        lambda: table.overwrite(rows),
        lambda: table.delete("length = 5"),
        lambda: table.optimize().compact(),
        lambda: table.history().collect(),
        lambda: table.set_options({"team": "you"}),
        lambda: stream.writeStream.format("noop").start().processAllAvailable(),
        lambda: PaimonTable.create(spark).location(f"{tmp_path}/x").property("type", "object-table").execute(),
        lambda: lake.cat.sql("CREATE TABLE lake.d.x TBLPROPERTIES ('type' = 'object-table') AS SELECT 1 AS path"),
    ]
    for call in calls:
        with pytest.raises((PaimonError, PySparkException), match=r"object table|photos` does not support append"):
            call()
    assert sorted(file.name for file in Path(place).iterdir()) == ["2026", "a.txt", "schema"]


def test_it_is_dropped_with_its_files(lake: Lake, tmp_path: Path) -> None:
    lake.spark.sql("DROP TABLE lake.d.photos")
    assert not (tmp_path / "lake/d.db/photos").exists()
    assert lake.cat.sql("SHOW TABLES IN lake.d").collect() == []
    made = PaimonTable.create(lake.spark).tableName("lake.d.more").property("type", "object-table").execute()
    assert made.count() == 1


def test_the_program_reads_it(lake: Lake, tmp_path: Path) -> None:
    place = f"{tmp_path}/lake/d.db/photos"
    found = command("read", place, "--where", "length < 8", "--columns", "path,length", "--output", "json")
    assert found.documents == [{"path": "a.txt", "length": 5}, {"path": "2026/b.jpg", "length": 7}]
    assert command("count", place).out.strip() == "3"
    shown = command("info", place)
    assert (shown.code, "object-table" in shown.out, "of the roof" in shown.out) == (0, True, True)
    facts = command("info", place, "--output", "json").document
    assert (facts["kind"], facts["location"], facts["files"]) == ("object-table", place, 3)
    assert [column["name"] for column in command("schema", place, "--output", "json").document["columns"]] == [
        "path", "name", "length", "mtime", "atime", "owner",
    ]  # fmt: skip
    for words in (("tags",), ("check",), ("compact",), ("files",), ("create-tag", "x")):
        refused = command(words[0], place, *words[1:])
        assert (refused.code != 0, "object table" in refused.err) == (True, True), words
