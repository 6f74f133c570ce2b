"""DuckDB, Polars, DataFusion and pandas: what they read and write, equal rows, and only the files that they need.

``PAIMON_LIBRARIES=200`` writes and reads so many random tables.
"""

from __future__ import annotations

import datetime as dt
import pickle
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from decimal import Decimal
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from support.faults.counting_store import CountingStore, RangeStore
from support.long_runs import tries

from paimon_spark import create_table, open_table
from paimon_spark.errors import OptionError, UnsupportedFeature, UnsupportedMethod
from paimon_spark.store.scan.dataset import ScanFragment
from paimon_spark.store.scan.table_scan import Scan
from paimon_spark.tables.open import WritableTable

DAYS = ("a", "b", "c")
ROWS = 50


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> WritableTable:
    """Of each of three days two files: numbers from 0, and from 1000."""
    path = str(tmp_path_factory.mktemp("orders") / "t")
    columns = {"id": "BIGINT", "dt": "STRING", "v": "DOUBLE", "long": "STRING"}
    table = create_table(path, columns, partition_keys="dt", options={"write-only": "true"})
    for first in (0, 1000):
        for day in DAYS:
            ids = list(range(first, first + ROWS))
            values = [None if i % 7 == 0 else float("nan") if i % 7 == 1 else i / 4 for i in ids]
            texts = [f"{i:0100}" for i in ids]
            table.append({"id": ids, "dt": [day] * ROWS, "v": values, "long": texts})
    return table


def counted(table: WritableTable, **choice: Any) -> tuple[Scan, CountingStore]:
    store = CountingStore(table.file_io)
    return replace(table, file_io=store).scan(**choice), store


def data_files(store: CountingStore) -> int:
    return len({path for path in store.opened if path.endswith(".parquet")})


# Files that are opened, columns that are read


def test_duckdb_reads_the_files_of_a_condition(orders: WritableTable) -> None:
    duckdb = pytest.importorskip("duckdb")
    scan, store = counted(orders)
    dataset = scan.to_dataset()
    assert (data_files(store), dataset.schema.names) == (0, ["id", "dt", "v", "long"])
    found = duckdb.sql("SELECT dt, sum(id) FROM dataset WHERE dt = 'b' AND id >= 1000 GROUP BY dt").fetchall()
    assert found == [("b", sum(range(1000, 1000 + ROWS)))]
    assert data_files(store) == 1
    assert duckdb.sql("SELECT count(*) FROM dataset WHERE id IN (3, 1003)").fetchall() == [(6,)]
    with duckdb.connect() as own:
        relation = scan.to_duckdb(own)
        assert relation.filter("dt = 'a'").aggregate("count(*)").fetchall() == [(2 * ROWS,)]
    assert scan.to_duckdb().aggregate("max(id)").fetchall() == [(1000 + ROWS - 1,)]


def test_duckdb_stops_at_a_limit(orders: WritableTable) -> None:
    duckdb = pytest.importorskip("duckdb")
    scan, store = counted(orders)
    assert len(scan.to_duckdb(duckdb.connect()).limit(3).fetchall()) == 3
    assert data_files(store) < 6


def test_a_lazy_frame_reads_the_files_of_a_condition(orders: WritableTable) -> None:
    pl = pytest.importorskip("polars")
    scan, store = counted(orders)
    frame = scan.to_polars_lazy()
    assert data_files(store) == 0
    found = frame.filter(pl.col("dt") == "b", pl.col("id") >= 1000).select(pl.col("id").sum()).collect()
    assert found.item() == sum(range(1000, 1000 + ROWS))
    assert data_files(store) == 1
    assert frame.filter(pl.col("id").is_in([3, 1003])).collect().height == 6
    assert frame.filter(pl.col("v").is_null(), pl.col("dt") != "a").select("v").collect(engine="streaming").height == 30


def test_a_lazy_frame_stops_at_a_limit(orders: WritableTable) -> None:
    pl = pytest.importorskip("polars")
    scan, store = counted(orders)
    assert scan.to_polars_lazy().head(3).collect().height == 3
    assert data_files(store) == 1
    limited = scan.to_polars_lazy().head(60).filter(pl.col("id") >= 0).collect()
    assert limited.height == 60  # the limit counts rows before the condition
    assert scan.to_polars_lazy().head(0).collect().height == 0


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> WritableTable:
    """One file, most of whose bytes are those of a column of texts that no codec makes smaller."""
    table = create_table(str(tmp_path_factory.mktemp("wide") / "t"), {"id": "BIGINT", "text": "STRING"})
    draw = random.Random(1)
    table.append({"id": list(range(4000)), "text": [draw.randbytes(100).hex() for _ in range(4000)]})
    return table


