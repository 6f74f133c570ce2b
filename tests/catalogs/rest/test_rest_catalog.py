"""Databases and tables on a REST server; the genuine Java client uses the same server in tests/interop."""

from __future__ import annotations

import random
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.long_runs import tries
from support.oracles.catalog_model import CatalogModel, apply, draw_change, state_of
from support.rest_server import RestServer, rest_server
from support.rest_server.tables import register
from support.tables.catalog_tables import append, append_rows, ids_of, schema

from paimon_spark import open_catalog
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import (
    AccessDenied,
    DatabaseNotEmpty,
    DatabaseNotFound,
    NameTaken,
    OptionError,
    SchemaError,
    SnapshotNotFound,
    TableNotFound,
    UnsupportedFeature,
)
from paimon_spark.store.clean.truncate import truncate_table
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.schema_update import SchemaUpdate
from paimon_spark.store.history.branches import branch_names, create_branch, delete_branch, rename_branch
from paimon_spark.store.history.fast_forward import fast_forward
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.open import ReadableTable
from paimon_spark.tables.open import open_table

DEFAULTS = {"file.format": "avro", "snapshot.num-retained.min": "3"}


@settings(max_examples=tries("PAIMON_REST_MODEL", ci=6, long=200))
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 25))
def test_any_changes_do_what_they_do_to_dictionaries(module_server: RestServer, seed: int, steps: int) -> None:
    state = module_server.state
    state.databases.clear()
    state.tables.clear()
    defaults = {f"table-default.{key}": value for key, value in DEFAULTS.items()}
    catalog, model, draw = (
        open_catalog({**module_server.options, **defaults}),
        CatalogModel(DEFAULTS),
        random.Random(seed),
    )
    for _ in range(steps):
        change = draw_change(draw)
        assert apply(catalog, change) is model.apply(change), change
        assert catalog.list_databases() == sorted(model.databases)
    assert state_of(catalog) == model.databases


def test_properties_of_a_database(catalog: Catalog) -> None:
    name = uuid4().hex
    catalog.create_database(name, {"comment": "of the shop", "owner": "me", "old": "x"})
    catalog.alter_database(name, {"owner": "you"}, ("old",))
    found = catalog.load_database(name)
    assert (found.comment, found.properties) == ("of the shop", {"owner": "you"})
    with pytest.raises(DatabaseNotFound, match="there is no database 'nobody'"):
        catalog.alter_database("nobody", {"a": "b"})


def test_lists_come_in_pages(server: RestServer, catalog: Catalog, name: Identifier) -> None:
    names = sorted(f"t{number}" for number in range(7))
    for one in names:
        catalog.create_table(Identifier(name.database, one), schema())
    server.state.page_size = 3
    try:
        assert catalog.list_tables(name.database) == [*names, name.table]
    finally:
        server.state.page_size = 100
    pages = [path for method, path, _ in server.requests if method == "GET" and "/tables?" in path]
    assert [path.partition("pageToken=")[2] for path in pages] == ["t2", "t5"]


def test_a_database_with_tables_stays(catalog: Catalog, name: Identifier) -> None:
    with pytest.raises(DatabaseNotEmpty, match="it holds 1 tables"):
        catalog.drop_database(name.database)


def test_a_table_is_opened_by_its_name_wherever_its_files_are(catalog: Catalog, table: ReadableTable) -> None:
    append(table, 1)
    database = table.server.name.rpartition(".")[0]
    catalog.rename_table(Identifier(database, "ä b"), Identifier(database, "other"))
    renamed = catalog.load_table(Identifier(database, "other"))
    assert renamed.location == table.location
    append(renamed, 2)
    assert ids_of(renamed) == [1, 2]
    with pytest.raises(TableNotFound):
        append(table, 3)


