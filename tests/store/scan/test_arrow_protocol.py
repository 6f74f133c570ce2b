"""What other libraries take of a read without Spark, states by version and time, names, and what objects print."""

from __future__ import annotations

import datetime as dt
import pickle
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.tables.compacting import make, write

import paimon_spark
from paimon_spark import col, open_catalog, open_table
from paimon_spark.errors import (
    ArgumentError,
    OptionError,
    PaimonError,
    SnapshotNotFound,
    TableNotFound,
    UnsupportedMethod,
)
from paimon_spark.format.options.other_systems import ARGUMENT_ADVICE
from paimon_spark.store.open import ReadableTable

COLUMNS = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string()), ("a", pa.list_(pa.int32()))])
ROWS = [(1, "a", [1]), (2, "b", None), (3, "c", [])]


@pytest.fixture
def table(tmp_path: Path) -> ReadableTable:
    made = make(tmp_path / "shop.db/t", COLUMNS, ["k"], {})
    write(made, ROWS[:1])
    write(made, ROWS[1:])
    return open_table(made.location)


def test_other_libraries_take_a_scan(table: ReadableTable) -> None:
    scan = table.scan()
    expected = scan.to_arrow()
    assert expected.to_pylist() == [dict(zip("kva", row, strict=True)) for row in ROWS]
    assert pa.schema(scan) == scan.arrow_schema
    assert pa.table(scan) == expected
    assert pa.table(scan) == expected  # each call is a read of its own
    assert pa.RecordBatchReader.from_stream(scan).read_all() == expected
    wide = pa.schema([("k", pa.float64())])
    assert pa.RecordBatchReader.from_stream(table.scan("k"), wide).schema == wide
    pd.testing.assert_frame_equal(scan.to_pandas(), expected.to_pandas())
    empty = table.scan(where="k > 7")
    assert (pa.table(empty).num_rows, pa.table(empty).schema) == (0, scan.arrow_schema)
    assert empty.to_pandas().shape == (0, 3)


def test_other_libraries_take_a_table(table: ReadableTable) -> None:
    everything: Any = table
    assert pa.table(everything) == table.scan().to_arrow()
    assert pa.schema(everything) == table.scan().arrow_schema
    assert pa.RecordBatchReader.from_stream(everything).read_all().num_rows == 3
    earlier: Any = open_table(table.location, version=1)
    assert pa.table(earlier).column("k").to_pylist() == [1]
    assert table  # without a look at the rows


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: pd.DataFrame(t.scan()), "'Scan' is no iterator: to_pandas() is all rows as a pandas DataFrame"),
        (lambda t: list(t.scan()), "to_arrow().to_pylist() each as a dict"),
        (lambda t: len(t.scan()), "count() is the number of rows"),
        (pd.DataFrame, "a table of open_table is no iterator: scan() reads it, scan().to_pandas()"),
        (list, "scan().to_arrow().to_pylist() each as a dict"),
        (len, "scan().count() is the number of rows"),
    ],
)
def test_a_read_is_no_sequence(call: Callable[[Any], object], words: str, table: ReadableTable) -> None:
    with pytest.raises(UnsupportedMethod) as raised:
        call(table)
    assert words in str(raised.value)


@pytest.mark.parametrize("name", ARGUMENT_ADVICE)
def test_an_argument_of_another_library_is_answered(name: str, table: ReadableTable, tmp_path: Path) -> None:
    call, argument = name.removesuffix(")").split("(")
    scan = table.scan()
    owners: dict[str, list[Any]] = {"open_table": [paimon_spark], "table": [open_catalog(str(tmp_path))]}
    of_tables = ("scan", "system_table", "delete", "update", "merge", "upsert", "compact", "create_global_index")
    owners |= {call: [table] for call in of_tables}
    own = {"open_table": table.location, "table": "shop.t", "system_table": "files", "top": "k"}.get(call)
    for owner in owners.get(call, [scan, table.system_table("files"), table.system_table("ro")]):
        with pytest.raises(ArgumentError) as raised:
            getattr(owner, call)(*[own] if own else [], **{argument: 1})
        assert f"{call}: the argument '{argument}' is not known; {ARGUMENT_ADVICE[name]}" in str(raised.value)


