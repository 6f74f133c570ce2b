"""PaimonTable changes its columns and options; rows that are there are read with the new columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as st

from paimon_spark import PaimonTable, open_table
from paimon_spark.errors import OptionError, SchemaError, UnsupportedMethod
from paimon_spark.format.type_text import type_sql


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> PaimonTable:
    rows = spark.sql("select 1 as id, 2 as n, named_struct('city', 'Oslo') as addr, 'x' as tmp")
    rows.coalesce(1).write.format("paimon").mode("append").save(str(tmp_path / "t"))
    return PaimonTable.forPath(spark, str(tmp_path / "t"))


def test_a_block_of_changes_is_one_schema(table: PaimonTable) -> None:
    with table.update_schema() as change:
        change.add_column("note", "string", after="n", comment="by hand")
        change.add_column("ADDR.zip", st.IntegerType(), first=True)
        change.rename_column("addr", "address")
        change.drop_column("TMP").update_type("N", "bigint").set_default("note", "'new'")
    assert change.result.schema_id == 1
    assert change.result.difference[0] == "- tmp STRING"
    frame = table.toDF()
    assert frame.schema.simpleString() == "struct<id:int,n:bigint,note:string,address:struct<zip:int,city:string>>"
    assert [tuple(row) for row in frame.collect()] == [(1, 2, None, (None, "Oslo"))]


def test_a_type_may_be_written_as_in_the_sql_of_spark(table: PaimonTable, spark: SparkSession, tmp_path: Path) -> None:
    texts = {
        "STRUCT<a: CHAR(4)>": "ROW<a CHAR(4)>",
        "struct<`a b`:int not null comment 'x', c ARRAY<STRUCT<d: BINARY>>>": (
            "ROW<`a b` INT NOT NULL COMMENT 'x', c ARRAY<ROW<d BYTES>>>"
        ),
        "MAP<INT, STRUCT<t: TIMESTAMP, n: TIMESTAMP_NTZ>>": "MAP<INT NOT NULL, ROW<t TIMESTAMP_LTZ, n TIMESTAMP>>",
        "TIMESTAMP_NTZ": "TIMESTAMP",
    }
    with table.update_schema() as change:
        for at, (of_spark, own) in enumerate(texts.items()):
            change.add_column(f"of_spark_{at}", of_spark).add_column(f"own_{at}", own)
    types = {field.name: type_sql(field.type) for field in open_table(str(tmp_path / "t")).schema.fields}
    for at in range(len(texts)):
        assert types[f"of_spark_{at}"] == types[f"own_{at}"]
    made = PaimonTable.create(spark).location(str(tmp_path / "made"))
    made.addColumn("s", "STRUCT<a: CHAR(4)> NOT NULL").addColumn("t", "STRUCT<a: CHAR(4)>", nullable=False).execute()
    found = open_table(str(tmp_path / "made")).schema.fields
    assert [type_sql(field.type) for field in found] == ["ROW<`a` CHAR(4)> NOT NULL"] * 2
    for wrong in ("STRUCT<a: INTT>", "STRUCT<a INT"):
        with pytest.raises(SchemaError, match=r"cannot read the type 'STRUCT.* in Paimon's words that is ROW"):
            PaimonTable.create(spark).addColumn("s", wrong)


def test_a_change_outside_of_a_block_is_told_how_to_be_made(table: PaimonTable) -> None:
    with pytest.raises(UnsupportedMethod, match=r"with table\.update_schema\(\) as change: change\.add_column"):
        table.update_schema().add_column("q", "int")
    assert not hasattr(table.update_schema(), "_repr_html_")


def test_a_block_that_raises_changes_nothing(table: PaimonTable) -> None:
    with pytest.raises(ZeroDivisionError), table.update_schema() as change:
        change.drop_column("tmp").set_comment("n", str(1 / 0))
    with pytest.raises(SchemaError, match="there is no column 'nowhere'"), table.update_schema() as change:
        change.drop_column("tmp").drop_column("nowhere")
    with table.update_schema(dry_run=True) as change:
        change.drop_column("tmp")
    assert change.result.difference == ("- tmp STRING",)
    assert table.detail().first()["schema_id"] == 0


def test_options_are_stored(table: PaimonTable) -> None:
    done = table.set_options({"snapshot.time-retained": "4 d", "comment": "orders", "consumer.ignore-progress": "true"})
    assert done.difference == (
        "~ comment: none -> orders",
        "+ option consumer.ignore-progress = true",
        "+ option snapshot.time-retained = 4 d",
    )
    found = table.detail().first()
    assert (found["comment"], found["options"]["snapshot.time-retained"]) == ("orders", "4 d")
    assert table.unset_options("snapshot.time-retained", "comment", dry_run=True).dry_run
    table.unset_options("Snapshot.Time-Retained", "comment", "write-only")
    found = table.detail().first()
    assert (found["comment"], "snapshot.time-retained" in found["options"]) == (None, False)
    with pytest.raises(OptionError, match="cannot change once a table has rows"):
        table.set_options({"merge-engine": "first-row"})


def test_names_are_those_of_the_session(spark: SparkSession, table: PaimonTable) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(SchemaError, match="there is no column 'TMP'"), table.update_schema() as change:
            change.drop_column("TMP")
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
