"""`scan.ignore-lost-files` and `scan.ignore-corrupt-files`: what such a read returns, and who never does so."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from support.faults.faulty_store import FaultyFileIO, InjectedFault
from support.tables.compacting import make, tasks_of, write
from support.tables.expiring import COLUMNS, state
from support.tables.golden_tables import GoldenTable

from paimon_spark.errors import CorruptFile, MissingFile
from paimon_spark.file_io import LocalFileIO
from paimon_spark.store.compact.bucket import run_task
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.scan.new_scan import new_scan
from paimon_spark.tables.open import open_table

LOST = {"scan.ignore-lost-files": "true"}
CORRUPT = {"scan.ignore-corrupt-files": "true"}
FORMATS = ("parquet", "orc", "avro")
STRICT: Mapping[str, str] = {}


def three_files(path: Path, **options: str) -> tuple[Table, list[Path]]:
    """An append table of three files of one row each, in the order of their rows."""
    table = make(path / "t", COLUMNS, [], {"bucket": "-1", **{k.replace("_", "."): v for k, v in options.items()}})
    files: list[Path] = []
    for number in range(3):
        write(table, [(number, 10 * number)])
        files += set(path.rglob("data-*")) - set(files)
    return table, files


def cut(file: Path) -> None:
    """Takes away the end of a file, and with it what says where its rows are."""
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


@pytest.mark.parametrize("file_format", FORMATS)
def test_lost_files(file_format: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table, files = three_files(tmp_path, file_format=file_format)
    files[1].unlink()
    for options in (STRICT, CORRUPT):
        with pytest.raises(MissingFile, match=str(files[1])):
            state(table, options)
    assert "passed over" not in caplog.text
    with caplog.at_level(logging.WARNING):
        assert state(table, LOST) == [(0, 0), (2, 20)]
    assert f"{files[1]} is passed over" in caplog.text


@pytest.mark.parametrize("file_format", FORMATS)
def test_corrupt_files(file_format: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table, files = three_files(tmp_path, file_format=file_format)
    cut(files[2])
    for options in (STRICT, LOST):
        with pytest.raises(CorruptFile, match=str(files[2])):
            state(table, options)
    with caplog.at_level(logging.WARNING):
        assert state(table, CORRUPT) == [(0, 0), (1, 10)]
    assert f"{files[2]} is passed over" in caplog.text


def test_another_file_of_that_name_is_corrupt(tmp_path: Path) -> None:
    """It can be read, but is not the one that the manifest speaks of."""
    table, files = three_files(tmp_path)
    write(table, [(7, 7), (8, 8)])
    (other,) = set(tmp_path.rglob("data-*")) - set(files)
    files[0].write_bytes(other.read_bytes())
    assert state(table, CORRUPT) == [(1, 10), (2, 20), (7, 7), (8, 8)]


def test_a_count_is_that_of_the_rows_returned(tmp_path: Path) -> None:
    table, files = three_files(tmp_path)
    files[0].unlink()
    assert open_table(table.location).scan().count() == 3
    assert open_table(table.location, LOST).scan().count() == 2


def test_an_older_row_of_the_key_comes_back(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {})
    write(table, [(0, 1), (1, 1)])
    first = set(tmp_path.rglob("data-*"))
    write(table, [(0, 2), (2, 2)])
    (second,) = set(tmp_path.rglob("data-*")) - first
    second.unlink()
    assert state(table, LOST) == [(0, 1), (1, 1)]


def test_changes_pass_over_files_too(tmp_path: Path) -> None:
    table, files = three_files(tmp_path)
    files[1].unlink()
    assert state(table, LOST | {"incremental-between": "0,3"}) == [(0, 0), (2, 20)]


def test_a_lost_vector_is_no_lost_file(tmp_path: Path) -> None:
    """Without it, deleted rows would come back."""
    path = GoldenTable("java-2.1", "append_dv32").unpack(tmp_path)
    for file in (path / "index").iterdir():
        file.unlink()
    with pytest.raises(MissingFile, match=r"the deletion vector at .*index-"):
        open_table(str(path), LOST | CORRUPT).scan().to_arrow()


def test_a_storage_that_fails_is_no_damage(tmp_path: Path) -> None:
    table, _ = three_files(tmp_path)
    scan = open_table(table.location, LOST | CORRUPT).scan()
    io = FaultyFileIO(LocalFileIO(), 0, named="open_input", lasting=True)
    broken = new_scan(replace(scan.table, file_io=io), scan.fields, scan.predicate)
    with pytest.raises(InjectedFault):
        broken.to_arrow()


def test_a_compaction_passes_over_nothing(tmp_path: Path) -> None:
    """Else the loss would last, though the options are stored with the table."""
    table = make(tmp_path / "t", COLUMNS, ["k"], LOST | CORRUPT)
    for number in range(2):
        write(table, [(number, number)])
    next(tmp_path.rglob("data-*")).unlink()
    assert len(state(table, {})) == 1
    (task,) = tasks_of(table)
    with pytest.raises(CorruptFile):
        run_task(open_table(table.location), task)
