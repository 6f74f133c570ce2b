"""Format tables that Java 2.0.0 makes and writes on its REST server are read here: rows, partitions, NULLs, pruning."""

from __future__ import annotations

import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from genuine import Genuine
from java_object_tables import make_format_table, write_by_java
from java_rest import rows_by_java
from java_rest_server import JavaRestServer
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support.registered_catalogs import forget_catalogs

import paimon_spark
from paimon_spark import PaimonTable, open_catalog
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import CorruptFile, OptionError, PaimonError, UnsupportedFeature, UnsupportedMethod
from paimon_spark.store.file_tables.format_table import FormatTable

pytestmark = pytest.mark.interop
COLUMNS = {
    "id": "BIGINT",
    "name": "STRING",
    "price": "DECIMAL(10, 2)",
    "at": "TIMESTAMP(6)",
    "day": "DATE",
    "tags": {"type": "ARRAY", "element": "INT"},
    "part": "STRING",
    "number": "INT",
}
ROWS = [
    (1, "ann", Decimal("1.50"), 1_700_000_000_123_456_000, 20_000, (1, None), "a/b %=", 1),
    (2, None, None, None, None, None, "ä", 2),
    (3, "", Decimal("-7.25"), 0, -1, (), "a/b %=", 2),
    (None, "x", Decimal("0.00"), 1_000, 0, (7,), None, None),
]


@pytest.fixture
def ours(server: JavaRestServer) -> Catalog:
    return open_catalog(server.options)


def opened(catalog: Catalog, name: str) -> FormatTable:
    found = catalog.load_any_table(Identifier("d", name))
    assert isinstance(found, FormatTable)
    return found


def as_java(rows: pa.Table) -> list[tuple[Any, ...]]:
    """The rows as ``rows_by_java`` has them, sorted: times as nanoseconds, days as numbers, arrays as tuples."""
    kinds = {"at": pa.int64(), "day": pa.int32()}
    columns = [
        rows.column(name).cast(kinds[name]) if name in kinds else rows.column(name) for name in rows.column_names
    ]
    lists = [
        [_plain(name, value) for value in column.to_pylist()] for name, column in zip(COLUMNS, columns, strict=True)
    ]
    return sorted(zip(*lists, strict=True), key=repr)


def _plain(name: str, value: Any) -> Any:
    if value is None:
        return None
    return value * 1000 if name == "at" else tuple(value) if name == "tags" else value


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
@pytest.mark.parametrize("layout", ["none", "named", "values"])
def test_rows_and_partitions_are_those_of_java(
    java: Genuine, server: JavaRestServer, ours: Catalog, file_format: str, layout: str
) -> None:
    name, keys = f"t_{file_format}_{layout}", [] if layout == "none" else ["part", "number"]
    options = {"type": "format-table", "file.format": file_format}
    options |= {"format-table.partition-path-only-value": "true"} if layout == "values" else {}
    java.run(make_format_table, server.options, "d", name, COLUMNS, keys, options)
    for rows in (ROWS[:2], ROWS[2:]):
        java.run(write_by_java, server.options, "d", name, rows)
    table = opened(ours, name)
    wanted = java.run(rows_by_java, server.options, "d", name)
    found = as_java(table.scan().to_arrow())
    assert len(found) == 4
    assert found == sorted(wanted, key=repr)
    assert (1, "ann", Decimal("1.50"), 1_700_000_000_123_456_000, 20_000, (1, None), "a/b %=", 1) in found
    scan = table.scan(["id", "part"], "part = 'a/b %=' AND id > 1")
    assert pickle.loads(pickle.dumps(scan)).to_arrow().to_pylist() == [{"id": 3, "part": "a/b %="}]
    assert table.scan(where="number IS NULL").count() == 1
    assert table.scan("number").to_arrow().column(0).to_pylist().count(2) == 2
    if keys:
        null = "__DEFAULT_PARTITION__"
        assert [one.name for one in table.partitions()] == [
            f"part={null}/number={null}", "part=a/b %=/number=1", "part=a/b %=/number=2", "part=ä/number=2",
        ]  # fmt: skip
        assert len(list(scan.tasks())) == 1
        assert len(list(table.files(scan.predicate))) == 2