def read_columns(library: str, scan: Scan, columns: list[str]) -> pa.Table:
    if library == "duckdb":
        return scan.to_duckdb().filter("id >= 10").select(*columns).to_arrow_table()
    if library == "polars":
        pl = pytest.importorskip("polars")
        return scan.to_polars_lazy().filter(pl.col("id") >= 10).select(columns).collect().to_arrow()
    return scan.to_dataset().to_table(columns=columns, filter=pc.field("id") >= 10)


@pytest.mark.parametrize("library", ["duckdb", "polars", "pyarrow"])
def test_columns_that_nobody_asks_for_stay_unread(library: str, wide: WritableTable) -> None:
    pytest.importorskip(library)
    read = list[int]()
    for columns in (["id"], ["text", "id"]):
        store = RangeStore(wide.file_io)
        found = read_columns(library, replace(wide, file_io=store).scan(), columns)
        assert found.column_names == columns
        assert sorted(found["id"].to_pylist()) == list(range(10, 4000))
        read.append(sum(store.bytes_read(path) for path in store.ranges if path.endswith(".parquet")))
    assert 4 * read[0] < read[1]


def test_columns_may_be_expressions(orders: WritableTable) -> None:
    dataset = orders.scan(where="dt = 'a'").to_dataset()
    found = dataset.to_table({"twice": pc.field("id") * 2, "dt": pc.field("dt")}, filter=pc.field("id") == 1003)
    assert found.to_pylist() == [{"twice": 2006, "dt": "a"}]
    assert dataset.scanner(columns=[]).count_rows() == 2 * ROWS
    assert dataset.scanner(columns=[], filter=pc.field("id") > 1000).count_rows() == ROWS - 1


def test_datafusion_reads_the_files_of_a_condition(orders: WritableTable) -> None:
    datafusion = pytest.importorskip("datafusion")
    scan, store = counted(orders)
    context = datafusion.SessionContext()
    context.register_dataset("orders", scan.to_dataset())
    found = context.sql("SELECT sum(id) AS s, count(*) AS c FROM orders WHERE dt = 'b' AND id >= 1000").to_pydict()
    assert found == {"s": [sum(range(1000, 1000 + ROWS))], "c": [ROWS]}
    assert data_files(store) == 1
    assert context.sql("SELECT count(*) AS c FROM orders").to_pydict() == {"c": [6 * ROWS]}


# Equal rows for any condition


def drawn_sql(draw: random.Random, depth: int = 2) -> str:
    if depth and draw.random() < 0.5:
        left, right = drawn_sql(draw, depth - 1), drawn_sql(draw, depth - 1)
        return draw.choice([f"({left}) AND ({right})", f"({left}) OR ({right})", f"NOT ({left})"])
    compare = draw.choice(["=", "<>", "<", "<=", ">", ">="])
    number = draw.choice([0, 1, 8, 49, 1000, 1007])
    return draw.choice([
        f"id {compare} {number}", f"dt {compare} '{draw.choice(DAYS)}'", f"v {compare} {number / 4}", "v IS NULL",
        "v IS NOT NULL", f"v {compare} 'nan'::DOUBLE", f"id IN ({number}, 3)", f"id NOT IN ({number}, 3)",
        f"dt LIKE '{draw.choice(DAYS)}%'", f"v IN (2.0, {number / 4})", f"id BETWEEN {number} AND 1010",
        f"long {compare} '{number:0100}'", "id % 2 = 0", f"id + 0.5 {compare} {number}",
    ])  # fmt: skip


def test_conditions_of_duckdb_have_its_own_meaning(orders: WritableTable) -> None:
    duckdb = pytest.importorskip("duckdb")
    dataset, memory = orders.scan().to_dataset(), orders.scan().to_arrow()
    assert pickle.loads(pickle.dumps(dataset)).count_rows() == memory.num_rows
    for seed in range(tries("PAIMON_LIBRARIES", 30) * 2):
        where = drawn_sql(random.Random(seed))
        found = duckdb.sql(f"SELECT id, dt FROM dataset WHERE {where} ORDER BY ALL").fetchall()
        assert found == duckdb.sql(f"SELECT id, dt FROM memory WHERE {where} ORDER BY ALL").fetchall(), where


