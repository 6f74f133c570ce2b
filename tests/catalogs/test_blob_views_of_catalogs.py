"""Views of blobs find the tables that they name in the catalog of their own table, whichever kind it is of."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from support.programs.four_catalogs import HIVE, KINDS, catalog_options

from paimon_spark import BlobView, open_catalog, open_table
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import MissingRow

EVOLVED = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}


@pytest.fixture(params=[pytest.param(k, marks=pytest.mark.interop) if k == HIVE else k for k in KINDS])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalog]:
    with catalog_options(request.param, tmp_path, request) as options:
        yield open_catalog(options)


def test_the_catalog_finds_the_tables(catalog: Catalog) -> None:
    for database in ("d", "e"):
        catalog.create_database(database)
    catalog.new_table("e.up", {"id": "INT", "b": "BLOB"}, options=EVOLVED)
    catalog.new_table("d.v", {"id": "INT", "r": "BLOB"}, options={**EVOLVED, "blob-view-field": "r"})
    name, views = Identifier("d", "v"), pa.array([BlobView("e.up", 1, row).encode() for row in (1, 0)])
    location, options = catalog.table_location(Identifier("e", "up")), catalog.table_options()
    open_table(location, options).append(pa.table({"id": [1, 2], "b": [b"one", None]}))
    location = catalog.table_location(name)
    open_table(location, options).append(pa.table({"id": [1, 2], "r": views}))
    for table in (catalog.load_table(name), open_table(location, options)):
        opened = pickle.loads(pickle.dumps(table.scan("r")))
        assert opened.to_arrow()["r"].to_pylist() == [None, b"one"]
        assert "secret" not in repr(table.views)
    catalog.rename_table(Identifier("e", "up"), Identifier("e", "other"))
    with pytest.raises(MissingRow, match=r"a view leads to the table e\.up, which is not there"):
        catalog.load_table(name).scan("r").to_arrow()
    catalog.rename_table(Identifier("e", "other"), Identifier("e", "up"))
    assert catalog.load_table(name).scan("r").to_arrow()["r"].to_pylist() == [None, b"one"]
    catalog.drop_table(Identifier("e", "up"))
    with pytest.raises(MissingRow, match=r"'blob-view\.resolve\.enabled' = 'false' reads the views themselves"):
        catalog.load_table(name).scan("r").to_arrow()
    kept = catalog.load_table(name, {"blob-view.resolve.enabled": "false"})
    assert kept.scan("r").to_arrow()["r"].to_pylist() == views.to_pylist()
