"""VARIANT columns by SQL and by DataFrames: what Spark's own functions make of them stays the same through a table."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import VariantVal
from support.draws.json_values import random_json
from support.oracles.checker import check_table

import paimon_spark
from paimon_spark import open_table
from paimon_spark.errors import DataError, PaimonError, SchemaError
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

pytestmark = pytest.mark.spark

TABLES = {
    "append": "",
    "vectors": "TBLPROPERTIES ('deletion-vectors.enabled' = 'true')",
    "key": "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '2')",
    "partial-update": "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'merge-engine' = 'partial-update',"
    " 'partial-update.remove-record-on-delete' = 'true')",
}


@pytest.fixture
def cat(quick_spark: SparkSession, tmp_path: Path) -> SessionCatalog:
    made = paimon_spark.catalog(quick_spark, str(tmp_path / "lake"))
    made.sql("CREATE DATABASE paimon.d")
    return made


def shown(rows: DataFrame) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in rows.collect())


@pytest.mark.parametrize("kind", TABLES)
def test_statements(kind: str, cat: SessionCatalog, spark: SparkSession, tmp_path: Path) -> None:
    cat.sql(f"CREATE TABLE paimon.d.t (id INT, v VARIANT, s STRING) {TABLES[kind]}")
    cat.sql("""INSERT INTO paimon.d.t VALUES
        (1, parse_json('{"age": 26, "city": "Beijing"}'), 'a'), (2, parse_json('[1, {"x": null}]'), 'b'),
        (3, NULL, 'c'), (4, parse_json('null'), 'd')""")
    spark.sql("SELECT 5 id, parse_json('{\"age\": 77}') v, 'e' s").write.format("paimon").mode("append").save(
        str(tmp_path / "lake/d.db/t")
    )
    cat.sql("UPDATE paimon.d.t SET v = parse_json('{\"age\": 27}') WHERE v:age::int = 26")
    cat.sql("DELETE FROM paimon.d.t WHERE variant_get(v, '$.age', 'int') = 77")
    cat.sql("""MERGE INTO paimon.d.t t
        USING (SELECT 2 id, parse_json('"m"') v UNION ALL SELECT 9, to_variant_object(named_struct('n', 1.5D))) s
        ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, v, s) VALUES (id, v, 'n')
    """)
    texts = "SELECT id, to_json(v) v, v IS NULL gone, s, v:age::int age FROM paimon.d.t"
    expected = [
        (1, '{"age":27}', False, "a", 27),
        (2, '"m"', False, "b", None),
        (3, None, True, "c", None),
        (4, "null", False, "d", None),
        (9, '{"n":1.5}', False, "n", None),
    ]
    assert sorted(map(tuple, cat.sql(texts).collect()), key=lambda row: row[0]) == expected
    cat.sql("CALL paimon.sys.compact(table => 'd.t')")
    assert sorted(map(tuple, cat.sql(texts).collect()), key=lambda row: row[0]) == expected
    assert shown(cat.sql("SELECT id FROM paimon.d.t WHERE v:age::int > 1")) == [(1,)]
    assert cat.sql("DESCRIBE paimon.d.t").collect()[1].data_type == "variant"
    with pytest.raises(DataError, match="string cannot be stored in the column 'v', which is variant"):
        cat.sql("INSERT INTO paimon.d.t VALUES (10, '{}', 'x')")
    with pytest.raises(PySparkException, match="does not support ordering"):
        cat.sql("SELECT * FROM paimon.d.t ORDER BY v").collect()
    check_table(str(tmp_path / "lake/d.db/t"))


def test_of_sparks_own_catalog(spark: SparkSession, tmp_path: Path) -> None:
    paimon_spark.register_catalog(spark, "variants", str(tmp_path / "lake"))
    spark.sql("CREATE DATABASE variants.d")
    spark.sql("CREATE TABLE variants.d.t (id INT, v VARIANT)")
    spark.sql("INSERT INTO variants.d.t SELECT 1, parse_json('{\"a\": [1, 2]}') UNION ALL SELECT 2, NULL")
    spark.sql("SELECT 3 id, parse_json('7') v").writeTo("variants.d.t").append()
    assert shown(spark.sql("SELECT id, v:a[1]::int FROM variants.d.t WHERE v IS NOT NULL")) == [(1, 2), (3, None)]
    assert shown(spark.table("variants.d.t").selectExpr("id", "try_variant_get(v, '$', 'int')").where("id > 1")) == [
        (2, None),
        (3, 7),
    ]


def test_within_other_values(cat: SessionCatalog, tmp_path: Path) -> None:
    cat.sql("""CREATE TABLE paimon.d.t AS SELECT 1 id, array(parse_json('1'), NULL) a,
        map('k', parse_json('{"b": 2}'), 'n', NULL) m, named_struct('v', parse_json('"x"')) s""")
    cat.sql("ALTER TABLE paimon.d.t ADD COLUMN w VARIANT")
    cat.sql("INSERT INTO paimon.d.t SELECT 2, NULL, NULL, named_struct('v', CAST(NULL AS VARIANT)), parse_json('true')")
    found = cat.sql(
        "SELECT id, a[0]::int, size(a), m['k']:b::int, m['n'] IS NULL, s.v::string, w::boolean FROM paimon.d.t"
    )
    assert sorted(map(tuple, found.collect())) == [
        (1, 1, 2, 2, True, "x", None),
        (2, None, None, None, True, None, True),
    ]
    assert cat.sql("SELECT * FROM paimon.d.t WHERE id = 1").collect()[0].s.v.toPython() == "x"


@pytest.mark.parametrize("options", [{}, {"primary-key": "id", "bucket": "1"}])
def test_random_values_come_back(options: dict[str, str], spark: SparkSession, tmp_path: Path) -> None:
    random = Random(str(options))
    texts = [Row(id=n, text=None if n % 7 == 0 else json.dumps(random_json(random))) for n in range(60)]
    rows = spark.createDataFrame(texts, "id int, text string").selectExpr("id", "parse_json(text) v")
    path = str(tmp_path / "t")
    rows.write.format("paimon").options(**options).mode("append").save(path)
    expected = {row.id: row.v for row in rows.selectExpr("id", "to_json(v) v").collect()}
    found = spark.read.format("paimon").load(path)
    assert {row.id: row.v for row in found.selectExpr("id", "to_json(v) v").collect()} == expected
    bytes_written = {row.id: row.v and (bytes(row.v.value), bytes(row.v.metadata)) for row in rows.collect()}
    without = open_table(path).scan().to_arrow().to_pylist()
    assert {row["id"]: row["v"] and (row["v"]["value"], row["v"]["metadata"]) for row in without} == bytes_written


@pytest.mark.parametrize(
    "declared",
    ["v VARIANT) PARTITIONED BY (v", "id INT, v VARIANT) TBLPROPERTIES ('primary-key' = 'v'",
     "id INT, v VARIANT) TBLPROPERTIES ('bucket' = '2', 'bucket-key' = 'v'",
     "id INT, v VARIANT DEFAULT parse_json('1')", "id INT, v VARIANT) TBLPROPERTIES ('file.format' = 'avro'"],
)  # fmt: skip
def test_what_a_variant_cannot_be(declared: str, cat: SessionCatalog) -> None:
    with pytest.raises(PaimonError, match=r"VARIANT|hashed"):
        cat.sql(f"CREATE TABLE paimon.d.t ({declared})")


def test_texts_are_no_variants(cat: SessionCatalog, tmp_path: Path) -> None:
    """A cast makes a VARIANT that is the text, not one of its JSON, so the error names the function that reads it."""
    cat.sql("CREATE TABLE paimon.d.t (id INT, v VARIANT)")
    for statement in ("INSERT INTO paimon.d.t VALUES (1, '{}')", "UPDATE paimon.d.t SET v = '{}'"):
        with pytest.raises(DataError, match="which is variant; parse_json makes a VARIANT of a text of JSON"):
            cat.sql(statement)
    with pytest.raises(DataError, match="which is variant; to_variant_object makes"):
        cat.sql("INSERT INTO paimon.d.t SELECT 1, named_struct('a', 1)")
    table = open_table(str(tmp_path / "lake/d.db/t"))
    with pytest.raises(DataError, match=r"the table has VARIANT: parse_json .* VariantVal.parseJson\(text\)"):
        table.append({"id": [1], "v": ["{}"]})
    value = VariantVal.parseJson('{"a": 1}')
    with pytest.raises(DataError, match=r"give \{'value': v.value, 'metadata': v.metadata\} of a VariantVal v"):
        table.append({"id": [1], "v": [value]})
    struct = {"value": value.value, "metadata": value.metadata}
    table.append({"id": [1, 2], "v": [struct, None]})
    table.update("id = 2", {"v": struct})
    assert [row[0] for row in cat.sql("SELECT v:a::int FROM paimon.d.t").collect()] == [1, 1]
    with pytest.raises(SchemaError, match=r"'v' of the type VARIANT has the default value .* leave it out"):
        cat.sql("CREATE TABLE paimon.d.u (id INT, v VARIANT DEFAULT parse_json('1'))")


def test_a_type_does_not_change_to_or_from_variant(cat: SessionCatalog) -> None:
    cat.sql("CREATE TABLE paimon.d.t (id INT, v VARIANT, s STRING)")
    for change in ("v TYPE STRING", "s TYPE VARIANT"):
        with pytest.raises(PaimonError, match=r"VARIANT|variant"):
            cat.sql(f"ALTER TABLE paimon.d.t ALTER COLUMN {change}")


def random_objects(spark: SparkSession, random: Random, count: int) -> DataFrame:
    """Objects with common names, also such that differ by letter case only."""
    texts = []
    for n in range(count):
        value = {"x": random_json(random), "A": n, **random.choice([{}, {"a": "text"}, {"age": random_json(random)}])}
        texts.append(Row(id=n, text=None if n % 7 == 0 else json.dumps(value)))
    return spark.createDataFrame(texts, "id int, text string").coalesce(1).selectExpr("id", "parse_json(text) v")


QUERIES = [
    "SELECT id, to_json(v), v IS NULL, variant_get(v, '$.a', 'string') FROM {t}",
    "SELECT id, variant_get(v, '$.a', 'string'), try_variant_get(v, '$.age', 'double'), v:A::int, v:x FROM {t} "
    "WHERE try_variant_get(v, '$.x[0]', 'string') IS NOT NULL OR v:A::bigint BETWEEN 10 AND 60",
]


@pytest.mark.parametrize("options", [{}, {"primary-key": "id", "bucket": "1"}])
def test_queries_of_shredded_values(options: dict[str, str], spark: SparkSession, tmp_path: Path) -> None:
    """Spark reads our files itself, and all answers are those to the rows that were written."""
    rows = random_objects(spark, Random(str(options)), 100)
    cat = paimon_spark.catalog(spark, str(tmp_path / "lake"))
    cat.sql("CREATE DATABASE paimon.d")
    shredding = {"variant.inferShreddingSchema": "true", "variant.shredding.maxSchemaWidth": "30", **options}
    declared = ", ".join(f"'{key}' = '{value}'" for key, value in shredding.items())
    cat.sql(f"CREATE TABLE paimon.d.t (id INT, v VARIANT) TBLPROPERTIES ({declared})")
    cat["d.t"].append(rows)
    rows.createOrReplaceTempView("written")
    files = [str(path) for path in (tmp_path / "lake").rglob("data-*.parquet")]
    assert all(b"typed_value" in Path(file).read_bytes() for file in files)
    spark.read.schema("id int, v variant").parquet(*files).createOrReplaceTempView("by_spark")
    for query in QUERIES:
        wanted = sorted(map(repr, spark.sql(query.format(t="written")).collect()))
        assert sorted(map(repr, spark.sql(query.format(t="by_spark")).collect())) == wanted
        for native in (True, False) if not options else (False,):
            read = cat["d.t"].toDF(native=native)
            read.createOrReplaceTempView("by_us")
            assert sorted(map(repr, spark.sql(query.format(t="by_us")).collect())) == wanted


@pytest.mark.parametrize("kind", ["append", "key"])
def test_a_catalog_of_spark_reads_parts_of_values(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    """Where Spark's own scan reads the files it gets the paths, and no values; a table that is merged gives values."""
    rows = random_objects(spark, Random(kind), 100)
    name = f"parts_{kind}"
    paimon_spark.register_catalog(spark, name, str(tmp_path / "lake"))
    spark.sql(f"CREATE DATABASE {name}.d")
    keys = "'primary-key' = 'id', 'bucket' = '1', " if kind == "key" else ""
    spark.sql(
        f"CREATE TABLE {name}.d.t (id INT, v VARIANT) TBLPROPERTIES ({keys}'variant.inferShreddingSchema' = 'true', "
        "'variant.shredding.maxSchemaWidth' = '30')"
    )
    for _ in range(2 if kind == "key" else 1):
        rows.writeTo(f"{name}.d.t").append()
    rows.createOrReplaceTempView("written")
    for query in QUERIES:
        wanted = sorted(map(repr, spark.sql(query.format(t="written")).collect()))
        for options in ("", " WITH (`read.local` = 'false')"):
            assert sorted(map(repr, spark.sql(query.format(t=f"{name}.d.t{options}")).collect())) == wanted
    plan = (
        spark.sql(f"SELECT variant_get(v, '$.A', 'int') FROM {name}.d.t WITH (`read.local` = 'false')")
        ._jdf.queryExecution()
        .toString()
    )
    assert ('PushedVariantExtractions: [v:{"' in plan) == (kind == "append")
    none = spark.sql(f"SELECT v:A::int FROM {name}.d.t WITH (`read.local` = 'false') WHERE id = -1 AND v:A::int = 1")
    assert none.collect() == []