def drawn_polars(pl: Any, draw: random.Random, depth: int = 2) -> Any:
    if depth and draw.random() < 0.5:
        left, right = drawn_polars(pl, draw, depth - 1), drawn_polars(pl, draw, depth - 1)
        return draw.choice([left & right, left | right, ~left])
    column = draw.choice(["id", "v", "dt", "long"])
    number = draw.choice([0, 1, 8, 49, 1000, 1007])
    values = {"id": number, "v": draw.choice([number / 4, float("nan")]), "dt": draw.choice(DAYS)}
    value = values.get(column, f"{number:0100}")
    name = pl.col(column)
    return draw.choice([
        name == value, name != value, name < value, name <= value, name > value, name >= value, name.is_null(),
        name.is_not_null(), name.is_in([value, values.get(column, "x")]), name.eq_missing(pl.lit(value)),
        pl.col("v").is_nan(), pl.col("id") % 2 == 0, pl.col("id") > number + 0.5, pl.col("dt").str.starts_with("a"),
        pl.col("id").is_between(number, 1010),
    ])  # fmt: skip


def test_conditions_of_polars_have_its_own_meaning(orders: WritableTable) -> None:
    pl = pytest.importorskip("polars")
    lazy, memory = orders.scan().to_polars_lazy(), orders.scan().to_polars()
    for seed in range(tries("PAIMON_LIBRARIES", 30) * 2):
        condition = drawn_polars(pl, random.Random(seed))
        found, expected = (frame.filter(condition).select("id", "dt").sort("id", "dt") for frame in (lazy, memory))
        assert found.collect().equals(expected), condition


# All types there and back

MOMENT = dt.datetime(2026, 11, 1, 12, 30, 1, 123456)
TYPES: dict[str, list[Any]] = {
    "BOOLEAN": [True, False],
    "TINYINT": [-128, 127],
    "SMALLINT": [-(2**15), 0],
    "INT": [2**31 - 1, -(2**31)],
    "BIGINT": [2**63 - 1, -(2**63), 0],
    "FLOAT": [1.5, float("inf"), -0.0],
    "DOUBLE": [1e300, -3.25],
    "DECIMAL(9, 2)": [Decimal("-1234567.89")],
    "DECIMAL(38, 10)": [Decimal("-1234567890123456789012345678.0123456789")],
    "STRING": ["", "ä\0", "\U0001f600 more than twelve bytes"],
    "CHAR(3)": ["abc"],
    "BYTES": [b"", b"\0\xff"],
    "BINARY(2)": [b"ab"],
    "DATE": [dt.date(1, 1, 1), dt.date(9999, 12, 31)],
    "TIME(3)": [dt.time(12, 30, 1, 123000)],
    "TIMESTAMP(3)": [MOMENT.replace(microsecond=123000)],
    "TIMESTAMP(6)": [MOMENT],
    "TIMESTAMP(9)": [MOMENT],
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": [MOMENT.replace(tzinfo=dt.UTC)],
    "ARRAY<INT>": [[], [1, None]],
    "ARRAY<ARRAY<STRING>>": [[["a"], []], []],
    "MAP<STRING, BIGINT>": [[("a", 1), ("b", None)], []],
    "ROW<x INT, y STRING>": [{"x": 1, "y": None}],
    "ARRAY<ROW<x INT, m TIMESTAMP(6)>>": [[{"x": 1, "m": MOMENT}]],
    "VECTOR<FLOAT, 2>": [[1.0, 2.5]],
}


def random_rows(path: Path, seed: int) -> tuple[dict[str, str], pa.Table]:
    """Makes a table of some columns of random types: the types, and the rows that were written."""
    draw = random.Random(seed)
    types = draw.sample(list(TYPES), draw.randint(1, 6))
    columns = {"id": "BIGINT NOT NULL", **{f"c{n}": name for n, name in enumerate(types)}}
    table = create_table(str(path), columns, draw.choice(["", "id"]), options={"bucket": "1", "bucket-key": "id"})
    count = draw.randint(0, 12)
    values = {"id": list(range(count))}
    for number, name in enumerate(types):
        values[f"c{number}"] = [None if draw.random() < 0.3 else draw.choice(TYPES[name]) for _ in range(count)]
    rows = pa.table(values, schema=table.scan().arrow_schema)
    table.append(rows)
    return columns, rows


def through_duckdb(path: str) -> Iterator[Any]:
    duckdb = pytest.importorskip("duckdb")
    yield duckdb.connect().from_arrow(open_table(path).scan().to_dataset())
    yield open_table(path).scan().to_duckdb(duckdb.connect()).filter("id >= 0")


def through_polars(path: str) -> Iterator[Any]:
    pytest.importorskip("polars")
    yield open_table(path).scan().to_polars()
    yield open_table(path).scan().to_polars_lazy().collect()