def test_the_server_changes_schemas(catalog: Catalog, name: Identifier, table: ReadableTable) -> None:
    append(table, 1)
    update = SchemaUpdate().add_column("note", "STRING", "words", first=True).rename_column("id", "number")
    made = alter_table(table, update.set_options({"snapshot.num-retained.min": "2"}).changes)
    assert (made.id, made.names, made.options) == (1, ("note", "number"), {"snapshot.num-retained.min": "2"})
    alter_table(table, SchemaUpdate().update_type("number", "DOUBLE").set_table_comment("all").changes)
    now = catalog.load_table(name)
    assert (now.schema.id, now.schema.comment) == (2, "all")
    assert now.scan("number").to_arrow().column(0).to_pylist() == [1.0]


def test_what_the_server_refuses_is_reported(server: RestServer, catalog: Catalog, table: ReadableTable) -> None:
    """Another client changes the same column between our look and our request."""
    database, one = table.server.name.split(".")
    other = server.state.opened(database, one)
    alter_table(other, SchemaUpdate().add_column("note", "STRING").changes)
    wanted = table.schemas.load(0)
    after = type(wanted)(1, (*wanted.fields, other.schemas.load(1).fields[1]), 1)
    with pytest.raises(SchemaError, match=r"altering db .* the server answers 400"):
        table.server.change_schema("main", wanted, after)


def test_branches_tags_and_rollbacks(server: RestServer, catalog: Catalog, name: Identifier) -> None:
    table = catalog.load_table(name)
    append(table, 1)
    create_tag(table, "one")
    append(table, 2)
    create_branch(table, "dev", tag="one")
    with pytest.raises(NameTaken):
        create_branch(table, "dev", tag="one")
    with pytest.raises(SnapshotNotFound):
        create_branch(table, "other", tag="nothing")
    branch = catalog.load_table(Identifier(name.database, f"{name.table}$branch_dev"))
    append(branch, 10)
    assert (ids_of(catalog.load_table(name)), ids_of(branch)) == ([1, 2], [1, 10])
    fast_forward(table, "dev")
    assert ids_of(catalog.load_table(name)) == [1, 10]
    append(table, 11)
    rollback(table, snapshot=1)
    assert ids_of(catalog.load_table(name)) == [1]
    append(table, 12)
    assert ids_of(catalog.load_table(name)) == [1, 12]
    rollback(table, tag="one")
    delete_branch(table, "dev")
    assert (ids_of(table), branch_names(table.file_io, table.location)) == ([1], [])
    done = [(m, p.split("?")[0].rsplit("/", 1)[1]) for m, p, _ in server.requests if m != "GET"]
    assert [what for what in done if what[1] in ("forward", "rollback", "dev")] == [
        ("POST", "forward"),
        ("POST", "rollback"),
        ("POST", "rollback"),
        ("DELETE", "dev"),
    ]


def test_what_the_server_has_no_call_for(table: ReadableTable) -> None:
    append(table, 1)
    create_tag(table, "one")
    create_branch(table, "dev", tag="one")
    with pytest.raises(UnsupportedFeature, match=r"renaming the branch 'dev' of db .* has no such call"):
        rename_branch(table, "dev", "other")
    with pytest.raises(UnsupportedFeature, match="make a tag, and a branch of it"):
        create_branch(table, "more", snapshot=1)


def test_an_external_table_publishes_by_files(
    server: RestServer, catalog: Catalog, name: Identifier, tmp_path: Path
) -> None:
    """Java: a table with a path of its own has no catalog loader, so its snapshots are files."""
    create_table(str(tmp_path / "mine"), schema())
    there = Identifier(name.database, "mine")
    register(server.state, name.database, {"identifier": {"object": "mine"}, "path": str(tmp_path / "mine")})
    table = catalog.load_table(there)
    append(table, 1)
    assert table.server is None
    assert ids_of(catalog.load_table(there)) == [1]
    assert not [path for _, path, _ in server.requests if path.endswith("/commit")]
    catalog.drop_table(there)
    assert (tmp_path / "mine" / "schema" / "schema-0").exists()


