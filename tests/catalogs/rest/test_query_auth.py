"""Row filters and column masks of a server: each way to read a table keeps to them, or is refused.

``tests/interop/test_query_auth_like_java.py`` compares the rules themselves with Java.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.rest_server import RestServer
from support.tables.catalog_tables import append_rows

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.create import new_schema
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import AccessDenied, UnsupportedFeature
from paimon_spark.store.history.branches import create_branch
from paimon_spark.store.open import ReadableTable, find_system_table, open_data_table
from paimon_spark.store.system_tables.names import NAMES
from paimon_spark.store.upkeep.copy_files import copy_here, copy_table
from paimon_spark.tables.open import open_table

COLUMNS = {"id": "INT NOT NULL", "name": "STRING", "owner": "STRING", "pay": "INT"}
SHOWN = [(1, "***", "ann", None), (3, "***", "ann", None)]
OPEN_SYSTEM_TABLES = {"aggregation_fields", "branches", "consumers", "options", "schemas", "snapshots", "tags"}


def reference(name: str) -> dict[str, Any]:
    return {"index": list(COLUMNS).index(name), "name": name, "type": COLUMNS[name]}


def leaf(name: str, function: str, *literals: object, transform: str = "FIELD_REF") -> str:
    of = {"name": "FIELD_REF", "fieldRef": reference(name)}
    if transform != "FIELD_REF":
        of = {"name": transform, "inputs": [reference(name)]}
    return json.dumps({"kind": "LEAF", "transform": of, "function": function, "literals": literals})


STARS = json.dumps({"name": "CONCAT", "inputs": ["*", "**"]})
LIMITS = {
    "filter": [leaf("owner", "EQUAL", "ANN", transform="UPPER")],
    "columnMasking": {"name": STARS, "pay": json.dumps({"name": "NULL"})},
}


def limit(server: RestServer, one: Identifier, limits: Mapping[str, Any]) -> None:
    server.state.auth[one.database, one.table] = {"filter": None, "columnMasking": None, **limits}


@pytest.fixture(params=["appended", "keyed"])
def limited(request: pytest.FixtureRequest, server: RestServer, catalog: Catalog, name: Identifier) -> Identifier:
    keys = ["id"] if request.param == "keyed" else []
    one = Identifier(name.database, request.param)
    options = {"query-auth.enabled": "true", "bucket": "1" if keys else "-1"}
    catalog.create_table(one, new_schema(COLUMNS, keys, options=options))
    rows = {"id": [1, 2, 3], "name": ["x", "y", "z"], "owner": ["ann", "bob", "Ann"], "pay": [100, 200, 300]}
    append_rows(catalog.load_table(one), {**rows, "owner": ["ann", "bob", "ann"]})
    limit(server, one, LIMITS)
    return one


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    return sorted(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))


def test_every_read_of_a_scan(catalog: Catalog, limited: Identifier) -> None:
    table = catalog.load_table(limited)
    assert rows_of(table.scan().to_arrow()) == SHOWN
    assert rows_of(table.scan(["pay", "id"]).to_arrow()) == [(None, 1), (None, 3)]
    assert rows_of(pickle.loads(pickle.dumps(table)).scan("id").to_arrow()) == [(1,), (3,)]
    assert (table.scan().count(), table.scan("id").max("id"), table.scan().max("pay")) == (2, 3, None)
    assert (table.scan().min("name"), table.scan("id").min("owner")) == ("***", "ann")
    assert table.scan().top("id", 1, descending=True)["id"].to_pylist() == [3]
    assert rows_of(table.scan().to_dataset().to_table()) == SHOWN
    assert table.scan().to_dataset().count_rows() == 2
    assert [row for part in table.scan().fragments() for row in rows_of(part.to_arrow())] == SHOWN
    assert not table.scan().metadata_aggregates(["id"]).partitions
    with pytest.raises(UnsupportedFeature, match="explaining a read"):
        table.scan().explain()


def test_conditions_look_at_what_is_shown(catalog: Catalog, limited: Identifier) -> None:
    """A masked value is not found, neither by its file's statistics nor by its rows; the mask is."""
    scan = catalog.load_table(limited).scan
    assert scan(where="name = 'x' OR pay = 100").count() == 0
    assert rows_of(scan(["id"], where="name = '***' AND id > 1").to_arrow()) == [(3,)]
    assert scan(where="pay IS NULL").count() == 2
    assert scan(where="owner = 'bob'").count() == 0
    assert scan(["id"], where="id = 2").to_arrow().num_rows == 0


