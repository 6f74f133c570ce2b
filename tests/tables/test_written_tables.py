"""Writes without Spark: every bucket mode against a dictionary, every form of rows, every refusal."""

from __future__ import annotations

import datetime as dt
import pickle
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis.strategies as st
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest
from hypothesis import given, settings

from paimon_spark import create_table, open_catalog, open_table
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import DataError, OptionError, StaleBatch, TableNotFound, UnsupportedMethod
from paimon_spark.format.options.other_systems import READER_ADVICE
from paimon_spark.store.open import open_data_table
from paimon_spark.tables.open import WritableTable

COLUMNS = {"id": "BIGINT", "dt": "STRING", "v": "STRING"}
KINDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], dict[str, str]]] = {
    "fixed buckets": (("id", "dt"), ("dt",), {"bucket": "2"}),
    "dynamic buckets": (("id", "dt"), ("dt",), {"bucket": "-1", "dynamic-bucket.target-row-num": "3"}),
    "cross-partition": (("id",), ("dt",), {"bucket": "-1"}),
    "postponed": (("id", "dt"), ("dt",), {"bucket": "-2"}),
    "deletion vectors": (("id", "dt"), ("dt",), {"bucket": "1", "deletion-vectors.enabled": "true"}),
    "without a key": ((), ("dt",), {}),
    "without a key, buckets": ((), (), {"bucket": "2", "bucket-key": "id"}),
}


def rows_of(table: WritableTable) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist())


def made(path: Path, kind: str = "fixed buckets", **options: str) -> WritableTable:
    keys, parts, given = KINDS[kind]
    return create_table(str(path), COLUMNS, keys, parts, {**given, **options})


Drawn = st.lists(
    st.lists(st.tuples(st.integers(0, 6), st.sampled_from(["a", "b", "ä\0"]), st.text(max_size=3)), max_size=8),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8)
@given(drawn=Drawn)
def test_appends_are_what_a_dictionary_holds(kind: str, drawn: list[list[tuple[int, str, str]]]) -> None:
    keys, _, _ = KINDS[kind]
    with tempfile.TemporaryDirectory() as folder:
        table = made(Path(folder, "t"), kind)
        model: dict[Any, tuple[int, str, str]] = {}
        for number, rows in enumerate(drawn):
            columns = list(zip(*rows, strict=True)) or [(), (), ()]
            batch = pa.table(dict(zip(COLUMNS, columns, strict=True)), schema=table.scan().arrow_schema)
            result = table.append(batch)
            assert result.snapshot_id is not None or not rows
            for place, row in enumerate(rows):
                model[row[: len(keys)] if keys else (number, place)] = row
            assert rows_of(table) == sorted(model.values())


def forms() -> dict[str, Any]:
    table = pa.table({"v": ["x", "y"], "dt": ["a", "b"], "id": pa.array([1, 2], pa.int32())})
    [batch] = table.to_batches()

    def batches() -> Iterator[pa.RecordBatch]:
        yield batch.slice(0, 1)
        yield batch.slice(1)

    return {
        "table": table,
        "batch": batch,
        "reader": table.to_reader(),
        "iterator": batches(),
        "list of batches": [batch],
        "dictionary": {"id": [1, 2], "dt": ["a", "b"], "v": ["x", "y"]},
        "rows": [{"id": 1, "dt": "a", "v": "x"}, {"id": 2, "dt": "b", "v": "y"}],
        "pandas": pd.DataFrame({"id": [1, 2], "dt": ["a", "b"], "v": ["x", "y"]}, index=[7, 9]),
        "dataset": pyarrow.dataset.dataset(table),
        "scanner": pyarrow.dataset.dataset(table).scanner(),
        "structs": pa.chunked_array([batch.to_struct_array()]),
        "array": batch.to_struct_array(),
        "dictionaries": table.set_column(1, "dt", table.column("dt").dictionary_encode()),
        "large": table.set_column(0, "v", table.column("v").cast(pa.large_string())),
    }


@pytest.mark.parametrize("form", forms())
def test_rows_come_in_many_forms(tmp_path: Path, form: str) -> None:
    table = made(tmp_path / "t")
    result = table.append(forms()[form])
    assert (result.rows, result.snapshot_id, result.repeated) == (2, 1, False)
    assert rows_of(table) == [(1, "a", "x"), (2, "b", "y")]