def test_files_of_others_and_of_writers_at_work(java: Genuine, server: JavaRestServer, ours: Catalog) -> None:
    options = {"type": "format-table", "file.format": "parquet"}
    java.run(make_format_table, server.options, "d", "mixed", COLUMNS, ["part", "number"], options)
    java.run(write_by_java, server.options, "d", "mixed", ROWS[:1])
    table = opened(ours, "mixed")
    (file,) = table.files()
    folder, data = Path(file.path).parent, Path(file.path).read_bytes()
    for place in ("_temporary/0", ".hive-staging"):
        (folder / place).mkdir(parents=True)
        (folder / place / "data-1.parquet").write_bytes(data)
    (folder / "_SUCCESS").write_bytes(b"")
    (folder / "deeper").mkdir()
    (folder / "deeper/more").write_bytes(data)
    (Path(table.location) / "unrelated").mkdir()
    assert table.scan().count() == len(java.run(rows_by_java, server.options, "d", "mixed")) == 2
    (Path(table.location) / "part=z/number=no").mkdir(parents=True)
    with pytest.raises(CorruptFile, match="is no partition of the column 'number'"):
        table.scan().count()
    assert table.scan(where="part = 'a/b %='").count() == 2
    (folder / "deeper/more").write_bytes(b"PAR1 no more PAR1")
    with pytest.raises(CorruptFile):
        table.scan(where="part = 'a/b %='").count()


def test_what_is_refused_by_name(java: Genuine, server: JavaRestServer, ours: Catalog) -> None:
    options = {"type": "format-table", "file.format": "parquet"}
    java.run(make_format_table, server.options, "d", "refused", COLUMNS, [], options)
    with pytest.raises(UnsupportedFeature, match=r"is a format table: .* no snapshots"):
        ours.load_table(Identifier("d", "refused"))
    with pytest.raises(UnsupportedFeature, match="a format table has no snapshots"):
        ours.table("d.refused", version=1)
    with pytest.raises(UnsupportedMethod, match="which has no 'history'"):
        ours.table("d.refused").history()
    with pytest.raises(OptionError, match="more"):
        ours.table("d.refused").scan("more")
    ours.drop_table(Identifier("d", "refused"))
    assert "refused" not in ours.list_tables("d")


@pytest.mark.spark
@pytest.mark.parametrize("file_format", ["parquet", "json"])
def test_every_door_of_spark_reads_them(
    java: Genuine, server: JavaRestServer, spark: SparkSession, file_format: str
) -> None:
    doors = f"lake.d.doors_{file_format}"
    options = {"type": "format-table", "file.format": file_format}
    java.run(make_format_table, server.options, "d", doors[7:], COLUMNS, ["part", "number"], options)
    java.run(write_by_java, server.options, "d", doors[7:], ROWS)
    session = spark.newSession()
    cat = paimon_spark.catalog(session, server.options, name="lake")
    paimon_spark.register_catalog(session, "lake", server.options)
    try:
        query = f"SELECT id, part FROM {doors} WHERE number = 2 AND id > 1 ORDER BY id"
        for sql in (cat.sql, session.sql):
            assert [tuple(row) for row in sql(query).collect()] == [(2, "ä"), (3, "a/b %=")]
            assert sql(f"SELECT count(*), sum(price) FROM {doors}").collect()[0] == (4, Decimal("-5.75"))
            described = {row[0]: row[1] for row in sql(f"DESCRIBE EXTENDED {doors}").collect()}
            assert (described["price"], "type=format-table" in described["Table Properties"]) == ("decimal(10,2)", True)
            with pytest.raises((PaimonError, PySparkException), match="format table"):
                sql(f"DELETE FROM {doors} WHERE id = 1").collect()
        assert [row[0] for row in cat.sql(f"SHOW PARTITIONS {doors} PARTITION (number = 2)").collect()] == [
            "part=a/b %=/number=2", "part=ä/number=2",
        ]  # fmt: skip
        table = PaimonTable.forName(session, doors)
        assert (table.count(), table.toDF("name", "id = 1").collect()[0][0]) == (4, "ann")
    finally:
        forget_catalogs(session)
