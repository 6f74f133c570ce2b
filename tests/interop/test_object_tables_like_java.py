"""Object tables with Java 2.0.0: its catalogs make them and ours read them, and the other way round, file by file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import java_jdbc
import pytest
from genuine import Genuine, java_process
from genuine_jars import JavaUnavailable
from java_object_tables import make_by_java
from java_rest import rows_by_java
from java_rest_server import java_rest_server

from paimon_spark import open_catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.rules.object_tables import object_table_schema
from paimon_spark.format.schema import decode_schema, encode_schema
from paimon_spark.store.file_tables.object_table import ObjectTable

pytestmark = pytest.mark.interop
OPTIONS = {"type": "object-table", "owner": "me"}
FILES = {"a.txt": "hello", "x/y/ü %20.jpg": "picture", "x/.hidden": "", ".top": "1", "_x/z": "22"}


@pytest.fixture(scope="module")
def java() -> Iterator[Genuine]:
    """Java Paimon 2.0.0 with a driver of SQLite."""
    try:
        with java_process("2.0.0", java_jdbc.SQLITE) as served:
            yield served
    except JavaUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(params=["jdbc", "rest"])
def options(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Of a catalog that has object tables."""
    if request.param == "jdbc":
        warehouse = {"warehouse": f"{tmp_path}/lake", "cache-enabled": "false", "lock.enabled": "false"}
        yield {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/names.db", **warehouse}
    else:
        with java_rest_server(tmp_path) as server:
            yield server.options


def directory(options: dict[str, str], table: str) -> Path:
    found = open_catalog(options).table(f"d.{table}")
    assert isinstance(found, ObjectTable)
    return Path(found.location)


def fill(folder: Path) -> None:
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "empty").mkdir(exist_ok=True)


def ours(options: dict[str, str], table: str) -> list[tuple[Any, ...]]:
    rows = open_catalog(options).table(f"d.{table}").scan().to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in rows)


@pytest.mark.parametrize("maker", ["java", "ours"])
def test_both_list_the_same_files(java: Genuine, options: dict[str, str], maker: str) -> None:
    catalog = open_catalog(options)
    catalog.create_database("d")
    if maker == "ours":
        catalog.create_table(Identifier("d", "o"), object_table_schema("d.o", (), OPTIONS, "words"))
    else:
        java.run(make_by_java, options, "d", "o", OPTIONS, "words")
    folder = directory(options, "o")
    fill(folder)
    found = ours(options, "o")
    assert found == sorted(java.run(rows_by_java, options, "d", "o"))
    assert set(FILES) <= {row[0] for row in found}
    shutil.rmtree(folder / "x")
    assert ours(options, "o") == sorted(java.run(rows_by_java, options, "d", "o"))
    opened = catalog.table("d.o")
    assert (opened.schema.comment, opened.schema.options["owner"]) == ("words", "me")
    catalog.drop_table(Identifier("d", "o"))
    assert catalog.list_tables("d") == []


def test_schema_files_are_those_of_java(java: Genuine, tmp_path: Path) -> None:
    warehouse = {"warehouse": f"{tmp_path}/lake", "cache-enabled": "false", "lock.enabled": "false"}
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/names.db", **warehouse}
    catalog = open_catalog(options)
    catalog.create_database("d")
    java.run(make_by_java, options, "d", "theirs", OPTIONS, "words")
    catalog.create_table(Identifier("d", "mine"), object_table_schema("d.mine", (), OPTIONS, "words"))
    theirs, mine = (
        decode_schema((Path(catalog.table_location(Identifier("d", name))) / "schema/schema-0").read_bytes(), name)
        for name in ("theirs", "mine")
    )
    assert (theirs.fields, theirs.highest_field_id, theirs.comment) == (mine.fields, mine.highest_field_id, "words")
    assert {**theirs.options, "path": ""} == {**mine.options, "path": ""}
    assert encode_schema(theirs)


def test_the_catalog_in_files_of_java_makes_none_and_reads_one(java: Genuine, tmp_path: Path) -> None:
    options = {"warehouse": str(tmp_path), "cache-enabled": "false"}
    open_catalog(options).create_database("d")
    assert "object table" in java.run(make_by_java, options, "d", "o", OPTIONS, "words")
    with pytest.raises(UnsupportedFeature, match="'type' = 'object-table'"):
        open_catalog(options).create_table(Identifier("d", "o"), object_table_schema("d.o", (), OPTIONS, "words"))
    folder = tmp_path / "d.db/o"
    (folder / "schema").mkdir(parents=True)
    (folder / "schema/schema-0").write_bytes(encode_schema(object_table_schema("d.o", (), OPTIONS, None)))
    fill(folder)
    assert ours(options, "o") == sorted(java.run(rows_by_java, options, "d", "o"))