def test_a_scan_of_one_table_is_written_to_another(tmp_path: Path) -> None:
    one, other = made(tmp_path / "one"), made(tmp_path / "other", "without a key")
    one.append({"id": [1, 2], "dt": ["a", "b"], "v": ["x", None]})
    other.append(one.scan(where="id = 2"))
    other.append(one)
    assert rows_of(other) == [(1, "a", "x"), (2, "b", None), (2, "b", None)] or sorted(
        map(str, rows_of(other))
    ) == sorted(map(str, [(1, "a", "x"), (2, "b", None), (2, "b", None)]))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("/x.parquet", "pyarrow.parquet.read_table"),
        (1, r"makes a Table of columns"),
        ([(1,)], "makes a Table of rows"),
        ([], "makes a Table of rows"),
        (pa.array([1]), "makes a Table of a column"),
        (pa.chunked_array([[1]]), "makes a Table of a column"),
        ({"id": [1], "dt": [1, 2]}, "Arrow makes no columns of them.*; give each column as many values$"),
        (
            {"id": 1, "dt": "a", "v": "x"},
            r"; give each column a list of values; \[row\] is a row given as a dictionary$",
        ),
        (pd.DataFrame([[1, 2]], columns=["id", "id"]), "two columns have one name"),
    ],
    ids=["path", "number", "tuples", "nothing", "array", "chunks", "uneven", "one row", "alike"],
)
def test_what_nobody_reads_is_refused(tmp_path: Path, rows: Any, message: str) -> None:
    table = made(tmp_path / "t")
    with pytest.raises(DataError, match=message):
        table.append(rows)
    assert table.history().num_rows == 0


@pytest.mark.parametrize("name", READER_ADVICE)
def test_a_name_of_another_library_is_answered_with_what_is_there(name: str, tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    with pytest.raises(UnsupportedMethod, match=f"^a table of open_table has no '{name}': ") as refused:
        getattr(table, name)
    advice = re.sub(r"open_table\([^)]*\)", "", str(refused.value).partition(": ")[2])
    there = {*dir(table), *dir(table.scan())}
    assert there.issuperset(re.findall(r"(?<![\w.])(\w+)\(", advice))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"id": [1], "dt": ["a"]}, "v"),
        ({"id": [1], "dt": ["a"], "v": ["x"], "w": [1]}, "column 'w' is not in the table"),
        ({"id": ["1"], "dt": ["a"], "v": ["x"]}, "column 'id' is STRING, the table has BIGINT"),
        ({"id": [None], "dt": ["a"], "v": ["x"]}, "id"),
    ],
    ids=["missing", "extra", "type", "null in the key"],
)
def test_rows_that_do_not_fit_leave_nothing(tmp_path: Path, rows: dict[str, list[Any]], message: str) -> None:
    table = made(tmp_path / "t")
    with pytest.raises(DataError, match=message):
        table.append(rows)
    assert not [path for path in (tmp_path / "t").rglob("*") if path.name.startswith("data-")]
    assert table.history().num_rows == 0


def test_a_text_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    buffers = [None, pa.array([0, 1], pa.int32()).buffers()[1], pa.py_buffer(b"\xff")]
    rows = pa.table({"id": [1], "dt": ["a"], "v": pa.Array.from_buffers(pa.string(), 1, buffers)})
    with pytest.raises(DataError, match="writing column 'v': its values are no string of Arrow"):
        made(tmp_path / "t").append(rows)


def test_a_source_that_fails_half_way_leaves_no_file(tmp_path: Path) -> None:
    table = made(tmp_path / "t", **{"write-buffer-size": "64 kb"})

    def rows() -> Iterator[pa.RecordBatch]:
        for number in range(20):
            ids = pa.array(range(number * 5000, number * 5000 + 5000), pa.int64())
            yield pa.record_batch({"id": ids, "dt": pa.array(["a"] * 5000), "v": pa.array(["x"] * 5000)})
        raise RuntimeError("the source is gone")

    with pytest.raises(RuntimeError, match="the source is gone"):
        table.append(rows())
    assert not [path for path in (tmp_path / "t").rglob("*") if path.name.startswith("data-")]
    assert table.history().num_rows == 0


@pytest.mark.parametrize("kind", ["fixed buckets", "dynamic buckets", "without a key"])
def test_overwrites(tmp_path: Path, kind: str) -> None:
    table = made(tmp_path / "t", kind)
    table.append({"id": [1, 2, 3], "dt": ["a", "b", "c"], "v": ["x", "y", "z"]})
    table.overwrite({"id": [4], "dt": ["b"], "v": ["new"]}, where="dt = 'b'")
    assert rows_of(table) == [(1, "a", "x"), (3, "c", "z"), (4, "b", "new")]
    with pytest.raises(DataError, match="dt"):
        table.overwrite({"id": [4], "dt": ["a"], "v": ["new"]}, where="dt = 'b'")
    table.dynamic_partition_overwrite({"id": [5, 6], "dt": ["a", "d"], "v": ["p", "q"]})
    assert rows_of(table) == [(3, "c", "z"), (4, "b", "new"), (5, "a", "p"), (6, "d", "q")]
    table.overwrite({"id": [7], "dt": ["a"], "v": ["all"]})
    assert rows_of(table) == [(7, "a", "all")]
    assert table.history().column("commit_kind").to_pylist()[0] == "OVERWRITE"


