"""sys.max_pt: the largest value of the first partition column, as a text.

The values and refusals are those of the official connector, paimon-spark-4.1_2.13-2.0.0, unless a test says otherwise.
"""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from paimon_spark.errors import PaimonError
from paimon_spark.spark.catalog.session_catalog import SessionCatalog, catalog
from paimon_spark.spark.queries.run_query import with_functions


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SessionCatalog:
    found = catalog(spark, str(tmp_path_factory.mktemp("lake")))
    found.create_database("d")
    found.sql("CREATE TABLE paimon.d.m (id INT, dt STRING, h INT) PARTITIONED BY (dt, h)")
    found.sql("CREATE TABLE paimon.d.empty (id INT, dt STRING) PARTITIONED BY (dt)")
    found.sql("CREATE TABLE paimon.d.plain (id INT)")
    # The connector fails for a table with the partition dt = NULL; its later sources leave NULL out, as this does.
    found.sql("INSERT INTO paimon.d.m VALUES (1, 'a', 9), (2, 'it''s {b}', 1), (3, NULL, 10)")
    return found


def test_the_value_limits_what_is_read(lake: SessionCatalog) -> None:
    text = "SELECT id, sys.max_pt('d.m') AS top FROM paimon.d.m WHERE dt = paimon.sys.max_pt('paimon.d.m')"
    assert [tuple(row) for row in lake.sql(text).collect()] == [(2, "it's {b}")]
    assert "condition: (dt = 'it" in lake.explain(text)


@pytest.mark.parametrize(
    ("column", "values", "text"),
    [
        ("INT", "(1, 9), (2, 10)", "'10'"),
        ("DATE", "(1, DATE '2024-01-02'), (2, DATE '2023-12-31')", "'2024-01-02'"),
        ("DOUBLE", "(1, 1e10), (2, -1)", "'1.0E10'"),
        ("DECIMAL(5, 2)", "(1, 1.5)", "'1.50'"),
        ("STRING", "(1, 'z'), (2, 'ä')", "'ä'"),
    ],
)
def test_values(lake: SessionCatalog, column: str, values: str, text: str) -> None:
    name = f"p_{column.partition('(')[0].lower()}"
    lake.sql(f"CREATE TABLE paimon.d.{name} (id INT, p {column}) PARTITIONED BY (p)")
    lake.sql(f"INSERT INTO paimon.d.{name} VALUES {values}")
    assert with_functions(lake._session, f"SELECT sys.max_pt('d.{name}')").split() == ["SELECT", text]


@pytest.mark.parametrize(
    ("argument", "told"),
    [
        ("'d.empty'", "none of them has rows"),
        ("'d.plain'", "no partition columns"),
        ("'d.nope'", "there is no table d.nope"),
        ("''", "name"),
    ],
)
def test_refused(lake: SessionCatalog, argument: str, told: str) -> None:
    with pytest.raises(PaimonError, match=told):
        lake.sql(f"SELECT sys.max_pt({argument})")


def test_a_view_names_tables_of_its_own_database(lake: SessionCatalog) -> None:
    in_a_view = with_functions(lake._session, "SELECT sys.max_pt('m')", "d")
    assert in_a_view.split() == with_functions(lake._session, "SELECT sys.max_pt('d.m')").split()
    with pytest.raises(PaimonError, match="there is no table default"):
        with_functions(lake._session, "SELECT sys.max_pt('m')")
