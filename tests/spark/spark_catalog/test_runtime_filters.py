"""Joins narrow the scans of tables while they run: the rows are those of plain Spark, and fewer files are read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pyspark.sql import DataFrame
from support.long_runs import draws, examples

from conftest import Lake
from paimon_spark.arrow.predicates import predicate as p
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.spark.source.filters import NotPushed
from paimon_spark.spark.spark_catalog.driver_calls import parsed
from paimon_spark.spark.spark_catalog.jvm_objects import JvmObjects
from paimon_spark.spark.spark_catalog.predicates import convert

VALUES = {
    "STRING": ("'a'", "'b'", "'b '", "'ü'", "'10'"),
    "CHAR(3)": ("'a'", "'b'", "'abc'"),
    "VARCHAR(3)": ("'a'", "'b'", "'b '"),
    "INT": ("1", "-1", "2147483647", "0"),
    "BIGINT": ("1", "-9223372036854775808", "7"),
    "SMALLINT": ("1", "-3", "9"),
    "BOOLEAN": ("true", "false"),
    "DECIMAL(10,2)": ("1.25", "-1.00", "99999999.99"),
    "DATE": ("DATE'2020-01-01'", "DATE'0001-01-01'", "DATE'1969-12-31'"),
    "TIMESTAMP": ("TIMESTAMP'2020-01-01 00:00:00'", "TIMESTAMP'1969-12-31 23:59:59.999999'"),
    "TIMESTAMP_NTZ": ("TIMESTAMP_NTZ'2020-03-29 02:30:00'", "TIMESTAMP_NTZ'1582-10-10 00:00:00'"),
    "DOUBLE": ("double('NaN')", "-0.0D", "0.0D", "0.1D"),
    "FLOAT": ("float('NaN')", "-0.0F", "0.0F", "0.1F"),
}
NAMES = tuple(f"p{number}" for number in range(len(VALUES)))
KINDS = {
    "keys": f"TBLPROPERTIES ('primary-key' = 'id,{','.join(NAMES)}', 'bucket' = '3')",
    "append": "TBLPROPERTIES ('bucket' = '2', 'bucket-key' = 'id')",
    "vectors": "TBLPROPERTIES ('deletion-vectors.enabled' = 'true')",
}
JOINS = """
SELECT f.id, f.v, f.{p}, d.w FROM {f} f JOIN {d} d ON f.{p} = d.{p} WHERE d.w < 3
SELECT f.id, f.v, f.{p} FROM {f} f LEFT SEMI JOIN {d} d ON f.{p} = d.{p} AND d.w > 2
SELECT f.id, f.v, d.w FROM {d} d LEFT JOIN {f} f ON f.{p} = d.{p} WHERE d.w < 3
SELECT f.id, f.v, d.w FROM {f} f LEFT JOIN {d} d ON f.{p} = d.{p} AND d.w < 3
SELECT f.id, f.v, d.w FROM {f} f JOIN {d} d ON f.{p} <=> d.{p} WHERE d.w < 3
SELECT f.id, f.v, d.w FROM {f} f JOIN {d} d ON f.id = d.w AND f.{p} = d.{p} WHERE d.w IN (2, 4)
SELECT f.id, f.v, f.{p} FROM {f} f JOIN {d} d ON f.id = d.w WHERE d.w IN (1, 5)
SELECT f.id, f.v FROM {f} f JOIN {d} d ON f.{p} = d.{p} WHERE d.w > 100
SELECT f.id, g.v, d.w FROM {f} f JOIN {f} g ON f.id = g.id JOIN {d} d ON g.{p} = d.{p} WHERE d.w < 3 AND f.v > 10
SELECT f.id, f.v FROM {f} f WHERE f.{p} NOT IN (SELECT {p} FROM {d} WHERE w < 3 AND {p} IS NOT NULL)
SELECT f.id, f.v FROM {f} f WHERE f.{p} IN (SELECT {p} FROM {d} WHERE w < 4) AND f.v < 40
"""


@pytest.fixture(autouse=True)
def _no_local_reads(lake: Lake) -> None:
    lake.spark.conf.set("spark.paimon.read.local", "false")


@pytest.mark.parametrize("kind", KINDS)
def test_joins_have_the_rows_of_plain_spark(lake: Lake, kind: str) -> None:
    """Each partition column has another type."""
    draw, columns = draws(), ", ".join(map(" ".join, zip(NAMES, VALUES, strict=True)))
    lake.sql(f"CREATE TABLE f (id INT, v INT, {columns}) PARTITIONED BY ({', '.join(NAMES)}) {KINDS[kind]}")
    lake.sql(f"CREATE TABLE d (w INT, {columns})")

    def drawn(count: int, nulls: bool, first: Callable[[], object]) -> list[str]:
        of_columns = [(*known, "NULL") if nulls else known for known in VALUES.values()]
        return [", ".join((str(first()), *map(draw.choice, of_columns))) for _ in range(count)]

    facts = dict[str, str]()
    for number in range(2):
        keys = {*drawn(5, kind != "keys", lambda: draw.randrange(6))} - ({*facts} if kind != "keys" else set())
        keys |= {*draw.sample(sorted(facts), 2)} if kind == "keys" and facts else set()
        rows = {key: f"({draw.randrange(10) + 20 * number}, {key})" for key in sorted(keys)}
        facts |= rows
        lake.sql(f"INSERT INTO f (v, id, {', '.join(NAMES)}) VALUES {', '.join(rows.values())}")
    dims = [f"({row})" for row in drawn(8, True, lambda: draw.randrange(6))]
    lake.sql(f"INSERT INTO d VALUES {', '.join(dims)}")
    if kind == "vectors":
        lake.sql("DELETE FROM f WHERE v % 3 = 1")
    model(lake, "model_f", [*facts.values()], "v INT, id INT")
    if kind == "vectors":
        lake.sql("SELECT * FROM model_f WHERE NOT v % 3 = 1").createOrReplaceTempView("model_f")
    model(lake, "model_d", dims, "w INT")
    every = [query.replace("{p}", name) for query in JOINS.strip().splitlines() for name in NAMES]
    for query in draw.sample(every, examples(len(every) // 2)):
        assert lake.rows(query.format(f="f", d="d")) == lake.rows(query.format(f="model_f", d="model_d")), query


def model(lake: Lake, name: str, rows: list[str], first: str) -> None:
    """A temporary view of the rows of a table, which Spark holds; CHAR is text with blanks behind it."""
    frame = lake.sql(f"SELECT * FROM VALUES {', '.join(rows)}")
    names = [*(column.split()[0] for column in first.split(", ")), *NAMES]
    types = [*(column.split()[1] for column in first.split(", ")), *VALUES]
    shown = [
        f"rpad(cast({was} AS STRING), {kind[5:-1]}, ' ') {now}"
        if kind.startswith("CHAR")
        else f"cast({was} AS {'STRING' if 'CHAR' in kind else kind}) {now}"
        for was, now, kind in zip(frame.columns, names, types, strict=True)
    ]
    frame.selectExpr(*shown).createOrReplaceTempView(name)


def scans(frame: DataFrame) -> dict[str, tuple[int, int]]:
    """By the name of the table: how many rows its scan has returned, and how many partitions it had."""
    frame.collect()
    return dict(_scans(frame._jdf.queryExecution().executedPlan()))


def _scans(node: Any) -> Iterator[tuple[str, tuple[int, int]]]:
    kind = node.getClass().getSimpleName()
    if kind == "AdaptiveSparkPlanExec":
        yield from _scans(node.executedPlan())
    elif kind.endswith("QueryStageExec"):
        yield from _scans(node.plan())
    elif kind == "BatchScanExec":
        rows = node.metrics().apply("numOutputRows").value()
        yield node.table().name().split(".")[-1], (rows, node.filteredPartitions().size())
    else:
        children = node.children()
        for number in range(children.size()):
            yield from _scans(children.apply(number))


def star(lake: Lake, properties: str) -> None:
    lake.sql(f"CREATE TABLE f (id INT NOT NULL, v INT, dt DATE NOT NULL) PARTITIONED BY (dt) {properties}")
    rows = "SELECT int(id), int(id), date_add(DATE'2026-01-01', int(id % 10)) FROM range({}, 1000)"
    lake.sql(f"INSERT INTO f {rows.format(0)}")
    lake.sql(f"INSERT INTO f {rows.format(500)}")
    lake.sql(
        "CREATE TABLE d AS SELECT date_add(DATE'2026-01-01', int(id)) dt, int(id) w, int(id) * 97 id FROM range(10)"
    )


@pytest.mark.parametrize(
    ("properties", "rows"),
    [("", 1500), ("TBLPROPERTIES ('primary-key' = 'dt,id', 'bucket' = '1')", 1000)],
    ids=["by Spark", "merged"],
)
def test_a_join_reads_the_partitions_of_its_other_side_alone(lake: Lake, properties: str, rows: int) -> None:
    star(lake, properties)
    query = "SELECT count(*), sum(v) FROM f JOIN d ON f.dt = d.dt WHERE {}"
    whole = lake.sql(query.format("w >= 0 AND w + 0 < 100"))
    assert scans(whole)["f"][0] == rows
    narrowed = lake.sql(query.format("w IN (2, 5)"))
    assert scans(narrowed)["f"][0] == rows // 5
    assert lake.rows(query.format("w IN (2, 5)")) == lake.rows(
        "SELECT count(*), sum(v) FROM f WHERE dt IN (DATE'2026-01-03', DATE'2026-01-06')"
    )
    assert lake.rows(query.format("w = 77")) == [(0, None)]


def test_a_join_reads_the_buckets_and_files_of_its_keys_alone(lake: Lake) -> None:
    for table, buckets in (("f", 16), ("few", 8)):
        keys = f"TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '{buckets}')"
        lake.sql(f"CREATE TABLE {table} (id INT NOT NULL, v INT) {keys}")
        lake.sql(f"INSERT INTO {table} SELECT int(id), 1 FROM range(1000)")
        lake.sql(f"INSERT INTO {table} SELECT int(id), 2 FROM range(1000)")
    lake.sql("CREATE TABLE d AS SELECT int(id) id, int(id % 400) w FROM range(1000)")
    found = scans(lake.sql("SELECT sum(v) FROM f JOIN d ON f.id = d.id WHERE w = 7"))["f"]
    assert 3 <= found[0] < 500
    assert lake.rows("SELECT count(*), sum(v) FROM f JOIN d ON f.id = d.id WHERE w = 7") == [(3, 6)]
    unnarrowed = lake.sql("SELECT count(*), sum(v) FROM few JOIN d ON few.id = d.id WHERE w = 7")
    assert [tuple(row) for row in unnarrowed.collect()] == [(3, 6)]
    assert "MapInArrow" in str(unnarrowed._jdf.queryExecution().executedPlan().toString())
    lake.sql("CREATE TABLE r (id INT NOT NULL, v INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    for start in (0, 1000, 2000):
        lake.sql(f"INSERT INTO r SELECT int(id), 1 FROM range({start}, {start + 1000})")
    lake.sql("INSERT INTO d SELECT int(id), 1000 FROM range(1100, 1300)")  # more values than are compared one by one
    found = scans(lake.sql("SELECT sum(v) FROM r JOIN d ON r.id = d.id WHERE w = 1000"))["r"]
    assert found[0] == 1000
    assert lake.rows("SELECT count(*), sum(v) FROM r JOIN d ON r.id = d.id WHERE w = 1000") == [(200, 200)]


def test_what_narrows_a_scan_holds_for_one_batch_of_one_thread(lake: Lake) -> None:
    star(lake, "TBLPROPERTIES ('primary-key' = 'dt,id', 'bucket' = '1')")
    jvm = lake.spark._jvm
    assert jvm is not None
    catalog = lake.spark._jsparkSession.sessionState().catalogManager().catalog("lake")
    loaded = catalog.loadTable(jvm.org.apache.spark.sql.connector.catalog.Identifier.of(_array(jvm, "d"), "f"))
    scan = loaded.newScanBuilder(jvm.org.apache.spark.sql.util.CaseInsensitiveStringMap.empty()).build()
    assert [name.toString() for name in scan.filterAttributes()] == ["dt"]
    whole = _length(scan)
    day = (dt.date(2026, 1, 3) - dt.date(1970, 1, 1)).days
    expressions = jvm.org.apache.spark.sql.connector.expressions
    value = expressions.LiteralValue(day, jvm.org.apache.spark.sql.types.DataType.fromDDL("DATE"))
    children = _array(jvm, expressions.FieldReference.column("dt"), value, kind=expressions.Expression)
    condition = expressions.filter.Predicate("IN", children)
    scan.filter(_array(jvm, condition, kind=expressions.filter.Predicate))
    with ThreadPoolExecutor(1) as other:
        assert other.submit(_length, scan).result() == whole
    assert 0 < _length(scan) < whole
    assert _length(scan) == whole


def _length(scan: Any) -> int:
    return len(scan.toBatch().planInputPartitions())


def _array(jvm: Any, *values: Any, kind: Any = None) -> Any:
    made = jvm.java.lang.reflect.Array.newInstance(
        jvm.java.lang.Class.forName(kind._fqn if kind is not None else "java.lang.String"), len(values)
    )
    for number, value in enumerate(values):
        made[number] = value
    return made


def test_a_read_of_a_change_and_one_in_an_order_are_not_narrowed(lake: Lake) -> None:
    star(lake, "TBLPROPERTIES ('primary-key' = 'dt,id', 'bucket' = '1')")
    changed = lake.spark.read.option("incremental-between", "1,2").table("f")
    joined = changed.join(lake.spark.table("d").where("w = 3"), "dt")
    assert joined.count() == 50
    with_age = lake.spark.read.option("scan.file-creation-time-millis", "99999999999999").table("f")
    assert with_age.join(lake.spark.table("d").where("w = 3"), "dt").count() == 0
    assert lake.rows(
        "SELECT count(*) FROM (SELECT * FROM f ORDER BY id LIMIT 20) t JOIN d ON t.dt = d.dt WHERE w = 3"
    ) == [(2,)]


def test_a_long_list_is_refused_without_a_look_at_its_values(lake: Lake) -> None:
    jvm = lake.spark._jvm
    assert jvm is not None
    expressions, integer = jvm.org.apache.spark.sql.connector.expressions, jvm.org.apache.spark.sql.types.DataTypes
    column, value = expressions.FieldReference.column("id"), expressions.LiteralValue(7, integer.IntegerType)
    columns = {"id": DataField(0, "id", DataType(Root.INT))}
    for count, is_taken in ((999, True), (1000, False)):
        children = _array(jvm, column, *[value] * count, kind=expressions.Expression)
        given = _array(jvm, expressions.filter.Predicate("IN", children), kind=expressions.filter.Predicate)
        (node,) = parsed(JvmObjects(lake.spark), given)
        assert (node != {}) is is_taken
        if is_taken:
            assert convert(node, columns) == p.In(("id",), (7,) * count)
        else:
            with pytest.raises(NotPushed):
                convert(node, columns)