def test_a_table_without_partitions_is_not_overwritten_by_them(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "without a key, buckets")
    with pytest.raises(OptionError, match="has no partitions; overwrite"):
        table.dynamic_partition_overwrite({"id": [1], "dt": ["a"], "v": ["x"]})


def test_a_write_with_a_name_happens_once(tmp_path: Path) -> None:
    table, rows = made(tmp_path / "t", "without a key"), {"id": [1], "dt": ["a"], "v": ["x"]}
    first, second = table.append(rows, once=("loader", 3)), table.append(rows, once=("loader", 3))
    assert (first.repeated, second.repeated, second.snapshot_id) == (False, True, first.snapshot_id)
    with pytest.raises(StaleBatch):
        table.append(rows, once=("loader", 2))
    assert table.append(rows, once=("loader", 2), once_skips_older=True).repeated
    table.append(rows, once=("loader", 4))
    assert rows_of(table) == [(1, "a", "x")] * 2


def test_the_options_of_a_call_name_a_write_too(tmp_path: Path) -> None:
    table, rows = made(tmp_path / "t", "without a key"), {"id": [1], "dt": ["a"], "v": ["x"]}
    named = {"once.application": "loader", "once.version": "3"}
    assert [table.append(rows, named).repeated for _ in range(2)] == [False, True]
    assert table.append(rows, once=("loader", 3)).repeated
    assert rows_of(table) == [(1, "a", "x")]


def test_what_an_overwrite_replaces_is_no_option_of_an_append(tmp_path: Path) -> None:
    table, rows = made(tmp_path / "t"), {"id": [1], "dt": ["a"], "v": ["x"]}
    for options, message in (
        ({"overwrite-where": "dt = 'a'"}, "'overwrite-where' says what an overwrite replaces"),
        ({"overwrite-schema": "true"}, "'overwrite-schema' replaces the columns of all rows"),
    ):
        with pytest.raises(OptionError, match=message):
            table.append(rows, options)
    assert table.history().num_rows == 0
    table.append(rows)
    table.overwrite({"id": [2], "dt": ["a"], "n": [5]}, options={"overwrite-schema": "true"})
    assert rows_of(open_table(table.location)) == [(2, "a", 5)]


