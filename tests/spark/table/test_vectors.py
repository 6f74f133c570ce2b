"""VECTOR columns by SQL and by DataFrames: arrays of one length, which statements change as any other column."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession
from support.oracles.checker import check_table

import paimon_spark
from paimon_spark import open_table
from paimon_spark.errors import DataError, OptionError
from paimon_spark.format.type_text import type_sql
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

pytestmark = pytest.mark.spark

TABLES = {"append": "", "key": "'primary-key' = 'id', 'bucket' = '2', "}
OF_VECTORS = "'vector-field' = 'e', 'field.e.vector-dim' = '3'"


@pytest.fixture
def cat(quick_spark: SparkSession, tmp_path: Path) -> SessionCatalog:
    made = paimon_spark.catalog(quick_spark, str(tmp_path / "lake"))
    made.sql("CREATE DATABASE paimon.d")
    return made


@pytest.mark.parametrize("kind", TABLES)
def test_statements(kind: str, cat: SessionCatalog, spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "lake/d.db/t")
    cat.sql(f"CREATE TABLE paimon.d.t (id INT, e ARRAY<FLOAT>, s STRING) TBLPROPERTIES ({TABLES[kind]}{OF_VECTORS})")
    assert type_sql(open_table(path).schema.by_name["e"].type) == "VECTOR<FLOAT, 3>"
    cat.sql("INSERT INTO paimon.d.t VALUES (1, array(1, 2, 3), 'a'), (2, NULL, 'b'), (3, array(0.5D, -1, 1e30), 'c')")
    spark.sql("SELECT 4 id, array(4f, 4f, 4f) e, 'd' s").write.format("paimon").mode("append").save(path)
    cat.sql("UPDATE paimon.d.t SET e = array(9, 9, 9) WHERE e[1] = 2")
    cat.sql("DELETE FROM paimon.d.t WHERE id = 3")
    expected = [(1, [9.0, 9.0, 9.0], "a"), (2, None, "b"), (4, [4.0, 4.0, 4.0], "d")]
    by_sql = sorted(map(tuple, cat.sql("SELECT id, e, s FROM paimon.d.t").collect()))
    by_source = sorted(map(tuple, spark.read.format("paimon").load(path).select("id", "e", "s").collect()))
    assert by_sql == by_source == expected
    assert cat.sql("SELECT id FROM paimon.d.t WHERE size(e) = 3 AND s > 'a'").collect() == [Row(id=4)]
    assert cat.sql("DESCRIBE paimon.d.t").collect()[1].data_type == "array<float>"
    for value in ("array(1, 2)", "array(1, 2, NULL)"):
        with pytest.raises(DataError, match=r"column 'e'.* VECTOR"):
            cat.sql(f"INSERT INTO paimon.d.t VALUES (5, {value}, 'x')")
    cat.sql("CALL paimon.sys.compact(table => 'd.t')")
    assert sorted(map(tuple, cat.sql("SELECT id, e, s FROM paimon.d.t").collect())) == expected
    check_table(path)


@pytest.mark.parametrize(
    ("column", "options"),
    [
        ("INT", OF_VECTORS),
        ("ARRAY<FLOAT>", "'vector-field' = 'e'"),
        ("ARRAY<FLOAT>", "'vector-field' = 'e', 'field.e.vector-dim' = 'x'"),
    ],
)
def test_vectors_without_a_length_are_refused(column: str, options: str, cat: SessionCatalog) -> None:
    with pytest.raises(OptionError, match=r"'vector-field' names the column 'e': .*'field\.e\.vector-dim'"):
        cat.sql(f"CREATE TABLE paimon.d.t (id INT, e {column}) TBLPROPERTIES ({options})")
