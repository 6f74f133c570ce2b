"""Our client on Java's own REST server (RESTCatalogServer of release 2.0.0), with Java's client beside it."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest
from genuine import Genuine
from java_catalog import add_rows
from java_rest import function_by_java, on_table, rows_by_java, view_by_java
from java_rest_server import JavaRestServer
from support.tables.catalog_tables import append, append_rows, ids_of, schema

from paimon_spark import open_catalog
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.create import new_schema
from paimon_spark.catalogs.functions import Function
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.views import AddDialect, UpdateDialect, View
from paimon_spark.errors import (
    AccessDenied,
    DatabaseAlreadyExists,
    DatabaseNotFound,
    NameTaken,
    SchemaError,
    SnapshotNotFound,
    TableAlreadyExists,
    TableNotFound,
)
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.schema_update import SchemaUpdate
from paimon_spark.store.history.branches import branch_names, create_branch, delete_branch
from paimon_spark.store.history.fast_forward import fast_forward
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.history.tags import create_tag

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def ours(java_server: JavaRestServer) -> Catalog:
    catalog = open_catalog(java_server.options)
    catalog.create_database("d", {"comment": "c"})
    return catalog


def made(catalog: Catalog, name: str, **options: str) -> Identifier:
    catalog.create_table(Identifier("d", name), schema(**options))
    return Identifier("d", name)


def test_names(ours: Catalog) -> None:
    with pytest.raises(DatabaseAlreadyExists):
        ours.create_database("d")
    with pytest.raises(DatabaseNotFound):
        ours.load_database("nothing")
    with pytest.raises(DatabaseNotFound):
        ours.create_table(Identifier("nothing", "t"), schema())
    ours.alter_database("d", {"a": "b", "x": "y"}, ("comment",))
    ours.alter_database("d", {}, ("x",))
    assert dict(ours.load_database("d").properties) == {"a": "b"}
    one = made(ours, "ä b")
    with pytest.raises(TableAlreadyExists):
        ours.create_table(one, schema())
    ours.create_table(one, schema(), ignore_if_exists=True)
    with pytest.raises(TableNotFound):
        ours.load_table(Identifier("d", "nothing"))
    assert "ä b" in ours.list_tables("d")
    ours.drop_table(one)
    with pytest.raises(TableNotFound):
        ours.drop_table(one)
    assert ours.find_table(one) is None


def test_schemas(ours: Catalog) -> None:
    table = ours.load_table(made(ours, "changed"))
    append(table, 1)
    nested = "ROW<a INT, b ARRAY<ROW<c INT>>>"
    update = SchemaUpdate().add_column("first", nested, "words", first=True).rename_column("id", "number")
    alter_table(table, update.set_options({"snapshot.num-retained.min": "2"}).set_table_comment("all").changes)
    table = ours.load_table(Identifier("d", "changed"))
    update = (
        SchemaUpdate()
        .add_column("first.d", "INT")
        .update_type("first.b.element.c", "BIGINT")
        .rename_column("first.a", "e")
    )
    made_schema = alter_table(table, update.update_type("number", "DOUBLE").set_comment("number", "n").changes)
    assert (made_schema.id, made_schema.names, made_schema.comment) == (2, ("first", "number"), "all")
    append_rows(ours.load_table(Identifier("d", "changed")), {"first": [None], "number": [2.5]})
    assert ours.load_table(Identifier("d", "changed")).scan("number").to_arrow().column(0).to_pylist() == [1.0, 2.5]
    with pytest.raises(SchemaError):
        alter_table(table, SchemaUpdate().drop_column("nothing").changes)


def test_commits_of_many(ours: Catalog, java: Genuine, java_server: JavaRestServer) -> None:
    one = made(ours, "raced", **{"commit.max-retries": "50"})
    failures: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            for number in range(3):
                append(open_catalog(java_server.options).load_table(one), writer * 10 + number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        java.run(add_rows, java_server.options, "d", "raced", 1)
    for thread in threads:
        thread.join()
    assert not failures
    assert ids_of(ours.load_table(one)) == sorted([0, 0, *(w * 10 + n for w in range(4) for n in range(3))])
    assert len(java.run(rows_by_java, java_server.options, "d", "raced")) == 14


def test_a_commit_that_is_done_and_answered_as_failed(ours: Catalog, java_server: JavaRestServer) -> None:
    one = made(ours, "lost")
    append(ours.load_table(one), 1)
    java_server.do("lose")
    append(ours.load_table(one), 2)
    table = ours.load_table(one)
    assert (ids_of(table), table.snapshots.ids()) == ([1, 2], [1, 2])


def test_branches_tags_and_rollbacks(ours: Catalog, java: Genuine, java_server: JavaRestServer) -> None:
    one = made(ours, "branched")
    table = ours.load_table(one)
    append(table, 1)
    create_tag(table, "one")
    append(table, 2)
    java.run(on_table, java_server.options, "d", "branched", "createBranch", "theirs", "one")
    assert branch_names(table.file_io, table.location) == ["theirs"]
    with pytest.raises(NameTaken):
        create_branch(table, "theirs", tag="one")
    create_branch(table, "empty")
    delete_branch(table, "empty")
    with pytest.raises(SnapshotNotFound):
        delete_branch(table, "empty")
    rollback(table, snapshot=1)
    assert ids_of(ours.load_table(one)) == [1]
    append(table, 3)
    assert ids_of(ours.load_table(one)) == [1, 3]
    rollback(table, tag="one")
    assert ids_of(ours.load_table(one)) == [1]
    fast_forward(table, "theirs")
    assert len(java.run(rows_by_java, java_server.options, "d", "branched")) == len(ids_of(ours.load_table(one)))


def test_partitions(ours: Catalog) -> None:
    there = Identifier("d", "parts")
    columns = pa.schema([("id", pa.int64()), ("day", pa.string())])
    options = {"metastore.partitioned-table": "true"}
    ours.create_table(there, new_schema(columns, partition_keys=["day"], options=options))
    append_rows(ours.load_table(there), {"id": [1, 2, 3], "day": ["a", "b", "b"]})
    told = {one["spec"]["day"]: one["recordCount"] for one in ours.api.list_partitions("d", "parts")}
    assert told == {"a": 1, "b": 2}


def test_views_and_functions(java: Genuine, ours: Catalog, java_server: JavaRestServer) -> None:
    """Java's client reads those of ours."""
    options = java_server.options
    view = View((DataField(0, "id", DataType(Root.BIGINT)),), "SELECT id FROM t", {"spark": "SELECT 1"}, "told")
    one = Identifier("d", "v")
    ours.create_view(one, view)
    ours.alter_view(one, [AddDialect("flink", "SELECT 2"), UpdateDialect("spark", "SELECT 3")])
    told = {"query": "SELECT id FROM t", "dialects": {"spark": "SELECT 3", "flink": "SELECT 2"}, "comment": "told"}
    assert java.run(view_by_java, options, "d", "v") == {**told, "columns": ["id"]}
    ours.rename_view(one, Identifier("d", "w"))
    assert (ours.list_views("d"), ours.load_view(Identifier("d", "w")).dialects) == (["w"], told["dialects"])
    fields = (DataField(0, "x", DataType(Root.DOUBLE)),)
    function = Function(fields, fields, True, {"spark": {"type": "lambda", "definition": "x -> x", "language": "JAVA"}})
    ours.create_function(Identifier("d", "f"), function)
    assert java.run(function_by_java, options, "d", "f") == {
        "params": ["x"],
        "definitions": {"spark": "x -> x"},
        "deterministic": True,
    }
    assert ours.load_function(Identifier("d", "f")) == function
    ours.drop_function(Identifier("d", "f"))
    ours.drop_view(Identifier("d", "w"))


def test_no_permission(ours: Catalog, java_server: JavaRestServer) -> None:
    one = made(ours, "denied")
    java_server.do("deny", "d", "denied")
    with pytest.raises(AccessDenied):
        ours.load_table(one)


def test_calls_without_a_method_of_the_catalog(ours: Catalog) -> None:
    table = ours.load_table(made(ours, "called"))
    append(table, 1)
    api = ours.api
    assert api.latest_snapshot("d", "called")["snapshot"]["id"] == 1
    assert set(api.table_token("d", "called")) == {"token", "expiresAtMillis"}
    assert not any(api.auth_table("d", "called", None).values())
