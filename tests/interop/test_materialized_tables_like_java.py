"""Materialized tables are tables with a query among their options: both sides read, write and maintain them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from genuine import Genuine
from support.tables.catalog_tables import append_rows

from paimon_spark import check, open_catalog, open_table
from paimon_spark.catalogs.create import new_schema
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.procedures.local_engine import LocalEngine
from paimon_spark.procedures.rewrites import Compact
from paimon_spark.store.open import open_data_table

pytestmark = pytest.mark.interop
OPTIONS = {
    "type": "materialized-table",
    "bucket": "1",
    "materialized-table.definition-query": "SELECT id, count(*) AS n FROM d.t GROUP BY id",
    "materialized-table.interval-freshness": "3",
    "materialized-table.interval-freshness.time-unit": "HOUR",
    "materialized-table.logical-refresh-mode": "AUTOMATIC",
    "materialized-table.refresh-mode": "FULL",
    "materialized-table.refresh-status": "ACTIVATED",
}


@pytest.mark.parametrize("maker", ["java", "ours"])
def test_rows_go_both_ways(java: Genuine, tmp_path: Path, maker: str) -> None:
    path = f"{tmp_path}/d.db/m"
    if maker == "java":
        java.create(path, {"id": "BIGINT NOT NULL", "n": "BIGINT"}, ["id"], options=OPTIONS)
    else:
        catalog = open_catalog({"warehouse": str(tmp_path)})
        catalog.create_database("d")
        columns = pa.schema([("id", pa.int64()), ("n", pa.int64())])
        catalog.create_table(Identifier("d", "m"), new_schema(columns, "id", options=OPTIONS))
    java.write(path, [(1, 10), (2, 20)])
    append_rows(open_data_table(path), {"id": [2, 3], "n": [21, 30]})
    java.write(path, [(3, 31)])
    Compact(full=True).run(open_data_table(path), LocalEngine())
    wanted = [(1, 10), (2, 21), (3, 31)]
    assert sorted(tuple(row.values()) for row in open_table(path).scan().to_arrow().to_pylist()) == wanted
    assert sorted(values for _, values in java.read(path)) == wanted
    assert {key: open_table(path).schema.options[key] for key in OPTIONS} == OPTIONS
    assert check(path).problems == ()
