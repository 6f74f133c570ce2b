"""Views of blobs on a REST server: what it hides of a table is hidden through views too, and it hears what is read."""

from __future__ import annotations

import json
from urllib.parse import unquote_plus

import pyarrow as pa
import pytest
from support.rest_server import RestServer

from paimon_spark import BlobView, open_table
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import MissingRow

EVOLVED = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
COLUMNS = {"id": "INT", "b": "BLOB", "c": "BLOB"}


@pytest.fixture
def view(catalog: Catalog, name: Identifier) -> Identifier:
    """A table with views of rows 0 and 1 of a limited table, in the columns b and c; and one with views of these."""
    up, made = Identifier(name.database, "up"), Identifier(name.database, "v")
    catalog.new_table(str(up), COLUMNS, options={**EVOLVED, "query-auth.enabled": "true"})
    append(catalog, up, [b"one", b"two"], [b"x", b"y"])
    for one, of in ((made, up), (Identifier(name.database, "w"), made)):
        catalog.new_table(str(one), COLUMNS, options={**EVOLVED, "blob-view-field": "b,c"})
        append(catalog, one, *([BlobView(str(of), column, row).encode() for row in (0, 1)] for column in (1, 2)))
    return made


def append(catalog: Catalog, one: Identifier, b: list[bytes], c: list[bytes]) -> None:
    table = open_table(catalog.table_location(one), catalog.table_options())
    table.append(pa.table({"id": [1, 2], "b": b, "c": c}))


def limit(server: RestServer, one: Identifier, **limits: object) -> None:
    server.state.auth[one.database, "up"] = {"filter": None, "columnMasking": None, **limits}


def condition(function: str, *literals: object) -> str:
    of = {"name": "FIELD_REF", "fieldRef": {"index": 0, "name": "id", "type": "INT"}}
    return json.dumps({"kind": "LEAF", "transform": of, "function": function, "literals": literals})


def test_what_a_server_hides_is_hidden(server: RestServer, catalog: Catalog, view: Identifier) -> None:
    def read(table: str, where: str | None = None) -> list[tuple[bytes | None, ...]]:
        found = catalog.load_table(Identifier(view.database, table)).scan(["b", "c"], where).to_arrow()
        return list(zip(found["b"].to_pylist(), found["c"].to_pylist(), strict=True))

    limit(server, view)
    for table in ("v", "w"):
        assert read(table) == [(b"one", b"x"), (b"two", b"y")]
        limit(server, view, filter=[condition("LESS_THAN", 2)])
        assert read(table, "id = 1") == [(b"one", b"x")]
        with pytest.raises(MissingRow, match="which has none of this number for the reader"):
            read(table)
        limit(server, view, columnMasking={"c": json.dumps({"name": "NULL"})})
        assert read(table) == [(b"one", None), (b"two", None)]
        limit(server, view)


def test_the_server_hears_which_table_is_read(server: RestServer, catalog: Catalog, view: Identifier) -> None:
    """The first one, also of tables that others depend on (Java: CatalogEnvironment.dependencyReadContext)."""
    limit(server, view)
    server.requests.clear()
    catalog.load_table(Identifier(view.database, "w")).scan("b").to_arrow()
    told = {}
    for _, path, headers in server.requests:
        table = path.partition("/tables/")[2].partition("/")[0]
        told.setdefault(table, set()).add(headers.get("x-paimon-read-via"))
    of = json.dumps({"database": view.database, "object": "w"}, separators=(",", ":"))
    assert {name: {via and unquote_plus(via) for via in vias} for name, vias in told.items()} == {
        "w": {None}, "v": {of}, "up": {of},
    }  # fmt: skip
