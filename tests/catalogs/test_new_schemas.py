"""Schemas of new tables from Python: what is no schema, key or option is refused with a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from paimon_spark import create_table as create_by_path
from paimon_spark import open_catalog
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import OptionError, SchemaError, UnsupportedFeature

COLUMNS = pa.schema([("id", pa.int64()), ("dt", pa.string())])


@pytest.mark.parametrize("columns", ["id int", [("id", "int")], pd.DataFrame({"id": [1]}), None])
def test_what_are_no_columns(columns: Any) -> None:
    expected = r"expected a pyarrow\.Schema or a mapping from names to texts$"
    with pytest.raises(OptionError, match=rf"^new_schema: the argument 'columns' .*: {expected}"):
        new_schema(columns)


def test_columns_are_named_with_their_types() -> None:
    schema = new_schema({"id": "BIGINT", "of": "ROW<a INT NOT NULL>", "v": "DECIMAL(5, 2) NOT NULL"}, "id")
    assert repr(schema) == (
        "schema 0 (id BIGINT NOT NULL, of ROW<`a` INT NOT NULL>, v DECIMAL(5, 2) NOT NULL; primary key id)"
    )
    with pytest.raises(SchemaError, match=r"^column 'v': "):
        new_schema({"v": "DECIMAL(99, 2)"})


def test_keys_are_names_or_one_text() -> None:
    assert new_schema(COLUMNS, "id").primary_keys == ("id",)
    of_both = new_schema(COLUMNS, "dt, id", "dt")
    assert (of_both.primary_keys, of_both.partition_keys) == (("dt", "id"), ("dt",))
    assert [field.type.nullable for field in of_both.fields] == [False, False]
    wrong: Any = [1]
    with pytest.raises(OptionError, match="the argument 'primary_keys' holds 1: expected"):
        new_schema(COLUMNS, wrong)


def test_options_are_judged_as_in_sql(tmp_path: Path) -> None:
    numbers: Any = {"bucket": 2}
    assert new_schema(COLUMNS, "id", options=numbers).options == {"bucket": "2"}
    assert new_schema(COLUMNS, options={"team": "blue"}).options == {"team": "blue"}
    with pytest.raises(OptionError, match="the option 'buckt' is not known; did you mean 'bucket'"):
        new_schema(COLUMNS, options={"buckt": "1"})


def test_names_and_schemas_of_new_tables(tmp_path: Path) -> None:
    catalog: Any = open_catalog(str(tmp_path))
    catalog.create_database("d")
    none: Any = None
    with pytest.raises(OptionError, match="Identifier: the argument 'table' is None: expected a text"):
        Identifier("d", none)
    for identifier, schema in ((Identifier("d", "t"), COLUMNS), ("d.t", new_schema(COLUMNS)), (None, None)):
        with pytest.raises(OptionError, match=r"FileCatalog\.create_table: the argument '.*: expected an? "):
            catalog.create_table(identifier, schema)
    bare: Any = COLUMNS
    with pytest.raises(OptionError, match=r"create_table: the argument 'schema' .*: expected a TableSchema"):
        create_table(str(tmp_path / "x"), bare)
    assert catalog.list_tables("d") == []


def test_an_object_table_is_given_no_columns(tmp_path: Path) -> None:
    options = {"type": "object-table"}
    names = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path / 'names.db'}", "warehouse": str(tmp_path / "lake")}
    catalog = open_catalog(names)
    catalog.create_database("d")
    table = catalog.new_table("d.files", {}, options=options)
    (tmp_path / "lake/d.db/files/a.txt").write_text("four")
    assert table.scan("name, length", where="name = 'a.txt'").to_arrow().to_pylist() == [{"name": "a.txt", "length": 4}]
    with pytest.raises(SchemaError, match=r"always path, name, length, mtime, atime, owner; leave the list of columns"):
        catalog.new_table("d.other", {"id": "INT"}, options=options)
    with pytest.raises(SchemaError, match=r"has no 'primary-key'"):
        catalog.new_table("d.other", {}, "path", options=options)


@pytest.mark.parametrize(("kind", "columns"), [("object-table", {}), ("format-table", {"id": "INT"})])
def test_a_table_of_files_is_made_by_its_name(kind: str, columns: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeature, match=rf"'type' = '{kind}': only a Hive.* by its name there"):
        create_by_path(str(tmp_path / "t"), columns, options={"type": kind})
    assert not (tmp_path / "t").exists()


def test_keys_are_given_by_options_as_in_sql(tmp_path: Path) -> None:
    columns, options = {"id": "INT", "p": "INT"}, {"primary-key": "id,p", "partition": "p", "bucket": "1"}
    schema = create_by_path(str(tmp_path / "t"), columns, options=options).schema
    assert (schema.primary_keys, schema.partition_keys) == (("id", "p"), ("p",))
    assert schema.options == {"bucket": "1"}
    assert not any(field.type.nullable for field in schema.fields)
    with pytest.raises(SchemaError, match="the keys id, p are given, and the option 'primary-key' too; give them once"):
        create_by_path(str(tmp_path / "u"), columns, ["id", "p"], options=options)