def test_a_table_with_a_path_of_its_own(catalog: Catalog, name: Identifier, tmp_path: Path) -> None:
    """As Java: what is at the path already becomes the table, if it has the same columns."""
    create_table(str(tmp_path / "mine"), schema(bucket="-1"))
    append(open_table(str(tmp_path / "mine")), 7)
    there = Identifier(name.database, "mine")
    made = catalog.create_table(there, schema(path=str(tmp_path / "mine")))
    assert made.options["bucket"] == "-1"
    assert ids_of(catalog.load_table(there)) == [7]
    catalog.create_table(Identifier(name.database, "new"), schema(path=str(tmp_path / "new")))
    append(catalog.load_table(Identifier(name.database, "new")), 8)
    assert ids_of(open_table(str(tmp_path / "new"))) == [8]
    other = new_schema(pa.schema([("other", pa.int64())]), options={"path": str(tmp_path / "mine")})
    with pytest.raises(SchemaError, match="has other columns"):
        catalog.create_table(Identifier(name.database, "x"), other)


def test_no_permission(server: RestServer, catalog: Catalog, name: Identifier, table: ReadableTable) -> None:
    server.state.denied.add((name.database, name.table))
    with pytest.raises(AccessDenied, match=r"403, no permission for db .* lacks the permission"):
        catalog.load_table(name)
    with pytest.raises(AccessDenied):
        append(table, 1)


def test_tables_without_snapshots_are_refused(server: RestServer, catalog: Catalog, name: Identifier) -> None:
    with pytest.raises(UnsupportedFeature, match="'lance-table'"):
        catalog.create_table(Identifier(name.database, "f"), schema(type="lance-table"))


def test_tables_that_this_release_could_not_write_are_refused(catalog: Catalog, name: Identifier) -> None:
    for options in ({"file.format": "csv"}, {"file.compression": "lzo"}):
        with pytest.raises(UnsupportedFeature, match=rf"^creating .*\.f: .*'{next(iter(options))}' is"):
            catalog.create_table(Identifier(name.database, "f"), schema(**options))
    assert "f" not in catalog.list_tables(name.database)


def test_tables_need_their_catalog(name: Identifier) -> None:
    with pytest.raises(OptionError, match=r"open it with paimon_spark.catalog"):
        open_table("rest://paimon/a/b")


def test_system_tables_of_a_table(catalog: Catalog, name: Identifier, table: ReadableTable) -> None:
    append(table, 1)
    assert table.system_table("snapshots", "snapshot_id").to_arrow().column(0).to_pylist() == [1]
    with pytest.raises(TableNotFound, match="no system table"):
        catalog.load_table(Identifier(name.database, f"{name.table}$nothing"))


def test_partitions_are_counted_by_the_server(catalog: Catalog, name: Identifier) -> None:
    there = Identifier(name.database, "parts")
    columns = pa.schema([("id", pa.int64()), ("day", pa.string())])
    catalog.create_table(there, new_schema(columns, partition_keys=["day"]))
    table = catalog.load_table(there)
    append_rows(table, {"id": [1, 2, 3], "day": ["a", "a/b", None]})
    told = {
        one["spec"]["day"]: (one["recordCount"], one["fileCount"])
        for one in catalog.api.list_partitions(there.database, there.table)
    }
    assert told == {"a": (1, 1), "a/b": (1, 1), "__DEFAULT_PARTITION__": (1, 1)}
    truncate_table(table)
    assert catalog.api.list_partitions(there.database, there.table) == []


def test_a_server_of_another_prefix(tmp_path: Path) -> None:
    """The server says below which prefix its paths are, and may override options."""
    with rest_server(tmp_path) as server:
        server.config["overrides"]["table-default.file.format"] = "orc"
        catalog = open_catalog({**server.options, "header.X-Team": "lake"})
        catalog.create_database("a")
        assert catalog.api.options.get("table-default.file.format") == "orc"
        assert {headers.get("x-team") for _, _, headers in server.requests} == {"lake"}
        assert server.requests[-1][1] == "/v1/pre+fix/databases"
