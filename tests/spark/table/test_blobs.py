"""BLOB columns by SQL, DataFrames and streams, which see them as BINARY."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
from support.oracles.checker import check_table
from support.tables.compacting import live_files

import paimon_spark
from paimon_spark import BlobDescriptor, open_table
from paimon_spark.errors import DataError, PaimonError, SchemaError, UnsupportedFeature
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

pytestmark = pytest.mark.spark

EVOLVED = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'"


@pytest.fixture
def cat(quick_spark: SparkSession, tmp_path: Path) -> SessionCatalog:
    made = paimon_spark.catalog(quick_spark, str(tmp_path / "lake"))
    made.sql("CREATE DATABASE paimon.d")
    return made


def rows(cat: SessionCatalog) -> list[tuple[object, ...]]:
    return sorted((row.id, row.name, None if row.pic is None else bytes(row.pic)) for row in cat.table("d.t").collect())


def test_statements(cat: SessionCatalog, spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "lake/d.db/t")
    cat.sql(
        f"CREATE TABLE paimon.d.t (id INT, name STRING, pic BINARY) TBLPROPERTIES ({EVOLVED}, 'blob-field' = 'pic', "
        "'blob.target-file-size' = '20 b', 'deletion-vectors.enabled' = 'true')"
    )
    assert [str(field.type.root) for field in open_table(path).schema.fields] == ["INT", "VARCHAR", "BLOB"]
    assert cat.sql("DESCRIBE paimon.d.t").collect()[2].data_type == "binary"
    cat.sql("INSERT INTO paimon.d.t VALUES (1, 'a', X'0102'), (2, 'b', NULL), (3, 'c', X'')")
    spark.sql("SELECT 4 id, 'd' name, X'04' pic UNION ALL SELECT 5, 'e', NULL").write.format("paimon").mode(
        "append"
    ).save(path)
    cat.sql("UPDATE paimon.d.t SET pic = concat(pic, X'FF') WHERE id = 1")
    before = {file.file_name for file in live_files(open_table(path)) if file.file_name.endswith(".blob")}
    cat.sql("UPDATE paimon.d.t SET name = 'named' WHERE id = 3")
    after = {file.file_name for file in live_files(open_table(path)) if file.file_name.endswith(".blob")}
    assert before == after
    cat.sql("""MERGE INTO paimon.d.t t USING (SELECT 2 id, X'22' pic UNION ALL SELECT 9, X'99') s ON t.id = s.id
        WHEN MATCHED THEN UPDATE SET pic = s.pic
        WHEN NOT MATCHED THEN INSERT (id, name, pic) VALUES (id, 'new', pic)""")
    cat.sql("DELETE FROM paimon.d.t WHERE id = 5")
    expected = [(1, "a", b"\1\2\xff"), (2, "b", b"\x22"), (3, "named", b""), (4, "d", b"\4"), (9, "new", b"\x99")]
    assert rows(cat) == expected
    cat.sql("CALL paimon.sys.compact(table => 'd.t', options => 'compaction.min.file-num=2')")
    cat.sql(
        "CALL paimon.sys.compact(table => 'd.t', options => 'compaction.min.file-num=2,blob-compaction.enabled=true')"
    )
    assert rows(cat) == expected
    cat.sql("ALTER TABLE paimon.d.t ADD COLUMN more BINARY COMMENT '__BLOB_FIELD; of it'")
    cat.sql("UPDATE paimon.d.t SET more = X'55' WHERE id = 4")
    cat.sql("ALTER TABLE paimon.d.t DROP COLUMN pic")
    assert sorted((row.id, row.more) for row in cat.table("d.t").where("more IS NOT NULL").collect()) == [(4, b"\x55")]
    cat.sql(f"CREATE TABLE paimon.d.c TBLPROPERTIES ({EVOLVED}, 'blob-field' = 'more') AS SELECT * FROM paimon.d.t")
    assert cat.table("d.c").where("more IS NOT NULL").count() == 1
    check_table(path)


def test_a_stream_writes_them(cat: SessionCatalog, spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "lake/d.db/t")
    cat.sql(f"CREATE TABLE paimon.d.t (id BIGINT, pic BINARY) TBLPROPERTIES ({EVOLVED}, 'blob-field' = 'pic')")
    spark.range(3).selectExpr("id", "cast(repeat('x', int(id)) as binary) pic").write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema("id BIGINT, pic BINARY").parquet(str(tmp_path / "in"))
    query = (
        stream.writeStream.format("paimon")
        .option("checkpointLocation", str(tmp_path / "ck"))
        .trigger(availableNow=True)
        .start(path)
    )
    query.awaitTermination()
    assert sorted(map(tuple, cat.table("d.t").collect())) == [(0, b""), (1, b"x"), (2, b"xx")]
    check_table(path)


def test_references(cat: SessionCatalog, spark: SparkSession, tmp_path: Path) -> None:
    """Functions make references of paths and texts of references; a task of Spark reads parts of what they name."""
    outside, path = tmp_path / "é.bin", str(tmp_path / "lake/d.db/t")
    outside.write_bytes(bytes(range(256)))
    cat.sql(
        f"CREATE TABLE paimon.d.t (id INT, pic BINARY, ref BINARY) TBLPROPERTIES ({EVOLVED}, 'blob-field' = 'pic', "
        "'blob-descriptor-field' = 'ref')"
    )
    literal = f"sys.path_to_descriptor('{outside}')"
    cat.sql(f"INSERT INTO paimon.d.t VALUES (1, {literal}, {literal})")
    computed = f"paimon.sys.path_to_descriptor(concat('{tmp_path}/', name, '.bin'))"
    cat.sql(f"INSERT INTO paimon.d.t SELECT 2, {computed}, {computed} FROM VALUES ('é') AS v(name)")
    cat.sql("INSERT INTO paimon.d.t SELECT 3, sys.path_to_descriptor(name), NULL FROM VALUES (NULL) AS v(name)")
    whole = outside.read_bytes()
    found = sorted(map(tuple, cat.table("d.t").collect()))
    assert found == [(1, whole, whole), (2, whole, whole), (3, None, None)]
    reference = BlobDescriptor(str(outside)).encode()
    text = cat.sql(f"SELECT sys.descriptor_to_string(X'{reference.hex()}') a, sys.descriptor_to_string(NULL) b").first()
    assert text is not None
    assert tuple(text) == (f"BlobDescriptor{{version=2, uri='{outside}', offset=0, length=-1}}", None)
    with pytest.raises(PySparkException, match="a value of 3 bytes is no reference to a blob"):
        cat.sql("SELECT sys.descriptor_to_string(X'010203') a").collect()

    def read_part(value: bytes | None) -> bytes | None:
        if value is None:
            return None
        with paimon_spark.open_blob(value) as file:
            file.seek(100)
            return file.read(4)

    part = udf(read_part, "binary", useArrow=False)
    table = spark.read.format("paimon").option("blob-as-descriptor", "true").load(path)
    parts = table.select("id", part("pic"), part("ref")).collect()
    assert sorted(map(tuple, parts)) == [(1, b"defg", b"defg"), (2, b"defg", b"defg"), (3, None, None)]
    for statement, error, message in (
        ("INSERT INTO paimon.d.t VALUES (4, NULL, X'01')", DataError, "a value of 1 bytes is none"),
        ("INSERT INTO paimon.d.t SELECT 4, sys.path_to_descriptor('s3://b/x'), NULL", PaimonError, "in another store"),
        (
            "INSERT INTO paimon.d.t SELECT 4, sys.path_to_descriptor('a.png'), NULL",
            DataError,
            "'a.png' of a blob is rel",
        ),
    ):
        with pytest.raises((error, PySparkException), match=message):
            cat.sql(statement)
    check_table(path)


@pytest.mark.parametrize("bucket", ["2", "-1", "-2"])
def test_tables_with_a_primary_key(bucket: str, cat: SessionCatalog, spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "lake/d.db/t")
    cat.sql(
        "CREATE TABLE paimon.d.t (id INT, name STRING, pic BINARY) TBLPROPERTIES ('primary-key' = 'id', "
        f"'bucket' = '{bucket}', 'blob-field' = 'pic', 'blob.target-file-size' = '20 b')"
    )
    cat.sql("INSERT INTO paimon.d.t VALUES (1, 'a', X'0102'), (2, 'b', NULL), (3, 'c', X'')")
    rows_of_spark = spark.sql("SELECT 3 id, 'd' name, X'04' pic UNION ALL SELECT 5, 'e', NULL")
    rows_of_spark.write.format("paimon").mode("append").save(path)
    cat.sql("UPDATE paimon.d.t SET pic = concat(pic, X'FF') WHERE id = 1")
    cat.sql("UPDATE paimon.d.t SET name = 'named' WHERE id = 3")
    cat.sql("""MERGE INTO paimon.d.t t USING (SELECT 2 id, X'22' pic UNION ALL SELECT 9, X'99') s ON t.id = s.id
        WHEN MATCHED THEN UPDATE SET pic = s.pic
        WHEN NOT MATCHED THEN INSERT (id, name, pic) VALUES (id, 'new', pic)""")
    cat.sql("DELETE FROM paimon.d.t WHERE id = 5")
    expected = [(1, "a", b"\1\2\xff"), (2, "b", b"\x22"), (3, "named", b"\4"), (9, "new", b"\x99")]
    assert rows(cat) == expected
    cat.sql("CALL paimon.sys.compact(table => 'd.t')")
    assert rows(cat) == expected
    first = cat.sql("SELECT id, pic FROM paimon.d.t ORDER BY id LIMIT 2").collect()
    assert [(row.id, bytes(row.pic)) for row in first] == [(1, b"\1\2\xff"), (2, b"\x22")]
    (tmp_path / "in").mkdir()
    spark.sql("SELECT 2 id, 's' name, X'55' pic").write.parquet(str(tmp_path / "in/1"))
    stream = spark.readStream.schema("id INT, name STRING, pic BINARY").parquet(str(tmp_path / "in/*"))
    written = stream.writeStream.format("paimon").option("checkpointLocation", str(tmp_path / "c"))
    written.trigger(availableNow=True).start(path).awaitTermination()
    assert rows(cat)[1] == (2, "s", b"\x55")
    spark.sql("SELECT 1 id, 'o' name, X'66' pic").write.format("paimon").mode("overwrite").save(path)
    assert rows(cat) == [(1, "o", b"\x66")]
    assert list((tmp_path / "lake/d.db/t").rglob("*.managed.blob"))
    check_table(path)


def test_arrays_and_maps(cat: SessionCatalog) -> None:
    cat.sql(
        "CREATE TABLE paimon.d.t (id INT, pages ARRAY<BINARY>, parts MAP<STRING, BINARY>) "
        f"TBLPROPERTIES ({EVOLVED}, 'blob-field' = 'pages,parts')"
    )
    cat.sql("""INSERT INTO paimon.d.t VALUES (1, array(X'01', NULL, X''), map('a', X'02', 'b', NULL)), (2, NULL, NULL),
        (3, array(), map())""")
    cat.sql("UPDATE paimon.d.t SET pages = concat(pages, array(X'03')) WHERE id = 1")
    cat.sql("""MERGE INTO paimon.d.t t USING (SELECT 2 id, map('c', X'04') parts) s ON t.id = s.id
        WHEN MATCHED THEN UPDATE SET parts = s.parts""")
    found = [(row.id, row.pages, row.parts) for row in cat.sql("SELECT * FROM paimon.d.t ORDER BY id").collect()]
    first = [bytearray(b"\1"), None, bytearray(b""), bytearray(b"\3")]
    assert found == [
        (1, first, {"a": bytearray(b"\2"), "b": None}), (2, None, {"c": bytearray(b"\4")}), (3, [], {}),
    ]  # fmt: skip
    assert cat.sql("SELECT id FROM paimon.d.t WHERE parts['c'] = X'04'").collect()[0].id == 2


@pytest.mark.parametrize(
    ("columns", "properties", "error", "message"),
    [
        ("id INT, pic BINARY", "'blob-field' = 'pic'", UnsupportedFeature, "'data-evolution.enabled' = 'true'"),
        ("pic BINARY", f"{EVOLVED}, 'blob-field' = 'pic'", SchemaError, "needs another column"),
        ("id INT, pic STRING", f"{EVOLVED}, 'blob-field' = 'pic'", SchemaError, "give it the type BINARY"),
        (
            "id INT, pic BINARY",
            f"{EVOLVED}, 'blob-field' = 'no'",
            SchemaError,
            "names 'no', which is no column; .* id",
        ),
        (
            "id INT, pic BINARY",
            "'primary-key' = 'id', 'blob-field' = 'pic', 'merge-engine' = 'partial-update'",
            UnsupportedFeature,
            "needs 'merge-engine' = 'deduplicate'",
        ),
        ("id INT, pic MAP<DATE, BINARY>", f"{EVOLVED}, 'blob-field' = 'pic'", UnsupportedFeature, "MAP<DATE.*BLOB>"),
        ("id INT, pic ARRAY<BINARY>", f"{EVOLVED}, 'blob-view-field' = 'pic'", SchemaError, "give it the type BINARY"),
        (
            "id INT, pic BINARY",
            "'primary-key' = 'id', 'blob-view-field' = 'pic'",
            UnsupportedFeature,
            "no release follows",
        ),
        (
            "id INT, pic BINARY",
            f"{EVOLVED}, 'blob-descriptor-field' = 'pic', 'blob-external-storage-field' = 'pic'",
            UnsupportedFeature,
            "as release 1.4 wrote them",
        ),
    ],
)
def test_tables_that_cannot_be_are_refused(
    columns: str, properties: str, error: type[PaimonError], message: str, cat: SessionCatalog
) -> None:
    with pytest.raises(error, match=message):
        cat.sql(f"CREATE TABLE paimon.d.x ({columns}) TBLPROPERTIES ({properties})")


def test_a_partition_of_blobs_is_refused(cat: SessionCatalog) -> None:
    with pytest.raises(SchemaError, match="cannot be a partition column"):
        cat.sql(
            "CREATE TABLE paimon.d.x (id INT, pic BINARY) PARTITIONED BY (pic) "
            f"TBLPROPERTIES ({EVOLVED}, 'blob-field' = 'pic')"
        )


def test_statements_keep_bytes_that_look_like_a_reference(cat: SessionCatalog, tmp_path: Path) -> None:
    """Those of a table with a primary key are written again, and are not followed."""
    cat.sql(
        "CREATE TABLE paimon.d.t (id INT, name STRING, pic BINARY) "
        "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'blob-field' = 'pic')"
    )
    (tmp_path / "secret").write_bytes(b"secret")
    looks = BlobDescriptor(str(tmp_path / "secret")).encode()
    (tmp_path / "looks").write_bytes(looks)
    cat.sql(f"INSERT INTO paimon.d.t VALUES (1, 'a', sys.path_to_descriptor('{tmp_path}/looks')), (2, 'b', X'02')")
    assert rows(cat) == [(1, "a", looks), (2, "b", b"\2")]
    cat.sql("UPDATE paimon.d.t SET name = 'new'")
    assert rows(cat) == [(1, "new", looks), (2, "new", b"\2")]
    cat.sql(
        "MERGE INTO paimon.d.t t USING (SELECT 1 id, 'merged' name) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET name = s.name"
    )
    assert rows(cat) == [(1, "merged", looks), (2, "new", b"\2")]
    cat.sql("UPDATE paimon.d.t SET name = hex(substr(pic, 1, 1)) WHERE length(pic) = 1")
    assert rows(cat) == [(1, "merged", looks), (2, "02", b"\2")]
    cat.sql("UPDATE paimon.d.t SET name = 'named' WHERE length(pic) > 1")
    assert rows(cat) == [(1, "named", looks), (2, "02", b"\2")]
    check_table(str(tmp_path / "lake/d.db/t"))


def test_statements_keep_the_references_of_a_column_of_references(cat: SessionCatalog, tmp_path: Path) -> None:
    """Bytes that nobody computes anything of are not read, and bytes would be refused."""
    cat.sql(
        "CREATE TABLE paimon.d.t (id INT, name STRING, pic BINARY) "
        "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', 'blob-descriptor-field' = 'pic')"
    )
    (tmp_path / "bytes").write_bytes(b"some bytes")
    reference = f"sys.path_to_descriptor('{tmp_path}/bytes')"
    cat.sql(f"INSERT INTO paimon.d.t SELECT explode(array(1, 2, 3)), 'a', {reference}")
    cat.sql("UPDATE paimon.d.t SET name = 'new' WHERE id = 1")
    cat.sql("MERGE INTO paimon.d.t t USING (SELECT 2 id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = 'merged'")
    cat.sql("DELETE FROM paimon.d.t WHERE id = 3 AND name = 'a'")
    assert rows(cat) == [(1, "new", b"some bytes"), (2, "merged", b"some bytes")]
    check_table(str(tmp_path / "lake/d.db/t"))