def test_system_tables(catalog: Catalog, limited: Identifier) -> None:
    table = catalog.load_table(limited)
    audit = table.system_table("audit_log", ["id", "name", "rowkind"], "name = '***'").to_arrow()
    assert rows_of(audit) == [(1, "***", "+I"), (3, "***", "+I")]
    assert rows_of(table.system_table("binlog", ["id", "pay"]).to_arrow()) == [([1], [None]), ([3], [None])]
    if table.schema.primary_keys:
        open_table(catalog.table_location(limited), catalog.table_options()).compact()  # sees all rows
        assert rows_of(catalog.load_table(limited).system_table("ro").to_arrow()) == SHOWN
    for name in set(NAMES) - {"audit_log", "binlog", "ro", "row_tracking"}:
        found = find_system_table(f"{catalog.table_location(limited)}${name}", catalog.table_options())
        assert found is not None
        if name in OPEN_SYSTEM_TABLES:
            found.scan().to_arrow()
        else:
            with pytest.raises(UnsupportedFeature, match=rf"reading \${name} .* filters its rows or masks"):
                found.scan()


def test_branches_and_other_states(server: RestServer, catalog: Catalog, limited: Identifier) -> None:
    create_branch(catalog.load_table(limited), "dev")
    append_rows(catalog.load_table(limited), {"id": [4], "name": ["w"], "owner": ["ann"], "pay": [1]})
    branch = catalog.load_table(Identifier(limited.database, f"{limited.table}$branch_dev"))
    append_rows(branch, {"id": [5], "name": ["w"], "owner": ["bob"], "pay": [1]})
    assert branch.scan().count() == 0
    location, options = catalog.table_location(limited), catalog.table_options()
    first = open_data_table(location, {**options, "scan.snapshot-id": "1", "query-auth.enabled": "false"})
    assert rows_of(first.scan().to_arrow()) == SHOWN
    change = open_data_table(location, {**options, "incremental-between": "1,2"})
    assert rows_of(change.scan(row_kinds=True).to_arrow()) == [(4, "***", "ann", None, "+I")]


def test_columns_that_had_other_names(server: RestServer, catalog: Catalog, limited: Identifier) -> None:
    """The server knows the names of now: a mask of ``name`` does not pass over the column as it was called before."""
    limit(server, limited, {})
    location, options = catalog.table_location(limited), catalog.table_options()
    create_branch(catalog.load_table(limited), "dev")
    before = catalog.load_table(limited)
    with open_table(location, options).update_schema() as change:
        change.rename_column("name", "called")
    append_rows(catalog.load_table(limited), {"id": [4], "called": ["w"], "owner": ["ann"], "pay": [1]})
    first = open_data_table(location, {**options, "scan.snapshot-id": "1"})
    branch = catalog.load_table(Identifier(limited.database, f"{limited.table}$branch_dev"))
    append_rows(branch, {"id": [0], "name": ["v"], "owner": ["ann"], "pay": [1]})
    assert (first.scan("name").count(), branch.scan("name").count()) == (3, 1)
    limit(server, limited, {"columnMasking": {"called": STARS}})
    assert rows_of(catalog.load_table(limited).scan(["id", "called"], "id > 2").to_arrow()) == [(3, "***"), (4, "***")]
    for table in (first, branch, before):
        assert table.scan("id", "id < 4").count() == (1 if table is branch else 3)
        for read in (lambda: table.scan("name"), lambda: table.scan("id", "name = 'x'")):  # noqa: B023
            with pytest.raises(UnsupportedFeature, match="'name' is 'called' now"):
                read()
    limit(server, limited, {"filter": [leaf("name", "EQUAL", "x").replace('"name": "name"', '"name": "called"')]})
    with pytest.raises(UnsupportedFeature, match="'name' is 'called' now"):
        first.scan("id")


def test_a_stream_asks_for_each_unit(server: RestServer, catalog: Catalog, limited: Identifier) -> None:
    table = open_table(catalog.table_location(limited), catalog.table_options())
    stream = table.stream()
    batch = stream.poll()
    assert batch is not None
    assert rows_of(batch.to_arrow().select(list(COLUMNS))) == SHOWN
    limit(server, limited, {**LIMITS, "filter": [leaf("id", "EQUAL", 2)]})
    assert rows_of(batch.to_arrow().select(list(COLUMNS))) == [(2, "***", "bob", None)]


