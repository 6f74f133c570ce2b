"""One REST server a module, and an empty database for each test."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from support.rest_server import RestServer, rest_server
from support.tables.catalog_tables import schema

from paimon_spark import open_catalog
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.store.open import ReadableTable


@pytest.fixture(scope="module")
def module_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    with rest_server(tmp_path_factory.mktemp("lake")) as server:
        yield server


@pytest.fixture
def server(module_server: RestServer) -> RestServer:
    """The server of the module, without requests and faults."""
    module_server.requests.clear()
    module_server.faults.clear()
    return module_server


@pytest.fixture
def catalog(server: RestServer) -> Catalog:
    return open_catalog(server.options)


@pytest.fixture
def name(catalog: Catalog) -> Identifier:
    """The name of a new table of the column id."""
    database = f"db {uuid4().hex[:8]}"
    catalog.create_database(database)
    catalog.create_table(Identifier(database, "ä b"), schema())
    return Identifier(database, "ä b")


@pytest.fixture
def table(catalog: Catalog, name: Identifier) -> ReadableTable:
    return catalog.load_table(name)
