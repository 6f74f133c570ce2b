"""Object tables: the files below a directory as rows, and everything else refused by name."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import paimon_spark
from paimon_spark import open_catalog, open_table
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.create import new_schema
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.warehouse import find_warehouse_table
from paimon_spark.errors import (
    OptionError,
    PredicateError,
    SchemaError,
    TableNotFound,
    UnsupportedFeature,
    UnsupportedMethod,
)
from paimon_spark.format.rules.object_tables import object_table_schema
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.file_tables.object_table import ObjectTable
from paimon_spark.store.open import find_system_table, find_table, open_any_table, open_data_table

NAME = Identifier("d", "photos")
OPTIONS = {"type": "object-table", "owner": "me"}
SECONDS = 1_700_000_123


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    found = open_catalog(
        {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/names.db", "warehouse": f"{tmp_path}/lake"}
    )
    found.create_database("d")
    return found


@pytest.fixture
def place(catalog: Catalog) -> Path:
    """The directory of an object table with three files beside its schema file."""
    catalog.create_table(NAME, object_table_schema(str(NAME), (), OPTIONS, "of the roof"))
    found = Path(catalog.table_location(NAME))
    (found / "2026/11").mkdir(parents=True)
    (found / "2026/empty").mkdir()
    for path, text in (("a.txt", "hello"), ("2026/11/ü b%20.jpg", "picture"), (".hidden", "")):
        (found / path).write_text(text)
        os.utime(found / path, (1, SECONDS + 0.25))
    return found


def opened(place: Path) -> ObjectTable:
    found = open_any_table(str(place), {})
    assert isinstance(found, ObjectTable)
    return found


def test_each_file_is_a_row(place: Path) -> None:
    rows = {row["path"]: row for row in opened(place).scan().to_arrow().to_pylist()}
    assert sorted(rows) == [".hidden", "2026/11/ü b%20.jpg", "a.txt", "schema/schema-0"]
    same = {"mtime": SECONDS * 1000 + 250, "atime": 0, "owner": None}
    assert rows["a.txt"] == {"path": "a.txt", "name": "a.txt", "length": 5, **same}
    assert rows["2026/11/ü b%20.jpg"] == {"path": "2026/11/ü b%20.jpg", "name": "ü b%20.jpg", "length": 7, **same}


def test_every_read_lists_the_directory_anew(place: Path) -> None:
    scan = opened(place).scan("name", "length > 5 and path like '2026/%'")
    assert scan.to_arrow().to_pydict() == {"name": ["ü b%20.jpg"]}
    (place / "2026/late").write_text("longer than five")
    (place / "2026/11/ü b%20.jpg").unlink()
    assert pickle.loads(pickle.dumps(scan)).to_arrow().to_pydict() == {"name": ["late"]}
    assert (scan.count(), scan.max("name")) == (1, "late")
    assert scan.arrow_schema == pa.schema([pa.field("name", pa.string(), False)])


def test_the_bytes_of_a_file(place: Path) -> None:
    table = opened(place)
    with table.open_file("2026/11/ü b%20.jpg") as stream:
        stream.seek(3)
        assert stream.read() == b"ture"
    for path in ("", "/etc/passwd", "../../names.db", "2026/../a.txt", "./a.txt", "2026//11"):
        with pytest.raises(OptionError, match="a path as its column 'path' has it"):
            table.open_file(path)
    with pytest.raises(FileNotFoundError):
        table.open_file("2026/gone")


def test_by_name_and_in_the_tables_of_the_warehouse(catalog: Catalog, place: Path) -> None:
    assert catalog.table("d.photos").scan("path", "length = 5").to_arrow().to_pydict() == {"path": ["a.txt"]}
    assert catalog["d.photos"].schema.comment == "of the roof"
    assert catalog.list_tables("d") == ["photos"]
    found = find_warehouse_table(f"{place.parents[1]}/sys.db/tables", catalog.table_options())
    assert found is not None
    assert found.scan(["table_name", "table_type"]).to_arrow().to_pylist() == [
        {"table_name": "photos", "table_type": "object-table"}
    ]
    catalog.rename_table(NAME, Identifier("d", "pictures"))
    assert open_table(f"{place.parent}/pictures").scan(where="length = 5").count() == 1
    catalog.drop_table(Identifier("d", "pictures"))
    assert not (place.parent / "pictures").exists()
    assert catalog.list_tables("d") == []


@pytest.mark.parametrize(
    "call",
    [
        open_data_table,
        find_table,
        lambda place: find_system_table(f"{place}$options"),
        lambda place: find_system_table(f"{place}$audit_log"),
        paimon_spark.check,
    ],
)
def test_what_needs_snapshots_is_refused_by_name(place: Path, call: Callable[[str], object]) -> None:
    with pytest.raises(UnsupportedFeature, match=r"photos is an object table: .*no snapshots.*and nothing else"):
        call(str(place))


def test_other_states_and_methods_are_refused(place: Path) -> None:
    for options in ({"scan.snapshot-id": "1"}, {"scan.tag-name": "x"}, {"incremental-between": "1,2"}):
        with pytest.raises(UnsupportedFeature, match="an object table has no snapshots"):
            open_table(str(place), options)
    with pytest.raises(UnsupportedFeature, match="leave the version or time out"):
        open_table(str(place), timestamp="2026-11-01 00:00:00+00:00")
    with pytest.raises(UnsupportedMethod, match="which has no 'history'"):
        open_table(str(place)).history()
    with pytest.raises(OptionError, match="size"):
        opened(place).scan("size")
    with pytest.raises(PredicateError):
        opened(place).scan(where="size > 1")
    with pytest.raises(TableNotFound):
        open_table(f"{place}/2026")


def test_tables_of_releases_with_object_location_are_refused(place: Path) -> None:
    schema = place / "schema/schema-0"
    schema.write_text(schema.read_text().replace('"owner"', '"object-location"'))
    with pytest.raises(UnsupportedFeature, match=r"releases 1\.0 and 1\.1 made them"):
        open_table(str(place))


@pytest.mark.parametrize(
    ("options", "fields", "error", "words"),
    [
        ({"primary-key": "path"}, (), SchemaError, "no 'primary-key'"),
        ({"partition": "path"}, (), SchemaError, "no 'partition'"),
        ({"bucket": "2"}, (), SchemaError, "no 'bucket'"),
        ({}, (DataField(0, "id", DataType(Root.BIGINT)),), SchemaError, "always path, name, length, mtime, atime"),
        ({"object-location": "/x"}, (), UnsupportedFeature, "the option 'path'"),
    ],
)
def test_what_a_new_one_cannot_have(
    options: dict[str, str], fields: tuple[DataField, ...], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        object_table_schema("d.t", fields, {"type": "object-table", **options}, None)


def test_a_catalog_in_files_reads_them_and_makes_none(catalog: Catalog, place: Path) -> None:
    files = open_catalog({"warehouse": str(place.parents[1])})
    with pytest.raises(UnsupportedFeature, match="a Hive, JDBC or REST catalog has object tables"):
        files.create_table(Identifier("d", "t"), object_table_schema("d.t", (), OPTIONS, None))
    assert files.table("d.photos").scan(where="length = 5").count() == 1
    with pytest.raises(UnsupportedFeature, match="is an object table"):
        files.load_table(NAME)


def test_a_directory_with_files_becomes_no_table_of_another_kind(catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / "lake/d.db/t").mkdir(parents=True)
    (tmp_path / "lake/d.db/t/mine.txt").write_text("mine")
    with pytest.raises(SchemaError, match="the directory is not empty"):
        catalog.create_table(Identifier("d", "t"), new_schema(pa.schema([("id", pa.int64())])))
    catalog.create_table(Identifier("d", "t"), object_table_schema("d.t", (), OPTIONS, None))
    assert catalog.table("d.t").scan("path", "length = 4").to_arrow().to_pydict() == {"path": ["mine.txt"]}