def test_what_needs_all_rows_is_refused(catalog: Catalog, limited: Identifier, tmp_path: Path) -> None:
    table = open_table(catalog.table_location(limited), catalog.table_options())
    table.append([{"id": 9, "name": "new", "owner": "ann", "pay": 1}])
    for change in (
        lambda: table.delete("id = 1"),
        lambda: table.update("id = 1", {"pay": 1}),
        lambda: table.merge([{"id": 1}], "id").when_matched_delete().execute(),
    ):
        with pytest.raises(UnsupportedFeature, match="filters its rows or masks its columns"):
            change()
    with pytest.raises(UnsupportedFeature, match=r"copying the files of .* filters its rows"):
        copy_table(catalog.load_table(limited), str(tmp_path / "copy"), None, {}, copy_here)
    assert catalog.load_table(limited).scan().count() == 3


def test_columns_that_must_not_be_read(server: RestServer, catalog: Catalog, limited: Identifier) -> None:
    """The server learns each column that a read shows or compares, and no other one."""
    table = catalog.load_table(limited)
    server.state.selected.clear()
    table.scan("id", where="owner = 'ann'").count()
    table.scan("id").max("pay")
    assert server.state.selected == [["id", "owner"], ["id", "owner"], ["id"], ["pay"], ["pay"]]


def test_each_use_of_a_scan_asks_anew(server: RestServer, catalog: Catalog, limited: Identifier) -> None:
    """It reads the newest state, and so keeps to the newest rules."""
    limit(server, limited, {})
    scan = catalog.load_table(limited).scan(["id"])
    dataset = scan.to_dataset()
    assert rows_of(scan.to_arrow()) == rows_of(dataset.to_table()) == [(1,), (2,), (3,)]
    limit(server, limited, {"filter": [leaf("owner", "EQUAL", "bob")], "columnMasking": {}})
    assert rows_of(scan.to_arrow()) == rows_of(dataset.to_table()) == [(2,)]
    assert [batch["id"].to_pylist() for batch in scan.to_batches()] == [[2]]
    assert (scan.count(), scan.max("id"), scan.top("id", 2)["id"].to_pylist(), len(scan.fragments())) == (1, 2, [2], 1)
    assert rows_of(scan.fragments()[0].to_arrow()) == [(2,)]
    server.state.denied.add((limited.database, limited.table))
    with pytest.raises(AccessDenied):
        scan.to_arrow()


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"filter": ["{}"]}, "neither a LEAF nor a COMPOUND"),
        ({"filter": ["nothing"]}, "no JSON"),
        ({"filter": [leaf("name", "MATCHES", "x")]}, "MATCHES"),
        ({"filter": [leaf("id", "EQUAL", 1.5)]}, "value of JSON that is none"),
        ({"filter": [leaf("id", "EQUAL", 2**40)]}, "value of JSON that is none"),
        ({"filter": [leaf("name", "LIKE", "a\\%")]}, "backslash"),
        ({"filter": [leaf("name", "EQUAL", "x", transform="SUBSTRING")]}, "'SUBSTRING' is not known"),
        ({"filter": [leaf("id", "EQUAL", "x", transform="UPPER")]}, "for a text"),
        ({"filter": [leaf("id", "EQUAL", 1).replace('"id"', '"gone"')]}, "no column 'gone'"),
        ({"columnMasking": {"pay": STARS}}, "the mask gives STRING, the column is INT"),
        ({"columnMasking": {"PAY": STARS}}, "other letter case"),
        ({"columnMasking": {"name": "{}"}}, "the transform None is not known"),
    ],
)
def test_rules_that_cannot_be_applied(
    server: RestServer, catalog: Catalog, limited: Identifier, limits: Mapping[str, Any], why: str
) -> None:
    limit(server, limited, limits)
    with pytest.raises(UnsupportedFeature, match=why):
        catalog.load_table(limited).scan("id")


def test_a_table_without_limits(server: RestServer, catalog: Catalog, limited: Identifier) -> None:
    limit(server, limited, {})
    table = open_table(catalog.table_location(limited), catalog.table_options())
    assert table.scan().count() == 3
    assert table.scan().max("pay") == 300
    assert table.system_table("files").count() == 1
    table.delete("id = 1")
    assert table.scan().explain() is not None
    with pytest.raises(UnsupportedFeature, match="by its path nobody asks"):
        open_data_table(table.location)
    with pytest.raises(UnsupportedFeature, match="by its path nobody asks"):
        open_data_table(table.location, {"query-auth.enabled": "false"})


def test_no_permission(server: RestServer, catalog: Catalog, limited: Identifier) -> None:
    table: ReadableTable = catalog.load_table(limited)
    server.state.denied.add((limited.database, limited.table))
    with pytest.raises(AccessDenied, match=f"reading {limited.database}"):
        table.scan()