def test_what_the_advice_about_arguments_says_works(table: ReadableTable) -> None:
    table = open_table(location=table.location, options={"s3.endpoint": "x"})
    scans = [table.scan(where="k > 1"), table.scan(where=col("k") > 1), table.with_options({}).scan(columns="k, v")]
    assert [scan.count() for scan in scans] == [2, 2, 3]
    assert next(table.scan().to_batches()).slice(0, 1).num_rows == 1
    assert table.scan().top("k", 1, descending=True).column("k").to_pylist() == [3]
    with pytest.raises(SnapshotNotFound, match="nope"):
        open_table(f"{table.location}$branch_nope")
    with pytest.raises(SnapshotNotFound, match="nope"):
        open_catalog(table.location.removesuffix("/shop.db/t")).table("shop.t$branch_nope")


def test_pandas_has_the_whole_numbers_that_the_table_has(tmp_path: Path) -> None:
    """A float has no 2**53 + 1, and pyarrow makes floats of whole numbers beside a NULL, also within other values."""
    odd, least = 2**53 + 1, -(2**63)
    numbers = pa.struct([("x", pa.int64())])
    columns = [pa.field("k", pa.int64(), nullable=False), ("b", pa.int64()), ("i", pa.int32()), ("n", pa.int8())]
    nested = [("l", pa.list_(pa.int64())), ("s", numbers), ("m", pa.map_(pa.string(), pa.int64()))]
    made = make(tmp_path / "t", pa.schema([*columns, *nested]), ["k"], {})
    row = (odd, 7, None, [odd, None], {"x": odd}, [("a", odd), ("b", None)])
    write(made, [(odd, *row), (2, least, 8, None, None, {"x": None}, None), (3, None, None, None, None, None, None)])
    frame = open_table(made.location).scan().to_pandas().set_index("k").sort_index()
    assert [str(frame[name].dtype) for name in "bin"] == ["Int64", "Int32", "Int8"]
    assert [None if value is pd.NA else value for value in frame["b"]] == [least, None, odd]
    assert frame["n"].isna().all()
    last = frame.loc[odd]
    assert (list(last["l"]), last["s"], last["m"]) == ([odd, None], {"x": odd}, [("a", odd), ("b", None)])
    assert open_table(made.location).scan("b", "b IS NOT NULL").to_pandas()["b"].dtype == np.int64


def test_system_tables_are_taken_too(table: ReadableTable) -> None:
    for name in ("snapshots", "files", "audit_log", "ro", "tags"):
        scan = table.system_table(name)
        assert pa.table(scan) == scan.to_arrow()
        assert scan.to_pandas().shape == scan.to_arrow().shape
    assert table.history().column("snapshot_id").to_pylist() == [2, 1]


def test_the_first_rows(table: ReadableTable) -> None:
    for count in (0, 1, 2, 3, 99):
        found = table.scan().head(count)
        assert found.num_rows == min(count, 3)
        assert found.schema == table.scan().arrow_schema
        assert set(found.column("k").to_pylist()) <= {1, 2, 3}
    assert table.system_table("snapshots").head(1).num_rows == 1
    with pytest.raises(OptionError, match="first -1 rows"):
        table.scan().head(-1)


def test_arguments_of_other_types_are_named(table: ReadableTable) -> None:
    """Those of Spark, of pandas, and texts for numbers; a text for a flag would count as true."""
    scan: Any = table.scan()
    any_table: Any = table
    names, a_text, number = "expected a text, a list of texts or None", "expected a text", "expected a whole number"
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: any_table.scan([0]), f"WritableTable.scan: the argument 'columns' holds 0: {names}"),
        (lambda: any_table.scan(0), f"WritableTable.scan: the argument 'columns' is 0: {names}"),
        (
            lambda: any_table.scan([col("v")]),
            f"'columns' holds an expression of paimon_spark.col, which only the 'where' of open_table takes: {names}",
        ),
        (lambda: any_table.scan(NotIterable()), f"'columns' is an object of the type NotIterable: {names}"),
        (lambda: any_table.scan({"k": 1}), f"'columns' is an object of the type dict: {names}"),
        (lambda: scan.min(pd.Series(["k"])), f"'column' is an object of the type pandas.Series: {a_text}"),
        (lambda: any_table.scan(row_kinds="false"), "the argument 'row_kinds' is the text 'false': expected True or"),
        (lambda: any_table.system_table("files", [0]), f"system_table: the argument 'columns' holds 0: {names}"),
        (lambda: any_table.with_options("a"), "with_options: the argument 'options' has the type str"),
        (lambda: scan.top(["k"], 1), f"Scan.top: the argument 'column' is ['k']: {a_text}"),
        (lambda: scan.top("k", "1"), f"Scan.top: the argument 'count' is the text '1': {number}"),
        (lambda: scan.top("k", 1, "desc"), "Scan.top: the argument 'descending' is the text 'desc': expected True or"),
        (lambda: scan.head("3"), f"Scan.head: the argument 'count' is the text '3': {number}"),
        (lambda: scan.min(0), f"Scan.min: the argument 'column' is 0: {a_text}"),
        (
            lambda: any_table.system_table("files").head("3"),
            f"MetadataScan.head: the argument 'count' is the text '3': {number}",
        ),
        (lambda: any_table.system_table("ro").head("3"), f".head: the argument 'count' is the text '3': {number}"),
    ]
    for call, words in calls:
        with pytest.raises(OptionError) as raised:
            call()
        assert words in str(raised.value)
    assert scan.head(np.int64(2)).num_rows == 2


