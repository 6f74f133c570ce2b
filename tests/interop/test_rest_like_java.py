"""The genuine Java client and ours on one REST server, in turns: both see the same, and err in the same cases.

The server is that of ``tests/support/rest_server``: Java's client is the proof that it keeps the protocol.
``PAIMON_REST_HISTORIES`` sets how many histories are tried (each by its number as seed).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from genuine import Genuine
from java_catalog import add_rows, catalog_state, change_catalog
from java_rest import (
    alter_by_java,
    function_by_java,
    on_catalog,
    on_table,
    partitions_by_java,
    rows_by_java,
    signed_by_java,
    view_by_java,
)
from readers import telling
from support.long_runs import tries
from support.oracles.catalog_model import CatalogModel, apply, draw_change, state_of
from support.rest_server import Fault, RestServer, When, rest_server
from support.rest_server.tables import AUDIT
from support.tables.catalog_tables import append, append_rows, ids_of, schema
from test_catalog_like_java import JAVA_ERRORS, needs_a_missing_database, words

from paimon_spark import open_catalog
from paimon_spark.catalogs.create import new_schema
from paimon_spark.catalogs.functions import Function
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.rest.auth import dlf4_headers, openapi_headers
from paimon_spark.catalogs.rest.dlf_tokens import DlfToken
from paimon_spark.catalogs.rest.http import Request
from paimon_spark.catalogs.views import AddDialect, UpdateDialect, View
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.schema_update import SchemaUpdate
from paimon_spark.store.history.branches import delete_branch
from paimon_spark.store.history.rollback import rollback

pytestmark = pytest.mark.interop

COUNT = tries("PAIMON_REST_HISTORIES", ci=2, long=200)
STEPS = 25  # changes of the catalog; after each, perhaps rows


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RestServer]:
    with rest_server(tmp_path / "lake") as server:
        yield server


@pytest.mark.parametrize("seed", range(COUNT))
def test_any_history(seed: int, java: Genuine, server: RestServer) -> None:
    draw = random.Random(seed)
    options = {**server.options, "table-default.file.format": "avro"}
    ours, model, log = open_catalog(options), CatalogModel({"file.format": "avro"}), [str(seed)]
    with telling(log):
        for _ in range(STEPS):
            change = draw_change(draw)
            if needs_a_missing_database(change, model):
                continue
            by_java = draw.random() < 0.5
            log.append(f"{'Java' if by_java else 'we'}: {change}")
            expected = model.apply(change)
            if by_java:
                error = java.run(change_catalog, options, change.kind, words(change))
                assert error == (expected and JAVA_ERRORS[expected.__name__])
            else:
                assert apply(ours, change) is expected
            _rows(draw, java, server, options, model, log)
        assert state_of(ours) == model.databases
        assert {
            d: {t: _stored(o) for t, o in found.items()} for d, found in java.run(catalog_state, options).items()
        } == (model.databases)


def _stored(options: dict[str, str]) -> dict[str, str]:
    """Without what Java adds of the server's answer when it opens a table (AuditRESTResponse)."""
    return {key: text for key, text in options.items() if key not in AUDIT}


def _rows(
    draw: random.Random, java: Genuine, server: RestServer, options: dict[str, str], model: CatalogModel, log: list[str]
) -> None:
    """Perhaps a commit by one of both to some table, which both then count alike."""
    tables = [(database, table) for database, found in model.databases.items() for table in found]
    if not tables or draw.random() < 0.5:
        return
    database, table = draw.choice(tables)
    by_java, count = draw.random() < 0.5, draw.randint(1, 3)
    log.append(f"{'Java' if by_java else 'we'}: {count} rows to {database}.{table}")
    opened = open_catalog(options).load_table(Identifier(database, table))
    before = len(ids_of(opened))
    if by_java:
        java.run(add_rows, options, database, table, count)
    else:
        append(opened, *range(count))
    assert len(java.run(rows_by_java, options, database, table)) == before + count == len(ids_of(opened))


