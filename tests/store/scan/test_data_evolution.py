"""Reads of the golden table with data evolution: snapshot 2 has a file with new values of `name` alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.faults.damage import change_entries
from support.tables.golden_tables import GoldenTable

from paimon_spark import open_table
from paimon_spark.errors import CorruptFile, MissingFile, UnsupportedFeature
from paimon_spark.format.manifest import DataFileMeta, ManifestEntry
from paimon_spark.format.manifest import SimpleStats as Stats
from paimon_spark.merge.keys.row_ids import column_files, sections_by_row_id

ROWS = [{"id": 1, "name": "A", "v": 1.0}, {"id": 2, "name": "B", "v": 2.0}, {"id": 3, "name": "C", "v": 3.0}]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(GoldenTable("java-2.1", "data_evolution").unpack(tmp_path))


def read(path: str, where: str | None = None, **options: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = open_table(path, options).scan(where=where).to_arrow().to_pylist()
    return rows


def test_columns_come_from_the_newest_file_of_each_snapshot(path: str) -> None:
    assert read(path) == ROWS
    assert [row["name"] for row in read(path, **{"scan.snapshot-id": "1"})] == ["a", "b", "c"]
    assert open_table(path).scan(["v", "_ROW_ID", "_SEQUENCE_NUMBER"], "name = 'B'").to_arrow().to_pylist() == [
        {"v": 2.0, "_ROW_ID": 1, "_SEQUENCE_NUMBER": 2}
    ]


@pytest.mark.parametrize(("where", "found"), [("name = 'B'", [2]), ("name = 'b'", []), ("v > 2 or name = 'A'", [1, 3])])
def test_old_values_decide_nothing(where: str, found: list[int], path: str) -> None:
    assert [row["id"] for row in read(path, where)] == found
    assert open_table(path).scan(where=where).count() == len(found)


def test_rows_are_counted_once(path: str) -> None:
    scan = open_table(path).scan()
    assert (scan.count(), scan.metadata_aggregates().rows, scan.metadata_aggregates().rest) == (3, 3, [])
    assert [(split.file_count, split.row_count) for split in scan.plan().splits] == [(2, 3)]
    assert (scan.min("name"), scan.max("id")) == ("A", 3)
    assert scan.top("v", 1, descending=True).to_pylist() == ROWS[2:]
    whole, none = scan.explain(), open_table(path).scan(where="name = 'b'").explain()
    assert whole is not None
    assert none is not None
    assert (whole.files, whole.rows, none.rows_left) == (2, 3, 0)


def test_changes_of_columns_are_refused_and_states_compared(path: str) -> None:
    between = {"incremental-between": "1,2"}
    with pytest.raises(UnsupportedFeature, match=r"a commit changed some columns of rows.*= 'diff'"):
        read(path, **between)
    assert sorted(row["name"] for row in read(path, **between, **{"incremental-between-scan-mode": "diff"})) == [
        "A", "B", "C",
    ]  # fmt: skip
    assert [row["name"] for row in read(path, **{"incremental-between": "0,1"})] == ["a", "b", "c"]


def test_files_by_their_creation_are_refused(path: str) -> None:
    with pytest.raises(UnsupportedFeature, match="columns of a row may lie in older files"):
        read(path, **{"scan.file-creation-time-millis": "1"})


def test_a_lost_file_is_named_or_passed_over_with_all_that_belongs_to_it(path: str) -> None:
    lost = min(Path(path).glob("bucket-0/*.parquet"), key=lambda file: file.stat().st_size)
    lost.unlink()
    with pytest.raises(MissingFile, match=lost.name):
        read(path)
    assert read(path, **{"scan.ignore-lost-files": "true"}) == []


def file(name: str, first: int | None, rows: int, sequence: int = 0) -> DataFileMeta:
    return DataFileMeta(name, 1, rows, b"", b"", Stats(), Stats(), 0, sequence, 0, 0, first_row_id=first)


def test_files_whose_rows_overlap_belong_together() -> None:
    files = [file("d", 5, 5), file("a", 0, 5), file("b", 0, 5, 3), file("x.blob", 3, 2, 9), file("e", 10, 1)]
    sections = sections_by_row_id(files)
    assert [[f.file_name for run in section for f in run.files] for section in sections] == [
        ["a", "b", "x.blob"], ["d"], ["e"],
    ]  # fmt: skip
    group = column_files(sections[0])
    assert [f.file_name for f in group.wide] == ["b", "a"]
    assert [f.file_name for f in group.parts] == ["x.blob"]
    assert (group.first_row_id, group.row_count, group.is_one_file) == (0, 5, False)
    assert group.anchor is not None
    assert group.anchor.file_name == "a"
    assert column_files(sections[1]).is_one_file


def test_files_that_do_not_fit_are_damage() -> None:
    with pytest.raises(CorruptFile, match="a file is missing"):
        column_files(sections_by_row_id([file("a", 0, 5), file("b", 3, 5)])[0])
    with pytest.raises(CorruptFile, match="does not say which row ids it has"):
        sections_by_row_id([file("a", None, 5)])


def test_ids_of_rows_go_on_where_the_first_file_of_a_group_begins(path: str) -> None:
    """As of a table whose first hundred rows were deleted."""

    def moved(old: ManifestEntry) -> list[ManifestEntry]:
        return [old._replace(file=old.file._replace(first_row_id=(old.file.first_row_id or 0) + 100))]

    change_entries(Path(path), moved)
    found = open_table(path).scan(["id", "name", "_ROW_ID"]).to_arrow().to_pylist()
    assert [(row["id"], row["name"], row["_ROW_ID"]) for row in found] == [
        (1, "A", 100), (2, "B", 101), (3, "C", 102),
    ]  # fmt: skip
    assert open_table(path).scan(where="_ROW_ID = 101").to_arrow().column("id").to_pylist() == [2]
