"""Copies that are refused: targets that do not fit, sources that are damaged."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from support.tables.compacting import make, write
from support.tables.three_files import COLUMNS, ROWS, VECTORS, copied_beside, three_files

from paimon_spark import open_table
from paimon_spark.errors import CorruptFile, OptionError, SchemaError
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.copy_files import copy_table


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return three_files(tmp_path / "t")


def test_targets_that_do_not_fit(table: Table, tmp_path: Path) -> None:
    def other(name: str, options: Mapping[str, str], keys: Sequence[str] = (), parts: Sequence[str] = ("p",)) -> str:
        return make(tmp_path / name, COLUMNS, keys, {"bucket": "-1", **options}, parts).location

    lacking = make(tmp_path / "lacking", COLUMNS.remove(2), (), {"bucket": "-1"}, ["p"]).location
    for target, words in (
        (
            other("format", {"file.format": "orc"}),
            r"they differ in file\.format \(parquet, and there orc\); copy to a new path",
        ),
        (other("buckets", {"bucket": "2", "bucket-key": "k"}), r"they differ in bucket \(-1, and there 2\)"),
        (other("keyed", {}, ["k", "p"]), "the primary keys are none, and there k, p; copy"),
        (other("whole", {}, parts=()), "the partition columns are p, and there none; copy"),
        (lacking, "the table there lacks v, or has them with another type or id"),
    ):
        with pytest.raises(SchemaError, match=words):
            copy_table(table, target)
        assert open_table(target).snapshots.ids() == []
    for target in (table.location, f"{table.location}/inside", str(tmp_path), f"file://{table.location}"):
        with pytest.raises(OptionError, match="the table itself, or one of them would lie in the other"):
            copy_table(table, target)
    with pytest.raises(
        OptionError, match=r"'scan\.snapshot-id' chooses .* the latest snapshot is copied: leave it out"
    ):
        copy_table(open_table(table.location, {"scan.snapshot-id": "1"}), f"{tmp_path}/copy")
    Path(tmp_path, "full").mkdir()
    Path(tmp_path, "full", "x.csv").write_text("1")
    with pytest.raises(SchemaError, match=r"not empty \(x\.csv\), and holds no Paimon table"):
        copy_table(table, f"{tmp_path}/full")


def test_no_copy_is_made_within_a_third_table(table: Table, tmp_path: Path) -> None:
    other = make(tmp_path / "other", COLUMNS, (), {"bucket": "-1"}, ["p"]).location
    for path, words in (
        (f"{other}/p=1", "it is within the table"),
        (f"{other}$files", "is the name of a system table"),
    ):
        with pytest.raises(SchemaError, match=rf"copying {table.location} to {re.escape(path)}: .*{words}"):
            copy_table(table, path)
        assert not Path(path).exists()


def test_vectors_need_a_target_that_reads_them(tmp_path: Path) -> None:
    table = three_files(tmp_path / "t", VECTORS)
    plain = make(tmp_path / "plain", COLUMNS, (), {"bucket": "-1"}, ["p"])
    with pytest.raises(SchemaError, match=r"they differ in deletion-vectors\.enabled"):
        copy_table(table, plain.location)


def test_targets_that_would_find_other_rows(tmp_path: Path) -> None:
    """Of two rows of a key another one would win there, or rows would be looked for in another bucket."""
    options = {"bucket": "2", "bucket-key": "k"}
    table = make(tmp_path / "t", COLUMNS, ["k", "p"], options)
    write(table, ROWS)
    for number, other in enumerate(
        (
            {"bucket-key": "p"},
            {"bucket-function.type": "mod"},
            {"deletion-vectors.enabled": "true"},
            {"sequence.field": "v"},
            {"ignore-delete": "true"},
            {"fields.v.ignore-retract": "true"},
        )
    ):
        target = make(tmp_path / f"{number}", COLUMNS, ["k", "p"], {**options, **other})
        with pytest.raises(
            SchemaError, match=f"they differ in {re.escape(next(iter(other)))}[^;]*; copy to a new path"
        ):
            copy_table(table, target.location)
    alike = make(tmp_path / "alike", COLUMNS, ["k", "p"], {**options, "deletion-vectors.enabled": "false"})
    assert copy_table(table, alike.location).rows == 3
    plain = make(tmp_path / "plain", COLUMNS, (), options)
    write(plain, ROWS)
    with pytest.raises(SchemaError, match="they differ in bucket-key"):
        copy_table(plain, make(tmp_path / "append", COLUMNS, (), {**options, "bucket-key": "p"}).location)


@pytest.mark.parametrize("damage", ["gone", "short", "long"])
def test_a_damaged_source(table: Table, tmp_path: Path, damage: str) -> None:
    path = next(Path(table.location, "p=b").rglob("data-*"))
    data = path.read_bytes()
    path.unlink()
    if damage != "gone":
        path.write_bytes(data[:-1] if damage == "short" else data + b"x")
    with pytest.raises(CorruptFile, match="does not exist.*tag" if damage == "gone" else "bytes, and its metadata say"):
        copied_beside(table)
    assert not [found for found in Path(tmp_path, "copy").rglob("*") if found.is_file()]