def test_changes_of_both_to_one_table(java: Genuine, server: RestServer) -> None:
    """Schemas, tags, branches and rollbacks of one client are those of the other."""
    options, one = server.options, Identifier("d", "t")
    ours = open_catalog(options)
    ours.create_database("d")
    ours.create_table(one, schema())
    append(ours.load_table(one), 1)
    java.run(
        alter_by_java,
        options,
        "d",
        "t",
        ("addColumn", "note", "STRING"),
        ("setOption", "snapshot.num-retained.min", "2"),
    )
    update = SchemaUpdate().add_column("first", "INT", first=True).rename_column("note", "words")
    alter_table(ours.load_table(one), update.update_type("id", "DECIMAL(20, 0)").changes)
    assert java.run(rows_by_java, options, "d", "t") == [(None, Decimal(1), None)]
    java.run(on_table, options, "d", "t", "createTag", "tag")
    java.run(on_table, options, "d", "t", "createBranch", "dev", "tag")
    append_rows(ours.load_table(Identifier("d", "t$branch_dev")), {"first": [7], "id": [Decimal(2)], "words": ["w"]})
    assert len(java.run(rows_by_java, options, "d", "t$branch_dev")) == 2
    java.run(on_table, options, "d", "t", "fastForward", "dev")
    assert ours.load_table(one).scan().to_arrow().num_rows == 2
    rollback(ours.load_table(one), tag="tag")
    assert len(java.run(rows_by_java, options, "d", "t")) == 1
    delete_branch(ours.load_table(one), "dev")
    assert "[]" in java.run(on_catalog, options, "d", "t", "listBranches")


def test_both_clients_read_the_partitions_that_the_other_counted(java: Genuine, server: RestServer) -> None:
    options, there = server.options, Identifier("d", "p")
    ours = open_catalog(options)
    ours.create_database("d")
    columns = pa.schema([("id", pa.int64()), ("day", pa.string())])
    ours.create_table(
        there, new_schema(columns, partition_keys=["day"], options={"metastore.partitioned-table": "true"})
    )
    append_rows(ours.load_table(there), {"id": [1, 2], "day": ["a", "b/c"]})
    told = java.run(partitions_by_java, options, "d", "p")
    assert sorted(told, key=str) == [({"day": "a"}, 1), ({"day": "b/c"}, 1)]


def test_views_and_functions(java: Genuine, server: RestServer) -> None:
    """Java's client reads those of ours."""
    options = server.options
    ours = open_catalog(options)
    ours.create_database("d")
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


@pytest.mark.parametrize("by_java", [False, True])
def test_a_commit_whose_answer_is_lost(java: Genuine, server: RestServer, by_java: bool) -> None:
    """The other client sees it, and continues on it."""
    options, one = server.options, Identifier("d", "t")
    ours = open_catalog(options)
    ours.create_database("d")
    ours.create_table(one, schema())
    append(ours.load_table(one), 1)
    if by_java:
        java.run(add_rows, options, "d", "t", 2)
    else:
        server.faults.append(Fault("/commit", When.AFTER))
        append(ours.load_table(one), 2, 3)
    assert len(java.run(rows_by_java, options, "d", "t")) == 3 == len(ids_of(ours.load_table(one)))


@pytest.mark.parametrize(
    ("method", "body", "path", "query"),
    [
        ("GET", None, "/v1/a+b/databases", {"pageToken": "x y", "maxResults": "", "a": "%2B"}),
        ("POST", '{"name":"ä"}', "/v1/p/databases/%C3%A4/tables/t%24branch_b", {}),
        ("DELETE", None, "/v1/p/databases/d%7E*", {}),
    ],
)
def test_signatures(java: Genuine, method: str, body: str | None, path: str, query: dict[str, str]) -> None:
    """Requests are signed as by Java: DLFDefaultSigner and DLFOpenApiSigner."""
    keys = ("key-id", "key-secret", "security-token")
    default, openapi, host = java.run(signed_by_java, body, path, query, method, 1700000000123, keys)
    request, token = Request(method, path, query, body), DlfToken(*keys)
    assert dlf4_headers(request, token, "cn-x", datetime.fromtimestamp(1700000000.123, UTC)) == default
    made = openapi_headers(
        request, token, host, datetime.fromtimestamp(1700000000.123, UTC), openapi["x-acs-signature-nonce"]
    )
    assert made == openapi
