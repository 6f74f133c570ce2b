"""A change message says the name of its table: the name leads to a table of the database, or the batch fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.tables.catalog_tables import schema

from paimon_spark import open_catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import OptionError
from paimon_spark.spark.catalog import database_messages
from paimon_spark.store.history.branches import create_branch

NO_SESSION: Any = None  # a name that is refused is not opened


@pytest.mark.parametrize(
    "name", ["..", ".", "", "../other", "a/b", "/etc/passwd", "a\0b", "orders$branch_b", "orders$files", "$"]
)
def test_names_that_lead_elsewhere(name: str, tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path / "lake")})
    catalog.create_database("shop")
    catalog.create_table(Identifier("shop", "orders"), schema())
    create_branch(catalog.load_table(Identifier("shop", "orders")), "b")
    before = sorted(tmp_path.rglob("*"))
    target = database_messages._target(NO_SESSION, catalog, "shop", None)
    with pytest.raises(OptionError, match="name"):
        target.find(name)
    with pytest.raises(OptionError, match="name"):
        target.create(name, schema())
    assert sorted(tmp_path.rglob("*")) == before
