"""No row and one row, of every type and by every road: what is empty has the columns of what is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from support.tables.compacting import make, write

import paimon_spark
from paimon_spark import PaimonTable, open_table
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

pytestmark = pytest.mark.spark
MOMENT = datetime(2026, 11, 1, 12, 34, 56, 789000)
VALUES: list[tuple[pa.DataType, Any]] = [
    (pa.bool_(), True),
    (pa.int8(), 1),
    (pa.int16(), 2),
    (pa.int32(), 3),
    (pa.int64(), 4),
    (pa.float32(), 5.0),
    (pa.float64(), 6.0),
    (pa.decimal128(9, 2), Decimal("7.25")),
    (pa.decimal128(38, 10), Decimal("8.5000000000")),
    (pa.string(), "nine"),
    (pa.binary(), b"ten"),
    (pa.date32(), date(2026, 11, 1)),
    (pa.timestamp("us"), MOMENT),
    (pa.timestamp("us", "UTC"), MOMENT.replace(tzinfo=UTC)),
]
ATOMS = {f"v{number}": atom for number, atom in enumerate(VALUES)}
STRUCT, FIELDS = pa.struct({name: type_ for name, (type_, _) in ATOMS.items()}), {n: v for n, (_, v) in ATOMS.items()}
COLUMNS: dict[str, tuple[pa.DataType, Any]] = {
    **ATOMS,
    "numbers": (pa.list_(pa.int32()), [1, None]),
    "moments": (pa.list_(pa.timestamp("us", "UTC")), [MOMENT.replace(tzinfo=UTC), None]),
    "words": (pa.map_(pa.string(), pa.string()), [("a", "b")]),
    "whole": (STRUCT, FIELDS),
    "wholes": (pa.list_(STRUCT), [FIELDS, None]),
    "by_number": (pa.map_(pa.int32(), STRUCT), [(1, FIELDS)]),
    "deep": (pa.list_(pa.struct({"x": pa.map_(pa.string(), pa.list_(STRUCT))})), [{"x": [("k", [FIELDS])]}]),
    "nothing": (STRUCT, None),
}
SCHEMA = pa.schema([pa.field("id", pa.int32(), nullable=False), *((name, kind) for name, (kind, _) in COLUMNS.items())])
KINDS = [("d.keyed", True), ("d.append", True), ("d.keyed", False)]
READS_HERE, WRITES_HERE = "spark.paimon.read.local", "spark.paimon.write.local"
Read = Callable[[SparkSession, SessionCatalog, str, str], DataFrame]


def _by_view(spark: SparkSession, cat: SessionCatalog, name: str, where: str) -> DataFrame:
    cat[name].createOrReplaceTempView("seen")
    return spark.sql(f"SELECT * FROM seen WHERE {where}")


ROADS: dict[str, Read] = {
    "cat.sql": lambda spark, cat, name, where: cat.sql(f"SELECT * FROM paimon.{name} WHERE {where}"),
    "first rows": lambda spark, cat, name, where: cat.sql(
        f"SELECT * FROM paimon.{name} WHERE {where} ORDER BY id DESC LIMIT 2"
    ),
    "join": lambda spark, cat, name, where: cat.sql(
        f"SELECT l.* FROM paimon.{name} l JOIN paimon.{name} r ON l.id = r.id AND l.{where}"
    ),
    "cat.table": lambda spark, cat, name, where: cat.table(name, where=where),
    "toDF": lambda spark, cat, name, where: cat[name].toDF(where=where),
    "toDF, in Python": lambda spark, cat, name, where: cat[name].toDF(where=where, native=False),
    "spark.read": lambda spark, cat, name, where: spark.read.format("paimon").load(_path(cat, name)).where(where),
    "view": _by_view,
}


@pytest.fixture(scope="module")
def cat(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionCatalog]:
    """Two tables with a column of every type and the rows 1 and 99: statistics do not exclude the row 50."""
    lake = tmp_path_factory.mktemp("lake")
    catalog = paimon_spark.catalog(spark, str(lake))
    catalog.create_database("d")
    for name, keys, options in (("keyed", ["id"], {}), ("append", [], {"bucket": "-1"})):
        table = make(lake / "d.db" / name, SCHEMA, keys, options)
        write(table, [(number, *(value for _, value in COLUMNS.values())) for number in (1, 99)])
    yield catalog
    catalog.use(None)


def _path(cat: SessionCatalog, name: str) -> str:
    return str(cat[name].detail().first()["location"])


def _run_here(spark: SparkSession, here: bool) -> None:
    """The driver reads and writes few rows itself, or Spark does; quick_spark sets it back."""
    for key in (READS_HERE, WRITES_HERE):
        spark.conf.set(key, str(here).lower())


@pytest.mark.parametrize(("name", "here"), KINDS)
def test_every_road_reads_no_row_and_one_row(
    quick_spark: SparkSession, cat: SessionCatalog, name: str, here: bool
) -> None:
    _run_here(quick_spark, here)
    known = open_table(_path(cat, name))
    assert known.scan(where="id = 50").to_arrow().num_rows == 0
    assert known.scan(where="id = 1").to_arrow().num_rows == 1
    expected = pa.table({name: pa.array([value], kind) for name, (kind, value) in COLUMNS.items()}).to_pylist()
    shown = cat[name].toDF().toArrow().schema
    for road, read in ROADS.items():
        frame = read(quick_spark, cat, name, "id = 50")
        rows = frame.toArrow()
        assert (rows.num_rows, rows.schema.names, rows.schema.types) == (0, shown.names, shown.types), road
        assert frame.count() == 0, road
        assert read(quick_spark, cat, name, "id = 1").drop("id").toArrow().to_pylist() == expected, road


@pytest.mark.parametrize(("name", "here"), KINDS)
def test_statements_that_find_no_row_change_nothing(
    quick_spark: SparkSession, cat: SessionCatalog, name: str, here: bool
) -> None:
    _run_here(quick_spark, here)
    full, snapshots = f"paimon.{name}", open_table(_path(cat, name)).snapshots
    merge = f"MERGE INTO {full} t USING (SELECT * FROM {full} WHERE id = 50) s ON t.id = s.id"
    for statement in (
        f"UPDATE {full} SET numbers = array(5) WHERE id = 50",
        f"DELETE FROM {full} WHERE id = 50",
        f"DELETE FROM {full} WHERE whole IS NULL",
        f"{merge} WHEN MATCHED THEN UPDATE SET whole = s.whole WHEN NOT MATCHED THEN INSERT *",
        f"{merge} WHEN MATCHED THEN DELETE",
        f"INSERT INTO {full} SELECT * FROM {full} WHERE id = 50",
    ):
        cat.sql(statement)
        assert snapshots.latest_id() == 1, statement
    assert cat.sql(f"SELECT count(*), max(id) FROM {full} WHERE whole IS NULL").collect() == [(0, None)]
    assert cat[name].count("v3 IS NULL") == 0


@pytest.mark.parametrize("here", [True, False], ids=["here", "by Spark"])
def test_rows_of_arrow_without_a_chunk(quick_spark: SparkSession, cat: SessionCatalog, here: bool) -> None:
    _run_here(quick_spark, here)
    rows = pa.Table.from_batches([], SCHEMA)
    assert rows.column("whole").num_chunks == 0
    assert cat["d.append"].append(rows).snapshot_id is None
    assert cat["d.keyed"].append(rows).snapshot_id is None


def test_rows_of_arrow_without_a_chunk_replace_all_rows(quick_spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", SCHEMA, [], {"bucket": "-1"})
    write(table, [(1, *(value for _, value in COLUMNS.values()))])
    PaimonTable.forPath(quick_spark, table.location).overwrite(pa.Table.from_batches([], SCHEMA))
    assert open_table(table.location).scan().count() == 0
