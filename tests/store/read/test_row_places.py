"""Metadata columns: each row of a golden table lies where they say, and its other columns are those of a plain read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.long_runs import LONG, draws
from support.oracles.comparing import comparable
from support.tables.compacting import compact, make, write
from support.tables.golden_tables import GoldenTable, readable_tables

from paimon_spark.errors import OptionError, PredicateError, UnsupportedFeature
from paimon_spark.format.schema import BUCKET, FILE_PATH, METADATA_COLUMNS, PARTITION, ROW_INDEX
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.read.splits import Split
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string())])
TABLES = readable_tables()


def rows(table: ReadableTable, columns: Sequence[str], where: str | None = None) -> list[tuple[Any, ...]]:
    found = table.scan(columns, where).to_arrow()
    return list(zip(*(found.column(name).to_pylist() for name in columns), strict=True))


@pytest.mark.parametrize("golden", TABLES if LONG else draws().sample(TABLES, 30), ids=str)
def test_rows_lie_where_the_columns_say(golden: GoldenTable, tmp_path: Path) -> None:
    table = open_table(str(golden.unpack(tmp_path)))
    names = table.schema.names
    plain = table.scan(names).to_arrow()
    placed = table.scan([*names, PARTITION, BUCKET]).to_arrow()
    assert comparable(placed.select(names)) == comparable(plain)
    keys = [field.name for field in table.schema.partition_fields]
    assert [list(value.values()) for value in placed.column(PARTITION).to_pylist()] == [
        list(row.values()) for row in placed.select(keys).to_pylist()
    ] or not keys
    columns = [ROW_INDEX, *names, BUCKET, FILE_PATH]
    if any(not isinstance(split, Split) or split.sections for split in table.scan(names[:1]).plan().splits):
        with pytest.raises(UnsupportedFeature, match=r"merged of several files|no single place"):
            table.scan(columns).to_arrow()
        return
    whole = table.scan(columns).to_arrow()
    assert comparable(whole.select(names)) == comparable(plain)
    places = whole.select([FILE_PATH, ROW_INDEX, BUCKET]).to_pylist()
    assert len({(place[FILE_PATH], place[ROW_INDEX]) for place in places}) == len(places)
    column = next((f.name for f in table.schema.fields if f.name in names and f.name not in keys), None)
    files: dict[str, pa.Table] = {}
    for place, value in zip(places, whole.column(column).to_pylist() if column else (), strict=True):
        path = place[FILE_PATH]
        assert f"/bucket-{place[BUCKET]}/" in path
        if path.endswith(".parquet"):
            stored = files.setdefault(path, pq.ParquetFile(path).read())
            written = stored.column(column) if column in stored.column_names else None
            if written is not None and written.type == whole.schema.field(column).type:
                assert written[place[ROW_INDEX]].as_py() == value


def test_conditions_on_them(tmp_path: Path) -> None:
    table = open_table(make(tmp_path / "t", COLUMNS, [], {"bucket": "2", "bucket-key": "k"}).location)
    write(table, [(number, "x") for number in range(20)])
    everything = rows(table, ["k", BUCKET, ROW_INDEX, FILE_PATH])
    for where, keep in {
        f"{BUCKET} = 1": lambda row: row[1] == 1,
        f"not ({BUCKET} = 1 or k > 10)": lambda row: row[1] != 1 and row[0] <= 10,
        f"{ROW_INDEX} < 3 and k > 2": lambda row: row[2] < 3 and row[0] > 2,
        f"{ROW_INDEX} < 1 or k = 7": lambda row: row[2] < 1 or row[0] == 7,
        f"{FILE_PATH} like '%/bucket-0/%'": lambda row: row[1] == 0,
        f"{PARTITION} is null": lambda row: False,
    }.items():
        expected = [row for row in everything if keep(row)]
        assert rows(table, ["k", BUCKET, ROW_INDEX, FILE_PATH], where) == expected
        assert [k for (k,) in rows(table, ["k"], where)] == [row[0] for row in expected]
        assert table.scan(where=where).count() == len(expected)
        assert table.scan(["k"], where).top("k", 2).column("k").to_pylist() == sorted(row[0] for row in expected)[:2]
        assert table.scan(where=where).max("k") == max((row[0] for row in expected), default=None)
    assert table.scan(FILE_PATH).count() == 20
    with pytest.raises(PredicateError):
        table.scan(where=f"{BUCKET} = 'x'")
    with pytest.raises(OptionError, match="__paimon_x"):
        table.scan("__paimon_x")


def test_merged_rows_have_a_bucket_but_no_place(tmp_path: Path) -> None:
    table = open_table(make(tmp_path / "t", COLUMNS, ["k"], {"bucket": "1"}).location)
    write(table, [(1, "a"), (2, "b"), (3, "c")])
    assert rows(table, ["k", ROW_INDEX]) == [(1, 0), (2, 1), (3, 2)]
    write(table, [(2, "bb")])
    assert rows(table, ["k", "v", BUCKET, PARTITION]) == [(1, "a", 0, {}), (2, "bb", 0, {}), (3, "c", 0, {})]
    assert rows(table, ["k"], f"{BUCKET} = 0 and v like 'b%'") == [(2,)]
    for columns, where in (([ROW_INDEX], None), (["k"], f"{FILE_PATH} = 'x'")):
        with pytest.raises(UnsupportedFeature, match="merged of several files"):
            table.scan(columns, where).to_arrow()
    compact(table)
    assert rows(table, ["k", "v", ROW_INDEX]) == [(1, "a", 0), (2, "bb", 1), (3, "c", 2)]


def test_rows_that_differ_lie_nowhere(tmp_path: Path) -> None:
    table = open_table(make(tmp_path / "t", COLUMNS, ["k"], {"bucket": "1"}).location)
    write(table, [(1, "a")])
    write(table, [(2, "b")])
    between = {"incremental-between": "1,2"}
    assert rows(table.with_options(between), ["k", BUCKET]) == [(2, 0)]
    differ = table.with_options({**between, "incremental-between-scan-mode": "diff"})
    with pytest.raises(UnsupportedFeature, match="two states"):
        rows(differ, ["k", BUCKET])


def test_a_column_of_that_name_is_the_one_of_the_table(tmp_path: Path) -> None:
    columns = pa.schema([pa.field("k", pa.int64(), nullable=False), (BUCKET, pa.string())])
    table = open_table(make(tmp_path / "t", columns, [], {"bucket": "-1"}).location)
    write(table, [(1, "mine")])
    assert rows(table, ["k", BUCKET, ROW_INDEX]) == [(1, "mine", 0)]
    assert table.scan().to_arrow().column_names == ["k", BUCKET]


@pytest.mark.parametrize("tracked", ["true", "false"])
def test_a_read_of_all_columns_has_none_of_them(tmp_path: Path, tracked: str) -> None:
    options = {"bucket": "-1", "row-tracking.enabled": tracked}
    table = open_table(make(tmp_path / "t", COLUMNS, [], options).location)
    assert not set(METADATA_COLUMNS) & set(table.scan().arrow_schema.names)
    hidden = list(METADATA_COLUMNS[: 6 if tracked == "true" else 4])
    empty = table.scan(hidden).to_arrow()
    assert (empty.num_rows, empty.column_names) == (0, hidden)
    with pytest.raises(OptionError, match="no column"):
        table.system_table("files", BUCKET)