def through_datafusion(path: str) -> Iterator[Any]:
    context = pytest.importorskip("datafusion").SessionContext()
    context.register_dataset("t", open_table(path).scan().to_dataset())
    yield context.sql("SELECT * FROM t")


def through_pandas(path: str) -> Iterator[Any]:
    yield open_table(path).scan().to_pandas()


LIBRARIES = {
    "datafusion": through_datafusion,
    "duckdb": through_duckdb,
    "pandas": through_pandas,
    "polars": through_polars,
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_random_tables_go_there_and_back(library: str, tmp_path: Path) -> None:
    pytest.importorskip(library)
    for seed in range(tries("PAIMON_LIBRARIES", 6)):
        source = tmp_path / f"source{seed}"
        columns, rows = random_rows(source, seed)
        for number, theirs in enumerate(LIBRARIES[library](str(source))):
            target = tmp_path / f"target{seed}-{number}"
            made = create_table(str(target), columns)
            made.append(theirs)
            found = made.scan().to_arrow().sort_by("id")
            assert found.equals(rows), (seed, found.schema, found.to_pylist(), rows.to_pylist())


# Tasks in other processes


def test_fragments_are_read_by_other_processes(orders: WritableTable) -> None:
    scan = orders.with_options({"source.split.target-size": "1 b", "source.split.open-file-cost": "1 b"}).scan("id, dt")
    fragments = scan.fragments()
    assert len(fragments) == 6
    orders_then = scan.to_arrow()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        found = pa.concat_tables(pool.map(ScanFragment.to_arrow, fragments))
    assert found.sort_by([("id", "ascending"), ("dt", "ascending")]).equals(
        orders_then.sort_by([("id", "ascending"), ("dt", "ascending")])
    )


def test_any_number_of_threads_reads_the_same(orders: WritableTable) -> None:
    assert orders.scan("id").to_arrow(threads=1).equals(orders.scan("id").to_arrow(threads=3))
    with pytest.raises(OptionError, match="give 1 or more"):
        orders.scan().to_arrow(threads=0)


# What is refused


def test_the_dataset_has_no_call_that_passes_by_the_scan(orders: WritableTable) -> None:
    """What pyarrow would do with the file that the dataset claims to be has to fail: else rows would be lost."""
    dataset = orders.scan().to_dataset()
    works = {
        "schema": lambda: dataset.schema == orders.scan().arrow_schema,
        "scanner": lambda: dataset.scanner().count_rows() == 6 * ROWS,
        "to_table": lambda: dataset.to_table(filter=pc.field("dt") == "a").num_rows == 2 * ROWS,
        "to_batches": lambda: sum(batch.num_rows for batch in dataset.to_batches(columns=["id"])) == 6 * ROWS,
        "head": lambda: dataset.head(3).num_rows == 3,
        "take": lambda: dataset.take([299]).num_rows == 1,
        "count_rows": lambda: dataset.count_rows(filter=pc.field("id") < 3) == 9,
        "get_fragments": lambda: sum(f.scanner().count_rows() for f in dataset.get_fragments()) == 6 * ROWS,
        "from_paths": lambda: True,  # makes another one
    }
    for name in [name for name in dir(pads.FileSystemDataset) if not name.startswith("_")]:
        if name in works:
            assert works[name](), name
        else:
            with pytest.raises(UnsupportedMethod, match=f"has no '{name}'"):
                getattr(dataset, name)
    with pytest.raises(pa.ArrowInvalid, match="not a parquet file"):
        pads.UnionDataset(dataset.schema, [dataset]).to_table()
    assert pickle.loads(pickle.dumps(dataset)).count_rows() == 6 * ROWS


@pytest.mark.parametrize(
    ("call", "module"), [("to_polars", "polars"), ("to_polars_lazy", "polars"), ("to_duckdb", "duckdb")]
)
def test_a_library_that_is_not_installed(
    call: str, module: str, orders: WritableTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        UnsupportedFeature, match=rf"{call}\(\) needs \w+, which is not installed: run pip install {module}"
    ):
        getattr(orders.scan(), call)()


def test_an_empty_table(tmp_path: Path) -> None:
    scan = create_table(str(tmp_path / "t"), {"id": "BIGINT"}).scan()
    assert scan.to_dataset().to_table().num_rows == 0
    if "duckdb" in sys.modules:
        assert scan.to_duckdb().fetchall() == []
    if "polars" in sys.modules:
        assert scan.to_polars_lazy().collect().height == 0
