"""Tables of Hive become tables of Paimon: the files are moved, the partitions are those of the metastore."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.tables.catalog_tables import append_rows
from support.tables.hive_files import add_hive_table, write_file

from paimon_spark import open_catalog
from paimon_spark.catalogs.file_catalog import FileCatalog
from paimon_spark.catalogs.hive.migrate import check_migratable
from paimon_spark.catalogs.hive.names import HiveNames
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import OptionError, PaimonError, SchemaError, UnsupportedFeature

pytestmark = pytest.mark.interop

OLD = Identifier("shop", "old")
TEMPORARY = Identifier("shop", "old_paimon_")
NULL = "__HIVE_DEFAULT_PARTITION__"


@pytest.fixture
def hive(hive_options: dict[str, str]) -> FileCatalog:
    """A catalog with the empty database `shop`."""
    made = open_catalog(hive_options)
    assert isinstance(made.names, HiveNames)
    made.create_database("shop")
    return made


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "lake" / "shop.db" / "old"


def rows(hive: FileCatalog, name: Identifier) -> list[tuple[object, ...]]:
    found = hive.load_table(name).scan().to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def old_table(hive: FileCatalog, place: Path, file_format: str) -> None:
    """Three partitions, one of them NULL, each with a hidden file."""
    for number, (day, hour) in enumerate([("a b", "1"), ("c", "2"), (NULL, "3")]):
        path = place / f"day={day}" / f"hour={hour}" / "000000_0"
        write_file(path, file_format, {"id": [number, 10 + number], "name": ["x", None]})
        path.with_name("_SUCCESS").touch()
    add_hive_table(
        *(hive.names.metastore, OLD, place, file_format),
        keys={"day": "string", "hour": "int"},
        partitions=[("a b", "1"), ("c", "2"), (NULL, "3")],
        parameters={"comment": "old orders"},
    )


ROWS = [
    *((0, "x", "a b", 1), (1, "x", "c", 2), (10, None, "a b", 1), (11, None, "c", 2), (12, None, None, 3)),
    (2, "x", None, 3),
]


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_a_table_with_partitions(hive: FileCatalog, place: Path, file_format: str) -> None:
    old_table(hive, place, file_format)
    assert hive.tables_of_hive("shop") == ["old"]
    hive.migrate_table(OLD, options={"file.format": "orc"})
    assert (hive.list_tables("shop"), hive.tables_of_hive("shop")) == (["old"], [])
    table = hive.load_table(OLD)
    assert (table.schema.partition_keys, table.schema.comment) == (("day", "hour"), "old orders")
    assert rows(hive, OLD) == ROWS
    assert (place / "day=a b" / "hour=1" / "bucket-0" / f"000000_0.{file_format}").exists()
    assert len(table.scan(where="id > 9 AND day = 'c'").to_arrow()) == 1
    append_rows(table, {"id": [99], "name": ["new"], "day": ["c"], "hour": [2]})
    assert len(rows(hive, OLD)) == 7


def test_a_table_without_partitions_into_another(hive: FileCatalog, place: Path) -> None:
    write_file(place / "part-0.parquet", "parquet", {"id": [1], "name": ["a"]})
    add_hive_table(hive.names.metastore, OLD, place, "parquet")
    new = Identifier("shop", "new")
    with pytest.raises(OptionError, match="give the name of the new table"):
        hive.migrate_table(OLD, drop_source=False)
    hive.migrate_table(OLD, new, drop_source=False)
    assert rows(hive, new) == [(1, "a")]
    assert hive.tables_of_hive("shop") == ["old"]
    assert list(place.iterdir()) == [], "as by Java, the files are moved all the same"
    write_file(place / "part-1.parquet", "parquet", {"id": [2], "name": ["b"]})
    hive.migrate_table(OLD, new)
    assert rows(hive, new) == [(1, "a"), (2, "b")]
    assert hive.tables_of_hive("shop") == []


@pytest.mark.parametrize("is_committed", [False, True])
def test_a_migration_that_was_interrupted_goes_on(hive: FileCatalog, place: Path, is_committed: bool) -> None:
    """After the commit; or before it, with one file that was not moved yet."""
    old_table(hive, place, "parquet")
    hive.migrate_table(OLD, TEMPORARY, drop_source=False)
    if not is_committed:
        new = Path(hive.table_location(TEMPORARY).removeprefix("file:"))
        for directory in ("snapshot", "manifest"):
            shutil.rmtree(new / directory)
        back = "day=c/hour=2"
        shutil.move(new / back / "bucket-0" / "000000_0.parquet", place / back / "000000_0")
    hive.migrate_table(OLD)
    assert rows(hive, OLD) == ROWS
    assert hive.list_tables("shop") == ["old"]


def test_a_migration_whose_last_step_is_missing_goes_on(hive: FileCatalog, place: Path) -> None:
    old_table(hive, place, "parquet")
    hive.migrate_table(OLD, TEMPORARY)
    hive.migrate_table(OLD)
    assert (hive.list_tables("shop"), rows(hive, OLD)) == (["old"], ROWS)


def test_what_cannot_be_taken_over(hive: FileCatalog, place: Path) -> None:
    def refused(kind: type[PaimonError], words: str, **more: str) -> None:
        with pytest.raises(kind, match=words):
            hive.migrate_table(OLD, options=more)
        assert TEMPORARY.table not in hive.list_tables("shop")

    refused(SchemaError, "there is none")
    add_hive_table(hive.names.metastore, OLD, place, "text")
    refused(UnsupportedFeature, "only those of parquet, orc, avro")
    hive.names.metastore.drop_table(OLD, True)
    write_file(place / "0", "parquet", {"_col0": [1], "_col1": ["a"]})
    add_hive_table(hive.names.metastore, OLD, place, "parquet")
    refused(UnsupportedFeature, "its columns are _col0, _col1")
    refused(SchemaError, "leave the option 'bucket' out", bucket="3")
    write_file(place / "0", "parquet", {"ID": [1], "name": ["a"]})
    refused(UnsupportedFeature, "finds columns by their exact name")
    (place / "0").write_bytes(b"no file of Parquet")
    refused(PaimonError, "0")
    assert (place / "0").exists(), "nothing was moved"


def test_a_failure_moves_all_files_back(hive: FileCatalog, place: Path) -> None:
    old_table(hive, place, "parquet")
    before = sorted(path.relative_to(place) for path in place.rglob("*"))
    with pytest.raises(UnsupportedFeature, match=r"commit\.callbacks"):
        hive.migrate_table(OLD, options={"commit.callbacks": "com.acme.Callback"})
    assert sorted(path.relative_to(place) for path in place.rglob("*")) == before
    assert (hive.list_tables("shop"), hive.tables_of_hive("shop")) == (["old"], ["old"])
    hive.migrate_table(OLD)
    assert rows(hive, OLD) == ROWS


def test_rows_of_transactions_are_not_guessed(hive: FileCatalog, place: Path) -> None:
    add_hive_table(hive.names.metastore, OLD, place, "orc")
    table = hive.names.metastore.table(OLD)
    assert table is not None
    table.parameters["transactional"] = "true"
    with pytest.raises(UnsupportedFeature, match="it is transactional"):
        check_migratable("shop.old", table)
