"""Every writer makes the file indexes that the options ask for, and all that deletes or copies files knows them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from support.faults.faulty_store import InjectedFault
from support.index_files import decode_bitmap, row_values
from support.tables.compacting import compact, live_files, make, rows_of, write

from paimon_spark.errors import OptionError, SchemaError
from paimon_spark.format.file_index.container import decode_container
from paimon_spark.format.type_text import parse_type
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.schema_update import SchemaUpdate
from paimon_spark.store.expire.snapshots import expire_snapshots
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([("k", pa.int64()), ("s", pa.string()), ("m", pa.map_(pa.string(), pa.int32()))])
ROWS = [(1, "a", [("x", 1)]), (2, None, None), (3, "a", [("y", 2)])]
BITMAP = {"file-index.bitmap.columns": "s,m[x]"}
BESIDE = {"file-index.in-manifest-threshold": "0 b"}


def indexes(table: Table) -> list[Mapping[str, Mapping[str, bytes | None]]]:
    """The indexes of each live file, wherever they are."""
    found = []
    for file in live_files(open_table(table.location)):
        data = file.embedded_index
        if data is None:
            (name,) = file.extra_files
            assert name == f"{file.file_name}.index"
            data = Path(table.location, "bucket-0", name).read_bytes()
        else:
            assert file.extra_files == ()
        found.append(decode_container(data, file.file_name))
    return found


def values(index: Mapping[str, Mapping[str, bytes | None]], column: str, data_type: str) -> list[object]:
    return row_values(decode_bitmap(index[column]["bitmap"] or b"", parse_type(data_type), "x"))


@pytest.mark.parametrize("place", [{}, BESIDE], ids=["embedded", "beside"])
@pytest.mark.parametrize("keys", [(), ("k",)], ids=["append", "keys"])
def test_files_that_are_written_and_compacted(tmp_path: Path, keys: tuple[str, ...], place: dict[str, str]) -> None:
    buckets = {} if keys else {"bucket": "-1"}
    table = make(tmp_path, COLUMNS, keys, BITMAP | place | buckets)
    write(table, ROWS)
    (index,) = indexes(table)
    assert values(index, "s", "STRING") == ["a", None, "a"]
    assert values(index, "m[x]", "INT") == [1, None, None]
    write(table, [(2, "b", [("x", 7)])])
    compact(table)
    (index,) = indexes(table)
    expected = [("a", 1), ("b", 7), ("a", None)] if keys else [("a", 1), (None, None), ("a", None), ("b", 7)]
    assert list(zip(values(index, "s", "STRING"), values(index, "m[x]", "INT"), strict=True)) == expected


def test_the_threshold_divides_what_is_embedded_from_what_is_not(tmp_path: Path) -> None:
    table = make(tmp_path / "all", COLUMNS, (), {"bucket": "-1", **BITMAP})
    write(table, ROWS)
    (file,) = live_files(open_table(table.location))
    size = len(file.embedded_index or b"")
    for threshold, embedded in ((size, True), (size - 1, False)):
        path = tmp_path / str(threshold)
        other = make(
            path, COLUMNS, (), {"bucket": "-1", **BITMAP, "file-index.in-manifest-threshold": f"{threshold} b"}
        )
        write(other, ROWS)
        (file,) = live_files(open_table(other.location))
        assert (file.embedded_index is not None) is embedded


def test_each_file_has_the_index_of_its_own_rows(tmp_path: Path) -> None:
    table = make(tmp_path, COLUMNS, (), {"bucket": "-1", "target-file-row-num": "2", **BITMAP})
    write(table, [*ROWS, (4, "d", None), (5, "e", None)])
    assert [values(index, "s", "STRING") for index in indexes(table)] == [["a", None], ["a", "d"], ["e"]]


def test_an_option_of_a_write_is_heeded(tmp_path: Path) -> None:
    from paimon_spark.store.write.file_layout import file_layout

    table = make(tmp_path, COLUMNS, (), {"bucket": "-1"})
    opened = open_table(table.location, {"file-index.bloom-filter.columns": "s"})
    assert [setting.name for setting in file_layout(opened.schema, opened.settings).indexes] == ["s"]


def test_an_expiry_deletes_the_indexes_of_files_that_it_deletes(tmp_path: Path) -> None:
    table = make(tmp_path, COLUMNS, ("k",), {**BITMAP, **BESIDE})
    for number in range(3):
        write(table, [(number, "a", None)])
    compact(table)
    expire_snapshots(open_table(table.location), retain_max=1, retain_min=1, older_than=2**42)
    (file,) = live_files(open_table(table.location))
    assert [path.name for path in tmp_path.glob("bucket-0/*.index")] == [f"{file.file_name}.index"]


def test_changelog_files_get_no_index(tmp_path: Path) -> None:
    table = make(tmp_path, COLUMNS, ("k",), {"changelog-producer": "input", **BITMAP, **BESIDE})
    write(table, ROWS)
    assert len(list(tmp_path.glob("bucket-0/changelog-*"))) == 1
    assert len(list(tmp_path.glob("bucket-0/*.index"))) == 1


def test_what_cannot_be_indexed_is_refused_when_the_table_is_made(tmp_path: Path) -> None:
    for options, message in (
        ({"file-index.bitmap.columns": "m"}, "cannot hold values of type MAP"),
        ({"file-index.tree.columns": "s"}, "the kind 'tree'"),
        ({"file-index.bitmap.k.version": "1"}, "an index that no file gets"),
    ):
        with pytest.raises((OptionError, SchemaError), match=message):
            make(tmp_path / "t", COLUMNS, (), {"bucket": "-1", **options})


def test_options_follow_a_column_that_is_renamed_or_dropped(tmp_path: Path) -> None:
    options = {
        "file-index.bitmap.columns": "s,m[x]",
        "file-index.bitmap.m.version": "1",
        "file-index.bloom-filter.columns": "s",
        "file-index.bloom-filter.s.items": "9",
    }
    table = make(tmp_path, COLUMNS, (), {"bucket": "-1", **options})
    renamed = alter_table(table, SchemaUpdate().rename_column("s", "t").rename_column("m", "n").changes)
    assert {key: value for key, value in renamed.options.items() if key.startswith("file-index")} == {
        "file-index.bitmap.columns": "t,n[x]",
        "file-index.bitmap.n.version": "1",
        "file-index.bloom-filter.columns": "t",
        "file-index.bloom-filter.t.items": "9",
    }
    dropped = alter_table(open_table(table.location), SchemaUpdate().drop_column("t").changes)
    assert {key: value for key, value in dropped.options.items() if key.startswith("file-index")} == {
        "file-index.bitmap.columns": "n[x]",
        "file-index.bitmap.n.version": "1",
    }
    with pytest.raises((OptionError, SchemaError), match="cannot hold values of type"):
        alter_table(open_table(table.location), SchemaUpdate().set_options({"file-index.bsi.columns": "n"}).changes)


def test_a_write_that_fails_leaves_no_index_behind(tmp_path: Path) -> None:
    from dataclasses import replace

    from paimon_spark.store.write.table_write import TableWrite

    class Failing:
        """Fails where the index is written."""

        def __init__(self, inner: object) -> None:
            self._inner = inner

        def write_bytes(self, path: str, data: bytes) -> None:
            self._inner.write_bytes(path, data[:5])  # type: ignore[attr-defined]  # of a store
            raise InjectedFault(path)

        def __getattr__(self, name: str) -> object:
            return getattr(self._inner, name)

    table = open_table(make(tmp_path, COLUMNS, (), {"bucket": "-1", **BITMAP, **BESIDE}).location)
    failing = replace(table, file_io=Failing(table.file_io))  # type: ignore[arg-type]  # it passes the rest on
    task = TableWrite(failing, "u")
    task.write(pa.record_batch(list(zip(*ROWS, strict=True)), schema=COLUMNS))
    with pytest.raises(InjectedFault):
        task.finish()
    task.abort()
    assert list(tmp_path.glob("bucket-0/*")) == []
    write(table, ROWS)
    assert len(rows_of(table)) == 3