class NotIterable:
    """As a Column of Spark, which has the method alone."""

    def __iter__(self) -> Iterator[object]:
        raise TypeError("it is no list")


def test_states_by_version_and_time(table: ReadableTable, tmp_path: Path) -> None:
    path = table.location
    first, second = (table.snapshots.load(number).time_millis for number in (1, 2))
    assert open_table(path, version=1).scan().count() == 1
    for moment, count in ((second + 5, 3), (second, 3), (first, 1)):
        at = dt.datetime.fromtimestamp(moment / 1000, dt.UTC)
        assert open_table(path, timestamp=at).scan().count() == count or first == second
        assert open_table(path, timestamp=at.replace(tzinfo=None), time_zone="UTC").scan().count() == count
        assert open_table(path, timestamp=f"{at:%Y-%m-%d %H:%M:%S.%f}+00:00").scan().count() == count
    for bad, told in (
        ({"version": 1, "timestamp": "2026-01-01"}, "two states"),
        ({"timestamp": "2026-01-01 00:00:00"}, "has no zone"),
        ({"timestamp": dt.datetime(2026, 1, 1)}, "has no zone"),
        ({"timestamp": "noon", "time_zone": "UTC"}, "names no time"),
    ):
        with pytest.raises(OptionError, match=told):
            open_table(path, **bad)
    with pytest.raises(SnapshotNotFound):
        open_table(path, version="nope")
    catalog = open_catalog(str(tmp_path))
    doors = (partial(open_table, path), partial(catalog.table, "shop.t"))
    for given, key, value in (
        ({"version": 1}, "scan.snapshot-id", "2"),
        ({"version": "1"}, "scan.version", "2"),
        ({"version": 1}, "Scan.Tag-Name", "x"),
        ({"timestamp": "2026-01-01 00:00:00+00:00"}, "scan.timestamp-millis", "1"),
    ):
        for door in doors:
            with pytest.raises(OptionError, match=f"^[a-z]+ = .* and the option '{key}' both choose what is"):
                door(options={key: value}, **given)
    assert catalog["shop.t"].scan().count() == 3
    assert catalog.table("shop.t", version=1).scan().count() == 1
    with pytest.raises(TableNotFound, match="shop"):
        catalog["shop.x"]
    with pytest.raises(PaimonError):
        catalog["t"]


def test_names_of_other_systems(table: ReadableTable) -> None:
    for name, told in {
        "insert": "append",
        "to_pandas": "scan",
        "select": "scan",
        "to_table": "scan",
        "files": "system_table",
        "num_rows": r"scan\(\)\.count\(\) is the number",
        "count_rows": r"scan\(\)\.count\(\) is the number",
        "column_names": r"schema\.names",
        "arrow_schema": r"scan\(\)\.arrow_schema",
    }.items():
        with pytest.raises(UnsupportedMethod, match=told):
            getattr(table, name)
        assert not hasattr(table, name)
    with pytest.raises(AttributeError, match="nope"):
        getattr(table, "nope")  # noqa: B009 - not for checkers of types
    with pytest.raises(UnsupportedMethod, match=r"has no items: scan\(columns='k'\) reads a column of it"):
        cast(Any, table)["k"]
    assert (table.schema.names, table.scan().arrow_schema.names) == (("k", "v", "a"), ["k", "v", "a"])
    assert pickle.loads(pickle.dumps(table)) == table


def test_what_objects_print(table: ReadableTable) -> None:
    schema = "schema 0 (k BIGINT NOT NULL, v STRING, a ARRAY<INT>; primary key k)"
    assert repr(table.schema) == schema
    assert repr(table) == f"<WritableTable {table.location}: {schema}>"
    assert repr(table.scan("k")) == f"<Scan of {table.location}: k>"
    assert repr(table.scan("k", "v = 'a'")) == f"<Scan of {table.location}: k, with a condition>"