def test_kinds_of_rows_and_new_columns(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.append({"id": [1, 2], "dt": ["a", "a"], "v": ["x", "y"]})
    table.append({"id": [1], "dt": ["a"], "v": ["x"], "kind": ["-D"]}, {"row-kind-column": "kind"})
    assert rows_of(table) == [(2, "a", "y")]
    table.append({"id": [3], "dt": ["a"], "v": ["z"], "w": [1.5]}, {"write.merge-schema": "true"})
    assert rows_of(open_table(table.location)) == [(2, "a", "y", None), (3, "a", "z", 1.5)]
    with pytest.raises(OptionError, match="'row-kind-column' = 'id' must name one string column of the rows"):
        table.append({"id": [1]}, {"row-kind-column": "id"})


def test_a_zone_is_asked_for_where_it_decides(tmp_path: Path) -> None:
    table = create_table(str(tmp_path / "t"), {"t": "TIMESTAMP(6)"})
    rows = pa.table({"t": pa.array([0], pa.timestamp("us", "UTC"))})
    with pytest.raises(DataError, match="time_zone"):
        table.append(rows)
    open_table(table.location, time_zone="+02:00").append(rows)
    assert table.scan().to_arrow().to_pylist() == [{"t": dt.datetime(1970, 1, 1, 2)}]


def test_a_state_of_the_past_is_not_written_to(tmp_path: Path) -> None:
    table, rows = made(tmp_path / "t"), {"id": [1], "dt": ["a"], "v": ["x"]}
    table.append(rows)
    with pytest.raises(OptionError, match="chooses what a read sees; a write always goes on top"):
        open_table(table.location, version=1).append(rows)
    with pytest.raises(OptionError, match="is an option of reads"):
        table.append(rows, {"read.native": "true"})


def test_a_table_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    catalog = open_catalog(str(tmp_path))
    catalog.create_database("d")
    table = catalog.new_table("d.t", COLUMNS, "id, dt", "dt", {"bucket": "1"})
    table.append({"id": [1], "dt": ["a"], "v": ["x"]})
    assert isinstance(table, WritableTable)
    assert rows_of(catalog["d.t"]) == [(1, "a", "x")]
    catalog.drop_table(Identifier("d", "t"))
    with pytest.raises(TableNotFound):
        table.append({"id": [1], "dt": ["a"], "v": ["x"]})
    assert not (tmp_path / "d.db" / "t").exists()


def test_procedures_and_changes_of_the_schema(tmp_path: Path) -> None:
    table = made(tmp_path / "t", **{"write-only": "true"})
    for number in range(3):
        table.append({"id": [number, 7], "dt": ["a", "a"], "v": ["x", str(number)]})
    table.create_tag("before")
    table.compact()
    assert table.history().column("commit_kind").to_pylist()[0] == "COMPACT"
    assert rows_of(table) == [(0, "a", "x"), (1, "a", "x"), (2, "a", "x"), (7, "a", "2")]
    table.rollback("before")
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert table.history().num_rows == 1
    with table.update_schema() as change:
        change.add_column("w", "INT").rename_column("v", "text")
    table.set_options({"bucket": "2"}, dry_run=True)
    table.unset_options(["write-only"])
    now = open_table(table.location)
    assert now.schema.names == ("id", "dt", "text", "w")
    assert "write-only" not in now.schema.options
    table.truncate()
    assert rows_of(now) == []
    with pytest.raises(UnsupportedMethod):
        _ = table.vacuum


def test_every_procedure_of_a_table_is_a_method(tmp_path: Path) -> None:
    from paimon_spark.procedures.table_procedures import TableProcedures

    table = made(tmp_path / "t")
    names = [name for name in vars(TableProcedures) if not name.startswith("_")]
    assert [name for name in names if not callable(getattr(table, name))] == []
    assert set(names) <= set(dir(table))


def test_a_table_travels_and_keeps_its_options(tmp_path: Path) -> None:
    table = pickle.loads(pickle.dumps(made(tmp_path / "t").with_options({"write-only": "true"})))
    for number in range(7):
        table.append({"id": [number], "dt": ["a"], "v": ["x"]})
    assert set(table.history().column("commit_kind").to_pylist()) == {"APPEND"}


def test_a_branch_is_written_to(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.append({"id": [1], "dt": ["a"], "v": ["x"]})
    table.create_branch("b")
    branch = open_table(f"{table.location}$branch_b")
    branch.append({"id": [2], "dt": ["a"], "v": ["y"]})
    assert (rows_of(table), rows_of(branch)[-1]) == ([(1, "a", "x")], (2, "a", "y"))


def test_threads_write_at_once(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "without a key")

    def write(number: int) -> None:
        for place in range(5):
            table.append({"id": [number * 5 + place], "dt": ["a"], "v": ["x"]})

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row[0] for row in rows_of(table)] == list(range(20))


def test_a_thread_writes_while_another_one_imports_pandas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyArrow imports it when it is first needed; until that is done the module has nothing in it."""
    table = made(tmp_path / "t")
    monkeypatch.setitem(sys.modules, "pandas", ModuleType("pandas"))
    table.append({"id": [1], "dt": ["a"], "v": ["x"]})
    monkeypatch.undo()
    assert rows_of(table) == [(1, "a", "x")]


def test_spark_is_not_imported(tmp_path: Path) -> None:
    program = f"""
import sys, paimon_spark
table = paimon_spark.create_table({str(tmp_path / "t")!r}, {{"id": "INT"}}, "id", options={{"bucket": "1"}})
table.append({{"id": [1, 2]}}); table.append([{{"id": 2}}]); table.compact(); table.create_tag("t")
print(table.scan().count(), "pyspark" in sys.modules, "py4j" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "2 False False\n"


def test_the_option_of_a_branch_opens_it(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    row = {"id": 1, "dt": "a", "v": "x"}
    table.append([row])
    table.create_tag("before")
    table.create_branch("trial", tag="before")
    table.truncate()
    trial = table.with_options({"branch": "trial"})
    assert (trial.branch, rows_of(trial), rows_of(table)) == ("trial", [(1, "a", "x")], [])
    trial.append([{**row, "id": 2}])
    assert (trial.scan().count(), trial.with_options({"branch": "main"}).scan().count()) == (2, 0)
    with pytest.raises(OptionError, match="opened in the branch 'main', and the option 'branch' names 'trial'"):
        open_data_table(str(tmp_path / "t")).with_options({"branch": "trial"})


def test_a_column_that_a_table_keeps_not_is_told(tmp_path: Path) -> None:
    table = create_table(str(tmp_path / "t"), {"id": "INT", "v": "VARIANT"})
    with pytest.raises(OptionError, match=r"'_ROW_ID': the table keeps none, because 'row-tracking\.enabled' was not"):
        table.scan(["id", "_ROW_ID"]).to_arrow()
    with pytest.raises(OptionError, match=r"a part of a value of VARIANT needs its type, such as v:a\.b::STRING; "):
        table.scan(["id", "v:a.b AS b"]).to_arrow()
