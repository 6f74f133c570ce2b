"""Changes of a REST catalog whose request fails: they are done or not, once, and no error is another than ours."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest
from support.rest_server import Fault, RestServer, When
from support.tables.catalog_tables import schema

from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import StorageError
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.schema_update import SchemaUpdate


def alter(catalog: Catalog, name: Identifier) -> None:
    alter_table(catalog.load_table(name), SchemaUpdate().add_column("note", "STRING").changes)


CALLS: dict[str, tuple[str, Callable[[Catalog, Identifier], object]]] = {
    "create_database": ("POST", lambda catalog, name: catalog.create_database(uuid4().hex)),
    "alter_database": ("POST", lambda catalog, name: catalog.alter_database(name.database, {"a": "b"})),
    "create_table": ("POST", lambda catalog, name: catalog.create_table(Identifier(name.database, "new"), schema())),
    "rename_table": ("POST", lambda catalog, name: catalog.rename_table(name, Identifier(name.database, "new"))),
    "alter_table": ("POST", alter),
    "drop_table": ("DELETE", lambda catalog, name: catalog.drop_table(name)),
    "drop_database": ("DELETE", lambda catalog, name: catalog.drop_database(name.database, cascade=True)),
}


def state_of(catalog: Catalog) -> object:
    return [
        (database, catalog.load_database(database).properties, [_table(catalog, database, t) for t in tables])
        for database in catalog.list_databases()
        for tables in [catalog.list_tables(database)]
    ]


def _table(catalog: Catalog, database: str, table: str) -> object:
    found = catalog.find_table(Identifier(database, table))
    assert found is not None
    return table, found.names


@pytest.mark.parametrize("status", [None, 500])
@pytest.mark.parametrize("when", list(When))
@pytest.mark.parametrize("call", CALLS)
def test_every_call(
    server: RestServer, catalog: Catalog, name: Identifier, call: str, when: When, status: int | None
) -> None:
    server.state.databases = {name.database: {}}
    server.state.tables = {(name.database, name.table): server.state.tables[name.database, name.table]}
    before = state_of(catalog)
    method, do = CALLS[call]
    server.faults.append(Fault("/v1/", when, status, method))
    with pytest.raises(StorageError):
        do(catalog, name)
    assert (state_of(catalog) == before) is (when is When.BEFORE)
    assert not server.faults
